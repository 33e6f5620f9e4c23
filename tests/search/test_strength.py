"""Limited strength: the table of levels, the softened choice, and searches that keep to a level."""

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
from search.searcher import Info, Searcher
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
    wanted_level,
)
from search.tablebase import open_tables
from tests.search.games import (
    KIWIPETE,
    MATE_IN_ONE,
    MIDDLEGAME,
    MOST_MOVES,
    check_lines,
    game,
    last_info,
)

TABLES = Path(__file__).resolve().parents[1] / "data" / "syzygy"

WEAKEST, STRONGEST = LEVELS[0], LEVELS[-1]

A_LONG_TIME = Limits(clock=Clock(600_000))


# -- the table of levels -------------------------------------------------------------------------------------------


def is_no_weaker(high: Level, low: Level) -> bool:
    """Whether a level has no fewer nodes, no more softness and no more lines to choose from."""
    return high.nodes >= low.nodes and high.softness <= low.softness and high.lines <= low.lines


def test_levels_grow_in_everything_that_makes_them() -> None:
    for low, high in pairwise(LEVELS):
        assert high.elo > low.elo
        assert high.nodes > low.nodes
    assert len({level.name for level in LEVELS}) == len(LEVELS)


def test_ratings_between_are_interpolated_and_others_are_the_ends() -> None:
    assert [level_at(level.elo) for level in LEVELS] == list(LEVELS)
    every = [level_at(elo) for elo in range(MIN_ELO, MAX_ELO + 1)]
    assert [level.elo for level in every] == list(range(MIN_ELO, MAX_ELO + 1))
    assert all(is_no_weaker(high, low) for low, high in pairwise(every))
    low, high = LEVELS[0], LEVELS[1]
    middle = level_at((low.elo + high.elo) // 2)
    assert middle.nodes == pytest.approx(math.sqrt(low.nodes * high.nodes), rel=0.02)
    assert low.softness > middle.softness > high.softness
    assert (level_at(0), level_at(9999)) == (WEAKEST, STRONGEST)


def test_skill_levels_go_from_the_weakest_to_full_strength() -> None:
    levels = [wanted_level(False, MIN_ELO, skill) for skill in range(FULL_SKILL)]
    elos = [level.elo for level in levels if level is not None]
    assert (levels[0], levels[-1], len(elos)) == (WEAKEST, STRONGEST, FULL_SKILL)
    assert all(low < high for low, high in pairwise(elos))
    assert wanted_level(False, MIN_ELO, FULL_SKILL) is None
    # A rating overrides the skill level.
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


# -- searches ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.name)
@pytest.mark.parametrize("fen", [KIWIPETE, MIDDLEGAME])
def test_a_level_takes_its_nodes(searcher: Searcher, level: Level, fen: str) -> None:
    first_iteration = searcher.search(game(fen), Limits(depth=1), lines=level.lines).nodes
    result = searcher.search(game(fen), A_LONG_TIME, level=level)
    assert result.nodes == max(level.nodes, first_iteration)
    assert result.best in set(game(fen).board.legal_moves)


def test_the_first_iteration_ends_where_captures_explode(searcher: Searcher) -> None:
    for fen in (MOST_MOVES, "qqqqkqqq/qqqqqqqq/8/8/8/8/QQQQQQQQ/QQQQKQQQ w - - 0 1"):
        result = searcher.search(game(fen), A_LONG_TIME, level=WEAKEST)
        assert result.nodes <= FIRST_NODES
        assert result.best in set(game(fen).board.legal_moves)


@pytest.mark.parametrize("lines", [1, 3])
def test_the_move_is_the_first_of_the_last_lines_shown(searcher: Searcher, lines: int) -> None:
    played = set()
    for fen in (chess.STARTING_FEN, MIDDLEGAME, KIWIPETE) * 5:
        infos: list[Info] = []
        searcher.new_game()
        result = searcher.search(game(fen), Limits(), infos.append, lines=lines, level=WEAKEST)
        last = infos[-lines:]
        assert [info.number for info in last] == list(range(1, lines + 1))
        assert len({info.pv[0] for info in last}) == lines
        assert last[0] == result.info
        assert (result.best, result.ponder) == (*last[0].pv, None)[:2]
        assert max(info.number for info in infos) == lines
        played.add(result.best)
        check_lines(fen, infos)
    assert len(played) > 3


def loss(searcher: Searcher, fen: str, level: Level) -> int:
    """Centipawns that the choice of one search loses against the best line."""
    infos: list[Info] = []
    searcher.search(game(fen), Limits(), infos.append, lines=level.lines, level=level)
    last = infos[-level.lines :]
    return max(info.score for info in last) - last[0].score


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.name)
def test_a_mate_that_is_seen_is_played(searcher: Searcher, level: Level) -> None:
    for _ in range(5):
        result = searcher.search(game(MATE_IN_ONE), Limits(), level=level)
        assert result.best == chess.Move.from_uci("d1d8")
        assert last_info(result).score == MATE - 1


