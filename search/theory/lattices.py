"""Lattices: two values need not be comparable, but always have a least upper and a greatest lower bound.

MAX takes the join of its moves' values, MIN the meet. Numbers are the special case in which join and meet are maximum
and minimum. Other cases are several aims at once (products), the possible worlds in which a plan works (sets), and
values known only to lie between two bounds (intervals).

A lattice is distributive if a meet (b join c) = (a meet b) join (a meet c) for all a, b and c. All lattices of this
module are distributive; the smallest that are not are in `search.theory.finite_lattice`. Pruning depends on it: see
`search.theory.lattice_search`.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import product
from typing import Any, Final, Generic, TypeVar

from search.theory.games import INFINITE
from search.theory.trees import MAX_VALUE, PlacedError, integer, shortened

Element = TypeVar("Element")

#: A word that can name an element: without the characters that have a meaning in the formats of trees and lattices.
NAME: Final = re.compile(r"[^\s,;:<>=(){}\[\]\"]+")

#: The most names in a universe of sets.
MAX_NAMES: Final = 64


class LatticeError(PlacedError):
    """An invalid lattice or element."""


class Lattice(ABC, Generic[Element]):
    """A bounded lattice. Elements are hashable and never change; `meet` and `join` take any two of them."""

    #: The smallest and the largest element.
    bottom: Element
    top: Element

    @abstractmethod
    def meet(self, a: Element, b: Element) -> Element:
        """The greatest lower bound."""

    @abstractmethod
    def join(self, a: Element, b: Element) -> Element:
        """The least upper bound."""

    def is_below(self, a: Element, b: Element) -> bool:
        """Whether a <= b in the lattice's order."""
        return self.meet(a, b) == a

    @abstractmethod
    def parse(self, text: str) -> Element:
        """The element that a text names. Raises ValueError."""

    @abstractmethod
    def format(self, element: Element) -> str:
        """The text of an element, which `parse` understands."""

    def violation(self) -> tuple[Element, Element, Element] | None:
        """A triple a, b, c with a meet (b join c) != (a meet b) join (a meet c); None for a distributive lattice."""
        return None


def violating_triple(lattice: Lattice[Element], elements: Sequence[Element]) -> tuple[Element, Element, Element] | None:
    """The first triple of these elements that violates the distributive law; None if none does."""
    for a, b, c in product(elements, repeat=3):
        if lattice.meet(a, lattice.join(b, c)) != lattice.join(lattice.meet(a, b), lattice.meet(a, c)):
            return a, b, c
    return None


class Chain(Lattice[int]):
    """Whole numbers in their order, between `low` and `high`: ordinary minimax. Distributive, as max and min are."""

    def __init__(self, low: int = -INFINITE, high: int = INFINITE) -> None:
        if low > high:
            raise LatticeError(f"a chain from {low} to {high} has no elements")
        self.bottom, self.top = low, high

    def meet(self, a: int, b: int) -> int:
        """The minimum."""
        return min(a, b)

    def join(self, a: int, b: int) -> int:
        """The maximum."""
        return max(a, b)

    def parse(self, text: str) -> int:
        """A whole number, or `-inf` and `+inf` where the chain is unbounded."""
        if self.top == INFINITE and text in ("inf", "+inf", "∞", "+∞"):
            return INFINITE
        if self.bottom == -INFINITE and text in ("-inf", "-∞"):
            return -INFINITE
        value = integer(text)
        low, high = max(self.bottom, -MAX_VALUE), min(self.top, MAX_VALUE)
        if not low <= value <= high:
            raise LatticeError(f"{shortened(text)} does not lie in {low}..{high}")
        return value

    def format(self, element: int) -> str:
        """The number, with a sign in front of infinity."""
        if abs(element) == INFINITE:
            return "+∞" if element > 0 else "-∞"
        return str(element)


