"""The listing of a search names the lines that each event comes from."""

from __future__ import annotations

from typing import Any

import pytest

from search.explorer import service
from search.theory.algorithms import ALGORITHMS

#: How the marked lines of each kind of event begin, whatever the algorithm.
BEGINNINGS = {
    "enter": ("def ",),
    "cut": ("if best >= beta:", "if best <= alpha:", "if certain >= beta:", "if rule("),
    "leave": ("return ",),
    "leaf": ("best = ", "certain = ", "node.value = "),
    "update": ("best = ", "certain = ", "node.value = ", "if best is None or value "),
    "keep": ("best = ", "certain = ", "node.value = ", "if best is None or value "),
    "window": ("value = -", "alpha = ", "beta = "),
    "iteration": ("for now in ",),
    "table": ("if entry",),
}


def search(key: str) -> dict[str, Any]:
    lattice = ALGORITHMS[key].in_lattice
    example = service.example({"key": "worlds" if lattice else "uniform"})
    return service.trace({"text": example["text"], "algorithm": key, "lattice": example["lattice"]})


@pytest.mark.parametrize("key", ALGORITHMS)
def test_every_event_comes_from_a_line_that_explains_it(key: str) -> None:
    document = search(key)
    code, events = document["code"], document["events"]
    assert len(code["places"]) == len(events["kind"])
    for kind_code, place in zip(events["kind"], code["places"], strict=True):
        index, first, last = code["spans"][place]
        marked = code["functions"][index]["lines"][first : last + 1]
        assert marked
        kind = document["kinds"][kind_code]
        assert marked[0].strip().startswith(BEGINNINGS[kind]), (kind, marked)
        if kind == "keep" and marked[0].strip().startswith("if "):
            assert len(marked) == 1


@pytest.mark.parametrize("key", ALGORITHMS)
def test_the_code_is_what_runs_without_the_watcher(key: str) -> None:
    for function in search(key)["code"]["functions"]:
        text = "\n".join(function["lines"])
        assert "watch" not in text
        assert '"""' not in text
        compile(text, function["file"], "exec")


def test_the_rule_of_a_lattice_is_listed() -> None:
    functions = search("lattice-weak")["code"]["functions"]
    assert [function["lines"][0] for function in functions] == ["def search(number):", "def weak(lattice, path):"]
