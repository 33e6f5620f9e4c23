"""`train` and `net` on the command line: from games to a network file, and what is refused in which words."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import uci_main
from bench.records import current_commit
from engine.board.position import POSITION
from engine.compiler.cache_folder import mark
from engine.memory import allocate
from engine.version import version
from eval.network.evaluator import NetworkEvaluator
from eval.network.format import MAGIC, encode_network, network_digest, read_network
from eval.training import pool
from eval.training.commands import net, train
from eval.training.kernels.records import unpack_samples
from eval.training.pool import FACTS, open_pool
from eval.training.quantise import integer_scores
from eval.training.trainer import _NEW_TEXT, NEW, RUN, Entry, Moment, Trainer, load_run
from eval.training.training_view import TrainingView, plot_losses, sparkline
from tests.conftest import PROJECT
from tests.eval.networks import random_network
from tests.training.conftest import TINY, arguments


def test_a_network_comes_out(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "tiny.snet"
    assert uci_main.main(arguments(made, output)) == 0
    out, err = capsys.readouterr()
    first, second, third = out.splitlines()
    assert first.startswith(f"{output}: training error 0.")
    assert ", validation error 0." in first
    assert second.startswith("rounding costs ")
    assert re.fullmatch(r"[\d,]+ positions/s in training, [\d,]+ with decoding, filtering and shuffling", third)
    lines = err.splitlines()
    told = re.compile(r".* games, loaded in [\d.]+ s; \d+ steps a superbatch; scale ")
    assert len(list(filter(told.match, lines))) == 1
    done = [line.split(":")[0] for line in lines if re.match(r"superbatch \d of 3:", line)]
    assert done == [f"superbatch {number} of 3" for number in (1, 2, 3)]
    network = read_network(output)
    assert (network.hidden, network.buckets) == (32, 8)
    facts = dict(network.provenance)
    assert facts["licence"] == "GPL-3.0-or-later"
    assert (facts["version"], facts["commit"]) == (version(), current_commit())
    assert facts["recipe"]["superbatches"] == 3
    assert "seconds" not in facts["data"]
    assert facts["data"]["games"] == 64
    assert facts["quantisation"]["rms"] < facts["quantisation"]["most"] < 40
    assert str(tmp_path) not in json.dumps(facts)
    assert str(made) not in json.dumps(facts)


def test_the_error_falls_and_the_log_says_so(trained: Path) -> None:
    lines = (trained.with_suffix(".training") / "log.jsonl").read_text(encoding="utf-8").splitlines()
    log = [json.loads(line) for line in lines]
    assert [entry["superbatch"] for entry in log] == [1, 2, 3]
    assert log[2]["training"] < log[1]["training"] < log[0]["training"]
    assert all(entry["positions_per_second"] > 0 for entry in log)


def test_the_outcome_as_json(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "tiny.snet"
    assert train.main([*arguments(made, output, "--quiet", "--json", "--seed", "5")[1:]]) == 0
    out, err = capsys.readouterr()
    told = json.loads(out)
    assert (told["network"], told["recipe"]["seed"], told["problems"], err) == (str(output), 5, [], "")
    pace, seen = told["pace"], told["positions_seen"]
    assert pace["training"] == pytest.approx(seen / pace["training_seconds"], rel=0.01)
    assert pace["with_loading"] == pytest.approx(seen / (pace["training_seconds"] + pace["loading_seconds"]), rel=0.01)


def test_the_engine_computes_what_was_exported(trained: Path) -> None:
    network = read_network(trained)
    samples = open_pool(trained.with_suffix(".training")).validation[:300]
    positions = allocate(POSITION, len(samples))
    unpack_samples(samples, positions)
    evaluator = NetworkEvaluator(network)
    found = [evaluator.score_position(position) for position in positions]
    assert found == integer_scores(network, samples).tolist()
    assert np.ptp(found) > 50


def test_a_killed_run_goes_on_to_the_same_network(made: Path, trained: Path, tmp_path: Path) -> None:
    output = tmp_path / "killed.snet"
    longer = [*arguments(made, output)[:-1], "1", "--superbatches", "150", "--superbatch-size", "2560"]
    command = [sys.executable, str(PROJECT / "uci_main.py"), *longer]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    log = output.with_suffix(".training") / "log.jsonl"
    deadline = time.monotonic() + 240
    while not log.exists():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    done = len(log.read_text(encoding="utf-8").splitlines())
    assert 0 < done < 150
    assert train.main(["--output", str(output), "--resume", "--quiet"]) == 0
    assert len(log.read_text(encoding="utf-8").splitlines()) == 150
    whole = tmp_path / "whole.snet"
    assert uci_main.main([*longer[:2], "--quiet", *longer[2:3], str(whole), *longer[4:]]) == 0
    one, two = read_network(output), read_network(whole)
    assert one.features.tobytes() == two.features.tobytes()
    assert one.output.tobytes() == two.output.tobytes()


def test_resuming_knows_the_run(made: Path, trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    again = ["--output", str(trained), "--resume", "--quiet"]
    before = read_network(trained)
    assert train.main([str(made), *again, *TINY]) == 0
    assert read_network(trained).features.tobytes() == before.features.tobytes()
    folder = trained.with_suffix(".training")
    for more, words in (
        (["--rate", "0.5"], f"{folder}: the run there has rate 0.004, not 0.5"),
        (["--skip", "3"], f"{folder}: the run there has skip 0, not 3"),
        (["--halfmoves", "256"], f"{folder}: the run there has halfmoves 40, not 256"),
        (["elsewhere"], f"{folder}: the run there is on {made}, not elsewhere"),
    ):
        capsys.readouterr()
        assert train.main([*again, *more]) == 2
        assert capsys.readouterr().err == f"secateur train: {words}\n"
    assert train.main([str(made), "--output", str(trained)]) == 1
    assert capsys.readouterr().err == (
        f"secateur train: {folder} holds a run already: --resume goes on with it, --overwrite drops it\n"
    )


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--hidden", "7"], "hidden is a multiple of 32 up to 512, not 7"),
        (["--halfmoves", "0"], "halfmoves is more than 0, not 0"),
        (["--validation", "1"], "validation lies between 0 and 1, not at 1"),
        (["--plot", "curve.txt"], "curve.txt: a picture's name ends with .png or .svg"),
    ],
)
def test_wrong_options(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], words: str
) -> None:
    if "--plot" in more:
        pytest.importorskip("matplotlib", reason="the extra 'lab' is not installed")
    assert train.main([str(made), "--output", str(tmp_path / "net.snet"), *more]) == 2
    assert capsys.readouterr().err == f"secateur train: {words}\n"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("output", ["", ".", "/"])
def test_a_folder_is_no_network(made: Path, output: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert train.main([str(made), "--output", output]) == 2
    assert capsys.readouterr().err == f"secateur train: --output {Path(output)}: this is a folder, not a file\n"


def test_a_network_is_trained_on(made: Path, trained: Path, tmp_path: Path) -> None:
    """It begins where the other one ended, and the recipe says which that was."""
    output = tmp_path / "on.snet"
    more = ["--start", str(trained), "--superbatches", "1", "--seed", "7", "--rate", "1e-9", "--quiet"]
    assert train.main([str(made), "--output", str(output), *TINY, *more]) == 0
    before, after = read_network(trained), read_network(output)
    assert after.provenance["recipe"]["start"] == network_digest(trained.read_bytes())
    assert (after.hidden, after.buckets) == (before.hidden, before.buckets)
    # So slow a rate changes nothing but the last digit here and there.
    assert np.abs(after.features - before.features).max() <= 1
    samples = open_pool(output.with_suffix(".training")).validation
    assert np.abs(integer_scores(after, samples) - integer_scores(before, samples)).max() <= 10
    faster = [*more[:-3], "--rate", "1e-3", "--quiet", "--overwrite"]
    assert train.main([str(made), "--output", str(output), *TINY, *faster]) == 0
    assert read_network(output).provenance["training_error"] < before.provenance["training_error"]


def test_a_run_that_never_finished_a_superbatch_begins_with_its_network_again(
    made: Path, trained: Path, tmp_path: Path
) -> None:
    output = tmp_path / "on.snet"
    assert train.main([str(made), "--output", str(output), *TINY, "--start", str(trained), "--quiet"]) == 0
    first = output.read_bytes()
    folder = output.with_suffix(".training")
    (folder / "checkpoint.npz").unlink()
    assert train.main(["--output", str(output), "--resume", "--quiet"]) == 0
    assert output.read_bytes() == first


def test_networks_that_cannot_be_trained_on_are_refused(
    made: Path, trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged = tmp_path / "damaged.snet"
    damaged.write_bytes(trained.read_bytes()[:-1])
    for start, more, status, words in (
        (trained, ["--hidden", "64"], 1, "the network to start from has hidden 32 and buckets 8, not 64 and 8"),
        (tmp_path / "none.snet", [], 1, f"{tmp_path / 'none.snet'}: No such file or directory"),
        (damaged, [], 1, f"{damaged}: the file is cut short: "),
    ):
        output = ["--output", str(tmp_path / "on.snet"), "--quiet", "--threads", "1"]
        assert train.main([str(made), *output, "--start", str(start), *more]) == status
        assert capsys.readouterr().err.startswith(f"secateur train: {words}")
        assert not (tmp_path / "on.training" / RUN).exists(), "the command as it was meant would be refused"


def test_missing_things(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "net.snet"
    for given, status, words in (
        ([str(tmp_path / "none")], 1, f"{tmp_path / 'none'}: there is no such file or folder"),
        ([], 2, "say what to train on: folders or shards of `secateur datagen`"),
        (["--resume"], 1, f"{tmp_path / 'net.training'}: holds no run to go on with"),
        ([str(made), "--batch-size", "1280000"], 1, "positions to train on do not fill a batch of 1280000"),
    ):
        threads = [] if given == ["--resume"] else ["--threads", "1"]
        assert train.main([*given, "--output", str(output), "--quiet", *threads]) == status
        assert capsys.readouterr().err.endswith(f"{words}\n")
    nowhere = tmp_path / "nowhere" / "net.snet"
    assert train.main([str(made), "--output", str(nowhere)]) == 1
    assert capsys.readouterr().err == f"secateur train: {nowhere}: there is no such folder\n"


def test_no_file_of_somebody_else_is_dropped(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output, folder = tmp_path / "net.snet", tmp_path / "project"
    given = [str(made), "--output", str(output), "--checkpoint", str(folder), "--quiet", *TINY]
    for name in ("log.jsonl", "buckets/7", "run.json", "start.snet", "training.samples"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"mine")
        for more in ([], ["--overwrite"], *([["--resume"]] if name == "run.json" else [])):
            assert train.main([*given, *more]) == 1, name
            assert str(path if "/" not in name else path.parent) in capsys.readouterr().err
            assert path.read_bytes() == b"mine"
        path.unlink()
        if "/" in name:
            path.parent.rmdir()
    output.write_bytes(b"my notes")
    for more in ([], ["--overwrite"], ["--resume"]):
        assert train.main([*given, *more]) == 1
        assert "is there already and is no network file" in capsys.readouterr().err
    output.write_bytes(MAGIC + b"another network")
    assert train.main(given) == 1
    assert "--overwrite replaces it" in capsys.readouterr().err
    assert output.read_bytes() == MAGIC + b"another network"


def test_a_run_goes_on_onto_its_own_network_only(
    made: Path, trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.snet"
    assert uci_main.main(arguments(made, other, "--quiet", "--seed", "7")) == 0
    before = other.read_bytes()
    capsys.readouterr()
    folder = trained.with_suffix(".training")
    given = ["--checkpoint", str(folder), "--resume", "--quiet", "--output"]
    assert train.main([*given, str(other)]) == 1
    assert capsys.readouterr().err == (
        f"secateur train: {other} is there already, and this run has not made it: name another file\n"
    )
    assert other.read_bytes() == before
    other.write_bytes(b"")
    assert train.main([*given, str(other)]) == 0
    assert train.main([*given, str(other)]) == 0


def test_a_run_that_goes_on_leaves_what_is_not_its_own(
    made: Path, trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, thesis = tmp_path / "net.training", tmp_path / "thesis"
    given = ["--output", str(tmp_path / "net.snet"), "--resume", "--quiet"]

    def refused(name: str, words: str) -> None:
        before = (folder / name).read_bytes()
        assert train.main(given) == 1
        error = capsys.readouterr().err
        assert f"{folder / name}: {words}" in error
        assert error.count("\n") == 1
        assert (folder / name).read_bytes() == before
        assert thesis.read_bytes() == b"mine" * 100

    def again() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(trained.with_suffix(".training"), folder)
        thesis.write_bytes(b"mine" * 100)

    for name in ("training.samples", "validation.samples"):
        words = "is there already, and no pool says that it is its own"
        again()
        (folder / FACTS).unlink()
        (folder / name).unlink()
        (folder / name).symlink_to(thesis)
        refused(name, words)
        (folder / name).unlink()
        (folder / name).write_bytes(thesis.read_bytes())
        refused(name, words)
    for name in ("run.json", "checkpoint.npz", "log.jsonl", "pool.json"):
        again()
        (folder / name).rename(tmp_path / "moved")
        (folder / name).symlink_to(tmp_path / "moved")
        refused(name, "is a link, not a file of the run")
    again()
    (folder / "log.jsonl").write_bytes(thesis.read_bytes())
    refused("log.jsonl", "is there already and is no log of a run; it is left as it is")
    again()
    (folder / FACTS).unlink()
    (folder / "training.samples").write_bytes((folder / "training.samples").read_bytes()[:1001])
    assert train.main(given) == 0  # a pool that was not finished


def test_a_bad_shard_alone_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shard = tmp_path / "notes.txt"
    shard.write_text("mine", encoding="utf-8")
    assert train.main([str(shard), "--output", str(tmp_path / "net.snet"), "--quiet", *TINY]) == 1
    assert re.fullmatch(rf"secateur train: left out: {re.escape(str(shard))}: .*\n", capsys.readouterr().err)
    assert not (tmp_path / "net.training" / RUN).exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
@pytest.mark.parametrize(
    "name", ["run.json", "checkpoint.npz", "training.samples", "validation.samples", "pool.json", "log.jsonl"]
)
def test_a_pipe_in_a_run_s_folder_is_refused(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    folder = tmp_path / "net.training"
    shutil.copytree(trained.with_suffix(".training"), folder)
    (folder / name).unlink()
    os.mkfifo(folder / name)
    assert train.main(["--output", str(tmp_path / "net.snet"), "--resume", "--quiet"]) == 1
    assert capsys.readouterr().err == f"secateur train: {folder / name}: is a pipe, not a file\n"


def test_a_run_that_begins_afresh_leaves_what_is_not_its_own(made: Path, tmp_path: Path) -> None:
    output = tmp_path / "net.snet"
    folder = output.with_suffix(".training")
    given = [*arguments(made, output, "--quiet")[1:]]
    assert train.main(given) == 0
    (folder / "notes.txt").write_text("mine")
    (folder / "buckets").mkdir()
    left = (folder / "training.samples").read_bytes()[:1001]  # by a run that was killed
    (folder / "buckets" / "0").write_bytes(left)
    assert train.main([*given, "--overwrite"]) == 0
    assert (folder / "notes.txt").read_text() == "mine"
    assert not (folder / "buckets").exists()
    (folder / "buckets").mkdir()
    (folder / "buckets" / "mine").write_text("mine")
    assert train.main([*given, "--overwrite"]) == 1
    assert (folder / "buckets" / "mine").read_text() == "mine"


def test_bad_shards_are_named_and_left_out(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = tmp_path / "data"
    data.mkdir()
    whole = (made / "shard-000000.games").read_bytes()
    (data / "shard-000000.games").write_bytes(whole)
    (data / "shard-000001.games").write_bytes(whole[:-1])
    assert uci_main.main([*arguments(data, tmp_path / "net.snet"), "--quiet"]) == 1
    bad = data / "shard-000001.games"
    assert capsys.readouterr().err == f"secateur train: left out: {bad}: is truncated: it has no foot\n"
    assert read_network(tmp_path / "net.snet").hidden == 32


@pytest.mark.parametrize("name", ["net.snet", "log.jsonl", "checkpoint.npz"])
def test_what_somebody_puts_in_the_place_of_an_output_stays(
    made: Path, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    name: str,
) -> None:  # fmt: skip
    output = tmp_path / "net.snet"
    folder, mine = output.with_suffix(".training"), tmp_path / "mine"
    path = output if name == "net.snet" else folder / name
    before = (trained if name == "net.snet" else trained.with_suffix(".training") / name).read_bytes()
    mine.write_bytes(before)
    really = Trainer.superbatch

    def superbatch(self: Trainer, *arguments: Any) -> Entry:
        entry = really(self, *arguments)
        if entry.superbatch == 2:
            mine.replace(path)
        return entry

    monkeypatch.setattr(Trainer, "superbatch", superbatch)
    assert uci_main.main(arguments(made, output, "--quiet", "--seed", "9")) == 1
    beside = path.with_stem(path.stem + "-2")
    told = f"{path}: another file took its place; it is left as it is; its new contents are in {beside}"
    assert capsys.readouterr().err == f"secateur train: {told}\n"
    assert path.read_bytes() == before
    if name == "net.snet":
        assert read_network(beside).provenance["recipe"]["seed"] == 9
    else:
        assert beside.stat().st_size


def test_the_earlier_run_stays_until_the_new_one_can_begin(
    made: Path, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "net.training"
    shutil.copytree(trained.with_suffix(".training"), folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    given = [str(made), "--output", str(tmp_path / "net.snet"), "--quiet", "--overwrite", *TINY, "--seed", "3"]
    notes, other = tmp_path / "notes", tmp_path / "other.snet"
    notes.write_text("mine")
    other.write_bytes(encode_network(random_network(hidden=64)))

    def is_as_it_was(*others: str) -> bool:
        names = {path.name for path in folder.iterdir()}
        return names == {*before, *others} and all((folder / name).read_bytes() == before[name] for name in before)

    for more, words in (
        (["--batch-size", "1280000"], "do not fill a batch"),
        (["--start", str(other), "--hidden", "32"], "the network to start from has hidden 64"),
    ):
        assert train.main([*given, *more]) == 1
        error = capsys.readouterr().err
        assert words in error
        assert error.count("\n") == 1
        assert is_as_it_was()
    assert train.main([str(notes), *given[1:]]) == 1  # no shard at all
    assert is_as_it_was()
    for error, words in ((KeyboardInterrupt, "interrupted; the earlier run is still in"), (OSError, "no room")):
        with monkeypatch.context() as patch:
            patch.setattr(pool, "_slope", lambda samples, error=error: _fail(error))
            assert train.main(given) == 1
        assert words in capsys.readouterr().err
        assert is_as_it_was()
    (folder / NEW).symlink_to(other.parent)
    assert train.main(given) == 1
    assert f"{folder / NEW}: File exists" in capsys.readouterr().err
    assert is_as_it_was(NEW)
    (folder / NEW).unlink()
    shutil.copytree(folder, folder / NEW)  # somebody else's
    assert train.main(given) == 1
    assert is_as_it_was(NEW)
    assert load_run(folder / NEW) == load_run(folder)
    mark(folder / NEW, _NEW_TEXT)  # what a command that was killed while it read shards has left
    assert train.main(given) == 0
    assert {path.name for path in folder.iterdir()} == set(before)
    assert load_run(folder).recipe.seed == 3
    assert len((folder / "log.jsonl").read_bytes().splitlines()) == 3


def _fail(kind: type[BaseException]) -> None:
    raise kind(28, "no room")


def test_a_file_that_is_no_bucket_is_not_deleted_by_its_name(
    made: Path, trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "net.training"
    shutil.copytree(trained.with_suffix(".training"), folder)
    (folder / "buckets").mkdir()
    (folder / "buckets" / "1").write_bytes((folder / "training.samples").read_bytes()[:1001])
    for name, data in (("buckets/2024", b"my diary " * 10), ("log.jsonl", b"my log"), ("start.snet", b"my network")):
        path = folder / name
        earlier = path.read_bytes() if path.exists() else None
        path.write_bytes(data)
        before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        given = [str(made), "--output", str(tmp_path / "net.snet"), "--quiet", *TINY, "--overwrite"]
        assert train.main(given) == 1
        error = capsys.readouterr().err
        assert f"{path}: is there already" in error
        assert error.count("\n") == 1
        assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
        path.unlink()
        if earlier is not None:
            path.write_bytes(earlier)


def test_a_run_that_was_killed_before_it_had_its_start_is_no_trap(
    made: Path, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    output = ["--output", str(tmp_path / "net.snet"), "--quiet"]
    given = [str(made), *output, *TINY, "--start", str(trained)]
    for more in (["--resume", *output, "--start", str(trained)], [*given, "--overwrite"]):
        with monkeypatch.context() as patch:
            patch.setattr("engine.files.replace_file", lambda *arguments: _fail(SystemExit))
            with pytest.raises(SystemExit):
                train.main([*given, "--overwrite"])
        assert train.main(["--resume", *output]) == 1
        assert "start.snet: is missing; --start with the same network writes it again" in capsys.readouterr().err
        assert train.main(more) == 0
        shutil.rmtree(tmp_path / "net.training")
        (tmp_path / "net.snet").unlink()


# --------------------------------------------------------------------------------------------------------------
# What is shown
# --------------------------------------------------------------------------------------------------------------

LOG = [Entry(n, 1000, 0.1 / n, 0.12 / n, 0.001 / n, 1e6) for n in range(1, 6)]


def test_sparklines() -> None:
    assert sparkline([]) == ""
    assert sparkline([1.0, 1.0]) == "▁▁"
    assert sparkline([8, 7, 6, 5, 4, 3, 2, 1]) == "█▇▆▅▄▃▂▁"
    assert len(sparkline(list(range(1000)))) <= 60
    assert sparkline(list(range(1000)))[-1] == "█"


def test_what_a_run_shows(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TrainingView, "line_seconds", 60.0)
    with TrainingView(5, 10, LOG[:2]) as view:
        assert view.figures() == {"starting": "(kernels may have to be compiled)"}
        view.step(Moment(3, 4, 10, 0.05, 123456.0))
        view.print_line()
        view.superbatch(LOG[2])
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("superbatch 3 of 5, step 4 of 10, training error 0.050000, positions/s 123,456")
    assert second.startswith(
        "superbatch 3 of 5: error 0.033333, validation 0.040000, rate 3.33e-04, 1,000,000 positions/s"
    )
    rich = pytest.importorskip("rich.console", reason="the extra 'lab' is not installed")
    console = rich.Console(width=120, record=True, file=open(os.devnull, "w"))  # noqa: SIM115, PTH123
    console.print(view.picture())
    console.file.close()
    text = console.export_text()
    assert "█" in text
    assert "superbatch 3" in text


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_curves_are_drawn(tmp_path: Path, ending: str) -> None:
    pytest.importorskip("matplotlib", reason="the extra 'lab' is not installed")
    picture = tmp_path / f"curve.{ending}"
    plot_losses(LOG, picture, "title")
    assert picture.stat().st_size > 5000


def test_net_shows_what_a_file_is(trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert uci_main.main(["net", str(trained)]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{trained}: (768 -> 32)x2 -> 1, 8 output layers\n")
    for words in ("SHA-256    ", "licence    GPL-3.0-or-later", "recipe.seed", "QA 255, QB 64, scale "):
        assert words in out
    assert net.main([str(trained), "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    assert told["architecture"]["hidden"] == 32
    assert told["bytes"] == trained.stat().st_size

    damaged = tmp_path / "damaged.snet"
    data = bytearray(trained.read_bytes())
    data[-1000] ^= 1
    damaged.write_bytes(data)
    assert net.main([str(damaged), str(trained)]) == 1
    out, err = capsys.readouterr()
    assert err.startswith(f"secateur net: {damaged}: ")
    assert len(err.splitlines()) == 1
    assert out.startswith(str(trained))
