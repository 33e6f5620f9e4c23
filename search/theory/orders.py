"""Visiting orders for the children in an explicit tree: as given, best first, worst first, or random."""

from __future__ import annotations

import random
from typing import Final, Literal

from search.theory.counting import proofs
from search.theory.trees import Children, Tree, minimax_values

Order = Literal["given", "best", "worst", "random"]

ORDERS: Final[tuple[Order, ...]] = ("given", "best", "worst", "random")


def ordered_children(tree: Tree, order: Order, seed: int = 0) -> Children:
    """Returns the children of every node, arranged as `order` says; `seed` determines the order `random`.

    With `best`, alpha-beta visits as few leaves as possible. If some children can cause a cut, the child that needs the
    fewest leaves for a cut comes first; otherwise the best child comes first. With `worst`, the children are sorted by
    value, and the mover's worst child comes first. `best` and `worst` raise `TreeError` if a leaf is not an integer.
    """
    if order == "given":
        return tree.children
    if order == "random":
        generator = random.Random(seed)
        return [generator.sample(children, len(children)) for children in tree.children]
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
