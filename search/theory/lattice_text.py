"""The kinds of lattices that a user can choose by name."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from search.theory.finite_lattice import diamond, pentagon, read_order
from search.theory.lattices import Chain, Intervals, Lattice, LatticeError, Product, Sets
from search.theory.trees import shortened

#: The maximum number of factors in a product.
_MAX_FACTORS: Final = 8


def make_lattice(kind: str, spec: str = "") -> Lattice[Any]:
    """Returns the lattice of this kind that `spec` describes. Raises `LatticeError` if `kind` or `spec` is invalid."""
    if kind not in KINDS:
        raise LatticeError(f"unknown kind of lattice '{shortened(kind)}': choose from {', '.join(KINDS)}")
    return KINDS[kind][1](spec)


def _range(text: str) -> list[int]:
    """Returns the two ends of a range like `0..9`, or [] if `text` is blank. Raises `LatticeError` for other texts."""
    match = re.fullmatch(r"\s*(?:(-?[0-9]{1,9})\s*\.\.\s*(-?[0-9]{1,9})\s*)?", text)
    if match is None:
        raise LatticeError(f"'{shortened(text)}' is not a range: write two ends, like 0..9, or nothing for all numbers")
    return [int(end) for end in match.groups() if end is not None]


def _product(spec: str) -> Product:
    factors = re.split(r"(?<!\s)\s+x\s+", spec.strip()) if spec.strip() else []
    if not 1 <= len(factors) <= _MAX_FACTORS:
        raise LatticeError(f"a product must have 1 to {_MAX_FACTORS} factors, like 0..1 x sets a b")
    made: list[Lattice[Any]] = []
    for factor in factors:
        kind, _, rest = factor.partition(" ")
        if kind in ("product", "order"):
            raise LatticeError(f"a product cannot have a factor of the kind '{kind}'")
        made.append(make_lattice(kind, rest) if kind in KINDS else Chain(*_range(factor)))
    return Product(made)


def _fixed(make: Callable[[], Lattice[Any]]) -> Callable[[str], Lattice[Any]]:
    def build(spec: str) -> Lattice[Any]:
        if spec.strip():
            raise LatticeError(f"this lattice takes no description (got '{shortened(spec)}')")
        return make()

    return build


#: For each kind of lattice: the form and meaning of its description, and the function that makes the lattice.
KINDS: Final[dict[str, tuple[str, Callable[[str], Lattice[Any]]]]] = {
    "chain": ("numbers: a range like 0..9, or nothing for all numbers", lambda spec: Chain(*_range(spec))),
    "sets": (
        "sets: the names to choose from, like a b c; values look like {a,c}",
        lambda spec: Sets(spec.replace(",", " ").split()),
    ),
    "product": ("several lattices at once: factors like 0..1 x 0..1; values look like (1,0)", _product),
    "intervals": (
        "intervals: a range for the ends, like 0..9, or nothing for all numbers; values look like 3..5",
        lambda spec: Intervals(*_range(spec)),
    ),
    "order": ("any finite lattice, defined by an order like 0 < a, b < 1", read_order),
    "M3": ("the diamond 0 < a, b, c < 1: not distributive", _fixed(diamond)),
    "N5": ("the pentagon 0 < a < b < 1 and 0 < c < 1: not distributive", _fixed(pentagon)),
}
