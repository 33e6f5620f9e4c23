"""Functions that read the positions that users enter: a FEN, a FEN with moves, or a PGN."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Any, Final

import chess
import chess.pgn

from search.explorer.chess_document import RecordingError
from search.game import FATAL_STATUS, Game, status_text

_FEN: Final = re.compile(r"\s*[pnbrqkPNBRQK1-8]+(/[pnbrqkPNBRQK1-8]+){7}(\s|$)")
_MOVE_NUMBER: Final = re.compile(r"(\d{1,5})(w|b|\.\.\.|\.)?")


class PositionError(RecordingError):
    """Raised if a position or a move is invalid or illegal. The message is one line that says what is wrong."""


def read_board(text: str, after: str | None = None) -> chess.Board:
    """Returns the board that a text describes, with its moves; "" and "startpos" mean the start position.

    The word "moves" and UCI moves may follow "startpos" or a FEN (also for Chess960). A PGN gives the position of its
    first game after the last move of the main line, or after the move that `after` names: "23w" or "23" is White's 23rd
    move, "23b" Black's, and "0" means before the first move. Raises PositionError. Calls no kernel.
    """
    stripped = text.strip()
    head, _, moves = stripped.partition(" moves ")
    if stripped in ("", "startpos") or head == "startpos" or _FEN.match(stripped):
        if after is not None:
            raise PositionError("a move can be chosen only in a PGN, not in a FEN")
        board = _board(chess.STARTING_FEN if head in ("", "startpos") else head)
        if board.status() & chess.STATUS_BAD_CASTLING_RIGHTS:
            # These castling rights may be valid in Chess960.
            board = _board(head, chess960=True)
        _play(board, moves.split())
    else:
        board = _pgn_board(text, after)
    return _playable(board)


def replay(fen: str, moves: Sequence[str], *, chess960: bool) -> Game:
    """Returns the game that begins at `fen` and continues with `moves` (UCI, "0000" for a null move).

    Raises PositionError if `fen` or a move is invalid or illegal.
    """
    board = _board(fen, chess960=chess960)
    _play(board, moves, may_pass=True)
    return Game(_playable(board))


def _board(fen: str, chess960: bool = False) -> chess.Board:
    try:
        return chess.Board(fen, chess960=chess960)
    except ValueError as error:
        raise PositionError(f"bad FEN {_quoted(fen)}: {error}") from None


def _play(board: chess.Board, moves: Sequence[str], *, may_pass: bool = False) -> None:
    for number, text in enumerate(moves, start=1):
        try:
            move = board.push_uci(text)
        except ValueError:
            move = None
        if move is None or not (move or may_pass):
            raise PositionError(f"illegal move {_quoted(text)} (number {number} in the list of moves)")


def _playable(board: chess.Board) -> chess.Board:
    """Returns `board`. Raises PositionError if the first position of its game is illegal (see FATAL_STATUS)."""
    fatal = board.root().status() & FATAL_STATUS
    if fatal:
        raise PositionError(f"illegal position: {status_text(fatal)}")
    return board


class _StrictBuilder(chess.pgn.GameBuilder[chess.pgn.Game]):
    """A builder of a game's main line. It raises PositionError at the first error; python-chess would continue."""

    # python-chess declares that this method returns None, but uses its return value.
    def begin_variation(self) -> chess.pgn.SkipType:  # type: ignore[override]
        return chess.pgn.SKIP

    def end_variation(self) -> None:
        pass

    def handle_error(self, error: Exception) -> None:
        raise PositionError(f"bad PGN: {error}")


def _pgn_board(text: str, after: str | None) -> chess.Board:
    game = chess.pgn.read_game(io.StringIO(text), Visitor=_StrictBuilder)
    # python-chess reads most texts that are not PGN as a game without moves.
    if game is None or (not game.variations and "[" not in text):
        raise PositionError(f"neither a FEN nor a PGN: {_quoted(text.strip())}")
    node = game.end() if after is None else _chosen(game, after)
    board = node.board()
    if board.uci_variant != "chess":
        raise PositionError(f"bad PGN: the variant {_quoted(game.headers.get('Variant', ''))} is not supported")
    return board


def _chosen(game: chess.pgn.Game, after: str) -> Any:
    """Returns the node after the main line's move that `after` names ("23w"). Raises PositionError if there is none."""
    match = _MOVE_NUMBER.fullmatch(after.strip())
    if match is None:
        raise PositionError(f"bad move {_quoted(after)}: expected a move number, then w or b, such as 23w")
    number, suffix = int(match[1]), match[2]
    if number == 0:
        return game
    wanted = (number, suffix not in ("b", "..."))
    last = "which has no moves"
    board = game.board()
    for node in game.mainline():
        if (board.fullmove_number, board.turn) == wanted:
            return node
        last = f"whose last move is {board.fullmove_number}{'.' if board.turn else '...'} {board.san(node.move)}"
        board.push(node.move)
    raise PositionError(f"there is no move {after} in the game, {last}")


def _quoted(text: str) -> str:
    """Formats a text for a message: quoted, on one line, and shortened to at most 80 characters."""
    line = " ".join(text.split())
    return repr(line if len(line) <= 80 else line[:77] + "...")
