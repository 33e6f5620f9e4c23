"""Scores: mates in the table, their distance, and the bands of scores."""

import pytest

from search.kernels.score import DRAW, INFINITE, MATE, MATE_BOUND, NO_SCORE, mate_distance, score_from_tt, score_to_tt
from search.limits import MAX_PLY


@pytest.mark.parametrize("score", [MATE - 1, MATE - 7, MATE - 99, -MATE + 2, -MATE + 99, 0, 250, -250])
@pytest.mark.parametrize("ply", [0, 1, 5, 60])
def test_table_adjustment_is_undone_at_the_same_ply(score: int, ply: int) -> None:
    assert score_from_tt(score_to_tt(score, ply), ply, 0) == score


def test_a_mate_is_worth_less_where_it_is_met_later() -> None:
    stored = score_to_tt(MATE - 5, 3)  # mate two plies below the node at ply 3
    assert stored == MATE - 2
    assert score_from_tt(stored, 10, 0) == MATE - 12
    assert score_from_tt(score_to_tt(-(MATE - 5), 3), 10, 0) == -(MATE - 12)
    assert score_to_tt(123, 9) == score_from_tt(123, 9, 0) == 123


def test_a_mate_that_the_fifty_move_rule_may_forestall_is_none() -> None:
    for halfmoves, mate in ((69, 30), (98, 1), (0, 99)):
        assert score_from_tt(MATE - mate, 0, halfmoves) == MATE - mate
        assert score_from_tt(mate - MATE, 0, halfmoves) == mate - MATE
        assert score_from_tt(MATE - mate, 0, halfmoves + 1) == MATE_BOUND - 1
        assert score_from_tt(mate - MATE, 0, halfmoves + 1) == 1 - MATE_BOUND


@pytest.mark.parametrize(
    ("score", "moves"),
    [
        (MATE - 1, 1),
        (MATE - 2, 1),
        (MATE - 3, 2),
        (-(MATE - 2), -1),
        (-(MATE - 4), -2),
        (-MATE, 0),
        (99, None),
        (DRAW, None),
    ],
)
def test_mate_distance_counts_full_moves(score: int, moves: int | None) -> None:
    assert mate_distance(score) == moves


def test_bands_do_not_overlap() -> None:
    assert MATE_BOUND == MATE - MAX_PLY
    assert -INFINITE < -MATE < -MATE_BOUND < DRAW < MATE_BOUND < MATE < INFINITE < NO_SCORE


def test_a_mate_too_far_away_stays_a_mate() -> None:
    assert score_from_tt(MATE - 90, 50, 0) == MATE_BOUND
    assert score_from_tt(90 - MATE, 50, 0) == -MATE_BOUND
