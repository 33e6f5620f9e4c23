"""What every node of the search does: stopping, draws, making moves, reading the table, keeping the best line."""

from __future__ import annotations

import numpy as np

from engine.board.draws import has_insufficient_material, is_fifty_move_draw, is_repetition
from engine.board.make import key_after, key_after_null_move, make_move, make_null_move
from engine.board.moves import NO_MOVE
from engine.jit import inlined, subkernel
from eval.classical import evaluate
from eval.custom import CUSTOM, custom_evaluation
from eval.network.accumulator import forget_accumulators
from eval.network.endings import DRAWN, NETWORK_COUNTS, whose_word
from eval.network.inference import evaluate_with_network
from eval.terms.pawns import expect_pawns
from search.correction import expect_corrections
from search.history import continuation_of
from search.score import LOWER, UPPER
from search.table import prefetch
from search.worker import NO_CONTINUATION


@inlined
def must_stop(worker):
    """Whether the search has to end at this node; marks it as aborted then. Mutates `worker`."""
    if worker.stop > worker.patience or worker.nodes >= worker.node_limit:
        worker.aborted = 1
        return True
    return False


@inlined
def is_draw(worker, ply):
    """Whether the rules end the game at the position of `ply` (not the root)."""
    position = worker.frames[ply].position
    return (
        is_repetition(worker.keys, worker.root_index + ply, position.halfmoves, ply)
        or is_fifty_move_draw(position)
        or has_insufficient_material(position)
    )


@inlined
def _enter(worker, ply, move, continuation):
    """Counts the node of the frame behind `ply`, whose position `move` has just made. Mutates `worker`."""
    frame = worker.frames[ply]
    frame.move = move
    frame.continuation = continuation
    forget_accumulators(worker.accumulators, ply + 1)
    worker.keys[worker.root_index + ply + 1] = worker.frames[ply + 1].position.key
    worker.nodes += 1
    # Unlike the table's bucket these are in the CPU's farther caches at worst. A network asks for no pawns.
    if worker.network.hidden == 0:
        expect_pawns(worker.frames[ply + 1].position, worker.workspace)
    expect_corrections(worker, ply + 1)


@inlined
def expect(worker, table, ply, move):
    """The move is likely to be played from the frame at `ply`: starts loading what the table has on it.

    The memory takes about as long as an evaluation, so this is worth calling as soon as the move is known. Any int64
    will do: what is no move of the position loads something else.
    """
    prefetch(table, key_after(worker.frames[ply].position, move))


@inlined
def play(worker, ply, move):
    """Makes a move from the frame at `ply` into the next one and counts the node. Mutates `worker`.

    `expect` should have been told of it.
    """
    position = worker.frames[ply].position
    make_move(position, worker.frames[ply + 1].position, move)
    _enter(worker, ply, move, continuation_of(position, move))


@inlined
def expect_null_move(worker, table, ply):
    """`expect` for passing."""
    prefetch(table, key_after_null_move(worker.frames[ply].position))


@inlined
def play_null_move(worker, ply):
    """Passes: the next frame gets the same position with the other side to move. Mutates `worker`."""
    make_null_move(worker.frames[ply].position, worker.frames[ply + 1].position)
    _enter(worker, ply, NO_MOVE, NO_CONTINUATION)


@subkernel
def static_evaluation(worker, ply):
    """What the position at `ply` is worth without a search, int64 centipawns from the side to move's view.

    Without a network that is the classical evaluation. With one it is the network's word, but for endings of which the
    classical evaluation knows more (`eval.network.endings` says why): where a king is bare its word counts, and a lead
    that cannot be won is worth 0. Mutates `worker`.
    """
    position = worker.frames[ply].position
    if worker.network.hidden != 0:
        value = evaluate_with_network(worker.network, worker.accumulators, worker.frames, ply)
        word = whose_word(position, value)
        if word == NETWORK_COUNTS:
            return value
        if word == DRAWN:
            return np.int64(0)
    return evaluate(position, worker.workspace)


@subkernel
def _custom_evaluation(worker, ply):
    """The same where a custom evaluation was chosen, beside which a network has no say."""
    return custom_evaluation(worker.frames[ply].position)


# A constant of the build: neither of the two has to ask which one plays.
if CUSTOM is not None:
    static_evaluation = _custom_evaluation


@inlined
def answers_window(bound, score, alpha, beta):
    """Whether a stored score with its bound settles a search with this window."""
    if score >= beta:
        return bound & LOWER != 0
    return score <= alpha and bound & UPPER != 0


@inlined
def update_pv(worker, ply, move):
    """The best line at `ply` becomes `move` and the next frame's line. Mutates `worker`."""
    frame = worker.frames[ply]
    child = worker.frames[ply + 1]
    frame.pv[0] = move
    length = child.pv_length
    for index in range(length):
        frame.pv[index + 1] = child.pv[index]
    frame.pv_length = length + 1
