"""`match --plot` and `match --ledger`: checked before the games, written after them."""

import json
import sys
from pathlib import Path

import pytest
from fakes import BOOK, FAKE

from bench import records
from bench.commands import match

pytest.importorskip("matplotlib", reason="plots need Matplotlib")


def arguments(folder: Path, *more: str) -> list[str]:
    book = folder / "book.epd"
    book.write_text(BOOK, encoding="utf-8")
    engines = [part for name in "AB" for part in ("--engine", f"cmd={sys.executable} {FAKE}", f"name={name}")]
    settings = ["--each", "nodes=50", "--rounds", "2", "--book", str(book), "--runner", "builtin", "--max-moves", "20"]
    return [*engines, *settings, "--quiet", *more]


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "ledger"
    folder.mkdir()
    monkeypatch.setattr(records, "LEDGER", folder)
    return folder


def test_a_match_is_drawn_and_recorded(tmp_path: Path, ledger: Path) -> None:
    picture = tmp_path / "match.png"
    more = ["--plot", str(picture), "--ledger", "two-fakes", "--what", "nothing at all", "--commit", "abc"]
    assert match.main(arguments(tmp_path, *more)) == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    record = json.loads((ledger / "two-fakes.json").read_text(encoding="utf-8"))
    assert record["games"] == 4
    assert record["engines"] == ["A", "B"]
    assert record["commits"] == ["abc"]
    assert record["book"] == "book.epd"
    assert record["verdict"] == "measured"


@pytest.mark.parametrize(
    ("more", "status", "part"),
    [
        (["--ledger", "x"], 2, "--ledger needs --what"),
        (["--plot", "picture.txt"], 1, "picture.txt"),
    ],
)
def test_what_cannot_be_kept_is_told_before_the_games(
    tmp_path: Path, ledger: Path, capsys: pytest.CaptureFixture[str], more: list[str], status: int, part: str
) -> None:
    assert match.main(arguments(tmp_path, *more)) == status
    output = capsys.readouterr()
    assert part in output.err
    assert output.out == ""
