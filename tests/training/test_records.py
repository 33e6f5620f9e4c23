"""Positions survive being packed: every field, every kind of position."""

from __future__ import annotations

import random
from collections.abc import Iterator

import chess
import numpy as np
import pytest

from engine.board.convert import from_board
from engine.board.position import POSITION
from engine.memory import allocate
from eval.training.kernels.records import GAME, PACKED, PLY, SAMPLE
from tests.board.board_positions import RARE_POSITIONS, random_game, scattered_position
from tests.training.float_network import pack_sample
from tests.training.positions import unpack_samples


def boards() -> Iterator[chess.Board]:
    for fen, chess960 in RARE_POSITIONS:
        yield chess.Board(fen, chess960=chess960)
    rng = random.Random(5)
    for _ in range(100):
        yield scattered_position(rng)
    for number in (518, 0, 959, 300):
        board = chess.Board.from_chess960_pos(number)
        for _ in random_game(rng, board, 80):
            yield board.copy()


def test_what_is_packed_comes_back_whole() -> None:
    some = list(boards())
    samples = allocate(SAMPLE, len(some))
    # No earlier contents may remain.
    samples.view(np.uint8)[:] = 255
    positions = [from_board(board) for board in some]
    for sample, position in zip(samples, positions, strict=True):
        pack_sample(position, sample)
    again = allocate(POSITION, len(some))
    again.view(np.uint8)[:] = 255
    unpack_samples(samples, again)
    for board, position, other in zip(some, positions, again, strict=True):
        assert other.tobytes() == position.tobytes(), board.fen()


def test_the_documented_layout() -> None:
    """Written down byte by byte, so that other programs may read it."""
    sample = allocate(SAMPLE, 1)
    board = chess.Board("r3k3/8/8/8/4Pp2/8/8/4K2R b Kq e3 7 9")
    pack_sample(from_board(board), sample[0])
    packed = sample[0]["position"].tobytes()
    occupied = chess.BB_E1 | chess.BB_H1 | chess.BB_E4 | chess.BB_F4 | chess.BB_A8 | chess.BB_E8
    assert packed[:8] == occupied.to_bytes(8, "little")
    # White king, white rook that may castle; white pawn, black pawn; black rook that may castle, black king.
    assert packed[8:11].hex() == "76" + "91" + "ef"
    assert packed[11:24] == bytes(13)
    assert packed[24:] == bytes([128 + chess.E3, 7])


@pytest.mark.parametrize(
    ("dtype", "offsets"),
    [
        (PACKED, {"occupied": 0, "pieces": 8, "state": 24, "halfmoves": 25}),
        (GAME, {"start": 0, "plies": 26, "opening": 28, "result": 29, "ending": 30, "variant": 31}),
        (SAMPLE, {"position": 0, "score": 26, "result": 28, "game": 29, "move": 30}),
        (PLY, {"move": 0, "score": 2}),
    ],
)
def test_where_the_fields_lie(dtype: np.dtype[np.void], offsets: dict[str, int]) -> None:
    assert dtype.fields is not None
    assert {name: dtype.fields[name][1] for name in dtype.names or ()} == offsets
