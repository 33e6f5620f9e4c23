"""Statistics of a recorded search: the quality of its move ordering, the sizes of trees, and what its pruning saved.

The statistics are computed only from other fields of the document (see `search.explorer.chess_document`).

    first_move      how often the first move was the best, at nodes of the main search that ended with a cutoff or an
                    exact value: {"nodes": the number of these nodes, "first": the number whose first move was the
                    best, "share": first / nodes, or null if there are none}
    quiescence_first_move  the same for nodes of quiescence, but only those that ended with a cutoff
    iterations      for each complete iteration {"depth", "nodes", "branching": nodes ** (1 / depth), "growth": nodes
                    divided by the nodes of the previous complete iteration}
    trees           for each complete iteration the "nodes" searched, and the sizes of the full and the minimal tree
                    without quiescence: {"depth", "nodes", "minimax", "minimal"}
    reasons         for each reason that occurs {"key", "ended": visits, "skipped": moves, "saved": visits, estimated}
    costs           a text that says how "saved" is estimated

Plain minimax visits every node of the full tree. At ply k, there are m0 * m1 * ... * m(k-1) nodes, where mi is the mean
number of legal moves at ply i. Without selectivity and TT, a search must visit at least Knuth and Moore's minimal tree
to prove the value. At ply k, that tree has E + O - 1 nodes: E is the product of all mi with even i < k, and O that of
all mi with odd i < k ("An analysis of alpha-beta pruning", Artificial Intelligence 6, 1975, here with branching that
changes from ply to ply). The recorded search may still be smaller, because it reduces and skips moves and finds
positions in the TT.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any, Final

from search.explorer.chess_document import MOVE_SEARCHES, Document, decoded, skips

#: The reasons that end a node after moves were searched.
_THROUGH_MOVES: Final = ("cutoff", "all-moves")
#: The reasons that end a node without a full search of its moves.
_SPARED: Final = (
    "draw",
    "mate-distance",
    "table",
    "reverse-futility",
    "null-move",
    "probcut",
    "multi-cut",
    "stand-pat",
)

COSTS: Final = (
    "Estimated from this recording. A move that was skipped, or left over after a cutoff, is assumed to save as many "
    "visits as a searched move took on average at nodes of the same depth, repeated searches included. For a node "
    "that ended without searching its moves, the estimate is the average number of visits in the subtree of a node of "
    "the same depth that did search moves, minus the visits that the first node took. The most promising moves come "
    "first, and the saved searches would have pruned too, so the result is only a rough estimate."
)

#: The columns of nodes by name, with keys instead of codes (see `decoded`).
Nodes = dict[str, list[Any]]


def statistics(document: Document) -> dict[str, Any]:
    """Returns the statistics that this module's docstring describes, from the other fields of a chess document."""
    nodes = decoded(document)
    iterations = [iteration for iteration in document["iterations"] if iteration["complete"]]
    mobility = _mobility(nodes, iterations)
    return {
        "first_move": _first_moves(nodes, quiescence=0),
        "quiescence_first_move": _first_moves(nodes, quiescence=1),
        "iterations": _growth(iterations),
        "trees": [_trees(iteration, mobility) for iteration in iterations if mobility],
        "reasons": _reasons(nodes, document),
        "costs": COSTS,
    }


# --------------------------------------------------------------------------------------------------------------
# Move ordering
# --------------------------------------------------------------------------------------------------------------


def _first_moves(nodes: Nodes, quiescence: int) -> dict[str, Any]:
    """Returns the object "first_move" of the statistics, or "quiescence_first_move" if `quiescence` is 1."""
    rows = zip(nodes["cutter"], nodes["end"], nodes["quiescence"], strict=True)
    numbers = Counter(cutter for cutter, end, kind in rows if end == "cutoff" and kind == quiescence)
    if not quiescence:
        numbers.update(_numbers_of_exact_moves(nodes))
    total = sum(numbers.values())
    return {"nodes": total, "first": numbers[1], "share": round(numbers[1] / total, 4) if total else None}


def _numbers_of_exact_moves(nodes: Nodes) -> Iterator[int]:
    """Yields the number (from 1) of the best move, if recorded, at each main-search node that has an exact value."""
    value, parents, searches = nodes["value"], nodes["parent"], nodes["search"]
    exact = {
        row
        for row, end in enumerate(nodes["end"])
        if end == "all-moves"
        and not nodes["quiescence"][row]
        and nodes["alpha"][row] < (value[row] or 0) < nodes["beta"][row]
    }
    moves: Counter[int] = Counter()
    for row, (parent, search) in enumerate(zip(parents, searches, strict=True)):
        if parent not in exact or search not in MOVE_SEARCHES:
            continue
        if search == "move":
            moves[parent] += 1
        if nodes["type"][row] == "PV" and value[row] is not None and -value[row] == value[parent]:
            exact.remove(parent)
            yield moves[parent]


# --------------------------------------------------------------------------------------------------------------
# Sizes of trees
# --------------------------------------------------------------------------------------------------------------


