"""Perft: counts of move sequences that others have published, or that python-chess counted."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from pathlib import Path

import chess
import pytest

import search.perft
from engine.board.perft import MAX_PERFT_DEPTH
from search.perft import SPLIT_DEPTH, Counter, count_by_move
from tests.board.board_kernels import perft
from tests.board.board_positions import CLASSIC_PERFTS, RARE_POSITIONS

OWN_TABLE = Path(__file__).resolve().parent.parent / "data" / "perft.epd"

#: For each file of gathered counts: (Chess960, lines, counts over this many nodes are left out, and at least this
#: many nodes remain).
GATHERED = {
    "standard.epd": (False, 128, 200_000_000, 1_000_000_000),
    "special_moves.epd": (False, 174, 100_000_000, 1_000_000_000),
    "chess960.epd": (True, 960, 5_000_000, 500_000_000),
}


def total(board: chess.Board, depth: int, threads: int = 1) -> int:
    return sum(count_by_move(board, depth, threads).values())


def counts_of(line: str) -> dict[int, int]:
    return {int(depth): int(count) for depth, count in re.findall(r"\bD(\d+) (\d+)", line)}


def recorded(path: Path) -> list[str]:
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return [line for line in lines if line.strip() and not line.startswith("#")]


@pytest.mark.parametrize("fen", CLASSIC_PERFTS)
def test_classic_positions(fen: str) -> None:
    board = chess.Board(fen)
    for depth, expected in enumerate(CLASSIC_PERFTS[fen], start=1):
        assert total(board, depth) == expected


@pytest.mark.parametrize("line", recorded(OWN_TABLE), ids=lambda line: line.rsplit(" ; ", 1)[1])
def test_own_table(line: str) -> None:
    fen, numbers, _ = line.split(" ; ")
    board = chess.Board(fen, chess960="960" in numbers.split())
    counts = counts_of(numbers)
    assert min(counts) == 1
    assert max(counts) >= 3
    assert counts[1] == board.legal_moves.count()
    for depth, expected in counts.items():
        assert total(board, depth) == expected, depth


@pytest.mark.slow
@pytest.mark.parametrize("name", GATHERED)
def test_gathered_tables(shared_data: Callable[[str], Path], name: str) -> None:
    chess960, positions, most, least = GATHERED[name]
    lines = recorded(shared_data(f"perft/{name}"))
    nodes = 0
    for line in lines:
        board = chess.Board(line.split(";")[0].strip(), chess960=chess960)
        for depth, expected in counts_of(line).items():
            if expected <= most:
                assert perft(board, depth) == expected, (line, depth)
                nodes += expected
    assert len(lines) == positions
    assert nodes > least


@pytest.mark.parametrize(("fen", "chess960"), RARE_POSITIONS)
def test_divide_is_the_perft_of_each_child(fen: str, chess960: bool) -> None:
    board = chess.Board(fen, chess960=chess960)
    counts = count_by_move(board, 3)
    assert list(counts) == list(board.legal_moves)
    for move, count in counts.items():
        board.push(move)
        assert count == perft(board, 2)
        board.pop()
    assert set(count_by_move(board, 1).values()) <= {1}
    assert len(count_by_move(board, 1)) == board.legal_moves.count()


@pytest.mark.parametrize("depth", [1, 2, 3, SPLIT_DEPTH, SPLIT_DEPTH + 1])
@pytest.mark.parametrize("fen", list(CLASSIC_PERFTS)[:2])
def test_threads_share_the_tree_without_losing_a_leaf(fen: str, depth: int) -> None:
    board = chess.Board(fen)
    one = count_by_move(board, depth)
    assert count_by_move(board, depth, threads=2) == one
    assert count_by_move(board, depth, threads=7) == one
    assert sum(one.values()) == CLASSIC_PERFTS[fen][depth - 1]


@pytest.mark.parametrize("depth", [0, -1, MAX_PERFT_DEPTH + 1])
def test_depth_out_of_range(depth: int) -> None:
    with pytest.raises(ValueError, match=rf"depth must be 1 to {MAX_PERFT_DEPTH} \(got {depth}\)"):
        count_by_move(chess.Board(), depth)


@pytest.mark.parametrize("threads", [1, 2])
def test_progress_reaches_the_end(threads: int) -> None:
    shares: list[float] = []
    count_by_move(chess.Board(), SPLIT_DEPTH, threads, shares.append)
    assert all(0 < share <= 1 for share in shares)
    assert max(shares) == 1
    assert len(shares) == (20 if threads == 1 else 60)  # 20 first moves; 20 replies each, in pieces of eight


@pytest.mark.parametrize("threads", [1, 2])
def test_stop_reaches_into_the_kernel(threads: int) -> None:
    counter = Counter(chess.Board(), 12, threads)  # any one of its pieces would take hours
    timer = threading.Timer(0.1, counter.stop)
    timer.start()
    begin = time.monotonic()
    assert counter.run() is None
    assert time.monotonic() - begin < 5
    timer.join()


def test_a_failing_thread_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object) -> int:
        raise MemoryError("no more")

    monkeypatch.setattr(search.perft, "perft_kernel", fail)
    with pytest.raises(RuntimeError, match="a perft thread failed") as caught:
        count_by_move(chess.Board(), 3, threads=2)
    assert isinstance(caught.value.__cause__, MemoryError)
