"""The document of a tree holds exactly what the search did."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from search.explorer.document import build_document
from search.theory.algorithms import ALGORITHMS, run
from search.theory.events import Event
from search.theory.generate import uniform_tree
from search.theory.lattice_text import make_lattice
from search.theory.lattices import Lattice
from search.theory.orders import ordered_children, visiting_order
from search.theory.tree_text import read_tree

COLUMNS = ("kind", "node", "alpha", "beta", "value", "reason", "other")


def events_of(document: Any) -> Iterator[tuple[Any, ...]]:
    """The rows of the event columns, with texts for codes."""
    kinds, texts, reasons = document["kinds"], [*document["texts"], None], document["reasons"]
    for row in zip(*(document["events"][name] for name in COLUMNS), strict=True):
        kind, node, alpha, beta, value, reason, other = row
        yield kinds[kind], node, texts[alpha], texts[beta], texts[value], reasons[reason]["key"], other


def shown(event: Event, lattice: Lattice[Any]) -> tuple[Any, ...]:
    def text(value: Any) -> str | None:
        return None if value is None else lattice.format(value)

    value = str(event.value) if event.kind == "iteration" else text(event.value)
    return event.kind, event.node, text(event.alpha), text(event.beta), value, event.reason, event.other


@pytest.mark.parametrize("key", [key for key, algorithm in ALGORITHMS.items() if not algorithm.in_lattice])
def test_columns_hold_every_event(key: str) -> None:
    done = run(uniform_tree(3, 4, "random", 7), key)
    document = json.loads(json.dumps(build_document(done, title="t")))
    assert list(events_of(document)) == [shown(event, done.lattice) for event in done.events]
    assert document["result"] == {"value": done.lattice.format(done.value), "line": done.line}


def test_lattice_elements_are_texts() -> None:
    done = run(read_tree("[{a} [{b} {a,b}]]"), "lattice-weak", lattice=make_lattice("sets", "a b"))
    document = build_document(done, title="t", lattice={"kind": "sets", "spec": "a b"})
    assert list(events_of(document)) == [shown(event, done.lattice) for event in done.events]
    assert all(isinstance(text, str) for text in document["texts"])
    assert document["statistics"]["minimal_leaves"] == -1


def test_the_order_is_there_when_it_is_another() -> None:
    tree = uniform_tree(2, 3, "random", 1)
    children = ordered_children(tree, "random", 5)
    assert build_document(run(tree, "minimax"), title="t")["order"] is None
    order = build_document(run(tree, "minimax", children=children), title="t")["order"]
    assert order == visiting_order(tree, children) != list(range(len(tree)))


def test_statistics_are_those_of_the_run() -> None:
    done = run(uniform_tree(3, 4, "best", 2), "alpha-beta")
    statistics = build_document(done, title="t")["statistics"]
    assert statistics["evaluated"] == statistics["minimal_leaves"] == 17
    assert statistics["uniform"] == {"branching": 3, "depth": 4, "bound": 17}
    assert statistics["minimax_evaluated"] == 81
    assert statistics["visited"] + statistics["pruned"] == statistics["nodes"] == 121


def test_events_take_little_room() -> None:
    done = run(uniform_tree(3, 7, "random", 1), "alpha-beta")
    document = build_document(done, title="t")
    assert len(json.dumps(document, separators=(",", ":"))) < 60 * len(done.events) + 30 * len(done.tree) + 10_000
