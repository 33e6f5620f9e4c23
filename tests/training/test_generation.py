"""Making games: the same files however many work on them, and nothing lost or doubled by `kill -9`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from eval.training import generation
from eval.training.generation import Progress, Settings, Task, generate, play_block, source_digest
from eval.training.shards import ShardError, read_shard
from tests.conftest import Cluster
from tests.training.conftest import QUICK

PROJECT = Path(__file__).resolve().parents[2]
posix_only = pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")


@pytest.fixture
def short_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generation, "BLOCKS_PER_SHARD", 2)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.name != "lock"}


def test_two_workers_make_the_files_of_one(made: Path, tmp_path: Path) -> None:
    seen: list[Progress] = []
    last = generate(tmp_path, QUICK, games=50, workers=2, on_progress=seen.append)
    assert contents(tmp_path) == contents(made)
    assert (last.blocks, last.games, last.added) == (4, 64, last.positions)
    assert [progress.blocks for progress in seen] == [0, 1, 2, 3, 4]


def test_more_is_added_to_what_is_there(made: Path, tmp_path: Path, short_shards: None) -> None:
    """Step by step or at once, it is the same."""
    at_once, stepwise = tmp_path / "once", tmp_path / "stepwise"
    generate(at_once, QUICK, games=80)
    for games in (16, 16, 33, 40, 80):
        generate(stepwise, QUICK, games=games)
    assert list(contents(at_once)) == [f"shard-{number:06}.games" for number in range(3)]
    assert contents(at_once) == contents(stepwise)
    games = b"".join(read_shard(path).games.tobytes() for path in sorted(at_once.glob("*.games")))
    assert games.startswith(read_shard(made / "shard-000000.games").games.tobytes())


def test_nothing_is_played_when_enough_is_there(made: Path, copied: Callable[[], Path]) -> None:
    path = copied()
    before = path.stat().st_mtime_ns
    assert generate(path.parent, QUICK, games=64).added == 0
    assert generate(path.parent, QUICK, positions=1000).added == 0
    assert path.stat().st_mtime_ns == before


def test_enough_positions(tmp_path: Path, short_shards: None) -> None:
    progress = generate(tmp_path, QUICK, positions=3000)
    shards = [read_shard(path) for path in sorted(tmp_path.glob("*.games"))]
    assert progress.positions == sum(shard.positions for shard in shards) >= 3000
    assert progress.positions - int(shards[-1].games[-16:]["plies"].sum()) < 3000
    assert not list(tmp_path.glob("*.part"))


def test_a_missing_shard_is_played_again(tmp_path: Path, short_shards: None) -> None:
    generate(tmp_path, QUICK, games=96)
    before = contents(tmp_path)
    (tmp_path / "shard-000001.games").unlink()
    generate(tmp_path, QUICK, games=96)
    assert contents(tmp_path) == before


def test_a_corrupt_shard_stops_the_run(copied: Callable[[], Path]) -> None:
    path = copied()
    data = bytearray(path.read_bytes())
    data[1000] ^= 1
    path.write_bytes(data)
    with pytest.raises(ShardError, match=r"shard-000000\.games: is corrupt: wrong checksum$"):
        generate(path.parent, QUICK, games=80)


@pytest.mark.parametrize(
    ("settings", "difference"),
    [
        (Settings(soft_nodes=151, hard_nodes=1200), "soft_nodes 150 instead of 151"),
        (Settings(soft_nodes=150, hard_nodes=1300, seed=3), "hard_nodes 1200 instead of 1300, seed 1 instead of 3"),
    ],
)
def test_other_settings_need_another_folder(copied: Callable[[], Path], settings: Settings, difference: str) -> None:
    path = copied()
    with pytest.raises(ShardError, match=rf"shard-000000\.games: was made with {difference}; use another folder$"):
        generate(path.parent, settings, games=80)


def test_other_sources_need_another_folder(copied: Callable[[], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generation, "source_digest", lambda: "0123456789ab")
    with pytest.raises(ShardError, match=r"sources [0-9a-f]{12} instead of 0123456789ab; use another folder$"):
        generate(copied().parent, QUICK, games=80)


def test_a_network_that_is_not_the_settings_is_refused(tmp_path: Path) -> None:
    named = Settings(network="0" * 64)
    with pytest.raises(ValueError, match=r"the settings name the network '0{64}', not ''"):
        generate(tmp_path / "games", named, games=16)
    assert not (tmp_path / "games").exists()


def test_a_worker_with_other_sources_plays_nothing() -> None:
    assert len(source_digest()) == 12
    with pytest.raises(RuntimeError, match="another version"):
        play_block(Task(QUICK, 0, "0123456789ab"))


def test_a_renamed_shard_is_refused(copied: Callable[[], Path]) -> None:
    path = copied()
    path.rename(path.with_name("shard-000003.games"))
    with pytest.raises(ShardError, match=r"shard-000003\.games: holds shard 0$"):
        generate(path.parent, QUICK, games=80)


COMMAND = [sys.executable, "uci_main.py", "datagen", "--nodes", "300", "--workers", "2"]


@posix_only
def test_kill_9_costs_nothing_that_was_finished(tmp_path: Path) -> None:
    """Killed at three moments, then run to its end: the same bytes as a run that nobody disturbed."""
    folder, whole = tmp_path / "killed", tmp_path / "whole"
    command = [*COMMAND, "--games", "192", str(folder)]
    part = folder / "shard-000000.part"
    size = kept = 0
    for growths in (1, 3, 1):
        process = subprocess.Popen(command, cwd=PROJECT, stderr=subprocess.DEVNULL)
        begun, seen = time.monotonic(), 0
        while seen < growths:
            assert process.poll() is None, "it was over before it was killed"
            assert time.monotonic() - begun < 300
            time.sleep(0.002)
            now = part.stat().st_size if part.exists() else 0
            size, seen = max(size, now), seen + (now > size)
        process.send_signal(signal.SIGKILL)
        process.wait()
        blocks = read_shard(part).blocks
        assert blocks >= kept
        kept = blocks
    assert 0 < kept < 12
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert any(f": {kept * 16} games, " in f": {line}" for line in done.stderr.splitlines())
    generate(whole, Settings(soft_nodes=300, hard_nodes=2400), games=192)
    assert contents(folder) == contents(whole)
    assert len(read_shard(whole / "shard-000000.games").games) == 192


@posix_only
def test_two_runs_do_not_share_a_folder(tmp_path: Path) -> None:
    process = subprocess.Popen([*COMMAND, "--games", "100000", str(tmp_path)], cwd=PROJECT, stderr=subprocess.DEVNULL)
    try:
        begun = time.monotonic()
        while not (tmp_path / "shard-000000.part").exists():
            assert time.monotonic() - begun < 300
            time.sleep(0.05)
        with pytest.raises(ShardError, match=r": another process is making games there$"):
            generate(tmp_path, QUICK, games=16)
    finally:
        process.kill()
        process.wait()


@pytest.mark.filterwarnings("default::ResourceWarning", "default::DeprecationWarning")
def test_a_cluster_makes_the_same_files(start_cluster: Callable[[], Cluster], made: Path, tmp_path: Path) -> None:
    generate(tmp_path, QUICK, games=64, cluster=start_cluster().address)
    assert contents(tmp_path) == contents(made)


def test_a_folder_with_anything_doubtful_is_left_as_it_is(tmp_path: Path, made: Path) -> None:
    whole = (made / "shard-000000.games").read_bytes()
    for name, data, message in (
        ("shard-notes.part", b"my notes", "has no name of a shard"),
        ("shard-000000.part", b"my notes", "is not a shard of games"),
        ("shard-000000.part", b"SECGAMES my notes", "is truncated: its head is not whole"),
        ("shard-000001.games", whole, "made with|holds shard 0"),
    ):
        path = tmp_path / name
        path.write_bytes(data)
        with pytest.raises(ShardError, match=message):
            generate(tmp_path, QUICK, games=16)
        assert list(tmp_path.iterdir()) == [path]
        assert path.read_bytes() == data
        path.unlink()
