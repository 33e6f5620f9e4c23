"""Match statistics against recorded figures of fastchess.

`recorded/fastchess_statistics.json` holds what fastchess's own Elo and SPRT classes (at commit 74deac23) say about 24
sets of pair counts. The runs of the whole program, with their games, are compared in `test_sprt.py`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.results import GameResult
from bench.stats import MOST_ELO, Sprt, Tally, elo_text, estimate, summary, to_json

pytest.importorskip("scipy", reason="the LLR needs SciPy")

CASES: list[dict[str, Any]] = json.loads(
    Path(__file__).with_name("recorded").joinpath("fastchess_statistics.json").read_text()
)


def tally_of(case: dict[str, Any], paired: bool) -> Tally:
    ll, ld, wl, dd, wd, ww = case["pairs"]
    games = wl + wd + 2 * ww, ld + 2 * dd + wd, 2 * ll + ld + wl
    return Tally(*games, (ll, ld, wl + dd, wd, ww)) if paired else Tally(*games)


def of_pairs(counts: Iterable[int]) -> Tally:
    """Pairs worth 0, 1/2, 1, 3/2 and 2 points; those worth 1 are two draws."""
    ll, ld, dd, wd, ww = counts
    return Tally(wd + 2 * ww, ld + 2 * dd + wd, 2 * ll + ld, (ll, ld, dd, wd, ww))


def as_printed(value: float, error: float) -> str:
    return f"{value:.2f} +/- {error:.2f}"


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, case["pairs"])))
@pytest.mark.parametrize("paired", [True, False], ids=["pairs", "games"])
def test_figures_equal_fastchess(case: dict[str, Any], paired: bool) -> None:
    expected = case["paired" if paired else "single"]
    tally = tally_of(case, paired)
    found = estimate(tally)
    assert found is not None
    assert as_printed(found.elo, found.elo_error) == expected["elo"]
    assert as_printed(found.nelo, found.nelo_error) == expected["nelo"]
    assert f"{100 * found.los:.2f} %" == expected["los"]
    assert f"{100 * found.draw_ratio:.2f}" == expected["draws"]
    if paired:
        assert f"{found.pairs_ratio:.2f}" == expected["ratio"]
    elo0, elo1 = case["bounds"]
    test = Sprt(elo0, elo1, model=case["model"])
    # Two decimals are printed. fastchess's root finder stops at 1e-3, which shows in LLRs of several hundred, far
    # beyond where any test stops.
    expected_llr = float(expected["llr"])
    assert test.llr(tally) == pytest.approx(expected_llr, abs=0.00501, rel=1e-3 if abs(expected_llr) > 100 else 0)


def test_bounds_and_verdict() -> None:
    test = Sprt(0, 5, alpha=0.05, beta=0.1)
    assert (round(test.lower, 2), round(test.upper, 2)) == (-2.25, 2.89)
    assert [test.verdict(llr) for llr in (-2.26, -2.2, 2.8, 2.9)] == ["rejected", None, None, "accepted"]
    assert test.progress(test.upper) == pytest.approx(1.0)
    assert test.progress(test.lower) == pytest.approx(-1.0)


@pytest.mark.parametrize(
    "wrong",
    [
        (5, 5),
        (0, 5, 0.0),
        (0, 5, 0.6, 0.4),
        (0, 5, 0.05, 1.0),
        (0, 5, 0.05, 0.05, "bayesian"),
        # These cannot be computed.
        (math.nan, 5),
        (0, 1e308),
        (0, 5, math.nan),
        (0, 5, 0.05, 5e-324),
    ],
)
def test_senseless_tests_are_refused(wrong: tuple[Any, ...]) -> None:
    with pytest.raises(ValueError, match="SPRT: "):
        Sprt(*wrong)


def test_no_games_yet() -> None:
    assert estimate(Tally()) is None
    assert Sprt(0, 5).llr(Tally()) == 0.0
    assert len(summary(Tally(), Sprt(0, 5))) == 1
    assert to_json(Tally(), Sprt(0, 5))["sprt"]["verdict"] is None


def test_pairs_are_counted_whichever_game_ends_first() -> None:
    games = [
        GameResult(0, 0, "A", "B", "1-0"),
        GameResult(2, 1, "A", "B", "1/2-1/2"),
        GameResult(3, 1, "B", "A", "1-0"),
        GameResult(1, 0, "B", "A", "1-0"),
        GameResult(4, 2, "A", "B", "0-1"),
        GameResult(5, 2, "B", "A", "*"),
    ]
    tally = Tally.of(games, "A")
    assert (tally.wins, tally.draws, tally.losses) == (1, 1, 2)
    assert (tally.pentanomial, tally.unpaired) == ((0, 1, 1, 0, 0), 1)
    assert Tally.of(games, "B").pentanomial == (0, 0, 1, 1, 0)
    assert "; 1 game of incomplete pairs not counted" in summary(tally)[0]


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        ((0, 0, 0, 0, 100), "every game won"),
        ((1, 0, 0, 0, 0), "every game lost"),
        ((0, 0, 1, 0, 0), "+0.00 (too few games for an interval)"),
        ((0, 0, 0, 1, 1), "+338.04 (too few games for an interval)"),
        ((1, 0, 0, 0, 1), "+0.00 (too few games for an interval)"),
    ],
)
def test_few_or_one_sided_games_get_no_interval(counts: tuple[int, ...], text: str) -> None:
    tally = of_pairs(counts)
    found = estimate(tally)
    assert found is not None
    assert elo_text(found) == text
    told = "\n".join(summary(tally, Sprt(0, 5)))
    assert f"Elo      {text}" in told
    single = Tally(tally.wins, tally.draws, tally.losses)
    for one in (tally, single):
        told = "\n".join(summary(one, Sprt(0, 5))).lower()
        assert "inf" not in told
        assert "nan" not in told
        answer = json.loads(json.dumps(to_json(one, Sprt(0, 5)), allow_nan=False))
        assert answer["games"] == tally.games
    assert to_json(tally)["elo_error"] is None


@pytest.mark.parametrize("model", ["normalized", "logistic"])
@given(counts=st.tuples(*[st.integers(0, 1000)] * 5))
@settings(deadline=None, max_examples=100)
def test_the_widest_bounds_can_be_computed(model: str, counts: tuple[int, ...]) -> None:
    most = MOST_ELO[model]
    for elo0, elo1 in ((-most, most), (most - 1, most), (-most, 1 - most), (0, 1e-6)):
        assert math.isfinite(Sprt(elo0, elo1, 1e-9, 1e-9, model).llr(of_pairs(counts)))
