"""The text report of a recorded chess search: its iterations, its tree, and how much each reason pruned."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Final

from search.explorer.chess_document import Document, decoded, score_text, skips

#: The maximum number of moves of a PV that the table of iterations shows.
_LINE_MOVES: Final = 8


def report(document: Document, plies: int = 2, lines: int = 200) -> Iterator[str]:
    """Yields the lines of a report: position and result, iterations, tree, and how much each reason pruned.

    The tree is that of the last recorded iteration, to `plies` plies below the root, with at most `lines` visits.
    """
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
    given = [f"{name} {limits[name]}" for name in ("depth", "nodes") if limits[name] is not None]
    result = document["result"]
    yield f"{document['engine']}, {document['evaluation']} evaluation, {', '.join(given)}"
    if document["without"]:
        yield f"switched off: {', '.join(document['without'])}"
    yield f"position  {document['position']}"
    yield (
        f"result    {result['move']} {result['score']} at depth {result['depth']}: {result['nodes']:,} nodes, "
        f"{result['visits']:,} visits (including repeated searches of a position)"
    )
    if document["truncated"]:
        left = document["left_out"]
        yield (
            f"TRUNCATED: the recording is full; {left['visits']:,} more visits and {left['pruned']:,} more skipped "
            "moves were counted but not recorded"
        )


def _iterations(document: Document) -> Iterator[str]:
    growth = {row["depth"]: row for row in document["statistics"]["iterations"]}
    yield f"{'depth':>5} {'score':>7} {'nodes':>12} {'branching':>10} {'growth':>7}  line"
    for iteration in document["iterations"]:
        row = growth.get(iteration["depth"], {}) if iteration["complete"] else {}
        branching, grown = (f"{row[name]:.2f}" if row.get(name) else "" for name in ("branching", "growth"))
        line = " ".join(iteration["line"][:_LINE_MOVES]) if iteration["complete"] else "(stopped)"
        score = iteration["score"]
        yield f"{iteration['depth']:>5} {score:>7} {iteration['nodes']:>12,} {branching:>10} {grown:>7}  {line}"


def _tree(document: Document, plies: int, lines: int) -> Iterator[str]:
    """Yields the tree of the last iteration that has rows, one line for each visit."""
    recorded = [iteration for iteration in document["iterations"] if iteration["first_node"] >= 0]
    if not recorded:
        return
    nodes, scores = decoded(document), document["scores"]
    children: dict[int, list[int]] = defaultdict(list)
    for row, parent in enumerate(nodes["parent"]):
        children[parent].append(row)
    skipped: dict[int, Counter[str]] = defaultdict(Counter)
    for row, _, reason in skips(document):
        skipped[row][reason] += 1

    def describe(row: int) -> str:
        """Returns the line for a visit: move, type, depth, window, value, reason for the end, skipped moves, size."""
        code, search = nodes["move"][row], nodes["search"][row]
        name = document["moves"][code] if code >= 0 else f"({search})"
        if code >= 0 and search not in ("move", "null"):
            name += f" ({search})"
        depth = "quiescence" if nodes["quiescence"][row] else f"d={nodes['depth'][row]}"
        if nodes["reduction"][row]:
            depth += f"-{nodes['reduction'][row]}"
        if nodes["extension"][row]:
            depth += f"{nodes['extension'][row]:+d}"
        alpha, beta, value = (score_text(nodes[name][row], scores) for name in ("alpha", "beta", "value"))
        end = nodes["end"][row]
        if end == "cutoff":
            end = f"cutoff by move {nodes['cutter'][row]}"
        if skipped[row]:
            end += ", skipped: " + ", ".join(f"{count} {key}" for key, count in skipped[row].most_common())
        size = nodes["size"][row]
        return f"{name:<6} {nodes['type'][row]:<3} {depth} [{alpha}, {beta}] = {value}  {end}; {size:,} visits"

    first, last = recorded[-1]["first_node"], recorded[-1]["last_node"]
    yield f"tree of depth {recorded[-1]['depth']}, scores from the view of the side to move at each node"
    # A stack of rows and their levels of indentation; the top of the stack is printed next.
    waiting = [(row, 0) for row in reversed(children[-1]) if first <= row <= last]
    for _ in range(lines):
        if not waiting:
            return
        row, level = waiting.pop()
        yield "  " * level + describe(row)
        if nodes["ply"][row] < plies:
            waiting += [(child, level + 1) for child in reversed(children[row])]
    if waiting:
        yield f"... and at least {len(waiting)} more lines"


def _summary(document: Document) -> Iterator[str]:
    """Yields a table of the reasons: nodes ended, moves skipped, visits saved, and the counts of "costs" if present."""
    texts = {row["key"]: row["text"] for row in document["reasons"]}
    costs = document.get("costs")
    counted = {}
    if costs:
        for row in costs["without"]:
            counted[row["reason"]] = f"{row['nodes']:,} (x{row['nodes'] / costs['nodes']:.2f})"
    head = f"{'nodes without it':>20}  " if costs else ""
    yield f"{'reason':<20} {'nodes ended':>11} {'moves left out':>14} {'saved (estimate)':>16}  {head}meaning"
    for row in document["statistics"]["reasons"]:
        key = row["key"]
        cell = f"{counted.get(key, ''):>20}  " if costs else ""
        # A count is better than an estimate.
        saved = "" if key in counted else f"{row['saved']:,}"
        yield f"{key:<20} {row['ended']:>11,} {row['skipped']:>14,} {saved:>16}  {cell}{texts[key]}"
    if costs:
        yield (
            f"nodes without it: nodes of a search to depth {costs['depth']} with the technique switched off; "
            f"the unchanged search takes {costs['nodes']:,}"
        )


def _measures(document: Document) -> Iterator[str]:
    measures = document["statistics"]
    for name, where in (("first_move", "main search"), ("quiescence_first_move", "quiescence")):
        row = measures[name]
        if row["nodes"]:
            yield f"first move best   {row['share']:.1%} of the {row['nodes']:,} nodes with a known best move ({where})"
    if measures["trees"]:
        tree = measures["trees"][-1]
        yield (
            f"depth {tree['depth']}   {tree['nodes']:,} nodes searched; estimates without quiescence: "
            f"{tree['minimal']:.3g} nodes in the minimal tree, {tree['minimax']:.3g} in the full minimax tree"
        )
