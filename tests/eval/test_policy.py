"""The policy: the same logits to the last unit however they are computed, and the same move order in every build."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import chess
import numpy as np
import pytest

from engine.compiler.jit import VECTOR_BITS, subkernel
from eval.kernels.vectors import ACTIVATE_BYTES, BYTE_DOTS, _activate_twin, _byte_dot_twin
from eval.network.evaluator import NetworkEvaluator
from eval.network.format import POLICY_BIAS_LIMIT, NetworkError, decode_network, encode_network
from eval.network.layout import LOGIT, MAX_HIDDEN, POLICY_CLASSES, POLICY_ROWS, QA
from eval.network.reference import integer_logits
from search.theory.exchange import exchange_value
from tests.board.board_positions import lively_move
from tests.eval.eval_positions import varied
from tests.eval.networks import random_network, rating_network
from tests.eval.test_network import STARTS


def loses(board: chess.Board, move: chess.Move) -> bool:
    return exchange_value(board, move) < 0


def expected(boards: list[chess.Board], seed: int, hidden: int, threats: bool = False) -> list[dict[chess.Move, int]]:
    network = rating_network(seed, hidden, threats)
    return [integer_logits(network, board, loses) for board in boards]


@pytest.mark.parametrize(("hidden", "threats"), [(64, True), (192, False), (1024, False)])
def test_kernels_find_what_the_definition_says(hidden: int, threats: bool) -> None:
    boards = [board for board in varied(seed=9, count=120) if not board.is_check()]
    evaluator = NetworkEvaluator(rating_network(2, hidden, threats))
    found = [evaluator.logits(board) for board in boards]
    wanted = expected(boards, 2, hidden, threats)
    assert found == [{move: logit / LOGIT for move, logit in logits.items()} for logits in wanted]
    assert sum(map(len, found)) > 1000


def test_moves_of_games_with_castling() -> None:
    """Castling, in Chess960 too, counts as a king move to the rook's square."""
    rng = random.Random(4)
    network = rating_network(3, 64)
    evaluator = NetworkEvaluator(network)
    castled = 0
    for fen, chess960 in STARTS * 2:
        board = chess.Board(fen, chess960=chess960)
        for _ in range(30):
            if not board.is_check():
                logits = integer_logits(network, board, loses)
                found = evaluator.logits(board)
                assert {board.uci(move): round(logit * LOGIT) for move, logit in found.items()} == {
                    board.uci(move): logit for move, logit in logits.items()
                }
                castled += any(board.is_castling(move) for move in logits)
            moves = list(board.legal_moves)
            if not moves:
                break
            board.push(lively_move(rng, board, moves))
    assert castled > 10


def test_mirror_images_are_rated_alike() -> None:
    evaluator = NetworkEvaluator(rating_network(5, 64))
    for board in varied(seed=8, count=60):
        if not board.is_check():
            found = evaluator.logits(board.mirror())
            for move, logit in evaluator.logits(board).items():
                turned = chess.Move(chess.square_mirror(move.from_square), chess.square_mirror(move.to_square))
                assert found[turned] == logit, board.fen()


def kernel_of_four(operation: Any) -> Any:
    @subkernel  # a cached kernel would be looked up by the name it shares with the others
    def run(values, weights, first, count):  # type: ignore[no-untyped-def]
        return operation(values, weights, first, count)

    return run


def kernel_of_five(operation: Any) -> Any:
    @subkernel  # as above
    def run(target, at, values, start, half):  # type: ignore[no-untyped-def]
        return operation(target, at, values, start, half)

    return run


