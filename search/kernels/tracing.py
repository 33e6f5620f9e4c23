"""The tracing build: the search writes down the tree that it walks through.

The playing build knows nothing of this: a worker has no field `recording` in it, and a hook is nothing, or the value
that it was given to hand on (see `engine.compiler.jit.hook`).

In the tracing build the hooks fill preallocated records and change nothing that the search looks at, so that it
decides as if nobody watched. When the records are full, the search goes on and only counts what it visits.

    hook              where
    searching         before a call that is not the plain first search of a move: why it is made, and how deep
    entered           a node of the main search begins with its window
    entered_quiescence  the same for quiescence
    shortened         behind internal iterative reduction: the depth that counts
    evaluated         the static evaluation is known
    evaluated_quiescence  the same for quiescence
    skipped           a move is left out, and why
    skipped_rest      behind the last move: the quiet moves that the picker did not give out any more
    ended             where a node returns its value: why it ends

A visit is a row of NODE. Searching a position again, with another depth or window, is another visit below the same
parent, so there are more visits than nodes: those are counted when a move is played, which is before visits whose
`search` is NULL, PROBE or MOVE.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from engine.board.generate import count_legal, generate_quiets
from engine.board.moves import MAX_MOVES
from engine.compiler.jit import TRACING, hook, subkernel
from search.kernels.score import NO_SCORE
from search.limits import MAX_PLY

#: Most visits that a recording holds, and skipped moves for each of them.
MOST_VISITS: Final = 1 << 20
SKIPS_PER_VISIT: Final = 8

# Why a position is searched. The first four search the parent's own position, the others the position behind a move
# (or behind passing, NULL); those from PROBE on have their move from the move picker.
WINDOW, RAZOR, VERIFY, SINGULAR, NULL, PROBE, PROBCUT_SEARCH, MOVE, FULL_DEPTH, OPEN_WINDOW = range(10)

# What is expected of a node: an exact value, a cutoff, or no move that beats alpha.
PV, CUT, ALL = range(3)

# How a node ended. STOPPED: it never did, because the search was stopped.
(
    STOPPED,
    DRAW_BY_RULE,
    MATE_DISTANCE,
    TT_CUTOFF,
    RAZORING,
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
) = range(16)

# Why a move was skipped. The first three end the node's quiet moves altogether.
(
    LATE_MOVE,
    FUTILITY,
    EVASION_LIMIT,
    BAD_HISTORY,
    EXCHANGE_QUIET,
    EXCHANGE_NOISY,
    DELTA,
    EXCHANGE_QUIESCENCE,
    EXCLUDED,
) = range(16, 25)

#: One visit of a node, in order of entering. Scores are the side to move's.
NODE: Final = np.dtype(
    [
        # Row of the node that called, -1 for the root.
        ("parent", np.int32),
        # Visits in the subtree, this one included; while the node is open, the number of this visit, from 1.
        ("visits", np.int32),
        # The move that led here; NO_MOVE (0) for none, and for passing.
        ("move", np.int32),
        # The window, and the value that came out.
        ("alpha", np.int16),
        ("beta", np.int16),
        ("value", np.int16),
        # Static evaluation with its corrections, NO_SCORE where there is none; what the table made of it.
        ("static_eval", np.int16),
        ("eval", np.int16),
        # Depth in plies after the node's own extension and reduction, 0 in quiescence: that of the parent, less 1,
        # less `reduction`, plus `extension`, where a move led here. `ply` is the distance from the root.
        ("ply", np.int16),
        ("depth", np.int16),
        ("reduction", np.int16),
        ("extension", np.int16),
        # Number of the move that caused the cutoff, from 1; 0 for none.
        ("cutter", np.int16),
        # Moves that were searched, moves that were skipped, and legal moves.
        ("searched", np.int16),
        ("skipped", np.int16),
        ("legal", np.int16),
        ("expected", np.int8),
        ("search", np.int8),
        # Stage of the parent's move picker after it had given out the move, -1 for none.
        ("stage", np.int8),
        ("end", np.int8),
        ("quiescence", np.int8),
        ("improving", np.int8),
    ],
    align=True,
)

#: A move that was left out at the node of a row.
SKIP: Final = np.dtype([("node", np.int32), ("move", np.uint16), ("reason", np.int16)])

#: What happened so far at one ply: the moves that were given out, and why the rest of the quiet ones is left out.
LEVEL: Final = np.dtype([("seen", np.int32, (MAX_MOVES,)), ("seen_count", np.int64), ("rest", np.int64)], align=True)

TRACE: Final = np.dtype(
    [
        # Rows that may be filled, and those that are.
        ("node_limit", np.int64),
        ("node_count", np.int64),
        ("skip_limit", np.int64),
        ("skip_count", np.int64),
        # All visits and skipped moves, also those that found no row.
        ("visits", np.int64),
        ("skips", np.int64),
        # Row of the innermost open node, and how many nodes without a row are open below it.
        ("current", np.int64),
        ("unrecorded", np.int64),
        # About the node that will be entered next.
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

#: What a worker has besides in this build.
TRACE_FIELDS: Final = [("recording", TRACE)] if TRACING else []


def start_recording(worker: Any, capacity: int) -> None:
    """Empties the worker's recording and lets it hold `capacity` visits, at most MOST_VISITS. Mutates `worker`."""
    trace = worker["recording"]
    trace["node_limit"] = capacity
    trace["skip_limit"] = SKIPS_PER_VISIT * capacity
    for name in ("node_count", "skip_count", "visits", "skips", "unrecorded", "reduction", "extension"):
        trace[name] = 0
    trace["current"] = -1
    trace["search"] = WINDOW