def test_no_level_allows_a_mate_that_is_seen(searcher: Searcher) -> None:
    """A knight guards the back rank: three of its moves lose the game at once, one of them towards the centre."""
    fen = "6k1/5ppp/1n6/8/8/1P5P/5PP1/R5K1 b - - 0 1"
    assert game(fen, "b6d5", "a1a8").board.is_checkmate()
    level = Level(1200, 2000, 100, 30)
    for _ in range(20):
        assert str(searcher.search(game(fen), Limits(), level=level).best) not in ("b6d5", "b6c4", "b6a4")


def test_the_normal_search_is_as_before(searcher: Searcher) -> None:
    limits = Limits(depth=8)
    alone = searcher.search(game(KIWIPETE), limits)
    searcher.search(game(KIWIPETE), Limits(), lines=3, level=WEAKEST)
    searcher.new_game()
    infos: list[Info] = []
    after = searcher.search(game(KIWIPETE), limits, infos.append)
    assert (after.nodes, after.best) == (alone.nodes, alone.best)
    assert [info.number for info in infos] == [1] * 8


def test_a_level_does_not_use_what_a_stronger_search_found(searcher: Searcher, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user may analyse between two moves of a game."""
    searcher.rng.seed(5)
    expected = searcher.search(game(KIWIPETE), Limits(), level=LEVELS[3])
    searcher.search(game(KIWIPETE), Limits(depth=10))
    searcher.rng.seed(5)
    found = searcher.search(game(KIWIPETE), Limits(), level=LEVELS[3])
    assert (found.nodes, found.best, found.ponder) == (expected.nodes, expected.best, expected.ponder)
    # The same player keeps what it knows, and full strength uses everything.
    forgotten = []
    monkeypatch.setattr(searcher, "new_game", lambda: forgotten.append(1))
    searcher.search(game(KIWIPETE), Limits(), level=LEVELS[3])
    searcher.search(game(KIWIPETE), Limits(depth=3))
    assert forgotten == []
    searcher.search(game(KIWIPETE), Limits(), level=LEVELS[3])
    assert forgotten == [1]


def test_the_tablebase_is_obeyed(searcher: Searcher) -> None:
    """In a won pawn ending the softness never chooses a move that is not the best."""
    tables, _, problems = open_tables(str(TABLES))
    assert tables is not None
    assert problems == []
    fen = "8/8/8/8/1k6/8/6PK/8 w - - 0 1"
    ranking = tables.rank(chess.Board(fen), list(chess.Board(fen).legal_moves))
    assert ranking is not None
    best = max(ranking.ranks.values())
    assert min(ranking.ranks.values()) < best
    searcher.set_tables(tables)
    for _ in range(20):
        result = searcher.search(game(fen), Limits(), lines=3, level=WEAKEST)
        assert result.best is not None
        assert ranking.ranks[result.best] == best
        assert last_info(result).is_known
    tables.close()


def test_pondering_ends_by_its_nodes_and_by_a_hit(searcher: Searcher) -> None:
    limits = Limits(ponder=True, clock=Clock(1000))
    searcher.arm()
    assert searcher.search(game(), limits, level=LEVELS[4]).nodes <= LEVELS[4].nodes
    searcher.arm()
    timer = threading.Timer(0.01, searcher.ponder_hit)
    timer.start()
    assert searcher.search(game(), limits, level=LEVELS[4]).best is not None
    timer.join()


def test_a_stop_ends_it_with_a_move(searcher: Searcher) -> None:
    searcher.arm()
    searcher.stop()
    result = searcher.search(game(KIWIPETE), Limits(), level=STRONGEST)
    assert result.best is not None
    assert last_info(result).depth == 1
