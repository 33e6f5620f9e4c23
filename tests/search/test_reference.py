"""The kernel search against plain Python: both search the same game.

With `tunables.plain` the kernel's value is minimax's over `ChessGame`, without exception. No score comes from the table
then: its entries of quiescence are good for the ply and the number of checks at which they were stored, and quiescence
takes them anywhere. SECATEUR_POSITIONS sets how many positions are looked at in each way (20 unless told otherwise).
"""

import os
import random
from collections.abc import Iterator
from typing import Any

import chess
import pytest

from search import tunables
from search.kernels.alphabeta import search_root
from search.kernels.score import INFINITE, MATE_BOUND
from search.kernels.transposition import allocate_table
from search.kernels.worker import new_worker, set_tunables
from search.searcher import Game
from search.theory.alphabeta import alpha_beta
from search.theory.chess_game import ChessGame, root_node
from search.theory.minimax import minimax
from tests.board.board_positions import RARE_POSITIONS, lively_move, scattered_position
from tests.search.games import KIWIPETE, prepare

COUNT = int(os.environ.get("SECATEUR_POSITIONS", "20"))

CHESS = ChessGame()


class Kernel:
    """The search kernel with the given tunables, without iterative deepening and aspiration."""

    def __init__(self, tune: dict[str, int]) -> None:
        self._worker = new_worker()
        set_tunables(self._worker, tune)

    def value(self, board: chess.Board, depth: int, alpha: int = -INFINITE, beta: int = INFINITE) -> int:
        """A search with a fresh table. Histories stay from the last one; they only order moves."""
        prepare(self._worker, Game(board))
        value = int(search_root(self._worker, allocate_table(1), depth, alpha, beta))
        assert not self._worker["aborted"]
        return value


@pytest.fixture(scope="module")
def kernel() -> Kernel:
    """The kernel with everything selective switched off."""
    return Kernel(tunables.plain())


def reference_value(board: chess.Board, depth: int) -> int:
    return alpha_beta(CHESS, root_node(board, depth))


def has_moves(board: chess.Board) -> bool:
    return any(board.generate_legal_moves())


def games(seed: int, count: int) -> Iterator[chess.Board]:
    """Positions of random games, with their history; every fourth game is Chess960."""
    rng = random.Random(seed)
    made = 0
    while made < count:
        board = chess.Board.from_chess960_pos(rng.randrange(960)) if rng.random() < 0.25 else chess.Board()
        for _ in range(rng.randrange(150)):
            if not has_moves(board):
                break
            board.push(lively_move(rng, board, list(board.legal_moves)))
        if has_moves(board):
            made += 1
            yield board


def shuffles(seed: int, count: int) -> Iterator[chess.Board]:
    """Endings in which both sides have moved to and fro, so that repetitions and the fifty-move rule are near."""
    rng = random.Random(seed)
    made = 0
    while made < count:
        board = scattered_position(rng, most=4)
        board.halfmove_clock = rng.choice((0, 60, 88, 93, 96))
        for _ in range(rng.randrange(20)):
            back = board.move_stack[-2] if len(board.move_stack) > 1 else None
            moves = [move for move in board.legal_moves if not board.is_zeroing(move)]
            home = [
                move
                for move in moves
                if back and (move.from_square, move.to_square) == (back.to_square, back.from_square)
            ]
            if not moves:
                break
            board.push(rng.choice(home if home and rng.random() < 0.8 else moves))
        if has_moves(board) and board.halfmove_clock < 100:
            made += 1
            yield board


def scattered(seed: int, count: int) -> Iterator[chess.Board]:
    rng = random.Random(seed)
    made = 0
    while made < count:
        board = scattered_position(rng, most=10)
        if has_moves(board):
            made += 1
            yield board


def told(board: chess.Board, depth: int) -> str:
    """A description that makes a difference repeatable."""
    return f"depth {depth} {board.root().fen()} moves {' '.join(map(str, board.move_stack))} = {board.fen()}"


SOURCES = [games, shuffles, scattered]


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(("depth", "share"), [(1, 2.0), (2, 1.0), (3, 0.2), (4, 0.05)])
def test_the_kernel_finds_the_references_value(kernel: Kernel, source: Any, depth: int, share: float) -> None:
    values = []
    for board in source(depth, round(COUNT * share)):
        values.append(reference_value(board, depth))
        assert kernel.value(board, depth) == values[-1], told(board, depth)
    assert depth > 2 or any(0 < abs(value) < MATE_BOUND for value in values)


@pytest.mark.parametrize("depth", [1, 2])
def test_rare_positions(kernel: Kernel, depth: int) -> None:
    for fen, chess960 in RARE_POSITIONS:
        board = chess.Board(fen, chess960=chess960)
        if 0 < board.legal_moves.count() < 100:
            assert kernel.value(board, depth) == reference_value(board, depth), told(board, depth)


def test_values_outside_a_window_are_bounds(kernel: Kernel) -> None:
    """The contract of fail-soft alpha-beta."""
    rng = random.Random(1)
    for source in SOURCES:
        for board in source(7, COUNT // 4):
            depth = rng.randint(1, 3)
            true = reference_value(board, depth)
            for alpha in (true - 1, true, true - 60, true + 30, true + rng.randint(-900, 900)):
                beta = alpha + rng.choice((1, 2, 50))
                if alpha >= -INFINITE and beta <= INFINITE:
                    found = kernel.value(board, depth, alpha, beta)
                    assert keeps_contract(found, true, alpha, beta), f"{alpha} {beta} {told(board, depth)}"


def keeps_contract(value: int, true: int, alpha: int, beta: int) -> bool:
    if value <= alpha:
        return true <= value
    return true >= value if value >= beta else true == value


def test_alpha_beta_finds_minimaxs_value_in_chess() -> None:
    """With few pieces, because minimax visits every order of every exchange."""
    for board in shuffles(11, COUNT // 2):
        assert minimax(CHESS, root_node(board, 1)) == reference_value(board, 1), told(board, 1)


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_a_mirrored_position_is_worth_the_same(kernel: Kernel, depth: int) -> None:
    for source in SOURCES:
        for board in source(20 + depth, COUNT):
            board.clear_stack()
            assert kernel.value(board, depth) == kernel.value(board.mirror(), depth), told(board, depth)


def test_no_other_number_matters_to_the_plain_search() -> None:
    """The other tunables only order moves. `quiescence_see_margin` is an exception: 0 is part of the game."""
    plain = tunables.plain()
    boards = [chess.Board(KIWIPETE), *games(31, 1), *scattered(31, 1)]
    expected = [Kernel(plain).value(board, 4) for board in boards]
    for row in tunables.TUNABLES:
        is_switch = (row.low, row.high) == (0, 1)
        if plain[row.name] == row.default and not is_switch and row.name != "quiescence_see_margin":
            for value in (row.low, row.high):
                kernel = Kernel(plain | {row.name: value})
                assert [kernel.value(board, 4) for board in boards] == expected, row.name


def test_the_full_search_is_another(kernel: Kernel) -> None:
    """Otherwise the tests above would prove nothing."""
    full = Kernel(tunables.defaults())
    boards = list(games(41, 12))
    assert sum(full.value(board, 4) != kernel.value(board, 4) for board in boards) > 3
