"""Self-play in compiled code: one kernel call plays one game.

The search is the engine's own `search_iteration`. The kernels of this module replace the Python code of normal play:
they deepen iteratively and apply the rules that end a game.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from engine.board.attacks import is_attacked
from engine.board.bits import U0, copy_record, multiply_high, multiply_low
from engine.board.draws import has_insufficient_material, is_fifty_move_draw, is_repetition
from engine.board.exchange import see_ge
from engine.board.generate import generate_all
from engine.board.make import complete, make_move
from engine.board.moves import NO_MOVE, is_capture, is_promotion
from engine.board.position import (
    BLACK,
    EMPTY,
    KING,
    KNIGHT,
    OCCUPIED,
    PAWN,
    ROOK,
    WHITE,
    king_square,
    piece_at,
)
from engine.compiler.jit import inlined, kernel, subkernel
from eval.training.kernels.records import (
    CHECKMATE,
    CHESS960,
    DFRC,
    DRAW_SCORE,
    ENDGAME,
    FIFTY_MOVES,
    LENGTH,
    MATERIAL,
    REPETITION,
    STALEMATE,
    TREE,
    WIN_SCORE,
    clear,
    pack,
    put_piece,
)
from search.kernels.aspiration import search_iteration
from search.kernels.history import find_threats
from search.kernels.picker import ALL_QUIETS, next_move, start
from search.kernels.score import NO_SCORE
from search.kernels.transposition import GENERATIONS, probe
from search.kernels.worker import NO_CONTINUATION
from search.limits import MAX_DEPTH, NO_NODE_LIMIT

#: The rules of self-play games; every field is an int64.
RULES: Final = np.dtype(
    [
        (name, np.int64)
        for name in (
            # No iteration begins after `soft_nodes` nodes; only the first may continue beyond `hard_nodes` nodes.
            "soft_nodes",
            "hard_nodes",
            # An index into VARIANTS.
            "variant",
            # The minimum and maximum number of random plies, and the largest absolute score after them.
            "opening_least",
            "opening_most",
            "opening_score",
            # The chance, in percent, of a random move instead of a quiet best move; see `_move_to_play`.
            "random_percent",
            # The nodes to search positions of the games' search trees with, 0 to record none; see `_record_tree`.
            "tree_nodes",
            # The chance, in percent, that a position of a search's tree is recorded.
            "tree_percent",
            # A side wins if its score is at least `win_score` for `win_plies` plies in a row.
            "win_score",
            "win_plies",
            # A game is drawn if |score| <= `draw_score` for `draw_plies` plies in a row after ply `draw_from`.
            "draw_score",
            "draw_plies",
            "draw_from",
            # A game is drawn after this many recorded plies.
            "max_plies",
        )
    ]
)

#: The number of the standard back rank in Chess960.
STANDARD_RANK = 518

_RANKS = 960
_NO_ENDING = -1
#: How many random moves `_move_to_play` tries before it plays the best move.
_RANDOM_DRAWS = 6

#: The most walks through a search's tree for a position to record. Before each step, a walk ends with a chance of one
#: in _WALK_ENDS, and in any case after _MOST_STEPS steps.
_MOST_WALKS = 8
_WALK_ENDS = 5
_MOST_STEPS = 40
#: A search of so many nodes decides whether a position is recorded. If its score differs from the game's by more than
#: _NEAR centipawns, the chance is _NEAR / difference. A position whose own score is beyond _FAR is decided and not
#: recorded.
_SKETCH_NODES = 40
_NEAR = 100
_FAR = 2000
#: The hard limits of these searches and of those that label positions, as multiples of the soft ones.
_SKETCH_HARD, _TREE_HARD = 10, 8

# xorshift64*: Sebastiano Vigna, "An experimental exploration of Marsaglia's xorshift generators, scrambled" (2016).
_MULTIPLIER = np.uint64(0x2545_F491_4F6C_DD1D)
_U12, _U25, _U27 = np.uint64(12), np.uint64(25), np.uint64(27)


@inlined
def _random_below(random, limit):
    """Returns a random number from 0 to limit - 1, int64. `random`, uint64[1] (mutated), must not be 0."""
    state = random[0]
    state ^= state >> _U12
    state ^= state << _U25
    state ^= state >> _U27
    random[0] = state
    return np.int64(multiply_high(multiply_low(state, _MULTIPLIER), np.uint64(limit)))


# --------------------------------------------------------------------------------------------------------------
# Positions of a game
# --------------------------------------------------------------------------------------------------------------


@inlined
def _remember(worker):
    """Adds the root position's key to the keys that detect repetitions. Mutates `worker`."""
    position = worker.stack[0].position
    # No position from before a capture or pawn move can recur, so the fifty-move rule bounds the number of keys.
    worker.root_index = 0 if position.halfmoves == 0 else worker.root_index + 1
    worker.keys[worker.root_index] = position.key


