"""Several lines (MultiPV), and what leaving moves out at the root must not spoil."""

import random
import threading
from collections.abc import Iterator
from typing import Any

import chess
import numpy as np
import pytest

from engine.board.convert import encode
from search.deepening import Root, set_root
from search.kernels.score import EXACT, LOWER, MATE, UPPER
from search.kernels.worker import STOP_NOW
from search.limits import Clock, Limits
from search.run import Equipment, Request, SearchRun
from search.searcher import Game, Info, Progress, Searcher

KIWIPETE = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"
ENDING = "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1"


@pytest.fixture(params=[1, 2])
def searcher(request: pytest.FixtureRequest) -> Iterator[Searcher]:
    made = Searcher(4, request.param)
    yield made
    made.close()


def by_depth(infos: list[Info]) -> dict[int, list[Info]]:
    found: dict[int, list[Info]] = {}
    for info in infos:
        found.setdefault(info.depth, []).append(info)
    return found


@pytest.mark.parametrize(("fen", "lines"), [(KIWIPETE, 4), (ENDING, 3), (chess.STARTING_FEN, 20), (ENDING, 200)])
def test_lines_are_distinct_legal_and_sorted(searcher: Searcher, fen: str, lines: int) -> None:
    infos: list[Info] = []
    result = searcher.search(Game(chess.Board(fen)), Limits(depth=6), infos.append, lines=lines)
    count = min(lines, chess.Board(fen).legal_moves.count())
    depths = by_depth(infos)
    assert list(depths) == [1, 2, 3, 4, 5, 6]
    for found in depths.values():
        assert [info.number for info in found] == list(range(1, count + 1))
        assert len({info.pv[0] for info in found}) == count
        scores = [info.score for info in found]
        assert scores == sorted(scores, reverse=True)
        for info in found:
            board = chess.Board(fen)
            for move in info.pv:
                assert move in board.legal_moves
                board.push(move)
    assert result.best == depths[6][0].pv[0]
    assert result.info == depths[6][0]


def test_search_moves_bound_the_lines(searcher: Searcher) -> None:
    infos: list[Info] = []
    limits = Limits(depth=5, search_moves=("b4b1", "g2g3", "a5a4"))
    searcher.search(Game(chess.Board(ENDING)), limits, infos.append, lines=5)
    for found in by_depth(infos).values():
        assert {info.pv[0].uci() for info in found} == {"b4b1", "g2g3", "a5a4"}


def test_each_line_has_the_score_of_its_move() -> None:
    """Line by line the same as asking for that move alone, where a shallow search has nothing to disagree about."""
    fen = "6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1"
    searcher = Searcher(4)
    infos: list[Info] = []
    searcher.search(Game(chess.Board(fen)), Limits(depth=3), infos.append, lines=3)
    first = by_depth(infos)[3][0]
    assert first.pv[0] == chess.Move.from_uci("d1d8")
    assert first.score == MATE - 1
    second = by_depth(infos)[3][1]
    assert 100 < second.score < 2000


def test_one_line_is_searched_as_without_the_option() -> None:
    plain, asked = Searcher(4), Searcher(4)
    game = Game(chess.Board(KIWIPETE))
    assert plain.search(game, Limits(depth=8)).nodes == asked.search(game, Limits(depth=8), lines=1).nodes


def test_a_stopped_search_still_has_all_its_lines(searcher: Searcher) -> None:
    for seconds in (0.05, 0.1, 0.15, 0.2, 0.25):
        infos: list[Info] = []
        searcher.arm()
        timer = threading.Timer(seconds, searcher.stop)
        timer.start()
        result = searcher.search(Game(chess.Board(KIWIPETE)), Limits(infinite=True), infos.append, lines=5)
        last = infos[-5:]
        assert [info.number for info in last] == [1, 2, 3, 4, 5]
        assert len({info.pv[0] for info in last}) == 5
        assert result.best == last[0].pv[0]


def test_a_clock_is_kept_with_several_lines() -> None:
    searcher = Searcher(4)
    result = searcher.search(Game(chess.Board(KIWIPETE)), Limits(clock=Clock(1000)), lines=10)
    assert result.seconds < 0.9
    result = searcher.search(Game(chess.Board(KIWIPETE)), Limits(nodes=5000), lines=10)
    assert result.nodes <= 5000


def test_a_restricted_root_is_not_remembered_as_the_whole() -> None:
    """A bad move alone at the root must not leave its score in the table as the position's."""
    searcher = Searcher(4)
    game = Game(chess.Board("4k3/8/8/8/8/8/4q3/R3K2R w KQ - 0 1"))  # the queen hangs
    searcher.search(game, Limits(depth=6))
    assert remembered(searcher, game) == 1
    bad = Game(chess.Board(ENDING))
    searcher.search(bad, Limits(depth=6, search_moves=("g2g3",)))  # a pawn move: the root cannot come back
    assert remembered(searcher, bad) == 0
    searcher.search(bad, Limits(depth=6), lines=2)
    assert remembered(searcher, bad) == 1


def remembered(searcher: Searcher, game: Game) -> int:
    """Entries of the table for a game's position."""
    word = searcher._tt["word"]
    return int(np.count_nonzero((searcher._tt["check"] ^ word == game.keys[-1]) & (word != 0)))


# -- mates ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mate", "depth"), [(1, 1), (2, 3), (3, 16)])
def test_go_mate_gives_up_where_there_is_none(mate: int, depth: int) -> None:
    searcher = Searcher(4)
    tunables = searcher._worker["tune"].tolist()
    result = searcher.search(Game(chess.Board("8/8/4k3/8/8/3NK3/4P3/8 w - - 0 1")), Limits(mate=mate))
    assert result.info is not None
    assert result.info.mate is None
    assert result.info.depth == depth
    assert searcher._worker["tune"].tolist() == tunables


