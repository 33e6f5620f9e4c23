"""The games keep their rules, and every search finds the minimax value in them."""

from __future__ import annotations

import random
from typing import Any

import chess
import pytest

from search.theory.alphabeta import alpha_beta
from search.theory.connect_four import START as NO_STONES
from search.theory.connect_four import ConnectFour
from search.theory.deepening import deepen
from search.theory.enhanced import Memory, enhanced
from search.theory.generate import game_tree
from search.theory.horizon import Counted, DepthLimited, Limited
from search.theory.minimax import minimax
from search.theory.ordering import ByGuess, History, Killers
from search.theory.plain_chess import MATED, PlainChess
from search.theory.pvs import principal_variation_search
from search.theory.table import Table
from search.theory.tictactoe import START, WIN, TicTacToe, has_line
from search.theory.trees import TreeError, TreeGame, minimax_values


def played(game: Any, position: Any, moves: list[Any]) -> Any:
    for move in moves:
        assert move in list(game.moves(position))
        position = game.apply(position, move)
    return position


def test_tic_tac_toe_is_drawn_and_a_table_saves_most_of_the_work() -> None:
    game = TicTacToe()
    pruned = Counted(game)
    assert alpha_beta(pruned, START) == 0
    searched = Counted(game)
    assert enhanced(searched, START, 9, Memory(Table())) == 0
    assert searched.nodes < pruned.nodes / 3


def test_tic_tac_toe_has_as_many_games_as_is_known() -> None:
    """255,168 in all: 4 corners, 4 edges and the centre can come first."""
    game, total = TicTacToe(), 0
    for square, alike in ((0, 4), (1, 4), (4, 1)):
        total += alike * ends(game, game.apply(START, square))
    assert total == 255_168


def ends(game: TicTacToe, position: tuple[int, int]) -> int:
    moves = game.moves(position)
    return sum(ends(game, game.apply(position, move)) for move in moves) if moves else 1


def test_tic_tac_toe_by_example() -> None:
    game = TicTacToe()
    won = played(game, START, [0, 3, 1, 4, 2])
    assert (list(game.moves(won)), game.value(won)) == ([], -WIN)
    fork = played(game, START, [0, 1, 4])
    assert alpha_beta(game, fork) == -WIN
    assert game.guess(game.apply(START, 4)) == -4
    assert not has_line(0b011_000_101)


@pytest.mark.parametrize("shape", [(7, 6, 4), (4, 4, 3), (5, 3, 3), (1, 1, 2)])
def test_connect_four_finds_lines_as_one_sees_them(shape: tuple[int, int, int]) -> None:
    game, generator = ConnectFour(*shape), random.Random(1)
    lines = 0
    for _ in range(20):
        position = NO_STONES
        while moves := list(game.moves(position)):
            position = game.apply(position, generator.choice(moves))
        board = game.draw(position)
        stones = sum(cell != "." for cell in board)
        last = "X" if (stones - len(board.splitlines()) + 1) % 2 else "O"
        is_won = has_row(board.splitlines(), last, shape[2])
        lines += is_won
        counted = board.count("X") + board.count("O")
        assert game.value(position) == (counted - 100_000 if is_won else 0)
        assert is_won or "." not in board
        assert not has_row(board.splitlines(), "O" if last == "X" else "X", shape[2])
    assert lines > 0 or shape == (1, 1, 2)


def has_row(rows: list[str], stone: str, length: int) -> bool:
    cells = {(x, y) for y, row in enumerate(rows) for x, cell in enumerate(row) if cell == stone}
    return any(
        all((x + i * dx, y + i * dy) in cells for i in range(length))
        for x, y in cells
        for dx, dy in ((1, 0), (0, 1), (1, 1), (1, -1))
    )


