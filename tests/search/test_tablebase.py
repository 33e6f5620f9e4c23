"""The tablebase at the root: real tables for three men, and scripted answers where more men would be needed."""

import random
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import chess
import chess.syzygy
import pytest

from search import tablebase
from search.limits import Clock, Limits
from search.searcher import Game, Info, Searcher
from search.tablebase import SPOILT, TABLE_BOUND, TABLE_WIN, Ranking, Tables, open_tables
from tests.search.games import game, last_info

FOLDER = Path(__file__).resolve().parents[1] / "data" / "syzygy"


@pytest.fixture(scope="module")
def tables() -> Tables:
    found, count, problems = open_tables(str(FOLDER))
    assert found is not None
    assert (count, problems, found.pieces) == (10, [], 3)
    return found


@pytest.fixture(scope="module")
def oracle() -> chess.syzygy.Tablebase:
    return chess.syzygy.open_tablebase(str(FOLDER))


@pytest.fixture
def searcher(tables: Tables) -> Searcher:
    made = Searcher(1)
    made.set_tables(tables)
    return made


#: A pawn ending that White wins, though not with every move.
WON = "8/8/8/8/1k6/8/6PK/8 w - - 0 1"


class Scripted:
    """A source that knows the DTZ of some moves, from the view of the side that made them."""

    def __init__(self, distances: dict[str, int], has_dtz: bool = True) -> None:
        self.distances = distances
        self.has_dtz = has_dtz

    def close(self) -> None:
        pass

    def probe_dtz(self, board: chess.Board) -> int:
        if not self.has_dtz:
            raise KeyError("no such table")
        return -self.distances[board.peek().uci()]

    def probe_wdl(self, board: chess.Board) -> int:
        distance = -self.distances[board.peek().uci()]
        certain = abs(distance) <= 100
        return (2 if certain else 1) * ((distance > 0) - (distance < 0))


#: A rook and a bishop for each side, kings apart: nothing that the rules end, and quiet moves only.
BOARD = "8/8/3k4/8/1r6/4K3/1R6/8 w - - {} 1"


MOVES = [chess.Move.from_uci(text) for text in ("e3e2", "e3d2", "e3f2", "e3f3", "e3d3")]


def ranking(count: int, *distances: int, has_dtz: bool = True, fifty_moves: bool = True) -> Ranking:
    """The ranking of MOVES with these DTZ values, `count` plies after the last capture."""
    script = {move.uci(): distance for move, distance in zip(MOVES, distances, strict=False)}
    tables = Tables(Scripted(script, has_dtz), 7, fifty_moves=fifty_moves)
    found = tables.rank(chess.Board(BOARD.format(count)), MOVES[: len(distances)])
    assert found is not None
    return found


def ranks(count: int, *distances: int, **rules: bool) -> list[int]:
    return list(ranking(count, *distances, **rules).ranks.values())


def scores(count: int, *distances: int, **rules: bool) -> list[int]:
    return list(ranking(count, *distances, **rules).scores.values())


# -- the rule --------------------------------------------------------------------------------------------------------


def test_wins_in_time_come_before_all_else_the_quickest_first() -> None:
    quick, quickest, drawn, lost, too_late = ranks(0, 30, 5, 0, -4, 150)
    assert quickest > quick > too_late > drawn > lost


def test_the_count_of_the_fifty_move_rule_decides_what_is_in_time() -> None:
    # The move adds a ply: 40 here is 41 there.
    in_time, too_late = ranks(58, 40, 41)
    assert in_time > 4096 > too_late > 0
    certain, spoilt = scores(58, 40, 41)
    assert certain > TABLE_BOUND
    assert spoilt == SPOILT
    # Without the rule both win.
    assert min(ranks(58, 40, 41, fifty_moves=False)) > 4096
    assert scores(99, 400, fifty_moves=False)[0] > TABLE_BOUND


