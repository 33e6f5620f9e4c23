"""Finite lattices given by their order, and the two smallest that are not distributive.

Text: `0 < a, b < 1; b < c < 1` says that 0 is below a and b, these are below 1, and so on. New lines act as semicolons.
Implied relations may be omitted. Every pair must have a least upper and a greatest lower bound.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, product
from typing import Final

from search.theory.lattices import NAME, Lattice, LatticeError, violating_triple
from search.theory.trees import shortened

#: The most elements.
MAX_ELEMENTS: Final = 64


class FiniteLattice(Lattice[str]):
    """The lattice of `elements` in which a < b for all pairs (a, b) of `relations`, and all implied relations hold.

    Raises `LatticeError` if that is no order, or no lattice; in that case the message names the pair at fault.
    """

    def __init__(self, elements: Sequence[str], relations: Iterable[tuple[str, str]]) -> None:
        if not 1 <= len(elements) <= MAX_ELEMENTS:
            raise LatticeError(f"a lattice has 1 to {MAX_ELEMENTS} elements here, not {len(elements)}")
        self.elements = tuple(elements)
        #: The elements above each element, and the element itself.
        above = {name: {name} for name in elements}
        for low, high in relations:
            if low == high:
                raise LatticeError(f"{low} < {low}: no order does that")
            above[low].add(high)
        for middle in elements:  # Warshall's closure
            for name in elements:
                if middle in above[name]:
                    above[name] |= above[middle]
        below = {high: {low for low in elements if high in above[low]} for high in elements}
        for a, b in combinations(elements, 2):
            if b in above[a] and a in above[b]:
                raise LatticeError(f"{a} < {b} and {b} < {a}: no order does that")
        self._joins = {(a, b): self._nearest(a, b, above, "upper") for a, b in product(elements, repeat=2)}
        self._meets = {(a, b): self._nearest(a, b, below, "lower") for a, b in product(elements, repeat=2)}
        self.bottom = next(name for name in elements if len(above[name]) == len(elements))
        self.top = next(name for name in elements if len(below[name]) == len(elements))

    def meet(self, a: str, b: str) -> str:
        """Looked up."""
        return self._meets[a, b]

    def join(self, a: str, b: str) -> str:
        """Looked up."""
        return self._joins[a, b]

    def parse(self, text: str) -> str:
        """An element's name."""
        if text not in self.elements:
            raise LatticeError(f"'{shortened(text)}' is not one of {shortened(', '.join(self.elements), 80)}")
        return text

    def format(self, element: str) -> str:
        """The name."""
        return element

    def violation(self) -> tuple[str, str, str] | None:
        """The first triple that violates the distributive law; tries all triples."""
        return violating_triple(self, self.elements)

    def _nearest(self, a: str, b: str, beyond: Mapping[str, set[str]], side: str) -> str:
        """The least upper or greatest lower bound of a and b, as `side` says. Raises LatticeError if there is none."""
        bounds = beyond[a] & beyond[b]
        for bound in bounds:
            if beyond[bound] == bounds:
                return bound
        pair = f"{a} and {b} have no"
        if not bounds:
            raise LatticeError(f"no lattice: {pair} {side} bound at all")
        rivals = [x for x in self.elements if x in bounds and not any(x in beyond[y] for y in bounds - {x})]
        extreme = "least" if side == "upper" else "greatest"
        raise LatticeError(
            f"no lattice: {pair} {extreme} {side} bound, for {rivals[0]} and {rivals[1]} are both nearest and not "
            "comparable"
        )


def read_order(text: str) -> FiniteLattice:
    """The lattice that a text describes, see the module. Raises `LatticeError`."""
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
                    raise LatticeError("a name is missing beside '<'", place)
                for name in names:
                    if NAME.fullmatch(name) is None:
                        raise LatticeError(f"'{shortened(name)}' cannot be the name of an element", place)
                    elements[name] = None
                relations += [(low, high) for low in lower for high in names]
                lower = names
    if not elements:
        raise LatticeError("an order names its elements, like 0 < a, b < 1", (1, 1))
    return FiniteLattice(tuple(elements), relations)


# A lattice is distributive exactly if it contains neither of these two as a sublattice (Birkhoff, 1934).
def diamond() -> FiniteLattice:
    """M3: three elements side by side between bottom and top."""
    return read_order("0 < a, b, c < 1")


def pentagon() -> FiniteLattice:
    """N5: a < b on one side, c on the other."""
    return read_order("0 < a < b < 1; 0 < c < 1")
