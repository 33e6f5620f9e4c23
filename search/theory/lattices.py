"""Lattices: orders in which any two values have a least upper bound and a greatest lower bound.

MAX takes the join (the least upper bound) of its moves' values, and MIN takes the meet (the greatest lower bound). For
numbers, these are the maximum and the minimum. Other lattices are for several goals at once (products), for the
possible worlds in which MAX wins (sets), and for values known only to lie between two bounds (intervals).

A lattice is distributive if a meet (b join c) = (a meet b) join (a meet c) for all a, b and c. The lattices of this
module are distributive, except for products with a factor that is not. The two smallest lattices that are not
distributive are in `search.theory.finite_lattice`. Most rules of `search.theory.lattice_search` need distributivity.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import product
from typing import Any, Final, Generic, TypeVar

from engine.files import count_of
from search.theory.games import INFINITE
from search.theory.trees import MAX_VALUE, PlacedError, integer, shortened

Element = TypeVar("Element")

#: The pattern of an element's name: a word without characters that are special in the formats of trees and lattices.
NAME: Final = re.compile(r"[^\s,;:<>=(){}\[\]\"]+")

#: The maximum number of names in the universe of a `Sets` lattice.
MAX_NAMES: Final = 64


class LatticeError(PlacedError):
    """Raised if a lattice or an element is invalid."""


class Lattice(ABC, Generic[Element]):
    """A bounded lattice. Elements are hashable and immutable; `meet` and `join` accept any two of them."""

    #: The smallest and the largest element.
    bottom: Element
    top: Element

    @abstractmethod
    def meet(self, a: Element, b: Element) -> Element:
        """Returns the greatest lower bound of two elements."""

    @abstractmethod
    def join(self, a: Element, b: Element) -> Element:
        """Returns the least upper bound of two elements."""

    def is_below(self, a: Element, b: Element) -> bool:
        """Returns whether a <= b in the lattice's order."""
        return self.meet(a, b) == a

    @abstractmethod
    def parse(self, text: str) -> Element:
        """Returns the element that `text` names. Raises ValueError if there is none."""

    @abstractmethod
    def format(self, element: Element) -> str:
        """Returns the element as text that `parse` can read."""

    def violation(self) -> tuple[Element, Element, Element] | None:
        """Returns (a, b, c) with a meet (b join c) != (a meet b) join (a meet c), or None if no such triple exists."""
        return None


def violating_triple(lattice: Lattice[Element], elements: Sequence[Element]) -> tuple[Element, Element, Element] | None:
    """Returns the first triple of `elements` that violates the distributive law, or None if no triple does."""
    for a, b, c in product(elements, repeat=3):
        if lattice.meet(a, lattice.join(b, c)) != lattice.join(lattice.meet(a, b), lattice.meet(a, c)):
            return a, b, c
    return None


class Chain(Lattice[int]):
    """The numbers from `low` to `high` in their usual order. Raises `LatticeError` if `low` is greater than `high`.

    An element is an integer: the number times 10**decimals.
    """

    def __init__(self, low: int = -INFINITE, high: int = INFINITE, decimals: int = 0) -> None:
        if low > high:
            raise LatticeError(f"a chain from {low} to {high} has no elements")
        self.bottom, self.top, self._decimals = low, high, decimals

    def with_decimals(self, decimals: int) -> Chain:
        """Returns the same chain, whose numbers may have this many digits after the point."""
        low, high = (end if abs(end) == INFINITE else end * 10**decimals for end in (self.bottom, self.top))
        return Chain(low, high, decimals)

    def meet(self, a: int, b: int) -> int:
        """Returns the minimum."""
        return min(a, b)

    def join(self, a: int, b: int) -> int:
        """Returns the maximum."""
        return max(a, b)

    def parse(self, text: str) -> int:
        """Returns the number in `text`; `-inf` and `+inf` are valid if they are ends of the chain."""
        if self.top == INFINITE and text in ("inf", "+inf", "∞", "+∞"):
            return INFINITE
        if self.bottom == -INFINITE and text in ("-inf", "-∞"):
            return -INFINITE
        value = integer(text, self._decimals)
        low, high = max(self.bottom, -MAX_VALUE), min(self.top, MAX_VALUE)
        if not low <= value <= high:
            raise LatticeError(f"{shortened(text)} is outside the range {self.format(low)}..{self.format(high)}")
        return value

    def format(self, element: int) -> str:
        """Returns the number as text, with `+∞` for INFINITE and `-∞` for -INFINITE."""
        if abs(element) == INFINITE:
            return "+∞" if element > 0 else "-∞"
        whole, fraction = divmod(abs(element), 10**self._decimals)
        digits = f"{fraction:0{self._decimals}}".rstrip("0") if fraction else ""
        return f"{'-' if element < 0 else ''}{whole}{'.' if digits else ''}{digits}"