# --------------------------------------------------------------------------------------------------------------
# The hooks. All mutate `worker.recording`, and nothing else.
# --------------------------------------------------------------------------------------------------------------


@hook
def searching(worker, search, reduction, extension):
    """The next node is entered for the reason `search`, by `reduction` plies shallower and `extension` deeper."""
    trace = worker.recording
    trace.search = search
    trace.reduction = reduction
    trace.extension = extension


@hook
def entered(worker, ply, asked, depth, alpha, beta, cut):
    """A node of the main search begins, to `depth` where its parent `asked` for less; `cut` is 1 or 0."""
    _enter(worker, ply, asked, depth, alpha, beta, cut, 0)


@hook
def entered_quiescence(worker, ply, alpha, beta):
    """A node of quiescence begins."""
    _enter(worker, ply, 0, 0, alpha, beta, 0, 1)


@hook
def shortened(worker, depth):
    """The current node is searched to `depth`, which may be less than it was entered with."""
    trace = worker.recording
    if trace.unrecorded == 0:
        node = trace.nodes[trace.current]
        node.reduction += node.depth - depth
        node.depth = depth


@hook
def evaluated(worker, ply, estimate, improving):
    """The frame at `ply` has its evaluation; the table made `estimate` of it; whether the side to move is improving."""
    _evaluate(worker, worker.stack[ply].static_eval, estimate, improving)


@hook
def evaluated_quiescence(worker, evaluation):
    """The same for quiescence, which keeps no evaluation in its frame."""
    _evaluate(worker, evaluation, evaluation, 0)


@hook
def skipped(worker, ply, move, reason):
    """The current node, at `ply`, leaves `move` out."""
    _skip(worker, ply, move, reason)


@hook
def skipped_rest(worker, ply):
    """The current node, at `ply`, has been given its last move: quiet ones that are missing are left out."""
    trace = worker.recording
    frame = worker.stack[ply]
    if trace.unrecorded > 0 or frame.skip_quiets == 0:
        return
    reason = np.int64(EVASION_LIMIT)
    if trace.nodes[trace.current].quiescence == 0:
        reason = trace.levels[ply].rest
    count = generate_quiets(frame.position, trace.scratch, 0)
    for index in range(count):
        move = np.int64(trace.scratch[index])
        if not _is_seen(worker, ply, move):
            _skip(worker, ply, move, reason)


@hook
def ended(worker, reason, value):
    """`value`, with which the current node ends for that reason."""
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
    # A search of the same position, for singularity say, goes before the parent's own moves.
    level = trace.levels[node.ply]
    level.seen_count = 0
    trace.current = node.parent
    return value


# --------------------------------------------------------------------------------------------------------------
# What they share
# --------------------------------------------------------------------------------------------------------------


@subkernel
def _see(worker, ply, move):
    """Remembers that the picker at `ply` has given out `move`."""
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
    """PV, CUT or ALL. Quiescence does not say what it expects: the opposite of the parent, unless it is at its ply."""
    if beta - alpha > 1:
        return PV
    if is_quiescence == 0:
        return CUT if cut != 0 else ALL
    expected = worker.recording.nodes[parent].expected
    if search < NULL:
        return np.int64(expected)
    return ALL if expected == CUT else CUT


@subkernel
def _enter(worker, ply, asked, depth, alpha, beta, cut, is_quiescence):
    trace = worker.recording
    search, reduction, extension = trace.search, trace.reduction, trace.extension + depth - asked
    # Unless it is announced otherwise, the next node is the first search of a move.
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
    if reason <= EVASION_LIMIT:
        level = trace.levels[ply]
        level.rest = reason
    node = trace.nodes[trace.current]
    node.skipped += 1
    if trace.skip_count == trace.skip_limit:
        return
    row = trace.skipped[trace.skip_count]
    row.node = trace.current
    row.move = move
    row.reason = reason
    trace.skip_count += 1
