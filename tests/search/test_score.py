"""Scores: mates in the table, their distance, and the bands of scores."""

import pytest

from search.kernels.score import DRAW, INFINITE, MATE, MATE_BOUND, NO_SCORE, from_table, mate_distance, to_table
from search.limits import MAX_PLY


@pytest.mark.parametrize("score", [MATE - 1, MATE - 7, MATE_BOUND, -MATE + 2, -MATE_BOUND, 0, 250, -250])
@pytest.mark.parametrize("ply", [0, 1, 5, 60])
def test_table_adjustment_is_undone_at_the_same_ply(score: int, ply: int) -> None:
    assert from_table(to_table(score, ply), ply) == score


def test_a_mate_is_worth_less_where_it_is_met_later() -> None:
    stored = to_table(MATE - 5, 3)  # mate two plies below the node at ply 3
    assert stored == MATE - 2
    assert from_table(stored, 10) == MATE - 12
    assert from_table(to_table(-(MATE - 5), 3), 10) == -(MATE - 12)
    assert to_table(123, 9) == from_table(123, 9) == 123


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
    assert from_table(MATE_BOUND + 3, 50) == MATE_BOUND
    assert from_table(-MATE_BOUND - 3, 50) == -MATE_BOUND
