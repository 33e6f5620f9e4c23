"""The fewest leaves in a proof: Knuth and Moore's formula for uniform trees, and the smallest proof for any tree.

A proof that a tree is worth v consists of two strategies: one by which MAX gets at least v, and one by which MIN limits
MAX to v. A strategy chooses a move at each of its side's nodes, and has an answer to every move of the other side. A
search must visit all leaves that two such strategies can reach. If both sides follow these strategies, they reach a
leaf that belongs to both. This leaf counts only once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Final

from search.theory.games import Move, Position, SearchGame
from search.theory.trees import Tree, integer, minimax_values

#: The entry for a false claim in the results of `proofs`. No number of leaves proves a false claim.
_IMPOSSIBLE: Final = math.inf


def minimal_leaves(branching: int, depth: int) -> int:
    """Returns the number of leaves that alpha-beta visits in a uniform tree if the best move always comes first.

    For branching factor b and depth d, the number is b^ceil(d/2) + b^floor(d/2) - 1: about twice the square root of the
    number of all leaves if d is even. No correct algorithm needs fewer. (Slagle and Dixon 1969; Knuth and Moore 1975.)
    """
    return int(branching ** ((depth + 1) // 2) + branching ** (depth // 2) - 1)


def effective_branching(leaves: float, depth: int) -> float:
    """Returns the branching factor of a uniform tree with this many leaves, all at `depth`, or `leaves` at depth 0."""
    return float(leaves ** (1 / depth)) if depth else float(leaves)


def proofs(tree: Tree, leaf_values: Sequence[int | None], value: int) -> tuple[list[float], list[float]]:
    """Returns, for each node, the fewest leaves that prove its value >= `value` (first list) or <= `value` (second).

    An entry is infinite if the claim is false. `leaf_values` is the result of `Tree.integers`.
    """
    at_least, at_most = [_IMPOSSIBLE] * len(tree), [_IMPOSSIBLE] * len(tree)
    for node in tree.postorder:
        leaf = leaf_values[node]
        children = tree.children[node]
        if leaf is not None:
            at_least[node] = 1 if leaf >= value else _IMPOSSIBLE
            at_most[node] = 1 if leaf <= value else _IMPOSSIBLE
        elif tree.is_max(node):
            at_least[node] = min(at_least[child] for child in children)
            at_most[node] = sum(at_most[child] for child in children)
        else:
            at_least[node] = sum(at_least[child] for child in children)
            at_most[node] = min(at_most[child] for child in children)
    return at_least, at_most


def fewest_leaves_to_depth(game: SearchGame[Position, Move], position: Position, depth: int, value: int) -> int:
    """Returns the number of leaves in the smallest proof that `position` is worth `value` at `depth` plies.

    This is `fewest_leaves` of the game's tree, without storing the tree: positions with the same key count once in
    memory, but as often as they occur in the result. `value` must be the minimax value for the side to move.
    """
    known: dict[tuple[Hashable, int], tuple[float, float]] = {}

    def needed(position: Position, depth: int, value: int) -> tuple[float, float]:
        """Returns the fewest leaves that prove that the side to move gets at least, and at most, `value`."""
        place = game.key(position), depth
        if place not in known:
            moves = list(game.moves(position))
            if moves and depth:
                below = [needed(game.apply(position, move), depth - 1, -value) for move in moves]
                known[place] = min(at_most for _, at_most in below), sum(at_least for at_least, _ in below)
            else:
                leaf = game.guess(position) if moves else game.value(position)
                known[place] = 1 if leaf >= value else _IMPOSSIBLE, 1 if leaf <= value else _IMPOSSIBLE
        return known[place]

    return int(sum(needed(position, depth, value))) - 1


def fewest_leaves(tree: Tree, parse: Callable[[str], int] = integer) -> int:
    """Returns the number of leaves in the smallest proof of the root's value.

    Every correct search visits at least that many leaves, unless it learns from a table that subtrees are equal.
    Alpha-beta reaches this minimum with the order `best` of `search.theory.orders`. In uniform trees, the minimum is
    `minimal_leaves`, whatever the values. `parse` reads a leaf. If `parse` raises ValueError, raises `TreeError`.
    """
    leaf_values = tree.values(parse)
    at_least, at_most = proofs(tree, leaf_values, minimax_values(tree, leaf_values)[0])
    return int(at_least[0] + at_most[0]) - 1
