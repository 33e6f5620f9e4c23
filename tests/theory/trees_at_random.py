"""What the tests of this room draw from: trees of numbers, trees of lattice elements, lattices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from search.theory.lattices import Chain, Divisors, Intervals, Lattice, Product, Sets
from search.theory.trees import Tree, TreeBuilder

#: A leaf's text, or an inner node's children.
Nested = Any


def built(nested: Nested, *, root_is_max: bool = True) -> Tree:
    """A tree from nested lists with anything at the leaves."""
    builder = TreeBuilder()

    def add(node: Nested) -> None:
        if isinstance(node, list):
            builder.open()
            for child in node:
                add(child)
            builder.close()
        else:
            builder.add_leaf(str(node))

    add(nested)
    return builder.build(root_is_max=root_is_max)


def nested_lists(leaves: st.SearchStrategy[Any], most: int = 40) -> st.SearchStrategy[Nested]:
    return st.recursive(leaves, lambda children: st.lists(children, min_size=1, max_size=4), max_leaves=most)


#: Few different numbers, so that many are equal.
NUMBERS = st.integers(-6, 6)

NUMBER_TREES = st.builds(
    lambda nested, root_is_max: built(nested, root_is_max=root_is_max), nested_lists(NUMBERS), st.booleans()
)


def elements(lattice: Lattice[Any]) -> list[Any]:
    """Elements of some lattice, enough to find out about it."""
    if isinstance(lattice, Sets):
        names = sorted(lattice.top)
        return [frozenset(name for bit, name in enumerate(names) if code >> bit & 1) for code in range(1 << len(names))]
    if isinstance(lattice, Divisors):
        return [number for number in range(1, lattice.top + 1) if lattice.top % number == 0]
    if isinstance(lattice, Intervals):
        return [(low, high) for high in range(4) for low in range(high + 1)]
    if isinstance(lattice, Chain):
        return list(range(max(lattice.bottom, -2), min(lattice.top, 2) + 1))
    if isinstance(lattice, Product):
        every: list[tuple[Any, ...]] = [()]
        for factor in lattice.factors:
            every = [(*start, part) for start in every for part in elements(factor)]
        return every
    found: Sequence[str] = lattice.elements  # type: ignore[attr-defined]
    return list(found)


#: By name: chains, 2x2, 3x3, 2^3, divisors, intervals, and a product of different factors.
DISTRIBUTIVE: dict[str, Lattice[Any]] = {
    "chain": Chain(),
    "2x2": Product([Chain(0, 1), Chain(0, 1)]),
    "3x3": Product([Chain(0, 2), Chain(0, 2)]),
    "2^3": Sets(["a", "b", "c"]),
    "divisors": Divisors(60),
    "intervals": Intervals(0, 3),
    "mixed": Product([Chain(), Sets(["a", "b"])]),
}


def trees_over(lattice: Lattice[Any], most: int = 24) -> st.SearchStrategy[Tree]:
    leaves = st.sampled_from([lattice.format(element) for element in elements(lattice)])
    return st.builds(lambda nested, side: built(nested, root_is_max=side), nested_lists(leaves, most), st.booleans())
