"""The hooks of the tracing build, in which the search records the tree that it visits.

In the playing build a worker has no field `recording`, and the last argument of a hook's call replaces the
call (see `engine.compiler.jit.hook`).

In the tracing build the hooks fill preallocated records. They change nothing that the search reads, so the search makes
the same decisions. When the records are full, the search continues, and its visits are only counted.

    hook                  call and record
    searching             before a search of a child, or of the same position: its reason, reduction and extension
    entered               at the start of a node of the main search: its window
    entered_quiescence    at the start of a node of quiescence: its window
    shortened             after internal iterative reduction: the depth, reduced or not
    evaluated             after the static evaluation: its value
    evaluated_quiescence  after the static evaluation in quiescence: its value, and that of standing pat
    skipped               when a move is skipped: the reason
    skipped_rest          after the last move: the quiet moves that the picker did not return
    ended                 when a node returns: its value and the reason for its end

A visit is a row of NODE. Searching a position again, with another depth or window, is another visit, so
there are more visits than nodes. The search counts a node when it plays a move, so it counts only visits
whose `search` is NULL, PROBE or MOVE.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from engine.board.generate import count_legal, generate_quiets
from engine.board.moves import MAX_MOVES
from engine.compiler.jit import TRACING, hook, subkernel
from search.kernels.score import NO_SCORE
from search.limits import MAX_PLY

#: The most visits in a recording, and how many skipped moves it can store for each of these visits on average.
MOST_VISITS: Final = 1 << 20
SKIPS_PER_VISIT: Final = 8

# Why a position is searched. WINDOW searches the root, and the next two search the parent's own position. The others
# search the position after a move (after a null move for NULL). From PROBE on, the move comes from the move picker.
WINDOW, VERIFY, SINGULAR, NULL, PROBE, PROBCUT_SEARCH, MOVE, FULL_DEPTH, OPEN_WINDOW = range(9)

# What is expected of a node: an exact value, a cutoff, or no move that beats alpha.
PV, CUT, ALL = range(3)

# How a node ended. STOPPED: the search was stopped before the node ended.
(
    STOPPED,
    DRAW_BY_RULE,
    MATE_DISTANCE,
    TT_CUTOFF,
    REVERSE_FUTILITY,
    NULL_MOVE,
    PROBCUT,
    MULTI_CUT,
    CUTOFF,
    ALL_MOVES,
    ONLY_MOVE,
    CHECKMATE,
    STALEMATE,
    STAND_PAT,
    HORIZON,
) = range(15)

# Why a move was skipped. LATE_MOVE and EVASION_LIMIT skip all remaining quiet moves of the node.
(
    LATE_MOVE,
    FUTILITY,
    EVASION_LIMIT,
    BAD_HISTORY,
    EXCHANGE_QUIET,
    EXCHANGE_NOISY,
    DELTA,
    ENOUGH,
    EXCHANGE_QUIESCENCE,
    EXCLUDED,
) = range(HORIZON + 1, HORIZON + 11)

#: One visit of a node; rows are in the order in which the search enters nodes. Scores are from the side to move's view.
NODE: Final = np.dtype(
    [
        # Row of the parent, -1 for the root.
        ("parent", np.int32),
        # Visits in the subtree, including this one; while the node is open, the number of this visit, from 1.
        ("visits", np.int32),
        # The move that led here; NO_MOVE (0) for none and for a null move.
        ("move", np.int32),
        # The window and the value returned.
        ("alpha", np.int16),
        ("beta", np.int16),
        ("value", np.int16),
        # The corrected static evaluation, and the estimate (`eval` in `alpha_beta`, the value of standing pat in
        # `quiescence`); NO_SCORE if not evaluated.
        ("static_eval", np.int16),
        ("eval", np.int16),
        # `ply`: the distance from the root. `depth`: the depth in plies after the node's own extension and reduction, 0
        # in quiescence; after a move in the main search, the parent's depth - 1 - `reduction` + `extension`.
        ("ply", np.int16),
        ("depth", np.int16),
        ("reduction", np.int16),
        ("extension", np.int16),
        # Number of the move that caused the cutoff, from 1; 0 for none.
        ("cutter", np.int16),
        # How many moves were searched, how many were skipped, and how many are legal.
        ("searched", np.int16),
        ("skipped", np.int16),
        ("legal", np.int16),
        ("expected", np.int8),
        ("search", np.int8),
        # Stage of the parent's move picker after it returned the move, -1 for none.
        ("stage", np.int8),
        ("end", np.int8),
        ("quiescence", np.int8),
        ("improving", np.int8),
    ],
    align=True,
)

#: A move that the node of row `node` skipped.
SKIP: Final = np.dtype([("node", np.int32), ("move", np.uint16), ("reason", np.int16)])

#: The state of one ply: the moves that were searched or skipped.
LEVEL: Final = np.dtype([("seen", np.int32, (MAX_MOVES,)), ("seen_count", np.int64)], align=True)

TRACE: Final = np.dtype(
    [
        # For `nodes` and for `skipped`: how many rows may be filled, and how many are.
        ("node_limit", np.int64),
        ("node_count", np.int64),
        ("skip_limit", np.int64),
        ("skip_count", np.int64),
        # The numbers of all visits and of all skipped moves, including those without a row.
        ("visits", np.int64),
        ("skips", np.int64),
        # Row of the innermost open node; how many nodes without a row are open below that node.
        ("current", np.int64),
        ("unrecorded", np.int64),
        # The reason, reduction and extension of the next node to be entered.
        ("search", np.int64),
        ("reduction", np.int64),
        ("extension", np.int64),
        ("scratch", np.int32, (MAX_MOVES,)),
        ("levels", LEVEL, (MAX_PLY + 2,)),
        ("nodes", NODE, (MOST_VISITS,)),
        ("skipped", SKIP, (SKIPS_PER_VISIT * MOST_VISITS,)),
    ],
    align=True,
)

#: The fields that the tracing build adds to a worker; empty in other builds.
TRACE_FIELDS: Final = [("recording", TRACE)] if TRACING else []


def start_recording(worker: Any, capacity: int) -> None:
    """Empties the worker's recording and limits it to `capacity` visits, at most MOST_VISITS. Mutates `worker`."""
    trace = worker["recording"]
    trace["node_limit"] = capacity
    trace["skip_limit"] = SKIPS_PER_VISIT * capacity
    for name in ("node_count", "skip_count", "visits", "skips", "unrecorded", "reduction", "extension"):
        trace[name] = 0
    trace["current"] = -1
    trace["search"] = WINDOW


