"""Statistics of a recorded search: the quality of its move ordering, how much it left out, and what that saved.

They are computed from the columns of the document alone (see `search.explorer.chess_document`).

    first_move_best, branching, minimax_estimate, minimal_tree
                    the most telling of the fields below, for the deepest complete iteration; null without one
    first_move      how often the first move was the best, at nodes of the main search that ended with a cutoff or an
                    exact value: {"nodes", "first", "share", "by_number"}, whose last number is "or later"
    quiescence_first_move  the same for quiescence, cutoffs only
    iterations      per complete iteration {"depth", "nodes", "branching": nodes ** (1 / depth), "growth": nodes as a
                    multiple of the last iteration's}
    trees           per complete iteration the sizes of three trees of its depth without quiescence: {"depth", "nodes"
                    that were searched, "minimax" and "minimax_leaves", "minimal" and "minimal_leaves"}
    mobility        legal moves by ply, the mean over the visits to it in the deepest iteration
    reasons         by reason {"key", "ended": nodes it ended, "skipped": moves it left out, "saved": nodes saved so}
    costs           in words: how "saved" is estimated

Plain minimax visits every node of the full tree, m0 * m1 * ... * m(k-1) of them at ply k, if mi is the mobility at ply
i. Any search without selectivity must visit at least Knuth and Moore's minimal tree to prove the value. At ply k it has
the product of the mi with even i, plus that of those with odd i, less one ("An analysis of alpha-beta pruning",
Artificial Intelligence 6, 1975, here with branching that changes from ply to ply). The search may still be smaller than
the minimal tree: it reduces and skips moves, and finds positions in the TT.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any, Final

from search.explorer.chess_document import MOVE_SEARCHES, Document, decoded, skips

#: How many moves have their own share of the cutoffs; later moves share one.
TOLD_APART: Final = 10

#: How a node ends that has searched moves.
_THROUGH_MOVES: Final = ("cutoff", "all-moves")
#: How a node ends that did not have to.
_SPARED: Final = (
    "draw",
    "mate-distance",
    "table",
    "razoring",
    "reverse-futility",
    "null-move",
    "probcut",
    "multi-cut",
    "stand-pat",
)

COSTS: Final = (
    "Estimated from this recording. A move that was skipped, or left over after a cutoff, counts as many visits as a "
    "searched move took on average at nodes of the same depth, with its repeated searches. A node that ended without "
    "searching moves counts the average size of nodes of the same depth that did search some, less its own visits. "
    "Moves come in order of promise, and the searches that were saved would have pruned too, so this shows the size of "
    "the saving and is no exact count."
)

#: The columns of nodes, with keys instead of codes.
Nodes = dict[str, list[Any]]


def statistics(document: Document) -> dict[str, Any]:
    """The numbers above for a document whose columns are filled."""
    nodes = decoded(document)
    iterations = [iteration for iteration in document["iterations"] if iteration["complete"]]
    mobility = _mobility(nodes, iterations)
    first_move = _first_moves(nodes, quiescence=0)
    growth = _growth(iterations)
    trees = [_trees(iteration, mobility) for iteration in iterations if mobility]
    return {
        "first_move_best": first_move["share"],
        "branching": growth[-1]["branching"] if growth else None,
        "minimax_estimate": trees[-1]["minimax"] if trees else None,
        "minimal_tree": trees[-1]["minimal"] if trees else None,
        "first_move": first_move,
        "quiescence_first_move": _first_moves(nodes, quiescence=1),
        "iterations": growth,
        "trees": trees,
        "mobility": [round(value, 2) for value in mobility],
        "reasons": _reasons(nodes, document),
        "costs": COSTS,
    }


# --------------------------------------------------------------------------------------------------------------
# Move ordering
# --------------------------------------------------------------------------------------------------------------


def _first_moves(nodes: Nodes, quiescence: int) -> dict[str, Any]:
    """How often the move of which number was the best one."""
    rows = zip(nodes["cutter"], nodes["end"], nodes["quiescence"], strict=True)
    numbers = Counter(cutter for cutter, end, kind in rows if end == "cutoff" and kind == quiescence)
    if not quiescence:
        numbers.update(_numbers_of_exact_moves(nodes))
    total = sum(numbers.values())
    told = [numbers[number] for number in range(1, TOLD_APART)]
    return {
        "nodes": total,
        "first": numbers[1],
        "share": round(numbers[1] / total, 4) if total else None,
        "by_number": [*told, total - sum(told)],
    }


def _numbers_of_exact_moves(nodes: Nodes) -> Iterator[int]:
    """Yields the number of the move that gave the value, for each PV node of the main search with an exact value."""
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
    """How the iterations grow."""
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
    """Mean number of legal moves by ply, down to the last but one of the deepest iteration; empty without any.

    They come from the last iteration with rows. Main search and quiescence are averaged apart, because quiescence sees
    positions after captures; it counts only at plies that the main search does not reach. A ply without visits takes
    the number of two plies above.
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
    """Nodes and leaves of the full tree and of the minimal tree whose nodes at ply i have `mobility[i]` moves."""
    even = odd = full = 1.0
    minimax = minimal = 1.0
    leaves = 1.0
    for ply, moves in enumerate(mobility):
        full *= moves
        if ply % 2:
            odd *= moves
        else:
            even *= moves
        leaves = even + odd - 1
        minimax += full
        minimal += leaves
    return {"minimax": minimax, "minimax_leaves": full, "minimal": minimal, "minimal_leaves": leaves}


def _trees(iteration: dict[str, Any], mobility: list[float]) -> dict[str, Any]:
    depth = iteration["depth"]
    sizes = {name: float(f"{size:.4g}") for name, size in tree_sizes(mobility[:depth]).items()}
    return {"depth": depth, "nodes": iteration["nodes"], **sizes}


# --------------------------------------------------------------------------------------------------------------
# What pruning saved
# --------------------------------------------------------------------------------------------------------------


class _Means:
    """Means by quiescence and depth or ply."""

    def __init__(self) -> None:
        self._sums: dict[tuple[int, int], list[int]] = defaultdict(lambda: [0, 0])

    def add(self, kind: tuple[int, int], amount: int, times: int) -> None:
        entry = self._sums[kind]
        entry[0] += amount
        entry[1] += times

    def at(self, kind: tuple[int, int]) -> float | None:
        """The mean of this kind; None where nothing is known."""
        total, times = self._sums.get(kind, (0, 0))
        return total / times if times else None

    def near(self, kind: tuple[int, int]) -> float:
        """The mean of this depth or the next lower one that has one; 1 without any."""
        quiescence, depth = kind
        means = (self.at((quiescence, lower)) for lower in range(depth, -1, -1))
        return next((mean for mean in means if mean is not None), 1.0)


def _reasons(nodes: Nodes, document: Document) -> list[dict[str, Any]]:
    """What each reason ended, skipped and saved, most saved first."""
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
