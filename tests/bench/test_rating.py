"""Ratings against recorded results of Ordo 1.2.6, closed forms and a second, independent method.

`recorded/ordo.json` has simulated games (white, black, and white's wins, draws, losses), the arguments that Ordo was
called with beside `-p games.pgn -N 3,3`, and what it printed. Its errors come from 2000 simulations, so they are
themselves uncertain by a few per cent, and simulate independent games as the recorded ones are.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from bench.rating import RatingError, rate
from bench.results import GameResult
from bench.stats import Z95, Tally, estimate

pytest.importorskip("scipy", reason="ratings need SciPy")

CASES: list[dict[str, Any]] = json.loads(Path(__file__).with_name("recorded").joinpath("ordo.json").read_text())


def games_of(rows: list[tuple[str, str, int, int, int]]) -> list[GameResult]:
    """Every game a pair of its own, because these games were drawn independently."""
    games: list[GameResult] = []
    for white, black, *counts in rows:
        for result, count in zip(("1-0", "1/2-1/2", "0-1"), counts, strict=True):
            for _ in range(count):
                games.append(GameResult(len(games), len(games), white, black, result))
    return games


#: Ordo's own unit over ours: it makes 202 points of an expectation of 76 %.
ORDO_UNIT = 202 / (400 * math.log10(0.76 / 0.24))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_agrees_with_ordo(case: dict[str, Any]) -> None:
    options, expected = case["options"], case["expected"]
    unit = ORDO_UNIT if options["scale"] == "ordo" else 1.0
    anchors = {name: rating / unit for name, rating in options["anchors"].items()}
    white = None if options["white"] is None else options["white"] / unit
    average = options.get("average", 0) / unit
    table = rate(games_of(case["games"]), anchors, white)
    ratings = {line.name: unit * (line.rating + average) for line in table.ratings if line.rating is not None}
    assert ratings == pytest.approx(
        {name: elo for name, elo in expected["ratings"].items() if elo is not None}, abs=0.01
    )
    assert unit * table.white_advantage == pytest.approx(expected["white"], abs=0.01)
    for line in table.ratings:
        if line.name in expected["errors"]:
            assert line.error is not None
            assert unit * line.error == pytest.approx(expected["errors"][line.name], rel=0.12)
    if expected["white_error"]:
        # Beside the white advantage Ordo prints one standard deviation, not the 95 % interval.
        assert unit * table.white_error == pytest.approx(Z95 * expected["white_error"], rel=0.12)


def test_two_players_have_the_closed_form_and_the_match_interval() -> None:
    rows = [("A", "B", 60, 80, 40), ("B", "A", 50, 70, 60)]
    line = next(line for line in rate(games_of(rows), {"B": 1000.0}).ratings if line.name == "A")
    found = estimate(Tally(wins=120, draws=150, losses=90))
    assert found is not None
    assert line.rating == pytest.approx(1000 + found.elo, abs=1e-4)
    # A tangent here, the transformed interval there.
    assert line.error == pytest.approx(found.elo_error, rel=1e-2)


def test_pairs_of_games_make_the_interval_pentanomial() -> None:
    results = [("1-0", "0-1")] * 30 + [("1-0", "1-0")] * 40 + [("1/2-1/2", "0-1")] * 20 + [("0-1", "1-0")] * 15
    games = []
    for pair, (first, second) in enumerate(results):
        games.append(GameResult(2 * pair, pair, "A", "B", first))
        games.append(GameResult(2 * pair + 1, pair, "B", "A", second))
    line = next(line for line in rate(games, {"B": 0.0}).ratings if line.name == "A")
    found = estimate(Tally.of(games, "A"))
    assert found is not None
    assert line.rating == pytest.approx(found.elo, abs=1e-4)
    # A tangent here, the transformed interval there.
    assert line.error == pytest.approx(found.elo_error, rel=1e-2)


def test_players_without_a_finite_rating_are_listed_with_the_reason() -> None:
    rows = [("A", "B", 3, 2, 3), ("Winner", "A", 4, 0, 0), ("Loser", "B", 0, 0, 4), ("X", "Y", 1, 1, 1)]
    table = rate(games_of(rows), {"A": 2000.0})
    notes = {line.name: line.note for line in table.ratings if line.rating is None}
    assert notes == {
        "Winner": "won every game",
        "Loser": "lost every game",
        "X": "no chain of points leads to the rated players and back",
        "Y": "no chain of points leads to the rated players and back",
    }
    assert {line.name: line.rating for line in table.ratings if line.rating is not None} == pytest.approx(
        {"A": 2000.0, "B": 2000.0}
    )
    json.dumps(table.to_json(), allow_nan=False)


def test_games_against_oneself_do_not_count() -> None:
    rows = [("A", "B", 3, 2, 3), ("B", "A", 5, 2, 1)]
    assert rate(games_of([*rows, ("A", "A", 5, 1, 0), ("?", "?", 1, 0, 0)])) == rate(games_of(rows))


@pytest.mark.parametrize(
    ("rows", "anchors", "white", "message"),
    [
        ([], {}, 0.0, "at least two"),
        ([("A", "B", 1, 1, 1)], {"C": 0.0}, 0.0, "C has played no game"),
        ([("A", "B", 5, 0, 0)], {"A": 0.0}, 0.0, "won every game"),
        ([("A", "B", 2, 2, 2)], {"A": 0.0}, None, "both colours"),
        ([("A", "B", 5, 0, 0), ("B", "A", 5, 0, 0)], {"A": 0.0}, None, "one colour won every game"),
    ],
)
def test_what_cannot_be_rated_is_said(
    rows: list[Any], anchors: dict[str, float], white: float | None, message: str
) -> None:
    with pytest.raises(RatingError, match=message):
        rate(games_of(rows), anchors, white)
