"""`tourney` and `rate` as commands."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from bench.commands import rate, tourney
from search.strength import LEVELS

pytest.importorskip("scipy", reason="ratings need SciPy")

HERE = Path(__file__).parent
FAKE = f"{sys.executable} {HERE / 'fake_engine.py'}"
ENGINES = [
    word for seed, name in enumerate("ABC") for word in ("--engine", f"cmd={FAKE} --seed {seed}", f"name={name}")
]


@pytest.mark.parametrize(("format_", "expected"), [("gauntlet", {"AB", "AC"}), ("round-robin", {"AB", "AC", "BC"})])
def test_tournaments_play_and_rate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], format_: str, expected: set[str]
) -> None:
    pgn = tmp_path / "games.pgn"
    book = tmp_path / "book.epd"
    book.write_text("4k3/8/8/8/8/8/3QP3/4K3 w - - 0 1\n6k1/5ppp/8/8/8/8/r7/4K2R w K - 0 1\n")
    options = ["--format", format_, "--rounds", "2", "--each", "nodes=10", "--max-moves", "40", "--runner", "builtin"]
    options += ["--book", str(book), "--pgn", str(pgn), "--quiet", "--json", "--concurrency", "2"]
    status = tourney.main([*ENGINES, *options, "--anchor", "A=1500"])
    output = capsys.readouterr()
    assert status == 0, output.err
    answer = json.loads(output.out)
    assert answer["games"] == 4 * len(expected)
    ratings = {line["name"]: line["rating"] for line in answer["ratings"]}
    assert ratings["A"] == pytest.approx(1500)
    games, problems = rate.read_all([str(pgn)])
    assert not problems
    assert {"".join(sorted((game.white, game.black))) for game in games} == expected
    # The same list from the file.
    assert rate.main([str(pgn), "--anchor", "A=1500", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["ratings"] == answer["ratings"]


def test_rate_prints_a_table_and_joins_files(capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(HERE / "recorded" / f"fastchess_{name}.pgn") for name in ("logistic", "normalized")]
    assert rate.main([*files, "--anchor", "weaker=1000"]) == 0
    output = capsys.readouterr().out
    assert "1000.0  anchor" in output
    assert "243 games" in output
    games, _ = rate.read_all(files)
    pairs = [game.pair for game in games]
    assert max(pairs.count(pair) for pair in pairs) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.pgn"], "missing.pgn: No such file"),
        ([str(HERE / "recorded" / "fastchess_logistic.pgn"), "--anchor", "Kasparov=2851"], "Kasparov has played no"),
    ],
)
def test_rate_refuses(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert rate.main(arguments) == 1
    assert message in capsys.readouterr().err


def test_tourney_refuses_an_unknown_anchor_before_it_plays(capsys: pytest.CaptureFixture[str]) -> None:
    assert tourney.main([*ENGINES, "--each", "nodes=10", "--anchor", "D=1500"]) == 2
    assert "no engine has this name; the engines are A, B, C" in capsys.readouterr().err


def test_levels_are_engines_of_a_tournament(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(tourney, "play_shown", lambda name, description, quiet: asked.append(description))
    with pytest.raises(AttributeError):  # nothing was played
        tourney.main(["--levels", *ENGINES[:3]])
    assert [engine.name for engine in asked[0].engines] == [*(level.name for level in LEVELS), "A"]
    assert dict(asked[0].engines[0].options)["UCI_Elo"] == str(LEVELS[0].elo)
