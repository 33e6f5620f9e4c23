"""Where a network evaluates: everywhere but with bare kings and with leads that cannot be won."""

from __future__ import annotations

import random

import chess
import numpy as np
import pytest

from engine.board.convert import from_board
from engine.compiler.jit import kernel
from eval.kernels.endings import USE_CLASSICAL, USE_DRAW, USE_NETWORK, chosen_evaluation
from eval.network.evaluator import NetworkEvaluator
from eval.report import Evaluator, evaluation_report
from eval.terms.endgames import scale_of
from tests.board.board_positions import scattered_position
from tests.eval.eval_positions import played
from tests.eval.networks import material_network

NETWORK = material_network()
EVALUATOR = NetworkEvaluator(NETWORK)


@kernel
def scale(position, strong):  # type: ignore[no-untyped-def]
    """`scale_of` as an entry point."""
    return scale_of(position, strong)


def choice(board: chess.Board, value: int) -> int:
    return int(chosen_evaluation(from_board(board), value))


def ending(rng: random.Random) -> chess.Board:
    """A valid position in which no side has a heavy piece: kings, and up to two minor pieces and two pawns each."""
    while True:
        board = chess.Board(None)
        squares = rng.sample(chess.SQUARES, 10)
        for color in chess.COLORS:
            wing = rng.choice((chess.FILE_NAMES, "a", "h"))
            board.set_piece_at(squares.pop(), chess.Piece(chess.KING, color))
            for _ in range(rng.randint(0, 2)):
                board.set_piece_at(squares.pop(), chess.Piece(rng.choice((chess.KNIGHT, chess.BISHOP)), color))
            for _ in range(rng.randint(0, 2)):
                square = chess.parse_square(rng.choice(wing) + str(rng.randint(2, 7)))
                if board.piece_at(square) is None:
                    board.set_piece_at(square, chess.Piece(chess.PAWN, color))
        board.turn = rng.random() < 0.5
        if board.is_valid():
            return board


def test_the_word_is_the_network_s_unless_a_king_is_bare_or_the_leader_cannot_win() -> None:
    """Against the same said plainly, of endings of all kinds and with either side in the lead."""
    rng = random.Random(1)
    boards = [ending(rng) for _ in range(3000)]
    boards += [scattered_position(rng, rng.choice((1, 2, 3, 6))) for _ in range(3000)] + played(2, 5)
    seen = dict.fromkeys((USE_NETWORK, USE_CLASSICAL, USE_DRAW), 0)
    for board in boards:
        position = from_board(board)
        for value in (-1, 1):
            leader = board.turn if value > 0 else not board.turn
            if 1 in (len(board.piece_map(mask=side)) for side in board.occupied_co):
                expected = USE_CLASSICAL
            else:
                expected = USE_DRAW if int(scale(position, np.int64(leader))) == 0 else USE_NETWORK
            assert choice(board, value) == expected, board.fen()
            seen[expected] += 1
    assert min(seen.values()) > 500


@pytest.mark.parametrize(
    "fen",
    [
        "8/8/8/3k1n2/8/8/6P1/3K4 w - - 0 1",  # a piece for a pawn
        "8/5p2/8/3k4/8/8/3NN3/3K4 w - - 0 1",  # two knights, against a pawn
        "1k6/p7/P7/8/8/4B3/8/3K4 w - - 0 1",  # bishop of the wrong colour
        "k6b/8/P7/8/8/8/P2B4/3K4 b - - 0 1",
    ],
)
def test_a_lead_that_cannot_be_won_is_worth_nothing(fen: str) -> None:
    for board in (chess.Board(fen), chess.Board(fen).mirror()):
        value = EVALUATOR.score(board)
        assert abs(value) >= 150
        network, last = evaluation_report(board, NETWORK).splitlines()[-2:]
        assert network == f"Network evaluation {(value if board.turn else -value) / 100:+.2f} pawns from White's view"
        assert last == ("Evaluation +0.00 pawns from White's view: the side that the network favours cannot win")


@pytest.mark.parametrize("fen", ["8/8/8/3k4/8/8/4R3/3K4 w - - 0 1", "8/8/8/3k4/8/8/3NN3/3K4 b - - 0 1"])
def test_of_a_bare_king_the_classical_evaluation_has_the_word(fen: str) -> None:
    board = chess.Board(fen)
    classical = Evaluator().score(board)
    assert classical != EVALUATOR.score(board)
    last = evaluation_report(board, NETWORK).splitlines()[-1]
    assert last == (
        f"Evaluation {(classical if board.turn else -classical) / 100:+.2f} pawns from White's view: "
        "from the classical evaluation, because a king is bare"
    )


def test_in_check_the_report_says_both() -> None:
    last = evaluation_report(chess.Board("8/8/8/3k4/8/3R4/8/3K4 b - - 0 1"), NETWORK).splitlines()[-1]
    assert last.endswith(": from the classical evaluation, because a king is bare (in check: the search looks further)")


def test_elsewhere_the_report_ends_with_the_network_s_word() -> None:
    board = chess.Board("4k3/pppp4/8/8/8/8/PPPP4/R3K3 w Q - 0 1")
    assert EVALUATOR.score(board) == 500
    assert evaluation_report(board, NETWORK).splitlines()[-2:] == [
        f"Network {NETWORK.describe()}",
        "Evaluation +5.00 pawns from White's view",
    ]
