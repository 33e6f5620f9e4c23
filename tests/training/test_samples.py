"""Decoding and filtering, against python-chess."""

from __future__ import annotations

import math
from contextlib import closing
from pathlib import Path

import chess
import numpy as np
import numpy.typing as npt
import pytest

from engine.board.convert import decode, to_board
from eval.training.kernels.records import ENDINGS
from eval.training.samples import ALL, ANY_HALFMOVES, Filter, samples
from eval.training.shards import ShardWriter, encode_block
from tests.training.conftest import Record
from tests.training.positions import unpacked

FILTERS = [
    Filter(),
    ALL,
    Filter(skip=30),
    Filter(score_limit=300),
    Filter(quiet=False, skip=12),
    Filter(halfmoves=3),
    Filter(halfmoves=ANY_HALFMOVES),
    Filter(lookahead=50),
    Filter(score_limit=300, quiet=False, lookahead=85),
    Filter(lookahead=100),
]


#: A few games of each variant.
SOME = (*range(8), *range(40, 44), *range(52, 56))


@pytest.fixture(scope="module")
def some(records: list[Record]) -> list[Record]:
    """The games, the first as if it had been stopped at its length, so that its result is no outcome."""
    head, plies = records[SOME[0]]
    stopped = head.copy()
    stopped["ending"] = ENDINGS.index("length")
    stopped["result"] = 0 if plies["score"][-1] > 0 else 2
    return [(stopped, plies), *(records[index] for index in SOME[1:])]


@pytest.fixture(scope="module")
def boards(lines: list[list[chess.Board]]) -> list[list[chess.Board]]:
    return [lines[index] for index in SOME]


@pytest.fixture(scope="module")
def shard(some: list[Record], tmp_path_factory: pytest.TempPathFactory) -> Path:
    with closing(ShardWriter(tmp_path_factory.mktemp("some"), 0, {})) as writer:
        writer.append(encode_block(0, *(np.concatenate(part) for part in zip(*some, strict=True))))
        return writer.finish()


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


Row = tuple[str, int, int, int, int]


def label(head: np.void, plies: npt.NDArray[np.void], number: int, lookahead: int) -> int:
    """The label of a ply by its definition, a weighted sum over the rest of the game."""
    if lookahead == 0:
        return int(plies[number]["score"])
    expected = [1 / (1 + math.exp(-int(score) / 200)) for score in plies["score"][number:]]
    weight = lookahead / 100
    end = expected[-1] if ENDINGS[head["ending"]] == "length" else int(head["result"]) / 2
    total = (1 - weight) * sum(weight**index * value for index, value in enumerate(expected))
    total = min(max(total + weight ** len(expected) * end, 1e-6), 1 - 1e-6)
    return round(200 * math.log(total / (1 - total)))


def expected(games: list[Record], boards: list[list[chess.Board]], wanted: Filter) -> list[Row]:
    """What passes a filter, by python-chess: (EPD, label, result, move, game)."""
    found = []
    for index, ((game, plies), line) in enumerate(zip(games, boards, strict=True)):
        for number, (board, ply) in enumerate(zip(line, plies, strict=False)):
            move, score = decode(int(ply["move"]), board.chess960), int(ply["score"])
            ply_of_game = int(game[0]["opening"]) + number
            if ply_of_game < wanted.skip or abs(score) >= wanted.score_limit:
                continue
            if board.halfmove_clock >= wanted.halfmoves:
                continue
            if wanted.quiet and (board.is_check() or board.is_capture(move) or move.promotion):
                continue
            score = label(game[0], plies, number, wanted.lookahead)
            found.append((epd(board), score, int(game[0]["result"]), int(ply["move"]), index))
    return found


@pytest.mark.parametrize("wanted", FILTERS)
def test_samples_are_those_of_python_chess(
    shard: Path, some: list[Record], boards: list[list[chess.Board]], wanted: Filter
) -> None:
    (packed,) = samples(shard, wanted)
    portraits = [epd(to_board(position, chess960=True)) for position in unpacked(packed)]
    labels = (packed[name].tolist() for name in ("score", "result", "move", "game"))
    assert list(zip(portraits, *labels, strict=True)) == expected(some, boards, wanted)
    assert len(packed) > 0


def test_an_unfinished_shard_is_read_on_request(made: Path, tmp_path: Path) -> None:
    whole = (made / "shard-000000.games").read_bytes()
    (tmp_path / "shard-000000.part").write_bytes(whole[: len(whole) // 2])
    (part,) = samples(tmp_path, ALL, partial=True)
    (everything,) = samples(made, ALL)
    assert 0 < len(part) < len(everything)
    assert part.tobytes() == everything[: len(part)].tobytes()
