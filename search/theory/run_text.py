"""A run as text on its tree: each node's window and value, and the cuts."""

from __future__ import annotations

from search.theory.algorithms import Run
from search.theory.tree_text import write_indented


def run_as_text(run: Run) -> str:
    """The tree as indented text, in the format that `read_tree` takes.

    The window is that of the latest visit, and v= its value. `(cut after 2 of 3: alpha-deep)` says that the last of
    three children was skipped, and why; `(pruned)` says that a node was never visited.
    """
    show = run.lattice.format
    remarks = dict.fromkeys(range(len(run.tree)), "(pruned)")
    window: dict[int, str] = {}
    cut: dict[int, str] = {}
    done: dict[int, int] = {}
    for event in run.events:
        node = event.node
        if event.kind == "enter":
            done[node] = 0
            cut[node] = ""
            window[node] = "" if event.alpha is None else f"a={show(event.alpha)} b={show(event.beta)} "
        elif event.kind in ("update", "keep"):
            done[node] += 1
        elif event.kind == "cut":
            cut[node] = f" (cut after {done[node]} of {len(run.tree.children[node])}: {event.reason})"
        elif event.kind == "leave":
            remarks[node] = f"{window[node]}v={show(event.value)}{cut[node]}"
    return write_indented(run.tree, remarks)
