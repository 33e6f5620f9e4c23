"""Lattices keep the laws, write what they read, and say what is wrong with a text."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.theory.finite_lattice import FiniteLattice, diamond, pentagon
from search.theory.games import INFINITE
from search.theory.lattice_text import KINDS, make_lattice
from search.theory.lattices import Chain, Lattice, LatticeError, Product, violating_triple
from tests.theory.trees_at_random import DISTRIBUTIVE, elements

ALL: dict[str, Lattice[Any]] = DISTRIBUTIVE | {
    "M3": diamond(),
    "N5": pentagon(),
    "part M3": Product([Chain(0, 1), diamond()]),
}


@pytest.mark.parametrize("name", ALL)
def test_meet_and_join_are_greatest_and_least_bounds(name: str) -> None:
    lattice, some = ALL[name], elements(ALL[name])
    assert all(lattice.is_below(lattice.bottom, a) and lattice.is_below(a, lattice.top) for a in some)
    for a, b in product(some, repeat=2):
        low, high = lattice.meet(a, b), lattice.join(a, b)
        assert all(lattice.is_below(low, x) and lattice.is_below(x, high) for x in (a, b))
        for x in some:
            assert lattice.is_below(x, low) == (lattice.is_below(x, a) and lattice.is_below(x, b))
            assert lattice.is_below(high, x) == (lattice.is_below(a, x) and lattice.is_below(b, x))
        assert (lattice.is_below(a, b) and lattice.is_below(b, a)) == (a == b)


@pytest.mark.parametrize("name", ALL)
def test_what_is_written_can_be_read(name: str) -> None:
    lattice = ALL[name]
    texts = [lattice.format(element) for element in [*elements(lattice), lattice.bottom, lattice.top]]
    assert [lattice.parse(text) for text in texts] == [*elements(lattice), lattice.bottom, lattice.top]
    assert not any(character.isspace() for text in texts for character in text)


@pytest.mark.parametrize("name", ALL)
def test_the_claim_to_be_distributive_is_true(name: str) -> None:
    lattice = ALL[name]
    assert (violating_triple(lattice, elements(lattice)) is None) == (name in DISTRIBUTIVE)
    triple = lattice.violation()
    assert (triple is None) == (name in DISTRIBUTIVE)
    if triple is not None:
        a, b, c = triple
        assert lattice.meet(a, lattice.join(b, c)) != lattice.join(lattice.meet(a, b), lattice.meet(a, c))


def test_the_order_of_intervals_by_inclusion_is_another_matter() -> None:
    order = "0 < 11, 22, 33; 11 < 12; 22 < 12, 23; 33 < 23; 12, 23 < 13"
    assert make_lattice("order", order).violation() is not None


@pytest.mark.parametrize(
    ("kind", "spec", "text", "value"),
    [
        ("chain", "", "-17", -17),
        ("chain", "", "+inf", INFINITE),
        ("chain", "-3..9", "9", 9),
        ("sets", "a b c", "{c, a}", frozenset("ac")),
        ("sets", "rain,sun", "{}", frozenset()),
        ("product", "0..1 x chain x sets a b", "(1,-7,{a,b})", (1, -7, frozenset("ab"))),
        ("product", "0..9 x N5", "( 4 , b )", (4, "b")),
        ("intervals", "", "3..5", (3, 5)),
        ("intervals", "0..9", "4", (4, 4)),
        ("order", "0 < a, b < 1", "a", "a"),
        ("M3", "", "c", "c"),
        ("N5", "", "0", "0"),
    ],
)
def test_lattices_by_name(kind: str, spec: str, text: str, value: Any) -> None:
    assert make_lattice(kind, spec).parse(text) == value
    assert kind in KINDS


@pytest.mark.parametrize(
    ("kind", "spec", "message"),
    [
        ("heap", "", "unknown kind of lattice 'heap'"),
        ("chain", "9..0", "a chain from 9 to 0 has no elements"),
        ("chain", "many", "'many' is not a range"),
        ("sets", "", "1 to 64 names"),
        ("sets", "a b a", "duplicate name 'a'"),
        ("sets", "a {b}", r"'\{b\}' is not a valid name"),
        ("product", "", "1 to 8 factors"),
        ("product", "0..1 x product 0..1", "cannot have a factor of the kind 'product'"),
        ("intervals", "1-2", "'1-2' is not a range"),
        ("M3", "a", "takes no description"),
        ("order", "", "line 1, column 1: expected an order"),
        ("order", "0 < a\na < < 1", "line 2, column 5: an element name is missing"),
        ("order", "0 < a{ < 1", "line 1, column 5: 'a{' is not a valid element name"),
        ("order", "a < b; b < c; c < a", "a < b contradicts b < a"),
        ("order", "a < a", "a < a: an element cannot be below itself"),
        ("order", "a; b", "a and b have no upper bound"),
        ("order", "0 < a, b; a, b < c, d; c, d < 1", r"a and b have no least upper bound \(c and d"),
        ("order", "a, b < 1", "a and b have no lower bound"),
        ("order", " ".join(f"x{i}" for i in range(65)), "1 to 64 elements"),
    ],
)
def test_descriptions_that_are_refused(kind: str, spec: str, message: str) -> None:
    with pytest.raises(LatticeError, match=message):
        make_lattice(kind, spec)


@pytest.mark.parametrize(
    ("kind", "spec", "text", "message"),
    [
        ("chain", "", "x", "'x' is not a number"),
        ("chain", "0..9", "10", r"10 is outside the range 0\.\.9"),
        ("chain", "", "1000000001", r"1000000001 is outside the range -1000000000\.\.1000000000"),
        ("sets", "a b", "a", r"'a' is not a set: write names in braces, like \{a,b\}"),
        ("sets", "a b", "{c}", "'c' is not one of a, b"),
        ("product", "0..1 x 0..1", "(1)", r"write 2 values in parentheses, like \(0,0\)"),
        ("product", "0..1 x 0..1", "1,0", "write 2 values"),
        ("intervals", "", "5..3", "the lower bound must come first"),
        ("intervals", "", "1..2..3", "write its bounds"),
        ("N5", "", "d", "'d' is not one of 0, a, b, 1, c"),
    ],
)
def test_elements_that_are_refused(kind: str, spec: str, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_lattice(kind, spec).parse(text)


@given(st.sets(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=12))
def test_an_order_is_taken_exactly_if_it_is_a_bounded_lattice(pairs: set[tuple[int, int]]) -> None:
    """Bottom 0 and top 7 are added, so that lattices are not too rare."""
    names = "01234567"
    relations = {(names[low + 1], names[high + 1]) for low, high in pairs if low < high}
    relations |= {("0", name) for name in names[1:]} | {(name, "7") for name in names[:-1]}
    if not all_pairs_have_bounds(names, relations):
        with pytest.raises(LatticeError, match="not a lattice"):
            FiniteLattice(names, sorted(relations))
    else:
        lattice = FiniteLattice(names, sorted(relations))
        assert all(lattice.join(low, high) == high and lattice.meet(low, high) == low for low, high in relations)


def all_pairs_have_bounds(names: str, relations: set[tuple[str, str]]) -> bool:
    below = {(name, name) for name in names} | relations
    for middle, low, high in product(names, repeat=3):
        if (low, middle) in below and (middle, high) in below:
            below.add((low, high))
    for a, b in combinations(names, 2):
        upper = [x for x in names if (a, x) in below and (b, x) in below]
        lower = [x for x in names if (x, a) in below and (x, b) in below]
        if not any(all((x, y) in below for y in upper) for x in upper):
            return False
        if not any(all((y, x) in below for y in lower) for x in lower):
            return False
    return True
