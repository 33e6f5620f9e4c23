"""What the README says of Secateur in a Python program is run as it stands there."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import chess

from tests.conftest import PROJECT

BEGIN, END = "## From Python\n", "\n## Commands\n"


def section() -> str:
    text = (PROJECT / "README.md").read_text(encoding="utf-8")
    return text[text.index(BEGIN) : text.index(END)]


def blocks(language: str) -> list[str]:
    """The code blocks of the section."""
    return re.findall(rf"^```{language}\n(.*?)^```$", section(), re.MULTILINE | re.DOTALL)


def evaluation_example() -> str:
    """The file with an evaluation of one's own, that plays a game when it is run."""
    (example,) = (block for block in blocks("python") if "def evaluate(position)" in block)
    return example


def test_the_first_example_does_what_it_says(run_python: Callable[..., str]) -> None:
    lines = run_python(blocks("python")[0]).splitlines()
    assert lines[0] == "h5f7"
    assert lines[1].startswith("#+1 4. Qxf7#")
    assert len(lines) == 3


def test_the_evaluation_is_short_and_plays_a_game(run_python: Callable[..., str], tmp_path: Path) -> None:
    example = evaluation_example()
    assert sum(bool(line.strip()) for line in example.splitlines()) <= 15
    (tmp_path / "centre.py").write_text(example, encoding="utf-8")
    script = "import runpy; runpy.run_path('centre.py', run_name='__main__')"
    result, fen = run_python(script, cwd=tmp_path).strip().split(" ", 1)
    assert result in ("1-0", "0-1", "1/2-1/2")
    assert chess.Board(fen).fullmove_number > 10
