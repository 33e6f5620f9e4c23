"""Several lines (MultiPV), searches for a mate, and reports of long searches."""

import random
import threading
from collections.abc import Callable
from typing import Any

import chess
import numpy as np
import pytest

from engine.board.convert import encode, write_board
from search.deepening import Deepening, Iteration, Root, set_root
from search.endings import Endings
from search.kernels.score import EXACT, LOWER, MATE, NO_BOUND, UPPER
from search.kernels.worker import STOP_NOW
from search.limits import NO_NODE_LIMIT, Clock, Limits
from search.run import Request, SearchRun
from search.searcher import Game, Info, Progress, Searcher
from tests.search.games import ENDING, KIWIPETE, MATE_IN_ONE, MATE_IN_TWO, MOST_MOVES, check_lines, game, last_info

HANGING_QUEEN = "4k3/8/8/8/8/8/4q3/R3K2R w KQ - 0 1"


def by_depth(infos: list[Info]) -> dict[int, list[Info]]:
    found: dict[int, list[Info]] = {}
    for info in infos:
        found.setdefault(info.depth, []).append(info)
    return found


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("fen", "lines"), [(KIWIPETE, 4), (ENDING, 3), (chess.STARTING_FEN, 20), (ENDING, 200)])
def test_lines_are_distinct_legal_and_sorted(
    make: Callable[[int], Searcher], threads: int, fen: str, lines: int
) -> None:
    infos: list[Info] = []
    result = make(threads).search(game(fen), Limits(depth=6), infos.append, lines=lines)
    count = min(lines, chess.Board(fen).legal_moves.count())
    depths = by_depth(infos)
    # Another thread may complete the next depth and a deeper one first.
    expected = [1, 2, 3, 4, 5, 6] if threads == 1 else [1, *sorted(set(depths) - {1, 6}), 6]
    assert list(depths) == expected
    for found in depths.values():
        assert [info.number for info in found] == list(range(1, count + 1))
        assert len({info.pv[0] for info in found}) == count
        scores = [info.score for info in found]
        assert scores == sorted(scores, reverse=True)
    check_lines(fen, infos)
    assert result.best == depths[6][0].pv[0]
    assert result.info == depths[6][0]


def test_search_moves_bound_the_lines(searcher: Searcher) -> None:
    infos: list[Info] = []
    limits = Limits(depth=5, search_moves=("b4b1", "g2g3", "a5a4"))
    searcher.search(game(ENDING), limits, infos.append, lines=5)
    for found in by_depth(infos).values():
        assert {info.pv[0].uci() for info in found} == {"b4b1", "g2g3", "a5a4"}


def test_each_line_has_the_score_of_its_move(searcher: Searcher) -> None:
    infos: list[Info] = []
    searcher.search(game(MATE_IN_ONE), Limits(depth=3), infos.append, lines=3)
    first, second, _ = by_depth(infos)[3]
    assert first.pv[0] == chess.Move.from_uci("d1d8")
    assert first.score == MATE - 1
    assert 100 < second.score < 2000


@pytest.mark.parametrize("threads", [1, 2])
def test_a_stopped_search_still_has_all_its_lines(make: Callable[[int], Searcher], threads: int) -> None:
    searcher = make(threads)
    for seconds in (0.05, 0.1, 0.15):
        infos: list[Info] = []
        searcher.arm()
        threading.Timer(seconds, searcher.stop).start()
        result = searcher.search(game(KIWIPETE), Limits(infinite=True), infos.append, lines=5)
        last = infos[-5:]
        assert [info.number for info in last] == [1, 2, 3, 4, 5]
        assert len({info.pv[0] for info in last}) == 5
        assert result.best == last[0].pv[0]


def test_limits_are_kept_with_several_lines(searcher: Searcher) -> None:
    assert searcher.search(game(KIWIPETE), Limits(clock=Clock(2000)), lines=10).seconds < 2
    assert searcher.search(game(KIWIPETE), Limits(nodes=5000), lines=10).nodes <= 5000


def test_a_restricted_root_is_not_remembered_as_the_whole(searcher: Searcher) -> None:
    """A bad move alone at the root must not leave its score in the table as the position's."""
    hanging, bad = game(HANGING_QUEEN), game(ENDING)
    searcher.search(hanging, Limits(depth=6))
    assert remembered(searcher, hanging) == 1
    searcher.search(bad, Limits(depth=6, search_moves=("g2g3",)))  # a pawn move: the root cannot come back
    assert remembered(searcher, bad) == 0
    searcher.search(bad, Limits(depth=6), lines=2)
    assert remembered(searcher, bad) == 1


