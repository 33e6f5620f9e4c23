"""What a `go` owes: `info` lines whose every field is right, and one move, in time and not too early."""

from __future__ import annotations

import math
import re
from typing import Final

import chess

from engine.uci.options import OptionValues
from search.kernels.score import MATE, MATE_BOUND
from search.limits import MAX_PLY, Limits

#: Seconds that an answer may be late, because others may use the machine. `secateur speed` measures a quiet one.
SLACK: Final = 3.0

_MOVE: Final = "[a-h][1-8][a-h][1-8][qrbn]?"
_LINE: Final = re.compile(
    r"info depth (?P<depth>\d+) seldepth (?P<seldepth>\d+) multipv (?P<number>\d+) score (?P<kind>cp|mate) "
    r"(?P<score>-?\d+)(?P<bound> lowerbound| upperbound)?(?: wdl (?P<wdl>\d+ \d+ \d+))? nodes (?P<nodes>\d+) "
    r"nps (?P<nps>\d+) hashfull (?P<hashfull>\d+) tbhits (?P<tbhits>\d+) time (?P<time>\d+) "
    rf"pv (?P<pv>{_MOVE}(?: {_MOVE})*)"
)
_CURRENT: Final = re.compile(
    rf"info depth \d+ currmove (?P<move>{_MOVE}) currmovenumber (?P<number>\d+) nodes \d+ nps \d+ "
    r"hashfull \d+ tbhits \d+ time \d+"
)
_BEST: Final = re.compile(rf"bestmove (?P<best>{_MOVE}|0000)(?: ponder (?P<ponder>{_MOVE}))?")


class BreachError(AssertionError):
    """Something that the engine owes and did not do, or did without owing it."""


