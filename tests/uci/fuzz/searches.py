"""What a `go` owes: `info` lines whose every field is right, and one move, in time and not too early."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Final

import chess

from search.kernels.score import MATE, MATE_BOUND
from search.limits import MAX_PLY

#: Seconds that an answer may take beyond what was allowed: generous, because the tests may share their machine. How
#: quick the engine is on a quiet one `secateur speed` measures.
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

_NUMBERS: Final = ("wtime", "btime", "winc", "binc", "movestogo", "depth", "nodes", "mate", "movetime", "perft")


class BreachError(AssertionError):
    """Something that the engine owes and did not do, or did without owing it."""


@dataclass
class Order:
    """What the words behind `go` ask for; the larger limit where one is given twice.

    `faults` counts words that mean nothing, `searchmoves` holds what stands there, legal or not.
    """

    numbers: dict[str, int] = field(default_factory=dict)
    infinite: bool = False
    ponder: bool = False
    searchmoves: list[str] = field(default_factory=list)
    faults: int = 0

    @classmethod
    def of(cls, words: list[str]) -> Order:
        """Reads the words, one after the other."""
        order = cls()
        rest = list(words)
        while rest:
            word = rest.pop(0)
            if word == "infinite":
                order.infinite = True
            elif word == "ponder":
                order.ponder = True
            elif word == "searchmoves":
                moves = []
                while rest and re.fullmatch(r"[a-h][1-8][a-h][1-8].?", rest[0]):
                    moves.append(rest.pop(0))
                order.searchmoves += moves
                order.faults += not order.searchmoves
            elif word in _NUMBERS:
                if not rest or rest[0] in (*_NUMBERS, "infinite", "ponder", "searchmoves"):
                    order.faults += 1
                    continue
                try:
                    value = int(rest.pop(0))
                except ValueError:
                    order.faults += 1
                    continue
                order.faults += value < 1 and word in ("depth", "nodes", "mate", "movetime")
                is_last = word == "perft"
                order.numbers[word] = value if is_last else max(value, order.numbers.get(word, value))
            else:
                order.faults += 1
        return order

    def milliseconds(self, turn: chess.Color) -> float:
        """What may be thought at most, infinite without a clock."""
        ours, theirs = ("wtime", "btime") if turn else ("btime", "wtime")
        times = [self.numbers[ours]] if ours in self.numbers else []
        if not times and theirs in self.numbers:
            times = [self.numbers[theirs]]
        if "movetime" in self.numbers:
            times.append(self.numbers["movetime"])
        return max(min(times), 1) if times and not self.infinite else math.inf


@dataclass(frozen=True)
class Settings:
    """The options that a search's lines depend on."""

    lines: int = 1
    threads: int = 1
    show_wdl: bool = False
    own_book: bool = False
    is_weakened: bool = False


