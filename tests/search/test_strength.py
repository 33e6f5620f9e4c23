"""Limited strength: the table of levels, the moves that a level overlooks, and searches that keep to a level."""

from __future__ import annotations

import math
import random
import threading
from itertools import pairwise
from pathlib import Path

import chess
import numpy as np
import pytest

from search import run
from search.kernels.score import MATE
from search.limits import Clock, Limits
from search.oversight import OWN_SHARE, blind_spots
from search.searcher import Info, Searcher
from search.strength import (
    FIRST_NODES,
    FULL_SKILL,
    LEVELS,
    MAX_ELO,
    MIN_ELO,
    Level,
    level_at,
    wanted_level,
)
from search.tablebase import open_tables
from tests.search.games import (
    ENDING,
    KIWIPETE,
    MATE_IN_ONE,
    MIDDLEGAME,
    MOST_MOVES,
    check_lines,
    game,
    last_info,
)

TABLES = Path(__file__).resolve().parents[1] / "data" / "syzygy"

#: The first iteration in the positions below has fewer nodes, even if every move is seen.
MOST_FIRST_NODES = 3000

WEAKEST, STRONGEST = LEVELS[0], LEVELS[-1]

A_LONG_TIME = Limits(clock=Clock(600_000))


# -- the table of levels -------------------------------------------------------------------------------------------


def is_no_weaker(high: Level, low: Level) -> bool:
    """Whether a level has no fewer nodes and overlooks no more."""
    return high.nodes >= low.nodes and high.oversight <= low.oversight


def test_levels_grow_in_everything_that_makes_them() -> None:
    for low, high in pairwise(LEVELS):
        assert high.elo > low.elo
        assert is_no_weaker(high, low)
    assert len({level.name for level in LEVELS}) == len(LEVELS)


