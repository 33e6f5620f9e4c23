"""The folder of a run: no file of another program is lost, and no earlier run before the new one can begin."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import uci_main
from eval.network.format import MAGIC, encode_network, read_network
from eval.training import pool
from eval.training.commands import train
from eval.training.generation import generate
from eval.training.pool import FACTS
from eval.training.runs import RUN, Run, load_run, new_pool, output_of, save_run
from eval.training.samples import Filter
from eval.training.shards import only_writer
from eval.training.trainer import Entry, Moment, Recipe, Trainer, TrainingError
from tests.eval.networks import random_network
from tests.training.conftest import QUICK, TINY, arguments


@pytest.fixture
def folder(trained: Path, tmp_path: Path) -> Path:
    """A copy of a finished run, for `net.snet`, which is not there."""
    copy = tmp_path / "net.training"
    shutil.copytree(trained.with_suffix(".training"), copy)
    return copy


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_run_is_read_back(tmp_path: Path) -> None:
    run = Run(Recipe(scale=123.5), ("a", "b"), True, Filter(skip=3, quiet=False, halfmoves=30), 0.25)
    save_run(output_of(tmp_path, RUN), run)
    assert load_run(tmp_path) == run
    with pytest.raises(TrainingError, match=r"contains no run to resume$"):
        load_run(tmp_path / "other")


def test_a_new_run_takes_no_file_of_another_program(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output, folder = tmp_path / "net.snet", tmp_path / "project"
    folder.mkdir()
    given = arguments(made, output, "--checkpoint", str(folder), "--quiet")
    for name in ("log.jsonl", "run.json", "start.snet", "training.samples"):
        path = folder / name
        path.write_bytes(b"mine")
        for more in ([], ["--overwrite"]):
            assert uci_main.main([*given, *more]) == 1, name
            assert str(path) in capsys.readouterr().err
            assert path.read_bytes() == b"mine"
        path.unlink()
    output.write_bytes(b"my notes")
    for more in ([], ["--overwrite"], ["--resume"]):
        assert uci_main.main([*given, *more]) == 1
        assert "already exists and is not a network file" in capsys.readouterr().err
    output.write_bytes(MAGIC + b"another network")
    assert uci_main.main(given) == 1
    assert "already exists; pass --overwrite to replace it" in capsys.readouterr().err
    assert output.read_bytes() == MAGIC + b"another network"


def test_a_run_is_resumed_onto_its_own_network_only(
    made: Path, trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.snet"
    assert uci_main.main(arguments(made, other, "--quiet", "--seed", "7")) == 0
    before = other.read_bytes()
    capsys.readouterr()
    given = ["--checkpoint", str(trained.with_suffix(".training")), "--resume", "--quiet", "--output", str(other)]
    assert train.main(given) == 1
    assert capsys.readouterr().err == (
        f"secateur train: {other} already exists and is not from this run; name another file\n"
    )
    assert other.read_bytes() == before
    other.write_bytes(b"")
    assert train.main(given) == 0
    assert train.main(given) == 0
    mine = encode_network(replace(read_network(other), output_bias=read_network(other).output_bias + 1))
    other.write_bytes(mine)  # edited by hand, with the recipe and data of the run
    assert train.main(given) == 1
    assert other.read_bytes() == mine


@pytest.mark.parametrize("more", [["--resume"], ["--overwrite"]])
@pytest.mark.parametrize("name", ["training.samples", "checkpoint.npz", "log.jsonl", "start.snet", "pool.json"])
def test_files_in_a_run_that_are_not_its_own_stay(
    made: Path, folder: Path, name: str, more: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [*([] if more == ["--resume"] else [str(made), *TINY]), "--output", str(tmp_path / "net.snet"), "--quiet"]
    (folder / name).write_bytes(b"my diary " * 10)
    before = contents(folder)
    assert train.main([*given, *more]) == 1
    error = capsys.readouterr().err
    assert f"{folder / name}: already exists and is not a " in error
    assert error.count("\n") == 1
    assert contents(folder) == before
    (folder / name).unlink()
    (folder / name).symlink_to(tmp_path / "elsewhere")
    assert train.main([*given, *more]) == 1
    assert capsys.readouterr().err == f"secateur train: {folder / name}: is a link, not a file of the run\n"
    assert not (tmp_path / "elsewhere").exists()


def test_a_lost_pool_is_made_again(folder: Path, trained: Path) -> None:
    (folder / FACTS).unlink()
    (folder / "training.samples").write_bytes((folder / "training.samples").read_bytes()[:1001])
    output = folder.with_suffix(".snet")
    assert train.main(["--output", str(output), "--resume", "--quiet"]) == 0
    assert read_network(output).features.tobytes() == read_network(trained).features.tobytes()


@pytest.mark.parametrize("name", ["net.snet", "log.jsonl", "checkpoint.npz", "run.json"])
def test_a_file_that_takes_the_place_of_an_output_stays(
    made: Path, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    name: str,
) -> None:  # fmt: skip
    output = tmp_path / "net.snet"
    folder, mine = output.with_suffix(".training"), tmp_path / "mine"
    path = output if name == "net.snet" else folder / name
    before = (trained if name == "net.snet" else trained.with_suffix(".training") / name).read_bytes()
    mine.write_bytes(before)
    really = Trainer.superbatch

    def superbatch(self: Trainer, on_step: object) -> Entry:
        entry = really(self)
        if entry.superbatch == 2:
            mine.replace(path)
        return entry

    monkeypatch.setattr(Trainer, "superbatch", superbatch)
    assert uci_main.main(arguments(made, output, "--quiet", "--seed", "9")) == 1
    beside = path.with_stem(path.stem + "-2")
    told = f"{path}: the file was replaced by another file; it is left unchanged; its new contents are in {beside}"
    assert capsys.readouterr().err == f"secateur train: {told}\n"
    assert path.read_bytes() == before
    if name == "net.snet":
        assert read_network(beside).provenance["recipe"]["seed"] == 9
    else:
        assert beside.stat().st_size


def test_a_run_whose_folder_was_moved_writes_nothing_more(
    made: Path, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    output, moved = tmp_path / "net.snet", tmp_path / "moved"
    folder, other = output.with_suffix(".training"), trained.with_suffix(".training")
    really = Trainer.superbatch

    def superbatch(self: Trainer, on_step: object) -> Entry:
        if len(self.state.log) == 1:
            folder.rename(moved)
            shutil.copytree(other, folder)
        return really(self)

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "superbatch", superbatch)
        assert uci_main.main(arguments(made, output, "--quiet", "--seed", "9")) == 1
    told = f"{folder / 'lock'}: the folder or its lock was moved or replaced; nothing more is written"
    assert capsys.readouterr().err == f"secateur train: {told}\n"
    assert contents(folder) == contents(other)
    assert not output.exists()
    assert train.main(["--output", str(output), "--checkpoint", str(moved), "--resume", "--quiet"]) == 0


@pytest.mark.parametrize("more", [["--resume"], ["--overwrite"]])
def test_a_network_that_the_run_did_not_begin_with_stays(
    made: Path, trained: Path, folder: Path, more: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    given = [*([] if more == ["--resume"] else [str(made), *TINY]), "--quiet", *more]
    output = folder.with_suffix(".snet")
    (folder / "start.snet").write_bytes(trained.read_bytes())
    before = contents(folder)
    assert train.main([*given, "--output", str(output)]) == 1
    assert capsys.readouterr().err == f"secateur train: {folder / 'start.snet'}: is not part of this run; move it\n"
    assert contents(folder) == before


@pytest.mark.parametrize("more", [["--resume"], ["--overwrite"]])
def test_an_edited_log_stays(made: Path, folder: Path, more: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    given = [*([] if more == ["--resume"] else [str(made), *TINY]), "--quiet", *more]
    given += ["--output", str(folder.with_suffix(".snet"))]
    path = folder / "log.jsonl"
    log = path.read_bytes()
    lines = log.splitlines(keepends=True)
    noted = log.replace(b'{"superbatch": 2, ', b'{"superbatch": 2, "note": "good", ')
    for text in (noted, log + b"a note\n", log + lines[0], b"".join(lines[:-2])):
        path.write_bytes(text)
        assert train.main(given) == 1
        told = f"secateur train: {path}: differs from the log in checkpoint.npz; move it\n"
        assert capsys.readouterr().err == told
        assert path.read_bytes() == text
    path.write_bytes(b"".join(lines[:-1]))  # as if the run had been killed before it wrote the log
    assert train.main(given) == 0


@pytest.mark.parametrize("more", [["--resume"], ["--overwrite"]])
def test_an_edited_recipe_is_refused_once_training_has_begun(
    made: Path, folder: Path, more: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    given = [*([] if more == ["--resume"] else [str(made), *TINY]), "--quiet", *more]
    given += ["--output", str(folder.with_suffix(".snet"))]
    path, edits = folder / RUN, {"hidden": 64, "superbatches": 2, "rate": 0.002}
    values = json.loads(path.read_bytes())
    path.write_text(json.dumps(values | {"recipe": values["recipe"] | edits}), encoding="utf-8")
    before = contents(folder)
    assert train.main(given) == 1
    changes = "hidden 64 instead of 32, superbatches 2 instead of 3, rate 0.002 instead of 0.004"
    told = f"secateur train: {path}: has {changes} as in checkpoint.npz\n"
    assert capsys.readouterr().err == told
    assert contents(folder) == before
    (folder / "checkpoint.npz").unlink()
    (folder / "log.jsonl").unlink()
    assert train.main(given) == 0
    assert load_run(folder).recipe.hidden == (64 if more == ["--resume"] else 32)


def test_another_slope_in_the_pool_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / FACTS
    facts = json.loads(path.read_bytes())
    path.write_text(json.dumps({**facts, "slope": 999}, indent=2), encoding="utf-8")
    assert train.main(["--output", str(folder.with_suffix(".snet")), "--resume", "--quiet"]) == 1
    told = f"pool.json: has slope 999 instead of {facts['slope']:g} as in the checkpoint"
    assert capsys.readouterr().err == f"secateur train: {told}\n"


def test_a_running_training_is_named_first(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "log.jsonl").write_bytes((folder / "log.jsonl").read_bytes() * 2)  # as if the checkpoint were older
    with only_writer(folder, "training"):
        assert train.main(["--output", str(folder.with_suffix(".snet")), "--resume", "--quiet"]) == 1
    assert capsys.readouterr().err == f"secateur train: {folder}: another process is training there\n"


def test_an_older_checkpoint_has_no_recipe_and_no_slope(folder: Path) -> None:
    path = folder / "checkpoint.npz"
    with np.load(path) as data:
        np.savez(path, **{name: data[name] for name in data if name not in ("recipe", "slope")})
    assert train.main(["--output", str(folder.with_suffix(".snet")), "--resume", "--quiet"]) == 0


def test_a_pool_of_other_data_replaces_nothing(
    made: Path, in_process: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, output, moved = tmp_path / "data", tmp_path / "net.snet", tmp_path / FACTS
    folder = output.with_suffix(".training")
    shutil.copytree(made, data)
    assert uci_main.main(arguments(data, output, "--quiet")) == 0
    generate(data, QUICK, games=80)
    (folder / FACTS).rename(moved)
    before = contents(folder)
    assert train.main(["--output", str(output), "--resume", "--quiet"]) == 1
    told = "secateur train: the data differ from those that the run began with\n"
    assert capsys.readouterr().err == told
    assert contents(folder) == before
    moved.rename(folder / FACTS)
    assert train.main(["--output", str(output), "--resume", "--quiet"]) == 0


def test_records_of_an_earlier_run_are_kept_beside(
    made: Path, trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "net.training"
    given = arguments(made, tmp_path / "net.snet", "--quiet", "--overwrite")
    assert uci_main.main([*given, "--start", str(trained)]) == 0
    before = contents(folder)
    capsys.readouterr()
    for end, names in (("", ("start", "log", "pool", "run")), ("-2", ("log", "pool", "run"))):
        assert uci_main.main([*given, "--seed", "2"]) == 0
        kept = {
            name: f"{name}-old{end}{Path(old).suffix}" for name in names for old in before if Path(old).stem == name
        }
        told = f"secateur train: {folder}: the earlier run is kept in part: {', '.join(kept.values())}\n"
        note = f"note: {tmp_path / 'net.snet'}: the old contents are in {tmp_path / f'net-old{end}.snet'}\n"
        assert sorted(capsys.readouterr().err.splitlines(keepends=True)) == sorted([told, note])
    for old in ("start.snet", "log.jsonl", "pool.json", "run.json"):
        path = Path(old)
        assert (folder / f"{path.stem}-old{path.suffix}").read_bytes() == before[old]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"recipe": {"threads": True}}, "threads has the wrong type: 'True'"),
        ({"recipe": {"superbatches": 1.5}}, "superbatches has the wrong type: '1.5'"),
        ({"recipe": None}, "recipe has the wrong type: 'None'"),
        ({"network": [1]}, "network has the wrong type: '[1]'"),
        ({"data": [1]}, "data has the wrong type: '1'"),
        ({"data": "ab"}, "data has the wrong type: 'ab'"),
        ({"wanted": {"skip": "x"}}, "skip has the wrong type: 'x'"),
        ({"wanted": {"skip": 10**30}}, "Python int too large to convert to C long"),
        ({"note": 1}, "unexpected keyword argument 'note'"),
        ({"slope": None}, "slope has the wrong type: 'None'"),
        ({"slope": "x"}, "slope has the wrong type: 'x'"),
        ({"slope": 0}, "slope must be greater than 0"),
        ({"training": None}, "training has the wrong type: 'None'"),
        ({"sources": [1]}, "sources has the wrong type: '1'"),
    ],
)
def test_edited_facts_of_a_run_are_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], change: dict[str, Any], words: str
) -> None:
    pool_file, run_file = folder / FACTS, folder / RUN
    path = pool_file if change.keys() <= json.loads(pool_file.read_bytes()).keys() - {"wanted"} else run_file
    values = json.loads(path.read_bytes())
    for key, value in change.items():
        values[key] = values[key] | value if isinstance(value, dict) else value
    path.write_text(json.dumps(values, indent=2), encoding="utf-8")
    assert train.main(["--output", str(folder.with_suffix(".snet")), "--resume", "--quiet"]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"secateur train: {path}: ")
    assert error.endswith(f"{words}\n")
    assert error.count("\n") == 1


def test_the_earlier_run_stays_until_the_new_one_can_begin(
    made: Path, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = contents(folder)
    given = arguments(made, tmp_path / "net.snet", "--quiet", "--seed", "3")
    notes, other = tmp_path / "notes", tmp_path / "other.snet"
    notes.write_text("mine")
    other.write_bytes(encode_network(random_network(hidden=64)))
    assert uci_main.main(given) == 1
    told = f"secateur train: {folder} contains a run; pass --resume to continue it or --overwrite to replace it\n"
    assert capsys.readouterr().err == told
    for more, words in (
        (["--batch-size", "1280000"], " to train on; a batch needs 1280000"),
        (["--start", str(other), "--hidden", "32"], "(got (64, 8, False))"),
    ):
        assert uci_main.main([*given, "--overwrite", *more]) == 1
        error = capsys.readouterr().err
        assert words in error
        assert error.count("\n") == 1
        assert contents(folder) == before
    assert uci_main.main([*arguments(notes, tmp_path / "net.snet"), "--quiet", "--overwrite"]) == 1  # no shard at all
    assert contents(folder) == before
    for kind, words in ((KeyboardInterrupt, "interrupted"), (OSError, "no room")):

        def fail(samples: object, kind: type[BaseException] = kind) -> None:
            raise kind(28, "no room")

        with monkeypatch.context() as patch:
            patch.setattr(pool, "_slope", fail)
            assert uci_main.main([*given, "--overwrite"]) == 1
        assert words in capsys.readouterr().err
        assert contents(folder) == before
    assert uci_main.main([*given, "--overwrite"]) == 0
    assert contents(folder).keys() == before.keys() | {"log-old.jsonl", "pool-old.json", "run-old.json"}
    assert load_run(folder).recipe.seed == 3
    assert len((folder / "log.jsonl").read_bytes().splitlines()) == 3


def test_only_temporary_pools_of_killed_commands_are_removed(tmp_path: Path) -> None:
    killed, noted, backup, empty = (tmp_path / f".new-pool-{name}" for name in ("killed", "noted", "backup", "empty"))
    for path in (
        killed / "0",
        noted / "1",
        noted / "notes",
        noted / "2" / "3",
        backup / "2024" / "thesis",
        backup / "5",
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"some positions")
    empty.mkdir()
    for folder in (killed, noted):
        (folder / "made-by-secateur").write_text(folder.name)
    with new_pool(tmp_path) as new:
        (new / "0").write_bytes(b"positions")
        (new / "diary").write_bytes(b"mine")
    assert contents(tmp_path) == {
        **dict.fromkeys((".new-pool-noted/notes", ".new-pool-noted/2/3"), b"some positions"),
        **dict.fromkeys((".new-pool-backup/2024/thesis", ".new-pool-backup/5"), b"some positions"),
        ".new-pool-noted/made-by-secateur": b".new-pool-noted",
        f"{new.name}/diary": b"mine",
        f"{new.name}/made-by-secateur": new.name.encode(),
    }
    assert empty.exists()
    assert not killed.exists()


def test_a_run_that_arrives_while_the_pool_is_made_stays(
    made: Path, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before, other = contents(folder), tmp_path / "other"
    folder.rename(other)

    def arrive(samples: object) -> float:
        shutil.copytree(other, folder, dirs_exist_ok=True)
        return 400.0

    monkeypatch.setattr(pool, "_slope", arrive)
    assert uci_main.main(arguments(made, tmp_path / "net.snet", "--quiet")) == 1
    assert f"{folder} contains a run; pass --resume" in capsys.readouterr().err
    assert contents(folder) == before


def test_an_interrupted_run_says_how_to_resume(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(self: object, moment: Moment) -> None:
        raise KeyboardInterrupt

    output = tmp_path / "net.snet"
    with monkeypatch.context() as patch:
        patch.setattr("eval.training.training_view.TrainingView.step", interrupt)
        assert uci_main.main(arguments(made, output, "--quiet")) == 1
    told = f"secateur train: interrupted; pass --resume to continue the run in {tmp_path / 'net.training'}\n"
    assert capsys.readouterr().err == told
    assert train.main(["--output", str(output), "--resume", "--quiet"]) == 0