def test_connect_four_by_example() -> None:
    game = ConnectFour()
    position = played(game, NO_STONES, [3, 3, 4, 4, 5, 5])
    assert game.draw(position).splitlines()[-2:] == ["...OOO.", "...XXX."]
    assert alpha_beta(DepthLimited(game), Limited(position, 3)) == 100_000 - 7
    assert game.guess(NO_STONES) == 0
    assert game.guess(game.apply(NO_STONES, 3)) < game.guess(game.apply(NO_STONES, 0)) < 0
    full = played(game, NO_STONES, [0, 0, 0, 0, 0, 0])
    assert list(game.moves(full)) == [1, 2, 3, 4, 5, 6]
    with pytest.raises(ValueError, match="cannot play Connect Four with 0 columns"):
        ConnectFour(0)


def positions(seed: int, game: Any, start: Any, count: int, plies: int) -> list[Any]:
    generator = random.Random(seed)
    found: list[Any] = []
    while len(found) < count:
        position = start
        for _ in range(generator.randrange(plies)):
            moves = list(game.moves(position))
            if moves:
                position = game.apply(position, generator.choice(moves))
        found.append(position)
    return found


GAMES: list[tuple[Any, Any, int, int]] = [
    (TicTacToe(), START, 4, 8),
    (ConnectFour(), NO_STONES, 4, 20),
    (ConnectFour(4, 4, 3), NO_STONES, 5, 12),
    (PlainChess(), chess.Board(), 2, 40),
]


@pytest.mark.parametrize(("game", "start", "depth", "plies"), GAMES)
def test_every_search_finds_minimaxs_value(game: Any, start: Any, depth: int, plies: int) -> None:
    for position in positions(2, game, start, 3, plies):
        limited = Limited(position, depth)
        true = minimax(DepthLimited(game), limited)
        for search in (alpha_beta, principal_variation_search):
            assert search(DepthLimited(game), limited) == true
        memories: list[Memory[Any, Any]] = [
            Memory(Table()),
            Memory(None, [Killers(), History()]),
            Memory(Table(), [Killers(), History(), ByGuess(game)]),
        ]
        for memory in memories:
            assert enhanced(game, position, depth, memory) == true
            *_, last = deepen(game, position, depth, memory, 20)
            assert last == true
        values = game_tree(game, position, depth)
        assert minimax_values(values, values.integers())[0] == true
        assert alpha_beta(TreeGame(values), 0) == true


def test_orderings_and_table_save_work_in_connect_four() -> None:
    game = ConnectFour()
    start = played(game, NO_STONES, [3, 2])

    def cost(memory: Memory[Any, Any]) -> int:
        counted = Counted(game)
        enhanced(counted, start, 6, memory)
        return counted.nodes

    plain = cost(Memory())
    for memory in (
        Memory(Table()),
        Memory(None, [Killers()]),
        Memory(None, [History()]),
        Memory(None, [ByGuess(game)]),
    ):
        assert cost(memory) < plain


def test_plain_chess_by_example() -> None:
    game = PlainChess()
    mate_in_two = chess.Board("7k/8/8/8/8/8/R7/1R2K3 w - - 0 1")
    assert alpha_beta(DepthLimited(game), Limited(mate_in_two, 3)) == -MATED
    assert alpha_beta(DepthLimited(game), Limited(mate_in_two, 2)) < -MATED
    stalemate = chess.Board("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1")
    assert (list(game.moves(stalemate)), game.value(stalemate)) == ([], 0)
    board = chess.Board()
    assert game.guess(board) == 0
    assert game.guess(game.apply(board, chess.Move.from_uci("e2e4"))) < 0
    counted = Counted(DepthLimited(game))
    minimax(counted, Limited(board, 3))
    assert counted.leaves == 8902
    one, other = (
        played(game, board, [chess.Move.from_uci(uci) for uci in line.split()])
        for line in ("e2e3 e7e6 g1f3", "g1f3 e7e6 e2e3")
    )
    assert game.key(one) == game.key(other) != game.key(board)


def test_trees_of_games_are_named_and_limited() -> None:
    tree = game_tree(TicTacToe(), START, 2, lambda _, square: "abc"[square % 3] + str(3 - square // 3))
    assert (len(tree), tree.label[:3], tree.height) == (1 + 9 + 72, ("", "a3", "b3"), 2)
    with pytest.raises(TreeError, match="more than 100 nodes"):
        game_tree(TicTacToe(), START, 3, most_nodes=100)
