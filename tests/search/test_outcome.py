"""The chances to win, draw and lose that a score means."""

import chess
import pytest

from eval.network.format import shipped_network
from search.kernels.score import MATE
from search.outcome import (
    CERTAIN_LOSS,
    CERTAIN_WIN,
    FULL_MATERIAL,
    LEAST_MATERIAL,
    NETWORK,
    SPREAD,
    WIN_SCORE,
    material,
    outcome,
    polynomial,
)

EVERY_MATERIAL = range(LEAST_MATERIAL, FULL_MATERIAL + 1)


def test_chances_add_up_and_are_the_other_sides_turned_round() -> None:
    for pawns in EVERY_MATERIAL:
        for score in range(-3000, 3001, 37):
            win, draw, loss = outcome(score, pawns)
            assert win + draw + loss == 1000
            assert min(win, draw, loss) >= 0
            assert outcome(-score, pawns) == (loss, draw, win)


def test_the_model_was_fitted_to_games_of_the_shipped_network() -> None:
    """After a change of the network, `secateur wdl` fits the model again.

    The digest also covers the policy: after a change of the policy alone, only the digest has to be replaced.
    """
    network = shipped_network()
    assert network is not None
    assert network.digest() == NETWORK


def test_a_better_score_wins_more_and_loses_less() -> None:
    for pawns in EVERY_MATERIAL:
        found = [outcome(score, pawns) for score in range(-2000, 2001, 10)]
        assert [chance.win for chance in found] == sorted(chance.win for chance in found)
        assert [chance.loss for chance in found] == sorted((chance.loss for chance in found), reverse=True)
        assert found[0].loss > 950
        assert found[-1].win > 950


def test_the_score_at_which_a_win_is_as_likely_as_not() -> None:
    for pawns in EVERY_MATERIAL:
        assert 20 < polynomial(WIN_SCORE, pawns) < 500
        assert 20 < polynomial(SPREAD, pawns) < 300
        assert abs(outcome(round(polynomial(WIN_SCORE, pawns)), pawns).win - 500) <= 5


def test_mates_are_certain() -> None:
    assert outcome(MATE - 7, 20) == CERTAIN_WIN
    assert outcome(-(MATE - 7), 20) == CERTAIN_LOSS


@pytest.mark.parametrize(
    ("fen", "pawns"),
    [
        (chess.STARTING_FEN, 78),
        ("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1", LEAST_MATERIAL),
        ("r3k3/pp6/8/8/8/8/8/1N1QK3 w - - 0 1", 5 + 2 + 3 + 9),
        ("QQQQQQQQ/QQQQQQQ1/8/8/8/8/8/K6k w - - 0 1", FULL_MATERIAL),
    ],
)
def test_material_counts_both_sides_pieces(fen: str, pawns: int) -> None:
    assert material(chess.Board(fen)) == pawns
