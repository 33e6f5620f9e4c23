"""Finite lattices defined by an order, and the two smallest lattices that are not distributive.

The text `0 < a, b < 1; b < c < 1` says that 0 is below a and b, that a and b are below 1, and that c is between b
and 1. A newline acts as a semicolon. Implied relations may be omitted. Every two elements must have a least upper bound
and a greatest lower bound.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, product
from typing import Final

from search.theory.lattices import NAME, Lattice, LatticeError, violating_triple
from search.theory.trees import shortened

#: The maximum number of elements.
MAX_ELEMENTS: Final = 64


class FiniteLattice(Lattice[str]):
    """A lattice of `elements` with a < b for each pair (a, b) of `relations`, and all relations that these imply.

    Raises `LatticeError` if there are not 1 to MAX_ELEMENTS elements, if relations contradict each other, or if two
    elements lack a least upper bound or a greatest lower bound. In the last two cases, the message names the elements.
    """

    def __init__(self, elements: Sequence[str], relations: Iterable[tuple[str, str]]) -> None:
        if not 1 <= len(elements) <= MAX_ELEMENTS:
            raise LatticeError(f"a lattice must have 1 to {MAX_ELEMENTS} elements (got {len(elements)})")
        self.elements = tuple(elements)
        # For each element, the set that contains the element and all elements above it.
        above = {name: {name} for name in elements}
        for low, high in relations:
            if low == high:
                raise LatticeError(f"{low} < {low}: an element cannot be below itself")
            above[low].add(high)
        for middle in elements:  # Warshall's algorithm
            for name in elements:
                if middle in above[name]:
                    above[name] |= above[middle]
        below = {high: {low for low in elements if high in above[low]} for high in elements}
        for a, b in combinations(elements, 2):
            if b in above[a] and a in above[b]:
                raise LatticeError(f"{a} < {b} contradicts {b} < {a}")
        self._joins = {(a, b): self._nearest(a, b, above, "upper") for a, b in product(elements, repeat=2)}
        self._meets = {(a, b): self._nearest(a, b, below, "lower") for a, b in product(elements, repeat=2)}
        self.bottom = next(name for name in elements if len(above[name]) == len(elements))
        self.top = next(name for name in elements if len(below[name]) == len(elements))

    def meet(self, a: str, b: str) -> str:
        """Returns the greatest lower bound, from a table."""
        return self._meets[a, b]

    def join(self, a: str, b: str) -> str:
        """Returns the least upper bound, from a table."""
        return self._joins[a, b]

    def parse(self, text: str) -> str:
        """Returns the element with this name. Raises `LatticeError` if there is none."""
        if text not in self.elements:
            raise LatticeError(f"'{shortened(text)}' is not one of {shortened(', '.join(self.elements), 80)}")
        return text

    def format(self, element: str) -> str:
        """Returns the element's name."""
        return element

    def violation(self) -> tuple[str, str, str] | None:
        """Tries all triples and returns the first that violates the distributive law, or None if none does."""
        return violating_triple(self, self.elements)

    def _nearest(self, a: str, b: str, beyond: Mapping[str, set[str]], side: str) -> str:
        """Returns the least upper bound of `a` and `b`, or their greatest lower bound if `side` is "lower".

        `beyond` maps each element to itself and the elements on that side. Raises `LatticeError` if no bound exists.
        """
        bounds = beyond[a] & beyond[b]
        for bound in bounds:
            if beyond[bound] == bounds:
                return bound
        pair = f"{a} and {b} have no"
        if not bounds:
            raise LatticeError(f"not a lattice: {pair} {side} bound")
        rivals = [x for x in self.elements if x in bounds and not any(x in beyond[y] for y in bounds - {x})]
        extreme = "least" if side == "upper" else "greatest"
        raise LatticeError(
            f"not a lattice: {pair} {extreme} {side} bound ({rivals[0]} and {rivals[1]} are not comparable)"
        )


def read_order(text: str) -> FiniteLattice:
    """Returns the lattice that `text` describes in the module's format. Raises `LatticeError` if `text` is invalid."""
    elements: dict[str, None] = {}
    relations: list[tuple[str, str]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        for statement in re.finditer(r"[^;]+", line):
            if not statement.group().strip():
                continue
            lower: list[str] = []
            column = statement.start() + 1
            for group in statement.group().split("<"):
                place = number, column + len(group) - len(group.lstrip())
                column += len(group) + 1
                names = group.replace(",", " ").split()
                if not names:
                    raise LatticeError("an element name is missing", place)
                for name in names:
                    if NAME.fullmatch(name) is None:
                        raise LatticeError(f"'{shortened(name)}' is not a valid element name", place)
                    elements[name] = None
                relations += [(low, high) for low in lower for high in names]
                lower = names
    if not elements:
        raise LatticeError("expected an order, like 0 < a, b < 1", (1, 1))
    return FiniteLattice(tuple(elements), relations)


# A lattice is distributive if and only if it contains neither of these two as a sublattice (Birkhoff, 1934).
def diamond() -> FiniteLattice:
    """Returns the lattice M3: a bottom, a top, and three elements between them. No two of the three are comparable."""
    return read_order("0 < a, b, c < 1")


def pentagon() -> FiniteLattice:
    """Returns the lattice N5: a bottom, a top, and three elements between them. Two of these are comparable."""
    return read_order("0 < a < b < 1; 0 < c < 1")