def test_the_side_that_loses_lasts_longest_where_the_rule_may_save_it() -> None:
    long, short, drawn, saved = ranks(20, -60, -10, 0, -90)
    assert drawn > saved > long > short
    # Far from that, the search chooses.
    first, second = ranks(0, -10, -30)
    assert first == second
    assert scores(0, -10) == [-TABLE_WIN]
    assert scores(20, -60, -90) == [-TABLE_WIN + 61, -SPOILT]


def test_a_repetition_is_no_win_and_no_loss() -> None:
    board = chess.Board(BOARD.format(0))
    for text in ("e3e2", "d6d5", "e2e3", "d5d6") * 2:
        board.push_uci(text)
    found = Tables(Scripted({"e3e2": 7, "e3d2": 9}), 7).rank(board, MOVES[:2])
    assert found is not None
    assert found.ranks[MOVES[1]] > 0 == found.ranks[MOVES[0]]


def test_results_alone_are_used_where_there_are_no_distances() -> None:
    values = ranks(0, 7, 300, 0, -3, has_dtz=False)
    assert values == sorted(values, reverse=True)
    assert len(set(values)) == 4
    assert scores(0, 7, 300, 0, -3, has_dtz=False) == [TABLE_WIN, SPOILT, 0, -TABLE_WIN]


def test_positions_that_are_in_no_table_are_left_to_the_search(tables: Tables) -> None:
    for fen in (chess.STARTING_FEN, BOARD.format(0), "4k3/8/8/8/8/8/8/4K2R w K - 0 1"):
        board = chess.Board(fen)
        assert tables.rank(board, list(board.legal_moves)) is None
    board = chess.Board("8/8/8/4k3/8/8/4Q3/4K3 w - - 0 1")
    assert tables.rank(board, list(board.legal_moves)) is not None
    tables.limit = 2
    assert tables.rank(board, list(board.legal_moves)) is None
    tables.limit = 7


# -- real tables -------------------------------------------------------------------------------------------------------


def random_positions(pieces: str, count: int, seed: int, wanted: Callable[[chess.Board], bool]) -> list[chess.Board]:
    """Legal positions of White's and Black's `pieces` with either side to move."""
    rng = random.Random(seed)
    found: list[chess.Board] = []
    while len(found) < count:
        board = chess.Board(None)
        for symbol, square in zip(pieces, rng.sample(range(64), len(pieces)), strict=True):
            board.set_piece_at(square, chess.Piece.from_symbol(symbol))
        board.turn = rng.random() < 0.5
        if board.is_valid() and not board.is_game_over() and wanted(board):
            found.append(board)
    return found


@pytest.mark.parametrize("pieces", ["KQk", "KRk", "KPk", "Kkp", "Kkq"])
def test_the_best_moves_keep_the_result(tables: Tables, oracle: chess.syzygy.Tablebase, pieces: str) -> None:
    for board in random_positions(pieces, 20, 3, lambda board: True):
        found = tables.rank(board, list(board.legal_moves))
        assert found is not None
        best = max(found.ranks.values())
        before = oracle.probe_wdl(board)
        assert (best > 0) - (best < 0) == (before > 0) - (before < 0)
        for move, rank in found.ranks.items():
            board.push(move)
            after = 0 if board.is_insufficient_material() else -oracle.probe_wdl(board)
            board.pop()
            assert (rank > 0) - (rank < 0) == (after > 0) - (after < 0)


def play(white: Searcher, black: Searcher, board: chess.Board) -> chess.Board:
    """A game of searches of a few nodes, each with the whole game."""
    played = Game(board)
    while not played.board.is_game_over(claim_draw=True):
        result = (white if played.board.turn else black).search(played, Limits(nodes=60))
        assert result.best is not None
        played.push(result.best)
    return played.board


@pytest.mark.parametrize("pieces", ["KRk", "KPk"])
def test_won_endings_are_won_before_the_count_runs_out(
    searcher: Searcher, oracle: chess.syzygy.Tablebase, pieces: str
) -> None:
    """The defender has the same tables. The fifty-move count begins as high as the win allows."""
    won = random_positions(pieces, 2, 5, lambda board: board.turn and oracle.probe_wdl(board) == 2)
    for board in won:
        board.halfmove_clock = 98 - oracle.probe_dtz(board)
        assert play(searcher, searcher, board).outcome(claim_draw=True).winner  # type: ignore[union-attr]


