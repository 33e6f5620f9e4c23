"""Pawns and their table, and how often the weights of pawns and of bare kings count."""

from __future__ import annotations

import random

import chess
import numpy as np
import pytest

from engine.board.convert import from_board
from eval.kernels.classical import SUMMARY, evaluation_terms
from eval.kernels.workspace import new_workspace
from eval.terms import masks
from eval.weights import COUNT, GROUPS
from tests.eval.eval_positions import played, static, varied


def counts(fen: str, color: chess.Color = chess.WHITE) -> dict[str, list[int]]:
    """How often each weight counts, by group."""
    trace, summary = np.zeros((2, COUNT), np.int32), np.zeros(SUMMARY, np.int64)
    evaluation_terms(from_board(chess.Board(fen)), new_workspace(), trace, summary)
    return {group.name: trace[int(color), group.first : group.first + group.size].tolist() for group in GROUPS}


def test_the_table_never_changes_a_value() -> None:
    shared = new_workspace()
    boards = [*played(seed=11, games=8), *varied(seed=12, count=200)]
    random.Random(13).shuffle(boards)
    fresh = new_workspace()
    for board in boards:
        fresh["pawns"] = 0
        position = from_board(board)
        assert static(position, shared) == static(position, fresh), board.fen()


def test_two_structures_in_one_place_of_the_table_are_told_apart() -> None:
    workspace = new_workspace()
    boards = [chess.Board(), chess.Board("4k3/pp6/8/8/8/8/PPP5/4K3 w - - 0 1")]
    positions = [from_board(board) for board in boards]
    expected = [static(position, new_workspace()) for position in positions]
    # As if both keys had the same low bits.
    positions[1]["pawn_key"] = positions[0]["pawn_key"] ^ np.uint64(1 << 63)
    for _ in range(2):
        assert [static(position, workspace) for position in positions] == expected


@pytest.mark.parametrize(
    ("fen", "group", "expected"),
    [
        ("4k3/8/8/8/4P3/8/4P3/4K3 w - - 0 1", "DOUBLED", [1, 0]),
        ("4k3/8/8/8/8/4P3/4P3/4K3 w - - 0 1", "DOUBLED", [1, 1]),
        ("4k3/4p3/8/8/8/8/4P3/4K3 w - - 0 1", "ISOLATED", [1, 0]),
        ("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1", "ISOLATED", [0, 1]),
        ("4k3/8/8/8/8/8/3PP3/4K3 w - - 0 1", "ISOLATED", [0, 0]),
        ("4k3/8/8/2p1p3/4P3/3P4/8/4K3 w - - 0 1", "BACKWARD", [0, 1]),
        ("4k3/3p4/8/2p1p3/4P3/3P4/8/4K3 w - - 0 1", "BACKWARD", [1, 0]),
        ("4k3/8/8/2p1p3/2P1P3/3P4/8/4K3 w - - 0 1", "BACKWARD", [0, 1]),
        ("4k3/8/8/8/8/8/3PP3/4K3 w - - 0 1", "PHALANX", [0, 2, 0, 0, 0, 0, 0, 0]),
        ("4k3/8/8/8/8/3P4/4P3/4K3 w - - 0 1", "SUPPORTED", [0, 0, 1, 0, 0, 0, 0, 0]),
        ("4k3/3p4/8/8/8/8/2P1P3/4K3 w - - 0 1", "CANDIDATE", [0, 0, 0, 0, 0, 0, 0, 0]),
        ("4k3/3p4/8/8/2P1P3/8/8/4K3 w - - 0 1", "PASSED", [0, 0, 0, 0, 0, 0, 0, 0]),
        ("4k3/3p4/8/8/3PP3/8/8/4K3 w - - 0 1", "CANDIDATE", [0, 0, 0, 1, 0, 0, 0, 0]),
        ("4k3/8/8/3P4/8/8/8/4K3 w - - 0 1", "PASSED", [0, 0, 0, 0, 1, 0, 0, 0]),
        ("4k3/4p3/8/3P4/8/8/8/4K3 w - - 0 1", "PASSED", [0] * 8),
        ("4k3/8/8/3P4/4p3/8/8/4K3 w - - 0 1", "PASSED", [0, 0, 0, 0, 1, 0, 0, 0]),
        ("4k3/8/3n4/3P4/8/8/8/4K3 w - - 0 1", "PASSED_BLOCKED", [0, 0, 0, 0, 1, 0, 0, 0]),
        ("8/8/8/3P4/8/8/8/k3K3 w - - 0 1", "PASSED_FREE_PATH", [0, 0, 0, 0, 1, 0, 0, 0]),
        ("8/3k4/8/3P4/8/8/8/4K3 w - - 0 1", "PASSED_FREE_PATH", [0] * 8),
        ("3k4/8/8/3P4/8/8/8/4K3 w - - 0 1", "PASSED_FREE_STEP", [0, 0, 0, 0, 1, 0, 0, 0]),
        ("4k3/8/8/3P4/8/8/8/4K3 w - - 0 1", "PASSED_OWN_KING", [0, 0, 0, 0, 5, 0, 0, 0]),
        ("4k3/8/8/3P4/8/8/8/4K3 w - - 0 1", "PASSED_ENEMY_KING", [0, 0, 0, 0, 2, 0, 0, 0]),
        ("3k4/8/8/3P4/8/8/3R4/4K3 w - - 0 1", "PASSED_ROOK", [1, 0]),
        ("3k4/8/8/3P4/8/8/3r4/4K3 w - - 0 1", "PASSED_ROOK", [0, 1]),
        ("8/8/8/3P4/8/8/8/k3K3 w - - 0 1", "UNSTOPPABLE", [1]),
        ("8/8/3k4/8/3P4/8/8/4K3 w - - 0 1", "UNSTOPPABLE", [0]),
        ("8/8/8/3P4/8/8/8/k3K2n w - - 0 1", "UNSTOPPABLE", [0]),
        ("8/8/8/3k4/8/8/4R3/3K4 w - - 0 1", "MOP_UP_EDGE", [0, 0, 0, 1]),
        ("8/8/8/3k4/8/8/4R3/3K4 w - - 0 1", "MOP_UP_KINGS", [4]),
        ("8/8/2k5/8/8/8/3BN3/3K4 w - - 0 1", "MOP_UP_CORNER", [5]),
    ],
)
def test_structures_are_recognised(fen: str, group: str, expected: list[int]) -> None:
    assert counts(fen)[group] == expected
    assert counts(chess.Board(fen).mirror().fen(), chess.BLACK)[group] == expected


