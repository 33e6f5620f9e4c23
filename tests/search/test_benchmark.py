"""The benchmark: deterministic, and the number that the last behavioural commit states."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from bench.commands import benchmark
from eval.network import format as network_format
from eval.network.format import NetworkError
from search.benchmark import POSITIONS, run_benchmark
from search.searcher import Searcher

ROOT = Path(__file__).resolve().parents[2]


def stated_nodes() -> int | None:
    """The node count in the newest commit that has a `Bench:` line."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        return None
    log = subprocess.run(
        ["git", "log", "--grep", "^Bench: [0-9]", "-1", "--format=%B"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [line for line in log.stdout.splitlines() if line.startswith("Bench: ")]
    return int(lines[-1].split()[1]) if lines else None


def test_positions_are_distinct() -> None:
    assert len(set(POSITIONS)) == len(POSITIONS) >= 20


def test_nodes_are_those_of_the_last_commit_that_changed_them() -> None:
    stated = stated_nodes()
    if stated is None:
        pytest.skip("no git history with a Bench: line here")
    result = run_benchmark()
    assert result is not None
    assert result.nodes == stated, "the search changed: commit it with its own Bench: line"
    assert result.seconds < 60


def test_nodes_do_not_depend_on_what_was_searched_before() -> None:
    first, second = run_benchmark(depth=5), run_benchmark(depth=5)
    assert first is not None
    assert second is not None
    assert first.nodes == second.nodes


def test_it_can_be_stopped() -> None:
    assert run_benchmark(depth=5, should_stop=lambda: True) is None


def test_the_command_searches_with_either_evaluation(capsys: pytest.CaptureFixture[str]) -> None:
    counted = []
    for arguments in (["4", "--json"], ["4", "--json", "--classical"]):
        assert benchmark.main(arguments) == 0
        counted.append(json.loads(capsys.readouterr().out)["nodes"])
    network, classical = run_benchmark(4), run_benchmark(4, searcher=Searcher(16))
    assert network is not None
    assert classical is not None
    assert counted == [network.nodes, classical.nodes]
    assert counted[0] != counted[1]


def test_a_network_that_is_damaged_is_told_in_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def damaged() -> None:
        raise NetworkError("default.snet: the file is cut short")

    monkeypatch.setattr(network_format, "shipped_network", damaged)
    assert benchmark.main(["1"]) == 1
    assert capsys.readouterr() == ("", "secateur bench: default.snet: the file is cut short\n")