@pytest.mark.parametrize("bits", sorted(BYTE_DOTS))
def test_every_operation_is_exact(bits: int) -> None:
    rng = np.random.default_rng(bits)
    dot, activate = kernel_of_four(BYTE_DOTS[bits]), kernel_of_five(ACTIVATE_BYTES[bits])
    inputs = rng.integers(0, 128, MAX_HIDDEN).astype(np.int8)
    weights = rng.integers(-128, 128, 3 * MAX_HIDDEN).astype(np.int8)
    for count in range(64, MAX_HIDDEN + 1, 64):
        for first in (0, 37, MAX_HIDDEN):
            assert dot(inputs, weights, first, count) == _byte_dot_twin(inputs, weights, first, count)
    # The extremes, which the bounds in its docstring are about.
    for weight in (-128, 127):
        found = dot(np.full(MAX_HIDDEN, 127, np.int8), np.full(MAX_HIDDEN, weight, np.int8), 0, MAX_HIDDEN)
        assert found == MAX_HIDDEN * 127 * weight
    values = rng.integers(-800, 1200, 3 * MAX_HIDDEN).astype(np.int16)
    values[:64] = np.tile([-32768, 32767, -1, 0, 1, QA - 1, QA, QA + 1], 8)
    for half in range(32, MAX_HIDDEN // 2 + 1, 32):
        for at, start in ((0, 0), (half, 37)):
            found, plain = np.zeros(MAX_HIDDEN, np.int8), np.zeros(MAX_HIDDEN, np.int8)
            activate(found, at, values, start, half)
            _activate_twin(plain, at, values, start, half)
            assert np.array_equal(found, plain)
            assert found.min() >= 0


SCRIPT = """
import json, sys, warnings
warnings.simplefilter("error")
import chess
from engine.compiler.jit import INTERPRETED, VECTOR_BITS
from eval.network.evaluator import NetworkEvaluator
from eval.network.layout import LOGIT
from tests.eval.networks import rating_network
evaluator = NetworkEvaluator(rating_network(6, 128))
found = [evaluator.logits(chess.Board(fen)) for fen in json.loads(sys.argv[1])]
rated = [{move.uci(): round(logit * LOGIT) for move, logit in logits.items()} for logits in found]
print(json.dumps([INTERPRETED, VECTOR_BITS, rated]))
"""


def test_every_build_rates_alike(run_python: Callable[..., str]) -> None:
    boards = [board for board in varied(seed=6, count=40) if not board.is_check()]
    rated = [{move.uci(): logit for move, logit in logits.items()} for logits in expected(boards, 6, 128)]
    fens = json.dumps([board.fen(en_passant="fen") for board in boards])
    for bits in (0, 256):
        found = json.loads(run_python(SCRIPT, fens, SECATEUR_VECTOR_BITS=str(bits)))
        assert found == [False, max(each for each in BYTE_DOTS if each <= bits), rated]
    assert json.loads(run_python(SCRIPT, fens, NUMBA_DISABLE_JIT="1")) == [True, VECTOR_BITS, rated]


# -- the file ------------------------------------------------------------------------------------------------------


def test_a_policy_is_written_and_read() -> None:
    network = rating_network(7, 64)
    found = decode_network(encode_network(network))
    for name in ("policy_rows", "policy_bias"):
        assert np.array_equal(getattr(found, name), getattr(network, name)), name
    assert found.architecture()["policy"] is True
    assert found.describe().endswith(", 8 output layers, with a policy")
    without = replace(network, policy_rows=None, policy_bias=None)
    assert "policy" not in without.architecture()
    assert len(encode_network(network)) - len(encode_network(without)) > POLICY_ROWS * 64
    assert network.digest() not in (without.digest(), rating_network(8, 64).digest())


def test_wrong_policies() -> None:
    rating = rating_network(7, 64)
    for changes, words in (
        ({"policy_rows": np.zeros((POLICY_ROWS, 32), np.int8)}, r"policy_rows is int8\[1536, 32\], expected"),
        ({"policy_bias": np.zeros(POLICY_CLASSES, np.int64)}, r"policy_bias is int64\[108\], expected int32\[108\]"),
        ({"policy_bias": None}, "a policy needs both rows and biases"),
        ({"policy_rows": None}, "a policy needs both rows and biases"),
        (
            {"policy_bias": np.full(POLICY_CLASSES, POLICY_BIAS_LIMIT + 1, np.int32)},
            "largest absolute bias of the policy is ",
        ),
    ):
        with pytest.raises(NetworkError, match=words):
            replace(rating, **changes)
    narrow, rows = random_network(1, 32), np.zeros((POLICY_ROWS, 32), np.int8)
    with pytest.raises(NetworkError, match="hidden is 32, expected a multiple of 64 for a network with a policy"):
        replace(narrow, policy_rows=rows, policy_bias=np.zeros(POLICY_CLASSES, np.int32))
