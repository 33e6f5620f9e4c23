"""Threads: any number of threads plays legal moves, keeps all limits, and ends with the search."""

import threading
import time
from collections.abc import Callable

import chess
import numpy as np
import pytest

from engine.board.convert import encode, write_board
from eval.network.format import shipped_network
from search import threads as threads_module
from search.benchmark import POSITIONS, run_benchmark
from search.deepening import Completed, Deepening, Iteration, Root, Team, set_root
from search.kernels.score import MATE
from search.kernels.transposition import allocate_table
from search.kernels.worker import new_worker
from search.limits import NO_NODE_LIMIT, Clock, Limits
from search.searcher import Info, Searcher
from search.threads import Helper, deepest
from tests.search.games import KIWIPETE, check_lines, game, last_info

#: A mate in two by a queen sacrifice. Which iteration finds it first depends on the threads, but the tenth does.
FORCED_MATE = "r1bq2r1/b4pk1/p1pp1p2/1p2pP2/1P2P1PB/3P4/1PPQ2P1/R3K2R w KQ - 0 1"

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
        result = searcher.search(game(FORCED_MATE), Limits(depth=12))
        assert last_info(result).mate == 2
        assert result.best == chess.Move.from_uci("d2h6")


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


def test_a_stop_before_the_start_stops_the_helpers_too(make: Callable[[int], Searcher]) -> None:
    searcher = make(3)
    for _ in range(5):
        searcher.arm()
        searcher.stop()
        result = searcher.search(game(KIWIPETE), Limits(infinite=True))
        assert result.seconds < 10
        assert result.best is not None


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
        def __init__(self, *given: object, **named: object) -> None:
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
    assert reported[-1].depth == 5


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


def test_threads_that_cannot_be_had_leave_those_that_can(
    make: Callable[[int], Searcher], monkeypatch: pytest.MonkeyPatch
) -> None:
    searcher = make(1)

    def scarce(number: int) -> Helper:
        if number >= 2:
            raise RuntimeError("can't start new thread")
        return Helper(number)

    monkeypatch.setattr(threads_module, "Helper", scarce)
    with pytest.raises(RuntimeError):
        searcher.resize_threads(8)
    assert searcher.threads == 3
    assert searcher.search(game(), Limits(depth=4)).best is not None


def test_workers_share_no_cache_line() -> None:
    for worker in [new_worker() for _ in range(4)]:
        assert worker.__array_interface__["data"][0] % 64 == 0


def test_helpers_use_the_tunables_of_the_main_thread(make: Callable[[int], Searcher]) -> None:
    searcher = make(2)
    searcher._worker["tune"]["rfp_margin"] = 33
    searcher.search(game(), Limits(depth=2))
    assert int(searcher._helpers._helpers[0].worker["tune"]["rfp_margin"]) == 33


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
        "non_pawn_corrections",
        "continuation_corrections",
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


# -- searching together ------------------------------------------------------------------------------------------


def _prepared(fen: str, team: Team | None = None, ahead: int = 1, lines: int = 1) -> Deepening:
    """Returns the deepening of a new worker, to depth 6, with its own TT."""
    worker = new_worker()
    board = chess.Board(fen)
    write_board(board, worker["stack"][0]["position"])
    root = Root(game(fen).keys, [encode(board, move) for move in board.legal_moves], 1, 6, lines)
    set_root(worker, root, NO_NODE_LIMIT)
    return Deepening(worker, allocate_table(1), root, team=team, ahead=ahead)


def test_an_iteration_of_another_thread_counts_and_its_depth_is_left_out() -> None:
    other = list(_prepared(KIWIPETE).iterations())
    mine = _prepared(KIWIPETE)
    seen: list[Iteration] = []
    for found in mine.iterations():
        seen.append(found)
        if found.depth == 1:
            mine.team = Team([mine._worker], mine.completed(found))
        if found.depth == 3:
            assert mine.team is not None
            order = [other[4].line[0], *(move for move in mine.completed(found).order if move != other[4].line[0])]
            mine.team.complete(Completed(other[4], order, 0.25))
            assert mine._worker["overtaken"] == 5
    assert [found.depth for found in seen] == [1, 2, 3, 5, 6]
    assert seen[3] is other[4]