@inlined
def _advance(worker, move):
    """Plays a move at the root. Mutates `worker`."""
    position = worker.stack[0].position
    child = worker.stack[1].position
    make_move(position, child, move)
    copy_record(position, child)
    _remember(worker)


@inlined
def _place(position, color, ranks, number):
    """Places `color`'s pawns, and its pieces as in row `number` of `ranks`, uint8[960][8]. Mutates `position`."""
    back = 0 if color == WHITE else 56
    front = 8 if color == WHITE else 48
    for file in range(8):
        put_piece(position, back + file, color, np.int64(ranks[number, file]))
        put_piece(position, front + file, color, PAWN)


@inlined
def _put_randomly(position, color, piece, random):
    """Places a piece on a random empty square, a pawn not on a back rank. Mutates `position` and `random`."""
    first, squares = (8, 48) if piece == PAWN else (0, 64)
    square = first + _random_below(random, squares)
    while piece_at(position, square) != EMPTY:
        square = first + _random_below(random, squares)
    put_piece(position, square, color, piece)


@subkernel
def _set_up_endgame(position, random):
    """Places kings and 2 to 8 other pieces at random, each a pawn with a chance of one half; no king is in check.

    Mutates `position` and `random`.
    """
    while True:
        clear(position)
        _put_randomly(position, WHITE, KING, random)
        _put_randomly(position, BLACK, KING, random)
        for _ in range(2 + _random_below(random, 7)):
            piece = np.int64(PAWN)
            if _random_below(random, 2) == 0:
                piece = KNIGHT + _random_below(random, 4)
            _put_randomly(position, _random_below(random, 2), piece, random)
        position.turn = _random_below(random, 2)
        occupied = position.pieces[OCCUPIED]
        white, black = king_square(position, WHITE), king_square(position, BLACK)
        if not is_attacked(position, white, BLACK, occupied) and not is_attacked(position, black, WHITE, occupied):
            return


@subkernel
def _set_up(worker, variant, ranks, random):
    """Sets up a start position of the variant. Mutates `worker` and `random`."""
    position = worker.stack[0].position
    white = np.int64(STANDARD_RANK)
    black = np.int64(STANDARD_RANK)
    if variant == CHESS960 or variant == DFRC:
        white = _random_below(random, _RANKS)
        black = white if variant == CHESS960 else _random_below(random, _RANKS)
    if variant == ENDGAME:
        _set_up_endgame(position, random)
    else:
        clear(position)
        _place(position, WHITE, ranks, white)
        _place(position, BLACK, ranks, black)
        position.castling = position.pieces[ROOK]
    complete(position)
    worker.root_index = 0
    _remember(worker)


@subkernel
def _ending(worker):
    """Returns how the rules end the game, as an index into ENDINGS, int64; -1 if they do not. Mutates `worker`."""
    frame = worker.stack[0]
    position = frame.position
    if generate_all(position, frame.moves, 0) == 0:
        return np.int64(CHECKMATE if position.checkers != U0 else STALEMATE)
    if is_repetition(worker.keys, worker.root_index, position.halfmoves, 0):
        return np.int64(REPETITION)
    if is_fifty_move_draw(position):
        return np.int64(FIFTY_MOVES)
    if has_insufficient_material(position):
        return np.int64(MATERIAL)
    return np.int64(_NO_ENDING)


@subkernel
def _random_opening(worker, rules, ranks, random):
    """Plays a random opening; returns its length in plies, or -1 if the game ends. Mutates `worker` and `random`."""
    _set_up(worker, rules.variant, ranks, random)
    frame = worker.stack[0]
    count = rules.opening_least + _random_below(random, rules.opening_most - rules.opening_least + 1)
    for _ in range(count):
        if _ending(worker) != _NO_ENDING:
            return np.int64(-1)
        choices = generate_all(frame.position, frame.moves, 0)
        _advance(worker, np.int64(frame.moves[_random_below(random, choices)]))
    if _ending(worker) != _NO_ENDING:
        return np.int64(-1)
    # Repetitions count from the recorded start on, so that a game can be checked from its record alone.
    worker.root_index = 0
    worker.keys[0] = frame.position.key
    return count


# --------------------------------------------------------------------------------------------------------------
# Iterative deepening
# --------------------------------------------------------------------------------------------------------------


