"""The document of a search of a tree: everything the page needs to replay it, as one JSON object.

    format, version, kind   "secateur trace", 1, "tree"
    title                   the title of the tree
    algorithm, algorithm_name   key and name, see `search.theory.algorithms`
    lattice                 {"kind", "spec"}, null for numbers
    tree                    columns, a row for each node in preorder: "parent" (-1 at the root), "leaf" (text of a
                            leaf's value, null at inner nodes), "label"; "mover", who moves first: "max" or "min";
                            with the learned order also the column "prior", the percentage that a policy gives to the
                            move that leads to the node (null: none)
    order, order_name       all nodes in the order of an unpruned search (null: preorder); that order's name
    events                  columns, a row for each event: "kind" and "reason" are indices into "kinds" and "reasons",
                            "node", "other": nodes; "alpha", "beta", "value": indices into "texts"; -1 means none
    kinds, sentences        the kinds of events, and an object with a sentence for each kind
    reasons                 [{"key", "text"}]; the first is empty and stands for no reason
    texts                   values and bounds as text, from MAX's view
    result                  {"value": text, "line": nodes of the principal variation}
    code                    "view", "functions", "spans", "places": see `search.explorer.listing`
    statistics              "visited", "evaluated", "pruned", "cuts", "table_hits"; "nodes" and "leaves" of the tree,
                            which are also "minimax_visited" and "minimax_evaluated"; "minimal_leaves", the fewest
                            leaves proving the value (-1: unknown); "plain": the leaves that alpha-beta
                            values, or null if the algorithm is not worse;
                            "uniform": {"branching", "depth", "bound"} or null
    request                 the request for this search, which can be sent again; null if unknown

Columns of small numbers keep a document small: 100,000 events take about 2 MB.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from search.explorer.chess_document import FORMAT, VERSION, Document
from search.explorer.listing import listing
from search.theory.algorithms import Run
from search.theory.events import KINDS, REASONS
from search.theory.orders import visiting_order

_KINDS: Final = list(KINDS)
_REASONS: Final = ["", *REASONS]

#: The sentence for each kind of event. A visit with a window has the separate sentence "enter-window".
SENTENCES: Final = dict(KINDS) | {"enter-window": "Visit {node} with the window {alpha} to {beta}."}


def build_document(
    run: Run,
    *,
    title: str,
    lattice: dict[str, str] | None = None,
    order_name: str = "",
    request: dict[str, Any] | None = None,
    priors: Sequence[float | None] | None = None,
) -> Document:
    """Returns the document of a run. `lattice` is the requested {"kind", "spec"}, or None for numbers."""
    tree = run.tree
    order = visiting_order(tree, run.children)
    texts: list[str] = []
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
        }
        | ({} if priors is None else {"prior": [prior and round(100 * prior, 1) for prior in priors]}),
        "order": None if order == list(range(len(tree))) else order,
        "order_name": order_name,
        "events": _columns(run, texts),
        "kinds": _KINDS,
        "sentences": SENTENCES,
        "reasons": [{"key": key, "text": REASONS.get(key, "")} for key in _REASONS],
        "texts": texts,
        "result": {"value": run.lattice.format(run.value), "line": list(run.line)},
        "code": listing(run),
        "statistics": _statistics(run),
        "request": request,
    }


def _columns(run: Run, texts: list[str]) -> dict[str, list[int]]:
    """Returns the events of a run as columns. Adds each distinct text of a bound or value to `texts` once."""
    events = run.events
    kinds = {kind: code for code, kind in enumerate(_KINDS)}
    reasons = {key: code for code, key in enumerate(_REASONS)}
    of_text: dict[str, int] = {}
    of_value: dict[Any, int] = {None: -1}

    def text_code(text: str) -> int:
        code = of_text.setdefault(text, len(texts))
        if code == len(texts):
            texts.append(text)
        return code

    def value_code(value: Any) -> int:
        # Formatting an element of a lattice is slow, so each one is formatted once.
        if value not in of_value:
            of_value[value] = text_code(run.lattice.format(value))
        return of_value[value]

    return {
        "kind": [kinds[event.kind] for event in events],
        "node": [event.node for event in events],
        "alpha": [value_code(event.alpha) for event in events],
        "beta": [value_code(event.beta) for event in events],
        "value": [
            # The value of an iteration is a number of plies, even in a lattice.
            text_code(str(event.value)) if event.kind == "iteration" else value_code(event.value)
            for event in events
        ],
        "reason": [reasons[event.reason] for event in events],
        "other": [event.other for event in events],
    }


def _statistics(run: Run) -> dict[str, Any]:
    counts = run.statistics
    names = ("visited", "evaluated", "pruned", "cuts", "table_hits", "nodes", "leaves")
    return {name: getattr(counts, name) for name in names} | {
        "minimax_visited": counts.nodes,
        "minimax_evaluated": counts.leaves,
        "plain": counts.plain,
        "minimal_leaves": -1 if counts.fewest_leaves is None else counts.fewest_leaves,
        "uniform": counts.uniform and dict(zip(("branching", "depth", "bound"), counts.uniform, strict=True)),
    }
