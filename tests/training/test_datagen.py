"""The command line: what it prints, what it refuses, and in which words."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import uci_main
from eval.build import VARIABLE
from eval.training import generation
from eval.training.commands import datagen
from eval.training.commands.datagen import ProgressView
from eval.training.generation import Progress
from eval.training.samples import ALL, samples
from eval.training.shards import ShardWriter

QUICK = ["--nodes", "150", "--workers", "1"]


def test_games_are_made_counted_and_verified(
    in_process: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "new" / "data"
    assert uci_main.main(["datagen", str(folder), "--games", "10", *QUICK]) == 0
    out, err = capsys.readouterr()
    assert out.startswith(f"{folder}: 16 games, ")
    assert err.startswith("--games 10 is rounded up to 16: games are played in blocks of 16\n")
    assert uci_main.main(["datagen", str(folder), "--games", "16", *QUICK, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["folder"], told["games"]) == (str(folder), 16)

    assert uci_main.main(["datagen", "verify", str(folder)]) == 0
    assert capsys.readouterr().out == f"1 sound shard: 16 games, {told['positions']} positions\n"
    assert uci_main.main(["datagen", "verify", str(folder), "--json"]) == 0
    sound = json.loads(capsys.readouterr().out)
    assert sound == {"sound": 1, "games": 16, "positions": told["positions"], "problems": []}

    assert uci_main.main(["datagen", "stats", str(folder)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [
        *("shards", "games", "positions", "results", "endings", "starts", "|scores|", "phases")
    ]
    assert uci_main.main(["datagen", "stats", str(folder), "--json"]) == 0
    counts = json.loads(capsys.readouterr().out)
    assert counts["games"] == sum(counts["results"].values()) == sum(counts["endings"].values()) == 16
    assert counts["positions"] == sum(counts["phases"]) == told["positions"]
    assert counts["variants"]["standard"] == 16
    assert 0 < counts["below"]["50"] < counts["below"]["1600"] <= counts["positions"]
    assert 0 < counts["quiet"] < counts["positions"]


def test_positions_of_trees_are_counted_by_themselves(
    in_process: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "trees"
    more = ["--tree-nodes", "100", "--max-plies", "6"]
    assert uci_main.main(["datagen", str(folder), "--games", "16", *QUICK, *more]) == 0
    assert uci_main.main(["datagen", "verify", str(folder)]) == 0
    assert "1 sound shard: 16 games, " in capsys.readouterr().out
    assert uci_main.main(["datagen", "stats", str(folder), "--json"]) == 0
    counts = json.loads(capsys.readouterr().out)
    assert counts["games"] == sum(counts["results"].values()) == sum(counts["endings"].values()) == 16
    assert counts["positions"] == counts["trees"] + 16 * 6
    assert counts["trees"] > 50
    assert uci_main.main(["datagen", "stats", str(folder)]) == 0
    assert f", {counts['trees']} of search trees\n" in capsys.readouterr().out
    sizes = [
        sum(map(len, samples(folder, wanted))) for wanted in (ALL, replace(ALL, trees=False), replace(ALL, games=False))
    ]
    assert sizes == [counts["positions"], 16 * 6, counts["trees"]]

    fewer = tmp_path / "fewer"
    assert uci_main.main(["datagen", str(fewer), "--games", "16", *QUICK, *more, "--tree-percent", "20"]) == 0
    assert uci_main.main(["datagen", "verify", str(fewer)]) == 0
    assert 0 < sum(map(len, samples(fewer, replace(ALL, games=False)))) < counts["trees"] // 2


def test_bad_shards_are_reported_and_left_out(
    made: Path, copied: Callable[[], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    path = copied()
    path.with_name("shard-000001.games").write_bytes(path.read_bytes())
    path.write_bytes(path.read_bytes()[:-1])
    assert datagen.main(["stats", str(path.parent), "--quiet"]) == 1
    assert capsys.readouterr().err == f"secateur datagen: {path}: is truncated: it has no foot\n"
    assert datagen.main(["verify", str(path.parent), "--json", "--quiet"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["sound"], told["games"], len(told["problems"])) == (1, 64, 1)


def test_unfinished_shards_count(copied: Callable[[], Path], capsys: pytest.CaptureFixture[str]) -> None:
    path = copied()
    data = path.read_bytes()
    path.with_name("shard-000001.part").write_bytes(data[: len(data) // 2])
    assert datagen.main(["verify", str(path.parent)]) == 0
    assert capsys.readouterr().out.startswith("2 sound shards: ")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ("F", "--games or --positions is required"),
        ("F --games 1 --positions 1", "argument --positions: not allowed with argument --games"),
        ("F --games 0", "--games: 0 is not a positive number"),
        ("F --games 1 --hard-nodes 100", "hard nodes must be 5000 to 1099511627776 (got 100)"),
        ("F --games 1 --opening-plies 9,8", "opening most must be 9 to 100 (got 8)"),
        ("F --games 1 --win 5", "argument --win: expected 2 whole numbers separated by commas, got '5'"),
        ("stats", "the following arguments are required: FOLDER|FILE"),
    ],
)
def test_wrong_usage_is_told_in_one_line(
    arguments: str, line: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        status: int | str | None = datagen.main(arguments.split())
    except SystemExit as end:
        status = end.code
    assert status == 2
    action = " stats" if arguments.startswith("stats") else ""
    assert capsys.readouterr().err == f"secateur datagen{action}: {line}\n"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ("stats nowhere", "secateur datagen stats: nowhere: no such file or folder"),
        ("verify .", "secateur datagen verify: .: contains no shards"),
        ("file --games 16", "secateur datagen: file: File exists"),
    ],
)
def test_failures_are_told_in_one_line(
    arguments: str, line: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    assert datagen.main(arguments.split()) == 1
    assert capsys.readouterr().err == line + "\n"


def test_a_full_disk_names_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def append(writer: ShardWriter, block: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    def blocks(*_: object) -> Iterator[tuple[int, bytes]]:
        yield 0, b""

    monkeypatch.setattr(ShardWriter, "append", append)
    monkeypatch.setattr(generation, "_play_in_order", blocks)
    assert datagen.main([str(tmp_path), "--games", "16", "--quiet"]) == 1
    assert capsys.readouterr().err == f"secateur datagen: {tmp_path}: No space left on device\n"


def test_a_custom_evaluation_makes_no_training_data(tmp_path: Path, run_python: Callable[..., str]) -> None:
    """Neither by the command nor where a worker has it."""
    file = tmp_path / "level.py"
    file.write_text("def evaluate(position):\n    return 0\n", encoding="utf-8")
    said = run_python(PLAYER, str(tmp_path / "games"), **{VARIABLE: str(file)})
    assert said.splitlines() == [
        "training data require Secateur's own evaluation or a network, not level.py:evaluate: "
        "remove --evaluation and unset SECATEUR_EVALUATION"
    ] * 2 + ["2"]
    assert not (tmp_path / "games").exists()


PLAYER = """
import sys
from pathlib import Path
from eval.build import EvaluationError
from eval.training.commands.datagen import main
from eval.training.generation import Player, Settings, generate
for make in (lambda: Player(Settings()), lambda: generate(Path(sys.argv[1]), Settings(), games=1)):
    try:
        make()
    except EvaluationError as error:
        print(error)
print(main([sys.argv[1], "--games", "1"]))
"""


def test_progress_tells_pace_and_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [1000.0]
    monkeypatch.setattr("eval.training.commands.datagen.time.monotonic", lambda: clock[0])
    view = ProgressView(None, 100_000)
    lines = [view.line()]
    view.update(Progress(10, 20_000))
    lines.append(view.line())
    for block in range(1, 3):
        clock[0] += 30
        view.update(Progress(10 + block, 20_000 + 2000 * block))
        lines.append(view.line())
    assert lines == [
        "reading existing shards (0:00:00)",
        "160 games, 20000 positions, playing the first block (0:00:00)",
        "176 games, 22000 positions in 0:00:30, 67 positions/s, 0:19:30 left",
        "192 games, 24000 positions in 0:01:00, 67 positions/s, 0:19:00 left",
    ]
