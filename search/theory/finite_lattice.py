"""Finite lattices given by their order, and the two smallest that are not distributive.

Text: `0 < a, b < 1; b < c < 1` says that 0 is below a and b, these are below 1, and so on. New lines act as semicolons.
Implied relations may be omitted. Every pair must have a least upper and a greatest lower bound.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Final

from search.theory.lattices import NAME, Lattice, LatticeError, violating_triple
from search.theory.trees import shortened

#: The most elements.
MAX_ELEMENTS: Final = 64


class FiniteLattice(Lattice[str]):
    """The lattice of `elements` in which a < b for all pairs (a, b) of `relations`, and all implied relations hold.

    Raises `LatticeError` if that is no order, or no lattice; in that case the message names the pair at fault.
    """

    kind = "order"

    def __init__(self, elements: Sequence[str], relations: Iterable[tuple[str, str]], kind: str = "order") -> None:
        if not 1 <= len(elements) <= MAX_ELEMENTS:
            raise LatticeError(f"a lattice has 1 to {MAX_ELEMENTS} elements here, not {len(elements)}")
        self.kind = kind
        self.elements = tuple(elements)
        self._index = {name: index for index, name in enumerate(elements)}
        # Bit j of above[i] is set if element j is above i or is i itself.
        above = [1 << index for index in range(len(elements))]
        for low, high in relations:
            if low == high:
                raise LatticeError(f"{low} < {low}: no order does that")
            above[self._index[low]] |= 1 << self._index[high]
        for middle in range(len(elements)):  # Warshall's closure
            for index in range(len(elements)):
                if above[index] >> middle & 1:
                    above[index] |= above[middle]
        below = [sum(1 << low for low, highs in enumerate(above) if highs >> high & 1) for high in range(len(elements))]
        for a, b in combinations(range(len(elements)), 2):
            if above[a] >> b & 1 and above[b] >> a & 1:
                raise LatticeError(
                    f"{elements[a]} < {elements[b]} and {elements[b]} < {elements[a]}: no order does that"
                )
        self._joins = [
            [self._nearest(a, b, above, "upper") for b in range(len(elements))] for a in range(len(elements))
        ]
        self._meets = [
            [self._nearest(a, b, below, "lower") for b in range(len(elements))] for a in range(len(elements))
        ]
        self.bottom = next(
            name for name, bits in zip(elements, above, strict=True) if bits.bit_count() == len(elements)
        )
        self.top = next(name for name, bits in zip(elements, below, strict=True) if bits.bit_count() == len(elements))

    def meet(self, a: str, b: str) -> str:
        """Looked up."""
        return self.elements[self._meets[self._index[a]][self._index[b]]]

    def join(self, a: str, b: str) -> str:
        """Looked up."""
        return self.elements[self._joins[self._index[a]][self._index[b]]]

    def parse(self, text: str) -> str:
        """An element's name."""
        if text not in self._index:
            raise LatticeError(f"'{shortened(text)}' is not one of {shortened(', '.join(self.elements), 80)}")
        return text

    def format(self, element: str) -> str:
        """The name."""
        return element

    def violation(self) -> tuple[str, str, str] | None:
        """The first triple that violates the distributive law; tries all triples."""
        return violating_triple(self, self.elements)

    def _nearest(self, a: int, b: int, beyond: Sequence[int], side: str) -> int:
        """The bound of a and b on this side that all others lie beyond."""
        bounds = beyond[a] & beyond[b]
        common = [index for index in range(len(self.elements)) if bounds >> index & 1]
        for index in common:
            if beyond[index] == bounds:
                return index
        pair = f"{self.elements[a]} and {self.elements[b]} have no"
        if not common:
            raise LatticeError(f"no lattice: {pair} {side} bound at all")
        rivals = [x for x in common if not any(y != x and beyond[y] >> x & 1 for y in common)]
        names = " and ".join(self.elements[index] for index in rivals[:2])
        extreme = "least" if side == "upper" else "greatest"
        raise LatticeError(
            f"no lattice: {pair} {extreme} {side} bound, for {names} are both nearest and not comparable"
        )


def read_order(text: str, kind: str = "order") -> FiniteLattice:
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
    return FiniteLattice(tuple(elements), relations, kind)


#: Orders of the two smallest lattices that are not distributive. A lattice is distributive exactly if it contains
#: neither of them as a sublattice (Birkhoff, 1934).
ORDERS: Final = {
    "M3": "0 < a, b, c < 1",
    "N5": "0 < a < b < 1; 0 < c < 1",
}


def diamond() -> FiniteLattice:
    """M3: three elements side by side between bottom and top."""
    return read_order(ORDERS["M3"], "M3")


def pentagon() -> FiniteLattice:
    """N5: a < b on one side, c on the other."""
    return read_order(ORDERS["N5"], "N5")
