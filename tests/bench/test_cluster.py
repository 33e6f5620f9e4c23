"""Work on local processes, and on a real Dask scheduler with two real workers of which one is killed."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from bench.adjudication import Adjudication
from bench.cluster import ClusterError, map_unordered
from bench.description import MatchDescription
from bench.pgn import read_games
from bench.play import play
from bench.results import GameResult
from tests.bench import cluster_work as work
from tests.bench.fakes import fake
from tests.conftest import Cluster

ROOT = Path(__file__).resolve().parents[2]


def test_items_are_taken_only_as_they_are_needed() -> None:
    taken: list[int] = []

    def numbers() -> Iterator[int]:
        for number in range(1000):
            taken.append(number)
            yield number

    with closing(map_unordered(work.fail_on_three, numbers(), workers=2)) as outcomes:
        for _ in range(3):
            next(outcomes)
    assert len(taken) <= 6


def test_every_item_comes_back_once_and_an_exception_is_an_answer() -> None:
    outcomes = list(map_unordered(work.fail_on_three, range(20), workers=3))
    (failed,) = [outcome for outcome in outcomes if outcome.error is not None]
    assert failed.item == 3
    with pytest.raises(RuntimeError, match="ValueError: three"):
        failed.unwrap()
    values = {outcome.item: outcome.value for outcome in outcomes if outcome.error is None}
    assert values == {n: n for n in range(20) if n != 3}


def test_a_killed_worker_costs_only_its_work(tmp_path: Path) -> None:
    items = [str(tmp_path / name) for name in ("a", "once", "b", "deadly", "c")]
    outcomes = {Path(outcome.item).name: outcome for outcome in map_unordered(work.die_once, items, workers=2)}
    assert outcomes["deadly"].error == "gave up after 3 workers died during this work"
    assert {name: outcome.value for name, outcome in outcomes.items() if outcome.error is None} == {
        name: name for name in ("a", "once", "b", "c")
    }


def test_closing_ends_the_workers_at_once() -> None:
    with closing(map_unordered(work.slow_pid, [0.0, 60.0, 60.0], workers=2)) as outcomes:
        next(outcomes)
        began = time.monotonic()
    assert time.monotonic() - began < 5
    assert not [child for child in psutil.Process().children() if "spawn_main" in " ".join(child.cmdline())]


_INTERRUPTED = """
from tests.bench import cluster_work
from bench.cluster import map_unordered
try:
    print("ready", flush=True)
    list(map_unordered(cluster_work.slow_pid, [60.0] * 4, workers=4))
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="Ctrl-C of a terminal is POSIX's")
@pytest.mark.parametrize("seconds", [0.0, 0.03, 0.3])
def test_ctrl_c_while_workers_are_started_is_told_once(seconds: float) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "tests" / "bench")))}
    process = subprocess.Popen(
        [sys.executable, "-c", _INTERRUPTED],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(seconds)
    os.killpg(process.pid, signal.SIGINT)
    assert process.communicate(timeout=60) == ("interrupted\n", "")


pytestmark = pytest.mark.filterwarnings("default::ResourceWarning", "default::DeprecationWarning")


@pytest.fixture(scope="module")
def cluster(start_cluster: Callable[[], Cluster]) -> Cluster:
    return start_cluster()


def test_a_cluster_does_the_same_work(cluster: Cluster) -> None:
    outcomes = {outcome.item: outcome for outcome in map_unordered(work.fail_on_three, range(8), cluster.address)}
    assert sorted(outcomes) == list(range(8))
    assert outcomes[3].error is not None
    assert outcomes[3].error.startswith("ValueError: three")
    pids = {outcome.value for outcome in map_unordered(work.slow_pid, [0.2] * 8, cluster.address)}
    assert len(pids) == 2, "both workers were to work"
    with closing(map_unordered(work.slow_pid, iter([0.0] + [60.0] * 9), cluster.address)) as early:
        next(early)
        began = time.monotonic()
    assert time.monotonic() - began < 10


def test_a_match_survives_the_loss_of_a_worker(
    start_cluster: Callable[[], Cluster], describe: Callable[..., MatchDescription], tmp_path: Path
) -> None:
    cluster = start_cluster()
    pgn = tmp_path / "games.pgn"
    rules = Adjudication(max_moves=15)
    played: list[GameResult] = []

    def on_game(game: GameResult) -> bool:
        played.append(game)
        if len(played) == 4:
            os.kill(cluster.workers[0].pid, signal.SIGKILL)
        return True

    engines = (fake("A", "--think", "0.003"), fake("B", "--seed", "2"))
    result = play(describe(*engines, rounds=8, cluster=cluster.address, pgn=str(pgn), adjudication=rules), on_game)
    assert cluster.workers[0].wait(5) == -signal.SIGKILL
    assert [game.game for game in result.games] == list(range(16))
    assert result.exit_status == 0, result.problems
    assert len(list(read_games(pgn))) == 16


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ClusterError, match=r"--cluster needs the package 'distributed'.*make lab.*\[cluster\]"):
        list(map_unordered(work.fail_on_three, [1], "tcp://127.0.0.1:9"))


def test_a_cluster_that_is_not_there_is_named(
    describe: Callable[..., MatchDescription], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed", reason="the extra 'cluster' is not installed")
    monkeypatch.setattr("bench.cluster.CONNECT_SECONDS", 1)
    with pytest.raises(ClusterError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9"):
        list(map_unordered(work.fail_on_three, [1], "tcp://127.0.0.1:9"))
    with pytest.raises(ClusterError, match="no Dask scheduler answers at nonsense"):
        play(describe(cluster="nonsense"))
