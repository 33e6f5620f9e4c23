"""Playing strength on demand: the table of levels, the softened choice, and searches that keep to a level."""

from __future__ import annotations

import math
import random
import threading
from collections import Counter
from itertools import pairwise
from pathlib import Path

import chess
import pytest

from search.kernels.score import MATE
from search.limits import Clock, Limits
from search.searcher import Game, Info, Searcher
from search.strength import (
    FIRST_NODES,
    FULL_SKILL,
    LEVELS,
    MAX_ELO,
    MIN_ELO,
    MOST_LOSS,
    Level,
    choose,
    level_at,
    skill_elo,
    wanted_level,
)
from search.tablebase import open_tables

KIWIPETE = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"
MIDDLEGAME = "r2q1rk1/pp2bppp/2n1bn2/2pp4/3P4/1P2PN2/PB1NBPPP/R2Q1RK1 w - - 4 11"
MOST_MOVES = "R6R/3Q4/1Q4Q1/4Q3/2Q4Q/Q4Q2/pp1Q4/kBNN1KB1 w - - 0 1"
TABLES = Path(__file__).resolve().parents[1] / "data" / "syzygy"

WEAKEST, STRONGEST = LEVELS[0], LEVELS[-1]


def game(fen: str = chess.STARTING_FEN, chess960: bool = False) -> Game:
    return Game(chess.Board(fen, chess960=chess960))


@pytest.fixture
def searcher() -> Searcher:
    made = Searcher(4)
    made.rng.seed(1)
    return made


# -- the table of levels -------------------------------------------------------------------------------------------


def is_no_weaker(high: Level, low: Level) -> bool:
    """Whether a level has no fewer nodes, no more softness and no more lines to choose from."""
    return high.nodes >= low.nodes and high.softness <= low.softness and high.lines <= low.lines


def test_levels_grow_in_everything_that_makes_them() -> None:
    for low, high in pairwise(LEVELS):
        assert high.elo > low.elo
        assert high.nodes > low.nodes
        assert is_no_weaker(high, low)
    assert (WEAKEST.elo, STRONGEST.elo) == (MIN_ELO, MAX_ELO)
    assert len({level.name for level in LEVELS}) == len(LEVELS)


