"""Lazy SMP: any number of threads plays legal moves, keeps all limits, and ends with the search."""

import threading
import time
from collections.abc import Callable

import chess
import numpy as np
import pytest

from eval.network.format import shipped_network
from search import threads as threads_module
from search.benchmark import POSITIONS, run_benchmark
from search.deepening import Iteration
from search.kernels.score import MATE
from search.kernels.worker import new_worker
from search.limits import Clock, Limits
from search.searcher import Info, Searcher
from search.threads import vote
from search.tunables import BY_NAME
from tests.search.games import KIWIPETE, MATE_IN_TWO, check_lines, game, last_info

VOTE_BASE = BY_NAME["vote_base"].default


# -- searching ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize(
    "limits", [Limits(depth=6), Limits(nodes=8000), Limits(move_time=20), Limits(clock=Clock(500))], ids=str
)
def test_moves_are_legal_and_the_last_info_is_theirs(
    make: Callable[[int], Searcher], threads: int, limits: Limits
) -> None:
    searcher = make(threads)
    for fen in POSITIONS[::2]:
        infos: list[Info] = []
        result = searcher.search(game(fen), limits, infos.append)
        assert result.problems == ()
        assert infos[-1] == result.info
        assert infos[-1].pv[0] == result.best
        check_lines(fen, infos)


@pytest.mark.parametrize("threads", [2, 3, 4])
def test_mates_are_found_together(make: Callable[[int], Searcher], threads: int) -> None:
    searcher = make(threads)
    for _ in range(5):
        searcher.new_game()
        result = searcher.search(game(MATE_IN_TWO), Limits(depth=6))
        assert last_info(result).mate == 2
        assert result.best == chess.Move.from_uci("a1a6")


@pytest.mark.parametrize("threads", [2, 4])
@pytest.mark.parametrize("nodes", [1, 3, 5000, 100_000])
def test_node_limits_hold_for_the_sum(make: Callable[[int], Searcher], threads: int, nodes: int) -> None:
    searcher = make(threads)
    infos: list[Info] = []
    result = searcher.search(game(KIWIPETE), Limits(nodes=nodes), infos.append)
    assert result.best is not None
    assert nodes / threads <= result.nodes <= nodes
    assert all(info.nodes <= nodes for info in infos)


def test_helpers_search_and_are_counted(make: Callable[[int], Searcher]) -> None:
    searcher = make(2)
    helper = searcher._helpers._helpers[0]
    while int(helper.worker["nodes"]) < 1000:
        result = searcher.search(game(KIWIPETE), Limits(move_time=100))
        assert result.nodes == int(searcher._worker["nodes"]) + int(helper.worker["nodes"])


def test_nothing_runs_on_after_the_answer(make: Callable[[int], Searcher]) -> None:
    searcher = make(4)
    for limits in (Limits(depth=7), Limits(nodes=2000), Limits(move_time=20)):
        searcher.search(game(KIWIPETE), limits)
        before = [int(helper.worker["nodes"]) for helper in searcher._helpers._helpers]
        time.sleep(0.02)
        assert [int(helper.worker["nodes"]) for helper in searcher._helpers._helpers] == before


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_stop_ends_all_threads_soon(make: Callable[[int], Searcher], threads: int) -> None:
    searcher = make(threads)
    late: list[float] = []
    for _ in range(5):
        stopped: list[float] = []

        def stop(stopped: list[float] = stopped) -> None:
            stopped.append(time.perf_counter())
            searcher.stop()

        searcher.arm()
        timer = threading.Timer(0.02, stop)
        timer.start()
        result = searcher.search(game(), Limits(infinite=True))
        late.append(time.perf_counter() - stopped[0])
        assert result.best is not None
    # A few milliseconds on a quiet machine.
    assert min(late) < 1


def test_a_move_without_time_for_help_is_searched_alone(make: Callable[[int], Searcher]) -> None:
    searcher = make(2)
    result = searcher.search(game(), Limits(move_time=2), overhead=0)
    assert result.best is not None
    assert int(searcher._helpers._helpers[0].worker["nodes"]) == 0


# -- a failing helper --------------------------------------------------------------------------------------------