# --------------------------------------------------------------------------------------------------------------
# The hooks. All mutate `worker.recording` and nothing else.
# --------------------------------------------------------------------------------------------------------------


@hook
def searching(worker, search, reduction, extension):
    """Records why the next node is searched, and by how many plies its depth is reduced and extended."""
    trace = worker.recording
    trace.search = search
    trace.reduction = reduction
    trace.extension = extension


@hook
def entered(worker, ply, depth, alpha, beta, cut):
    """Records the start of a node of the main search; `cut` is its `cut_node`."""
    _enter(worker, ply, depth, alpha, beta, cut, 0)


@hook
def entered_quiescence(worker, ply, alpha, beta):
    """Records the start of a node of quiescence."""
    _enter(worker, ply, 0, alpha, beta, 0, 1)


@hook
def shortened(worker, depth):
    """Records the `depth` of the current node after internal iterative reduction, reduced or not."""
    trace = worker.recording
    if trace.unrecorded == 0:
        node = trace.nodes[trace.current]
        node.reduction += node.depth - depth
        node.depth = depth


@hook
def evaluated(worker, ply, estimate, improving):
    """Records the static evaluation at `ply`, block 6's `estimate` (see `alpha_beta`), and `improving`, 1 or 0."""
    _evaluate(worker, worker.stack[ply].static_eval, estimate, improving)


@hook
def evaluated_quiescence(worker, evaluation, estimate):
    """Records the static `evaluation` of a node of quiescence, which its frame does not contain, and the `estimate`."""
    _evaluate(worker, evaluation, estimate, 0)


@hook
def skipped(worker, ply, move, reason):
    """Records that the current node, at `ply`, skips `move`."""
    _skip(worker, ply, move, reason)


@hook
def skipped_rest(worker, ply):
    """After the last move, records the quiet moves that the picker did not return, if the node skipped them."""
    trace = worker.recording
    frame = worker.stack[ply]
    if trace.unrecorded > 0 or frame.skip_quiets == 0:
        return
    reason = np.int64(LATE_MOVE if trace.nodes[trace.current].quiescence == 0 else EVASION_LIMIT)
    count = generate_quiets(frame.position, trace.scratch, 0)
    for index in range(count):
        move = np.int64(trace.scratch[index])
        if not _is_seen(worker, ply, move):
            _skip(worker, ply, move, reason)