def test_ratings_between_are_interpolated() -> None:
    assert [level_at(level.elo) for level in LEVELS] == list(LEVELS)
    all_of_them = [level_at(elo) for elo in range(MIN_ELO, MAX_ELO + 1)]
    assert [level.elo for level in all_of_them] == list(range(MIN_ELO, MAX_ELO + 1))
    assert all(is_no_weaker(high, low) for low, high in pairwise(all_of_them))
    low, high = LEVELS[0], LEVELS[1]
    middle = level_at((low.elo + high.elo) // 2)
    assert middle.nodes == pytest.approx(math.sqrt(low.nodes * high.nodes), rel=0.02)
    assert low.softness > middle.softness > high.softness


def test_ratings_outside_the_table_are_its_ends() -> None:
    assert level_at(0) == WEAKEST
    assert level_at(9999) == STRONGEST


def test_skill_levels_go_from_the_weakest_to_full_strength() -> None:
    elos = [skill_elo(skill) for skill in range(FULL_SKILL)]
    assert (elos[0], elos[-1]) == (MIN_ELO, MAX_ELO)
    assert all(low < high for low, high in pairwise(elos))
    assert wanted_level(False, MIN_ELO, FULL_SKILL) is None
    assert wanted_level(False, MAX_ELO, 0) == WEAKEST
    # A rating goes before the skill level.
    assert wanted_level(True, MAX_ELO, 0) == STRONGEST
    assert wanted_level(True, MIN_ELO, FULL_SKILL) == WEAKEST


# -- the choice ----------------------------------------------------------------------------------------------------


def test_choices_are_as_frequent_as_their_weights() -> None:
    level = Level(1500, 1000, 40, 5)
    losses = [0, 10, 40, 80, 81, 0]
    rng = random.Random(1)
    chosen = Counter(choose(losses, level, rng) for _ in range(20_000))
    weights = [math.exp(-loss / 40) for loss in losses[:4]]
    for index, weight in enumerate(weights):
        assert chosen[index] / 20_000 == pytest.approx(weight / sum(weights), abs=0.015)
    # One loses too much, the other is beyond the lines that the level looks at.
    assert set(chosen) == {0, 1, 2, 3}
    assert MOST_LOSS * 40 == 80


def test_choices_are_those_of_the_generator() -> None:
    level = Level(1500, 1000, 40, 5)
    first, second = random.Random(3), random.Random(3)
    losses = [0, 5, 9]
    assert [choose(losses, level, first) for _ in range(50)] == [choose(losses, level, second) for _ in range(50)]


def test_without_softness_or_another_line_the_best_is_played() -> None:
    rng = random.Random(1)
    assert {choose([0, 0, 0], Level(2500, 1000, 0, 3), rng) for _ in range(50)} == {0}
    assert {choose([0, 0, 0], Level(2500, 1000, 50, 1), rng) for _ in range(50)} == {0}
    assert {choose([0], WEAKEST, rng) for _ in range(50)} == {0}
    assert {choose([0, 31_000], WEAKEST, rng) for _ in range(200)} == {0}


# -- searches ------------------------------------------------------------------------------------------------------


def nodes_of_first_iteration(fen: str, lines: int) -> int:
    return Searcher(4).search(game(fen), Limits(depth=1), lines=lines).nodes


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.name)
@pytest.mark.parametrize("fen", [chess.STARTING_FEN, KIWIPETE, MIDDLEGAME])
def test_a_level_takes_its_nodes(searcher: Searcher, level: Level, fen: str) -> None:
    result = searcher.search(game(fen), Limits(clock=Clock(600_000)), level=level)
    assert result.nodes == max(level.nodes, nodes_of_first_iteration(fen, level.lines))
    assert result.best in game(fen).board.legal_moves


@pytest.mark.parametrize("level", [WEAKEST, STRONGEST], ids=lambda level: level.name)
def test_other_limits_bind_as_well(searcher: Searcher, level: Level) -> None:
    assert searcher.search(game(KIWIPETE), Limits(nodes=20), level=level).nodes <= 20
    result = searcher.search(game(KIWIPETE), Limits(depth=1), level=level)
    assert result.info is not None
    assert result.info.depth == 1
    assert searcher.search(game(KIWIPETE), Limits(move_time=1), level=level).best is not None
    for time_left in (1, 5, 30):
        result = searcher.search(game(MOST_MOVES), Limits(clock=Clock(time_left)), level=level)
        assert result.best is not None


def test_the_first_iteration_ends_where_captures_explode(searcher: Searcher) -> None:
    for fen in (MOST_MOVES, "qqqqkqqq/qqqqqqqq/8/8/8/8/QQQQQQQQ/QQQQKQQQ w - - 0 1"):
        result = searcher.search(game(fen), Limits(clock=Clock(600_000)), level=WEAKEST)
        assert result.nodes <= FIRST_NODES
        assert result.best in game(fen).board.legal_moves


@pytest.mark.parametrize("lines", [1, 3])
def test_the_move_is_the_first_of_the_last_lines_shown(searcher: Searcher, lines: int) -> None:
    played = set()
    for fen in (chess.STARTING_FEN, MIDDLEGAME, KIWIPETE) * 10:
        infos: list[Info] = []
        searcher.new_game()
        result = searcher.search(game(fen), Limits(), infos.append, lines=lines, level=WEAKEST)
        assert [info.number for info in infos[-lines:]] == list(range(1, lines + 1))
        assert infos[-lines] == result.info
        assert infos[-lines].pv[0] == result.best
        assert len({info.pv[0] for info in infos[-lines:]}) == lines
        assert max(info.number for info in infos) == lines
        ponder = infos[-lines].pv[1] if len(infos[-lines].pv) > 1 else None
        assert result.ponder == ponder
        played.add(result.best)
        for info in infos:
            board = chess.Board(fen)
            for move in info.pv:
                assert move in board.legal_moves
                board.push(move)
    assert len(played) > 3


