"""Endings that are drawn, won, or won only with technique."""

from __future__ import annotations

import chess
import pytest

from eval.report import Evaluator
from tests.eval.eval_positions import score

breakdown = Evaluator().breakdown


def ahead(fen: str) -> int:
    """The evaluation from White's view, as if it were nobody's move."""
    white, black = (chess.Board(fen.replace(" w ", f" {turn} ")) for turn in "wb")
    return (score(white.fen()) - score(black.fen())) // 2


@pytest.mark.parametrize(
    "fen",
    [
        "8/8/8/3k4/8/8/3NN3/3K4 w - - 0 1",  # two knights
        "8/8/8/3k4/4b3/8/4R3/3K4 w - - 0 1",  # rook against bishop
        "8/8/8/3kr3/4b3/8/4RR2/3K4 w - - 0 1",
        "k7/8/P7/8/8/4B3/8/3K4 w - - 0 1",  # bishop of the wrong colour
        "k7/P7/8/P7/8/4B3/8/3K4 w - - 0 1",
        "7k/8/7P/8/8/3B4/8/3K4 w - - 0 1",
        "k7/8/P7/8/8/8/8/3K4 w - - 0 1",  # rook's pawn alone
        "8/8/8/3k4/8/8/8/3KB2n w - - 0 1",
    ],
)
def test_drawn_endings_are_near_zero(fen: str) -> None:
    assert abs(ahead(fen)) <= 70, breakdown(chess.Board(fen))
    assert abs(ahead(chess.Board(fen).mirror().fen())) <= 70


@pytest.mark.parametrize(
    "fen",
    [
        "k7/8/P7/8/8/5B2/8/3K4 w - - 0 1",  # bishop of the right colour
        "8/3k4/P7/8/8/4B3/8/3K4 w - - 0 1",  # the king is far from the corner
        "8/8/8/3k4/8/8/3BN3/3K4 w - - 0 1",
        "8/8/8/3k4/8/8/3BB3/3K4 w - - 0 1",
        "8/8/8/3k4/8/8/4R3/3K4 w - - 0 1",
        "8/8/8/3k4/4r3/8/4Q3/3K4 w - - 0 1",
    ],
)
def test_won_endings_are_not(fen: str) -> None:
    assert ahead(fen) >= 150, breakdown(chess.Board(fen))


def test_opposite_bishops_are_worth_less() -> None:
    opposite = ahead("8/5k2/3b4/8/1PP5/3B4/5K2/8 w - - 0 1")
    same = ahead("8/5k2/4b3/8/1PP5/3B4/5K2/8 w - - 0 1")
    assert 0 < 3 * opposite < 2 * same


def test_scale_belongs_to_the_side_that_is_ahead() -> None:
    # White has the pawns, but Black is ahead and cannot win: a minor piece more and no pawn.
    assert breakdown(chess.Board("8/8/8/3k1n2/8/8/6P1/3K4 w - - 0 1")).scale == 0
    assert breakdown(chess.Board("4k3/pppppppp/8/8/8/8/PPPPPPPP/4K2R w - - 0 1")).scale == 64
