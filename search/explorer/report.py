"""A recorded chess search in a terminal: iterations, the tree, and what pruned it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any, Final, TextIO

from search.explorer.chess_document import Document, keys, score_text

#: Plies of the tree and lines of it that are printed unless told otherwise.
DEFAULT_PLIES: Final = 2
DEFAULT_LINES: Final = 200

#: Moves of a line that fit beside the other numbers of an iteration.
_LINE_MOVES: Final = 8


def print_text(document: Document, out: TextIO, plies: int = DEFAULT_PLIES, lines: int = DEFAULT_LINES) -> None:
    """Prints a recording: what was searched, its iterations, its tree to `plies`, and what ended and skipped there.

    The tree is that of the last iteration, of `lines` lines at most.
    """
    for line in text_lines(document, plies, lines):
        print(line, file=out)


def text_lines(document: Document, plies: int = DEFAULT_PLIES, lines: int = DEFAULT_LINES) -> Iterator[str]:
    """The lines of `print_text`."""
    yield from _heading(document)
    yield ""
    yield from _iterations(document)
    yield ""
    yield from _tree(document, plies, lines)
    yield ""
    yield from _summary(document)
    yield ""
    yield from _measures(document)


def _heading(document: Document) -> Iterator[str]:
    limits = document["limits"]
    given = [f"{name} {limits[name]}" for name in ("depth", "nodes", "milliseconds") if limits.get(name) is not None]
    result = document["result"]
    yield f"{document['engine']}, {document['evaluation']} evaluation, {', '.join(given)}"
    if document["without"]:
        yield f"switched off: {', '.join(document['without'])}"
    yield f"position  {document['position']}"
    yield (
        f"result    {result['move']} {result['score']} at depth {result['depth']}: {result['nodes']:,} nodes, "
        f"{result['visits']:,} visits with those that search a position again"
    )
    if document["truncated"]:
        left = document["left_out"]
        yield (
            f"TRUNCATED: the recording is full, {left['visits']:,} visits and {left['pruned']:,} skipped moves are "
            "counted but not held"
        )


def _iterations(document: Document) -> Iterator[str]:
    growth = {row["depth"]: row for row in document["statistics"]["iterations"]}
    yield f"{'depth':>5} {'score':>7} {'nodes':>12} {'branching':>10} {'growth':>7}  line"
    for iteration in document["iterations"]:
        row = growth.get(iteration["depth"]) if iteration["complete"] else None
        branching = "" if row is None or row["branching"] is None else f"{row['branching']:.2f}"
        grown = "" if row is None or row["growth"] is None else f"{row['growth']:.2f}"
        line = " ".join(iteration["line"][:_LINE_MOVES]) if iteration["complete"] else "(stopped)"
        score = iteration["score"]
        yield f"{iteration['depth']:>5} {score:>7} {iteration['nodes']:>12,} {branching:>10} {grown:>7}  {line}"


# --------------------------------------------------------------------------------------------------------------
# The tree
# --------------------------------------------------------------------------------------------------------------


class _Tree:
    """The rows of a document with children and skipped moves at hand."""

    def __init__(self, document: Document) -> None:
        self.nodes = document["nodes"]
        self.moves: list[str] = document["moves"]
        self.scores: dict[str, int] = document["scores"]
        self.reasons = keys(document["reasons"])
        self.searches = keys(document["searches"])
        self.types = keys(document["types"])
        self.children: dict[int, list[int]] = defaultdict(list)
        for row, parent in enumerate(self.nodes["parent"]):
            self.children[parent].append(row)
        self.skipped: dict[int, Counter[str]] = defaultdict(Counter)
        pruned = document["pruned"]
        for node, reason in zip(pruned["node"], pruned["reason"], strict=True):
            self.skipped[node][self.reasons[reason]] += 1

    def describe(self, row: int) -> str:
        """One visit in a line: move, type, depth, window, value, how it ended, size."""
        nodes = self.nodes
        move, search = nodes["move"][row], self.searches[nodes["search"][row]]
        name = self.moves[move] if move >= 0 else f"({search})"
        if move >= 0 and search not in ("move", "null"):
            name += f" ({search})"
        depth = "quiescence" if nodes["quiescence"][row] else f"d={nodes['depth'][row]}"
        if nodes["reduction"][row]:
            depth += f"-{nodes['reduction'][row]}"
        if nodes["extension"][row]:
            depth += f"{nodes['extension'][row]:+d}"
        alpha, beta = (score_text(nodes[name][row], self.scores) for name in ("alpha", "beta"))
        value = score_text(nodes["value"][row], self.scores)
        return (
            f"{name:<6} {self.types[nodes['type'][row]]:<3} {depth} [{alpha}, {beta}] = {value}  {self.ending(row)}; "
            f"{nodes['size'][row]:,} visits"
        )

    def ending(self, row: int) -> str:
        """How a visit ended, and what it skipped."""
        reason = self.reasons[self.nodes["end"][row]]
        if reason == "cutoff":
            reason = f"cutoff by move {self.nodes['cutter'][row]}"
        skipped = ", ".join(f"{count} {key}" for key, count in self.skipped[row].most_common())
        return f"{reason}, skipped: {skipped}" if skipped else reason


def _tree(document: Document, plies: int, lines: int) -> Iterator[str]:
    """The tree of the last iteration with rows."""
    recorded = [iteration for iteration in document["iterations"] if iteration["first_node"] >= 0]
    if not recorded:
        return
    tree = _Tree(document)
    first, last = recorded[-1]["first_node"], recorded[-1]["last_node"]
    yield f"tree of depth {recorded[-1]['depth']}, scores as the side to move at each node sees them"
    # Rows and their depths of indentation, the next to be printed last.
    waiting = [(row, 0) for row in reversed(tree.children[-1]) if first <= row <= last]
    printed = 0
    while waiting:
        row, level = waiting.pop()
        if printed == lines:
            yield f"... and {len(waiting) + 1} more lines at these plies"
            return
        printed += 1
        yield "  " * level + tree.describe(row)
        if tree.nodes["ply"][row] < plies:
            waiting += [(child, level + 1) for child in reversed(tree.children[row])]


# --------------------------------------------------------------------------------------------------------------
# Summaries
# --------------------------------------------------------------------------------------------------------------


def _summary(document: Document) -> Iterator[str]:
    """What each reason ended and left out, and what that saved: estimated, and counted where that was asked for."""
    texts = {row["key"]: row["text"] for row in document["reasons"]}
    costs = document.get("costs")
    counted = (
        {row["reason"]: (row["nodes"], row["nodes"] / costs["nodes"]) for row in costs["without"]} if costs else {}
    )
    head = f"{'nodes without it':>20}  " if costs else ""
    yield f"{'reason':<20} {'nodes ended':>11} {'moves left out':>14} {'saved (estimate)':>16}  {head}meaning"
    for row in document["statistics"]["reasons"]:
        key = row["key"]
        count = "{:,} (x{:.2f})".format(*counted[key]) if key in counted else ""
        cell = f"{count:>20}  " if costs else ""
        yield f"{key:<20} {row['ended']:>11,} {row['skipped']:>14,} {row['saved']:>16,}  {cell}{texts[key]}"
    if costs:
        yield f"nodes without it: of the same search to depth {costs['depth']}, which takes {costs['nodes']:,} as it is"


def _measures(document: Document) -> Iterator[str]:
    measures = document["statistics"]
    for name, where in (("first_move", "main search"), ("quiescence_first_move", "quiescence")):
        row: dict[str, Any] = measures[name]
        if row["nodes"]:
            yield f"first move best   {row['share']:.1%} of {row['nodes']:,} nodes with a best move ({where})"
    if measures["trees"]:
        tree = measures["trees"][-1]
        yield (
            f"tree of depth {tree['depth']}   {tree['nodes']:,} nodes searched; minimal tree {tree['minimal']:.3g}, "
            f"plain minimax {tree['minimax']:.3g} (both estimated, without quiescence)"
        )
