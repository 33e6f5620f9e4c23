"""Decides whether a game is over: by the rules of chess, or by adjudication with the rules of cutechess-cli."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import chess

from bench.results import MoveRecord, Termination
from engine.files import reason, shown

if TYPE_CHECKING:
    from chess.syzygy import Tablebase

#: The resign and draw rules take a mate score as plus or minus this many centipawns.
MATE_CENTIPAWNS = 100_000


@dataclass(frozen=True, slots=True)
class ResignRule:
    """A rule by which an engine loses if it gives scores of at most -`score` centipawns for `moves` moves in a row.
    With `both_sides`, the opponent must also have given scores of at least `score` for `moves` moves in a row.
    """

    moves: int
    score: int
    both_sides: bool = False


@dataclass(frozen=True, slots=True)
class DrawRule:
    """A rule by which a game is drawn at full move `from_move` or later if both engines give scores from -`score` to
    `score` centipawns for `moves` moves in a row. Captures and pawn moves restart the count.
    """

    from_move: int
    moves: int
    score: int


@dataclass(frozen=True, slots=True)
class Adjudication:
    """Rules of adjudication. None disables a rule. `max_moves` counts full moves. `tablebases` is a Syzygy folder."""

    resign: ResignRule | None = None
    draw: DrawRule | None = None
    max_moves: int | None = None
    tablebases: str | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a game in PGN notation, the reason why the game ended, and a detail, which may be empty."""

    result: str
    termination: Termination
    detail: str = ""


class Adjudicator:
    """The adjudicator of one game. It counts consecutive moves, so call `after_move` after every engine move."""

    def __init__(self, rules: Adjudication, tablebase: Tablebase | None = None) -> None:
        self._rules = rules
        self._tablebase = tablebase
        self._quiet_plies = 0
        # For each colour, how many of its last moves in a row had a losing score, and how many had a winning score.
        self._losing = {chess.WHITE: 0, chess.BLACK: 0}
        self._winning = {chess.WHITE: 0, chess.BLACK: 0}

    def after_move(self, board: chess.Board, record: MoveRecord) -> Verdict | None:
        """Returns the verdict after the engine move `record`; None if the game continues. The move led to `board`."""
        verdict = self._by_tablebase(board) or self._by_scores(board, record)
        limit = self._rules.max_moves
        if verdict is None and limit is not None and len(board.move_stack) >= 2 * limit:
            return Verdict("1/2-1/2", Termination.MAX_MOVES)
        return verdict

    def _by_scores(self, board: chess.Board, record: MoveRecord) -> Verdict | None:
        mover, score = not board.turn, record.centipawns
        if record.mate is not None:
            score = MATE_CENTIPAWNS if record.mate > 0 else -MATE_CENTIPAWNS
        if score is None:
            self._quiet_plies = self._losing[mover] = self._winning[mover] = 0
            return None
        draw, resign = self._rules.draw, self._rules.resign
        if draw is not None:
            if board.halfmove_clock == 0:
                self._quiet_plies = 0
            self._quiet_plies = self._quiet_plies + 1 if abs(score) <= draw.score else 0
            if len(board.move_stack) >= 2 * draw.from_move and self._quiet_plies >= 2 * draw.moves:
                return Verdict("1/2-1/2", Termination.DRAW_RULE)
        if resign is not None:
            self._losing[mover] = self._losing[mover] + 1 if score <= -resign.score else 0
            self._winning[mover] = self._winning[mover] + 1 if score >= resign.score else 0
            agreed = not resign.both_sides or self._winning[not mover] >= resign.moves
            if self._losing[mover] >= resign.moves and agreed:
                return Verdict("0-1" if mover == chess.WHITE else "1-0", Termination.RESIGN_RULE)
        return None

    def _by_tablebase(self, board: chess.Board) -> Verdict | None:
        # WDL values are exact only after a capture or pawn move. Later, the fifty-move rule may change the result.
        if self._tablebase is None or board.castling_rights or board.halfmove_clock != 0:
            return None
        wdl = self._tablebase.get_wdl(board)
        if wdl is None:
            return None
        if abs(wdl) < 2:  # cursed wins and blessed losses are draws under the fifty-move rule
            return Verdict("1/2-1/2", Termination.TABLEBASE)
        white_wins = (wdl > 0) == (board.turn == chess.WHITE)
        return Verdict("1-0" if white_wins else "0-1", Termination.TABLEBASE)


@functools.cache
def open_tablebases(folder: str | None) -> Tablebase | None:
    """Returns the tablebase in `folder`, or None if `folder` is None. Opens each folder only once.

    Raises FileNotFoundError if the folder cannot be read or contains no Syzygy WDL files (*.rtbw).
    """
    if folder is None:
        return None
    import chess.syzygy

    try:
        files = list(Path(folder).iterdir())
    except OSError as error:
        raise FileNotFoundError(f"{shown(folder)}: {reason(error)}") from None
    if not any(path.suffix == ".rtbw" for path in files):
        raise FileNotFoundError(f"{shown(folder)}: no Syzygy files (*.rtbw) found")
    return chess.syzygy.open_tablebase(folder, load_dtz=False)


def natural_end(board: chess.Board) -> Verdict | None:
    """Returns the verdict if the rules of chess end the game, else None. `board` must contain the game's moves."""
    if not any(board.generate_legal_moves()):
        if board.is_check():
            return Verdict("0-1" if board.turn == chess.WHITE else "1-0", Termination.CHECKMATE)
        return Verdict("1/2-1/2", Termination.STALEMATE)
    if board.is_insufficient_material():
        return Verdict("1/2-1/2", Termination.MATERIAL)
    if board.halfmove_clock >= 100:
        return Verdict("1/2-1/2", Termination.FIFTY_MOVES)
    # No position can occur for the third time before eight reversible plies, so skip the slow test until then.
    if board.halfmove_clock >= 8 and board.is_repetition(3):
        return Verdict("1/2-1/2", Termination.REPETITION)
    return None
