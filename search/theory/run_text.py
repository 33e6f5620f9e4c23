"""A run as text on its tree: each node's window and value, and the cuts."""

from __future__ import annotations

from search.theory.algorithms import Run
from search.theory.tree_text import write_dot, write_indented


def run_as_text(run: Run) -> str:
    """The tree as indented text, in the format that `read_tree` takes.

    The window is that of the latest visit, and v= its value. `(cut after 2 of 3: alpha-deep)` says that the last of
    three children was skipped, and why; `(pruned)` says that a node was never visited.
    """
    return write_indented(run.tree, _remarks(run, windows=True))


def run_as_dot(run: Run) -> str:
    """The tree for Graphviz, with values; nodes without a visit are dashed."""
    visited = run.visited()
    pruned = frozenset(range(len(run.tree))) - visited
    return write_dot(run.tree, pruned, _remarks(run, windows=False))


def _remarks(run: Run, *, windows: bool) -> dict[int, str]:
    show = run.lattice.format
    window: dict[int, str] = {}
    value: dict[int, str] = {}
    cut: dict[int, str] = {}
    done: dict[int, int] = {}
    for event in run.events:
        if event.kind == "enter":
            done[event.node] = 0
            cut.pop(event.node, None)
            if event.alpha is not None and windows:
                window[event.node] = f"a={show(event.alpha)} b={show(event.beta)} "
        elif event.kind in ("update", "keep"):
            done[event.node] += 1
        elif event.kind == "cut":
            among = len(run.tree.children[event.node])
            cut[event.node] = f" (cut after {done[event.node]} of {among}: {event.reason})"
        elif event.kind == "leave":
            value[event.node] = f"v={show(event.value)}"
    remarks = {}
    for node in range(len(run.tree)):
        if node not in value:
            remarks[node] = "(pruned)"
        elif run.tree.leaf[node] is None or windows:
            remarks[node] = window.get(node, "") + value[node] + (cut.get(node, "") if windows else "")
    return remarks
