"""The pool: nothing is lost, games stay whole, the same order every time, and damage is noticed."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from eval.network.format import network_digest
from eval.training import pool as pool_module
from eval.training.archive import archive_runs
from eval.training.generation import generate
from eval.training.kernels.records import TREE
from eval.training.pool import TRAINING, VALIDATION, Facts, batches, build_pool, game_hashes, held_out, open_pool, used
from eval.training.samples import ALL, Filter, Samples, samples, shard_samples
from eval.training.shards import ShardError, read_shard
from tests.training.conftest import QUICK


def bytes_of(records: Samples) -> Counter[bytes]:
    same = records.copy()
    same["game"] = 0  # counts the games of what was decoded together
    return Counter(record.tobytes() for record in same)


def build(folder: Path, made: Path, wanted: Filter = ALL, share: float = 0.2, seed: int = 1) -> Facts:
    folder.mkdir(exist_ok=True)
    return build_pool(folder, [made], wanted, share, seed)


@pytest.mark.parametrize("wanted", [ALL, Filter(skip=20, score_limit=500)])
def test_every_wanted_position_is_there_once(made: Path, tmp_path: Path, wanted: Filter) -> None:
    facts = build(tmp_path, made, wanted)
    pool = open_pool(tmp_path)
    (everything,) = samples(made, wanted)
    assert bytes_of(pool.training) + bytes_of(pool.validation) == bytes_of(everything)
    assert (facts.training, facts.validation) == (len(pool.training), len(pool.validation))
    assert (facts.shards, facts.games, facts.share) == (1, 64, 0.2)
    assert facts.sources[0]["games"] == 64
    assert facts.sources[0]["soft_nodes"] == 150
    assert facts.wanted["skip"] == wanted.skip
    assert pool.facts == facts
    assert 20.0 <= facts.slope <= 2000.0
    assert {path.name for path in tmp_path.iterdir()} == {"training.samples", "validation.samples", "pool.json"}


@pytest.mark.usefixtures("in_process")
def test_runs_of_several_networks_and_variants_are_mixed(
    made: Path, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run by the classical evaluation, one by a network in an archive, and one with other starts and another seed."""
    by_network, other = tmp_path / "network", tmp_path / "other"
    generate(by_network, QUICK, games=16, network=trained.read_bytes())
    generate(other, replace(QUICK, seed=2, variant="dfrc"), games=32)
    archive_runs([by_network], tmp_path / "archive", None, lambda done, count: None)
    runs = [made, tmp_path / "archive" / "network", other]
    monkeypatch.setattr(pool_module, "BUCKET", 1000)
    folder = tmp_path / "pool"
    folder.mkdir()
    facts = build_pool(folder, runs, ALL, 0.2, 1, weights={str(other): 0.5})
    pool = open_pool(folder)
    shard = read_shard(other / "shard-000000.games")
    chosen = used(game_hashes(shard), 0.5)
    parts = [bytes_of(np.concatenate([*samples(run, ALL)])) for run in runs[:2]]
    parts.append(bytes_of(shard_samples(shard, ALL, chosen)))
    assert bytes_of(pool.training) + bytes_of(pool.validation) == parts[0] + parts[1] + parts[2]
    digest, games = network_digest(trained.read_bytes()), int(chosen.sum())
    sources = {(one["network"], one["variant"], one["seed"]): one["games"] for one in facts.sources}
    assert sources == {("", "standard", 1): 64, (digest, "standard", 1): 16, ("", "dfrc", 2): games}
    assert (facts.shards, facts.games) == (3, 80 + games)
    # Half of each run's positions are in the first half of the file.
    first, all_of_them = bytes_of(pool.training[: len(pool.training) // 2]), bytes_of(pool.training)
    for part in parts:
        assert (first & part).total() / (all_of_them & part).total() == pytest.approx(0.5, abs=0.07)
    # The number of threads that decode makes no difference.
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    again = tmp_path / "again"
    again.mkdir()
    assert build_pool(again, runs, ALL, 0.2, 1, weights={str(other): 0.5}) == facts
    assert (again / TRAINING).read_bytes() == (folder / TRAINING).read_bytes()


def test_a_shard_that_is_finished_after_it_is_listed_is_used(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = made / "shard-000000.part"
    assert not listed.exists()
    monkeypatch.setattr(pool_module, "find_shards", lambda paths, partial: [listed])
    facts = build(tmp_path, made)
    assert (facts.shards, facts.games) == (1, 64)


def test_positions_are_shuffled_well(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "BUCKET", 1000)
    build(tmp_path, made, share=0.0)
    pool = open_pool(tmp_path)
    (everything,) = samples(made, ALL)
    places = {record.tobytes(): index for index, record in enumerate(everything)}
    order = np.array([places[record.tobytes()] for record in pool.training])
    assert len(pool.training) > 3000
    assert bytes_of(pool.training) == bytes_of(everything)
    # Neither the buckets nor the order in them has anything to do with the order in the shards.
    assert abs(np.corrcoef(order, np.arange(len(order)))[0, 1]) < 0.06
    assert abs(np.corrcoef(order[1:], order[:-1])[0, 1]) < 0.06
    assert not len(pool.validation)


def test_whole_games_are_held_out_whatever_the_seed(made: Path, tmp_path: Path) -> None:
    shard = read_shard(made / "shard-000000.games")
    hashes = game_hashes(shard)
    some, more = held_out(hashes, 0.1), held_out(hashes, 0.5)
    assert 0 < some.sum() < more.sum() < 64
    assert (more | ~some).all()
    assert build(tmp_path / "a", made) == build(tmp_path / "again", made)
    assert (tmp_path / "a" / TRAINING).read_bytes() == (tmp_path / "again" / TRAINING).read_bytes()
    build(tmp_path / "b", made, seed=2)
    one, two = open_pool(tmp_path / "a"), open_pool(tmp_path / "b")
    assert one.validation.tobytes() == two.validation.tobytes()
    assert bytes_of(one.training) == bytes_of(two.training)
    assert one.training.tobytes() != two.training.tobytes()


@pytest.mark.usefixtures("in_process")
def test_positions_of_trees_are_held_out_with_their_game(tmp_path: Path) -> None:
    folder = tmp_path / "trees"
    generate(folder, replace(QUICK, tree_nodes=100), games=16)
    shard = read_shard(folder / "shard-000000.games")
    number = np.cumsum(shard.games["ending"] != TREE)
    hashes = game_hashes(shard)
    assert [len(set(hashes[number == game])) for game in range(1, 17)] == [1] * 16
    assert len(set(hashes)) == 16
    facts = build(tmp_path / "pool", folder, replace(ALL, games=False), share=0.5)
    of_trees = (shard.games["ending"] == TREE) & held_out(hashes, 0.5)
    assert 0 < facts.validation == of_trees.sum() < facts.training + facts.validation == len(hashes) - 16


def test_an_incomplete_pool_is_refused(made: Path, tmp_path: Path) -> None:
    build(tmp_path, made)
    path = tmp_path / TRAINING
    for lost in (32, 5):
        path.write_bytes(path.read_bytes()[:-lost])
        with pytest.raises(ShardError, match=r"training\.samples: has \d+ bytes instead of \d+$"):
            open_pool(tmp_path)


@pytest.mark.parametrize("name", [TRAINING, VALIDATION])
def test_a_damaged_pool_is_refused(made: Path, tmp_path: Path, name: str) -> None:
    build(tmp_path, made)
    data = bytearray((tmp_path / name).read_bytes())
    data[5000] ^= 1
    (tmp_path / name).write_bytes(data)
    shown: list[str] = []
    with pytest.raises(ShardError, match=rf"{name}: is damaged: wrong checksum$"):
        open_pool(tmp_path, shown.append)
    assert shown[-1] == f"checking {name}: 0%"


def test_an_epoch_reads_everything_once_and_in_its_own_order() -> None:
    size, chunks = 4, 43
    stream = list(islice(batches(7, chunks, size, 0), 30))
    epochs = [np.concatenate(stream[first : first + 10]) for first in (0, 10, 20)]
    assert all(len(set(epoch.tolist())) == 40 and epoch.max() < chunks for epoch in epochs)
    assert epochs[0].tolist() != epochs[1].tolist()
    # Another epoch reads what one leaves out.
    assert set(range(chunks)) == {int(chunk) for epoch in epochs for chunk in epoch}
    other = next(batches(8, chunks, size, 0))
    assert other.tolist() != stream[0].tolist()


def test_a_stream_resumes_at_any_step() -> None:
    stream = [batch.tolist() for batch in islice(batches(7, 43, 4, 0), 30)]
    for step in (1, 9, 10, 17, 25):
        assert [batch.tolist() for batch in islice(batches(7, 43, 4, step), 30 - step)] == stream[step:]
