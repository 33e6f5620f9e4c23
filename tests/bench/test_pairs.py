"""The state files of `spsa` and `ablation`: nothing is lost, nothing foreign is touched, damage is named."""

import math
from pathlib import Path

import pytest

from bench.adjudication import Adjudication
from bench.openings import Opening
from bench.pairs import FORMAT, PairsError, StateFile, make_task
from tests.bench.fakes import fake, room_for

HEADER = f'{{"secateur-spsa": {FORMAT}, "settings": {{"seed": 2}}}}\n'


def begun(path: Path, *results: tuple[int, int]) -> StateFile:
    state = StateFile(path, "spsa")
    state.begin({"seed": 2})
    for number, points in results:
        state.add(number, points)
    return state


@pytest.mark.parametrize("torn", [b"", b"{", b'{"number": 3, "points": -', b'{"number": 4, "faults": 1', b"my notes"])
def test_a_killed_run_resumes_exactly(tmp_path: Path, torn: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    whole, cut = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"
    begun(whole, (0, -1), (1, 0), (3, 2)).add(2, faults=2)
    begun(cut, (0, -1), (1, 0), (3, 2))
    cut.write_bytes(cut.read_bytes() + torn)
    before = cut.read_bytes()
    state = StateFile(cut, "spsa")
    assert (state.settings, state.results) == ({"seed": 2}, {0: -1, 1: 0, 3: 2})
    assert cut.read_bytes() == before  # reading changes nothing
    state.add(2, faults=2)
    assert cut.read_bytes() == whole.read_bytes()
    note = f"secateur spsa: note: {cut}:5: ignored a partial result\n"
    kept = tmp_path / "cut-old.jsonl"
    assert capsys.readouterr().err == (f"{note}note: {cut}: the dropped end is in {kept}\n" if torn else "")
    assert kept.read_bytes() == torn if torn else not kept.exists()


@pytest.mark.parametrize("end", [b"", b"\n", b"\0\0"])
def test_a_whole_last_result_counts_without_a_line_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], end: bytes
) -> None:
    whole, cut = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"
    begun(whole, (0, -1), (31, -2), (1, 2))
    begun(cut, (0, -1), (31, -2))
    cut.write_bytes(cut.read_bytes()[:-1] + end)
    before = cut.read_bytes()
    assert StateFile(cut, "spsa", write=False).results == {0: -1, 31: -2}
    state = StateFile(cut, "spsa")
    assert cut.read_bytes() == before
    state.add(1, 2)
    assert cut.read_bytes() == whole.read_bytes()
    assert state.results == StateFile(cut, "spsa").results == {0: -1, 31: -2, 1: 2}
    note = f"note: {cut}: the dropped end is in {tmp_path / 'cut-old.jsonl'}\n"
    assert capsys.readouterr().err == (note if end == b"\0\0" else "")