def test_ratings_between_are_interpolated_and_others_are_the_ends() -> None:
    assert [level_at(level.elo) for level in LEVELS] == list(LEVELS)
    every = [level_at(elo) for elo in range(MIN_ELO, MAX_ELO + 1)]
    assert [level.elo for level in every] == list(range(MIN_ELO, MAX_ELO + 1))
    assert all(is_no_weaker(high, low) for low, high in pairwise(every))
    low, high = LEVELS[0], LEVELS[1]
    middle = level_at((low.elo + high.elo) // 2)
    assert middle.nodes == pytest.approx(math.sqrt(low.nodes * high.nodes), rel=0.02)
    assert low.oversight > middle.oversight > high.oversight
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


# -- what is overlooked --------------------------------------------------------------------------------------------


def test_moves_are_overlooked_as_often_as_the_formula_says() -> None:
    level = Level(1500, 1000, 40)
    rng = random.Random(1)
    draws = np.stack([blind_spots(level, chess.WHITE, rng) for _ in range(4000)])
    far_back, near = (chess.A8, chess.A1), (chess.E4, chess.E5)
    expected = {
        (chess.WHITE, *far_back): 0.4 * 2.0 * OWN_SHARE,  # a retreat of White
        (chess.BLACK, *far_back): 0.4 * 1.5,
        (chess.WHITE, *near): 0.4 * (0.5 + 1 / 7) * OWN_SHARE,
        (chess.BLACK, *near): 0.4 * (1.0 + 1 / 7),
    }
    for (color, origin, target), chance in expected.items():
        drawn = draws[:, int(color), origin, target]
        assert (drawn > 0).mean() == pytest.approx(chance, abs=0.03)
        assert (drawn > 1).mean() == pytest.approx(chance**2, abs=0.03)


def overlooking(monkeypatch: pytest.MonkeyPatch, *moves: tuple[bool, str, int]) -> None:
    """Makes every level overlook these moves of a color, and only these: 1 as quiet moves, 2 always."""
    blind = np.zeros((2, 64, 64), np.uint8)
    for color, uci, degree in moves:
        move = chess.Move.from_uci(uci)
        blind[int(color), move.from_square, move.to_square] = degree
    monkeypatch.setattr(run, "blind_spots", lambda *_: blind)


@pytest.mark.parametrize(
    ("fen", "moves", "overlooked", "expected"),
    [
        # The queen must guard against mate on d1, and takes the pawn if it does not see that.
        ("3r2k1/1p3ppp/8/8/8/8/5PPP/1Q4K1 w - - 0 1", (), (), None),
        ("3r2k1/1p3ppp/8/8/8/8/5PPP/1Q4K1 w - - 0 1", (), (chess.BLACK, "d8d1", 1), "b1b7"),
        # A knight can be taken: on d4 for some time, or since the last move.
        ("3r2k1/5ppp/8/8/3N4/7P/5PP1/6K1 b - - 0 1", (), (chess.BLACK, "d8d4", 1), "d8d4"),
        ("3r2k1/5ppp/8/8/3N4/7P/5PP1/6K1 b - - 0 1", (), (chess.BLACK, "d8d4", 2), None),
        ("3r2k1/5ppp/8/8/8/5N1P/5PP1/6K1 w - - 0 1", ("f3d4",), (chess.BLACK, "d8d4", 2), "d8d4"),
        # Every reply to a check is seen.
        ("6k1/5ppp/8/8/8/5B2/5PP1/3r2K1 w - - 0 1", (), (chess.WHITE, "f3d1", 2), "f3d1"),
    ],
)
def test_moves_are_overlooked_in_the_search(
    searcher: Searcher,
    monkeypatch: pytest.MonkeyPatch,
    fen: str,
    moves: tuple[str, ...],
    overlooked: tuple[bool, str, int],
    expected: str | None,
) -> None:
    """`expected` is the move that is played; None means that it is another one than where a move is overlooked."""
    overlooking(monkeypatch, *([overlooked] if overlooked else []))
    best = str(searcher.search(game(fen, *moves), Limits(depth=2), level=Level(1500, 5000, 50)).best)
    assert best == expected if expected is not None else best not in ("b1b7", "d8d4")


@pytest.mark.parametrize("fen", [KIWIPETE, MIDDLEGAME, ENDING, MATE_IN_ONE])
def test_who_sees_no_move_sees_no_mate_or_stalemate(
    searcher: Searcher, monkeypatch: pytest.MonkeyPatch, fen: str
) -> None:
    """With every move overlooked, each of the root's moves is worth its static evaluation, unless it mates."""
    monkeypatch.setattr(run, "blind_spots", lambda *_: np.full((2, 64, 64), 2, np.uint8))
    info = last_info(searcher.search(game(fen), Limits(depth=3), level=Level(1500, 100_000, 50)))
    if fen == MATE_IN_ONE:
        assert info.score == MATE - 1
    else:
        assert info.score != 0
        assert abs(info.score) < 1000


# -- searches ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.name)
@pytest.mark.parametrize("fen", [KIWIPETE, MIDDLEGAME])
def test_a_level_takes_its_nodes(searcher: Searcher, level: Level, fen: str) -> None:
    result = searcher.search(game(fen), A_LONG_TIME, level=level)
    assert level.nodes <= result.nodes <= max(level.nodes, MOST_FIRST_NODES)
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


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.name)
def test_a_mate_that_is_seen_is_played(searcher: Searcher, level: Level) -> None:
    """The weakest level often overlooks the rook's long move."""
    played = [searcher.search(game(MATE_IN_ONE), Limits(), level=level).best for _ in range(20)]
    mates = played.count(chess.Move.from_uci("d1d8"))
    assert mates == 20 if not level.oversight else 1 <= mates <= 20
    assert mates < 20 or level != WEAKEST


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
    # The same player keeps what it knows. Full strength needs what the level has overlooked.
    forgotten = []
    monkeypatch.setattr(searcher, "new_game", lambda: forgotten.append(1))
    searcher.search(game(KIWIPETE), Limits(), level=LEVELS[3])
    assert forgotten == []
    searcher.search(game(KIWIPETE), Limits(depth=3))
    searcher.search(game(KIWIPETE), Limits(depth=3))
    assert forgotten == [1]
    searcher.search(game(KIWIPETE), Limits(), level=LEVELS[3])
    assert forgotten == [1, 1]


def test_the_tablebase_is_obeyed(searcher: Searcher) -> None:
    """In a won pawn ending a level plays one of the best moves, whatever it overlooks."""
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
