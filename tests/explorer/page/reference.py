"""Trees for the tests of the page, and the state that it must show after a number of events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from search.theory.algorithms import ALGORITHMS, Run
from search.theory.events import KINDS, REASONS, Event
from search.theory.generate import uniform_tree
from search.theory.tree_text import write_list

SEVEN = "[A:[B:[5 6] C:[7 4]] D:[E:[3 2] 8]]"
THREES = "[[3 12 8] [2 4 6] [14 5 2]]"
UNIFORM = write_list(uniform_tree(3, 4, "random", 1))
#: With the same subtree several times, which a table finds again.
TWINS = "[[[1 5] [4 4]] [[1 5] [9 2]] [[3 7] [1 5]]]"

NUMBERS = [key for key, algorithm in ALGORITHMS.items() if not algorithm.in_lattice]
IN_LATTICES = [key for key, algorithm in ALGORITHMS.items() if algorithm.in_lattice]


@dataclass
class State:
    """A search after some of its events."""

    visited: int = 0
    evaluated: int = 0
    cuts: int = 0
    table_hits: int = 0
    alpha: dict[int, str] = field(default_factory=dict)
    beta: dict[int, str] = field(default_factory=dict)
    value: dict[int, str] = field(default_factory=dict)
    #: What stands before the values that are not exact, such as "at least ".
    words: dict[int, str] = field(default_factory=dict)
    #: Number of the event that began the latest visit.
    entered: dict[int, int] = field(default_factory=dict)
    done: set[int] = field(default_factory=set)
    #: Topmost nodes of skipped branches, with the nodes below that nobody had visited.
    skipped: dict[int, set[int]] = field(default_factory=dict)
    cut_nodes: set[int] = field(default_factory=set)
    current: int = -1

    @property
    def pruned(self) -> int:
        return sum(map(len, self.skipped.values()))

    def counts(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in ("visited", "evaluated", "pruned", "cuts", "table_hits")}


def state_after(run: Run, count: int) -> State:
    """The state after `count` events."""
    state, show, answered = State(), run.lattice.format, set()
    for number, event in enumerate(run.events[:count]):
        node = event.node
        state.current = node
        if event.alpha is not None:
            state.alpha[node], state.beta[node] = show(event.alpha), show(event.beta)
        if event.kind in ("leaf", "update", "keep", "leave") or (
            event.kind == "table" and event.reason != "table-move"
        ):
            state.value[node] = "" if event.value is None else show(event.value)
        if event.kind in ("leaf", "leave", "enter"):
            words = {"estimate": "about ", "lower": "at least ", "upper": "at most "}
            state.words[node] = words.get(event.reason, "")
        if event.kind == "enter":
            state.visited += 1
            state.entered[node] = number
            state.done.discard(node)
            state.value.pop(node, None)
            state.skipped.pop(node, None)
            state.cut_nodes.discard(node)
            answered.discard(node)
        elif event.kind == "leaf":
            state.evaluated += 1
            state.done.add(node)
        elif event.kind == "cut":
            state.cuts += 1
            state.words[node] = "at least " if run.tree.is_max(node) else "at most "
            skip(run, state, node)
        elif event.kind == "table" and event.reason != "table-move":
            state.table_hits += 1
            answered.add(node)
        elif event.kind == "leave":
            state.done.add(node)
            if node in answered:
                skip(run, state, node)
    return state


def skip(run: Run, state: State, node: int) -> None:
    """Skips the children that this visit has not entered, with all nodes below that are not visited or counted."""
    counted = set().union(*state.skipped.values())
    for child in run.children[node]:
        if state.entered.get(child, -1) < state.entered[node]:
            fresh = {below for below in subtree(run, child) if below not in state.entered and below not in counted}
            state.skipped[child] = state.skipped.get(child, set()) | fresh
            state.cut_nodes.add(child)
            state.done.discard(child)


def subtree(run: Run, node: int) -> list[int]:
    below = [node]
    for at in below:
        below.extend(run.tree.children[at])
    return below


def is_skipped(run: Run, state: State, node: int) -> bool:
    """Whether a node, or the nearest ancestor that the search has come to, is cut off."""
    while node >= 0:
        if node in state.cut_nodes:
            return True
        if node in state.entered:
            return False
        node = run.tree.parent[node]
    return False


def explain(event: Event, name: Callable[[int], str], show: Callable[[Any], str]) -> str:
    """Returns a description of the event in sentences; `name` and `show` convert nodes and values to text."""

    def text(value: Any) -> str:
        return "" if value is None else show(value)

    template = REASONS[event.reason] if event.reason else KINDS[event.kind]
    if event.kind == "enter" and event.alpha is not None:
        template = "Visit {node} with the window {alpha} to {beta}."
    return template.format(
        node=name(event.node),
        other=name(event.other) if event.other >= 0 else "",
        alpha=text(event.alpha),
        beta=text(event.beta),
        # An iteration's value is a number of plies, whatever the type of the other values.
        value=str(event.value) if event.kind == "iteration" else text(event.value),
    )


def sentence(run: Run, event: Event) -> str:
    def name(node: int) -> str:
        # A number alone would look like a value.
        return f"node #{node}" if node and not run.tree.label[node] else run.tree.name(node)

    text = explain(event, name, run.lattice.format).replace(". node #", ". Node #")
    if event is run.events[-1]:
        text += " The search is over: no more cuts follow."
        if len(run.line) > 1:
            text += f" {'MAX' if run.tree.root_is_max else 'MIN'} should move to {name(run.line[1])}."
    return "N" + text[1:] if text.startswith("node #") else text


def path_to(run: Run, node: int) -> list[str]:
    path = []
    while node >= 0:
        path.append(run.tree.name(node))
        node = run.tree.parent[node]
    return path[::-1]
