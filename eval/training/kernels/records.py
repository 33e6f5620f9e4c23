"""The records of games and positions, and their packing: 32 bytes a game and 4 bytes a ply.

A position packs into 26 bytes (`PACKED`). Six more bytes make it a training sample (`SAMPLE`) or the head of a game
(`GAME`). Each recorded ply of a game is a record of 4 bytes (`PLY`). All numbers are little-endian.

**These scores and results are White's**: scores are centipawns, positive if White is better, and results are White's
half points (0 for a loss, 1 for a draw, 2 for a win).
"""

from __future__ import annotations

from typing import Final

import numpy as np

from engine.board.bits import U0, bit, lsb, without_lsb
from engine.board.make import complete
from engine.board.position import BLACK, EMPTY, NO_SQUARE, OCCUPIED, ROOK, WHITE, piece_at
from engine.compiler.jit import inlined, subkernel

#: A position without its move number.
PACKED: Final = np.dtype(
    [
        ("occupied", "<u8"),
        # A code of four bits for each piece, in the order of the squares from a1 to h8, low half of a byte first. The
        # code is 1 (pawn) to 6 (king), or 7 for a rook that may castle. The code of a black piece is greater by 8.
        ("pieces", "u1", (16,)),
        # Bits 0-6 are the en passant square, 64 for none; bit 7 is set if Black is to move.
        ("state", "u1"),
        # The number of plies since the last capture or pawn move, at most 255.
        ("halfmoves", "u1"),
    ]
)

#: The head of a game.
GAME: Final = np.dtype(
    [
        # The position before the first recorded move, after the random moves.
        ("start", PACKED),
        # The number of recorded plies, each of which has a PLY record.
        ("plies", "<u2"),
        # The number of random, unrecorded plies before the start.
        ("opening", "u1"),
        # The result in half points of White: 0, 1 or 2.
        ("result", "u1"),
        # An index into ENDINGS.
        ("ending", "u1"),
        # An index into VARIANTS.
        ("variant", "u1"),
    ]
)

#: One move of a game, and the score, in centipawns from White's view, of the search that chose the move.
PLY: Final = np.dtype([("move", "<u2"), ("score", "<i2")])

#: A position to train on.
SAMPLE: Final = np.dtype(
    [
        ("position", PACKED),
        ("score", "<i2"),
        # The result of the game in half points of White: 0, 1 or 2.
        ("result", "u1"),
        # The low byte of the game's index among the games decoded together. Neighbouring games have different bytes.
        ("game", "u1"),
        # The move that was played.
        ("move", "<u2"),
    ]
)

assert GAME.itemsize == SAMPLE.itemsize == 32
assert PLY.itemsize == 4

#: The ways in which games end: first those by the rules, then those by adjudication. The last marks a record that is no
#: game but a position of a search tree: it has one ply, and the result of the game before it.
ENDINGS: Final = (
    "checkmate",
    "stalemate",
    "repetition",
    "fifty-move rule",
    "insufficient material",
    "won by score",
    "drawn by score",
    "length",
    "tree",
)
CHECKMATE, STALEMATE, REPETITION, FIFTY_MOVES, MATERIAL, WIN_SCORE, DRAW_SCORE, LENGTH, TREE = range(9)

#: The kinds of start positions: standard; Chess960 with one array for both sides; Chess960 with an array for each side;
#: kings and a few other pieces on random squares.
VARIANTS: Final = ("standard", "chess960", "dfrc", "endgame")
STANDARD, CHESS960, DFRC, ENDGAME = range(4)

_NO_EP = 64
#: For PACKED records: the bit of `state` set if Black is to move, the code of a rook that may castle, and the number
#: that is added to the code of a black piece.
BLACK_TO_MOVE: Final = 128
CASTLING_ROOK: Final = 7
BLACK_PIECE: Final = 8


@subkernel
def pack(position, packed):
    """Writes a POSITION into a PACKED record. Mutates `packed`."""
    for index in range(16):
        packed.pieces[index] = 0
    remaining = position.pieces[OCCUPIED]
    packed.occupied = remaining
    index = 0
    while remaining != U0:
        square = lsb(remaining)
        code = piece_at(position, square)
        if position.castling & bit(square) != U0:
            code = np.int64(CASTLING_ROOK)
        if position.colors[BLACK] & bit(square) != U0:
            code |= BLACK_PIECE
        packed.pieces[index >> 1] = np.int64(packed.pieces[index >> 1]) | code << 4 * (index & 1)
        index += 1
        remaining = without_lsb(remaining)
    ep_square = position.ep_square if position.ep_square != NO_SQUARE else np.int64(_NO_EP)
    packed.state = ep_square | (0 if position.turn == WHITE else BLACK_TO_MOVE)
    packed.halfmoves = min(position.halfmoves, 255)


@inlined
def clear(position):
    """Empties a POSITION and sets White to move, but keeps the fields that `complete` computes. Mutates `position`."""
    for piece in range(7):
        position.pieces[piece] = U0
    for color in range(2):
        position.colors[color] = U0
    for square in range(64):
        position.squares[square] = EMPTY
    position.castling = U0
    position.turn = WHITE
    position.ep_square = NO_SQUARE
    position.halfmoves = 0


@inlined
def put_piece(position, square, color, piece):
    """Puts a piece on an empty square. Mutates `position`."""
    position.pieces[piece] |= bit(square)
    position.pieces[OCCUPIED] |= bit(square)
    position.colors[color] |= bit(square)
    position.squares[square] = piece


@inlined
def piece_code(packed, index):
    """Returns the code of a PACKED record's piece number `index`, modulo 32, as int64 0 to 15."""
    return np.int64(packed.pieces[(index >> 1) & 15]) >> 4 * (index & 1) & 15


@subkernel
def unpack(packed, position):
    """Unpacks a PACKED record into a POSITION and computes its other fields. Mutates `position`."""
    clear(position)
    remaining = packed.occupied
    index = 0
    while remaining != U0:
        square = lsb(remaining)
        code = piece_code(packed, index)
        piece = code & 7
        if piece == CASTLING_ROOK:
            piece = np.int64(ROOK)
            position.castling |= bit(square)
        put_piece(position, square, BLACK if code & BLACK_PIECE != 0 else WHITE, piece)
        index += 1
        remaining = without_lsb(remaining)
    state = np.int64(packed.state)
    position.turn = BLACK if state & BLACK_TO_MOVE != 0 else WHITE
    ep_square = state & 127
    position.ep_square = ep_square if ep_square < _NO_EP else np.int64(NO_SQUARE)
    position.halfmoves = np.int64(packed.halfmoves)
    complete(position)
