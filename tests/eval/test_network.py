"""The network's evaluation: the same to the last centipawn however it is computed."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import chess
import numpy as np
import pytest

from engine.board.convert import encode, write_board
from engine.board.moves import NO_MOVE
from engine.board.position import BLACK, KING, PAWN, WHITE
from engine.compiler.jit import VECTOR_BITS, subkernel
from engine.memory import allocate
from eval.kernels.inference import EVALUATION_LIMIT, LINE_FRAME, evaluate_line
from eval.kernels.vectors import SCRELU_DOTS, _dot_twin
from eval.network.evaluator import NetworkEvaluator
from eval.network.format import Network
from eval.network.layout import MAX_HIDDEN, ONE, OUTPUT_LIMIT, QA, accumulator_stack
from eval.network.reference import active_rows, bucket_of, integer_score, is_hanging, safe_checks
from search.kernels.score import MATE_BOUND
from tests.board.board_positions import lively_move
from tests.eval.eval_positions import varied
from tests.eval.networks import random_network

PLIES = 60


@pytest.mark.parametrize(
    ("hidden", "buckets", "threats"), [(32, 1, False), (96, 8, True), (512, 8, True), (1024, 8, False)]
)
def test_kernels_find_what_the_definition_says(hidden: int, buckets: int, threats: bool) -> None:
    network = random_network(2, hidden, buckets, threats)
    evaluator = NetworkEvaluator(network)
    found = [evaluator.score(board) for board in varied(seed=7, count=150)]
    assert found == [integer_score(network, board) for board in varied(seed=7, count=150)]
    assert len(set(found)) > 100


def test_features_by_hand() -> None:
    board = chess.Board("4k3/8/8/8/8/8/P7/4K3 w - - 0 1")
    # White's king on e1 mirrors: pawn h2, own king d1, enemy king d8.
    assert sorted(active_rows(board, chess.WHITE)) == [15, 5 * 64 + 3, 384 + 5 * 64 + 59]
    # Black sees its own king on d1 and the enemy's pawn on h7.
    assert sorted(active_rows(board, chess.BLACK)) == [5 * 64 + 3, 384 + 55, 384 + 5 * 64 + 59]
    assert [bucket_of(chess.Board(fen), 8) for fen in (chess.STARTING_FEN, board.fen())] == [7, 0]


THREATS_BY_HAND: tuple[tuple[str, str, str], ...] = (
    # A position, its hanging pieces, and the types with which White and Black can check safely.
    # The rook attacks a7, which nothing defends, and the king defends b7. The other rook checks from c1.
    ("2k5/pp6/8/8/8/8/8/RR4K1 w - - 0 1", "a7", "R/"),
    # A pawn attacks the knight, although a pawn defends it. The knight checks from d6, which no pawn attacks.
    ("4k3/8/4p3/3p4/2N5/3P4/8/4K3 w - - 0 1", "c4", "N/"),
    # Kings defend the rooks, which could check only by exchanging each other.
    ("3rk3/8/8/8/8/8/8/3RK3 w - - 0 1", "", "/"),
    # A queen that a rook attacks hangs anyway. It can check from a4.
    ("3rk3/8/8/8/8/8/8/3QK3 w - - 0 1", "d1", "Q/"),
    # A king in check does not hang, but the rook that it attacks does, unless a pawn defends it.
    ("4k3/4R3/8/8/8/8/8/4K3 b - - 0 1", "e7", "/"),
    ("4k3/4R3/3P4/8/8/8/8/4K3 b - - 0 1", "", "/"),
    # Pawns attack b5 and h5, from where the bishop would check. Black's queen checks from e3. The bishop and the queen
    # attack each other, and the bishop attacks the pawn on a6.
    ("4k3/8/p5p1/8/8/5q2/4B3/6K1 w - - 0 1", "a6 f3 e2", "/Q"),
)


@pytest.mark.parametrize(("fen", "hanging", "checks"), THREATS_BY_HAND)
def test_threats_by_hand(fen: str, hanging: str, checks: str) -> None:
    board = chess.Board(fen)
    assert [chess.square_name(square) for square in board.piece_map() if is_hanging(board, square)] == hanging.split()
    found = [sorted(safe_checks(board, color)) for color in (chess.WHITE, chess.BLACK)]
    assert "/".join("".join(map(chess.piece_symbol, kinds)).upper() for kinds in found) == checks


def extra_rows(board: chess.Board, perspective: chess.Color) -> set[int]:
    """The rows of threats alone."""
    return set(active_rows(board, perspective, with_threats=True)) - set(active_rows(board, perspective))


def test_rows_of_threats_by_hand() -> None:
    # White's queen checks safely. White's king on e1 mirrors, so Black's king on e8 is on d8.
    board = chess.Board("4k3/8/8/8/8/8/r7/3QK3 b - - 0 1")
    assert extra_rows(board, chess.WHITE) == {2 * 768 + 256 + 3 * 64 + chess.D8}
    # Black sees its own king on d1.
    assert extra_rows(board, chess.BLACK) == {2 * 768 + 3 * 64 + chess.D1}
    # Black's rook attacks the pawn on h2; it and White's rook attack each other. A rook could check from a8, too.
    board = chess.Board("R3k3/8/8/8/8/8/r6P/3QK3 b - - 0 1")
    checks = {2 * 768 + 256 + 2 * 64 + chess.D8, 2 * 768 + 256 + 3 * 64 + chess.D8}
    hanging = {768 + 3 * 64 + chess.H8, 768 + chess.A2, 768 + 384 + 3 * 64 + chess.H2}
    assert extra_rows(board, chess.WHITE) == checks | hanging


@pytest.mark.parametrize("threats", [False, True])
def test_mirror_images_are_worth_the_same(threats: bool) -> None:
    evaluator = NetworkEvaluator(random_network(threats=threats))
    for board in varied(seed=8, count=100):
        score = evaluator.score(board)
        assert evaluator.score(board.mirror()) == score, board.fen()
        flipped = board.transform(chess.flip_horizontal)
        flipped.clear_stack()
        flipped.castling_rights = 0
        assert evaluator.score(flipped) == score, board.fen()


# --------------------------------------------------------------------------------------------------------------
# The output layer
# --------------------------------------------------------------------------------------------------------------


def kernel_of_eight(dot: Any) -> Any:
    @subkernel  # a cached kernel would be looked up by the name it shares with the others
    def run(values, start, rows, numbers, extra, weights, first, count):  # type: ignore[no-untyped-def]
        return dot(values, start, rows, numbers, extra, weights, first, count)

    return run


@pytest.mark.parametrize("bits", sorted(SCRELU_DOTS))
def test_every_dot_product_is_exact(bits: int) -> None:
    run = kernel_of_eight(SCRELU_DOTS[bits])
    rng = np.random.default_rng(bits)
    values = rng.integers(-800, 1200, 3 * MAX_HIDDEN).astype(np.int16)
    values[:64] = np.tile([-32768, 32767, -1, 0, 1, QA - 1, QA, QA + 1], 8)
    weights = rng.integers(-OUTPUT_LIMIT, OUTPUT_LIMIT + 1, 3 * MAX_HIDDEN).astype(np.int16)
    rows = rng.integers(-128, 128, 8 * MAX_HIDDEN).astype(np.int8)
    for count in range(32, MAX_HIDDEN + 1, 32):
        for start, first, extra in ((0, 0, 0), (1, 37, 1), (MAX_HIDDEN, 5, 4)):
            numbers = rng.permutation(8)
            # The sums of `values` and of the rows must fit into int16.
            given = values.clip(-31_000, 31_000) if extra else values
            found = run(given, start, rows, numbers, extra, weights, first, count)
            assert found == _dot_twin(given, start, rows, numbers, extra, weights, first, count)
    # The extremes, which the bounds in its docstring are about.
    for value, weight in ((32767, OUTPUT_LIMIT), (QA, -OUTPUT_LIMIT), (-32768, OUTPUT_LIMIT)):
        equal = np.full(MAX_HIDDEN, value, np.int16), np.full(MAX_HIDDEN, weight, np.int16)
        found = run(equal[0], 0, rows, numbers, 0, equal[1], 0, MAX_HIDDEN)
        assert found == MAX_HIDDEN * (ONE if value > 0 else 0) * weight


SCRIPT = """
import json, sys, warnings
warnings.simplefilter("error")
import chess
from engine.compiler.jit import INTERPRETED, VECTOR_BITS
from eval.network.evaluator import NetworkEvaluator
from tests.eval.networks import random_network
evaluator = NetworkEvaluator(random_network(6, 64, 8, True))
print(json.dumps([INTERPRETED, VECTOR_BITS, [evaluator.score(chess.Board(fen)) for fen in json.loads(sys.argv[1])]]))
"""


def test_every_build_evaluates_alike(run_python: Callable[..., str]) -> None:
    boards = varied(seed=6, count=60)[::2]
    expected = [integer_score(random_network(6, 64, 8, True), board) for board in boards]
    fens = json.dumps([board.fen(en_passant="fen") for board in boards])
    for bits in (0, 256):
        found = json.loads(run_python(SCRIPT, fens, SECATEUR_VECTOR_BITS=str(bits)))
        assert found == [False, max(each for each in SCRELU_DOTS if each <= bits), expected]
    interpreted = json.loads(run_python(SCRIPT, fens, NUMBA_DISABLE_JIT="1"))
    assert interpreted == [True, VECTOR_BITS, expected]


# --------------------------------------------------------------------------------------------------------------
# Lines of moves
# --------------------------------------------------------------------------------------------------------------


class Walk:
    """A line of moves as a search has it in its frames, with accumulators that follow it."""

    def __init__(self, network: Network, board: chess.Board) -> None:
        self.network = network
        self.board = board
        self.ply = 0
        self.record = network.record()
        self.stack = allocate(accumulator_stack(PLIES + 1), 1)[0]
        self.frames = allocate(LINE_FRAME, PLIES + 1)
        write_board(board, self.frames[0]["position"])

    def play(self, move: chess.Move) -> None:
        self.frames[self.ply]["move"] = encode(self.board, move) if move else NO_MOVE
        self.board.push(move)
        self.ply += 1
        write_board(self.board, self.frames[self.ply]["position"])
        self.stack["computed"][self.ply] = 0

    def take_back(self) -> None:
        self.board.pop()
        self.ply -= 1

    def check(self) -> None:
        found = int(evaluate_line(self.record, self.stack, self.frames, self.ply))
        assert found == integer_score(self.network, self.board), (self.board.root().fen(), self.board.move_stack)


def kinds_of(board: chess.Board, move: chess.Move) -> set[str]:
    """What is special about a move that is about to be made."""
    if not move:
        return {"null"}
    kinds = set()
    if board.is_castling(move):
        kinds.add("castling")
    if board.is_en_passant(move):
        kinds.add("en passant")
    if move.promotion:
        kinds.add("promotion with capture" if board.is_capture(move) else "promotion")
    elif board.is_capture(move):
        kinds.add("capture")
    if move.from_square == board.king(board.turn):
        if chess.square_file(move.from_square) // 4 != chess.square_file(move.to_square) // 4:
            kinds.add("king changes wings")
        elif not board.is_castling(move):
            kinds.add("king stays")
    return kinds


STARTS = (
    (chess.STARTING_FEN, False),
    ("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1", False),
    ("n1n5/PPPk4/8/8/8/8/4Kppp/5N1N b - - 0 1", False),
    ("4k3/pppppppp/8/8/8/8/PPPPPPPP/4K3 w - - 0 1", False),
    ("rkr5/8/8/8/8/8/8/5RKR w HFca - 0 1", True),
    ("bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9", True),
)


@pytest.mark.parametrize(("hidden", "threats"), [(32, True), (96, False), (512, True)])
def test_accumulators_follow_every_line(hidden: int, threats: bool) -> None:
    """Random trees of moves, evaluated at some nodes and not at others, as a search does."""
    rng = random.Random(hidden)
    network = random_network(hidden, hidden, threats=threats)
    seen: set[str] = set()
    for fen, chess960 in STARTS * 3:
        walk = Walk(network, chess.Board(fen, chess960=chess960))
        for _ in range(150):
            moves = list(walk.board.legal_moves)
            while walk.ply and (not moves or walk.ply == PLIES or rng.random() < 0.25):
                walk.take_back()
                moves = list(walk.board.legal_moves)
            passes = rng.random() < 0.08 and not walk.board.is_check()
            move = chess.Move.null() if passes else lively_move(rng, walk.board, moves)
            seen |= kinds_of(walk.board, move)
            walk.play(move)
            if rng.random() < 0.6:
                walk.check()
    assert seen >= {"null", "castling", "en passant", "promotion", "promotion with capture", "capture"}
    assert seen >= {"king changes wings", "king stays"}


def test_a_refresh_begins_with_cached_sums() -> None:
    walk = Walk(random_network(5, 32), chess.Board("4k3/8/8/8/8/8/P7/4K3 w - - 0 1"))
    walk.check()
    # White's king on e1 is mirrored, and so is Black's on e8.
    black, white = 2 * BLACK + 1, 2 * WHITE + 1
    assert int(walk.stack["cached"]) == 1 << black | 1 << white
    pieces = walk.stack["cached_pieces"][white]
    assert (int(pieces[WHITE][PAWN - 1]), int(pieces[BLACK][KING - 1])) == (chess.BB_A2, chess.BB_E8)
    # If the cache has other sums of the same pieces, the next refresh gives their value.
    walk.stack["cached_values"][:] = walk.network.bias.max() + 1000
    walk.stack["computed"] = 0
    with pytest.raises(AssertionError):
        walk.check()
    walk.stack["cached"] = 0
    walk.stack["computed"] = 0
    walk.check()


def test_rows_begin_on_cache_lines() -> None:
    """So reads of 64 bytes never cross into another line (see `search.kernels.worker`)."""
    fields: Any = accumulator_stack(PLIES).fields
    assert [fields[name][1] % 64 for name in ("values", "cached_values")] == [0, 0]


# --------------------------------------------------------------------------------------------------------------
# Numbers
# --------------------------------------------------------------------------------------------------------------


def test_evaluations_stay_below_mates() -> None:
    assert EVALUATION_LIMIT < MATE_BOUND
    network = random_network()
    for sign in (1, -1):
        bias = np.full(8, sign * 2_000_000_000, np.int32)
        extreme = Network(network.features, network.bias, network.output, bias)
        assert NetworkEvaluator(extreme).score(chess.Board()) == sign * EVALUATION_LIMIT
        assert integer_score(extreme, chess.Board()) == sign * EVALUATION_LIMIT
