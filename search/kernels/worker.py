"""The state of one search thread: a single record, allocated once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from engine.board.moves import MAX_MOVES
from engine.board.position import POSITION
from engine.memory import allocate
from eval.kernels.workspace import WORKSPACE
from eval.network.layout import FEATURES, MAX_HIDDEN, NETWORK, accumulator_stack
from search import tunables
from search.kernels.tracing import TRACE_FIELDS
from search.limits import MAX_PLY

#: How many of the game's last Zobrist keys are kept, root included. The fifty-move rule makes older ones useless.
GAME_KEYS: Final = 384

#: The number of continuation indices (colour, piece type and target square), and the index of a null or missing move.
CONTINUATIONS: Final = 2 * 6 * 64
NO_CONTINUATION: Final = CONTINUATIONS

#: Correction tables: the number of entries for each side to move (a power of two), and the bound of all entries.
CORRECTION_SIZE: Final = 16_384
CORRECTION_LIMIT: Final = 1024

#: Values of `stop`: STOP ends the search as soon as there is a move to play, STOP_NOW at once.
STOP, STOP_NOW = 1, 2

#: The values of all tunables. Each field has the name of its tunable.
TUNE: Final = np.dtype([(name, np.int64) for name in tunables.BY_NAME])

#: The state of one ply of a line.
FRAME: Final = np.dtype(
    [
        ("position", POSITION),
        # The move picker's state (see `search.kernels.picker`): its stage; the TT move; which quiet moves are wanted;
        # whether the policy rates them; whether the rest is skipped; the indices into `order` of the next move and end;
        # how many bad noisy moves `order` begins with; the generated moves; each move packed with its value and index.
        ("stage", np.int64),
        ("tt_move", np.int64),
        ("quiets", np.int64),
        ("rated", np.int64),
        ("skip_quiets", np.int64),
        ("cursor", np.int64),
        ("end", np.int64),
        ("bad_noisy", np.int64),
        ("moves", np.int32, (MAX_MOVES,)),
        ("order", np.int64, (MAX_MOVES,)),
        # The moves searched so far, in order: tried[:tried_count].
        ("tried", np.int32, (MAX_MOVES,)),
        ("tried_count", np.int64),
        # How many moves a player of limited strength has overlooked here (see `search.oversight`).
        ("overlooked", np.int64),
        # Fail highs at this ply, also in singular searches, since the node two plies earlier was last entered.
        ("cutoffs", np.int64),
        # Whether the node is a PV node or its position is known to have been in one, 0 or 1 (see `alpha_beta`). The
        # search that verifies a null move may set it, too.
        ("tt_pv", np.int64),
        # The number of the current move among all moves of the node, from 1, and whether the TT had an entry, 0 or 1.
        ("move_count", np.int64),
        ("tt_hit", np.int64),
        # The history of the last move that was searched with a reduction, less an average (see `alpha_beta`), or 0.
        ("stat_score", np.int64),
        # How many moves of the line, up to the current one, are extended by two plies or more.
        ("double_extensions", np.int64),
        # Own pieces that the opponent attacks with a lesser piece, and what the opponent attacks with pawns, with these
        # and minor pieces, and with rooks, too (see `find_threats`).
        ("threatened", np.uint64),
        ("by_pawns", np.uint64),
        ("by_minors", np.uint64),
        ("by_rooks", np.uint64),
        # The squares that the opponent attacks, for the butterfly history (see `find_threats`).
        ("threats", np.uint64),
        # Plies since the last null move, at least GAME_KEYS if the line has none: no position before a null move counts
        # as repeated after it.
        ("since_null", np.int64),
        # The move that led to the next frame; NO_MOVE for a null move.
        ("move", np.int64),
        # That move as an index into the continuation history, 0 to 767; NO_CONTINUATION for a null move.
        ("continuation", np.int64),
        # The move that a singular search excludes, else NO_MOVE.
        ("excluded", np.int64),
        # The corrected static evaluation, NO_SCORE in check.
        ("static_eval", np.int64),
        # The squares from which each piece type would give check (see `find_check_squares`).
        ("checks", np.uint64, (7,)),
        # The best line from here: pv[:pv_length].
        ("pv_length", np.int64),
        ("pv", np.int32, (MAX_PLY + 1,)),
    ],
    align=True,
)

WORKER: Final = np.dtype(
    [
        # The network that evaluates, and its accumulators. Each thread has its own copy of both, so kernels find
        # them in the worker. These fields come first because rows of int16 are fastest when they start on a cache line.
        ("network", NETWORK),
        ("accumulators", accumulator_stack(MAX_PLY + 2)),
        # Scratch memory of the policy: its inputs, and the logits of the moves in hand.
        ("policy_inputs", np.int8, (MAX_HIDDEN,)),
        ("logits", np.int64, (MAX_MOVES,)),
        # Other threads set `stop`. The search ends at its next node if `stop` exceeds `stop_threshold`.
        ("stop", np.int64),
        # STOP in the first iteration, which must find a move to play, else 0.
        ("stop_threshold", np.int64),
        # Another thread sets `overtaken` to the depth of an iteration that it has completed. A search that is no deeper
        # ends at its next node.
        ("overtaken", np.int64),
        # 1 if the search ended early, so that the returned value is meaningless; else 0.
        ("aborted", np.int64),
        ("nodes", np.int64),
        ("node_limit", np.int64),
        # Depth of the iteration in plies.
        ("root_depth", np.int64),
        # The width of the root's window, beta - alpha.
        ("root_window", np.int64),
        # While a null move cutoff is verified, there are no null moves before this ply.
        ("nmp_min_ply", np.int64),
        # Deepest ply that quiescence reached.
        ("selective_depth", np.int64),
        ("generation", np.int64),
        # Moves to search at the root, best first, and the nodes of each in the iteration's last window.
        ("root_count", np.int64),
        ("root_moves", np.int64, (MAX_MOVES,)),
        ("root_nodes", np.int64, (MAX_MOVES,)),
        # Zobrist keys of the game and the line; the root's key has index root_index.
        ("root_index", np.int64),
        ("keys", np.uint64, (GAME_KEYS + MAX_PLY + 2,)),
        # [color][is the origin attacked][is the target attacked][origin][target]: how well a quiet move has done
        # recently, within +-BUTTERFLY_LIMIT (see `search.kernels.history`).
        ("butterfly_history", np.int16, (2, 2, 2, 64, 64)),
        # [color][moving piece][target][captured piece]: the same for captures.
        ("capture_history", np.int16, (2, 7, 64, 7)),
        # [earlier move][move]: how well a quiet move answered or followed up another. A move is the number
        # color * 384 + (piece - 1) * 64 + target. The extra row is for no earlier move and stays 0.
        ("continuation_history", np.int16, (CONTINUATIONS + 1, CONTINUATIONS)),
        # The errors of earlier evaluations (see `search.kernels.correction`): [side to move][pawns],
        # [side to move][color of the pieces][pieces] and [move two plies back][last move], each within
        # +-CORRECTION_LIMIT.
        ("pawn_corrections", np.int16, (2, CORRECTION_SIZE)),
        ("non_pawn_corrections", np.int16, (2, 2, CORRECTION_SIZE)),
        ("continuation_corrections", np.int16, (CONTINUATIONS + 1, CONTINUATIONS + 1)),
        # Whether the player overlooks moves, 0 or 1 (see `search.oversight`); then [color][origin][target] says which:
        # 0 sees the move, 1 overlooks it if it is quiet, 2 also if it is a capture or promotion.
        ("overlooks", np.int64),
        ("blind", np.uint8, (2, 64, 64)),
        # The tunables (see `search.tunables`) and the reductions computed from them.
        ("tune", TUNE),
        ("reductions", np.int64, (64, 64)),
        # Scratch memory of the evaluation.
        ("workspace", WORKSPACE),
        ("stack", FRAME, (MAX_PLY + 2,)),
        # In play, only the root needs the following fields. They come last, so that the others are close together.
        # 1 if the root has legal moves that are not in `root_moves`, else 0.
        ("root_is_partial", np.int64),
        # The iteration's window (see `search.kernels.aspiration`): its bounds, the distance from the score to the
        # next bound, how many windows failed high since the last that failed low, and the length of the PV that failed
        # high in an earlier window.
        ("alpha", np.int64),
        ("beta", np.int64),
        ("width", np.int64),
        ("failed_high", np.int64),
        ("fail_high_pv_length", np.int64),
        # The root move that was first when the iteration began: the best one of the last iteration.
        ("expected", np.int64),
        # The reporter's thread writes `reports` (see `search.threads`): if it is 1, the iteration returns after each
        # window that fails. The iteration then sets `failed` to UPPER or LOWER, otherwise to 0.
        ("reports", np.int64),
        ("failed", np.int64),
        # In the tracing build: the recording (see `search.kernels.tracing`).
        *TRACE_FIELDS,
    ],
    align=True,
)


def new_worker() -> Any:
    """Returns a WORKER record with the default tunables, otherwise zeroed. Raises MemoryError if memory is short."""
    worker = allocate(WORKER, 1)[0]
    set_tunables(worker, tunables.defaults())
    return worker


def set_tunables(worker: Any, values: Mapping[str, int]) -> None:
    """Sets tunables by name, and the reductions computed from them. Mutates `worker`.

    Raises KeyError with the name of an unknown tunable.
    """
    tune = worker["tune"]
    before = [int(tune[name]) for name in tunables.REDUCTION_TUNABLES]
    for name, value in values.items():
        if name not in tunables.BY_NAME:
            raise KeyError(name)
        tune[name] = value
    now = [int(tune[name]) for name in tunables.REDUCTION_TUNABLES]
    # A tuner sets all options before each game, and the logarithms take longer than the rest.
    if now != before:
        worker["reductions"] = tunables.reductions(*now)


def tunables_of(worker: Any) -> dict[str, int]:
    """Returns the values of the worker's tunables by name."""
    return dict(zip(tunables.BY_NAME, worker["tune"].item(), strict=True))


def forget(worker: Any) -> None:
    """Clears the histories and corrections of a worker. Mutates `worker`."""
    worker["butterfly_history"] = 0
    worker["capture_history"] = 0
    worker["continuation_history"] = 0
    worker["pawn_corrections"] = 0
    worker["non_pawn_corrections"] = 0
    worker["continuation_corrections"] = 0


def set_network(worker: Any, network: Any) -> None:
    """Sets the worker's NETWORK record; None means the classical evaluation. Mutates `worker`."""
    worker["accumulators"]["cached"] = 0
    mine = worker["network"]
    if network is None:
        mine["hidden"] = mine["has_policy"] = 0
        return
    # The system provides memory when it is first written to, so the rows beyond the network's cost none.
    used = {"features": FEATURES * int(network["hidden"])}
    for name, flag in (("threats", "has_threats"), ("policy_rows", "has_policy")):
        if not network[flag]:
            used[name] = 0
    for name in NETWORK.names or ():
        if name in used:
            mine[name][: used[name]] = network[name][: used[name]]
        else:
            mine[name] = network[name]
