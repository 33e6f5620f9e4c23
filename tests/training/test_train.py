"""`train` on the command line: from games to a network file, and what it refuses."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import uci_main
from bench.records import current_commit
from engine.board.convert import to_board
from engine.version import version
from eval.network.evaluator import NetworkEvaluator
from eval.network.format import network_digest, read_network
from eval.training.commands import train
from eval.training.generation import generate
from eval.training.pool import game_hashes, open_pool, used
from eval.training.quantise import integer_scores
from eval.training.samples import Filter, shard_samples
from eval.training.shards import find_shards, read_shard
from tests.conftest import PROJECT
from tests.training.conftest import QUICK, TINY, arguments
from tests.training.positions import unpacked


def test_a_network_is_made(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "tiny.snet"
    assert uci_main.main(arguments(made, output)) == 0
    out, err = capsys.readouterr()
    first, second, third = out.splitlines()
    assert first.startswith(f"{output}: training error 0.")
    assert ", validation error 0." in first
    assert second.startswith("rounding changes scores by ")
    assert re.fullmatch(r"[\d,]+ positions/s in training", third)
    assert re.search(r"64 games, prepared in [\d.]+ s; \d+ steps a superbatch; scale ", err)
    assert re.findall(r"^superbatch (\d) of 3: error 0", err, re.MULTILINE) == ["1", "2", "3"]
    network = read_network(output)
    assert (network.hidden, network.buckets) == (32, 8)
    facts = dict(network.provenance)
    assert facts["licence"] == "GPL-3.0-or-later"
    assert (facts["version"], facts["commit"]) == (version(), current_commit())
    assert facts["recipe"]["superbatches"] == 3
    assert "seconds" not in facts["data"]
    assert facts["data"]["games"] == 64
    assert facts["quantisation"]["rms"] < facts["quantisation"]["most"] < 40
    assert str(made) not in json.dumps(facts)


def test_the_engine_computes_what_was_exported(trained: Path) -> None:
    network = read_network(trained)
    samples = open_pool(trained.with_suffix(".training")).validation[:300]
    evaluator = NetworkEvaluator(network)
    found = [evaluator.score(to_board(position)) for position in unpacked(samples)]
    assert found == integer_scores(network, samples).tolist()
    assert np.ptp(found) > 50


def test_a_killed_run_resumes_to_the_same_network(made: Path, tmp_path: Path) -> None:
    output = tmp_path / "killed.snet"
    more = ["--superbatches", "100", "--superbatch-size", "2560", "--threads", "2"]
    longer = [*arguments(made, output), *more]
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
    assert 0 < done < 100
    assert train.main(["--output", str(output), "--resume", "--quiet"]) == 0
    assert len(log.read_text(encoding="utf-8").splitlines()) == 100
    whole = tmp_path / "whole.snet"
    assert uci_main.main([*arguments(made, whole), *more, "--quiet"]) == 0
    one, two = read_network(output), read_network(whole)
    assert one.features.tobytes() == two.features.tobytes()
    assert one.output.tobytes() == two.output.tobytes()


def test_a_resumed_run_keeps_its_recipe_and_its_data(
    made: Path, trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    again = ["--output", str(trained), "--resume", "--quiet"]
    before = read_network(trained)
    assert train.main([str(made), *again, *TINY]) == 0
    assert read_network(trained).features.tobytes() == before.features.tobytes()
    folder = trained.with_suffix(".training")
    for more, words in (
        (["--rate", "0.5"], f"{folder}: the existing run has rate 0.004, not 0.5"),
        (["--skip", "3"], f"{folder}: the existing run has skip 0, not 3"),
        (["--validation", "0.3"], f"{folder}: the existing run has validation 0.2, not 0.3"),
        (["elsewhere"], f"{folder}: the existing run uses {made}, not elsewhere"),
    ):
        capsys.readouterr()
        assert train.main([*again, *more]) == 2
        assert capsys.readouterr().err == f"secateur train: {words}\n"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--hidden", "7"], "hidden must be a multiple of 32 up to 1024 (got 7)"),
        (["--halfmoves", "0"], "halfmoves must be greater than 0 (got 0)"),
        (["--lookahead", "101"], "lookahead must be 0 to 100 (got 101)"),
        (["--validation", "1"], "validation must be at least 0 and less than 1 (got 1)"),
    ],
)
def test_wrong_options(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], words: str
) -> None:
    assert train.main([str(made), "--output", str(tmp_path / "net.snet"), *more]) == 2
    assert capsys.readouterr().err == f"secateur train: {words}\n"
    assert not list(tmp_path.iterdir())


def test_missing_and_wrong_things(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "net.snet"
    for given, status, words in (
        ([str(tmp_path / "none")], 1, f"{tmp_path / 'none'}: no such file or folder"),
        ([], 2, "no training data given: name folders or shards from `secateur datagen`"),
        (["--resume"], 1, f"{tmp_path / 'net.training'}: contains no run to resume"),
        ([str(made), "--batch-size", "1280000"], 1, " to train on; a batch needs 1280000"),
    ):
        threads = [] if given == ["--resume"] else ["--threads", "1"]
        assert train.main([*given, "--output", str(output), "--quiet", *threads]) == status
        assert capsys.readouterr().err.endswith(f"{words}\n")
    folder = tmp_path / "other.training"
    assert train.main([str(made), "--output", str(folder)]) == 2
    words = "is the folder of the run; expected FILE.snet"
    assert capsys.readouterr().err == f"secateur train: --output {folder} {words}\n"
    bad = tmp_path / "shard-000001.games"
    bad.write_bytes((made / "shard-000000.games").read_bytes()[:-1])
    assert uci_main.main(arguments(tmp_path, output, "--quiet")) == 1
    assert capsys.readouterr().err == f"secateur train: {bad}: is truncated: it has no foot\n"


def test_a_network_is_trained_further(made: Path, trained: Path, tmp_path: Path) -> None:
    """The run begins where the other one ended, and the recipe names it."""
    output = tmp_path / "on.snet"
    more = ["--start", str(trained), "--superbatches", "1", "--seed", "7", "--quiet"]
    assert uci_main.main(arguments(made, output, *more, "--rate", "1e-9")) == 0
    before, after = read_network(trained), read_network(output)
    assert after.provenance["recipe"]["start"] == network_digest(trained.read_bytes())
    assert (after.hidden, after.buckets) == (before.hidden, before.buckets)
    # So slow a rate changes nothing but the last digit here and there.
    assert np.abs(after.features - before.features).max() <= 1
    samples = open_pool(output.with_suffix(".training")).validation
    assert np.abs(integer_scores(after, samples) - integer_scores(before, samples)).max() <= 10
    # A run that has finished no superbatch begins with its network again.
    first = output.read_bytes()
    for name in ("checkpoint.npz", "log.jsonl"):
        (output.with_suffix(".training") / name).unlink()
    assert train.main(["--output", str(output), "--resume", "--quiet"]) == 0
    assert output.read_bytes() == first
    assert uci_main.main(arguments(made, output, *more, "--rate", "1e-3", "--overwrite")) == 0
    assert output.with_stem("on-old-2").read_bytes() == first
    assert read_network(output).provenance["training_error"] < before.provenance["training_error"]


def test_the_result_can_be_a_mean_with_the_start_network(
    made: Path, trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, mean = tmp_path / "whole.snet", tmp_path / "mean.snet"
    more = ["--start", str(trained), "--superbatches", "1", "--rate", "1e-2", "--quiet"]
    assert uci_main.main(arguments(made, whole, *more)) == 0
    assert uci_main.main(arguments(made, mean, *more, "--start-share", "0.25")) == 0
    start, end, found = (read_network(path).features.astype(np.int64) for path in (trained, whole, mean))
    assert np.abs(end - start).max() > 20
    assert np.abs(found - (0.25 * start + 0.75 * end)).max() <= 1
    # A finished run that is resumed writes the same network again.
    first = mean.read_bytes()
    assert train.main(["--output", str(mean), "--resume", "--quiet"]) == 0
    assert mean.read_bytes() == first
    # It can get another share, and its output says which share is best.
    capsys.readouterr()
    assert train.main(["--output", str(mean), "--resume", "--quiet", "--start-share", "0.8", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    other = read_network(mean)
    assert np.abs(other.features - (0.8 * start + 0.2 * end)).max() <= 1
    assert other.provenance["recipe"]["start_share"] == 0.8
    errors = told["validation_by_start_share"]
    assert list(errors) == ["0", "0.2", "0.4", "0.6", "0.8", "1"]
    assert errors["0.8"] == pytest.approx(told["validation_error"])
    assert errors["0"] == pytest.approx(read_network(whole).provenance["validation_error"])
    assert train.main(["--output", str(mean), "--resume", "--quiet", "--start-share", "1"]) == 2
    assert "start-share must be at least 0 and less than 1 (got 1)" in capsys.readouterr().err
    assert train.main(["--output", str(mean), "--resume", "--quiet"]) == 0
    words = "validation error by share of the start network (--resume --start-share chooses another):\n0: "
    assert words in capsys.readouterr().out


def test_a_network_is_widened(made: Path, trained: Path, tmp_path: Path) -> None:
    """Copied neurons evaluate almost as before, and training tells them apart."""
    output = tmp_path / "wide.snet"
    more = ["--start", str(trained), "--hidden", "64", "--superbatches", "1", "--quiet"]
    assert uci_main.main(arguments(made, output, *more, "--rate", "1e-9")) == 0
    before, after = read_network(trained), read_network(output)
    assert after.hidden == 64
    samples = open_pool(output.with_suffix(".training")).validation
    differences = integer_scores(after, samples) - integer_scores(before, samples)
    assert np.sqrt(np.mean(differences**2)) < 30
    halves = after.features[:, :32].astype(int), after.features[:, 32:].astype(int)
    assert 0 < np.abs(halves[0] - halves[1]).mean() < 10


def test_a_network_gets_rows_for_threats(made: Path, trained: Path, tmp_path: Path) -> None:
    """They begin as zeros, so it evaluates as before, and training fills them."""
    output, more = tmp_path / "threats.snet", ["--start", str(trained), "--threats", "--superbatches", "1"]
    assert uci_main.main(arguments(made, output, *more, "--quiet", "--rate", "1e-9")) == 0
    before, after = read_network(trained), read_network(output)
    assert after.shape() == (32, 8, True)
    samples = open_pool(output.with_suffix(".training")).validation
    assert np.abs(integer_scores(after, samples) - integer_scores(before, samples)).max() <= 1
    assert uci_main.main(arguments(made, output, *more, "--quiet", "--rate", "0.01", "--overwrite")) == 0
    filled = read_network(output).threats
    assert filled is not None
    assert np.abs(filled).mean() > 0.1
    # Copies of a unit get noise only in the rows that they copy.
    both = ["--start", str(trained), "--threats", "--hidden", "64", "--superbatches", "1", "--quiet"]
    assert uci_main.main(arguments(made, tmp_path / "both.snet", *both, "--rate", "1e-9")) == 0
    wide = read_network(tmp_path / "both.snet")
    assert np.abs(wide.features[:, :32].astype(int) - wide.features[:, 32:]).max() > 1
    assert wide.threats is not None
    assert not wide.threats.any()
    # A network that has such rows is trained on with them.
    again = tmp_path / "again.snet"
    assert uci_main.main(arguments(made, again, "--start", str(output), "--superbatches", "1", "--quiet")) == 0
    assert read_network(again).shape() == (32, 8, True)
    # To resume, only the start network has to be the same.
    assert train.main(["--output", str(output), "--resume", "--quiet", "--start", str(trained)]) == 0


def test_trees_replace_their_games(made: Path, tmp_path: Path) -> None:
    """`--trees` leaves out games with positions of trees, and keeps those of other folders."""
    folder, output = tmp_path / "trees", tmp_path / "net.snet"
    generate(folder, replace(QUICK, tree_nodes=100), games=16)
    assert uci_main.main(arguments(folder, output, "--trees", "--quiet")) == 0
    data = read_network(output).provenance["data"]
    assert data["wanted"]["games"] is False
    trees = len(shard_samples(read_shard(folder / "shard-000000.games"), Filter(games=False)))
    assert data["training"] + data["validation"] == trees
    name, *others = arguments(made, tmp_path / "both.snet", "--trees", "--quiet")
    assert uci_main.main([name, str(folder), *others]) == 0
    data = read_network(tmp_path / "both.snet").provenance["data"]
    games = sum(len(shard_samples(read_shard(path))) for path in find_shards(made))
    assert data["training"] + data["validation"] == trees + games


def test_data_have_weights(made: Path, copied: Callable[[], Path], tmp_path: Path) -> None:
    """The same games are used at every start, and the network's file says how many."""
    path, output = copied(), tmp_path / "net.snet"
    weighted = ["train", str(path), *arguments(made, output, "--weight", f"{path}=0.5", "--quiet")[1:]]
    assert uci_main.main(weighted) == 0
    (source,) = read_network(output).provenance["data"]["sources"]
    games = int(used(game_hashes(read_shard(path)), 0.5).sum())
    assert 16 < games < 48
    assert source["games"] == 64 + games
    assert train.main(["--output", str(output), "--resume", "--quiet", "--weight", f"{path}=0.4"]) == 2


def test_networks_that_cannot_be_trained_further(
    made: Path, trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged = tmp_path / "damaged.snet"
    damaged.write_bytes(trained.read_bytes()[:-1])
    for start, more, words in (
        (trained, ["--buckets", "1"], "the start network's hidden must divide 32, its buckets must be 1, and its "),
        (tmp_path / "none.snet", [], f"{tmp_path / 'none.snet'}: No such file or directory"),
        (damaged, [], f"{damaged}: the file is cut short: "),
    ):
        output = ["--output", str(tmp_path / "on.snet"), "--quiet", "--threads", "1"]
        assert train.main([str(made), *output, "--start", str(start), *more]) == 1
        assert capsys.readouterr().err.startswith(f"secateur train: {words}")
        assert not (tmp_path / "on.training").exists()