def remembered(searcher: Searcher, game: Game) -> int:
    """Counts the entries with a score for a game's position."""
    word = searcher._tt["word"]
    has_score = (word >> np.uint64(56)) & np.uint64(3) != NO_BOUND
    return int(np.count_nonzero((searcher._tt["check"] ^ word == game.keys[-1]) & has_score))


# -- mates ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mate", "depth"), [(1, 1), (2, 3), (3, 16)])
def test_go_mate_gives_up_where_there_is_none(searcher: Searcher, mate: int, depth: int) -> None:
    tunables = searcher._worker["tune"].tolist()
    info = last_info(searcher.search(game("8/8/4k3/8/8/3NK3/4P3/8 w - - 0 1"), Limits(mate=mate)))
    assert (info.mate, info.depth) == (None, depth)
    assert searcher._worker["tune"].tolist() == tunables


@pytest.mark.parametrize("wanted", [2, 5])
def test_go_mate_ends_when_a_short_enough_mate_is_found(searcher: Searcher, wanted: int) -> None:
    assert last_info(searcher.search(game(MATE_IN_TWO), Limits(mate=wanted))).mate in range(2, wanted + 1)


def test_go_mate_ends_when_the_own_side_is_mated(searcher: Searcher) -> None:
    info = last_info(searcher.search(game("k7/8/8/8/8/1r6/r7/4K3 w - - 0 1"), Limits(mate=30)))
    assert info.mate == -1
    assert info.depth < 10


# -- reports -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lines", [1, 3])
def test_long_searches_report_their_root_moves(searcher: Searcher, monkeypatch: pytest.MonkeyPatch, lines: int) -> None:
    monkeypatch.setattr("search.searcher.REPORT_AFTER", 0.05)
    monkeypatch.setattr("search.searcher.REPORT_EVERY", 0.002)
    infos: list[Info] = []
    said: list[Progress] = []

    def listen(progress: Progress) -> None:
        said.append(progress)
        if len(said) > 10 and len({progress.move for progress in said}) > 3:
            searcher.stop()

    searcher.search(game(KIWIPETE), Limits(move_time=30_000), infos.append, lines=lines, on_progress=listen)
    assert len(said) > 10
    assert {progress.move for progress in said} <= set(chess.Board(KIWIPETE).legal_moves)
    assert all(1 <= progress.number <= 48 for progress in said)
    assert [progress.depth for progress in said] == sorted(progress.depth for progress in said)
    bounds = [info for info in infos if info.bound != EXACT]
    assert {info.bound for info in bounds} <= {LOWER, UPPER}
    check_lines(KIWIPETE, infos)


def test_a_move_that_is_counted_before_it_is_there_is_not_reported(searcher: Searcher) -> None:
    said: list[Progress] = []
    board = chess.Board()
    searcher.search(game(KIWIPETE), Limits(depth=3))  # and leaves its moves behind
    worker = searcher._worker
    root = Root([np.uint64(1)], [encode(board, move) for move in board.legal_moves], 1, 3)
    set_root(worker, root, 1000)
    request = Request(Game(board), Limits(depth=3), 0.0, 0, on_progress=said.append)
    run = SearchRun(request, worker, searcher._helpers, searcher._tt, 1, None, Endings())
    run._root_count = len(root.moves)
    worker["stack"][0]["tried_count"] = 1
    run.report()
    assert said == []
    worker["stack"][0]["tried"][0] = encode(board, chess.Move.from_uci("e2e4"))
    run.report()
    assert [(progress.move.uci(), progress.number) for progress in said] == [("e2e4", 1)]


