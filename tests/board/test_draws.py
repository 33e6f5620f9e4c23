"""Draw rules against python-chess's."""

from __future__ import annotations

import random
from typing import Any

import chess
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engine.board.convert import encode, from_board, new_position
from engine.board.draws import FIFTY_MOVES, is_fifty_move_draw, is_repetition
from engine.board.make import make_move
from engine.compiler.jit import subkernel
from tests.board.board_kernels import insufficient_material
from tests.board.board_positions import random_game


@subkernel
def repeated(keys: Any, index: Any, halfmoves: Any, ply: Any) -> Any:
    return is_repetition(keys, index, halfmoves, ply)


def is_repeated(keys: list[int] | np.ndarray, halfmoves: int, ply: int) -> bool:
    """Whether the last of `keys` is drawn by repetition."""
    array = np.asarray(keys, np.uint64)
    return bool(repeated(array, np.int64(len(array) - 1), np.int64(halfmoves), np.int64(ply)))


def shuffling_game(rng: random.Random, plies: int) -> chess.Board:
    """A position with few pieces after many moves to and fro."""
    board = chess.Board("4k3/8/8/3n4/8/3N4/8/4K3 w - - 0 1")
    for _ in range(plies):
        moves = [move for move in board.legal_moves if not board.is_capture(move)]
        # Back where it came from, more often than not.
        back = [move for move in moves if len(board.move_stack) > 1 and move == undone(board.move_stack[-2])]
        board.push(back[0] if back and rng.random() < 0.7 else rng.choice(moves))
    return board


def undone(move: chess.Move) -> chess.Move:
    return chess.Move(move.to_square, move.from_square)


def test_repetition_is_python_chess_repetition() -> None:
    rng = random.Random(1)
    twofold = threefold = 0
    for _ in range(400):
        board = shuffling_game(rng, rng.randint(4, 24))
        position, child = from_board(board.root()), new_position()
        keys = [int(position["key"])]
        replayed = board.root()
        for move in board.move_stack:
            make_move(position, child, np.int64(encode(replayed, move)))
            position, child = child, position
            replayed.push(move)
            keys.append(int(position["key"]))
        halfmoves = int(position["halfmoves"])
        assert halfmoves == board.halfmove_clock
        # The whole game before the root: three occurrences. The whole game after it: two.
        assert is_repeated(keys, halfmoves, ply=0) == board.is_repetition(3)
        assert is_repeated(keys, halfmoves, ply=len(keys)) == board.is_repetition(2)
        threefold += board.is_repetition(3)
        twofold += board.is_repetition(2) and not board.is_repetition(3)
    assert twofold > 20
    assert threefold > 20


@given(st.lists(st.integers(0, 2), min_size=1, max_size=24), st.integers(0, 30), st.integers(0, 30))
def test_repetition_counts_by_where_the_root_is(keys: list[int], halfmoves: int, ply: int) -> None:
    last = len(keys) - 1
    backs = [back for back in range(4, min(halfmoves, last) + 1) if back % 2 == 0 and keys[last - back] == keys[last]]
    assert is_repeated(keys, halfmoves, ply) == (any(back < ply for back in backs) or len(backs) >= 2)


def test_insufficient_material_is_python_chess_insufficient_material() -> None:
    rng = random.Random(2)
    found = {False: 0, True: 0}
    for _ in range(3_000):
        white, black, *others = rng.sample(range(64), 2 + rng.randint(0, 4))
        pieces = {white: chess.Piece(chess.KING, True), black: chess.Piece(chess.KING, False)}
        for square in others:
            piece_type = rng.choice((chess.KNIGHT,) + 6 * (chess.BISHOP,) + (rng.randint(chess.PAWN, chess.QUEEN),))
            pieces[square] = chess.Piece(piece_type, rng.random() < 0.5)
        bare = chess.Board(None)
        bare.set_piece_map(pieces)
        expected = bare.is_insufficient_material()
        assert bool(insufficient_material(from_board(bare))) == expected, bare.fen()
        found[expected] += 1
    assert min(found.values()) > 250


def test_fifty_moves() -> None:
    rng = random.Random(3)
    drawn = 0
    for _ in range(300):
        board = chess.Board()
        for _ in random_game(rng, board, rng.randint(1, 60)):
            pass
        for clock in (0, FIFTY_MOVES - 1, FIFTY_MOVES, FIFTY_MOVES + 20):
            board.halfmove_clock = clock
            expected = clock >= 100 and not board.is_checkmate()
            assert bool(is_fifty_move_draw(from_board(board))) == expected, board.fen()
            drawn += expected
            if not board.is_stalemate():
                assert expected == board.is_fifty_moves()
    assert drawn > 400


def test_mate_on_the_hundredth_ply_is_no_draw() -> None:
    board = chess.Board("7k/6pp/8/8/8/8/8/R6K w - - 99 80")
    position, mated, safe = from_board(board), new_position(), new_position()
    make_move(position, mated, np.int64(encode(board, chess.Move.from_uci("a1a8"))))
    make_move(position, safe, np.int64(encode(board, chess.Move.from_uci("a1a7"))))
    assert mated["halfmoves"] == safe["halfmoves"] == 100
    assert not is_fifty_move_draw(mated)
    assert is_fifty_move_draw(safe)
    # A check that is not mate is a draw too.
    board = chess.Board("7k/7p/8/8/8/8/8/R6K w - - 99 80")
    make_move(from_board(board), safe, np.int64(encode(board, chess.Move.from_uci("a1a8"))))
    assert safe["checkers"]
    assert is_fifty_move_draw(safe)
