"""Games of this Secateur against itself in one process: the same games as over UCI, and only where that is certain."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from bench.adjudication import Adjudication, DrawRule, ResignRule
from bench.engines import SECATEUR, EngineSpec
from bench.game import GameTask, play_task
from bench.inside import is_inside, play_inside
from bench.openings import Opening
from bench.pairs import make_task, play_games
from bench.results import GameResult
from bench.timecontrol import TimeControl
from tests.bench.fakes import fake

RULES = Adjudication(ResignRule(3, 600, both_sides=True), DrawRule(30, 6, 10), max_moves=60)


def engine(name: str, limit: str, *arguments: str, **options: str) -> EngineSpec:
    command = (*SECATEUR, "--tuning", *arguments)
    return EngineSpec(name, command, TimeControl.parse(limit), options=tuple(options.items()))


def task(plus: EngineSpec, minus: EngineSpec, *moves: str) -> GameTask:
    return GameTask(0, 0, plus, minus, Opening(moves=moves, name="test"), RULES)


def moves_of(result: GameResult) -> list[tuple[str, int | None, int | None, int | None]]:
    """The engines' moves, with depths and scores."""
    return [(move.uci, move.depth, move.centipawns, move.mate) for move in result.moves if not move.book]


@pytest.mark.parametrize(
    ("plus", "minus", "opening"),
    [
        (
            engine("plus", "nodes=1500", Hash="1", rfp_margin="50", lmr_base="95"),
            engine("minus", "nodes=1500", Hash="1", rfp_margin="100", lmr_base="65"),
            ("d2d4", "g8f6", "c2c4", "e7e6"),
        ),
        (
            engine("plus", "depth=4", Without="null-move late-move-reduction"),
            engine("minus", "depth=4", Without="<empty>"),
            ("e2e4", "c7c5"),
        ),
        (
            engine("plus", "nodes=800", Hash="2"),
            engine("minus", "depth=1", Hash="2", history_bonus_slope="50"),
            ("f2f3", "e7e5"),
        ),
    ],
)
def test_games_are_those_over_uci(plus: EngineSpec, minus: EngineSpec, opening: tuple[str, ...]) -> None:
    for white, black in ((plus, minus), (minus, plus)):
        game = task(white, black, *opening)
        assert is_inside(game)
        over_uci = play_task(game)
        assert over_uci.fault is None
        inside = play_inside(game)
        assert moves_of(inside) == moves_of(over_uci)
        assert replace(inside, moves=()) == replace(over_uci, moves=(), date="")
        # Nothing is left from an earlier game with other options.
        play_inside(task(engine("plus", "nodes=50", Hash="1"), engine("minus", "depth=1", Hash="2", rfp_margin="30")))
        assert moves_of(play_inside(game)) == moves_of(inside)


def test_games_on_two_threads_do_not_disturb_each_other() -> None:
    """A worker of a cluster may have several threads."""
    games = [
        task(engine("plus", "nodes=2000", Hash="1"), engine("minus", "nodes=2000", Hash="1"), *moves)
        for moves in (("e2e4", "e7e5"), ("d2d4", "d7d5"), ("c2c4", "c7c5"), ("g1f3", "g8f6"))
    ]
    alone = [moves_of(play_inside(game)) for game in games]
    with ThreadPoolExecutor(2) as threads:
        assert list(map(moves_of, threads.map(play_inside, games))) == alone


def test_pairs_are_played_inside_if_possible(monkeypatch: pytest.MonkeyPatch) -> None:
    played: list[str] = []

    def record(game: GameTask, how: str) -> GameResult:
        played.append(how)
        return play_inside(game) if how == "inside" else play_task(game)

    monkeypatch.setattr("bench.pairs.play_inside", lambda game: record(game, "inside"))
    monkeypatch.setattr("bench.pairs.play_task", lambda game: record(game, "uci"))
    strong, weak = engine("plus", "nodes=5000"), engine("minus", "nodes=1")
    pair = play_games(make_task(0, strong, weak, [Opening()], Adjudication(max_moves=300)))
    assert pair.points == 2
    assert pair.seconds[0] > 2 * pair.seconds[1] > 0  # plus, which has 5000 times the nodes
    play_games(make_task(1, fake("plus"), fake("minus"), [Opening()], Adjudication(max_moves=2)))
    assert played == ["inside", "inside", "uci", "uci"]


@pytest.mark.parametrize(
    "other",
    [
        engine("minus", "1+0.01"),
        engine("minus", "movetime=0.1,nodes=100"),
        engine("minus", "nodes=100", EvalFile="mine.snet"),
        engine("minus", "nodes=100", rfp_margin="1000"),
        engine("minus", "nodes=100", rfp_margin="many"),
        engine("minus", "nodes=100", Hash="0"),
        engine("minus", "nodes=100", Without="null-move nothing"),
        engine("minus", "nodes=100", "--evaluation", "mine.py"),
        replace(engine("minus", "nodes=100"), restart=True),
        replace(engine("minus", "nodes=100"), directory="/"),
        fake("minus"),
    ],
)
def test_all_other_engines_speak_uci(other: EngineSpec) -> None:
    good = engine("plus", "nodes=100", Hash="8", rfp_margin="60", Without="null-move")
    assert is_inside(task(good, replace(good, name="minus")))
    assert not is_inside(task(good, other))
    assert not is_inside(task(other, good))