def _growth(iterations: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns the list "iterations" of the statistics, for the document's complete iterations."""
    rows: list[dict[str, Any]] = []
    for iteration in iterations:
        depth, nodes = iteration["depth"], iteration["nodes"]
        last = rows[-1]["nodes"] if rows else 0
        rows.append(
            {
                "depth": depth,
                "nodes": nodes,
                "branching": round(nodes ** (1 / depth), 3) if nodes else None,
                "growth": round(nodes / last, 3) if last else None,
            }
        )
    return rows


def _mobility(nodes: Nodes, iterations: list[dict[str, Any]]) -> list[float]:
    """Returns the mean number of legal moves at each ply from 0 to the last iteration's depth - 1.

    The means come from the last iteration with rows; if no iteration has rows, the result is []. Quiescence counts only
    at plies that the main search does not reach, because quiescence mostly sees positions after captures. A ply without
    visits takes the mean of the ply two above it (ply 1: that of the root).
    """
    recorded = [iteration for iteration in iterations if iteration["first_node"] >= 0]
    if not recorded:
        return []
    sums = _Means()
    for row in range(recorded[-1]["first_node"], recorded[-1]["last_node"] + 1):
        sums.add((nodes["quiescence"][row], nodes["ply"][row]), nodes["legal"][row], 1)
    means: list[float] = []
    for ply in range(iterations[-1]["depth"]):
        above = means[max(ply - 2, 0)] if means else 0.0
        found = [mean for mean in (sums.at((0, ply)), sums.at((1, ply))) if mean is not None]
        means.append(found[0] if found else above)
    return means


def tree_sizes(mobility: list[float]) -> dict[str, float]:
    """Returns the nodes of a tree with `mobility[i]` moves at ply i ("minimax"), and those of its "minimal" part."""
    even = odd = full = 1.0
    minimax = minimal = 1.0
    for ply, moves in enumerate(mobility):
        full *= moves
        if ply % 2:
            odd *= moves
        else:
            even *= moves
        minimax += full
        minimal += even + odd - 1
    return {"minimax": minimax, "minimal": minimal}


def _trees(iteration: dict[str, Any], mobility: list[float]) -> dict[str, Any]:
    depth = iteration["depth"]
    sizes = {name: float(f"{size:.4g}") for name, size in tree_sizes(mobility[:depth]).items()}
    return {"depth": depth, "nodes": iteration["nodes"], **sizes}


# --------------------------------------------------------------------------------------------------------------
# What pruning saved
# --------------------------------------------------------------------------------------------------------------


class _Means:
    """Means by kind. A kind is a pair: 1 for quiescence or 0 for the main search, and a depth or a ply."""

    def __init__(self) -> None:
        self._sums: dict[tuple[int, int], list[int]] = defaultdict(lambda: [0, 0])

    def add(self, kind: tuple[int, int], amount: int, times: int) -> None:
        entry = self._sums[kind]
        entry[0] += amount
        entry[1] += times

    def at(self, kind: tuple[int, int]) -> float | None:
        """Returns the mean of this kind, or None if it has no values."""
        total, times = self._sums.get(kind, (0, 0))
        return total / times if times else None

    def near(self, kind: tuple[int, int]) -> float:
        """Returns the mean of `kind`, or of the next lower depth that has values, or 1 if there is no such depth."""
        quiescence, depth = kind
        means = (self.at((quiescence, lower)) for lower in range(depth, -1, -1))
        return next((mean for mean in means if mean is not None), 1.0)


def _reasons(nodes: Nodes, document: Document) -> list[dict[str, Any]]:
    """Returns the list "reasons" of the statistics, sorted by "saved" in descending order."""
    per_move, per_node = _Means(), _Means()
    kinds, sizes, ends = list(zip(nodes["quiescence"], nodes["depth"], strict=True)), nodes["size"], nodes["end"]
    for row, search in enumerate(nodes["search"]):
        if search in MOVE_SEARCHES:
            per_move.add(kinds[nodes["parent"][row]], sizes[row], int(search == "move"))
        if ends[row] in _THROUGH_MOVES:
            per_node.add(kinds[row], sizes[row], 1)
    ended, skipped = Counter(ends), Counter[str]()
    saved: dict[str, float] = defaultdict(float)
    for node, _, reason in skips(document):
        skipped[reason] += 1
        saved[reason] += per_move.near(kinds[node])
    for row, reason in enumerate(ends):
        if reason in _SPARED:
            saved[reason] += per_node.near(kinds[row]) - sizes[row]
        elif reason == "cutoff" and not nodes["quiescence"][row]:
            left_over = nodes["legal"][row] - nodes["moves_searched"][row] - nodes["moves_pruned"][row]
            skipped["cutoff"] += left_over
            saved["cutoff"] += left_over * per_move.near(kinds[row])
    rows = [
        {"key": key, "ended": ended[key], "skipped": skipped[key], "saved": round(saved.get(key, 0))}
        for key in (row["key"] for row in document["reasons"])
        if ended[key] or skipped[key]
    ]
    return sorted(rows, key=lambda row: (-row["saved"], -row["ended"], -row["skipped"]))
