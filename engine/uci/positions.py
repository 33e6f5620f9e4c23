"""Sets up positions from GUIs, parses moves with castling in several notations, and writes the report of `d`."""

from __future__ import annotations

from typing import Final

import chess

from engine.files import quoted
from engine.uci.parse import PositionCommand
from search.game import Game

#: Castling in SAN, which some GUIs send in Chess960.
_SPOKEN_CASTLING: Final = ("O-O", "O-O-O", "0-0", "0-0-0")


def parse_move(board: chess.Board, text: str) -> chess.Move:
    """Parses a legal move in UCI notation, or castling as below. Raises ValueError for other texts and the null move.

    In standard chess and Chess960, castling may be written as king takes rook, as the king's move to its final square,
    or in SAN (O-O or 0-0). If a normal king move to that square is legal, the text means this move.
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
    if move.from_square != board.king(board.turn) or move.promotion or move.drop:
        return None
    for castling in board.generate_castling_moves():
        file = 6 if board.is_kingside_castling(castling) else 2
        if move.to_square == chess.square(file, chess.square_rank(castling.from_square)):
            return castling
    return None


class PositionKeeper:
    """The current game. If a `position` command only adds moves to that game, only the added moves are played."""

    def __init__(self) -> None:
        self.game = Game()
        self._start: tuple[str, bool] = (chess.STARTING_FEN, False)
        self._moves: tuple[str, ...] = ()

    def set(self, command: PositionCommand, chess960: bool) -> str | None:
        """Sets up the game of `command`; returns a remark if parts of its FEN were ignored, otherwise None.

        Raises ValueError, and changes nothing, if the FEN, its position or a move is invalid.
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
            # The message of python-chess ends with the FEN, which may be long.
            raise ValueError(f"bad FEN {quoted(start[0])}: {str(error).partition(': ')[0]}") from None
        try:
            game = Game(board)
        except ValueError as error:
            raise ValueError(f"{error}: {quoted(start[0])}") from None
        remark = _remark(board, start[0])
        self._extend(game, command.moves, 0)
        self.game, self._start, self._moves = game, start, command.moves
        return remark

    def flip(self) -> None:
        """Mirrors the board, swaps the colours and the side to move, and begins a new game from that position."""
        board = self.game.board.copy(stack=False).mirror()
        self.game, self._start, self._moves = Game(board), (board.fen(shredder=True), board.chess960), ()

    def report(self) -> str:
        """Returns the answer to `d`, with a diagram, the FEN, the key, the checkers and the number of legal moves."""
        board = self.game.board
        lines = [f"{board}\n", f"Fen: {board.fen()}"]
        if board.chess960:
            # The FEN above is an X-FEN, in which K and Q mean the outermost rooks; a Shredder-FEN names rooks by file.
            lines.append(f"Shredder-FEN: {board.fen(shredder=True)}")
        lines.append(f"Key: {int(self.game.keys[-1]):016X}")
        lines.append("Checkers: " + " ".join(chess.square_name(square) for square in board.checkers()))
        lines.append(f"Legal moves: {board.legal_moves.count()}")
        return "\n".join(lines)

    @staticmethod
    def _extend(game: Game, moves: tuple[str, ...], known: int) -> None:
        """Plays `moves[known:]` on `game`. If a move is illegal, takes back those before it and raises ValueError."""
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
    """Returns a remark if castling rights or the en passant square of `fen` do not fit its position; otherwise None."""
    if board.status() & chess.STATUS_INVALID_EP_SQUARE:
        return f"ignored an en passant square that does not fit the position: {quoted(fen)}"
    if board.castling_rights == board.clean_castling_rights():
        return None
    hint = ""
    if not board.chess960 and chess.Board(fen, chess960=True).clean_castling_rights() == board.castling_rights:
        hint = " (they fit in Chess960: set UCI_Chess960)"
    return f"ignored castling rights that do not fit the position: {quoted(fen)}{hint}"
