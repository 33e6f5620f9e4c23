"""Trees and lattices for the tests of this folder."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from search.theory.finite_lattice import FiniteLattice
from search.theory.lattices import Chain, Intervals, Lattice, Product, Sets
from search.theory.trees import NOWHERE, Tree, grown_tree

#: A leaf's text, or an inner node's children.
Nested = Any


def built(nested: Nested, *, root_is_max: bool = True) -> Tree:
    """A tree from nested lists with anything at the leaves."""
    return grown_tree(
        nested,
        lambda node: ("", NOWHERE, node if isinstance(node, list) else str(node)),
        root_is_max=root_is_max,
    )


def deep_tree(depth: int) -> Tree:
    """A tree with a leaf at every ply."""
    nested: Nested = 3
    for ply in reversed(range(depth)):
        nested = [ply % 7, nested]
    return built(nested)


def nested_lists(leaves: st.SearchStrategy[Any], most: int = 40) -> st.SearchStrategy[Nested]:
    return st.recursive(leaves, lambda children: st.lists(children, min_size=1, max_size=4), max_leaves=most)


#: For tests that run once for each algorithm or lattice.
FEWER_EXAMPLES = settings(max_examples=40)

#: Few different numbers, so that many are equal.
NUMBERS = st.integers(-6, 6)

NUMBER_TREES = st.builds(
    lambda nested, root_is_max: built(nested, root_is_max=root_is_max), nested_lists(NUMBERS), st.booleans()
)


def elements(lattice: Lattice[Any]) -> list[Any]:
    """The elements of a small lattice, some elements of an unbounded one."""
    match lattice:
        case Sets():
            names = sorted(lattice.top)
            return [frozenset(chosen) for count in range(len(names) + 1) for chosen in combinations(names, count)]
        case Intervals():
            return [(low, high) for high in range(4) for low in range(high + 1)]
        case Chain():
            return list(range(max(lattice.bottom, -2), min(lattice.top, 2) + 1))
        case Product():
            return list(product(*map(elements, lattice.factors)))
        case FiniteLattice():
            return list(lattice.elements)
    raise TypeError(type(lattice))


DISTRIBUTIVE: dict[str, Lattice[Any]] = {
    "chain": Chain(),
    "2x2": Product([Chain(0, 1), Chain(0, 1)]),
    "3x3": Product([Chain(0, 2), Chain(0, 2)]),
    "2^3": Sets(["a", "b", "c"]),
    "intervals": Intervals(0, 3),
    "mixed": Product([Chain(), Sets(["a", "b"])]),
}


def trees_over(lattice: Lattice[Any], most: int = 24) -> st.SearchStrategy[Tree]:
    leaves = st.sampled_from([lattice.format(element) for element in elements(lattice)])
    return st.builds(lambda nested, side: built(nested, root_is_max=side), nested_lists(leaves, most), st.booleans())
