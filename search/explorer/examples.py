"""Example trees: small trees that each show one idea, uniform trees, positions of games, and trees in lattices."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from search.theory.generate import game_tree, random_tree, uniform_tree
from search.theory.policy import GAMES, named_position
from search.theory.tree_text import write_list


@dataclass(frozen=True, slots=True)
class Example:
    """An example tree and the settings of its search.

    `make` is the tree's text, or a function that returns it. `algorithm` is the key of the algorithm that the page
    selects; "" keeps one for numbers and replaces others by alpha-beta. `lattice` is (kind, spec), or None for numbers.
    """

    key: str
    name: str
    note: str
    make: str | Callable[[], str]
    algorithm: str = ""
    lattice: tuple[str, str] | None = None
    group: str = ""
    #: The order of children, and the order to compare it with; "" changes nothing.
    order: str = ""
    rival: str = ""

    def text(self) -> str:
        """Returns the tree as text."""
        return self.make if isinstance(self.make, str) else self.make()


def _game(position: str, depth: int) -> str:
    """Returns the tree of `depth` plies from a position (see `named_position`), as text; it is the root's label."""
    name, root = named_position(position)
    game = GAMES[name]
    return write_list(game_tree(game, root, depth, lambda _, move: game.name(move), label=position))


def _uniform(branching: int, depth: int, seed: int) -> str:
    return write_list(uniform_tree(branching, depth, "random", seed))


def _random_sets(seed: int) -> str:
    def leaf(generator: random.Random) -> str:
        return "{" + ",".join(name for name in "abc" if generator.random() < 0.5) + "}"

    return write_list(random_tree(seed, 4, 3, leaf))


_GROUPS: Final = {
    "First steps": (
        Example(
            "seven",
            "Seven leaves",
            "Two cuts: C is already too good for MAX, so MIN avoids it; D is already too bad, so MAX avoids it.",
            "[A:[B:[5 6] C:[7 4]] D:[E:[3 2] 8]]",
        ),
        Example(
            "calculator",
            "A guaranteed 3",
            "Move B is worth 3. F is worth only 2, so move C cannot be better, and the search never visits G.",
            "[B:[D:3 E:5] C:[F:2 G:-1000]]",
        ),
        Example(
            "alpha",
            "Alpha: beat a 10",
            "MAX is sure of 10. MIN finds an 8, so the second branch is cut: its value could only fall further.",
            "[10 [8 20 15]]",
        ),
        Example(
            "beta",
            "Beta: stay below 5",
            "MIN moves first and is sure of 5. MAX finds a 6, so the second branch is cut: its value could only rise.",
            "MIN [5 [6 1 3]]",
        ),
        Example(
            "deep",
            "A deep cut",
            "The bound that cuts comes from three plies higher up, not from the parent.",
            "[5 [[[4 9 8] 7] 6]]",
        ),
        Example(
            "textbook",
            "Three by three",
            "A tree from many textbooks: the first move is worth 3, and the other two are refuted.",
            "[[3 12 8] [2 4 6] [14 5 2]]",
        ),
    ),
    "Uniform trees": (
        Example(
            "uniform",
            "3 children, 4 plies, at random",
            "In the best order, alpha-beta visits 17 of the 81 leaves (Knuth and Moore); "
            "with the worst moves first, 79.",
            partial(_uniform, 3, 4, 1),
        ),
        Example(
            "large",
            "3 children, 9 plies, at random",
            "29,524 nodes: zoom in, or collapse plies.",
            partial(_uniform, 3, 9, 3),
        ),
    ),
    "Correlated leaves": (
        Example(
            "correlated",
            "5 children, 5 plies, as in games",
            "Every move costs its player something, and one move of each node costs little. Iterative deepening values "
            "fewer leaves than alpha-beta: a shallow search shows which move is good.",
            lambda: write_list(uniform_tree(5, 5, "correlated", 1)),
            "deepening",
        ),
        Example(
            "ordered",
            "4 children, 6 plies, good moves first",
            "The good move comes first at most nodes, as in a chess program. Principal variation search values 151 "
            "leaves, alpha-beta 199. In most such trees, the difference is smaller.",
            lambda: write_list(uniform_tree(4, 6, "ordered", 8)),
            "pvs",
        ),
    ),
    "Games": (
        Example(
            "tic-tac-toe-win",
            "Tic-tac-toe: X wins",
            "X to move in XX./OO./..., searched to the end. The side to move is MAX.",
            partial(_game, "tic-tac-toe XX./OO./...", 9),
        ),
        Example(
            "tic-tac-toe-fork",
            "Tic-tac-toe: a fork",
            "O to move in X../.O./..X, searched to the end. Six squares are empty.",
            partial(_game, "tic-tac-toe X../.O./..X", 9),
        ),
        Example(
            "tic-tac-toe-learned",
            "Tic-tac-toe: a learned order",
            "O to move in X../.O./..X. With the moves that a small learned policy prefers first, alpha-beta values 46 "
            "leaves. In the given order it values 135 (right), and in the best order 34.",
            partial(_game, "tic-tac-toe X../.O./..X", 9),
            "two-sided",
            order="learned",
            rival="given",
        ),
        Example(
            "tic-tac-toe-start",
            "Tic-tac-toe: the empty board, 4 plies",
            "Leaf values count open lines (a static evaluation). Many positions recur: try a transposition table.",
            partial(_game, "tic-tac-toe .../.../...", 4),
        ),
        Example(
            "connect-four",
            "Connect Four: the start, 4 plies",
            "Leaf values count the lines that only one side can still complete (a static evaluation).",
            partial(_game, "connect-four", 4),
        ),
    ),
    "Lattices": (
        Example(
            "worlds",
            "Sets of possible worlds",
            "A world is one way that unknown facts can be, such as the cards in another hand. A leaf lists the worlds, "
            "out of a, b and c, in which MAX wins. Join is union; meet is intersection. While MIN has no bound, beta "
            "is all worlds.",
            partial(_random_sets, 120),
            "lattice-strong",
            ("sets", "a b c"),
        ),
        Example(
            "strong",
            "Where strong beats weak",
            "A value is a pair of numbers. The strong rule visits 5 nodes, and the weak rule 6: compare them.",
            "[(1,0) [[(0,1) (0,1)]]]",
            "lattice-strong",
            ("product", "0..1 x 0..1"),
        ),
        Example(
            "M3",
            "M3: not distributive",
            "The page refuses the strong rule, which would return c; the value is 1. The shallow rule is never wrong.",
            "[c [b [a b]]]",
            "lattice-shallow",
            ("M3", ""),
        ),
        Example(
            "N5",
            "N5: not distributive",
            "The page refuses the strong rule, which would return a; the value is b. The shallow rule is never wrong.",
            "[a [b [c a 0]]]",
            "lattice-shallow",
            ("N5", ""),
        ),
        Example(
            "intervals",
            "Values known only to lie between two bounds",
            "Join and meet apply to the lower bounds and to the upper bounds separately.",
            "[[3..5 4..6] [2..7 1..2 5..5] [6..9 0..9]]",
            "lattice-weak",
            ("intervals", "0..9"),
        ),
    ),
}

#: All examples by key.
EXAMPLES: Final[dict[str, Example]] = {
    example.key: replace(example, group=group) for group, examples in _GROUPS.items() for example in examples
}

#: The recorded chess searches in `page/recordings`, with their names. `make recordings` makes them.
RECORDINGS: Final = {
    "mate": "Bratko-Kopec 1: mate in three, depth 9",
    "opening": "The start position, depth 5",
    "endgame": "A pawn endgame (Lasker and Reichhelm, 1901), depth 8",
}
