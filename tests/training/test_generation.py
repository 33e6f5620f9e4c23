"""Making games: the same files however many processes play them, and nothing lost or doubled by `kill -9`."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from eval.training import generation
from eval.training.generation import Progress, Settings, Task, generate, play_block, source_digest
from eval.training.shards import ShardError, only_writer, read_shard
from tests.conftest import PROJECT, Cluster
from tests.training.conftest import QUICK


@pytest.fixture
def short_shards(in_process: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generation, "BLOCKS_PER_SHARD", 2)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.name != "lock"}


def test_two_workers_make_the_files_of_one(made: Path, tmp_path: Path) -> None:
    seen: list[Progress] = []
    last = generate(tmp_path, QUICK, games=50, workers=2, on_progress=seen.append)
    assert contents(tmp_path) == contents(made)
    assert (last.blocks, last.games) == (4, 64)
    assert [progress.blocks for progress in seen] == [0, 1, 2, 3, 4]


def test_games_are_added_to_those_that_are_there(made: Path, tmp_path: Path, short_shards: None) -> None:
    """Step by step they are the same as at once, and a missing shard is played again."""
    for games in (33, 64):
        generate(tmp_path, QUICK, games=games)
    before = contents(tmp_path)
    assert list(before) == ["shard-000000.games", "shard-000001.games"]
    shards = [read_shard(tmp_path / name) for name in before]
    at_once = read_shard(made / "shard-000000.games")
    assert b"".join(shard.games.tobytes() for shard in shards) == at_once.games.tobytes()
    (tmp_path / "shard-000000.games").unlink()
    generate(tmp_path, QUICK, games=64)
    assert contents(tmp_path) == before


def test_nothing_is_played_when_enough_is_there(copied: Callable[[], Path]) -> None:
    path = copied()
    before = path.stat().st_mtime_ns
    generate(path.parent, QUICK, games=64)
    generate(path.parent, QUICK, positions=1000)
    assert path.stat().st_mtime_ns == before


def test_enough_positions(tmp_path: Path, short_shards: None) -> None:
    progress = generate(tmp_path, QUICK, positions=2500)
    shards = [read_shard(path) for path in sorted(tmp_path.glob("*.games"))]
    assert progress.positions == sum(shard.positions for shard in shards) >= 2500
    assert progress.positions - int(shards[-1].games[-16:]["plies"].sum()) < 2500
    assert not list(tmp_path.glob("*.part"))


def test_other_settings_and_sources_need_another_folder(
    copied: Callable[[], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = copied().parent
    difference = "hard_nodes 1200 instead of 1300, seed 1 instead of 3"
    with pytest.raises(ShardError, match=rf"shard-000000\.games: was made with {difference}; use another folder$"):
        generate(folder, Settings(soft_nodes=150, hard_nodes=1300, seed=3), games=80)
    monkeypatch.setattr(generation, "source_digest", lambda: "0123456789ab")
    with pytest.raises(ShardError, match=r"sources [0-9a-f]{12} instead of 0123456789ab; use another folder$"):
        generate(folder, QUICK, games=80)


def test_a_worker_with_other_sources_plays_nothing() -> None:
    assert len(source_digest()) == 12
    with pytest.raises(RuntimeError, match="the command's is 0123456789ab"):
        play_block(Task(QUICK, 0, "0123456789ab"))


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")
def test_kill_9_costs_nothing_that_was_finished(in_process: None, tmp_path: Path) -> None:
    """Killed after its first block, then run to its end: the same bytes as a run that nobody disturbed."""
    folder, whole = tmp_path / "killed", tmp_path / "whole"
    command = [sys.executable, "uci_main.py", "datagen", "--nodes", "150", "--workers", "1", "--games", "160"]
    command.append(str(folder))
    part = folder / "shard-000000.part"
    process = subprocess.Popen(command, cwd=PROJECT, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 300
    # The head of a shard has less than a kilobyte, a block of games about five.
    while not part.exists() or part.stat().st_size < 2000:
        assert process.poll() is None, "it was over before it was killed"
        assert time.monotonic() < deadline
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = read_shard(part).blocks
    assert 0 < kept < 10
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert any(f": {kept * 16} games, " in f": {line}" for line in done.stderr.splitlines())
    generate(whole, QUICK, games=160)
    assert contents(folder) == contents(whole)


def test_two_runs_do_not_share_a_folder(tmp_path: Path) -> None:
    with only_writer(tmp_path, "anything"), pytest.raises(ShardError, match="is making or restoring games there"):
        generate(tmp_path, QUICK, games=16)


@pytest.mark.parametrize("after", [0, 1, 2, 3])
def test_nothing_is_written_into_a_folder_that_took_the_place_of_another(
    tmp_path: Path, short_shards: None, after: int
) -> None:
    """The folder is moved before the first block, within a shard, between shards, and after the last block."""
    folder, moved = tmp_path / "games", tmp_path / "old"
    before: dict[str, bytes] = {}

    def move(progress: Progress) -> None:
        if progress.blocks == after:
            folder.rename(moved)
            shutil.copytree(moved, folder)
            before.update(contents(folder))

    with pytest.raises((OSError, ShardError), match=r"moved or replaced; nothing more is|was replaced by another file"):
        generate(folder, QUICK, games=48, on_progress=move)
    assert contents(folder) == before
    assert sum(len(read_shard(path).games) for path in moved.glob("shard-*")) == after * 16


def test_a_shard_that_another_process_has_changed_is_not_continued(
    made: Path, tmp_path: Path, in_process: None
) -> None:
    def change(progress: Progress) -> None:
        shutil.copy(made / "shard-000000.games", tmp_path)

    with pytest.raises(ShardError, match=r"shard-000000\.part: another process has changed it$"):
        generate(tmp_path, QUICK, games=64, on_progress=change)
    generate(tmp_path, QUICK, games=64)
    assert contents(tmp_path) == contents(made)


@pytest.mark.filterwarnings("default::ResourceWarning", "default::DeprecationWarning")
def test_a_cluster_makes_the_same_files(start_cluster: Callable[[], Cluster], made: Path, tmp_path: Path) -> None:
    generate(tmp_path, QUICK, games=64, cluster=start_cluster().address)
    assert contents(tmp_path) == contents(made)


def test_a_folder_with_anything_doubtful_is_left_as_it_is(tmp_path: Path, made: Path) -> None:
    whole = (made / "shard-000000.games").read_bytes()
    for name, data, message in (
        ("shard-notes.part", b"my notes", r"is not named like a shard \(shard-NNNNNN\.part\)$"),
        ("shard-000000.part", b"my notes", "is not a shard of games"),
        ("shard-000000.part", b"SECGAMES my notes", "is truncated: its head is incomplete"),
        ("shard-000000.games", whole[:1000] + b"x" + whole[1001:], "is corrupt: wrong checksum$"),
        ("shard-000001.games", whole, "contains shard 0 instead of 1$"),
    ):
        path = tmp_path / name
        path.write_bytes(data)
        with pytest.raises(ShardError, match=message):
            generate(tmp_path, QUICK, games=80)
        assert list(tmp_path.iterdir()) == [path]
        assert path.read_bytes() == data
        path.unlink()
