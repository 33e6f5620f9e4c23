"""The smallest tree in which a pruning rule returns a wrong value in a lattice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations, product
from typing import Any, Final, TypeAlias

from search.theory.finite_lattice import FiniteLattice
from search.theory.lattice_search import NEED_DISTRIBUTIVITY, Rule, naive, searched
from search.theory.lattices import Lattice
from search.theory.trees import NOWHERE, Expansion, Tree, grown_tree

#: Larger trees are not tried. In M3 and N5, every unsound rule fails in a smaller one.
MOST_NODES: Final = 10

#: The maximum number of elements that are tried as leaves.
MOST_ELEMENTS: Final = 8

#: A shape of trees: the shapes of the children of the root, () for a leaf.
_Shape: TypeAlias = "tuple[_Shape, ...]"


def counterexample(
    lattice: Lattice[Any], rule: Rule, tell: Callable[[str], None] = lambda _: None
) -> tuple[Tree, Any, Any] | None:
    """Returns a smallest tree whose value `rule` gets wrong, the rule's value, and the true value; None if none fails.

    The leaves are from the whole lattice if it is small, otherwise from the part that a violation of the distributive
    law generates. Calls `tell` with the progress; it may raise.
    """
    triple = lattice.violation()
    if triple is None or rule not in NEED_DISTRIBUTIVITY:
        return None
    elements = _elements(lattice, triple)
    for nodes, root_is_max in product(range(6, MOST_NODES + 1), (True, False)):
        for shape in _shapes(nodes):
            tell(f"trying trees with {nodes} nodes")
            tree = grown_tree(shape, _expand, root_is_max=root_is_max)
            places, values = tree.leaves, [None] * len(tree)
            for chosen in product(elements, repeat=len(places)):
                for place, value in zip(places, chosen, strict=True):
                    values[place] = value
                found, true = (searched(lattice, tree, values, one) for one in (rule, naive))
                if found != true:
                    return _with_leaves(tree, [lattice.format(value) for value in chosen]), found, true
    return None


def _elements(lattice: Lattice[Any], triple: tuple[Any, Any, Any]) -> list[Any]:
    """Returns the elements to try: all, or those that meet and join make of the triple."""
    if isinstance(lattice, FiniteLattice) and len(lattice.elements) <= MOST_ELEMENTS:
        return list(lattice.elements)
    found = list(dict.fromkeys(triple))
    for a in found:  # grows while it is read
        for b in found[: found.index(a)]:
            found += [made for made in (lattice.meet(a, b), lattice.join(a, b)) if made not in found]
    return found[:MOST_ELEMENTS]


def _shapes(nodes: int) -> Iterator[_Shape]:
    """Yields the shapes with this many nodes: a path, whose nodes have at most one leaf on each side of the path.

    Other trees need not be tried. A subtree beside the path to the wrong cut can be replaced by a leaf with its value,
    and neighbouring leaves by one leaf with their join or meet. The path ends with two leaves, and the cut skips one.
    """
    for inner in range(3, nodes - 1):
        for beside in combinations(range(2 * (inner - 1)), nodes - inner - 2):
            shape: _Shape = ((), ())
            for level in range(inner - 1):
                left, right = (((),) if 2 * level + side in beside else () for side in (0, 1))
                shape = (*left, shape, *right)
            yield shape


def _expand(shape: _Shape) -> Expansion[_Shape]:
    return "", NOWHERE, list(shape) or "0"


def _with_leaves(tree: Tree, texts: list[str]) -> Tree:
    """Returns a tree of the same shape with other leaves."""
    leaves = dict(zip(tree.leaves, texts, strict=True))
    return grown_tree(
        0,
        lambda node: ("", NOWHERE, leaves.get(node, "") or list(tree.children[node])),
        root_is_max=tree.root_is_max,
    )
