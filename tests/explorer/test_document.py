"""The document holds exactly what the search did."""

from __future__ import annotations

import json

import pytest

from search.explorer.document import SENTENCES, build_document
from search.theory.algorithms import ALGORITHMS, run
from search.theory.events import Event, explain
from search.theory.generate import uniform_tree
from search.theory.lattice_text import make_lattice
from search.theory.orders import ordered_children, visiting_order
from search.theory.tree_text import read_tree

NUMBERS = [key for key, algorithm in ALGORITHMS.items() if not algorithm.in_lattice]


def events_of(document):
    """The rows of the event columns, with texts for codes."""
    columns = document["events"]
    texts = [*document["texts"], None]
    for kind, node, alpha, beta, value, reason, other in zip(
        *(columns[name] for name in ("kind", "node", "alpha", "beta", "value", "reason", "other")), strict=True
    ):
        yield (
            document["kinds"][kind],
            node,
            texts[alpha],
            texts[beta],
            texts[value],
            document["reasons"][reason]["key"],
            other,
        )


def shown(event: Event, lattice):
    def text(value):
        return None if value is None else lattice.format(value)

    value = str(event.value) if event.kind == "iteration" else text(event.value)
    return event.kind, event.node, text(event.alpha), text(event.beta), value, event.reason, event.other


@pytest.mark.parametrize("key", NUMBERS)
def test_columns_hold_every_event(key):
    done = run(uniform_tree(3, 4, "random", 7), key)
    document = json.loads(json.dumps(build_document(done, title="t")))
    assert list(events_of(document)) == [shown(event, done.lattice) for event in done.events]
    assert document["result"]["value"] == done.lattice.format(done.value)
    assert document["result"]["line"] == done.line


def test_lattice_elements_are_texts():
    done = run(read_tree("[{a} [{b} {a,b}]]"), "lattice-weak", lattice=make_lattice("sets", "a b"))
    document = build_document(done, title="t", lattice={"kind": "sets", "spec": "a b"})
    assert list(events_of(document)) == [shown(event, done.lattice) for event in done.events]
    assert all(isinstance(text, str) for text in document["texts"])
    assert document["statistics"]["minimal_leaves"] == -1


def test_the_order_is_there_when_it_is_another():
    tree = uniform_tree(2, 3, "random", 1)
    children = ordered_children(tree, "random", 5)
    assert build_document(run(tree, "minimax"), title="t")["order"] is None
    order = build_document(run(tree, "minimax", children=children), title="t")["order"]
    assert order == visiting_order(tree, children) != list(range(len(tree)))


def test_statistics_are_those_of_the_run():
    done = run(uniform_tree(3, 4, "best", 2), "alpha-beta")
    statistics = build_document(done, title="t")["statistics"]
    assert statistics["evaluated"] == statistics["minimal_leaves"] == 17
    assert statistics["uniform"] == {"branching": 3, "depth": 4, "bound": 17}
    assert statistics["minimax_evaluated"] == 81
    assert statistics["visited"] + statistics["pruned"] == statistics["nodes"] == 121


def test_sentences_are_those_of_explain():
    tree = read_tree("[[5 6] [4 9]]")

    def sentence(event: Event) -> str:
        return explain(event, tree.name, str)

    open_visit = Event("enter", 1)
    windowed = Event("enter", 1, 3, 7)
    fields = {"node": "#1", "alpha": "3", "beta": "7", "value": "", "other": ""}
    assert sentence(open_visit) == SENTENCES["enter"].format(**fields)
    assert sentence(windowed) == SENTENCES["enter-window"].format(**fields)


def test_a_hundred_thousand_events_stay_small():
    done = run(uniform_tree(3, 10, "random", 1), "alpha-beta")
    document = build_document(done, title="t")
    assert len(json.dumps(document, separators=(",", ":"))) < 60 * len(done.events) + 30 * len(done.tree)