def test_the_next_iteration_follows_the_order_of_the_completed_one() -> None:
    mine = _prepared(KIWIPETE)
    last, order, _ = mine.completed(next(mine.iterations()))
    order.reverse()
    assert mine._go_on_from(Completed(last, order, 0.25)) is last
    assert mine.effort == 0.25
    assert mine._order == order
    assert mine._worker["root_moves"][: len(order)].tolist() == order


def test_the_order_of_several_lines_has_their_moves_first() -> None:
    mine = _prepared(KIWIPETE, lines=3)
    found = [*mine.iterations()][-1]
    order = mine.completed(found).order
    assert order[:3] == [line.line[0] for line in found.lines]
    assert sorted(order) == sorted(mine._root.moves)


@pytest.mark.parametrize("is_overtaken", [False, True])
def test_a_better_move_counts_only_if_it_is_better_than_the_deepest_iteration(
    is_overtaken: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = _prepared(KIWIPETE)
    order = first.completed(next(first.iterations())).order
    best, newer = Iteration(1, 20, (order[0],)), Iteration(2, 10, (order[1],))
    better = Iteration(3, 20, (order[2],), complete=False)
    team = Team([], Completed(best, order, 1.0))
    helper = _prepared(KIWIPETE, team, 2)

    def stopped(depth: int, last: Iteration) -> Iteration | None:
        if last is not best:
            return None
        if is_overtaken:
            team.complete(Completed(newer, order, 1.0))
        return better

    monkeypatch.setattr(helper, "_iteration", stopped)
    assert list(helper.iterations()) == [newer if is_overtaken else better]


def test_a_helper_goes_on_from_the_deepest_iteration_and_stays_ahead() -> None:
    first = _prepared(KIWIPETE)
    found = next(first.iterations())
    team = Team([], first.completed(found))
    assert [found.depth for found in _prepared(KIWIPETE, team, 2).iterations()] == [3, 5, 6]
    assert team.deepest.iteration.depth == 6


def test_a_team_keeps_its_deepest_iteration_and_ends_shallower_ones() -> None:
    workers = [new_worker(), new_worker()]
    four, five = (Completed(Iteration(depth, 0, (1,)), [1], 1.0) for depth in (4, 5))
    team = Team(workers, four)
    team.complete(five)
    team.complete(four)
    assert team.deepest is five
    assert [int(worker["overtaken"]) for worker in workers] == [5, 5]


def test_the_search_of_a_depth_ends_when_another_thread_completes_it() -> None:
    deepening = _prepared(KIWIPETE)
    iterations = deepening.iterations()
    assert next(iterations).depth == 1
    worker = deepening._worker
    worker["overtaken"] = 2
    before = int(worker["nodes"])
    assert list(iterations) == []
    assert worker["nodes"] == before
    assert worker["aborted"] == 1


@pytest.mark.parametrize("lines", [1, 3])
def test_reported_depths_rise_and_reach_the_limit(make: Callable[[int], Searcher], lines: int) -> None:
    searcher = make(4)
    for fen in POSITIONS[:12:3]:
        infos: list[Info] = []
        result = searcher.search(game(fen), Limits(depth=8), infos.append, lines=lines)
        depths = [info.depth for info in infos if info.number == 1]
        assert depths == sorted(set(depths))
        assert depths[-1] == last_info(result).depth == 8
        check_lines(fen, infos)


@pytest.mark.parametrize(
    ("answers", "winner"),
    [
        pytest.param([(5, 0, True)], 0, id="alone"),
        pytest.param([(10, 0, True), (10, 5, True)], 0, id="the main thread wins ties"),
        pytest.param([(10, 0, True), (12, 0, False), (11, 9, True)], 1, id="the deepest"),
        pytest.param([(10, 0, True), (9, 90, True)], 0, id="not the best score"),
        pytest.param([(10, 0, False), (10, 0, True)], 1, id="complete"),
        pytest.param([(10, MATE - 5, True), (12, 300, True)], 0, id="a mate that is proved"),
    ],
)
def test_the_deepest_iteration_is_chosen(answers: list[tuple[int, int, bool]], winner: int) -> None:
    found = [Iteration(depth, score, (1,), complete) for depth, score, complete in answers]
    assert deepest(found) is found[winner]
