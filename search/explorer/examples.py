"""Trees to begin with: small ones that show one thing each, the seeds' own, and positions of games."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from search.theory import connect_four, tictactoe
from search.theory.connect_four import ConnectFour
from search.theory.generate import game_tree, random_tree, uniform_tree
from search.theory.tictactoe import TicTacToe
from search.theory.tree_text import write_list

_COLUMNS: Final = "abcdefg"


@dataclass(frozen=True, slots=True)
class Example:
    """A tree that can be chosen: `text` makes it, `lattice` and `algorithm` go with it, "" and None for none."""

    key: str
    group: str
    name: str
    note: str
    text: Callable[[], str]
    algorithm: str = ""
    lattice: tuple[str, str] | None = None


def _fixed(text: str) -> Callable[[], str]:
    return lambda: text


def _tic_tac_toe(board: str, depth: int) -> Callable[[], str]:
    """The tree of a position written row by row with X, O and dots."""

    def make() -> str:
        position = read_tic_tac_toe(board)
        squares = [f"{column}{row}" for row in (3, 2, 1) for column in "abc"]
        return write_list(game_tree(TicTacToe(), position, depth, lambda _, move: squares[move]))

    return make


def read_tic_tac_toe(board: str) -> tictactoe.Position:
    """The position of a board with X, O and dots; X began, so who has fewer or as many is to move as usual."""
    cells = board.replace("/", "")
    crosses = sum(1 << square for square, cell in enumerate(cells) if cell == "X")
    noughts = sum(1 << square for square, cell in enumerate(cells) if cell == "O")
    return (crosses, noughts) if crosses.bit_count() == noughts.bit_count() else (noughts, crosses)


def _connect_four(columns: str, depth: int) -> Callable[[], str]:
    """The tree behind stones that were thrown into these columns, a to g."""

    def make() -> str:
        game, position = ConnectFour(), connect_four.START
        for column in columns:
            position = game.apply(position, _COLUMNS.index(column))
        return write_list(game_tree(game, position, depth, lambda _, move: _COLUMNS[move]))

    return make


def _uniform(branching: int, depth: int, seed: int) -> Callable[[], str]:
    return lambda: write_list(uniform_tree(branching, depth, "random", seed))


def _random_sets(seed: int) -> Callable[[], str]:
    def leaf(generator: random.Random) -> str:
        return "{" + ",".join(name for name in "abc" if generator.random() < 0.5) + "}"

    return lambda: write_list(random_tree(seed, 4, 3, leaf))


_ALL: Final = (
    Example(
        "seven",
        "First steps",
        "Seven leaves",
        "Two cuts: one where MAX has found enough for MIN to stay away, one where MIN has.",
        _fixed("[A:[B:[5 6] C:[7 4]] D:[E:[3 2] 8]]"),
    ),
    Example(
        "calculator",
        "First steps",
        "The promise of 3",
        "Move B is worth 3. As soon as F is worth 2, move C cannot be better: G is never looked at.",
        _fixed("[B:[D:3 E:5] C:[F:2 G:-1000]]"),
    ),
    Example(
        "alpha",
        "First steps",
        "Alpha: beat a 10",
        "MAX has 10 for certain. MIN finds an 8 and stops: it would only go down from there.",
        _fixed("[10 [8 20 15]]"),
    ),
    Example(
        "beta",
        "First steps",
        "Beta: stay below 5",
        "MIN moves first here and has a 5. MAX finds a 6 and stops: it would only go up from there.",
        _fixed("MIN [5 [6 1 3]]"),
    ),
    Example(
        "deep",
        "First steps",
        "A deep cut",
        "The bound that cuts comes from three plies further up, not from the parent.",
        _fixed("[5 [[[4 9 8] 7] 6]]"),
    ),
    Example(
        "textbook",
        "First steps",
        "Three by three",
        "The tree of many textbooks: 3, then two moves that are refuted.",
        _fixed("[[3 12 8] [2 4 6] [14 5 2]]"),
    ),
    Example(
        "uniform",
        "Uniform trees",
        "3 children, 4 plies, at random",
        "81 leaves. Order them best first, and Knuth and Moore's 17 are enough; worst first, and all 81 are visited.",
        _uniform(3, 4, 1),
    ),
    Example(
        "wide",
        "Uniform trees",
        "5 children, 4 plies, at random",
        "625 leaves, of which 49 are enough.",
        _uniform(5, 4, 2),
    ),
    Example(
        "large",
        "Uniform trees",
        "3 children, 9 plies, at random",
        "29,524 nodes: zoom in, or collapse plies.",
        _uniform(3, 9, 3),
    ),
    Example(
        "tic-tac-toe-win",
        "Games",
        "Tic-tac-toe: X wins",
        "X to move in XX./OO./..., searched to the end. The side to move is MAX.",
        _tic_tac_toe("XX./OO./...", 9),
    ),
    Example(
        "tic-tac-toe-fork",
        "Games",
        "Tic-tac-toe: a fork",
        "O to move in X../.O./..X, to the end: 6 squares are left.",
        _tic_tac_toe("X../.O./..X", 9),
    ),
    Example(
        "tic-tac-toe-start",
        "Games",
        "Tic-tac-toe: the empty board, 4 plies",
        "Leaves are guesses: open lines. Many positions come up by several ways: try a transposition table.",
        _tic_tac_toe(".........", 4),
    ),
    Example(
        "connect-four",
        "Games",
        "Connect Four: the start, 4 plies",
        "Leaves are guesses: lines that can still be completed.",
        _connect_four("", 4),
    ),
    Example(
        "connect-four-threat",
        "Games",
        "Connect Four: a threat, 3 plies",
        "After d d e e: who is to move threatens to have three in a row with both ends open.",
        _connect_four("ddee", 3),
    ),
    Example(
        "worlds",
        "Lattices",
        "Sets of possible worlds",
        "A leaf says in which of the worlds a, b and c MAX wins: join is union, meet intersection. Compare the rules.",
        _random_sets(120),
        "lattice-strong",
        ("sets", "a b c"),
    ),
    Example(
        "strong",
        "Lattices",
        "Where strong beats weak",
        "Two aims at once. The strong rule visits 5 nodes, the weak one 6: compare them.",
        _fixed("[(1,0) [[(0,1) (0,1)]]]"),
        "lattice-strong",
        ("product", "0..1 x 0..1"),
    ),
    Example(
        "M3",
        "Lattices",
        "M3: not distributive",
        "The closed form would say c where the truth is 1, so it is refused. Comparing with the parent is never wrong.",
        _fixed("[c [b [a b]]]"),
        "lattice-shallow",
        ("M3", ""),
    ),
    Example(
        "M3-weak",
        "Lattices",
        "M3: the weak rule fails",
        "The weak rule would say 1 where the truth is a.",
        _fixed("[a [[[a c c] [b 1]] c]]"),
        "lattice-shallow",
        ("M3", ""),
    ),
    Example(
        "N5",
        "Lattices",
        "N5: not distributive",
        "The closed form would say a where the truth is b. Pruning by the parent alone is never wrong.",
        _fixed("[a [b [c a 0]]]"),
        "lattice-shallow",
        ("N5", ""),
    ),
    Example(
        "intervals",
        "Lattices",
        "Values that are only known to lie between bounds",
        "Join and meet go bound by bound.",
        _fixed("[[3..5 4..6] [2..7 1..2 5..5] [6..9 0..9]]"),
        "lattice-weak",
        ("intervals", "0..9"),
    ),
    Example(
        "divisors",
        "Lattices",
        "Divisors of 60",
        "Join is the least common multiple, meet the greatest common divisor.",
        _fixed("[[12 30] [20 [4 6] 15] [5 60]]"),
        "lattice-strong",
        ("divisors", "60"),
    ),
)

#: Every example by its key.
EXAMPLES: Final[dict[str, Example]] = {example.key: example for example in _ALL}
