"""The search with a network, and the endings in which the classical evaluation replaces it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import chess
import numpy as np
import numpy.typing as npt
import pytest

from engine.board.convert import decode, encode, from_board
from engine.board.moves import NO_MOVE
from engine.compiler.jit import kernel
from eval.network.evaluator import NetworkEvaluator
from search.kernels.picker import ALL_QUIETS, next_move, start
from search.kernels.transposition import allocate_table
from search.kernels.worker import new_worker, set_network, set_tunables
from search.limits import Limits
from search.searcher import Game, Searcher
from tests.eval.networks import material_network, random_network, rating_network
from tests.search.games import KIWIPETE, game, last_info


def outcome(searcher: Searcher, fen: str, depth: int = 7) -> tuple[object, ...]:
    result = searcher.search(game(fen), Limits(depth=depth))
    return result.nodes, last_info(result).score, last_info(result).pv


def test_without_a_network_it_is_the_classical_search(searcher: Searcher) -> None:
    before = outcome(searcher, KIWIPETE)
    searcher.set_network(random_network(12, 64))
    noise = outcome(searcher, KIWIPETE)
    searcher.set_network(None)
    after = outcome(searcher, KIWIPETE)
    assert before == after != noise


def test_a_network_makes_a_search_of_its_own_that_repeats(searcher: Searcher) -> None:
    network = random_network(13, 64)
    searcher.set_network(network)
    assert searcher.network is network
    first = outcome(searcher, chess.STARTING_FEN)
    searcher.new_game()
    assert outcome(searcher, chess.STARTING_FEN) == first
    assert outcome(Searcher(1, network=network), chess.STARTING_FEN) == first
    searcher.set_network(random_network(14, 96))
    assert outcome(searcher, chess.STARTING_FEN) != first


def test_nothing_of_an_earlier_network_is_used(make: Callable[[int], Searcher]) -> None:
    """Also if both have the same size, in all threads: they cache sums of the network's rows."""
    first, second = random_network(13, 64, threats=True), random_network(14, 64, threats=True)
    searcher, game = make(2), Game(chess.Board("4k3/8/8/3pp3/3PP3/8/8/4K3 w - - 0 1"))
    searcher.set_network(first)
    searcher.search(game, Limits(nodes=20_000))
    searcher.set_network(second)
    for worker in (searcher._worker, searcher._helpers._helpers[0].worker):
        assert int(worker["accumulators"]["cached"]) == 0
        assert np.array_equal(worker["network"]["features"][: second.features.size], second.features.reshape(-1))
    searcher.resize_threads(1)
    searcher.new_game()
    assert outcome(searcher, chess.STARTING_FEN) == outcome(Searcher(1, network=second), chess.STARTING_FEN)


def test_helpers_evaluate_with_the_network_too(make: Callable[[int], Searcher]) -> None:
    network = random_network(15, 32)
    searcher = make(2)
    searcher.set_network(network)
    for helper in searcher._helpers._helpers:
        assert int(helper.worker["network"]["hidden"]) == 32
    searcher.resize_threads(3)
    result = searcher.search(Game(), Limits(nodes=30_000))
    assert result.problems == ()
    assert {int(helper.worker["network"]["hidden"]) for helper in searcher._helpers._helpers} == {32}
    searcher.set_network(None)
    assert {int(helper.worker["network"]["hidden"]) for helper in searcher._helpers._helpers} == {0}


# -- the policy ----------------------------------------------------------------------------------------------------


def test_a_policy_changes_the_search_if_it_is_asked(searcher: Searcher) -> None:
    network = rating_network(16, 64)
    plain = replace(network, policy_rows=None, policy_bias=None)
    searcher.set_network(plain)
    without = outcome(searcher, KIWIPETE, 9)
    searcher.set_network(network, with_policy=True)
    rated = outcome(searcher, KIWIPETE, 9)
    assert rated != without
    searcher.set_network(network)
    assert outcome(searcher, KIWIPETE, 9) == without
    searcher.set_network(network, with_policy=True)
    assert outcome(searcher, KIWIPETE, 9) == rated


def test_helpers_rate_moves_too(make: Callable[[int], Searcher]) -> None:
    searcher = make(2)
    for with_policy in (True, False):
        searcher.set_network(rating_network(17, 64), with_policy)
        flags = {int(helper.worker["network"]["has_policy"]) for helper in searcher._helpers._helpers}
        assert flags == {int(with_policy)}
    searcher.set_network(rating_network(18, 64), with_policy=True)
    searcher.set_network(None)
    assert {int(helper.worker["network"]["has_policy"]) for helper in searcher._helpers._helpers} == {0}


