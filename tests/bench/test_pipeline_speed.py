"""How fast games and networks are made: figures of commands whose outcome is known, and the commands themselves."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from bench import pipeline_speed
from bench.pipeline_speed import PipelineError, generation_speed, measure_pipeline, training_speeds

#: Stands for Secateur: notes what it was asked, and says what the note beside it holds for the command.
_FAKE = """\
import json, sys
from pathlib import Path
here = Path(__file__).parent
with (here / "asked").open("a") as asked:
    print(*sys.argv[1:], file=asked)
answer = json.loads((here / "answers").read_text())[sys.argv[1]]
if isinstance(answer, str):
    sys.exit(answer)
print(json.dumps(answer))
"""


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a program in Secateur's place that gives the answers there."""
    (tmp_path / "fake.py").write_text(_FAKE)
    monkeypatch.setattr(pipeline_speed, "SECATEUR", [sys.executable, str(tmp_path / "fake.py")])
    answer({"datagen": {"positions": 12_000}, "train": {"pace": {"training": 9e6, "with_loading": 7.5e5}}}, tmp_path)
    return tmp_path


def answer(answers: dict[str, object], folder: Path) -> None:
    (folder / "answers").write_text(json.dumps(answers))


def test_figures_are_those_of_the_commands(fake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([100.0, 120.0, 200.0, 230.0])
    monkeypatch.setattr(pipeline_speed, "time", SimpleNamespace(perf_counter=lambda: next(times)))
    rows, remarks = measure_pipeline(2, lambda _: None)
    assert remarks == []
    assert [(row.values, row.verdict()) for row in rows] == [((600.0, 400.0), "must"), ((0.75, 0.75), "must")]
    asked = [line.split() for line in (fake / "asked").read_text().splitlines()]
    assert [line[0] for line in asked] == ["datagen", "datagen", "datagen", "train", "train"]
    for line in asked[:2]:
        assert line[line.index("--nodes") + 1] == "5000"
        assert line[line.index("--network") + 1].endswith("default.snet")
    for line in asked[3:]:
        assert line[1] == asked[2][1]
        assert line[line.index("--hidden") + 1] == "128"


def test_a_command_that_fails_is_a_remark(fake: Path) -> None:
    answer({"datagen": "first line\nthere is no room"}, fake)
    rows, remarks = measure_pipeline(1, lambda _: None)
    assert rows == []
    assert remarks == ["Making games and networks was not measured: there is no room"]
    answer({"datagen": {"positions": 5}, "train": "no such thing"}, fake)
    with pytest.raises(PipelineError, match="no such thing"):
        training_speeds(1)


def test_the_commands_are_secateurs() -> None:
    assert generation_speed(games=16, nodes=40) > 0
    first, second = training_speeds(2, positions=9000, passes=2, width=32)
    assert first > 0
    assert second > 0