@inlined
def _prepare_root(worker, table):
    """Prepares `worker` (mutated) to search its first frame's position, in which there must be a legal move."""
    worker.stop = 0
    worker.stop_threshold = 0
    worker.aborted = 0
    worker.nodes = 0
    worker.selective_depth = 0
    worker.generation = (worker.generation + 1) % GENERATIONS
    for ply in range(worker.stack.size):
        frame = worker.stack[ply]
        frame.move = NO_MOVE
        frame.excluded = NO_MOVE
        frame.continuation = NO_CONTINUATION
    find_threats(worker, 0)
    start(worker, 0, NO_MOVE, ALL_QUIETS)
    worker.root_count = 0
    move = next_move(worker, table, 0)
    while move != NO_MOVE:
        worker.root_moves[worker.root_count] = move
        worker.root_count += 1
        move = next_move(worker, table, 0)


@subkernel
def think(worker, table, soft_nodes, hard_nodes):
    """Searches the position in the first frame; returns its score for the side to move, int64.

    No iteration begins after `soft_nodes` nodes, and none except the first continues beyond `hard_nodes`. The score is
    that of the last finished iteration. Mutates `worker` and `table`; the best move is then `worker.stack[0].pv[0]`.
    """
    frame = worker.stack[0]
    _prepare_root(worker, table)
    best = np.int64(NO_MOVE)
    last = np.int64(NO_SCORE)
    for depth in range(1, MAX_DEPTH + 1):
        worker.node_limit = NO_NODE_LIMIT if depth == 1 else hard_nodes
        score = search_iteration(worker, table, depth, last)
        if frame.pv_length > 0:
            best = np.int64(frame.pv[0])
        if worker.aborted != 0:
            break
        last = score
        if worker.nodes >= soft_nodes:
            break
    frame.pv[0] = best
    return last


# --------------------------------------------------------------------------------------------------------------
# Games
# --------------------------------------------------------------------------------------------------------------


@inlined
def _streak(count, holds):
    """Returns the length of a streak after one more ply, int64: `count + 1` if the condition `holds`, else 0."""
    return count + 1 if holds else np.int64(0)


@subkernel
def _move_to_play(worker, random_percent, random):
    """Returns the move to play after `think`, int64: the best move, or instead a random one.

    If the best move is quiet and the side to move is not in check, a random quiet move that loses no material by SEE
    replaces it with a chance of `random_percent` %. So the recorded move still tells whether the position is quiet.
    Mutates `worker` and `random`.
    """
    frame = worker.stack[0]
    position = frame.position
    best = np.int64(frame.pv[0])
    if random_percent == 0 or is_capture(best) or is_promotion(best) or position.checkers != U0:
        return best
    if _random_below(random, 100) >= random_percent:
        return best
    count = generate_all(position, frame.moves, 0)
    for _ in range(_RANDOM_DRAWS):
        move = np.int64(frame.moves[_random_below(random, count)])
        if not is_capture(move) and not is_promotion(move) and see_ge(position, move, 0):
            return move
    return best


@subkernel
def _walk(worker, table, random):
    """Walks from the root into the tree of the last search; returns the ply reached, int64, often 0.

    Each step is a random move among those to positions that the TT contains. Mutates `worker`, whose frames contain the
    positions, and `random`.
    """
    ply = np.int64(0)
    while ply < _MOST_STEPS and _random_below(random, _WALK_ENDS) != 0:
        frame = worker.stack[ply]
        child = worker.stack[ply + 1].position
        known = np.int64(0)
        chosen = np.int64(NO_MOVE)
        for index in range(generate_all(frame.position, frame.moves, 0)):
            move = np.int64(frame.moves[index])
            make_move(frame.position, child, move)
            if probe(table, child.key) != U0:
                known += 1
                if _random_below(random, known) == 0:
                    chosen = move
        if chosen == NO_MOVE:
            break
        make_move(frame.position, child, chosen)
        ply += 1
    return ply


@inlined
def _is_quiet(worker):
    """Returns whether the best move of the last search neither captures nor promotes."""
    best = np.int64(worker.stack[0].pv[0])
    return not is_capture(best) and not is_promotion(best)


@subkernel
def _is_worth_recording(worker, table, game_score, random):
    """Returns whether a position of a tree, in the first frame, is quiet and likely enough to matter in the game.

    `game_score` is White's score of the game. Mutates `worker`, `table` and `random`.
    """
    position = worker.stack[0].position
    worker.root_index = 0
    worker.keys[0] = position.key
    if position.checkers != U0 or _ending(worker) != _NO_ENDING:
        return False
    score = think(worker, table, np.int64(_SKETCH_NODES), np.int64(_SKETCH_HARD * _SKETCH_NODES))
    if abs(score) > _FAR or not _is_quiet(worker):
        return False
    difference = abs((score if position.turn == WHITE else -score) - game_score)
    return difference <= _NEAR or _random_below(random, difference) < _NEAR


