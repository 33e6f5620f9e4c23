"""What the session needs once the engine is loaded: everything that imports python-chess, NumPy or Numba."""

from __future__ import annotations

import chess

from engine.board.convert import from_board
from engine.jit import cache_problem
from engine.uci.output import quoted
from engine.uci.parse import PositionCommand
from eval.network.format import read_network, shipped_network
from eval.report import evaluation_report
from search.benchmark import run_benchmark
from search.limits import Clock, Limits
from search.perft import Counter
from search.searcher import Game, Info, Result, Searcher
from search.warmup import PLAYING, load_kernels

__all__ = [
    "PLAYING",
    "Counter",
    "Game",
    "Info",
    "PositionKeeper",
    "Result",
    "Searcher",
    "board_report",
    "cache_problem",
    "evaluation_report",
    "info_line",
    "load_kernels",
    "read_network",
    "rehearse",
    "run_benchmark",
    "shipped_network",
]


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
            raise ValueError(f"bad FEN {quoted(start[0])}: {error}") from None
        try:
            game = Game(board)
        except ValueError as error:
            raise ValueError(f"bad FEN {quoted(start[0])}: {error}") from None
        remark = None
        if board.status() & chess.STATUS_INVALID_EP_SQUARE:
            remark = f"the en passant square that does not fit the position is left out of {quoted(start[0])}"
        elif board.castling_rights != board.clean_castling_rights():
            remark = f"castling rights that do not fit the position are left out of {quoted(start[0])}"
        self._extend(game, command.moves, 0)
        self.game, self._start, self._moves = game, start, command.moves
        return remark

    @staticmethod
    def _extend(game: Game, moves: tuple[str, ...], known: int) -> None:
        """Plays `moves[known:]` on `game`, or takes them back and raises ValueError that names the wrong one."""
        for number, text in enumerate(moves[known:], start=known):
            try:
                move = game.board.parse_uci(text)
                if not move:
                    raise ValueError("a null move cannot be played")
            except ValueError:
                fen = game.board.fen()
                for _ in range(number - known):
                    game.pop()
                raise ValueError(f"illegal move {quoted(text)} (number {number + 1} of 'moves') in {fen}") from None
            game.push(move)


def info_line(info: Info, board: chess.Board) -> str:
    """UCI's `info` line for a finished iteration."""
    mate = info.mate
    score = f"cp {info.score}" if mate is None else f"mate {mate}"
    line = " ".join(move.uci() for move in info.pv)
    return (
        f"info depth {info.depth} seldepth {max(info.depth, info.selective_depth)} multipv 1 score {score} "
        f"nodes {info.nodes} nps {info.nodes_per_second} hashfull {info.hashfull} "
        f"time {int(info.seconds * 1000)} pv {line}"
    )


def rehearse() -> None:
    """Searches and reports once, for nothing: what is done for the first time takes ten milliseconds longer, which
    must not be those of a game's first move.
    """
    searcher = Searcher(1)
    game = Game()
    for _ in range(2):
        result = searcher.search(game, Limits(depth=3, clock=Clock(1000)))
        if result.info is not None:
            info_line(result.info, game.board)
    searcher.close()


def board_report(game: Game) -> str:
    """The `d` command: a diagram, the FEN, the key and the checkers."""
    board = game.board
    position = from_board(board)
    checkers = " ".join(chess.square_name(square) for square in board.checkers())
    return (
        f"{board}\n\nFen: {board.fen()}\nKey: {int(position['key']):016X}\n"
        f"Checkers: {checkers}\nLegal moves: {board.legal_moves.count()}"
    )
