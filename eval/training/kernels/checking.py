"""The kernel that checks the start, the moves, the scores and the end of recorded games.

It has its own version of the rules of adjudication, so that it also checks those of `eval.training.kernels.selfplay`.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from engine.board.attacks import is_attacked
from engine.board.bits import U0, bit, copy_record, lsb, popcount, without_lsb
from engine.board.draws import has_insufficient_material, is_fifty_move_draw, is_repetition
from engine.board.generate import BACK_RANKS, generate_all
from engine.board.make import make_move
from engine.board.position import KING, OCCUPIED, PAWN, king_square
from engine.compiler.jit import inlined, kernel, subkernel
from eval.training.kernels.records import (
    CHECKMATE,
    DRAW_SCORE,
    FIFTY_MOVES,
    LENGTH,
    MATERIAL,
    REPETITION,
    STALEMATE,
    TREE,
    WIN_SCORE,
    piece_code,
    unpack,
)
from search.kernels.score import MATE

#: The problems of a game, indexed by the codes of `check_games`.
PROBLEMS: Final = (
    "",
    "its start is not a valid position",
    "an illegal move",
    "an impossible score",
    "an ending that does not fit its moves",
    "a result that does not fit its ending",
    "an adjudication that its scores do not support",
    "moves after its scores or its length required its end",
)
SOUND, BAD_START, ILLEGAL_MOVE, BAD_SCORE, BAD_ENDING, BAD_RESULT, BAD_ADJUDICATION, OVERDUE = range(8)

_NO_VERDICT: Final = -1


@subkernel
def is_packed_position(packed):
    """Returns whether a PACKED record's pieces (number, types, kings, pawns' ranks) and en passant rank are valid."""
    if popcount(packed.occupied) > 32:
        return False
    kings = np.int64(0)
    remaining = packed.occupied
    index = 0
    while remaining != U0:
        code = piece_code(packed, index)
        piece = code & 7
        if piece == 0 or (piece == PAWN and bit(lsb(remaining)) & BACK_RANKS != U0):
            return False
        if piece == KING:
            kings += 1 if code == piece else 100
        index += 1
        remaining = without_lsb(remaining)
    state = np.int64(packed.state)
    ep_square = state & 127
    return kings == 101 and (ep_square == 64 or ep_square >> 3 == (5 if state < 128 else 2))


@subkernel
def is_position(position):
    """Returns False if the side that just moved is in check, or a castling rook or its king is off the back rank."""
    us = position.turn
    if is_attacked(position, king_square(position, us ^ 1), us, position.pieces[OCCUPIED]):
        return False
    rooks = position.castling
    while rooks != U0:
        rook = lsb(rooks)
        color = 1 if position.colors[1] & bit(rook) != U0 else 0
        rank = 0 if color == 1 else 7
        if rook >> 3 != rank or king_square(position, color) >> 3 != rank:
            return False
        rooks = without_lsb(rooks)
    return True


@inlined
def _fits(game, position, moves, keys, index):
    """Returns whether the position after the last move permits the game's `ending`. Mutates `moves`."""
    ending = np.int64(game.ending)
    over = generate_all(position, moves, 0) == 0
    if ending == CHECKMATE:
        return over and position.checkers != U0
    if ending == STALEMATE:
        return over and position.checkers == U0
    if ending == REPETITION:
        return is_repetition(keys, index, position.halfmoves, 0)
    if ending == FIFTY_MOVES:
        return is_fifty_move_draw(position)
    if ending == MATERIAL:
        return has_insufficient_material(position)
    return True


@inlined
def _lengthen(streaks, score, ply, rules):
    """Updates `streaks` (mutated) with the score recorded for ply `ply` (from 1 on, random plies included).

    `streaks`, int64[3], has the lengths of the current streaks of scores that are won, lost and level for White.
    """
    streaks[0] = streaks[0] + 1 if score >= rules.win_score else 0
    streaks[1] = streaks[1] + 1 if score <= -rules.win_score else 0
    streaks[2] = streaks[2] + 1 if abs(score) <= rules.draw_score and ply > rules.draw_from else 0