@subkernel
def _record_tree(worker, table, rules, random, game_score, game, record, scratch):
    """Records a quiet position of the last search's tree, which a search with `rules.tree_nodes` nodes labels.

    Most such positions follow a move that the search rejects, so they occur in no game; some are the root itself.
    Positions of one tree are alike, so the first that is worth recording is enough. `game_score` is White's score of
    the root. Writes `game` (GAME) of one ply, with the number of plies from the root as `game.opening`, and `record`
    (PLY); returns whether it did, 1 or 0, int64. Keeps the root position and its history. `scratch` is a POSITION and
    an array like the worker's keys. Mutates all but `rules`.
    """
    saved, keys = scratch
    root = worker.stack[0].position
    copy_record(saved, root)
    root_index = worker.root_index
    for index in range(keys.size):
        keys[index] = worker.keys[index]
    found = np.int64(0)
    for _ in range(_MOST_WALKS):
        copy_record(root, saved)
        depth = _walk(worker, table, random)
        copy_record(root, worker.stack[depth].position)
        if not _is_worth_recording(worker, table, game_score, random):
            continue
        score = think(worker, table, rules.tree_nodes, _TREE_HARD * rules.tree_nodes)
        if not _is_quiet(worker):
            continue
        pack(root, game.start)
        game.opening = depth
        game.variant = rules.variant
        game.plies = 1
        game.ending = TREE
        record.move = worker.stack[0].pv[0]
        record.score = score if root.turn == WHITE else -score
        found = np.int64(1)
        break
    copy_record(root, saved)
    worker.root_index = root_index
    for index in range(keys.size):
        worker.keys[index] = keys[index]
    return found


@kernel
def play_game(worker, table, rules, ranks, random, games, plies, scratch):
    """Plays a game, and records positions of its search trees if the rules say so; returns the number of records.

    `worker` must be a WORKER without data of earlier games, and `table` an empty ENTRY[n]. Then the game depends only
    on `rules` (RULES), `random` (uint64[1], not 0) and the network. `ranks`, uint8[960][8], is Chess960's back ranks as
    piece types. Writes the game to `games[0]` (GAME) and the first of `plies` (PLY), positions of trees to the rest of
    `games` and to `plies` from index `rules.max_plies` on; each ply of the game may need one of both. `scratch` is as
    for `_record_tree`. Mutates everything except `rules` and `ranks`.
    """
    position = worker.stack[0].position
    game = games[0]
    records = np.int64(1)
    while True:
        opening = _random_opening(worker, rules, ranks, random)
        if opening >= 0:
            score = think(worker, table, rules.soft_nodes, rules.hard_nodes)
            if abs(score) <= rules.opening_score:
                break
    pack(position, game.start)
    game.opening = opening
    game.variant = rules.variant
    count = np.int64(0)
    won, lost, level = np.int64(0), np.int64(0), np.int64(0)
    while True:
        move = _move_to_play(worker, rules.random_percent, random)
        score = score if position.turn == WHITE else -score
        plies[count].move = move
        plies[count].score = score
        count += 1
        won = _streak(won, score >= rules.win_score)
        lost = _streak(lost, score <= -rules.win_score)
        level = _streak(level, abs(score) <= rules.draw_score and opening + count > rules.draw_from)
        if rules.tree_nodes > 0 and _random_below(random, 100) < rules.tree_percent:
            tree, record = games[records], plies[rules.max_plies + records - 1]
            if _record_tree(worker, table, rules, random, score, tree, record, scratch) != 0:
                tree.opening = min(opening + count - 1 + np.int64(tree.opening), np.int64(255))
                records += 1
        result = np.int64(1)
        if won >= rules.win_plies or lost >= rules.win_plies:
            ending = np.int64(WIN_SCORE)
            result = np.int64(2 if won > 0 else 0)
            break
        if level >= rules.draw_plies:
            ending = np.int64(DRAW_SCORE)
            break
        _advance(worker, move)
        ending = _ending(worker)
        if ending != _NO_ENDING:
            if ending == CHECKMATE:
                result = np.int64(0 if position.turn == WHITE else 2)
            break
        if count >= rules.max_plies:
            ending = np.int64(LENGTH)
            break
        score = think(worker, table, rules.soft_nodes, rules.hard_nodes)
    game.plies = count
    game.ending = ending
    for index in range(records):
        games[index].result = result
    return records
