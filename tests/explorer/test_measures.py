"""Statistics of a recording: computed from its columns, and counted by searches without a technique."""

from __future__ import annotations

from typing import Any

import pytest

from search.explorer import chess_document
from search.explorer.chess_document import SWITCHES, RecordingError
from search.explorer.costs import costs_of_search
from search.explorer.jobs import Job
from search.explorer.measures import statistics, tree_sizes
from search.theory.counting import minimal_leaves
from tests.explorer.conftest import Recorded
from tests.explorer.recorded_tree import Tree


def test_measures_follow_from_the_columns(tree: Tree) -> None:
    measures = tree.document["statistics"]
    assert statistics(tree.document) == measures
    cutters = [tree.cutter[row] for row in tree if tree.end[row] == "cutoff" and tree.quiescence[row]]
    quiescence = measures["quiescence_first_move"]
    assert (quiescence["nodes"], quiescence["first"]) == (len(cutters), cutters.count(1))
    first = measures["first_move"]
    assert first["share"] == round(first["first"] / first["nodes"], 4) > 0
    by_key = {row["key"]: row for row in measures["reasons"]}
    for key, row in by_key.items():
        assert row["ended"] == tree.end.count(key)
    skipped = [reason for skips in tree.skips.values() for reason in skips.values()]
    for key in set(skipped):
        assert by_key[key]["skipped"] == skipped.count(key)
        assert by_key[key]["saved"] >= skipped.count(key)


def test_sizes_of_trees() -> None:
    for branching in (1, 2, 5):
        for depth in (0, 1, 2, 3, 6):
            sizes = tree_sizes([float(branching)] * depth)
            assert sizes["minimal"] == sum(minimal_leaves(branching, ply) for ply in range(depth + 1))
            assert sizes["minimax"] == sum(branching**ply for ply in range(depth + 1))
    assert tree_sizes([20.0, 30.0, 10.0])["minimal"] == 1 + 20 + (20 + 30 - 1) + (200 + 30 - 1)


def test_first_moves_of_exact_nodes_are_found() -> None:
    """A PV node whose second move turned out best, after a search with a null window and one with an open one."""
    rows = [
        # parent, search, type, alpha, beta, value, end
        (-1, "window", "PV", -100, 100, 30, "all-moves"),
        (0, "move", "PV", -100, 100, -10, "all-moves"),
        (0, "move", "CUT", -11, -10, -15, "table"),
        (0, "open-window", "PV", -100, -10, -30, "all-moves"),
    ]
    document = small_document(rows)
    assert statistics(document)["first_move"] == {"nodes": 1, "first": 0, "share": 0}


def small_document(rows: list[tuple[int, str, str, int, int, int, str]]) -> Any:
    document: Any = dict(chess_document.tables())
    nodes: dict[str, list[int]] = {name: [0] * len(rows) for name in chess_document.NODE_COLUMNS}
    for name, column in zip(
        ("parent", "search", "type", "alpha", "beta", "value", "end"), zip(*rows, strict=True), strict=True
    ):
        table = {"search": "searches", "type": "types", "end": "reasons"}.get(name)
        keys = [row["key"] for row in document[table]] if table else []
        nodes[name] = [keys.index(value) if keys else value for value in column]
    nodes["size"] = [1] * len(rows)
    nodes["depth"] = [2 if row[0] == -1 else 1 for row in rows]
    return document | {"nodes": nodes, "pruned": {"node": [], "move": [], "reason": []}, "iterations": [], "moves": []}


# --- switching off -------------------------------------------------------------------------------------------------


def test_what_is_switched_off_does_not_occur(recorded: Recorded) -> None:
    tree = recorded.tree("no null move")
    assert tree.document["without"] == ["null-move"]
    assert "null-move" not in tree.end
    assert "null" not in tree.search
    assert "null" in recorded.tree("tactics").search


def test_what_techniques_save_is_counted_by_searching_without_them(recorded: Recorded) -> None:
    document, costs = recorded["tactics"], recorded.facts["costs"]
    result = document["result"]
    assert (costs["depth"], costs["nodes"], costs["value"]) == (result["depth"], result["nodes"], result["value"])
    used = {row["key"] for row in document["statistics"]["reasons"]}
    without = {row["reason"]: row for row in costs["without"]}
    assert list(without) == [key for key in SWITCHES if key in used]
    assert len(without) >= 10
    # The search of a recording that was made without a technique is that very search.
    spared = recorded["no null move"]["result"]
    assert (without["null-move"]["nodes"], without["null-move"]["value"]) == (spared["nodes"], spared["value"])
    assert without["reverse-futility"]["nodes"] > costs["nodes"]


def test_what_ended_a_single_node_is_counted_there(recorded: Recorded) -> None:
    document, row, costs = recorded["tactics"], recorded.facts["row"], recorded.facts["at_row"]
    assert costs["depth"] == document["nodes"]["depth"][row]
    assert [cost["reason"] for cost in costs["without"]] == ["reverse-futility"]
    assert costs["without"][0]["nodes"] != costs["nodes"]


def test_a_search_without_a_complete_depth_has_no_costs(recorded: Recorded) -> None:
    with pytest.raises(RecordingError, match="no iteration is complete"):
        costs_of_search(recorded["one node"], Job())