@inlined
def _verdict(streaks, rules):
    """Returns the adjudication that the scores require now, WIN_SCORE or DRAW_SCORE, int64; -1 if they require none."""
    if max(streaks[0], streaks[1]) >= rules.win_plies:
        return np.int64(WIN_SCORE)
    return np.int64(DRAW_SCORE if streaks[2] >= rules.draw_plies else _NO_VERDICT)


@inlined
def _is_borne_out(ending, streaks, count, rules):
    """Returns whether a game's `ending` agrees with its scores (by `streaks`) and its length of `count` plies."""
    if ending == TREE:
        return count == 1
    verdict = _verdict(streaks, rules)
    if ending == WIN_SCORE or ending == DRAW_SCORE or verdict != _NO_VERDICT:
        return ending == verdict
    return ending != LENGTH or count == rules.max_plies


@inlined
def _agrees(game, position, streaks, last_result):
    """Returns whether a game's `result` follows from its `ending`, its last scores and its final position.

    `last_result` is that of the last game, to which a position of a tree belongs.
    """
    result = np.int64(game.result)
    ending = np.int64(game.ending)
    if ending == TREE:
        return result == last_result
    if ending == CHECKMATE:
        return result == (0 if position.turn == 1 else 2)
    if ending == WIN_SCORE:
        return result == (2 if streaks[0] > 0 else 0)
    return result == 1


@subkernel
def _check_game(game, plies, begin, rules, last_result, scratch, place):
    """Returns the code of one game's problem, or SOUND, as int64; see `check_games`. Mutates `scratch` and `place`."""
    if not is_packed_position(game.start):
        return np.int64(BAD_START)
    line, moves, keys, streaks = scratch
    unpack(game.start, line[0])
    position = line[0]
    if not is_position(position):
        return np.int64(BAD_START)
    keys[0] = position.key
    for index in range(3):
        streaks[index] = 0
    count = np.int64(game.plies)
    for number in range(count):
        place[1] = number
        if _verdict(streaks, rules) != _NO_VERDICT or number >= rules.max_plies:
            return np.int64(OVERDUE)
        record = plies[begin + number]
        move = np.int64(record.move)
        score = np.int64(record.score)
        if abs(score) > MATE:
            return np.int64(BAD_SCORE)
        _lengthen(streaks, score, np.int64(game.opening) + number + 1, rules)
        found = False
        for index in range(generate_all(position, moves, 0)):
            if moves[index] == move:
                found = True
        if not found:
            return np.int64(ILLEGAL_MOVE)
        make_move(position, line[1], move)
        copy_record(position, line[1])
        keys[number + 1] = position.key
    if not _fits(game, position, moves, keys, count):
        return np.int64(BAD_ENDING)
    if not _is_borne_out(np.int64(game.ending), streaks, count, rules):
        return np.int64(BAD_ADJUDICATION)
    return np.int64(SOUND if _agrees(game, position, streaks, last_result) else BAD_RESULT)


@kernel
def check_games(games, plies, first, rules, scratch, place):
    """Replays GAME[n]; returns SOUND or the code of the first problem, int64.

    `plies` is PLY[m], `first` (int64[n]) gives the index in `plies` of each game's first ply, and `rules` is the RULES
    record of the games. `scratch` (mutated) is a tuple of POSITION[2], int32[MAX_MOVES], uint64[65537] and int64[3].
    `place` (int64[2], mutated) receives the index of the game with the problem, and the index of the ply in that game.
    """
    last_result = np.int64(-1)
    for index in range(games.size):
        place[0] = index
        place[1] = 0
        problem = _check_game(games[index], plies, first[index], rules, last_result, scratch, place)
        if problem != SOUND:
            return problem
        last_result = np.int64(games[index].result)
    return np.int64(SOUND)
