"""Positions as GUIs send them: FENs, moves in every notation for castling, and what `d` shows."""

from __future__ import annotations

from typing import Final

import chess

from engine.board.convert import from_board
from engine.files import quoted
from engine.uci.parse import PositionCommand
from search.game import Game

#: Castling in words, which some GUIs send in Chess960.
_SPOKEN_CASTLING: Final = ("O-O", "O-O-O", "0-0", "0-0-0")


def parse_move(board: chess.Board, text: str) -> chess.Move:
    """A legal move in UCI notation. Raises ValueError when it is none, also for the null move.

    Castling may be king takes rook, which is Chess960's notation, or the king's move to where it ends up, or O-O: in
    either mode, as long as it can mean nothing else. The king's step to a neighbouring square is what it is.
    """
    if text in _SPOKEN_CASTLING:
        return board.parse_san(text)
    try:
        move = board.parse_uci(text)
    except chess.IllegalMoveError:
        castling = _castling_to(board, chess.Move.from_uci(text))
        if castling is None:
            raise
        return castling
    if not move:
        raise ValueError("a null move cannot be played")
    return move


def _castling_to(board: chess.Board, move: chess.Move) -> chess.Move | None:
    """The castling that takes the king from and to the squares of `move`, None when there is none."""
    if move.from_square != board.king(board.turn) or move.promotion or move.drop:
        return None
    for castling in board.generate_castling_moves():
        file = 6 if board.is_kingside_castling(castling) else 2
        if move.to_square == chess.square(file, chess.square_rank(castling.from_square)):
            return castling
    return None


class PositionKeeper:
    """The current game, which `position` commands extend where they repeat it with more moves.

    GUIs send the whole game before every move; replaying hundreds of moves would cost milliseconds of clock time.
    """

    def __init__(self) -> None:
        self.game = Game()
        self._start: tuple[str, bool] = (chess.STARTING_FEN, False)
        self._moves: tuple[str, ...] = ()

    def set(self, command: PositionCommand, chess960: bool) -> str | None:
        """Sets the position; returns a remark when something in it was passed over.

        Raises ValueError that says what is wrong; the last good position is kept then.
        """
        start = (command.fen or chess.STARTING_FEN, chess960)
        known = len(self._moves)
        if start == self._start and command.moves[:known] == self._moves:
            self._extend(self.game, command.moves, known)
            self._moves = command.moves
            return None
        try:
            board = chess.Board(start[0], chess960=chess960)
        except ValueError as error:
            # What python-chess says ends with the FEN, however long that is.
            raise ValueError(f"bad FEN {quoted(start[0])}: {str(error).partition(': ')[0]}") from None
        try:
            game = Game(board)
        except ValueError as error:
            raise ValueError(f"bad FEN {quoted(start[0])}: {error}") from None
        remark = _remark(board, start[0])
        self._extend(game, command.moves, 0)
        self.game, self._start, self._moves = game, start, command.moves
        return remark

    def flip(self) -> None:
        """Lets the sides change places: the board is turned over, colours and the move with it, and the game begins."""
        board = self.game.board.copy(stack=False).mirror()
        self.game, self._start, self._moves = Game(board), (board.fen(shredder=True), board.chess960), ()

    @staticmethod
    def _extend(game: Game, moves: tuple[str, ...], known: int) -> None:
        """Plays `moves[known:]` on `game`, or takes them back and raises ValueError that names the wrong one."""
        for number, text in enumerate(moves[known:], start=known):
            try:
                move = parse_move(game.board, text)
            except ValueError:
                fen = game.board.fen()
                for _ in range(number - known):
                    game.pop()
                raise ValueError(f"illegal move {quoted(text)} (number {number + 1} of 'moves') in {fen}") from None
            game.push(move)


def _remark(board: chess.Board, fen: str) -> str | None:
    """What in a FEN does not fit its position and is left out."""
    if board.status() & chess.STATUS_INVALID_EP_SQUARE:
        return f"the en passant square that does not fit the position is left out of {quoted(fen)}"
    if board.castling_rights == board.clean_castling_rights():
        return None
    hint = ""
    if not board.chess960 and chess.Board(fen, chess960=True).clean_castling_rights() == board.castling_rights:
        hint = " (they would in Chess960: set UCI_Chess960)"
    return f"castling rights that do not fit the position are left out of {quoted(fen)}{hint}"


def board_report(game: Game) -> str:
    """The `d` command: a diagram, the FEN, the key and the checkers."""
    board = game.board
    position = from_board(board)
    lines = [f"{board}\n", f"Fen: {board.fen()}"]
    if board.chess960:
        # The first is X-FEN, which calls the outermost rooks K and Q; this one names files.
        lines.append(f"Shredder-FEN: {board.fen(shredder=True)}")
    lines.append(f"Key: {int(position['key']):016X}")
    lines.append("Checkers: " + " ".join(chess.square_name(square) for square in board.checkers()))
    lines.append(f"Legal moves: {board.legal_moves.count()}")
    return "\n".join(lines)
