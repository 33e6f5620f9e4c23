"""`sprt` on PGN files that fastchess wrote, against what fastchess said of them, and a test that stops by itself."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from bench.commands import sprt
from bench.pgn import read_games

pytest.importorskip("scipy", reason="the LLR needs SciPy")

HERE = Path(__file__).parent
RECORDED = HERE / "recorded"
FAKE = f"{sys.executable} {HERE / 'fake_engine.py'}"


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    status = sprt.main([str(argument) for argument in arguments])
    output = capsys.readouterr()
    return status, output.out, output.err


#: The lines of fastchess's report with figures, and our names of the figures.
REPORT = (
    (r"Elo: N \+/- N, nElo: N \+/- N", "elo", "elo_error", "nelo", "nelo_error"),
    (r"LOS: N %, DrawRatio: N %", "los", "draw_ratio"),
    (r"Games: N, Wins: N, Losses: N, Draws: N", "games", "wins", "losses", "draws"),
    (r"Ptnml\(0-2\): \[N, N, N, N, N\]", *"01234"),
    (r"LLR: N \([^)]*\) \(N, N\) \[N, N\]", "llr", "lower", "upper", "elo0", "elo1"),
)


def compare(answer: dict[str, Any], said: str) -> None:
    """Every figure of fastchess's report, to its last printed digit."""
    ours = answer | answer["sprt"] | {str(place): count for place, count in enumerate(answer["pentanomial"])}
    ours |= {name: 100 * answer[name] for name in ("los", "draw_ratio")}
    for pattern, *names in REPORT:
        found = re.search(pattern.replace("N", r"(-?[\d.]+)"), said)
        assert found, pattern
        for name, figure in zip(names, found.groups(), strict=True):
            assert f"{ours[name]:.2f}" == f"{float(figure):.2f}", name


@pytest.mark.parametrize(
    ("name", "test"),
    [
        ("fastchess_logistic", ["--elo1", 30, "--model", "logistic"]),
        ("fastchess_normalized", ["--elo1", 20, "--beta", 0.1]),
    ],
)
def test_recorded_fastchess_matches(name: str, test: list[object], capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, RECORDED / f"{name}.pgn", "--for", "stronger", *test, "--json")
    assert status == 0
    answer = json.loads(out)
    said = (RECORDED / f"{name}.txt").read_text()
    compare(answer, said)
    assert (answer["sprt"]["verdict"] == "accepted") == ("H1 was accepted" in said)


def test_a_live_test_stops_when_decided(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pgn = tmp_path / "games.pgn"
    status, out, err = run(
        capsys,
        *("--engine", f"cmd={FAKE}", "name=good"),
        *("--engine", f"cmd={FAKE} --fault illegal --at 1", "name=bad"),
        *("--each", "nodes=10", "--runner", "builtin", "--rounds", 40, "--max-moves", 5, "--pgn", pgn),
        *("--elo1", 200, "--plot", tmp_path / "plot.svg", "--json", "--quiet"),
    )
    answer = json.loads(out)
    assert answer["sprt"]["verdict"] == "accepted"
    assert answer["games"] < 80
    assert answer["losses"] == 0
    assert status == 1  # the illegal moves are faults, and reported
    assert "illegal" in err
    assert "<svg" in (tmp_path / "plot.svg").read_text()
    assert len(list(read_games(pgn))) >= answer["games"]


def test_a_resumed_test_counts_the_games_it_finds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pgn = tmp_path / "games.pgn"
    engines = ["--engine", f"cmd={FAKE}", "name=one", "--engine", f"cmd={FAKE} --seed 2", "name=two"]
    common = [*engines, "--each", "nodes=10", "--runner", "builtin", "--max-moves", 5, "--pgn", pgn, "--json"]
    status, out, _ = run(capsys, *common, "--rounds", 2)
    assert (status, json.loads(out)["pairs"]) == (0, 2)
    before = pgn.read_text()
    status, out, _ = run(capsys, *common, "--rounds", 5, "--resume")
    assert (status, json.loads(out)["pairs"]) == (0, 5)
    assert pgn.read_text().startswith(before)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["games.pgn", "--elo0", "5", "--elo1", "5"], "elo0 must be below elo1"),
        (["games.pgn", "--plot", "plot.pdf"], "plot.pdf"),
        (["games.pgn", "--ledger", "new-test"], "--what"),
        (["games.pgn", "--rounds", "5"], "--rounds describes games to play, but games.pgn has the games"),
        (["games.pgn", "--tc", "1+0.01"], "--tc describes games to play"),
        (["games.pgn", "--engine", "cmd=x"], "--engine describes games to play"),
        (["--engine", "cmd=x"], "two engines"),
        (["--engine", "cmd=x", "--engine", "cmd=y", "--for", "x"], "--for requires a PGN file"),
    ],
)
def test_wrong_usage(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys, *arguments)
    assert status == 2
    assert message in err
    assert err.count("\n") == 1


def test_wrong_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys, tmp_path / "none.pgn")
    assert (status, "none.pgn" in err) == (1, True)
    broken = tmp_path / "broken.pgn"
    text = (RECORDED / "fastchess_logistic.pgn").read_text()
    broken.write_text(text + '\n[White "a"]\n[Black "b"]\n[Result "1-0"]\n\n1. e4 e5')
    status, out, err = run(capsys, broken, "--for", "stronger")
    assert status == 1
    assert "Games    120" in out
    assert re.search(r"broken\.pgn:\d+: the game is cut short", err)
    status, _, err = run(capsys, broken, "--for", "nobody")
    assert (status, "nobody played none" in err) == (1, True)
