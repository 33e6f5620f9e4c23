"""Visiting orders for the children in an explicit tree: as given, best first, worst first, random, or learned."""

from __future__ import annotations

import random
from typing import Final, Literal

from search.theory.counting import proofs
from search.theory.policy import GAMES, priors_of
from search.theory.trees import Children, Tree, TreeError, minimax_values

Order = Literal["given", "best", "worst", "random", "learned"]

ORDERS: Final[tuple[Order, ...]] = ("given", "best", "worst", "random", "learned")


def ordered_children(tree: Tree, order: Order, seed: int = 0) -> Children:
    """Returns the children of every node, arranged as `order` says; `seed` determines the order `random`.

    With `best`, alpha-beta visits as few leaves as possible. If some children can cause a cut, the child that needs the
    fewest leaves for a cut comes first; otherwise the best child comes first. With `worst`, the children are sorted by
    value, and the mover's worst child comes first. `best` and `worst` raise `TreeError` if a leaf is not an integer.

    With `learned`, the children of a game's tree are sorted by the prior of the game's policy (see `priors_of`); nodes
    that are not moves come last. Raises `TreeError` if the label of the root does not name a position of such a game.
    """
    if order == "given":
        return tree.children
    if order == "random":
        generator = random.Random(seed)
        return [generator.sample(children, len(children)) for children in tree.children]
    if order == "learned":
        priors = priors_of(tree)
        if priors is None:
            raise TreeError(
                f"the learned order needs the tree of a game: the root's label names no {' or '.join(GAMES)}"
            )
        return [sorted(children, key=lambda child: -(priors[child] or 0)) for children in tree.children]
    leaf_values = tree.integers()
    values = minimax_values(tree, leaf_values)
    at_least, at_most = proofs(tree, leaf_values, values[0])

    def rank(child: int) -> tuple[float, int]:
        """Returns the sort key of a child; smaller keys come first."""
        is_max = not tree.is_max(child)  # whether MAX moves at the child's parent
        worth = values[child] if is_max else -values[child]
        if order == "worst":
            return 0, worth
        return (at_least if is_max else at_most)[child], -worth

    return [sorted(children, key=rank) for children in tree.children]


def visiting_order(tree: Tree, children: Children) -> list[int]:
    """Returns the nodes in the order in which an unpruned search visits them; `children` is the order of siblings."""
    visited, pending = [], [0]
    while pending:
        node = pending.pop()
        visited.append(node)
        pending.extend(reversed(children[node]))
    return visited
