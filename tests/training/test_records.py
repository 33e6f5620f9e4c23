"""Positions survive being packed: every field, every kind of position."""

from __future__ import annotations

import random
from collections.abc import Iterator

import chess
import numpy as np
import pytest

from engine.board.convert import from_board, to_board
from engine.board.position import POSITION
from engine.compiler.jit import kernel
from engine.memory import allocate
from eval.training.kernels.records import GAME, PACKED, PLY, SAMPLE, pack, unpack, unpack_samples
from tests.board.board_positions import RARE_POSITIONS, random_game, scattered_position


@kernel
def pack_sample(position, sample):  # type: ignore[no-untyped-def]
    pack(position, sample.position)


@kernel
def unpack_sample(sample, position):  # type: ignore[no-untyped-def]
    unpack(sample.position, position)


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
    sample = allocate(SAMPLE, 1)
    for board in boards():
        position, again = from_board(board), allocate(POSITION, 1)[0]
        # What was there before must not shine through.
        sample.view(np.uint8)[:] = 255
        pack_sample(position, sample[0])
        unpack_sample(sample[0], again)
        assert again.tobytes() == position.tobytes(), board.fen()
        assert to_board(again, board.chess960).fen().split()[:5] == to_board(position, board.chess960).fen().split()[:5]


def test_many_at_once() -> None:
    some = list(boards())[:50]
    samples, positions = allocate(SAMPLE, len(some)), allocate(POSITION, len(some))
    for sample, board in zip(samples, some, strict=True):
        pack_sample(from_board(board), sample)
    unpack_samples(samples, positions)
    assert [to_board(position).epd() for position in positions] == [to_board(from_board(b)).epd() for b in some]


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
        (SAMPLE, {"position": 0, "score": 26, "result": 28, "game": 29, "ply": 30}),
        (PLY, {"move": 0, "score": 2}),
    ],
)
def test_where_the_fields_lie(dtype: np.dtype[np.void], offsets: dict[str, int]) -> None:
    assert dtype.fields is not None
    assert {name: dtype.fields[name][1] for name in dtype.names or ()} == offsets
