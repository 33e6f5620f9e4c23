"""Functions that format a run: as an indented tree with windows, values and cuts, or as a drawing for Graphviz."""

from __future__ import annotations

import json

from search.theory.algorithms import Run
from search.theory.tree_text import write_indented


def run_as_text(run: Run) -> str:
    """Returns the tree of a run as indented text, in a format that `read_tree` reads.

    A node's window and value (`v=`) are those of its latest visit. `(cut after 2 of 3: alpha-deep)` says that the last
    of three children was skipped, and gives the reason; `(pruned)` says that a node was never visited.
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
        elif event.kind in ("leaf", "leave"):
            remarks[node] = f"{window[node]}v={show(event.value)}{cut[node]}"
    return write_indented(run.tree, remarks)


def run_as_dot(run: Run) -> str:
    """Returns a Graphviz drawing. Inner nodes point up (MAX) or down (MIN). Nodes that were not visited are dashed."""
    tree = run.tree
    values = {
        event.node: f"v={run.lattice.format(event.value)}" for event in run.events if event.kind in ("leaf", "leave")
    }
    lines = ["digraph tree {", "  node [fontname=sans];", "  edge [arrowhead=none];"]
    for node, leaf in enumerate(tree.leaf):
        value = leaf if leaf is not None else values.get(node, "")
        text = [part for part in (tree.label[node], value, "" if node in values else "(pruned)") if part]
        shape = "box" if leaf is not None else "triangle" if tree.is_max(node) else "invtriangle"
        style = "" if node in values else "style=dashed"
        label = json.dumps("\n".join(text), ensure_ascii=False)
        lines.append(f"  n{node} [shape={shape}, label={label}, {style}];")
        if node:
            lines.append(f"  n{tree.parent[node]} -> n{node} [{style}];")
    return "\n".join([*lines, "}"]) + "\n"