def test_rated_quiet_moves_come_in_the_order_of_the_policy() -> None:
    """Without histories the policy alone decides."""
    network = rating_network(19, 64)
    board = game(KIWIPETE).board
    board.push_uci("a2a3")
    logits = NetworkEvaluator(network).logits(board)
    worker = new_worker()
    set_network(worker, network.record(with_policy=True))
    set_tunables(worker, {"check_bonus": 0})
    before, last = game(KIWIPETE).board, chess.Move.from_uci("a2a3")
    worker["stack"][0]["position"] = from_board(before)
    worker["stack"][0]["move"] = encode(before, last)
    worker["stack"][0]["continuation"] = 384 + last.to_square  # a white pawn's move, as in `continuation_of`
    worker["stack"][1]["position"] = from_board(board)
    found = [decode(move) for move in rated_moves(worker, allocate_table(1)).tolist() if move]
    assert [move for move in found if move in logits] == sorted(logits, key=lambda move: -logits[move])


@kernel
def _pick_rated(worker, tt, moves):  # type: ignore[no-untyped-def]
    """Writes the moves at ply 1 as the picker returns them if the policy rates the quiet moves."""
    start(worker, 1, np.int64(NO_MOVE), np.int64(ALL_QUIETS))
    worker.stack[1].rated = 1
    count = 0
    while True:
        moves[count] = next_move(worker, tt, 1)
        if moves[count] == NO_MOVE:
            break
        count += 1


def rated_moves(worker: Any, tt: Any) -> npt.NDArray[np.int64]:
    moves = np.zeros(256, np.int64)
    _pick_rated(worker, tt, moves)
    return moves


# -- endings: this network counts pieces, and nothing else ---------------------------------------------------------


@pytest.fixture
def material_searcher() -> Searcher:
    return Searcher(1, network=material_network())


@pytest.mark.parametrize(
    ("fen", "depth"),
    [
        pytest.param("8/8/8/3k4/8/8/4Q3/3K4 w - - 0 1", 5, id="KQK"),
        pytest.param("8/8/8/3k4/8/8/4R3/3K4 w - - 0 1", 7, id="KRK"),
        pytest.param("8/8/8/3k4/8/8/4R3/3K4 w - - 0 1", 8, id="KRK-8"),
        pytest.param("k7/8/8/8/8/2KBN3/8/8 w - - 0 1", 10, id="KBNK"),
    ],
)
def test_a_bare_king_is_mated(material_searcher: Searcher, fen: str, depth: int) -> None:
    """Within the fifty moves, although most of these searches are too shallow to see the mate."""
    played = game(fen)
    # `outcome(claim_draw=True)` would also end the game where a move that nobody plays could repeat a position.
    while played.board.outcome() is None and not (played.board.is_repetition() or played.board.is_fifty_moves()):
        best = material_searcher.search(played, Limits(depth=depth)).best
        assert best is not None
        played.push(best)
    assert played.board.is_checkmate(), played.board.fen()


@pytest.mark.parametrize(
    "fen",
    [
        "8/8/8/3k4/8/8/3NN3/3K4 w - - 0 1",
        "k7/8/P7/8/8/4B3/8/3K4 w - - 0 1",
        "7k/8/7P/8/8/3B4/8/3K4 w - - 0 1",
        "1k6/p7/P7/8/8/4B3/8/3K4 w - - 0 1",
        "8/8/8/3k1n2/8/8/6P1/3K4 b - - 0 1",
        "k7/8/P7/8/8/8/8/3K4 w - - 0 1",
    ],
)
def test_what_cannot_be_won_is_a_draw(material_searcher: Searcher, fen: str) -> None:
    for board in (chess.Board(fen), chess.Board(fen).mirror()):
        assert last_info(material_searcher.search(Game(board), Limits(depth=4))).score == 0, board.fen()


@pytest.mark.parametrize("fen", ["8/8/8/3k4/8/8/3NN3/3K4 w - - 0 1", "k7/P7/8/P7/8/4B3/8/3K4 b - - 0 1"])
def test_with_a_bare_king_it_is_the_classical_search(material_searcher: Searcher, fen: str) -> None:
    assert outcome(material_searcher, fen, 9) == outcome(Searcher(1), fen, 9)