def test_a_shorter_mate_than_asked_for_is_enough() -> None:
    result = Searcher(4).search(Game(chess.Board("kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1")), Limits(mate=5))
    assert result.info is not None
    assert result.info.mate is not None
    assert 0 < result.info.mate <= 5


def test_who_is_mated_need_not_look_for_a_mate() -> None:
    result = Searcher(4).search(Game(chess.Board("k7/8/8/8/8/1r6/r7/4K3 w - - 0 1")), Limits(mate=30))
    assert result.info is not None
    assert result.info.mate == -1
    assert result.info.depth < 10


# -- reports -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lines", [1, 3])
def test_long_searches_say_what_they_are_at(monkeypatch: pytest.MonkeyPatch, lines: int) -> None:
    monkeypatch.setattr("search.searcher.REPORT_AFTER", 0.05)
    monkeypatch.setattr("search.searcher.REPORT_EVERY", 0.002)
    searcher = Searcher(4)
    infos: list[Info] = []
    said: list[Progress] = []
    game = Game(chess.Board(KIWIPETE))
    searcher.search(game, Limits(move_time=1500), infos.append, lines=lines, on_progress=said.append)
    searcher.close()
    assert len(said) > 10
    assert len({progress.move for progress in said}) > 3
    assert all(progress.move in game.board.legal_moves for progress in said)
    assert all(1 <= progress.number <= 48 for progress in said)
    assert [progress.depth for progress in said] == sorted(progress.depth for progress in said)
    bounds = [info for info in infos if info.bound != EXACT]
    assert {info.bound for info in bounds} <= {LOWER, UPPER}
    for info in infos:
        board = chess.Board(KIWIPETE)
        for move in info.pv:
            assert move in board.legal_moves
            board.push(move)


def test_a_move_that_is_counted_before_it_is_there_is_not_reported() -> None:
    searcher = Searcher(1)
    said: list[Progress] = []
    board = chess.Board()
    searcher.search(Game(chess.Board(KIWIPETE)), Limits(depth=3))  # and leaves its moves behind
    worker = searcher._worker
    root = Root([np.uint64(1)], [encode(board, move) for move in board.legal_moves], 1, 3)
    set_root(worker, root, 1000)
    request = Request(Game(board), Limits(depth=3), 0.0, 0, on_progress=said.append)
    run = SearchRun(request, Equipment(worker, searcher._helpers, searcher._tt, 1, None))
    run._root_count = len(root.moves)
    worker["stack"][0]["tried_count"] = 1
    run.report()
    assert said == []
    worker["stack"][0]["tried"][0] = encode(board, chess.Move.from_uci("e2e4"))
    run.report()
    searcher.close()
    assert [(progress.move.uci(), progress.number) for progress in said] == [("e2e4", 1)]


def test_windows_that_fail_are_reported_and_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same nodes, lines and scores whether anyone listens or not."""

    def run(searcher: Searcher) -> list[Info]:
        infos: list[Info] = []
        searcher.search(Game(chess.Board(KIWIPETE)), Limits(depth=11), infos.append, on_progress=lambda _: None)
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


def test_a_search_without_time_for_anything_still_says_something() -> None:
    """Stopped at its first node, as on a machine that is busy with other things."""
    for fen, lines in ((KIWIPETE, 1), (KIWIPETE, 3), ("4k3/8/8/8/8/8/4q3/R3K2R w KQ - 0 1", 1)):
        searcher = Searcher(1)
        infos: list[Info] = []
        game = Game(chess.Board(fen))
        searcher._worker["stop"] = STOP_NOW
        result = searcher.search(game, Limits(move_time=1000), infos.append, lines=lines)
        assert infos == [result.info]
        assert result.best in game.board.legal_moves
        assert infos[0].depth == 1
        assert abs(infos[0].score) < 1000
        assert infos[0].pv == (result.best,)


@pytest.mark.parametrize("threads", [1, 3])
def test_searches_stopped_at_random_moments(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    """Whole sets of legal lines, and not a word after the answer."""
    monkeypatch.setattr("search.searcher.REPORT_AFTER", 0.001)
    monkeypatch.setattr("search.searcher.REPORT_EVERY", 0.0005)
    rng = random.Random(1)
    searcher = Searcher(4, threads)
    late: list[Progress] = []
    most = "R6R/3Q4/1Q4Q1/4Q3/2Q4Q/Q4Q2/pp1Q4/kBNN1KB1 w - - 0 1"  # 218 legal moves
    for _ in range(30):
        game = Game(chess.Board(rng.choice([KIWIPETE, ENDING, most])))
        lines = rng.choice([1, 2, 5, 250])
        infos: list[Info] = []
        is_over = threading.Event()

        def listen(progress: Progress, is_over: threading.Event = is_over) -> None:
            if is_over.is_set():
                late.append(progress)

        searcher.arm()
        timer = threading.Timer(rng.random() * 0.08, searcher.stop)
        timer.start()
        result = searcher.search(game, Limits(infinite=True), infos.append, lines=lines, on_progress=listen)
        is_over.set()
        timer.join()
        assert result.problems == ()
        exact = [info for info in infos if info.bound == EXACT]
        count = min(lines, game.board.legal_moves.count())
        assert exact[-1].number <= count
        if len(exact) >= count:
            assert [info.number for info in exact[-count:]] == list(range(1, count + 1))
            assert len({info.pv[0] for info in exact[-count:]}) == count
        for info in infos:
            board = game.board.copy()
            for move in info.pv:
                assert move in board.legal_moves
                board.push(move)
    searcher.close()
    assert late == []
