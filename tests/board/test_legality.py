"""Every 16-bit number against the generator: legal here or not."""

from __future__ import annotations

import random
from typing import Any

import chess
import numpy as np
import pytest

from engine.board.convert import from_board
from engine.board.generate import generate_all
from engine.board.legality import is_legal
from engine.board.moves import MAX_MOVES
from engine.compiler.jit import INTERPRETED, kernel
from tests.board.board_positions import RARE_POSITIONS, random_game, scattered_position

#: Interpreted kernels are a hundred times slower: a sample of the numbers, another one each time.
STRIDE = 97 if INTERPRETED else 1


@kernel
def _legal_numbers(position: Any, first: Any, stride: Any, found: Any) -> Any:
    """Writes the numbers below 2 ** 16, every `stride`-th from `first`, that are legal; returns how many."""
    count = np.int64(0)
    for move in range(first, 1 << 16, stride):
        if is_legal(position, np.int64(move)):
            found[count] = move
            count += 1
    return count


@kernel
def _generated(position: Any, moves: Any) -> Any:
    return generate_all(position, moves, 0)


def prove(board: chess.Board, first: int = 0) -> None:
    """Holds `is_legal` for all numbers against the generator, which has its own proof against python-chess."""
    position = from_board(board)
    moves, found = np.zeros(MAX_MOVES, np.int32), np.zeros(1 << 16, np.int32)
    legal = sorted(moves[: _generated(position, moves)].tolist())
    count = _legal_numbers(position, first, STRIDE, found)
    assert found[:count].tolist() == [move for move in legal if move % STRIDE == first], board.fen()


@pytest.mark.parametrize(("fen", "chess960"), RARE_POSITIONS)
def test_every_number_in_rare_positions(fen: str, chess960: bool) -> None:
    prove(chess.Board(fen, chess960=chess960))


def test_every_number_along_games() -> None:
    rng = random.Random(11)
    for number in range(3 if INTERPRETED else 60):
        board = chess.Board() if number % 2 else chess.Board.from_chess960_pos(rng.randrange(960))
        for ply, _ in enumerate(random_game(rng, board, 100)):
            if ply % 3 == 0:
                prove(board, rng.randrange(STRIDE))


def test_every_number_where_pins_and_checks_are_many() -> None:
    rng = random.Random(12)
    for _ in range(20 if INTERPRETED else 4_000):
        prove(scattered_position(rng), rng.randrange(STRIDE))
