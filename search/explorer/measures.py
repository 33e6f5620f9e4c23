"""Statistics of a recorded search: the quality of its move ordering, how much it left out, and what that saved.

They are computed from the columns of the document alone (see `search.explorer.chess_document`).

    first_move_best, branching, minimax_estimate, minimal_tree
                    the most telling of the fields below, for the deepest complete iteration; null without one
    first_move      how often the first move searched was the best: nodes of the main search that ended with a cutoff
                    or with an exact value; {"nodes", "first", "share", "by_number"}, whose last number is "or later"
    quiescence_first_move  the same for quiescence, cutoffs only
    iterations      per complete iteration {"depth", "nodes", "branching": nodes ** (1 / depth), "growth": nodes as a
                    multiple of the last iteration's}
    trees           per complete iteration the sizes of two trees of the same depth without quiescence: {"depth",
                    "nodes" that were searched, "minimax" and "minimax_leaves", "minimal" and "minimal_leaves"}
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

from search.explorer.chess_document import COUNTED_SEARCHES, MOVE_SEARCHES, Document, keys

#: How many moves have their own share of the cutoffs; later moves share one.
TOLD_APART: Final = 10

#: How a node ends that has searched moves.
_THROUGH_MOVES: Final = ("cutoff", "all-moves")
#: How a node ends that was spared that.
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
    "Estimated from this recording: a skipped move, and one that a cutoff left over, counts as many visits as a move "
    "that was searched at nodes of the same depth took on average, its further searches included; a node that ended "
    "without searching moves counts what nodes of the same depth took that did search some, less what was spent on it. "
    "Moves come in order of promise, and the searches that were spared would have pruned in turn, so this is the size "
    "of the saving, no exact count."
)


def statistics(document: Document) -> dict[str, Any]:
    """The numbers above for a document whose columns are filled."""
    view = _View(document)
    iterations = [iteration for iteration in document["iterations"] if iteration["complete"]]
    mobility = _mobility(view, iterations)
    first_move = _first_moves(view, quiescence=0)
    growth = _growth(iterations)
    trees = [_trees(iteration, mobility) for iteration in iterations if mobility]
    return {
        "first_move_best": first_move["share"],
        "branching": growth[-1]["branching"] if growth else None,
        "minimax_estimate": trees[-1]["minimax"] if trees else None,
        "minimal_tree": trees[-1]["minimal"] if trees else None,
        "first_move": first_move,
        "quiescence_first_move": _first_moves(view, quiescence=1),
        "iterations": growth,
        "trees": trees,
        "mobility": [round(value, 2) for value in mobility],
        "reasons": _reasons(view),
        "costs": COSTS,
    }


class _View:
    """The columns of a document with its codes as keys."""

    def __init__(self, document: Document) -> None:
        nodes = document["nodes"]
        self.count = len(nodes["parent"])
        self.parent: list[int] = nodes["parent"]
        self.ply: list[int] = nodes["ply"]
        self.depth: list[int] = nodes["depth"]
        self.alpha: list[int] = nodes["alpha"]
        self.beta: list[int] = nodes["beta"]
        self.value: list[int | None] = nodes["value"]
        self.size: list[int] = nodes["size"]
        self.cutter: list[int] = nodes["cutter"]
        self.legal: list[int] = nodes["legal"]
        self.searched: list[int] = nodes["moves_searched"]
        self.skipped: list[int] = nodes["moves_pruned"]
        self.quiescence: list[int] = nodes["quiescence"]
        self.end = _keyed(nodes["end"], keys(document["reasons"]))
        self.search = _keyed(nodes["search"], keys(document["searches"]))
        self.type = _keyed(nodes["type"], keys(document["types"]))
        self.pruned_node: list[int] = document["pruned"]["node"]
        self.pruned_reason = _keyed(document["pruned"]["reason"], keys(document["reasons"]))
        self.reasons = keys(document["reasons"])

    def kind(self, row: int) -> tuple[int, int]:
        """What makes nodes comparable: whether it is quiescence, and the depth."""
        return self.quiescence[row], self.depth[row]


def _keyed(column: list[int], names: list[str]) -> list[str]:
    return [names[code] for code in column]


def counted_nodes(document: Document) -> int:
    """Nodes as the engine counts them: visits that began with making a move."""
    names = keys(document["searches"])
    counted = {names.index(key) for key in COUNTED_SEARCHES}
    return sum(1 for code in document["nodes"]["search"] if code in counted)


# --------------------------------------------------------------------------------------------------------------
# Move ordering
# --------------------------------------------------------------------------------------------------------------


def _first_moves(view: _View, quiescence: int) -> dict[str, Any]:
    """How often the move of which number was the best one."""
    numbers = Counter(
        view.cutter[row]
        for row in range(view.count)
        if view.end[row] == "cutoff" and view.quiescence[row] == quiescence
    )
    if not quiescence:
        numbers.update(_numbers_of_exact_moves(view))
    total = sum(numbers.values())
    told = [numbers[number] for number in range(1, TOLD_APART)]
    return {
        "nodes": total,
        "first": numbers[1],
        "share": round(numbers[1] / total, 4) if total else None,
        "by_number": [*told, total - sum(told)],
    }


def _numbers_of_exact_moves(view: _View) -> Iterator[int]:
    """For each PV node of the main search with an exact value, the number of the move that it comes from."""
    exact = {
        row
        for row in range(view.count)
        if view.end[row] == "all-moves"
        and not view.quiescence[row]
        and view.alpha[row] < (view.value[row] or 0) < view.beta[row]
    }
    moves: Counter[int] = Counter()
    for row in range(view.count):
        parent, search = view.parent[row], view.search[row]
        if parent not in exact or search not in MOVE_SEARCHES:
            continue
        if search == "move":
            moves[parent] += 1
        value = view.value[row]
        if view.type[row] == "PV" and value is not None and -value == view.value[parent]:
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


def _mobility(view: _View, iterations: list[dict[str, Any]]) -> list[float]:
    """Mean number of legal moves by ply, down to the last but one of the deepest iteration; empty without any.

    They come from the last iteration with rows. Main search and quiescence are averaged apart, because quiescence sees
    positions after captures; it counts only at plies that the main search does not reach. A ply without visits takes
    the number of two plies above.
    """
    recorded = [iteration for iteration in iterations if iteration["first_node"] >= 0]
    if not recorded:
        return []
    iteration = recorded[-1]
    sums: dict[tuple[int, int], list[int]] = defaultdict(lambda: [0, 0])
    for row in range(iteration["first_node"], iteration["last_node"] + 1):
        entry = sums[view.quiescence[row], view.ply[row]]
        entry[0] += view.legal[row]
        entry[1] += 1
    means: list[float] = []
    for ply in range(iterations[-1]["depth"]):
        legal, visits = sums.get((0, ply)) or sums.get((1, ply)) or (0, 0)
        means.append(legal / visits if visits else means[max(ply - 2, 0)] if means else 0.0)
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
    """Mean sizes by quiescence and depth; where nothing is known, those of the next lower depth."""

    def __init__(self) -> None:
        self._sums: dict[tuple[int, int], list[int]] = defaultdict(lambda: [0, 0])

    def add(self, kind: tuple[int, int], size: int, times: int) -> None:
        entry = self._sums[kind]
        entry[0] += size
        entry[1] += times

    def of(self, kind: tuple[int, int]) -> float:
        quiescence, depth = kind
        for lower in range(depth, -1, -1):
            entry = self._sums.get((quiescence, lower))
            if entry is not None and entry[1]:
                return entry[0] / entry[1]
        return 1.0


def _reasons(view: _View) -> list[dict[str, Any]]:
    """What each reason ended, skipped and saved, most saved first."""
    per_move, per_node = _Means(), _Means()
    for row in range(view.count):
        if view.search[row] in MOVE_SEARCHES:
            per_move.add(view.kind(view.parent[row]), view.size[row], int(view.search[row] == "move"))
        if view.end[row] in _THROUGH_MOVES:
            per_node.add(view.kind(row), view.size[row], 1)
    ended = Counter(view.end)
    skipped = Counter(view.pruned_reason)
    saved: dict[str, float] = defaultdict(float)
    for node, reason in zip(view.pruned_node, view.pruned_reason, strict=True):
        saved[reason] += per_move.of(view.kind(node))
    for row in range(view.count):
        reason = view.end[row]
        if reason in _SPARED:
            saved[reason] += per_node.of(view.kind(row)) - view.size[row]
        elif reason == "cutoff" and not view.quiescence[row]:
            left_over = view.legal[row] - view.searched[row] - view.skipped[row]
            skipped["cutoff"] += left_over
            saved["cutoff"] += left_over * per_move.of(view.kind(row))
    rows = [
        {"key": key, "ended": ended[key], "skipped": skipped[key], "saved": round(saved.get(key, 0))}
        for key in view.reasons
        if ended[key] or skipped[key]
    ]
    return sorted(rows, key=lambda row: (-row["saved"], -row["ended"], -row["skipped"]))