def test_windows_that_fail_are_reported_and_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes, lines and scores are the same without a listener."""

    def run(searcher: Searcher) -> list[Info]:
        infos: list[Info] = []
        searcher.search(game(KIWIPETE), Limits(depth=11), infos.append, on_progress=lambda _: None)
        return infos

    silent = run(Searcher(4))
    assert all(info.bound == EXACT for info in silent)

    def set_root_and_report(worker: Any, *arguments: Any) -> None:
        set_root(worker, *arguments)
        worker["reports"] = 1  # from the first iteration on

    monkeypatch.setattr("search.run.set_root", set_root_and_report)
    heard = run(Searcher(4))
    exact = [info for info in heard if info.bound == EXACT]
    assert [(info.depth, info.score, info.nodes, info.pv) for info in exact] == [
        (info.depth, info.score, info.nodes, info.pv) for info in silent
    ]
    bounds = [info for info in heard if info.bound != EXACT]
    assert bounds, "no window failed: choose another position"
    for bound in bounds:
        final = next(info for info in exact if info.depth == bound.depth)
        assert bound.nodes <= final.nodes
        assert bound.pv


def test_windows_that_fail_show_no_move_of_a_better_line() -> None:
    """A window that fails low has no line of its own, and the lines may have changed places since the last depth."""
    bounds: list[int] = []
    for fen in (KIWIPETE, chess.STARTING_FEN, ENDING):
        searcher, start = Searcher(4), game(fen)
        worker = searcher._worker
        write_board(start.board, worker["stack"][0]["position"])
        moves = [encode(start.board, move) for move in start.board.legal_moves]
        root = Root(start.keys, moves, generation=1, deepest=9, lines=3)
        set_root(worker, root, NO_NODE_LIMIT)
        worker["reports"] = 1

        def hear(failed: Iteration, number: int, worker: Any = worker) -> None:
            assert failed.line[0] in worker["root_moves"][: int(worker["root_count"])]
            bounds.append(failed.bound)

        assert [found.depth for found in Deepening(worker, searcher._tt, root, hear).iterations()] == [*range(1, 10)]
    assert UPPER in bounds, "no window failed low: choose other positions"


def test_a_finished_line_keeps_its_score(searcher: Searcher) -> None:
    """The nodes suffice for the first line of depth 1, but not for the second."""
    one: list[Info] = []
    searcher.search(game(KIWIPETE), Limits(depth=1), one.append)
    searcher.new_game()
    found = last_info(searcher.search(game(KIWIPETE), Limits(nodes=one[-1].nodes + 1), lines=2))
    assert (found.depth, found.score, found.pv, found.selective_depth) == (
        *(1, one[-1].score, one[-1].pv, one[-1].selective_depth),
    )


def test_a_search_without_time_still_reports_a_line() -> None:
    """The search stops at its first node, as on a busy machine."""
    for fen, lines in ((KIWIPETE, 1), (KIWIPETE, 3), (HANGING_QUEEN, 1)):
        searcher = Searcher(1)
        infos: list[Info] = []
        searcher._worker["stop"] = STOP_NOW
        result = searcher.search(game(fen), Limits(move_time=1000), infos.append, lines=lines)
        assert infos == [result.info]
        assert result.best in set(chess.Board(fen).legal_moves)
        assert infos[0].depth == 1
        assert abs(infos[0].score) < 1000
        assert infos[0].pv == (result.best,)


@pytest.mark.parametrize("threads", [1, 3])
def test_searches_stopped_at_random_moments(
    make: Callable[[int], Searcher], monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    """They report whole sets of legal lines, and nothing after the answer."""
    monkeypatch.setattr("search.searcher.REPORT_AFTER", 0.001)
    monkeypatch.setattr("search.searcher.REPORT_EVERY", 0.0005)
    rng = random.Random(1)
    searcher = make(threads)
    late: list[Progress] = []
    for _ in range(12):
        fen = rng.choice([KIWIPETE, ENDING, MOST_MOVES])
        lines = rng.choice([1, 2, 5, 250])
        infos: list[Info] = []
        is_over = threading.Event()

        def listen(progress: Progress, is_over: threading.Event = is_over) -> None:
            if is_over.is_set():
                late.append(progress)

        searcher.arm()
        timer = threading.Timer(rng.random() * 0.08, searcher.stop)
        timer.start()
        result = searcher.search(game(fen), Limits(infinite=True), infos.append, lines=lines, on_progress=listen)
        is_over.set()
        timer.join()
        assert result.problems == ()
        exact = [info for info in infos if info.bound == EXACT]
        count = min(lines, chess.Board(fen).legal_moves.count())
        assert exact[-1].number <= count
        if len(exact) >= count:
            assert [info.number for info in exact[-count:]] == list(range(1, count + 1))
            assert len({info.pv[0] for info in exact[-count:]}) == count
        check_lines(fen, infos)
    assert late == []