class Search:
    """One `go`, sent at `sent` (seconds), in a position that nothing else changes."""

    def __init__(
        self,
        name: str,
        sent: float,
        limits: Limits,
        board: chess.Board,
        options: OptionValues,
        is_weakened: bool = False,
    ) -> None:
        self.name = name
        self.sent = sent
        self.board = board
        self.is_over = False
        #: When it could begin at the earliest, when it was told to end, and when pondering became thinking.
        self.begun = sent
        self.stopped: float | None = None
        self.hit: float | None = None
        #: Whether `debug` was on at any time.
        self.may_debug = False
        self._limits = limits
        self._is_weakened = is_weakened
        self._threads = options.number("Threads")
        self._shows_wdl = options.flag("UCI_ShowWDL")
        self._has_book = options.flag("OwnBook")
        self._legal = {board.uci(move) for move in board.legal_moves}
        chosen = (read_move(board, text) for text in limits.search_moves or ())
        self._allowed = {board.uci(move) for move in chosen if move is not None} or self._legal
        self._wanted = min(options.number("MultiPV"), len(self._allowed))
        # First moves of the current iteration, line by line.
        self._firsts: list[str] = []
        self._first: str | None = None
        self._depth = self._nodes = self._time = 0
        self._from_book = False

    @property
    def is_satisfied(self) -> bool:
        """Whether nothing more is owed."""
        return self.is_over

    @property
    def is_held(self) -> bool:
        """Whether an answer would come too early."""
        if self.stopped is not None:
            return False
        return self._limits.infinite or (self._limits.ponder and self.hit is None)

    def milliseconds(self) -> float:
        """How long it takes at most if nothing more is sent; infinite if unknown."""
        return math.inf if self.is_held else self._most_milliseconds()

    def _most_milliseconds(self) -> float:
        clock, move_time = self._limits.clock, self._limits.move_time
        times = [] if self._limits.infinite or clock is None else [clock.time_left]
        times += [] if self._limits.infinite or move_time is None else [move_time]
        return min(times, default=math.inf)

    def take(self, line: str, now: float) -> bool:
        """Takes a line of output, if it is one of this search's. Raises BreachError when something is wrong in it."""
        if line.startswith("bestmove"):
            self._take_best(line, now)
        elif found := _LINE.fullmatch(line):
            self._take_line(found, now)
        elif found := _CURRENT.fullmatch(line):
            self._expect(found["move"] in self._allowed, "a current move that is not searched")
            self._expect(1 <= int(found["number"]) <= len(self._allowed), "a current move's number out of range")
        elif line.startswith("info depth"):
            end = "mate 0" if self.board.is_check() else "cp 0"
            self._expect(not self._legal and line == f"info depth 0 score {end}", "a line that is none")
        else:
            return self._take_remark(line)
        return True

    def _expect(self, fact: bool, otherwise: str) -> None:
        if not fact:
            raise BreachError(f"{otherwise}, for '{self.name}' in {self.board.fen()}")

    def _take_remark(self, line: str) -> bool:
        text = line.removeprefix("info string ")
        if text == line:
            return False
        if text.startswith("book move "):
            self._expect(self._has_book and text.split()[2].rstrip(",") in self._legal, "a strange book move")
            self._from_book = True
            return True
        if text.startswith("no mate in "):
            return self._limits.mate is not None
        return text.startswith("debug: ") and self.may_debug

    # -- lines of moves --------------------------------------------------------------------------------------------

    def _take_line(self, found: re.Match[str], now: float) -> None:
        numbers = {name: int(found[name]) for name in ("depth", "seldepth", "number", "nodes", "hashfull", "time")}
        depth, number, score = numbers["depth"], numbers["number"], int(found["score"])
        moves = found["pv"].split()
        self._expect(bool(self._legal), "a line where no move is legal")
        deepest = min(self._limits.depth or MAX_PLY, MAX_PLY - 1)
        self._expect(1 <= depth <= deepest, f"depth {depth}")
        self._expect(depth <= numbers["seldepth"] <= MAX_PLY, f"seldepth {numbers['seldepth']} at depth {depth}")
        self._expect(1 <= number <= self._wanted, f"line {number} of {self._wanted}")
        self._expect(numbers["hashfull"] <= 1000, "more than a full table")
        self._expect(self._nodes <= numbers["nodes"], "nodes that were counted are gone")
        most = self._limits.nodes or math.inf
        self._expect(numbers["nodes"] <= most, f"{numbers['nodes']} nodes of {most}")
        self._expect(self._time <= numbers["time"] <= 1000 * (now - self.sent) + 2, f"time {numbers['time']}")
        self._nodes, self._time = numbers["nodes"], numbers["time"]
        self._check_score(found, score, len(moves))
        self._check_moves(moves)
        if found["bound"] is None:
            self._take_whole_line(depth, number, moves[0])

    def _check_score(self, found: re.Match[str], score: int, length: int) -> None:
        if found["kind"] == "cp":
            self._expect(abs(score) < MATE_BOUND, f"{score} centipawns")
        else:
            self._expect(0 < abs(score) <= (MATE - MATE_BOUND + 1) // 2, f"mate {score}")
            plies = 2 * score - 1 if score > 0 else -2 * score
            self._expect(found["bound"] is not None or length <= plies, f"mate {score} in a line of {length} plies")
        self._expect((found["wdl"] is not None) == self._shows_wdl, "chances without, or not with UCI_ShowWDL")
        if found["wdl"] is not None:
            self._expect(sum(map(int, found["wdl"].split())) == 1000, f"chances {found['wdl']}")

    def _check_moves(self, moves: list[str]) -> None:
        """Every move of a line is legal, and written in the notation of the board."""
        self._expect(moves[0] in self._allowed, f"a line that begins with {moves[0]}")
        board = self.board.copy(stack=False)
        for number, text in enumerate(moves, start=1):
            move = read_move(board, text)
            is_right = move is not None and board.uci(move) == text
            self._expect(is_right, f"'{text}', move {number} of the line {' '.join(moves)},")
            assert move is not None
            board.push(move)

    def _take_whole_line(self, depth: int, number: int, first: str) -> None:
        """A line that is no bound: those of one iteration come in order, all of them, and begin differently."""
        if number == 1:
            # A weaker player shows its choice once more.
            is_whole = len(self._firsts) in (0, self._wanted) or self._is_weakened
            self._expect(is_whole, f"{len(self._firsts)} lines of {self._wanted} at depth {self._depth}")
            # The threads' vote may go to one that is not as deep, and a weaker player's choice, too.
            may_fall = self._threads > 1 or self._is_weakened
            self._expect(self._depth <= depth or may_fall, f"depth {depth} after {self._depth}")
            self._firsts = []
            self._depth, self._first = depth, first
        self._expect(number == len(self._firsts) + 1, f"line {number} after {len(self._firsts)}")
        self._expect(first not in self._firsts, f"two lines that begin with {first}")
        self._firsts.append(first)

    # -- the answer ------------------------------------------------------------------------------------------------

    def _take_best(self, line: str, now: float) -> None:
        found = _BEST.fullmatch(line)
        self._expect(found is not None, f"'{line}'")
        assert found is not None
        self._expect(not self.is_held, "an answer before its time")
        self._expect(now <= self._due(), f"an answer {1000 * (now - self._due() + SLACK):.0f} ms late")
        self.is_over = True
        if not self._legal:
            self._expect(line == "bestmove 0000", f"'{line}' where no move is legal")
            return
        best = found["best"]
        self._expect(best in self._allowed, f"'{line}'")
        if not self._from_book:
            self._expect(self._first is not None, "an answer without a line")
            self._expect(best == self._first or self._is_weakened, f"'{line}' after a line with {self._first}")
        if found["ponder"] is not None:
            board = self.board.copy(stack=False)
            move = read_move(board, best)
            assert move is not None
            board.push(move)
            self._expect(found["ponder"] in {board.uci(reply) for reply in board.legal_moves}, f"'{line}'")

    def _due(self) -> float:
        """When the answer has to be there at the latest, with some slack."""
        start = self.begun if self.hit is None else max(self.begun, self.hit)
        limits = [start + self._most_milliseconds() / 1000]
        if self.stopped is not None:
            limits.append(max(self.stopped, self.begun))
        return min(limits) + SLACK


def read_move(board: chess.Board, text: str) -> chess.Move | None:
    """The legal move that `text` means, None when there is none.

    Castling may be written as the king's step of two, as king takes rook, in letters, or as the king's way to where it
    ends; where such a way is a legal king's move in itself, it is that.
    """
    try:
        plain = chess.Move.from_uci(text)
    except ValueError:
        plain = chess.Move.null()
    if plain and board.is_legal(plain):
        return plain
    for castling in board.generate_castling_moves():
        is_short = board.is_kingside_castling(castling)
        letters = ("O-O", "0-0") if is_short else ("O-O-O", "0-0-0")
        king, rank = castling.from_square, chess.square_rank(castling.from_square)
        ways = {chess.Move(king, chess.square(6 if is_short else 2, rank)).uci()}
        ways |= {board.uci(castling, chess960=True), board.uci(castling, chess960=False)}
        if text in (*letters, *ways):
            return castling
    return None
