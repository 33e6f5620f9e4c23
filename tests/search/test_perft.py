import threading
import time

import chess
import pytest

from search.perft import Counter, count_by_move


def test_divide_sums_to_the_known_count() -> None:
    counts = count_by_move(chess.Board(), 4)
    assert sum(counts.values()) == 197_281
    assert counts[chess.Move.from_uci("e2e4")] == 13_160
    assert len(counts) == 20


@pytest.mark.parametrize("depth", [1, 2, 3, 4, 5])
def test_threads_count_the_same(depth: int) -> None:
    board = chess.Board("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1")
    assert count_by_move(board, depth, 1) == count_by_move(board, depth, 3)


def test_progress_ends_at_one() -> None:
    shares: list[float] = []
    count_by_move(chess.Board(), 3, 1, shares.append)
    assert shares[-1] == 1
    assert shares == sorted(shares)


def test_progress_of_several_threads_never_goes_back() -> None:
    shares: list[float] = []
    count_by_move(chess.Board(), 4, 4, shares.append)
    assert shares == [(number + 1) / len(shares) for number in range(len(shares))]


@pytest.mark.parametrize("depth", [0, -1, 33])
def test_bad_depths_are_refused(depth: int) -> None:
    with pytest.raises(ValueError, match="perft depth must be 1 to 32"):
        Counter(chess.Board(), depth)


@pytest.mark.parametrize("fen", [chess.STARTING_FEN, "1QqQqQq1/r6Q/Q6q/q6Q/B2q4/q6Q/k6K/1qQ1QqRb w - - 0 1"])
def test_it_stops_soon(fen: str) -> None:
    counter = Counter(chess.Board(fen), 12)
    threading.Timer(0.2, counter.stop).start()
    start = time.perf_counter()
    assert counter.run() is None
    assert time.perf_counter() - start < 10


def test_positions_without_moves() -> None:
    assert count_by_move(chess.Board("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1"), 3) == {}
