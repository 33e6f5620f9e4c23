"""The common parts of all nodes: stopping, draws, making moves, evaluation, TT cutoffs, the PV."""

from __future__ import annotations

import numpy as np

from engine.board.draws import has_insufficient_material, is_fifty_move_draw, is_repetition
from engine.board.make import key_after, key_after_null_move, make_move, make_null_move
from engine.board.moves import NO_MOVE
from engine.compiler.jit import inlined, subkernel
from eval.custom import CUSTOM, custom_evaluation
from eval.kernels.accumulator import forget_accumulators
from eval.kernels.classical import evaluate as evaluate_classical
from eval.kernels.endings import USE_DRAW, USE_NETWORK, choose_evaluation
from eval.kernels.inference import evaluate_with_network
from eval.terms.pawns import prefetch_pawns
from search.kernels.correction import prefetch_corrections
from search.kernels.history import continuation_of
from search.kernels.score import LOWER, NO_SCORE, UPPER
from search.kernels.transposition import prefetch_bucket
from search.kernels.worker import NO_CONTINUATION


@inlined
def must_stop(worker):
    """Returns whether the search must end at this node; sets `worker.aborted` if so. Mutates `worker`."""
    if (
        worker.stop > worker.stop_threshold
        or worker.nodes >= worker.node_limit
        or worker.overtaken >= worker.root_depth
    ):
        worker.aborted = 1
        return True
    return False


@inlined
def is_draw(worker, ply):
    """Returns whether the position at `ply`, not the root, is a draw by repetition, fifty moves or lack of material."""
    position = worker.stack[ply].position
    return (
        is_repetition(worker.keys, worker.root_index + ply, min(position.halfmoves, worker.stack[ply].since_null), ply)
        or is_fifty_move_draw(position)
        or has_insufficient_material(position)
    )


@inlined
def _enter(worker, ply, move, continuation):
    """Records `move`, which has just led to the position at `ply` + 1, and counts that node. Mutates `worker`."""
    frame = worker.stack[ply]
    frame.move = move
    frame.continuation = continuation
    worker.stack[ply + 1].since_null = frame.since_null + 1 if move != NO_MOVE else 0
    forget_accumulators(worker.accumulators, ply + 1)
    worker.keys[worker.root_index + ply + 1] = worker.stack[ply + 1].position.key
    worker.nodes += 1
    # Prefetching these entries now is early enough: unlike the TT bucket, they are usually in the CPU's outer caches.
    # With a network, the pawn structure is seldom needed.
    if worker.network.hidden == 0:
        prefetch_pawns(worker.stack[ply + 1].position, worker.workspace)
    prefetch_corrections(worker, ply + 1)


@inlined
def prefetch_move(worker, tt, ply, move):
    """Prefetches the TT bucket that the position after `move` at `ply` most likely has (see `key_after`).

    A load from memory takes about as long as an evaluation, so call this as soon as the move is known. Any int64 is
    safe: an impossible move only loads another bucket.
    """
    prefetch_bucket(tt, key_after(worker.stack[ply].position, move))


@inlined
def play(worker, ply, move):
    """Makes `move` at `ply`, stores the new position in the next frame and counts the node. Mutates `worker`.

    Call `prefetch_move` well before this.
    """
    position = worker.stack[ply].position
    make_move(position, worker.stack[ply + 1].position, move)
    _enter(worker, ply, move, continuation_of(position, move))


@inlined
def prefetch_null_move(worker, tt, ply):
    """Prefetches the TT bucket of the position after a null move at `ply`."""
    prefetch_bucket(tt, key_after_null_move(worker.stack[ply].position))


@inlined
def play_null_move(worker, ply):
    """Makes a null move: the next frame gets the same position with the other side to move. Mutates `worker`."""
    make_null_move(worker.stack[ply].position, worker.stack[ply + 1].position)
    _enter(worker, ply, NO_MOVE, NO_CONTINUATION)


@subkernel
def evaluate(worker, ply):
    """Returns the static evaluation at `ply` without corrections, as int64 centipawns for the side to move.

    Without a network, this is the classical evaluation. With a network, it is the network's value with two exceptions:
    positions with a bare king get the classical evaluation, and the value is 0 if the side ahead cannot win
    (see `eval.kernels.endings`). Mutates `worker`.
    """
    position = worker.stack[ply].position
    if worker.network.hidden != 0:
        value = evaluate_with_network(worker.network, worker.accumulators, worker.stack, ply)
        choice = choose_evaluation(position, value)
        if choice == USE_NETWORK:
            return value
        if choice == USE_DRAW:
            return np.int64(0)
    return evaluate_classical(position, worker.workspace)


@subkernel
def _evaluate_custom(worker, ply):
    """Returns the custom evaluation at `ply`, as int64 centipawns, in place of the network and the classical one."""
    return custom_evaluation(worker.stack[ply].position)


# CUSTOM is fixed before the kernels are compiled, so no node has to test it.
if CUSTOM is not None:
    evaluate = _evaluate_custom


@inlined
def is_improving(worker, ply):
    """Returns 1 if the static evaluation for the side to move has risen, else 0, as int64.

    Compares the evaluation with that of two plies ago or, if the side was in check then, with that of four plies ago.
    Returns 1 if neither of these exists. Returns 0 in check, and always if the tunable `improving` is 0.
    """
    static_eval = worker.stack[ply].static_eval
    if static_eval == NO_SCORE or worker.tune.improving == 0:
        return 0
    if ply >= 2 and worker.stack[ply - 2].static_eval != NO_SCORE:
        return 1 if static_eval > worker.stack[ply - 2].static_eval else 0
    if ply >= 4 and worker.stack[ply - 4].static_eval != NO_SCORE:
        return 1 if static_eval > worker.stack[ply - 4].static_eval else 0
    return 1


@inlined
def is_tt_cutoff(bound, score, alpha, beta):
    """Returns whether a TT `score` with this `bound` is a lower bound >= beta or an upper bound <= alpha, as bool."""
    if score >= beta:
        return bound & LOWER != 0
    return score <= alpha and bound & UPPER != 0


@inlined
def update_pv(worker, ply, move):
    """Sets the PV at `ply` to `move` followed by the next frame's PV. Mutates `worker`."""
    frame = worker.stack[ply]
    child = worker.stack[ply + 1]
    frame.pv[0] = move
    length = child.pv_length
    for index in range(length):
        frame.pv[index + 1] = child.pv[index]
    frame.pv_length = length + 1