def test_losses_are_bounded(searcher: Searcher) -> None:
    level = Level(1200, 800, 60, 8)
    losses = []
    for fen in (chess.STARTING_FEN, MIDDLEGAME, KIWIPETE, "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1") * 25:
        infos: list[Info] = []
        searcher.search(game(fen), Limits(), infos.append, lines=level.lines, level=level)
        last = infos[-level.lines :]
        losses.append(max(info.score for info in last) - last[0].score)
    assert 0 < max(losses) <= MOST_LOSS * level.softness


def test_a_strong_level_errs_less(searcher: Searcher) -> None:
    """The mean loss of the choice alone falls with the softness."""
    means = []
    for softness in (100, 40, 10, 0):
        level = Level(1500, 2000, softness, 6)
        losses = []
        for _ in range(30):
            infos: list[Info] = []
            searcher.new_game()
            searcher.search(game(MIDDLEGAME), Limits(), infos.append, lines=6, level=level)
            losses.append(max(info.score for info in infos[-6:]) - infos[-6].score)
        means.append(sum(losses) / len(losses))
    assert means == sorted(means, reverse=True)
    assert means[0] > means[-1] == 0


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.name)
@pytest.mark.parametrize(
    ("fen", "best"),
    [
        ("6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1", "d1d8"),
        ("r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4", "h5f7"),
    ],
)
def test_a_mate_that_is_seen_is_played(searcher: Searcher, level: Level, fen: str, best: str) -> None:
    for _ in range(5):
        result = searcher.search(game(fen), Limits(), level=level)
        assert result.best == chess.Move.from_uci(best)
        assert result.info is not None
        assert result.info.score == MATE - 1


def test_nobody_walks_into_a_mate_that_is_seen(searcher: Searcher) -> None:
    """A knight guards the back rank: three of its moves lose the game at once, one of them towards the centre."""
    fen = "6k1/5ppp/1n6/8/8/1P5P/5PP1/R5K1 b - - 0 1"
    board = chess.Board(fen)
    board.push_uci("b6d5")
    board.push_uci("a1a8")
    assert board.is_checkmate()
    level = Level(1200, 2000, 100, 30)
    for _ in range(20):
        result = searcher.search(game(fen), Limits(), level=level)
        assert result.best is not None
        assert result.best.uci() not in ("b6d5", "b6c4", "b6a4")


def test_the_same_seed_plays_the_same(searcher: Searcher) -> None:
    def play(seed: int) -> list[str]:
        searcher.new_game()
        searcher.rng.seed(seed)
        played = game()
        moves = []
        for _ in range(16):
            result = searcher.search(played, Limits(clock=Clock(600_000)), level=LEVELS[2])
            assert result.best is not None
            played.push(result.best)
            moves.append(result.best.uci())
        return moves

    assert play(7) == play(7)
    assert len({tuple(play(seed)) for seed in range(4)}) > 1


def test_openings_vary(searcher: Searcher) -> None:
    played = set()
    for _ in range(30):
        searcher.new_game()
        played.add(searcher.search(game(), Limits(), level=WEAKEST).best)
    assert len(played) >= 3


def test_the_normal_search_is_as_before(searcher: Searcher) -> None:
    limits = Limits(depth=8)
    alone = Searcher(4).search(game(KIWIPETE), limits)
    searcher.search(game(MIDDLEGAME), Limits(), level=WEAKEST)
    searcher.search(game(KIWIPETE), Limits(), lines=3, level=WEAKEST)
    searcher.new_game()
    infos: list[Info] = []
    after = searcher.search(game(KIWIPETE), limits, infos.append)
    assert (after.nodes, after.best) == (alone.nodes, alone.best)
    assert [info.number for info in infos] == [1] * 8