@hook
def ended(worker, reason, value):
    """Records that the current node ends with `value` because of `reason`. Returns `value`."""
    trace = worker.recording
    if trace.unrecorded > 0:
        trace.unrecorded -= 1
        return value
    node = trace.nodes[trace.current]
    node.end = reason
    node.value = value
    node.visits = trace.visits - node.visits + 1
    if reason == CUTOFF:
        node.cutter = node.searched
    # After a second search of the parent's position, such as a singular search, the parent's moves follow at this ply.
    level = trace.levels[node.ply]
    level.seen_count = 0
    trace.current = node.parent
    return value


# --------------------------------------------------------------------------------------------------------------
# Helpers of the hooks
# --------------------------------------------------------------------------------------------------------------


@subkernel
def _see(worker, ply, move):
    """Marks `move` as searched or skipped at `ply`."""
    level = worker.recording.levels[ply]
    level.seen[level.seen_count] = move
    level.seen_count += 1


@subkernel
def _is_seen(worker, ply, move):
    level = worker.recording.levels[ply]
    seen = False
    for index in range(level.seen_count):
        if level.seen[index] == move:
            seen = True
    return seen


@subkernel
def _expectation(worker, parent, search, alpha, beta, cut, is_quiescence):
    """Returns PV, CUT or ALL; in quiescence with a null window, derives it from what is expected of the parent."""
    if beta - alpha > 1:
        return PV
    if is_quiescence == 0:
        return CUT if cut != 0 else ALL
    expected = worker.recording.nodes[parent].expected
    if search < NULL:
        return np.int64(expected)
    return ALL if expected == CUT else CUT


@subkernel
def _enter(worker, ply, depth, alpha, beta, cut, is_quiescence):
    trace = worker.recording
    search, reduction, extension = trace.search, trace.reduction, trace.extension
    # Unless `searching` says otherwise, the next node is the first search of a move.
    trace.search = MOVE
    trace.reduction = 0
    trace.extension = 0
    if search == WINDOW:
        trace.current = -1
        trace.unrecorded = 0
    trace.visits += 1
    parent = trace.current
    if search == MOVE and trace.unrecorded == 0:
        above = trace.nodes[parent]
        above.searched += 1
        _see(worker, ply - 1, worker.stack[ply - 1].move)
    if trace.unrecorded > 0 or trace.node_count == trace.node_limit:
        trace.unrecorded += 1
        return
    index = trace.node_count
    trace.node_count = index + 1
    trace.current = index
    level = trace.levels[ply]
    level.seen_count = 0
    node = trace.nodes[index]
    node.parent = parent
    node.visits = trace.visits
    node.move = worker.stack[ply - 1].move if search >= NULL else 0
    node.alpha = alpha
    node.beta = beta
    node.value = 0
    node.static_eval = NO_SCORE
    node.eval = NO_SCORE
    node.ply = ply
    node.depth = depth
    node.reduction = reduction
    node.extension = extension
    node.cutter = 0
    node.searched = 0
    node.skipped = 0
    node.legal = count_legal(worker.stack[ply].position)
    node.expected = _expectation(worker, parent, search, alpha, beta, cut, is_quiescence)
    node.search = search
    node.stage = worker.stack[ply - 1].stage if search >= PROBE else -1
    node.end = STOPPED
    node.quiescence = is_quiescence
    node.improving = 0


@subkernel
def _evaluate(worker, static_eval, eval, improving):
    trace = worker.recording
    if trace.unrecorded == 0:
        node = trace.nodes[trace.current]
        node.static_eval = static_eval
        node.eval = eval
        node.improving = improving


@subkernel
def _skip(worker, ply, move, reason):
    trace = worker.recording
    trace.skips += 1
    if trace.unrecorded > 0:
        return
    _see(worker, ply, move)
    node = trace.nodes[trace.current]
    node.skipped += 1
    if trace.skip_count == trace.skip_limit:
        return
    row = trace.skipped[trace.skip_count]
    row.node = trace.current
    row.move = move
    row.reason = reason
    trace.skip_count += 1