def test_drawn_endings_are_held(searcher: Searcher, oracle: chess.syzygy.Tablebase) -> None:
    bare, lost = Searcher(1), 0
    for board in random_positions("KPk", 16, 11, lambda board: not board.turn and oracle.probe_wdl(board) == 0):
        assert not play(bare, searcher, board).outcome(claim_draw=True).winner  # type: ignore[union-attr]
        lost += bool(play(searcher, bare, board).outcome(claim_draw=True).winner)  # type: ignore[union-attr]
    assert lost > 0, "these endings are held without tables, too: they prove nothing"


def test_known_results_are_the_score(searcher: Searcher) -> None:
    drawn = game("8/8/8/8/4k3/8/4p3/4K3 w - - 0 1")
    info = last_info(searcher.search(drawn, Limits(depth=3)))
    assert (info.score, info.is_known, info.tb_hits) == (0, True, drawn.board.legal_moves.count())
    info = last_info(searcher.search(game(WON), Limits(depth=3)))
    assert TABLE_BOUND < info.score <= TABLE_WIN
    assert info.mate is None
    assert last_info(searcher.search(game("7k/8/5K2/8/8/8/8/6Q1 w - - 0 1"), Limits(depth=5))).mate == 1


def test_a_search_for_a_mate_uses_no_tables(searcher: Searcher) -> None:
    """The moves with the least DTZ need not lead to the nearest mate."""
    info = last_info(searcher.search(game("7k/8/5K2/8/8/8/8/6Q1 w - - 0 1"), Limits(mate=2)))
    assert (info.mate, info.tb_hits) == (1, 0)


def test_lines_follow_the_tables(searcher: Searcher, oracle: chess.syzygy.Tablebase) -> None:
    """Moves that win come before moves that draw, and these before moves that lose."""
    for board in random_positions("KPk", 5, 23, lambda board: oracle.probe_wdl(board) >= 0):
        infos: list[Info] = []
        searcher.search(Game(board), Limits(depth=2), infos.append, lines=30)
        last = [info for info in infos if info.depth == 2]
        assert len(last) == board.legal_moves.count()
        scores = [info.score for info in last]
        assert scores == sorted(scores, reverse=True)
        for info in last:
            board.push(info.pv[0])
            value = 0 if board.is_insufficient_material() else -oracle.probe_wdl(board)
            board.pop()
            assert (info.score > 0) - (info.score < 0) == (value > 0) - (value < 0)


@pytest.mark.parametrize("lines", [1, 2])
def test_a_search_that_finds_nothing_plays_a_winning_move(searcher: Searcher, lines: int) -> None:
    """One node is too few for the first iteration. Only d6d7 wins; the first legal move is a king's."""
    found = searcher.search(game("8/8/3P4/2k5/8/8/1K6/8 w - - 0 1"), Limits(nodes=1), lines=lines)
    assert found.best == chess.Move.from_uci("d6d7")
    assert last_info(found).score > TABLE_BOUND


def test_search_moves_come_first(searcher: Searcher) -> None:
    """The engine searches a move that loses the win if the user asks for it."""
    result = searcher.search(game(WON), Limits(depth=2, search_moves=("h2h1",)))
    assert result.best == chess.Move.from_uci("h2h1")


def test_there_is_no_time_for_tables_in_a_scramble(searcher: Searcher) -> None:
    assert not last_info(searcher.search(game(WON), Limits(clock=Clock(20)))).is_known


def test_slow_tables_leave_time_for_the_search(searcher: Searcher) -> None:
    """Each probe takes as long as a tenth of the move's time."""

    class Slow(Scripted):
        def probe_dtz(self, board: chess.Board) -> int:
            time.sleep(0.04)
            return -1

        probe_wdl = probe_dtz

    searcher.set_tables(Tables(Slow({}), 7))
    result = searcher.search(game(BOARD.format(0)), Limits(move_time=400))
    assert result.seconds < 10
    assert not last_info(result).is_known
    assert last_info(result).depth > 3
    assert last_info(searcher.search(game(BOARD.format(0)), Limits(depth=2))).is_known


