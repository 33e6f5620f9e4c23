"""The documentation's examples in Python run as they stand there."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import chess

from tests.conftest import PROJECT


def examples(page: str) -> list[str]:
    """The Python code blocks of a page."""
    text = (PROJECT / page).read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def evaluation_example() -> str:
    """The file with a custom evaluation, which plays a game when it is run."""
    (example,) = (block for block in examples("docs/python.md") if "def evaluate(position" in block)
    return example


def test_the_example_of_the_readme_is_short_and_finds_a_move(run_python: Callable[..., str]) -> None:
    (example,) = examples("README.md")
    assert sum(bool(line.strip()) for line in example.splitlines()) <= 5
    assert chess.Move.from_uci(run_python(example).strip()) in chess.Board().legal_moves


def test_the_first_example_does_what_it_says(run_python: Callable[..., str]) -> None:
    lines = run_python(examples("docs/python.md")[0]).splitlines()
    played, *variations, analysed = lines
    assert len(variations) == 2
    assert all(re.match(r"[+-]?\d+ 11\. \w+", line) for line in variations)
    assert len(played) == len(analysed) == 4


def test_the_evaluation_is_short_and_plays_a_game(run_python: Callable[..., str], tmp_path: Path) -> None:
    example = evaluation_example()
    assert sum(bool(line.strip()) for line in example.splitlines()) <= 18
    (tmp_path / "centre.py").write_text(example, encoding="utf-8")
    script = "import runpy; runpy.run_path('centre.py', run_name='__main__')"
    result, fen = run_python(script, cwd=tmp_path).strip().split(" ", 1)
    assert result in ("1-0", "0-1", "1/2-1/2")
    assert chess.Board(fen).fullmove_number > 10
