"""The document of a search of a tree: everything the page needs to replay it, as one JSON object.

    format, version, kind   "secateur trace", 1, "tree"
    title                   what the tree is
    algorithm, algorithm_name   key and name of `search.theory.algorithms`
    lattice                 {"kind", "spec"}, null for numbers
    tree                    columns, a row a node in preorder: "parent" (-1 at the root), "leaf" (text of a leaf's
                            value, null at inner nodes), "label"; and "mover", "max" or "min": who moves at the root
    order, order_name       all nodes in the order of visiting if nothing were cut, null for the tree's own; its name
    events                  columns, a row an event: "kind" and "reason" are indices of "kinds" and "reasons"; "node"
                            and "other" nodes, -1 for none; "alpha", "beta", "value" indices of "texts", -1 for none
    kinds, sentences        the kinds of events, and a sentence for each
    reasons                 [{"key", "text"}], the first of which is no reason
    texts                   values and bounds as they are shown, from MAX's view
    result                  {"value": text, "line": nodes of the principal variation}
    statistics              "visited", "evaluated", "pruned", "cuts", "table_hits"; "nodes" and "leaves" of the tree,
                            which are also "minimax_visited" and "minimax_evaluated"; "minimal_leaves", the fewest that
                            any search needs (-1 where nobody knows); "uniform": {"branching", "depth", "bound"} or null
    request                 what the search was asked for with, to be asked again; null if nobody knows

Columns of small numbers keep 100,000 events at about 2 MB, which a browser reads in a blink.
"""

from __future__ import annotations

from typing import Any, Final

from search.theory.algorithms import Run
from search.theory.events import KINDS, REASONS
from search.theory.orders import visiting_order

FORMAT: Final = "secateur trace"
VERSION: Final = 1

#: JSON objects have no better type than this one.
Document = dict[str, Any]

_KIND_NAMES: Final = tuple(KINDS)
_KIND_CODES: Final = {kind: code for code, kind in enumerate(_KIND_NAMES)}
_REASON_CODES: Final = {"": 0} | {key: code for code, key in enumerate(REASONS, start=1)}

#: What an event of each kind says; of a visit with a window, that window too.
SENTENCES: Final = dict(KINDS) | {"enter-window": "Visit {node} with the window {alpha} to {beta}."}


def build_document(
    run: Run,
    *,
    title: str,
    lattice: dict[str, str] | None = None,
    order_name: str = "",
    request: dict[str, Any] | None = None,
) -> Document:
    """The document of a run; `lattice` is what was asked for, None for numbers."""
    texts = _Texts(run)
    tree = run.tree
    order = visiting_order(tree, run.children)
    return {
        "format": FORMAT,
        "version": VERSION,
        "kind": "tree",
        "title": title,
        "algorithm": run.algorithm.key,
        "algorithm_name": run.algorithm.name,
        "lattice": lattice,
        "tree": {
            "parent": list(tree.parent),
            "mover": "max" if tree.root_is_max else "min",
            "leaf": list(tree.leaf),
            "label": list(tree.label),
        },
        "order": None if order == list(range(len(tree))) else order,
        "order_name": order_name,
        "events": _columns(run, texts),
        "kinds": list(_KIND_NAMES),
        "sentences": SENTENCES,
        "reasons": [{"key": "", "text": ""}, *({"key": key, "text": text} for key, text in REASONS.items())],
        "texts": texts.all,
        "result": {"value": run.lattice.format(run.value), "line": list(run.line)},
        "statistics": _statistics(run),
        "request": request,
    }


class _Texts:
    """Values as indices of their texts, each text once."""

    def __init__(self, run: Run) -> None:
        self.all: list[str] = []
        self._format = run.lattice.format
        self._codes: dict[Any, int] = {}
        self._by_text: dict[str, int] = {}

    def code(self, value: Any) -> int:
        """-1 for None."""
        if value is None:
            return -1
        code = self._codes.get(value)
        if code is None:
            code = self._codes[value] = self.code_of_text(self._format(value))
        return code

    def code_of_text(self, text: str) -> int:
        code = self._by_text.setdefault(text, len(self.all))
        if code == len(self.all):
            self.all.append(text)
        return code


def _columns(run: Run, texts: _Texts) -> dict[str, list[int]]:
    events = run.events
    return {
        "kind": [_KIND_CODES[event.kind] for event in events],
        "node": [event.node for event in events],
        "alpha": [texts.code(event.alpha) for event in events],
        "beta": [texts.code(event.beta) for event in events],
        "value": [
            # An iteration's value is a number of plies, whatever the others are.
            texts.code_of_text(str(event.value)) if event.kind == "iteration" else texts.code(event.value)
            for event in events
        ],
        "reason": [_REASON_CODES[event.reason] for event in events],
        "other": [event.other for event in events],
    }


def _statistics(run: Run) -> dict[str, Any]:
    counts = run.statistics
    uniform = None
    if counts.uniform is not None:
        branching, depth, bound = counts.uniform
        uniform = {"branching": branching, "depth": depth, "bound": bound}
    return {
        "visited": counts.visited,
        "evaluated": counts.evaluated,
        "pruned": counts.pruned,
        "cuts": counts.cuts,
        "table_hits": counts.table_hits,
        "nodes": counts.nodes,
        "leaves": counts.leaves,
        "minimax_visited": counts.nodes,
        "minimax_evaluated": counts.leaves,
        "minimal_leaves": -1 if counts.fewest_leaves is None else counts.fewest_leaves,
        "uniform": uniform,
    }
