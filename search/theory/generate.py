"""Trees for experiments: uniform trees with a chosen arrangement of leaves, irregular trees, and game trees."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final, Literal

from search.theory.games import Move, Position, SearchGame
from search.theory.trees import MAX_DEPTH, MAX_NODES, NOWHERE, Expansion, Tree, TreeError, grown_tree

Arrangement = Literal["best", "worst", "random", "correlated", "ordered"]

#: With correlated leaves, one move of each node costs the mover at most 2, and each other one from 20 to 100.
_GOOD: Final = (0, 2)
_BAD: Final = (20, 100)
#: The good move comes first at this share of the nodes, and anywhere at the others.
_FIRST: Final = {"correlated": 0.35, "ordered": 0.9}


def uniform_tree(
    branching: int,
    depth: int,
    arrangement: Arrangement = "random",
    seed: int = 0,
    leaf: Callable[[random.Random], str] | None = None,
) -> Tree:
    """Returns a tree with `branching` children at every inner node, all leaves at `depth`, and MAX to move at the root.

    The leaves are distinct integers; a seed gives the same integers in every arrangement. `random` shuffles them. With
    `worst`, all leaves below a child are better for the mover than those below its earlier siblings, so alpha-beta
    visits every node. (The order `worst` of `search.theory.orders` cannot achieve this in every tree.) With `best`, the
    first child of every node is best, so alpha-beta visits as few nodes as possible. With `correlated`, the leaves are
    not distinct: every move costs the mover something, and one move of each node costs little, as in games, where the
    value of a position hints at the values after further moves. With `ordered`, this good move also comes first at most
    nodes. If `leaf` is given, it generates the texts of the leaves (such as elements of a lattice), and the leaves are
    not sorted.
    Raises `TreeError` if the tree would be too large or too deep, `branching` is less than 1, or `depth` is negative.
    """
    if branching < 1 or depth < 0:
        raise TreeError(f"branching must be at least 1 (got {branching}), and depth at least 0 (got {depth})")
    if depth > MAX_DEPTH:
        raise TreeError(f"depth must be at most {MAX_DEPTH} (got {depth})")
    if sum(branching**ply for ply in range(min(depth, MAX_NODES.bit_length()) + 1)) > MAX_NODES:
        raise TreeError(f"a tree of depth {depth} with {branching} children per node has more than {MAX_NODES:,} nodes")
    count = branching**depth
    generator = random.Random(seed)
    numbers = sorted(generator.sample(range(-5 * count, 5 * count + 1), count))
    if arrangement == "random":
        generator.shuffle(numbers)
    if arrangement in _FIRST:
        numbers = [0]
        for ply in range(depth):
            numbers = [
                value + change
                for value in numbers
                for change in _changes(generator, branching, ply, _FIRST[arrangement])
            ]
    texts = [str(number) for number in numbers] if leaf is None else [leaf(generator) for _ in numbers]

    def expand(node: tuple[int, int]) -> Expansion[tuple[int, int]]:
        """Expands a node, given as its ply and its index in that ply. The index ignores the reversal of siblings."""
        ply, place = node
        if ply == depth:
            return "", NOWHERE, texts[place]
        below = [(ply + 1, place * branching + child) for child in range(branching)]
        # Sorted numbers rise from left to right, so MIN's best moves come first, and MAX's best moves come last.
        first_is_best = ply % 2 == 1
        if arrangement in ("best", "worst") and first_is_best != (arrangement == "best"):
            below.reverse()
        return "", NOWHERE, below

    return grown_tree((0, 0), expand)


def _changes(generator: random.Random, branching: int, ply: int, first: float) -> list[int]:
    """Returns by how much the moves of a node change the value, from MAX's point of view.

    The good move comes first with the probability `first`, in addition to its chance among all moves.
    """
    costs = [generator.randint(*_BAD) for _ in range(branching)]
    costs[0 if generator.random() < first else generator.randrange(branching)] = generator.randint(*_GOOD)
    return [cost if ply % 2 else -cost for cost in costs]


def random_tree(
    seed: int,
    depth: int,
    branching: int,
    leaf: Callable[[random.Random], str],
    stop: float = 0.2,
    most_nodes: int = MAX_NODES,
) -> Tree:
    """Returns a random tree with 1 to `branching` children per inner node, and MAX to move at the root.

    A node between the root and `depth` becomes a leaf with probability `stop`. The tree grows ply by ply to at most
    `most_nodes` nodes. `leaf` generates a leaf's text. Raises `TreeError` if `depth` or `branching` is out of range.
    """
    if not 0 <= depth <= MAX_DEPTH or branching < 1:
        raise TreeError(f"depth must be 0 to {MAX_DEPTH} (got {depth}), and branching at least 1 (got {branching})")
    generator = random.Random(seed)
    children: list[list[int]] = [[]]
    front = [0]
    for ply in range(depth):
        following: list[int] = []
        for node in front:
            if (ply and generator.random() < stop) or len(children) + branching > most_nodes:
                continue
            fewest = min(2, branching) if ply == 0 else 1
            for _ in range(generator.randint(fewest, branching)):
                children[node].append(len(children))
                following.append(len(children))
                children.append([])
        front = following

    def expand(node: int) -> Expansion[int]:
        return "", NOWHERE, children[node] or leaf(generator)

    return grown_tree(0, expand, most_nodes=most_nodes)


def game_tree(
    game: SearchGame[Position, Move],
    position: Position,
    depth: int,
    name: Callable[[Position, Move], str] = lambda _, move: str(move),
    most_nodes: int = MAX_NODES,
    label: str = "",
) -> Tree:
    """Returns the tree of all lines of play of at most `depth` plies from `position`, where MAX is to move.

    A leaf contains the game's value if the game is over, otherwise the game's guess, both from MAX's point of view.
    `name(position, move)` is the label of the node after the move, and `label` that of the root. Raises `TreeError` if
    the tree has more than `most_nodes` nodes or more than MAX_DEPTH plies.
    """

    def expand(node: tuple[Position, int, str]) -> Expansion[tuple[Position, int, str]]:
        """Expands a node, given as a position, its number of plies from the root, and its label."""
        here, ply, label = node
        sign = 1 if ply % 2 == 0 else -1
        moves = list(game.moves(here))
        if not moves:
            return label, NOWHERE, str(sign * game.value(here))
        if ply >= depth:
            return label, NOWHERE, str(sign * game.guess(here))
        return label, NOWHERE, [(game.apply(here, move), ply + 1, name(here, move)) for move in moves]

    return grown_tree((position, 0, label), expand, most_nodes=most_nodes)
