"""Legal moves, made moves and checks against python-chess, over more than 50,000 positions."""

from __future__ import annotations

import io
import itertools
import random
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import chess
import numpy as np
import pytest

from engine.board.convert import encode, from_board, new_position
from engine.board.generate import attacked_squares, attacks_by_type
from engine.board.make import make_null_move
from engine.board.moves import CAPTURE, PROMOTION
from engine.compiler.jit import subkernel
from tests.board.board_kernels import Survey, Surveyor, fields
from tests.board.board_positions import RARE_POSITIONS, lively_move, scattered_position

survey = Surveyor()


def agree(position: Any, board: chess.Board) -> bool:
    """Whether a record holds exactly `board`."""
    return bool(position.tobytes() == from_board(board).tobytes())


def prove(board: chess.Board, position: Any) -> tuple[Survey, list[chess.Move]]:
    """Holds all that the kernels say of `position` against python-chess's view of `board`; also gives its moves."""
    # Whole records are compared as bytes, for speed; the fields are for reading the failure.
    assert agree(position, board), (board.fen(), fields(position), fields(from_board(board)))
    assert int(position["checkers"]) == board.checkers_mask(), board.fen()
    own = board.occupied_co[board.turn]
    pinned = sum(1 << square for square in chess.scan_forward(own) if board.is_pinned(board.turn, square))
    assert int(position["pinned"]) == pinned, board.fen()

    found = survey(position)
    moves = list(board.legal_moves)
    legal = sorted([encode(board, move) for move in moves])
    assert sorted(found.moves) == legal, board.fen()
    assert len(set(found.moves)) == len(found.moves), board.fen()
    noisy = [code for code in legal if code >> 12 & (CAPTURE | PROMOTION)]
    assert sorted(found.noisy) == noisy, board.fen()
    assert sorted(found.noisy + found.quiet) == legal, board.fen()
    assert found.count == len(legal), board.fen()
    # The children's checkers are proven when their turn comes.
    assert found.checks == (found.children["checkers"][: found.count] != 0).tolist(), board.fen()
    if not board.is_check():
        checking = {move for move, is_check in zip(found.moves, found.checks, strict=True) if is_check}
        assert checking & set(found.quiet) <= set(found.quiet_checks) <= set(found.quiet), board.fen()
        assert len(set(found.quiet_checks)) == len(found.quiet_checks), board.fen()
    return found, moves


def prove_children(board: chess.Board, found: Survey, moves: list[chess.Move]) -> None:
    """Holds every child and every `gives_check` against python-chess."""
    for move in moves:
        index = found.moves.index(encode(board, move))
        assert found.checks[index] == board.gives_check(move), (board.fen(), move)
        board.push(move)
        child = found.children[index]
        assert agree(child, board), (board.fen(), fields(child), fields(from_board(board)))
        board.pop()


@subkernel
def cumulative(position, by):  # type: ignore[no-untyped-def]
    return attacked_squares(position, by)


def test_attacked_squares() -> None:
    rng = random.Random(5)
    for _ in range(300):
        board = scattered_position(rng, most=20)
        position = from_board(board)
        for color in chess.COLORS:
            attacks: dict[chess.PieceType, chess.SquareSet] = {kind: chess.SquareSet() for kind in chess.PIECE_TYPES}
            for square, piece in board.piece_map().items():
                if piece.color == color:
                    attacks[piece.piece_type] |= board.attacks(square)
            pawns = attacks[chess.PAWN]
            minors = pawns | attacks[chess.KNIGHT] | attacks[chess.BISHOP]
            rooks = minors | attacks[chess.ROOK]
            every = rooks | attacks[chess.QUEEN] | attacks[chess.KING]
            expected = [int(squares) for squares in (pawns, minors, rooks, every)]
            assert [int(found) for found in cumulative(position, np.int64(color))] == expected, board.fen()
            types = [int(attacks[kind]) for kind in chess.PIECE_TYPES]
            assert [int(found) for found in attacks_by_type(position, np.int64(color))] == types, board.fen()


def prove_null_move(board: chess.Board, position: Any) -> None:
    if board.is_check():
        return
    child = new_position()
    make_null_move(position, child)
    board.push(chess.Move.null())
    assert agree(child, board), board.fen()
    board.pop()


def prove_game(rng: random.Random, board: chess.Board, plies: int) -> int:
    """Proves a random game, its positions made by the kernels one from the other; returns how many there were."""
    position = from_board(board)
    for ply in range(plies):
        found, moves = prove(board, position)
        if rng.random() < 0.03:
            prove_children(board, found, moves)
            prove_null_move(board, position)
        if not moves:
            return ply + 1
        move = lively_move(rng, board, moves)
        index = found.moves.index(encode(board, move))
        assert found.checks[index] == board.gives_check(move), (board.fen(), move)
        position = found.children[index].copy()
        board.push(move)
    return plies


def prove_position(board: chess.Board) -> None:
    position = from_board(board)
    prove(board, position)
    prove_null_move(board, position)


@pytest.mark.parametrize(("fen", "chess960"), RARE_POSITIONS)
def test_rare_positions(fen: str, chess960: bool) -> None:
    board = chess.Board(fen, chess960=chess960)
    position = from_board(board)
    prove_children(board, *prove(board, position))
    prove_null_move(board, position)


def test_standard_games() -> None:
    rng = random.Random(8)
    assert sum(prove_game(rng, chess.Board(), 130) for _ in range(200)) >= 20_000


def test_chess960_games_from_every_start_position() -> None:
    rng = random.Random(960)
    assert sum(prove_game(rng, chess.Board.from_chess960_pos(n), 30) for n in range(960)) >= 20_000


def test_scattered_positions() -> None:
    rng = random.Random(12)
    for _ in range(6_000):
        prove_position(scattered_position(rng))


def test_children_of_scattered_positions() -> None:
    rng = random.Random(13)
    for _ in range(400):
        board = scattered_position(rng)
        prove_children(board, *prove(board, from_board(board)))


def epd_lines(path: Path) -> Iterator[str]:
    """The lines of an EPD file, zipped or not."""
    if path.suffix != ".zip":
        yield from path.read_text(encoding="utf-8", errors="replace").splitlines()
        return
    with zipfile.ZipFile(path) as archive, archive.open(archive.namelist()[0]) as file:
        yield from io.TextIOWrapper(file, encoding="utf-8")


@pytest.mark.parametrize("name", ["noob_3moves.epd.zip", "UHO_4060_v4.epd.zip"])
def test_opening_books(shared_data: Callable[[str], Path], name: str) -> None:
    positions = 0
    for line in itertools.islice(epd_lines(shared_data(f"books/{name}")), 0, None, 100):
        prove_position(chess.Board(" ".join(line.split()[:6])))
        positions += 1
    assert positions >= 1_200
