"""Lattices by name: the kinds that a user can choose."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from search.theory.finite_lattice import diamond, pentagon, read_order
from search.theory.lattices import Chain, Intervals, Lattice, LatticeError, Product, Sets
from search.theory.trees import shortened

#: The most factors of a product.
_MAX_FACTORS: Final = 8


def make_lattice(kind: str, spec: str = "") -> Lattice[Any]:
    """The lattice of this kind (a key of `KINDS`) with this description. Raises `LatticeError`."""
    if kind not in KINDS:
        raise LatticeError(f"there is no kind of lattice '{shortened(kind)}': choose from {', '.join(KINDS)}")
    return KINDS[kind][1](spec)


def _range(text: str) -> list[int]:
    """The two ends of `0..9`; nothing for an empty text."""
    match = re.fullmatch(r"\s*(?:(-?[0-9]{1,9})\s*\.\.\s*(-?[0-9]{1,9})\s*)?", text)
    if match is None:
        raise LatticeError(f"'{shortened(text)}' is no range: write its ends, like 0..9, or nothing for all numbers")
    return [int(end) for end in match.groups() if end is not None]


def _product(spec: str) -> Product:
    factors = re.split(r"(?<!\s)\s+x\s+", spec.strip()) if spec.strip() else []
    if not 1 <= len(factors) <= _MAX_FACTORS:
        raise LatticeError(f"a product has 1 to {_MAX_FACTORS} factors, like 0..1 x sets a b")
    made: list[Lattice[Any]] = []
    for factor in factors:
        kind, _, rest = factor.partition(" ")
        if kind in ("product", "order"):
            raise LatticeError(f"a factor of a product cannot be of the kind '{kind}'")
        made.append(make_lattice(kind, rest) if kind in KINDS else Chain(*_range(factor)))
    return Product(made)


def _fixed(make: Callable[[], Lattice[Any]]) -> Callable[[str], Lattice[Any]]:
    def build(spec: str) -> Lattice[Any]:
        if spec.strip():
            raise LatticeError(f"this lattice needs no description, not '{shortened(spec)}'")
        return make()

    return build


#: Every kind: the form and meaning of its description, and the function that makes it.
KINDS: Final[dict[str, tuple[str, Callable[[str], Lattice[Any]]]]] = {
    "chain": ("numbers: nothing, or their range like 0..9", lambda spec: Chain(*_range(spec))),
    "sets": (
        "sets: the names to choose from, like a b c; values like {a,c}",
        lambda spec: Sets(spec.replace(",", " ").split()),
    ),
    "product": ("several at once: factors like 0..1 x 0..1; values like (1,0)", _product),
    "intervals": (
        "intervals: nothing, or the range of their ends like 0..9; values like 3..5",
        lambda spec: Intervals(*_range(spec)),
    ),
    "order": ("any finite lattice by its order, like 0 < a, b < 1", read_order),
    "M3": ("the diamond 0 < a, b, c < 1: not distributive", _fixed(diamond)),
    "N5": ("the pentagon 0 < a < b < 1 and 0 < c < 1: not distributive", _fixed(pentagon)),
}
