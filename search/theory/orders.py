"""Visiting orders of an explicit tree's children: as given, best first, worst first, random, by hand."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final, Literal

from search.theory.counting import proofs
from search.theory.trees import Children, Tree, TreeError, minimax_values

Order = Literal["given", "best", "worst", "random"]

ORDERS: Final[tuple[Order, ...]] = ("given", "best", "worst", "random")


def ordered_children(tree: Tree, order: Order, seed: int = 0) -> Children:
    """The children of every node in this order; only best and worst use the leaves, which must be whole numbers.

    With `best`, alpha-beta values as few leaves as any order allows: the best child comes first or, where a cut is
    possible, the child that forces it most cheaply. `worst` sorts by the children's values, worst for the mover first.
    Raises `TreeError` for leaves that are no numbers.
    """
    if order == "given":
        return tree.children
    if order == "random":
        generator = random.Random(seed)
        return [generator.sample(children, len(children)) for children in tree.children]
    leaf_values = tree.integers()
    values = minimax_values(tree, leaf_values)
    at_least, at_most = proofs(tree, leaf_values, values[0])

    def goodness(node: int, child: int) -> tuple[float, int]:
        """The sort key: smaller keys come earlier."""
        is_max = tree.is_max(node)
        cost = (at_least if is_max else at_most)[child]
        return cost, -values[child] if is_max else values[child]

    def badness(node: int, child: int) -> int:
        return values[child] if tree.is_max(node) else -values[child]

    if order == "best":
        return [
            sorted(children, key=lambda child, node=node: goodness(node, child))  # type: ignore[misc]
            for node, children in enumerate(tree.children)
        ]
    return [
        sorted(children, key=lambda child, node=node: badness(node, child))  # type: ignore[misc]
        for node, children in enumerate(tree.children)
    ]


def visiting_order(tree: Tree, children: Children) -> list[int]:
    """All nodes in the order in which a search without cuts visits them."""
    visited, pending = [], [0]
    while pending:
        node = pending.pop()
        visited.append(node)
        pending.extend(reversed(children[node]))
    return visited


def children_of(tree: Tree, visiting: Sequence[int]) -> Children:
    """The inverse of `visiting_order`, for orders by hand. Raises `TreeError` if no order of `tree` gives this."""
    if sorted(visiting) != list(range(len(tree))):
        raise TreeError(f"an order of this tree names each of its {len(tree)} nodes once")
    children: list[list[int]] = [[] for _ in range(len(tree))]
    for node in visiting:
        if node:
            children[tree.parent[node]].append(node)
    if visiting_order(tree, children) != list(visiting):
        raise TreeError("this order tears a subtree apart: a node is followed by all that is below it")
    return children
