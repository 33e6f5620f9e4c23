"""The bare king is driven to the edge, into the right corner, and the kings come closer: each step is worth something.

A step is judged by the mean over many positions in which nothing else changes. A single one may well cost more than it
gains: it opens a line, or the king's new square is a better one in general.
"""

from __future__ import annotations

import random
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import islice, pairwise
from pathlib import Path

import chess
import chess.syzygy
import pytest

from eval.report import Evaluator

FOLDER = Path(__file__).resolve().parents[1] / "data" / "syzygy"
EVALUATOR = Evaluator()

QUEEN, ROOK, BISHOP_AND_KNIGHT = (chess.QUEEN,), (chess.ROOK,), (chess.BISHOP, chess.KNIGHT)
ENDINGS = pytest.mark.parametrize("pieces", [QUEEN, ROOK, BISHOP_AND_KNIGHT], ids=["KQK", "KRK", "KBNK"])

Measure = Callable[[chess.Board], int]

#: Positions of each ending that steps are tried from.
SAMPLES = 1500


def king(board: chess.Board, color: chess.Color) -> chess.Square:
    square = board.king(color)
    assert square is not None
    return square


def to_edge(board: chess.Board) -> int:
    """Rows or files between the bare king and the nearest edge."""
    file, rank = chess.square_file(king(board, chess.BLACK)), chess.square_rank(king(board, chess.BLACK))
    return min(file, 7 - file, rank, 7 - rank)


def to_corner(board: chess.Board) -> int:
    """King's moves from the bare king to the nearest corner of the colour of White's bishop."""
    corners = (chess.A8, chess.H1) if board.bishops & chess.BB_LIGHT_SQUARES else (chess.A1, chess.H8)
    return min(chess.square_distance(king(board, chess.BLACK), corner) for corner in corners)


def between_kings(board: chess.Board) -> int:
    return chess.square_distance(king(board, chess.WHITE), king(board, chess.BLACK))


def is_quiet(board: chess.Board) -> bool:
    """Whether the bare king neither is attacked nor attacks anything: not even White's king."""
    bare = king(board, chess.BLACK)
    near = chess.BB_KING_ATTACKS[bare] & board.occupied_co[chess.WHITE]
    return not near and not board.is_attacked_by(chess.WHITE, bare)


def positions(pieces: tuple[chess.PieceType, ...], wanted: Callable[[chess.Board], bool]) -> Iterator[chess.Board]:
    """SAMPLES quiet positions of White's pieces against the bare king."""
    rng = random.Random(1)
    found = 0
    while found < SAMPLES:
        board = chess.Board(None)
        squares = rng.sample(chess.SQUARES, 2 + len(pieces))
        for square, piece in zip(squares, (chess.KING, *pieces), strict=False):
            board.set_piece_at(square, chess.Piece(piece, chess.WHITE))
        board.set_piece_at(squares[-1], chess.Piece(chess.KING, chess.BLACK))
        board.turn = chess.BLACK
        if is_quiet(board) and wanted(board):
            found += 1
            yield board


def has_moves(board: chess.Board) -> bool:
    return any(board.generate_legal_moves())


def steps(board: chess.Board, color: chess.Color) -> Iterator[chess.Board]:
    """The quiet positions in which a king stands one step away, with Black to move all the same."""
    origin = king(board, color)
    for target in chess.SquareSet(chess.BB_KING_ATTACKS[origin] & ~board.occupied):
        moved = board.copy(stack=False)
        moved.remove_piece_at(origin)
        moved.set_piece_at(target, chess.Piece(chess.KING, color))
        if is_quiet(moved):
            yield moved


def ahead(board: chess.Board) -> int:
    """The evaluation from White's view, with Black to move."""
    return -EVALUATOR.score(board)


def mean_gains(
    boards: Iterable[chess.Board], color: chess.Color, lessened: Measure, *kept: Measure
) -> dict[int, float]:
    """What a king's step that lessens one distance by 1 and keeps others is worth on the average, by that distance."""
    gains: dict[int, list[int]] = defaultdict(list)
    for board in boards:
        before = ahead(board)
        for moved in steps(board, color):
            if lessened(moved) == lessened(board) - 1 and all(measure(moved) == measure(board) for measure in kept):
                gains[lessened(board)].append(ahead(moved) - before)
    return {distance: statistics.mean(gains[distance]) for distance in sorted(gains)}


@ENDINGS
def test_towards_the_edge(pieces: tuple[chess.PieceType, ...]) -> None:
    kept = (between_kings, to_corner) if pieces == BISHOP_AND_KNIGHT else (between_kings,)
    means = mean_gains(positions(pieces, lambda board: to_edge(board) > 0), chess.BLACK, to_edge, *kept)
    assert list(means) == [1, 2, 3]
    # By where a king stands in general, without the terms for bare kings, the last step would be worth 22 at most.
    assert means[1] > 25, means
    assert means[1] > means[2] > means[3] > 0, means


@ENDINGS
def test_the_kings_come_closer(pieces: tuple[chess.PieceType, ...]) -> None:
    means = mean_gains(positions(pieces, lambda board: between_kings(board) > 2), chess.WHITE, between_kings)
    assert list(means) == [3, 4, 5, 6, 7]
    # Without the term for the kings the least of these would be 7.
    assert min(means.values()) > 10, means


def test_along_the_edge_into_the_right_corner() -> None:
    """Only the step out of the wrong corner costs something; to see past it is for the search."""
    boards = positions(BISHOP_AND_KNIGHT, lambda board: to_edge(board) == 0)
    means = mean_gains(boards, chess.BLACK, to_corner, to_edge, between_kings)
    assert list(means) == [1, 2, 3, 4, 5, 6, 7]
    assert min(means[distance] for distance in range(1, 7)) > 0, means
    assert sum(means.values()) > 0, means


@pytest.mark.parametrize("pieces", [QUEEN, ROOK], ids=["KQK", "KRK"])
def test_the_nearer_the_mate_the_better(pieces: tuple[chess.PieceType, ...]) -> None:
    """The tables know how far it is: without pawns, and with nothing to take, to the mate itself."""
    with chess.syzygy.open_tablebase(str(FOLDER)) as tables:
        boards = islice(positions(pieces, has_moves), SAMPLES // 2)  # probes take milliseconds
        plies = [(-tables.probe_dtz(board), ahead(board)) for board in boards]
    plies.sort(key=lambda pair: pair[0])
    quarter = len(plies) // 4
    means = [statistics.mean(value for _, value in plies[part * quarter : (part + 1) * quarter]) for part in range(4)]
    assert all(nearer > farther for nearer, farther in pairwise(means)), means