def test_order_faults_and_missing_numbers_come_back(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    begun(path, (0, 1), (3, 2), (2, 0)).add(1, faults=2)
    for state in (StateFile(path, "spsa"), StateFile(path, "spsa", write=False)):
        assert list(state.results.items()) == [(0, 1), (3, 2), (2, 0)]
        assert state.faults == 2
        assert list(state.missing(range(6))) == [1, 4, 5]
    state = StateFile(path, "spsa")
    state.add(1, 1)  # an item that was spoilt is played again
    assert StateFile(path, "spsa").results[1] == 1


def test_times_come_back(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    state = begun(path, (0, 1))
    state.add(1, -1, seconds=(3.0, 1.5))
    state.add(2, 0, seconds=(0.0, 1.0))
    for read in (state, StateFile(path, "spsa")):
        assert read.seconds == {1: (3.0, 1.5), 2: (0.0, 1.0)}
        assert [read.log_time(number) for number in range(3)] == [0, pytest.approx(math.log(2)), 0]


def test_a_new_run_replaces_the_old_one_only_when_it_begins(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run.jsonl"
    begun(path, (0, 1))
    before = path.read_bytes()
    state = StateFile(path, "spsa", read=False)
    assert state.is_there
    assert path.read_bytes() == before
    state.begin({"seed": 3})
    assert StateFile(path, "spsa").settings == {"seed": 3}
    assert not StateFile(path, "spsa").results
    old = tmp_path / "run-old.jsonl"
    assert old.read_bytes() == before
    assert capsys.readouterr().err == f"note: {path}: the old contents are in {old}\n"


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("my notes", "already exists and is not a state of `secateur spsa`; it is left unchanged"),
        ("\x89PNG\r\n", "already exists and is not a state"),
        (HEADER.replace("spsa", "ablation"), "already exists and is not a state"),
        (HEADER.replace(str(FORMAT), "999"), r"run:1: not a state file of this version of `secateur spsa`"),
        ('{"secateur-spsa": ', "run:1: not a state file of this version"),
        (HEADER + "my notes\n", "run:2: not a result of this run"),
        (HEADER + "[]\n", "run:2: not a result of this run"),
        (HEADER + '{"number": 1, "points": 0}my notes\n', "run:2: not a result of this run"),
        (HEADER + '{"number": -1, "points": 0}\n', "run:2: not a result of this run"),
        (HEADER + '{"number": 1, "faults": 0.5}\n', "run:2: not a result of this run"),
        (HEADER + '{"number": 1}\n', "run:2: not a result of this run"),
        (HEADER + '{"number": 1, "points": 0.5}\n', "run:2: not a result of this run"),
        (HEADER + '{"number": 1, "points": 1, "seconds": [1, -1]}\n', "run:2: not a result of this run"),
        (HEADER + '{"number": 1, "points": 1, "seconds": [1]}\n', "run:2: not a result of this run"),
        (HEADER + '{"number": 1, "points": 1, "seconds": [1, NaN]}\n', "run:2: not a result of this run"),
    ],
)
def test_damaged_and_foreign_files_are_refused_and_kept(tmp_path: Path, text: str, part: str) -> None:
    path = tmp_path / "run"
    path.write_text(text, encoding="latin-1")
    before = path.read_bytes()
    with pytest.raises(PairsError, match=part):
        StateFile(path, "spsa")
    assert path.read_bytes() == before


def test_an_empty_file_cannot_be_shown(tmp_path: Path) -> None:
    (tmp_path / "run").touch()
    with pytest.raises(PairsError, match="run: is empty"):
        StateFile(tmp_path / "run", "spsa", write=False)


@pytest.mark.parametrize("how", ["moved", "added to"])
@pytest.mark.parametrize("begins", [False, True])
def test_a_file_that_somebody_changes_meanwhile_is_left_alone(tmp_path: Path, how: str, begins: bool) -> None:
    path, mine = tmp_path / "run.jsonl", tmp_path / "mine"
    begun(path, (0, 1))
    state = StateFile(path, "spsa", read=not begins)
    if how == "moved":
        mine.write_bytes(path.read_bytes())
        mine.replace(path)
    else:
        with path.open("ab") as file:
            file.write(b"my notes\n")
    before, beside = path.read_bytes(), tmp_path / "run-2.jsonl"
    words = "the file was replaced by another file" if how == "moved" else "the file was changed by another program"
    with pytest.raises(PairsError, match=f"{path}: {words}; it is left unchanged; its new contents are in {beside}"):
        state.begin({"seed": 3}) if begins else state.add(1, 2)
    assert path.read_bytes() == before
    saved = StateFile(beside, "spsa")
    assert (saved.settings, saved.results) == (({"seed": 3}, {}) if begins else ({"seed": 2}, {0: 1, 1: 2}))


def test_both_sides_play_both_colours_from_one_opening() -> None:
    openings = [Opening(name=name) for name in "abc"]
    task = make_task(5, fake("plus"), fake("minus"), openings, Adjudication())
    assert [(game.white.name, game.black.name) for game in task.games] == [("plus", "minus"), ("minus", "plus")]
    assert [game.opening.name for game in task.games] == ["c", "c"]
    assert [(game.game, game.pair) for game in task.games] == [(10, 5), (11, 5)]


@pytest.mark.parametrize("cut", [b"", b'{"number": 3, "poi'])
def test_a_full_disk_leaves_the_earlier_state(tmp_path: Path, cut: bytes) -> None:
    path = tmp_path / "run.jsonl"
    begun(path, (0, 1))
    path.write_bytes(path.read_bytes() + cut)
    before = path.read_bytes()
    state = StateFile(path, "spsa", read=bool(cut))
    with room_for(len(before) // 2), pytest.raises(PairsError, match="File too large"):
        state.add(1, 2) if cut else state.begin({"seed": 3})
    assert path.read_bytes() == before
