"""The recording in a terminal."""

from __future__ import annotations

import re

import pytest

from engine.version import full_name
from search.explorer.report import report
from tests.explorer.conftest import Recorded


def tree_of(lines: list[str]) -> list[str]:
    start = next(index for index, line in enumerate(lines) if line.startswith("tree of depth"))
    return lines[start + 1 : lines.index("", start)]


def test_what_was_searched_and_found_comes_first(recorded: Recorded) -> None:
    document = recorded["tactics"]
    lines = list(report(document))
    assert lines[0].startswith(f"{full_name()}, ")
    assert lines[0].endswith("evaluation, depth 8")
    assert document["position"] in lines[1]
    result = document["result"]
    assert f"{result['move']} {result['score']} at depth 8: {result['nodes']:,} nodes" in lines[2]


@pytest.mark.parametrize("name", ["start", "mate", "small", "nodes", "one node", "no null move"])
def test_every_iteration_has_its_line(recorded: Recorded, name: str) -> None:
    document = recorded[name]
    lines = list(report(document))
    heading = next(index for index, line in enumerate(lines) if line.split()[:3] == ["depth", "score", "nodes"])
    for line, iteration in zip(lines[heading + 1 :], document["iterations"], strict=False):
        words = line.replace(",", "").split()
        assert words[:3] == [str(iteration["depth"]), iteration["score"], str(iteration["nodes"])]
        assert words[-1] == (iteration["line"][:8][-1] if iteration["complete"] else "(stopped)")
    assert ("TRUNCATED" in "\n".join(lines)) == document["truncated"]
    assert ("switched off: null-move" in lines) == (name == "no null move")


def test_the_tree_shows_the_rows_of_its_plies(recorded: Recorded) -> None:
    document = recorded["tactics"]
    nodes, last = document["nodes"], document["iterations"][-1]
    for plies in (0, 1, 2):
        lines = tree_of(list(report(document, plies, lines=100_000)))
        rows = range(last["first_node"], last["last_node"] + 1)
        parents = [nodes["parent"][row] for row in rows]
        assert len(lines) == sum(parent == -1 or nodes["ply"][parent] < plies for parent in parents)
    assert re.match(r"\(window\) PV  d=8 \[[^]]+\] = \S+  \S.*; [\d,]+ visits$", lines[0])
    root = lines[0]
    move = document["result"]["move"]
    assert any(re.match(rf"  {move} ", line) for line in lines)
    assert "all-moves" in root or "cutoff" in root


def test_long_trees_are_cut_with_a_remark(recorded: Recorded) -> None:
    lines = tree_of(list(report(recorded["tactics"], plies=3, lines=10)))
    assert len(lines) == 11
    assert re.fullmatch(r"\.\.\. and at least \d+ more lines", lines[-1])


def test_the_summary_counts_every_reason(recorded: Recorded) -> None:
    document = recorded["attack"]
    text = "\n".join(report(document))
    for row in document["statistics"]["reasons"]:
        pattern = rf"^{row['key']} +{row['ended']:,} +{row['skipped']:,} +{row['saved']:,}  \S"
        assert re.search(pattern, text, re.MULTILINE), row
    assert re.search(r"^first move best +\d+\.\d% of the [\d,]+ nodes .*\(main search\)$", text, re.MULTILINE)
    assert "minimal tree" in text


def test_what_was_counted_stands_beside_what_was_estimated(recorded: Recorded) -> None:
    costs = recorded.facts["costs"]
    plain, counted = list(report(recorded["tactics"])), list(report(recorded["tactics"] | {"costs": costs}))
    assert not any("without it" in line for line in plain)
    assert counted[-1] == plain[-1]
    for row in costs["without"]:
        pattern = rf"^{row['reason']} .* {row['nodes']:,} \(x{row['nodes'] / costs['nodes']:.2f}\)  \S"
        assert any(re.match(pattern, line) for line in counted), row
    assert any(line.endswith(f"; the unchanged search takes {costs['nodes']:,}") for line in counted)
