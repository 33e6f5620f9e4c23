"""Trees for experiments: uniform trees in a chosen order, irregular trees, and game trees."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Literal

from search.theory.games import Move, Position, SearchGame
from search.theory.trees import MAX_DEPTH, MAX_NODES, NOWHERE, Expansion, Tree, TreeError, grown_tree

Arrangement = Literal["best", "worst", "random"]


def uniform_tree(
    branching: int,
    depth: int,
    arrangement: Arrangement = "random",
    seed: int = 0,
    leaf: Callable[[random.Random], str] | None = None,
) -> Tree:
    """A tree with `branching` children at every inner node and all leaves at `depth`, MAX to move.

    The leaves are distinct numbers; a seed gives the same numbers in every arrangement. `random` shuffles them. With
    `worst`, every sibling is better for the mover than all before it: alpha-beta visits everything. With `best`, every
    first child is best: alpha-beta visits as little as possible. With `leaf`, that function gives the leaves (elements
    of a lattice, for example), so the arrangement is random. Raises `TreeError` if the tree would be too large, or for
    a branching below 1 or a negative depth.
    """
    if branching < 1 or depth < 0:
        raise TreeError(f"a tree has at least 1 child a node and 0 plies, not {branching} and {depth}")
    if depth > MAX_DEPTH:
        raise TreeError(f"a tree is at most {MAX_DEPTH} plies deep")
    if sum(branching**ply for ply in range(min(depth, MAX_NODES.bit_length()) + 1)) > MAX_NODES:
        raise TreeError(f"a tree has at most {MAX_NODES:,} nodes, {branching} children and {depth} plies make more")
    count = branching**depth
    generator = random.Random(seed)
    numbers = sorted(generator.sample(range(-5 * count, 5 * count + 1), count))
    if arrangement == "random":
        generator.shuffle(numbers)
    texts = [str(number) for number in numbers] if leaf is None else [leaf(generator) for _ in numbers]

    def expand(node: tuple[int, int]) -> Expansion[tuple[int, int]]:
        """A node is its ply and the index of its range of `texts` in this ply."""
        ply, place = node
        if ply == depth:
            return "", NOWHERE, texts[place]
        below = [(ply + 1, place * branching + child) for child in range(branching)]
        # The numbers rise from left to right, so the good ones are first for MIN and last for MAX.
        first_is_best = ply % 2 == 1
        if arrangement != "random" and first_is_best != (arrangement == "best"):
            below.reverse()
        return "", NOWHERE, below

    return grown_tree((0, 0), expand)


def random_tree(
    seed: int,
    depth: int,
    branching: int,
    leaf: Callable[[random.Random], str],
    stop: float = 0.2,
    most_nodes: int = MAX_NODES,
) -> Tree:
    """A tree of 1 to `branching` children a node, MAX to move, whose inner nodes end early with the chance `stop`.

    It grows ply by ply to at most `most_nodes` nodes. `leaf` gives the leaves. Raises `TreeError` for an invalid depth
    or branching.
    """
    if not 0 <= depth <= MAX_DEPTH or branching < 1:
        raise TreeError(f"a tree is 0 to {MAX_DEPTH} plies deep and has at least 1 child a node")
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
) -> Tree:
    """The tree of all play from `position` to `depth` plies; the side to move there is MAX.

    A leaf has the game's value, or at the horizon its guess; labels are the moves by `name`. Raises `TreeError` for a
    tree of more than `most_nodes` nodes.
    """

    def expand(node: tuple[Position, int, str]) -> Expansion[tuple[Position, int, str]]:
        """A node is a position, the plies from the root, and the label."""
        here, ply, label = node
        sign = 1 if ply % 2 == 0 else -1
        moves = list(game.moves(here))
        if not moves:
            return label, NOWHERE, str(sign * game.value(here))
        if ply >= depth:
            return label, NOWHERE, str(sign * game.guess(here))
        return label, NOWHERE, [(game.apply(here, move), ply + 1, name(here, move)) for move in moves]

    return grown_tree((position, 0, ""), expand, most_nodes=most_nodes)