def test_a_failing_helper_is_reported_and_harmless(
    make: Callable[[int], Searcher], monkeypatch: pytest.MonkeyPatch
) -> None:
    searcher = make(3)

    class Broken:
        def __init__(self, worker: object, tt: object, root: object) -> None:
            raise ArithmeticError("broken for the test")

    with monkeypatch.context() as patch:
        patch.setattr(threads_module, "Deepening", Broken)
        result = searcher.search(game(), Limits(depth=5))
    assert result.best is not None
    assert result.problems == ("a search thread failed: ArithmeticError: broken for the test",) * 2
    reported: list[Info] = []
    again = searcher.search(game(), Limits(depth=5), reported.append)
    assert again.best is not None
    assert again.problems == ()
    # What is chosen may be a thread's that was stopped a depth earlier.
    assert max(info.depth for info in reported) == 5


def test_helpers_are_stopped_when_the_caller_fails(make: Callable[[int], Searcher]) -> None:
    searcher = make(2)

    def fail(info: Info) -> None:
        raise KeyError("from the caller")

    with pytest.raises(KeyError):
        searcher.search(game(), Limits(infinite=True), fail)
    assert searcher.search(game(), Limits(depth=4)).best is not None


# -- threads and memory ------------------------------------------------------------------------------------------


def test_threads_come_and_go_with_the_number(make: Callable[[int], Searcher]) -> None:
    searcher = make(4)
    assert searcher.threads == 4
    threads = [helper.thread for helper in searcher._helpers._helpers]
    searcher.resize_threads(2)
    for thread in threads[1:]:
        thread.join(5)
    assert [thread.is_alive() for thread in threads] == [True, False, False]
    assert searcher.search(game(), Limits(depth=5)).best is not None
    searcher.close()
    threads[0].join(5)
    assert not threads[0].is_alive()
    assert searcher.threads == 1
    assert searcher.search(game(), Limits(depth=5)).best is not None


def test_workers_share_no_cache_line() -> None:
    for worker in [new_worker() for _ in range(4)]:
        assert worker.__array_interface__["data"][0] % 64 == 0


# -- a new game --------------------------------------------------------------------------------------------------


def test_a_new_game_clears_every_worker(make: Callable[[int], Searcher]) -> None:
    searcher = make(3)
    workers = [searcher._worker, *(helper.worker for helper in searcher._helpers._helpers)]
    # On a busy machine a helper may get no time in a search.
    while not all(np.any(worker["butterfly_history"]) for worker in workers):
        searcher.search(game(KIWIPETE), Limits(move_time=100))
    learnt = [
        "butterfly_history",
        "capture_history",
        "continuation_history",
        "pawn_corrections",
        "piece_corrections",
        "move_corrections",
    ]
    searcher.new_game()
    assert not any(np.any(worker[name]) for worker in workers for name in learnt)
    assert not np.any(searcher._tt["word"])


def test_the_benchmark_is_that_of_a_fresh_process_after_a_new_game(
    make: Callable[[int], Searcher], run_python: Callable[..., str]
) -> None:
    used = make(2)
    used.set_network(shipped_network())
    used.search(game(KIWIPETE), Limits(move_time=200))
    used.search(game(), Limits(depth=8))
    used.resize_threads(1)
    result = run_benchmark(6, searcher=used)
    assert result is not None
    script = "from search.benchmark import run_benchmark; print(run_benchmark(6, 4).nodes)"
    assert run_python(script).strip() == str(result.nodes)


# -- the vote ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answers", "winner"),
    [
        pytest.param([(1, 5, -300)], 0, id="alone"),
        pytest.param([(1, 10, 20), (1, 10, 20)], 0, id="the main thread wins ties"),
        pytest.param([(1, 10, 20), (2, 10, 20)], 0, id="the main thread wins ties of moves"),
        pytest.param([(1, 10, 20), (2, 12, 20)], 1, id="deeper"),
        pytest.param([(1, 10, 20), (2, 10, 21)], 1, id="better"),
        pytest.param([(1, 20, 20), (2, 19, 60)], 1, id="clearly better, a ply less"),
        pytest.param([(1, 11, 20), (2, 5, 25)], 0, id="slightly better, much less deep"),
        pytest.param([(1, 12, 30), (2, 12, 26), (2, 12, 25)], 1, id="a majority against a slightly better score"),
        pytest.param([(1, 30, 500), (2, 9, MATE - 9), (3, 8, MATE - 5), (1, 30, 600)], 2, id="the shortest mate"),
        pytest.param([(1, 20, -(MATE - 6)), (2, 15, -200)], 1, id="not the mated"),
        pytest.param([(1, 20, -(MATE - 6)), (2, 20, -(MATE - 12))], 1, id="the longest defence"),
    ],
)
def test_the_vote(answers: list[tuple[int, int, int]], winner: int) -> None:
    found = [Iteration(depth, score, (move,)) for move, depth, score in answers]
    assert vote(found, VOTE_BASE) is found[winner]