class Sets(Lattice[frozenset[str]]):
    """The subsets of a universe: join is union, meet is intersection, and these distribute over each other.

    If a value is the set of possible worlds in which MAX wins, minimax gives the value of one plan for all worlds. It
    can be less than the values of the best plans for each world.
    """

    def __init__(self, universe: Sequence[str]) -> None:
        if not 1 <= len(universe) <= MAX_NAMES:
            raise LatticeError(f"sets have 1 to {MAX_NAMES} names to choose from, not {len(universe)}")
        for number, name in enumerate(universe):
            if NAME.fullmatch(name) is None:
                raise LatticeError(f"'{shortened(name)}' cannot be the name of something in a set")
            if name in universe[:number]:
                raise LatticeError(f"'{shortened(name)}' is named twice")
        self._universe = tuple(universe)
        self.bottom, self.top = frozenset(), frozenset(universe)

    def meet(self, a: frozenset[str], b: frozenset[str]) -> frozenset[str]:
        """The intersection."""
        return a & b

    def join(self, a: frozenset[str], b: frozenset[str]) -> frozenset[str]:
        """The union."""
        return a | b

    def parse(self, text: str) -> frozenset[str]:
        """Names in braces, `{}` for the empty set."""
        if not (text.startswith("{") and text.endswith("}")):
            raise LatticeError(f"'{shortened(text)}' is no set: write names in braces, like {self.format(self.top)}")
        names = text[1:-1].replace(",", " ").split()
        for name in names:
            if name not in self.top:
                raise LatticeError(f"'{shortened(name)}' is not one of {', '.join(self._universe)}")
        return frozenset(names)

    def format(self, element: frozenset[str]) -> str:
        """Names in the universe's order."""
        return "{" + ",".join(name for name in self._universe if name in element) + "}"


class Product(Lattice[tuple[Any, ...]]):
    """Several lattices at once, place by place: several aims, none of which outweighs another.

    Distributive if every factor is.
    """

    def __init__(self, factors: Sequence[Lattice[Any]]) -> None:
        if not factors:
            raise LatticeError("a product has at least one factor")
        self.factors = tuple(factors)
        self.bottom = tuple(factor.bottom for factor in factors)
        self.top = tuple(factor.top for factor in factors)

    def meet(self, a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
        """The meet at every place."""
        return tuple(factor.meet(x, y) for factor, x, y in zip(self.factors, a, b, strict=True))

    def join(self, a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
        """The join at every place."""
        return tuple(factor.join(x, y) for factor, x, y in zip(self.factors, a, b, strict=True))

    def parse(self, text: str) -> tuple[Any, ...]:
        """One element for each factor, in parentheses, separated by commas."""
        parts = _split(text[1:-1]) if text.startswith("(") and text.endswith(")") else []
        if len(parts) != len(self.factors):
            raise LatticeError(
                f"'{shortened(text)}' is no element of a product: write {len(self.factors)} values in parentheses, "
                f"like {self.format(self.bottom)}"
            )
        return tuple(factor.parse(part) for factor, part in zip(self.factors, parts, strict=True))

    def format(self, element: tuple[Any, ...]) -> str:
        """As `parse` takes it."""
        return "(" + ",".join(factor.format(part) for factor, part in zip(self.factors, element, strict=True)) + ")"

    def violation(self) -> tuple[Any, Any, Any] | None:
        """The violation of the first factor that has one, with the bottom at the other places."""
        for place, factor in enumerate(self.factors):
            triple = factor.violation()
            if triple is not None:
                a, b, c = (
                    tuple(part if index == place else low for index, low in enumerate(self.bottom)) for part in triple
                )
                return a, b, c
        return None


class Intervals(Product):
    """Values known only to lie between two bounds; one interval is below another if both its bounds are.

    A maximum is at least the larger lower bound and at most the larger upper bound. So join and meet go bound by bound,
    as in a product of two chains. This lattice is a part of that product, and therefore distributive. (Intervals
    ordered by inclusion are a different lattice, which is not distributive.)
    """

    def __init__(self, low: int = -INFINITE, high: int = INFINITE) -> None:
        self._chain = Chain(low, high)
        super().__init__([self._chain, self._chain])

    def parse(self, text: str) -> tuple[int, int]:
        """`3..5`, or `4` for an exact value."""
        ends = text.split("..")
        if len(ends) > 2:
            raise LatticeError(f"'{shortened(text)}' is no interval: write its bounds, like 3..5")
        low, high = self._chain.parse(ends[0].strip()), self._chain.parse(ends[-1].strip())
        if low > high:
            raise LatticeError(f"'{shortened(text)}' is no interval: its lower bound comes first")
        return low, high

    def format(self, element: tuple[int, ...]) -> str:
        """As `parse` takes it."""
        low, high = element
        return self._chain.format(low) if low == high else f"{self._chain.format(low)}..{self._chain.format(high)}"


def _split(text: str) -> list[str]:
    """The parts between the commas outside brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "({") - (character in ")}")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]
