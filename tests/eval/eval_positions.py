"""Positions and kernels that the tests of evaluations share."""

from __future__ import annotations

import random

import chess

from engine.board.convert import from_board
from engine.compiler.jit import kernel
from eval.kernels.classical import evaluate
from eval.kernels.workspace import new_workspace
from tests.board.board_positions import CLASSIC_PERFTS, random_game, scattered_position


@kernel
def static(position, workspace):  # type: ignore[no-untyped-def]
    """`evaluate` as an entry point."""
    return evaluate(position, workspace)


def score(fen: str) -> int:
    """The evaluation of a position with an empty pawn table, from the side to move's view."""
    return int(static(from_board(chess.Board(fen)), new_workspace()))


def played(seed: int, games: int, plies: int = 90) -> list[chess.Board]:
    """Positions out of random games, standard chess."""
    rng = random.Random(seed)
    boards = []
    for _ in range(games):
        board = chess.Board()
        for _ in random_game(rng, board, plies):
            boards.append(board.copy(stack=False))
    return boards


def varied(seed: int, count: int) -> list[chess.Board]:
    """Classic, scattered and played positions."""
    rng = random.Random(seed)
    scattered = [scattered_position(rng, rng.choice((3, 6, 12, 20))) for _ in range(count)]
    return [*map(chess.Board, CLASSIC_PERFTS), *scattered, *played(seed, max(1, count // 60))]
