"""The model of games for the archive: how likely each start, score and move is.

    start    each square's piece, given the square and the pieces on the two squares before it
    score    the difference to the score one ply earlier: its sign, the number of its bits, and its bits, given the
             differences before it, the score, the material and the ply
    move     the legal moves, the likeliest first, each as one bit: played or not; given what it captures, what attacks
             its two squares, and the moves before it

The model knows the rules of chess and nothing of the search or the evaluation, so old archives stay readable.
"""

from __future__ import annotations

from concurrent.futures import CancelledError
from threading import Event
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from engine.board.attacks import attackers_to, attacks_from
from engine.board.bits import U0, bit, copy_record, popcount
from engine.board.exchange import captured_piece
from engine.board.generate import generate_all
from engine.board.make import make_move
from engine.board.moves import (
    CASTLING,
    MAX_MOVES,
    NO_MOVE,
    is_capture,
    is_promotion,
    move_kind,
    move_origin,
    move_target,
    promotion_piece,
)
from engine.board.position import EMPTY, KING, OCCUPIED, PAWN, POSITION, QUEEN, WHITE, piece_at
from engine.compiler.jit import inlined, kernel, subkernel
from engine.memory import allocate
from eval.training.kernels.checking import is_packed_position, is_position
from eval.training.kernels.coding import CODER, code_bit, code_number, finish_coder, logit_of, slot_of, start_coder
from eval.training.kernels.records import GAME, PLY, piece_code, unpack

#: Contexts of `slot_of`; those of `code_number` stand in its calls.
_SCORE, _MANTISSA, _MOVE, _RANK = 0x100, 0x110, 0x120, 0x130
#: Sets of weights: one for moves, one for each node of a score's code, one for each length of its bits.
_OF_MOVES, _OF_SCORES, _OF_BITS = 0, 1, 64
_MOVE_CONTEXTS: Final = 3
#: The number of games coded at once, in less than a second; then `encode_games` and `decode_games` look at CANCELLED.
_GAMES_AT_ONCE: Final = 64
#: While it is set, these functions raise CancelledError.
CANCELLED: Final = Event()

#: What the model knows of a game before a ply. Scores are White's, in centipawns.
LINE: Final = np.dtype(
    [
        # The scores one, two and three plies ago, and the number of plies played.
        ("scores", np.int64, (3,)),
        ("ply", np.int64),
        # The last move, the piece that made it, and whether it was a capture.
        ("move", np.int64),
        ("piece", np.int64),
        ("capture", np.int64),
        # [index in the legal moves] the sum of logits, and the slots that depend on the move alone.
        ("logits", np.int64, (MAX_MOVES,)),
        ("slots", np.int64, (MAX_MOVES, _MOVE_CONTEXTS)),
        # The indices of the legal moves, the likeliest first.
        ("order", np.int64, (MAX_MOVES,)),
    ],
    align=True,
)


@inlined
def _length(number):
    """Returns the number of bits of an int64 that is not negative."""
    length = np.int64(0)
    while number >> length != 0:
        length += 1
    return length


@inlined
def _clipped(number, limit):
    """Returns a number limited to `limit` either way, and shifted to 0 and more."""
    return min(max(number, -limit), limit) + limit


# --- starts ----------------------------------------------------------------------------------------------------------


@inlined
def _code_start(coder, data, packed):
    """Codes a PACKED record, which it replaces when decoding. Mutates `coder`, `data` and `packed`."""
    occupied = U0
    before, last = np.int64(0), np.int64(0)
    count = 0
    for square in range(64):
        code = np.int64(0)
        if coder.decodes == 0 and packed.occupied & bit(square) != U0:
            code = piece_code(packed, count)
        code = code_number(coder, data, 0x1000 + (square << 8 | before << 4 | last), 4, code)
        before, last = last, code
        if code != EMPTY and count < 32:
            occupied |= bit(square)
            if coder.decodes != 0:
                rest = np.int64(packed.pieces[count >> 1]) & 15 if count & 1 == 1 else np.int64(0)
                packed.pieces[count >> 1] = rest | code << 4 * (count & 1)
            count += 1
    packed.occupied = occupied
    packed.state = code_number(coder, data, 1, 8, np.int64(packed.state))
    packed.halfmoves = code_number(coder, data, 2, 8, np.int64(packed.halfmoves))