class Sets(Lattice[frozenset[str]]):
    """The subsets of a universe of names, with union as join and intersection as meet. This lattice is distributive.

    If a leaf's value is the set of possible worlds in which MAX wins, the minimax value is the set of worlds in which
    MAX wins if both sides know which world is the actual one.
    """

    def __init__(self, universe: Sequence[str]) -> None:
        if not 1 <= len(universe) <= MAX_NAMES:
            raise LatticeError(f"sets need 1 to {MAX_NAMES} names to choose from (got {len(universe)})")
        for number, name in enumerate(universe):
            if NAME.fullmatch(name) is None:
                raise LatticeError(f"'{shortened(name)}' is not a valid name for a member of a set")
            if name in universe[:number]:
                raise LatticeError(f"duplicate name '{shortened(name)}'")
        self._universe = tuple(universe)
        self.bottom, self.top = frozenset(), frozenset(universe)

    def meet(self, a: frozenset[str], b: frozenset[str]) -> frozenset[str]:
        """Returns the intersection."""
        return a & b

    def join(self, a: frozenset[str], b: frozenset[str]) -> frozenset[str]:
        """Returns the union."""
        return a | b

    def parse(self, text: str) -> frozenset[str]:
        """Returns the set of the names that `text` lists in braces; `{}` is the empty set."""
        if not (text.startswith("{") and text.endswith("}")):
            raise LatticeError(f"'{shortened(text)}' is not a set: write names in braces, like {self.format(self.top)}")
        names = text[1:-1].replace(",", " ").split()
        for name in names:
            if name not in self.top:
                raise LatticeError(f"'{shortened(name)}' is not one of {', '.join(self._universe)}")
        return frozenset(names)

    def format(self, element: frozenset[str]) -> str:
        """Returns the names in braces, in the universe's order."""
        return "{" + ",".join(name for name in self._universe if name in element) + "}"


class Product(Lattice[tuple[Any, ...]]):
    """A product of lattices: its elements are tuples, which are compared component by component.

    Products suit searches for several goals if no goal outweighs another. A product is distributive if every factor is.
    """

    def __init__(self, factors: Sequence[Lattice[Any]]) -> None:
        if not factors:
            raise LatticeError("a product must have at least one factor")
        self.factors = tuple(factors)
        self.bottom = tuple(factor.bottom for factor in factors)
        self.top = tuple(factor.top for factor in factors)

    def meet(self, a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
        """Returns the componentwise meet."""
        return tuple(factor.meet(x, y) for factor, x, y in zip(self.factors, a, b, strict=True))

    def join(self, a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
        """Returns the componentwise join."""
        return tuple(factor.join(x, y) for factor, x, y in zip(self.factors, a, b, strict=True))

    def parse(self, text: str) -> tuple[Any, ...]:
        """Returns the tuple in a text like `(1,{a})`, which contains one element of each factor."""
        parts = _split(text[1:-1]) if text.startswith("(") and text.endswith(")") else []
        if len(parts) != len(self.factors):
            raise LatticeError(
                f"'{shortened(text)}' is not an element of the product: write {count_of(len(self.factors), 'value')} "
                f"in parentheses, like {self.format(self.bottom)}"
            )
        return tuple(factor.parse(part) for factor, part in zip(self.factors, parts, strict=True))

    def format(self, element: tuple[Any, ...]) -> str:
        """Returns the element as text that `parse` can read."""
        return "(" + ",".join(factor.format(part) for factor, part in zip(self.factors, element, strict=True)) + ")"

    def violation(self) -> tuple[Any, Any, Any] | None:
        """Returns a factor's violating triple, extended by the other factors' bottoms, or None if there is none."""
        for place, factor in enumerate(self.factors):
            triple = factor.violation()
            if triple is not None:
                a, b, c = (
                    tuple(part if index == place else low for index, low in enumerate(self.bottom)) for part in triple
                )
                return a, b, c
        return None


class Intervals(Product):
    """Intervals, for values known only to lie between two bounds. Lower and upper bounds are compared separately.

    The maximum of two such values is at least the larger of their lower bounds and at most the larger of their upper
    bounds. So join and meet work bound by bound, as in a product of two chains. This lattice is a sublattice of
    that product and therefore distributive. (A lattice of intervals ordered by inclusion is usually not distributive.)
    """

    def __init__(self, low: int = -INFINITE, high: int = INFINITE) -> None:
        self._chain = Chain(low, high)
        super().__init__([self._chain, self._chain])

    def parse(self, text: str) -> tuple[int, int]:
        """Returns the lower and upper bound in a text like `3..5`; an exact value like `4` has two equal bounds."""
        ends = text.split("..")
        if len(ends) > 2:
            raise LatticeError(f"'{shortened(text)}' is not an interval: write its bounds, like 3..5")
        low, high = self._chain.parse(ends[0].strip()), self._chain.parse(ends[-1].strip())
        if low > high:
            raise LatticeError(f"'{shortened(text)}' is not an interval: the lower bound must come first")
        return low, high

    def format(self, element: tuple[int, ...]) -> str:
        """Returns the element as text that `parse` can read."""
        low, high = element
        return self._chain.format(low) if low == high else f"{self._chain.format(low)}..{self._chain.format(high)}"


def _split(text: str) -> list[str]:
    """Splits `text` at the commas outside parentheses and braces; returns the parts without surrounding spaces."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "({") - (character in ")}")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]