def test_what_a_stronger_search_found_is_of_no_use(searcher: Searcher, monkeypatch: pytest.MonkeyPatch) -> None:
    """As analysis between two moves of a game would leave it behind."""
    fresh = Searcher(4)
    fresh.rng.seed(5)
    expected = fresh.search(game(KIWIPETE), Limits(), level=LEVELS[3])
    searcher.search(game(KIWIPETE), Limits(depth=10))
    searcher.rng.seed(5)
    found = searcher.search(game(KIWIPETE), Limits(), level=LEVELS[3])
    assert (found.nodes, found.best, found.ponder) == (expected.nodes, expected.best, expected.ponder)
    # The same player goes on with what it knows, and the full strength with all there is.
    forgotten = []
    monkeypatch.setattr(searcher, "new_game", lambda: forgotten.append(1))
    searcher.search(game(KIWIPETE), Limits(), level=LEVELS[3])
    searcher.search(game(KIWIPETE), Limits(depth=3))
    assert forgotten == []
    searcher.search(game(KIWIPETE), Limits(), level=LEVELS[3])
    assert forgotten == [1]


def test_one_thread_plays_whatever_threads_there_are() -> None:
    results = []
    for threads in (1, 3):
        searcher = Searcher(4, threads)
        searcher.rng.seed(2)
        result = searcher.search(game(MIDDLEGAME), Limits(clock=Clock(600_000)), level=LEVELS[5])
        results.append((result.nodes, result.best))
        searcher.close()
    assert results[0] == results[1]


def test_search_moves_are_obeyed(searcher: Searcher) -> None:
    chosen = Counter(
        str(searcher.search(game(), Limits(search_moves=("a2a3", "h2h4")), level=WEAKEST).best) for _ in range(40)
    )
    assert set(chosen) <= {"a2a3", "h2h4"}
    only = searcher.search(game(), Limits(search_moves=("a2a3",)), level=WEAKEST)
    assert only.best == chess.Move.from_uci("a2a3")


def test_chess960_castling_may_be_chosen(searcher: Searcher) -> None:
    result = searcher.search(
        game("4k3/8/8/8/8/8/8/RK5R w HA - 0 1", chess960=True), Limits(search_moves=("b1h1",)), level=WEAKEST
    )
    assert result.best == chess.Move.from_uci("b1h1")


def test_endgame_tables_are_obeyed(searcher: Searcher) -> None:
    """A won pawn ending, in which not every move is the best: no softness gives anything away."""
    tables, _, problems = open_tables(str(TABLES))
    assert tables is not None
    assert problems == []
    fen = "8/8/8/8/1k6/8/6PK/8 w - - 0 1"
    board = chess.Board(fen)
    ranking = tables.rank(board, list(board.legal_moves))
    assert ranking is not None
    best = max(ranking.ranks.values())
    assert min(ranking.ranks.values()) < best
    searcher.set_tables(tables)
    for _ in range(20):
        result = searcher.search(game(fen), Limits(), lines=3, level=WEAKEST)
        assert result.best is not None
        assert ranking.ranks[result.best] == best
        assert result.info is not None
        assert result.info.is_known
    tables.close()


def test_pondering_ends_by_its_nodes_and_by_a_hit(searcher: Searcher) -> None:
    searcher.arm()
    result = searcher.search(game(), Limits(ponder=True, clock=Clock(1000)), level=LEVELS[4])
    assert result.nodes <= LEVELS[4].nodes
    searcher.arm()
    timer = threading.Timer(0.01, searcher.ponder_hit)
    timer.start()
    result = searcher.search(game(), Limits(ponder=True, clock=Clock(1000)), level=LEVELS[4])
    timer.join()
    assert result.best is not None


def test_a_stop_ends_it_with_a_move(searcher: Searcher) -> None:
    searcher.arm()
    searcher.stop()
    result = searcher.search(game(KIWIPETE), Limits(), level=STRONGEST)
    assert result.best is not None
    assert result.info is not None
    assert result.info.depth == 1


def test_no_legal_move_gives_no_move(searcher: Searcher) -> None:
    result = searcher.search(game("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1"), Limits(), level=WEAKEST)
    assert result.best is None
