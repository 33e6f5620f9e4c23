"""Trees for experiments: uniform trees in a chosen order, irregular trees, and game trees."""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable
from typing import Literal

from search.theory.games import Move, Position, SearchGame
from search.theory.trees import MAX_DEPTH, MAX_NODES, Tree, TreeBuilder, TreeError

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
    _check_size(branching, depth)
    count = branching**depth
    generator = random.Random(seed)
    numbers = sorted(generator.sample(range(-5 * count, 5 * count + 1), count))
    if arrangement == "random":
        generator.shuffle(numbers)
    texts = [str(number) for number in numbers] if leaf is None else [leaf(generator) for _ in numbers]

    builder = TreeBuilder()
    #: The nodes that remain to be added: ply, and index of its range of `texts` in this ply; None closes a node.
    pending: list[tuple[int, int] | None] = [(0, 0)]
    while pending:
        entry = pending.pop()
        if entry is None:
            builder.close()
            continue
        ply, place = entry
        if ply == depth:
            builder.add_leaf(texts[place])
            continue
        builder.open()
        pending.append(None)
        below = [(ply + 1, place * branching + child) for child in range(branching)]
        # The numbers rise from left to right, so the good ones are first for MIN and last for MAX.
        first_is_best = ply % 2 == 1
        if arrangement == "random" or first_is_best == (arrangement == "best"):
            below.reverse()  # the last entry comes first
        pending += below
    return builder.build()


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
            for _ in range(
                generator.randint(min(2, branching), branching) if ply == 0 else generator.randint(1, branching)
            ):
                children[node].append(len(children))
                following.append(len(children))
                children.append([])
        front = following
    builder = TreeBuilder(most_nodes=most_nodes)
    pending = [0]
    while pending:
        node = pending.pop()
        if node < 0:
            builder.close()
        elif children[node]:
            builder.open()
            pending += [-1, *reversed(children[node])]
        else:
            builder.add_leaf(leaf(generator))
    return builder.build()


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
    builder = TreeBuilder(most_nodes=most_nodes)
    #: The nodes that remain to be added: position, plies left, sign of the mover's view, label; None closes a node.
    pending: list[tuple[Position, int, int, str] | None] = [(position, depth, 1, "")]
    while pending:
        entry = pending.pop()
        if entry is None:
            builder.close()
            continue
        here, left, sign, label = entry
        moves = list(game.moves(here))
        if not moves:
            builder.add_leaf(str(sign * game.value(here)), label)
        elif left <= 0:
            builder.add_leaf(str(sign * game.guess(here)), label)
        else:
            builder.open(label)
            pending.append(None)
            pending += [(game.apply(here, move), left - 1, -sign, name(here, move)) for move in reversed(moves)]
    return builder.build()


def different_positions(game: SearchGame[Position, Move], position: Position, depth: int) -> int:
    """The number of different positions up to `depth` plies from this one: the nodes with a perfect table."""
    level: dict[Hashable, Position] = {game.key(position): position}
    count = 1
    for _ in range(depth):
        following = (game.apply(here, move) for here in level.values() for move in game.moves(here))
        level = {game.key(child): child for child in following}
        count += len(level)
    return count


def _check_size(branching: int, depth: int) -> None:
    nodes, level = 1, 1
    if depth > MAX_DEPTH:
        raise TreeError(f"a tree is at most {MAX_DEPTH} plies deep")
    for _ in range(depth):
        level *= branching
        nodes += level
        if nodes > MAX_NODES:
            raise TreeError(f"a tree has at most {MAX_NODES:,} nodes, {branching} children and {depth} plies make more")
