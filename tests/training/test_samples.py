"""Decoding and filtering, against python-chess."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import chess
import numpy as np
import pytest

from engine.board.convert import decode, to_board
from engine.board.position import POSITION
from engine.memory import allocate
from eval.training.kernels.records import unpack_samples
from eval.training.samples import ALL, ANY_HALFMOVES, Filter, positions, samples
from eval.training.shards import read_shard
from tests.training.conftest import Record, replayed


@cache
def replays(folder: Path) -> list[tuple[Record, list[chess.Board]]]:
    """The games of a folder, each with all its positions by python-chess."""
    shard = read_shard(folder / "shard-000000.games")
    ends = shard.first + shard.games["plies"]
    records = [
        Record(shard.games[index : index + 1], shard.plies[first:end])
        for index, (first, end) in enumerate(zip(shard.first, ends, strict=True))
    ]
    return [(record, replayed(record)) for record in records]


def expected(folder: Path, wanted: Filter) -> list[tuple[str, int, float, int]]:
    """What passes a filter, by python-chess: (EPD, score, result, ply)."""
    found = []
    for (game, plies), boards in replays(folder):
        for number, (board, ply) in enumerate(zip(boards, plies, strict=False)):
            move, score = decode(int(ply["move"]), board.chess960), int(ply["score"])
            ply_of_game = int(game[0]["opening"]) + number
            if ply_of_game < wanted.skip or abs(score) >= wanted.score_limit:
                continue
            if board.halfmove_clock >= wanted.halfmoves:
                continue
            if wanted.quiet and (board.is_check() or board.is_capture(move) or move.promotion):
                continue
            found.append((epd(board), score, int(game[0]["result"]) / 2, ply_of_game))
    return found


def epd(board: chess.Board) -> str:
    """With the halfmove clock, and an en passant square where a pawn stands ready."""
    ready = board.ep_square is not None and any(
        board.piece_type_at(square) == chess.PAWN and board.color_at(square) == board.turn
        for square in chess.SquareSet(chess.BB_PAWN_ATTACKS[not board.turn][board.ep_square])
    )
    copy = board.copy(stack=False)
    if not ready:
        copy.ep_square = None
    return copy.epd(en_passant="fen", hmvc=board.halfmove_clock)


def portraits(records: Any) -> list[str]:
    return [epd(to_board(record)) for record in records]


FILTERS = [
    Filter(),
    ALL,
    Filter(skip=30),
    Filter(score_limit=300),
    Filter(quiet=False, skip=12),
    Filter(halfmoves=3),
    Filter(halfmoves=ANY_HALFMOVES),
]


@pytest.mark.parametrize("wanted", FILTERS)
def test_positions_are_those_of_python_chess(made: Path, wanted: Filter) -> None:
    truth = expected(made, wanted)
    batches = list(positions(made, wanted))
    found = [
        (portrait, int(score), float(result), int(ply))
        for batch in batches
        for portrait, score, result, ply in zip(
            portraits(batch.positions), batch.scores, batch.results, batch.plies, strict=True
        )
    ]
    assert found == truth
    assert len(truth) > 0
    batch = batches[0]
    assert (batch.scores.dtype, batch.results.dtype, batch.plies.dtype) == (np.int16, np.float32, np.uint16)


@pytest.mark.parametrize("wanted", FILTERS)
def test_samples_are_the_positions(made: Path, wanted: Filter) -> None:
    (packed,) = samples(made, wanted)
    whole = allocate(POSITION, len(packed))
    unpack_samples(packed, whole)
    batches = list(positions(made, wanted))
    assert portraits(whole) == [portrait for batch in batches for portrait in portraits(batch.positions)]
    assert packed["score"].tolist() == [score for batch in batches for score in batch.scores.tolist()]
    assert (packed["result"] / 2).tolist() == [result for batch in batches for result in batch.results.tolist()]
    assert packed["ply"].tolist() == [ply for batch in batches for ply in batch.plies.tolist()]


def test_filters_filter(made: Path) -> None:
    counts = [sum(map(len, samples(made, wanted))) for wanted in FILTERS]
    assert counts[1] == max(counts)
    assert len(set(counts)) == len(FILTERS)


def test_batches_are_bounded_and_lose_nothing(made: Path) -> None:
    longest = int(read_shard(made / "shard-000000.games").games["plies"].max())
    for batch in (1, longest, 1000):
        parts = list(positions(made, ALL, batch=batch))
        assert max(len(part.positions) for part in parts) <= max(batch, longest)
        assert sum(len(part.positions) for part in parts) == sum(map(len, samples(made, ALL)))
        numbers = np.concatenate([part.games for part in parts])
        assert 1 + np.count_nonzero(np.diff(numbers)) == 64  # games
    assert len(list(positions(made, ALL, batch=1))) == 64


def test_what_is_still_being_written_is_read_on_request(made: Path, tmp_path: Path) -> None:
    whole = (made / "shard-000000.games").read_bytes()
    (tmp_path / "shard-000000.part").write_bytes(whole[: len(whole) // 2])
    (some,) = samples(tmp_path, ALL, partial=True)
    (everything,) = samples(made, ALL)
    assert 0 < len(some) < len(everything)
    assert some.tobytes() == everything[: len(some)].tobytes()
