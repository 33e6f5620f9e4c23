"""Chess960: castling in every start position, both kinds of FEN, and what GUIs send."""

from __future__ import annotations

import random

import chess
import pytest

from engine.board.convert import decode, encode
from engine.uci.parse import PositionCommand
from engine.uci.positions import PositionKeeper, parse_move
from search.perft import Counter
from tests.uci.conftest import Engine


def mixed(white: int, black: int, is_bare: bool = False) -> chess.Board:
    """A start position for each side; if `is_bare`, only kings, rooks and pawns, so that nothing stands between."""
    board, other = chess.Board.from_chess960_pos(white), chess.Board.from_chess960_pos(black)
    for square in chess.SQUARES:
        piece = (board if square < chess.A5 else other).piece_at(square)
        keep = piece is not None and (not is_bare or piece.piece_type in (chess.KING, chess.ROOK, chess.PAWN))
        board.set_piece_at(square, piece if keep else None)
    board.castling_rights = board.rooks
    return board


def start_pairs() -> list[tuple[int, int]]:
    """Every start position for White; every second one with another for Black."""
    others = list(range(960))
    random.Random(960).shuffle(others)
    return [(number, number) for number in range(0, 960, 2)] + list(zip(range(1, 960, 2), others, strict=False))


def test_castling_is_that_of_python_chess_in_every_start_position() -> None:
    """Legality by the compiled generator, one ply of perft a position, and the notation there and back."""
    castlings = 0
    for white, black in start_pairs():
        board = mixed(white, black, is_bare=True)
        board.turn = bool(white % 2)
        assert board.is_valid()
        counts = Counter(board, 1).run()
        assert counts is not None
        assert set(counts.values()) <= {1}
        assert set(counts) == set(board.legal_moves)
        for move in board.generate_castling_moves():
            castlings += 1
            assert decode(encode(board, move), chess960=True) == move
            assert parse_move(board, move.uci()) == move
            spoken = "O-O" if board.is_kingside_castling(move) else "O-O-O"
            assert parse_move(board, spoken) == move
    assert castlings > 960


def test_both_kinds_of_fen_are_the_same_position_in_every_start() -> None:
    keeper = PositionKeeper()
    for white, black in start_pairs():
        board = mixed(white, black)
        keys = set()
        for fen in (board.fen(), board.fen(shredder=True)):
            assert keeper.set(PositionCommand(fen, ()), chess960=True) is None
            assert keeper.game.board.clean_castling_rights() == board.rooks
            keys.add(int(keeper.game.keys[-1]))
            report = keeper.report()
            assert f"Fen: {board.fen()}\n" in report
            assert f"Shredder-FEN: {board.fen(shredder=True)}\n" in report
        assert len(keys) == 1


# -- what GUIs send ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fen", "chess960", "text", "meant"),
    [
        # Standard chess, both notations, whatever the option says.
        ("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", False, "e1g1", "e1g1"),
        ("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", False, "e1h1", "e1g1"),
        ("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", True, "e1g1", "e1h1"),
        ("r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 0 1", True, "e8c8", "e8a8"),
        ("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", True, "O-O-O", "e1a1"),
        ("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", False, "0-0", "e1g1"),
        # The king's way named where it can be nothing else.
        ("4k3/8/8/8/8/8/8/1R1K2R1 w GB - 0 1", True, "d1g1", "d1g1"),
        ("4k3/8/8/8/8/8/8/1R2K1R1 w GB - 0 1", True, "e1c1", "e1b1"),
        ("4k3/8/8/8/8/8/8/RK5R w HA - 0 1", True, "b1g1", "b1h1"),
        # A step is a step, also to where castling would lead.
        ("4k3/8/8/8/8/8/8/R4K1R w HA - 0 1", True, "f1g1", "f1g1"),
        ("4k3/8/8/8/8/8/8/RK5R w HA - 0 1", True, "b1c1", "b1c1"),
    ],
)
def test_every_notation_of_castling(fen: str, chess960: bool, text: str, meant: str) -> None:
    board = chess.Board(fen, chess960=chess960)
    assert parse_move(board, text) == chess.Move.from_uci(meant)
    assert parse_move(board, text) in board.legal_moves


@pytest.mark.parametrize(
    ("fen", "text"),
    [
        ("r3k2r/8/8/8/8/8/8/R3K2R w - - 0 1", "e1g1"),
        ("4k3/8/8/8/8/8/8/RK3r1R w HA - 0 1", "b1g1"),  # through check
        ("4k3/8/8/8/8/8/8/RK5R w HA - 0 1", "b1g2"),
        ("4k3/8/8/8/8/8/8/RK5R w HA - 0 1", "b1g1q"),
        ("4k3/8/8/8/8/8/8/R3K2R w - - 0 1", "O-O"),
    ],
)
@pytest.mark.parametrize("chess960", [True, False])
def test_what_is_no_castling_is_refused(fen: str, text: str, chess960: bool) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_move(chess.Board(fen, chess960=chess960), text)


def test_the_engine_speaks_the_notation_of_its_mode(engine: Engine) -> None:
    fen = "4k3/8/8/8/8/8/8/RK5R w HA - 0 1"
    engine.send("setoption name UCI_Chess960 value true")
    assert engine.best(f"position fen {fen}", "go searchmoves b1g1 depth 3") == "b1h1"
    engine.send(f"position fen {fen} moves b1h1", "d")
    assert engine.expect("Fen: ") == "Fen: 4k3/8/8/8/8/8/8/R4RK1 b - - 1 1"


def test_a_fen_of_chess960_without_the_option_says_what_to_do(engine: Engine) -> None:
    engine.send("position fen 4k3/8/8/8/8/8/8/RK5R w HA - 0 1")
    message = engine.expect("info string")
    assert "castling rights that do not fit" in message
    assert message.endswith("(they fit in Chess960: set UCI_Chess960)")