@inlined
def _code_head(coder, data, game):
    """Codes a GAME, which it replaces when decoding. Mutates all arguments."""
    _code_start(coder, data, game.start)
    plies = np.int64(game.plies)
    high = code_number(coder, data, 3, 8, plies >> 8)
    game.plies = high << 8 | code_number(coder, data, 16 + min(high, 15), 8, plies & 255)
    game.opening = code_number(coder, data, 4, 8, np.int64(game.opening))
    game.ending = code_number(coder, data, 5, 3, np.int64(game.ending))
    game.result = code_number(coder, data, 32 + np.int64(game.ending), 2, np.int64(game.result))
    game.variant = code_number(coder, data, 6, 2, np.int64(game.variant))


# --- scores ----------------------------------------------------------------------------------------------------------


@subkernel
def _code_score(coder, data, line, position, score):
    """Codes White's score of a position given LINE; returns it, int64. Mutates `coder` and `data`."""
    sign = 1 if position.turn == WHITE else -1
    last = line.scores[0]
    change, change_before = sign * (last - line.scores[1]), sign * (line.scores[1] - line.scores[2])
    size, size_before = min(_length(abs(change)), 11), min(_length(abs(change_before)), 11)
    rising = 1 if change > 0 else 0
    level = min(max((sign * last + 1600) // 100, 0), 32)
    check = 1 if position.checkers != U0 else 0
    material = popcount(position.pieces[OCCUPIED]) >> 2
    values = (
        (level * 12 + size) * 2 + rising,
        (size * 2 + rising) * 24 + size_before * 2 + (1 if change_before > 0 else 0),
        ((material * 2 + line.capture) * 2 + check) * 12 + size,
        min(line.ply, 63) * 12 + size_before,
    )
    difference = sign * (score - last)
    length = _length(abs(difference))
    negative = 1 if difference < 0 else 0
    # The nodes of the code: is it 0? is it negative? has it 1 bit? 2 bits? ...
    node = np.int64(0)
    answer = np.int64(0)
    while node < 20:
        if node == 0:
            answer = np.int64(1 if difference == 0 else 0)
        elif node == 1:
            answer = np.int64(negative)
        else:
            answer = np.int64(1 if length == node - 1 else 0)
        side = negative if node > 1 else 0
        for index in range(4):
            coder.slots[index] = slot_of(_SCORE + index, (values[index] * 32 + node) * 2 + side)
        answer = code_bit(coder, data, _OF_SCORES + node, 4, answer)
        if node == 1:
            negative = answer
        elif answer != 0:
            break
        node += 1
    if node == 0:
        return last
    length = node - 1
    number = np.int64(1)
    for place in range(1, length):
        known = number if place <= 3 else np.int64(8 + place)
        value = (known * 32 + length) * 2 + negative
        coder.slots[0] = slot_of(_MANTISSA, value)
        coder.slots[1] = slot_of(_MANTISSA + 1, value * 12 + size)
        answer = code_bit(coder, data, _OF_BITS + length, 2, abs(difference) >> (length - 1 - place) & 1)
        number = number << 1 | answer
    return last + sign * (-number if negative != 0 else number)


# --- moves -----------------------------------------------------------------------------------------------------------


@subkernel
def _exchange_value(position, move):
    """Describes what a move risks and wins, as an int64 below 2**16."""
    us = position.turn
    origin, target = move_origin(move), move_target(move)
    piece = piece_at(position, origin)
    occupied = position.pieces[OCCUPIED]
    enemies, pawns = position.colors[us ^ 1], position.pieces[PAWN]
    around = attackers_to(position, target, occupied)
    threats = attackers_to(position, origin, occupied)
    hanging = np.int64(0)
    if threats & enemies != U0:
        hanging = np.int64(1)
        if threats & enemies & pawns != U0:
            hanging = np.int64(2)
        elif threats & position.colors[us] == U0:
            hanging = np.int64(3)
    check = np.int64(0)
    if piece != PAWN and piece != KING:
        king = position.pieces[KING] & enemies
        check = np.int64(1 if attacks_from(piece, target, occupied & ~bit(origin)) & king != U0 else 0)
    promotion = np.int64(0)
    if is_promotion(move):
        promotion = np.int64(1 if promotion_piece(move) == QUEEN else 2)
    value = piece << 3 | captured_piece(position, move)
    value = value << 2 | promotion
    value = value << 2 | hanging
    value = value << 1 | check
    value = value << 1 | (1 if around & enemies != U0 else 0)
    value = value << 1 | (1 if around & enemies & pawns != U0 else 0)
    value = value << 1 | (1 if around & position.colors[us] & ~bit(origin) != U0 else 0)
    return value << 1 | (1 if move_kind(move) == CASTLING else 0)


@inlined
def _rank_moves(coder, line, position, moves, count):
    """Orders `count` legal moves by their probability, the likeliest first. Mutates `line`."""
    flip = 0 if position.turn == WHITE else 56
    last = move_target(line.move) ^ flip
    for index in range(count):
        move = np.int64(moves[index])
        piece, target = piece_at(position, move_origin(move)), move_target(move) ^ flip
        values = (
            _exchange_value(position, move),
            (piece << 6 | (move_origin(move) ^ flip)) << 6 | target,
            ((line.piece << 6 | last) << 3 | piece) << 6 | target,
        )
        total = np.int64(0)
        for context in range(_MOVE_CONTEXTS):
            slot = slot_of(_MOVE + context, values[context])
            line.slots[index, context] = slot
            total += logit_of(coder, slot) * coder.weights[_OF_MOVES, context]
        total >>= 16
        line.logits[index] = total
        # Moves of one probability stand in the order of their codes, so the generator's order does not matter.
        place = index
        while place > 0:
            other = line.order[place - 1]
            if line.logits[other] > total or (line.logits[other] == total and moves[other] < move):
                break
            line.order[place] = other
            place -= 1
        line.order[place] = index


@subkernel
def _code_move(coder, data, line, position, moves, count, move):
    """Codes one of `count` legal moves given LINE; returns it, int64. Mutates `coder`, `data` and `line`."""
    _rank_moves(coder, line, position, moves, count)
    for rank in range(count - 1):
        index = line.order[rank]
        logit = line.logits[index]
        lead = min(_length(logit - line.logits[line.order[rank + 1]]), 11)
        near = min(rank, 15)
        for context in range(_MOVE_CONTEXTS):
            coder.slots[context] = line.slots[index, context]
        coder.slots[_MOVE_CONTEXTS] = slot_of(_RANK, near << 6 | min(count - 1 - rank, 40))
        coder.slots[_MOVE_CONTEXTS + 1] = slot_of(_RANK + 1, (near << 6 | _clipped(logit >> 6, 31)) << 4 | lead)
        played = 1 if np.int64(moves[index]) == move else 0
        if code_bit(coder, data, _OF_MOVES, _MOVE_CONTEXTS + 2, played) != 0:
            return np.int64(moves[index])
    return np.int64(moves[line.order[count - 1]])


# --- games -----------------------------------------------------------------------------------------------------------


@inlined
def _start_line(line):
    """Prepares a LINE (mutated) for a new game."""
    for index in range(3):
        line.scores[index] = 0
    line.ply = 0
    line.move = NO_MOVE
    line.piece = EMPTY
    line.capture = 0


@inlined
def _follow(line, position, score, move):
    """Adds a ply to LINE. Mutates `line`."""
    line.scores[2] = line.scores[1]
    line.scores[1] = line.scores[0]
    line.scores[0] = score
    line.ply += 1
    line.move = move
    line.piece = piece_at(position, move_origin(move))
    line.capture = 1 if is_capture(move) else 0


@inlined
def _is_among(moves, count, move):
    """Returns whether `move` is one of `count` legal moves."""
    found = False
    for index in range(count):
        found |= np.int64(moves[index]) == move
    return found


@kernel
def code_games(coder, data, games, first, end, plies, index, decodes, line, positions, moves):
    """Codes the games from `first` to before `end` of GAME[n] and their plies, from `index` on, of PLY[m].

    Calls must follow each other in order. Codes into `data` (uint8[k]), or decodes from it if `decodes` is 1; counts
    the bytes, which may exceed k, in `coder`. Returns the index of the next ply; -1 if a game is not of chess or
    `plies` is of another length. `coder` is a CODER, `line` a LINE, `positions` POSITION[2] and `moves`
    int32[MAX_MOVES]. Mutates all of them, and `games` and `plies` when decoding.
    """
    if first == 0:
        start_coder(coder, data, decodes)
    position = positions[0]
    for number in range(first, end):
        game = games[number]
        _code_head(coder, data, game)
        if not is_packed_position(game.start) or index + np.int64(game.plies) > plies.size:
            return np.int64(-1)
        unpack(game.start, position)
        if not is_position(position):
            return np.int64(-1)
        _start_line(line)
        for _ in range(np.int64(game.plies)):
            record = plies[index]
            index += 1
            count = generate_all(position, moves, 0)
            score = np.int64(record.score)
            move = np.int64(record.move)
            if count == 0 or (decodes == 0 and not _is_among(moves, count, move)):
                return np.int64(-1)
            score = _code_score(coder, data, line, position, score)
            move = _code_move(coder, data, line, position, moves, count, move)
            record.score = score
            record.move = move
            _follow(line, position, score, move)
            make_move(position, positions[1], move)
            copy_record(position, positions[1])
    if end == games.size:
        if index != plies.size:
            return np.int64(-1)
        if decodes == 0:
            finish_coder(coder, data)
    return index


def _run(data: Any, games: Any, plies: Any, decodes: bool) -> int:
    """Returns the number of bytes of code, which may exceed that of `data`; -1 if it is not that of games of chess."""
    coder, line = allocate(CODER, 1)[0], allocate(LINE, 1)[0]
    scratch = allocate(POSITION, 2), np.zeros(MAX_MOVES, np.int32)
    index = 0
    for first in range(0, len(games), _GAMES_AT_ONCE):
        if CANCELLED.is_set():
            raise CancelledError
        end = min(first + _GAMES_AT_ONCE, len(games))
        index = code_games(coder, data, games, first, end, plies, index, int(decodes), line, *scratch)
        if index < 0:
            return -1
    return int(coder["used"])


def encode_games(games: npt.NDArray[np.void], plies: npt.NDArray[np.void]) -> bytes | None:
    """Returns the code of GAME[n] and all their PLY[m] in order, or None if a game is not of chess."""
    # A ply takes at most a few hundred bits: the least probability of a bit is 1/2048.
    data = np.zeros(64 * len(games) + 8 * len(plies) + 64, np.uint8)
    kept_games, kept_plies = allocate(GAME, len(games)), allocate(PLY, len(plies))
    kept_games[:], kept_plies[:] = games, plies
    used = _run(data, kept_games, kept_plies, decodes=False)
    if used > len(data):
        data = np.zeros(used, np.uint8)
        used = _run(data, kept_games, kept_plies, decodes=False)
    return None if used < 0 else data[:used].tobytes()


def decode_games(code: bytes, games: int, plies: int) -> tuple[npt.NDArray[np.void], npt.NDArray[np.void]] | None:
    """Returns the GAME[games] and PLY[plies] in a code from `encode_games`; None if they are not games of chess."""
    data = np.frombuffer(code, np.uint8).copy()
    decoded_games, decoded_plies = allocate(GAME, games), allocate(PLY, plies)
    used = _run(data, decoded_games, decoded_plies, decodes=True)
    return None if used < 0 else (decoded_games, decoded_plies)