def test_shelter_and_storm_look_at_the_pawn_nearest_to_the_king() -> None:
    found = counts("6k1/8/8/7p/5P1p/8/5PP1/6K1 w - - 0 1")
    assert [index for index, count in enumerate(found["SHELTER"]) if count] == [0 * 8 + 0, 1 * 8 + 1, 2 * 8 + 1]
    assert [index for index, count in enumerate(found["STORM"]) if count] == [0 * 8 + 3, 1 * 8 + 0, 2 * 8 + 0]
    blocked = counts("6k1/8/8/8/7p/7P/5PP1/6K1 w - - 0 1")
    assert [index for index, count in enumerate(blocked["STORM_BLOCKED"]) if count] == [3]


def test_masks_by_their_definitions() -> None:
    for square in chess.SQUARES:
        file, rank = chess.square_file(square), chess.square_rank(square)
        for color in (0, 1):
            front = [s for s in chess.SQUARES if (s >> 3 > rank if color else s >> 3 < rank)]
            same = chess.SquareSet(s for s in front if chess.square_file(s) == file)
            sides = chess.SquareSet(s for s in front if abs(chess.square_file(s) - file) == 1)
            around = chess.SquareSet(s for s in chess.SQUARES if abs(chess.square_file(s) - file) == 1)
            assert masks.FRONT[color, square] == int(same)
            assert masks.FRONT_SIDES[color, square] == int(sides)
            assert masks.BESIDE_AND_BEHIND[color, square] == int(around - sides)
        assert [masks.DISTANCE[square, other] for other in chess.SQUARES] == [
            chess.square_distance(square, other) for other in chess.SQUARES
        ]
    assert list(masks.FILES) == chess.BB_FILES
    assert list(masks.RANKS) == chess.BB_RANKS
    assert masks.LIGHT_SQUARES == chess.BB_LIGHT_SQUARES
    assert [mask.bit_count() for mask in map(int, masks.FLANKS)] == [32] * 8