# -- files that are not what they should be ---------------------------------------------------------------------------


def test_bad_folders_are_named_and_good_ones_used(tmp_path: Path) -> None:
    found, count, problems = open_tables(f"{tmp_path};/no/such/folder:{FOLDER}")
    assert found is not None
    assert count == 10
    assert problems == [
        f"{tmp_path}: contains no Syzygy tables (*.rtbw, *.rtbz)",
        "/no/such/folder: No such file or directory",
    ]
    assert open_tables("/no/such/folder")[0] is None


@pytest.mark.parametrize("damage", ["empty", "text", "short", "half"])
def test_a_damaged_table_is_reported_once_and_the_game_goes_on(tmp_path: Path, damage: str) -> None:
    data = (FOLDER / "KPvK.rtbw").read_bytes()
    broken = {"empty": b"", "text": b"hello", "short": data[:100], "half": data[: len(data) // 2 // 64 * 64 + 16]}[
        damage
    ]
    (tmp_path / "KPvK.rtbw").write_bytes(broken)
    (tmp_path / "KPvK.rtbz").write_bytes((FOLDER / "KPvK.rtbz").read_bytes()[: -16 if damage == "half" else None])
    found, _, problems = open_tables(str(tmp_path))
    assert found is not None
    assert problems == []
    searcher = Searcher(1)
    searcher.set_tables(found)
    first = searcher.search(game(WON), Limits(depth=3))
    assert first.best in set(chess.Board(WON).legal_moves)
    assert len(first.problems) == 1
    assert first.problems[0].startswith("tablebases not used: ")
    assert searcher.search(game(WON), Limits(depth=3)).problems == ()


class Endless(Scripted):
    """A source that never answers, like a decoder that reads a damaged table."""

    def __init__(self) -> None:
        super().__init__({})
        self.has_ended = threading.Event()

    def probe_dtz(self, board: chess.Board) -> int:
        try:
            while True:
                with suppress(Exception):
                    board.is_check()
        finally:
            self.has_ended.set()

    probe_wdl = probe_dtz


def test_an_endless_probe_is_ended_and_the_search_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tablebase, "PROBE_PATIENCE", 0.3)
    source = Endless()
    searcher = Searcher(1)
    searcher.set_tables(Tables(source, 7))
    result = searcher.search(game(BOARD.format(0)), Limits(depth=3))
    assert result.best in set(chess.Board(BOARD.format(0)).legal_moves)
    assert result.problems == ("tablebases not used: a probe took more than 0.3 s",)
    assert source.has_ended.wait(10)
    assert searcher.search(game(BOARD.format(0)), Limits(depth=3)).problems == ()


def test_stop_and_the_clock_do_not_wait_for_a_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tablebase, "PROBE_PATIENCE", 60)
    source = Endless()
    tables = Tables(source, 7)
    searcher = Searcher(1)
    searcher.set_tables(tables)
    result = searcher.search(game(BOARD.format(0)), Limits(move_time=400))
    assert result.seconds < 30
    assert not last_info(result).is_known
    # The probe is still busy: the next search does without it, too.
    searcher.arm()
    threading.Timer(0.2, searcher.stop).start()
    assert searcher.search(game(BOARD.format(0)), Limits(infinite=True)).best in set(
        chess.Board(BOARD.format(0)).legal_moves
    )
    assert not source.has_ended.is_set()
    tables.close()
    assert source.has_ended.wait(10)


def test_without_a_thread_the_search_does_without_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    searcher = Searcher(1)
    searcher.set_tables(Tables(Scripted({}), 7))

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        result = searcher.search(game(BOARD.format(0)), Limits(depth=2))
    assert result.best in set(chess.Board(BOARD.format(0)).legal_moves)
    assert result.problems == ()