class Search:
    """One `go`, sent at `sent` (seconds), in a position that nothing else changes."""

    def __init__(self, name: str, order: Order, board: chess.Board, settings: Settings, sent: float) -> None:
        self.name = name
        self.sent = sent
        self.is_over = False
        #: When it could begin at the earliest, when it was told to end, and when pondering became thinking.
        self.begun = sent
        self.stopped: float | None = None
        self.hit: float | None = None
        #: Whether `debug` was on at any time.
        self.may_debug = False
        self._order = order
        self._board = board.copy(stack=False)
        self._settings = settings
        self._legal = {board.uci(move) for move in board.legal_moves}
        chosen = {text for text in map(self._written, order.searchmoves) if text is not None}
        self._faults = order.faults + sum(self._written(text) is None for text in order.searchmoves)
        self._complaints = 0
        self._allowed = chosen or self._legal
        self._wanted = min(settings.lines, len(self._allowed))
        # First moves of the iteration that is being told, line by line.
        self._firsts: list[str] = []
        self._first: str | None = None
        self._depth = self._nodes = self._time = 0
        self._from_book = False

    def _written(self, text: str) -> str | None:
        """A move in the notation of the board, None when it is not legal there."""
        move = read_move(self._board, text)
        return None if move is None else self._board.uci(move)

    @property
    def board(self) -> chess.Board:
        """The position that is searched."""
        return self._board

    @property
    def is_satisfied(self) -> bool:
        """Whether nothing more is owed."""
        return self.is_over

    @property
    def is_held(self) -> bool:
        """Whether an answer would come too early."""
        if self.stopped is not None:
            return False
        return self._order.infinite or (self._order.ponder and self.hit is None)

    @property
    def milliseconds(self) -> float:
        """How long it will take at most if nothing is said meanwhile; infinite where that cannot be told."""
        return math.inf if self.is_held else self._order.milliseconds(self._board.turn)

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
            end = "mate 0" if self._board.is_check() else "cp 0"
            self._expect(not self._legal and line == f"info depth 0 score {end}", "a line that is none")
        else:
            return self._take_remark(line)
        return True

    def _expect(self, fact: bool, otherwise: str) -> None:
        if not fact:
            raise BreachError(f"{otherwise}, for '{self.name}' in {self._board.fen()}")

    def _take_remark(self, line: str) -> bool:
        text = line.removeprefix("info string ")
        if text == line:
            return False
        if text.startswith(("go: ", "go searchmoves: ")) or re.match(rf"go ({'|'.join(_NUMBERS)}): ", text):
            self._complaints += 1
            self._expect(self._complaints <= self._faults, "a complaint about what was right")
            return True
        if text.startswith("book move "):
            self._expect(self._settings.own_book and text.split()[2].rstrip(",") in self._legal, "a strange book move")
            self._from_book = True
            return True
        if text.startswith("no mate in "):
            return "mate" in self._order.numbers
        return text.startswith("debug: ") and self.may_debug

    # -- lines of moves --------------------------------------------------------------------------------------------

    def _take_line(self, found: re.Match[str], now: float) -> None:
        numbers = {name: int(found[name]) for name in ("depth", "seldepth", "number", "nodes", "hashfull", "time")}
        depth, number, score = numbers["depth"], numbers["number"], int(found["score"])
        moves = found["pv"].split()
        self._expect(bool(self._legal), "a line where no move is legal")
        deepest = min(max(self._order.numbers.get("depth", MAX_PLY), 1), MAX_PLY - 1)
        self._expect(1 <= depth <= deepest, f"depth {depth}")
        self._expect(depth <= numbers["seldepth"] <= MAX_PLY, f"seldepth {numbers['seldepth']} at depth {depth}")
        self._expect(1 <= number <= self._wanted, f"line {number} of {self._wanted}")
        self._expect(numbers["hashfull"] <= 1000, "more than a full table")
        self._expect(self._nodes <= numbers["nodes"], "nodes that were counted are gone")
        if "nodes" in self._order.numbers:
            most = max(self._order.numbers["nodes"], 1)
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
        self._expect((found["wdl"] is not None) == self._settings.show_wdl, "chances without, or not with UCI_ShowWDL")
        if found["wdl"] is not None:
            self._expect(sum(map(int, found["wdl"].split())) == 1000, f"chances {found['wdl']}")

    def _check_moves(self, moves: list[str]) -> None:
        """Every move of a line is legal, and written in the notation of the board."""
        self._expect(moves[0] in self._allowed, f"a line that begins with {moves[0]}")
        board = self._board.copy(stack=False)
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
            is_whole = len(self._firsts) in (0, self._wanted) or self._settings.is_weakened
            self._expect(is_whole, f"{len(self._firsts)} lines of {self._wanted} at depth {self._depth}")
            # The threads' vote may go to one that is not as deep, and a weaker player's choice, too.
            may_fall = self._settings.threads > 1 or self._settings.is_weakened
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
        self._expect(bool(self._complaints) == bool(self._faults), "words that mean nothing were passed over silently")
        self.is_over = True
        if not self._legal:
            self._expect(line == "bestmove 0000", f"'{line}' where no move is legal")
            return
        best = found["best"]
        self._expect(best in self._allowed, f"'{line}'")
        if not self._from_book:
            self._expect(self._first is not None, "an answer without a line")
            self._expect(best == self._first or self._settings.is_weakened, f"'{line}' after a line with {self._first}")
        if found["ponder"] is not None:
            board = self._board.copy(stack=False)
            move = read_move(board, best)
            assert move is not None
            board.push(move)
            self._expect(found["ponder"] in {board.uci(reply) for reply in board.legal_moves}, f"'{line}'")

    def _due(self) -> float:
        """When the answer has to be there at the latest, with some slack."""
        start = self.begun if self.hit is None else max(self.begun, self.hit)
        limits = [start + self._order.milliseconds(self._board.turn) / 1000]
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
