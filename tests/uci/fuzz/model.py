"""What the engine owes for each line that it was sent.

Every `isready` gets one `readyok`, and every `go` one legal move, in the order of the commands and in time. Every other
command that asks for something gets its answer in the same order, and every bad line a message. python-chess judges
positions and moves. The wording of messages is left to other tests: an `info string` may come at any time.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable
from functools import partial
from typing import Final

import chess

from engine.uci.options import OptionValues
from engine.uci.parse import parse_go, parse_position, parse_setoption
from engine.uci.session import COMMANDS, HELP
from search.kernels.score import MATE, MATE_BOUND
from search.limits import MAX_PLY, Limits
from search.strength import FULL_SKILL

#: Seconds that an answer may be late, because others may use the machine. `secateur speed` measures a quiet one.
SLACK: Final = 3.0

#: What python-chess minds in a position and the engine does not. Castling rights and en passant squares that do not fit
#: are left out with a remark; checks that no game can lead to are accepted, because puzzles have them.
TOLERATED: Final = (
    chess.STATUS_BAD_CASTLING_RIGHTS
    | chess.STATUS_INVALID_EP_SQUARE
    | chess.STATUS_TOO_MANY_CHECKERS
    | chess.STATUS_IMPOSSIBLE_CHECK
)

_MOVE: Final = "[a-h][1-8][a-h][1-8][qrbn]?"
_LINE: Final = re.compile(
    r"info depth (?P<depth>\d+) seldepth (?P<seldepth>\d+) multipv (?P<number>\d+) score (?P<kind>cp|mate) "
    r"(?P<score>-?\d+)(?P<bound> lowerbound| upperbound)?(?: wdl (?P<wdl>\d+ \d+ \d+))? nodes (?P<nodes>\d+) "
    r"nps (?P<nps>\d+) hashfull (?P<hashfull>\d+) tbhits (?P<tbhits>\d+) time (?P<time>\d+) "
    rf"pv (?P<pv>{_MOVE}(?: {_MOVE})*)"
)
_CURRENT: Final = re.compile(
    rf"info depth \d+ currmove (?P<move>{_MOVE}) currmovenumber \d+ nodes \d+ nps \d+ hashfull \d+ tbhits \d+ time \d+"
)
_BEST: Final = re.compile(rf"bestmove (?P<best>{_MOVE}|0000)(?: ponder (?P<ponder>{_MOVE}))?")
_HELP: Final = frozenset(HELP.split("\n"))


class BreachError(AssertionError):
    """The engine did not do what it owes, or did what it does not owe."""


def judged(fen: str, chess960: bool) -> chess.Board | None:
    """The board of a FEN; None if the engine must refuse it: python-chess's verdict except for TOLERATED."""
    try:
        board = chess.Board(fen, chess960=chess960)
    except ValueError:
        return None
    # "Q~" is crazyhouse's.
    board.promoted = chess.BB_EMPTY
    status = board.status()
    if status & ~TOLERATED:
        return None
    if status & chess.STATUS_INVALID_EP_SQUARE:
        board.ep_square = None
    return board


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


class Answer:
    """What a command other than `go` owes: lines, the last of the form `last`. `check` gets all of them.

    `is_tool`: the command is a count or a benchmark, which `stop` ends.
    """

    def __init__(
        self, name: str, last: str, check: Callable[[list[str]], None] | None = None, is_tool: bool = False
    ) -> None:
        self.name = name
        self.is_tool = is_tool
        #: Whether the tool was told to stop.
        self.may_stop = False
        self.is_over = False
        self._last = last
        self._check = check
        self._lines: list[str] = []

    def take(self, line: str) -> None:
        """Takes a line of output. Raises BreachError when it does not belong here."""
        if line.startswith(("info ", "bestmove")):
            raise BreachError(f"'{line[:200]}' before the answer to '{self.name}'")
        self._lines.append(line)
        self.is_over = re.fullmatch(self._last, line) is not None
        if self.is_over and self._check is not None:
            self._check(self._lines)


class Search:
    """One `go`, sent at `sent` (seconds), in a position that nothing else changes."""

    is_tool = False

    def __init__(self, name: str, sent: float, limits: Limits, board: chess.Board, options: OptionValues) -> None:
        self.name = name
        self.board = board
        self.is_over = False
        #: When it was told to end, and when pondering became thinking.
        self.stopped: float | None = None
        self.hit: float | None = None
        self.is_from_book = False
        self._sent = sent
        self._limits = limits
        self._is_weakened = options.flag("UCI_LimitStrength") or options.number("Skill Level") != FULL_SKILL
        self._shows_wdl = options.flag("UCI_ShowWDL")
        self._legal = {board.uci(move) for move in board.legal_moves}
        chosen = (read_move(board, text) for text in limits.search_moves or ())
        self._allowed = {board.uci(move) for move in chosen if move is not None} or self._legal
        self._wanted = min(options.number("MultiPV"), len(self._allowed))
        # The move of the last line that is no bound.
        self._first: str | None = None

    @property
    def _is_held(self) -> bool:
        """Whether an answer would come too early."""
        return self.stopped is None and (self._limits.infinite or (self._limits.ponder and self.hit is None))

    def milliseconds(self) -> float:
        """How long it takes at most if nothing more is sent; infinite if unknown."""
        return math.inf if self._is_held else self._most_milliseconds()

    def _most_milliseconds(self) -> float:
        if self._limits.infinite:
            return math.inf
        clock, move_time = self._limits.clock, self._limits.move_time
        times = [] if clock is None else [clock.time_left]
        return min(times if move_time is None else [*times, move_time], default=math.inf)

    def _expect(self, fact: bool, otherwise: str) -> None:
        if not fact:
            raise BreachError(f"{otherwise}, for '{self.name}' in {self.board.fen()}")

    def take(self, line: str, now: float, free: float) -> None:
        """Takes a line of output. `free` is when the engine could begin. Raises BreachError for one that is wrong."""
        if found := _BEST.fullmatch(line):
            self._take_best(found, now, max(self._sent, free))
        elif found := _LINE.fullmatch(line):
            self._take_line(found, now)
        elif found := _CURRENT.fullmatch(line):
            self._expect(found["move"] in self._allowed, "a current move that is not searched")
        else:
            end = "mate 0" if self.board.is_check() else "cp 0"
            self._expect(not self._legal and line == f"info depth 0 score {end}", f"'{line[:200]}'")

    def _take_line(self, found: re.Match[str], now: float) -> None:
        depth, seldepth, number, nodes = (int(found[name]) for name in ("depth", "seldepth", "number", "nodes"))
        deepest = min(self._limits.depth or MAX_PLY, MAX_PLY - 1)
        self._expect(1 <= depth <= deepest, f"depth {depth}")
        self._expect(depth <= seldepth <= MAX_PLY, f"seldepth {seldepth} at depth {depth}")
        self._expect(1 <= number <= self._wanted, f"line {number} of {self._wanted}")
        self._expect(int(found["hashfull"]) <= 1000, "more than a full table")
        self._expect(nodes <= (self._limits.nodes or math.inf), f"{nodes} nodes of {self._limits.nodes}")
        self._expect(int(found["time"]) <= 1000 * (now - self._sent) + 2, f"time {found['time']}")
        moves = found["pv"].split()
        self._check_score(found, len(moves))
        self._check_moves(moves)
        if number == 1 and found["bound"] is None:
            self._first = moves[0]

    def _check_score(self, found: re.Match[str], length: int) -> None:
        score = int(found["score"])
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
            if move is None or board.uci(move) != text:
                raise BreachError(f"'{text}', move {number} of the line {' '.join(moves)} in {self.board.fen()}")
            board.push(move)

    def _take_best(self, found: re.Match[str], now: float, begun: float) -> None:
        self._expect(not self._is_held, "an answer before its time")
        thinking = begun if self.hit is None else max(begun, self.hit)
        due = thinking + self._most_milliseconds() / 1000
        if self.stopped is not None:
            due = min(due, max(self.stopped, begun))
        self._expect(now <= due + SLACK, f"an answer {1000 * (now - due):.0f} ms late")
        self.is_over = True
        best, reply = found["best"], found["ponder"]
        if not self._legal:
            self._expect(found[0] == "bestmove 0000", f"'{found[0]}' where no move is legal")
            return
        self._expect(best in self._allowed, f"'{found[0]}'")
        if not self.is_from_book:
            self._expect(self._first is not None, "an answer without a line")
            self._expect(best == self._first or self._is_weakened, f"'{found[0]}' after a line with {self._first}")
        if reply is not None:
            board = self.board.copy(stack=False)
            board.push_uci(best)
            self._expect(reply in {board.uci(move) for move in board.legal_moves}, f"'{found[0]}'")


def check_perft(board: chess.Board, lines: list[str]) -> None:
    """Compares the moves of a perft with python-chess's, and their sum with the total. Raises BreachError."""
    *rows, empty, total = lines
    counts = {move: int(count) for move, count in (row.split(": ") for row in rows)}
    legal = {board.uci(move) for move in board.legal_moves}
    if empty or len(rows) != len(legal) or counts.keys() != legal:
        raise BreachError(f"perft does not list the moves of {board.fen()}: {rows}")
    if int(total.split(": ")[1]) != sum(counts.values()):
        raise BreachError(f"perft counts wrongly in {board.fen()}: {counts}, {total}")


class Model:
    """The state that the engine should have, and what it owes: `sent` takes input lines, `heard` output lines.

    Times are in seconds, of any clock. BreachError says what went wrong.
    """

    def __init__(self, is_loaded: bool = True, is_starved: bool = False) -> None:
        """`is_loaded`: the engine can search at once. `is_starved`: it may refuse anything but `isready` and `go`, and
        answer these as it likes.
        """
        self.board = chess.Board()
        self.options = OptionValues()
        #: The last answer: the position it is for, the move, and the expected reply or None.
        self.answer: tuple[chess.Board, str, str | None] | None = None
        #: The last good `position`; empty after `flip`.
        self.position = "position startpos"
        #: Whether it has answered something that takes the kernels.
        self.is_loaded = is_loaded
        self._is_starved = is_starved
        # How many of these lines are owed.
        self._counts = {"readyok": 0, "bestmove": 0} if is_starved else {"readyok": 0, "uciok": 0, "message": 0}
        self._in_turn: list[Answer | Search] = []
        # When the last search or tool ended, or loading did.
        self._free = -math.inf
        self._is_quitting = False
        # The line that was sent last, and when.
        self._line, self._now = "", 0.0

    # -- what is asked ---------------------------------------------------------------------------------------------

    def sent(self, raw: bytes, now: float) -> None:
        """A line was sent."""
        text = raw.decode("utf-8", "surrogateescape").strip()
        self._line, self._now = text[:200], now
        word, *words = text.split() or [""]
        is_refused = bool(word) and word not in COMMANDS
        if word in COMMANDS and hasattr(self, f"_on_{word}"):
            try:
                getattr(self, f"_on_{word}")(words)
            except ValueError:
                is_refused = True
        if is_refused and not self._is_starved:
            self._counts["message"] += 1

    def input_ended(self, now: float) -> None:
        """The input was closed: every search and tool so far is told to end."""
        for debt in self._in_turn:
            if isinstance(debt, Answer):
                debt.may_stop = True
            elif debt.stopped is None:
                debt.stopped = now

    def _owe(self, last: str, check: Callable[[list[str]], None] | None = None, is_tool: bool = False) -> None:
        """The current line owes an answer in its turn."""
        if not self._is_starved:
            self._in_turn.append(Answer(self._line, last, check, is_tool))

    def _on_uci(self, words: list[str]) -> None:
        if not self._is_starved:
            self._counts["uciok"] += 1

    def _on_isready(self, words: list[str]) -> None:
        self._counts["readyok"] += 1

    def _on_stop(self, words: list[str]) -> None:
        self.input_ended(self._now)

    def _on_ponderhit(self, words: list[str]) -> None:
        searches = [debt for debt in self._in_turn if isinstance(debt, Search)]
        if searches and searches[-1].hit is None:
            searches[-1].hit = self._now

    def _on_quit(self, words: list[str]) -> None:
        self.input_ended(self._now)
        self._is_quitting = True

    def _on_setoption(self, words: list[str]) -> None:
        self.options.set(*parse_setoption(" ".join(words)))

    def _on_position(self, words: list[str]) -> None:
        command = parse_position(words)
        board = judged(command.fen or chess.STARTING_FEN, self.options.flag("UCI_Chess960"))
        if board is None:
            raise ValueError("bad FEN")
        for text in command.moves:
            move = read_move(board, text)
            if move is None:
                raise ValueError("illegal move")
            board.push(move)
        self.board = board
        self.position = " ".join(["position", *words])

    def _on_go(self, words: list[str]) -> None:
        self.input_ended(self._now)
        command, _ = parse_go(words)
        board = self.board.copy(stack=False)
        if "perft" in command.numbers:
            if 1 <= command.numbers["perft"] <= 32:
                self._owe(r"Nodes searched: \d+", partial(check_perft, board), is_tool=True)
        elif self._is_starved:
            self._counts["bestmove"] += 1
        else:
            limits = command.limits(board.turn)
            self._in_turn.append(Search(self._line, self._now, limits, board, self.options))

    def _on_d(self, words: list[str]) -> None:
        fen = f"Fen: {self.board.fen()}"

        def check(lines: list[str]) -> None:
            if fen not in lines:
                raise BreachError(f"'d' does not show '{fen}': {lines}")

        self._owe(f"Legal moves: {self.board.legal_moves.count()}", check)

    def _on_flip(self, words: list[str]) -> None:
        self.board = self.board.copy(stack=False).mirror()
        self.position = ""

    def _on_eval(self, words: list[str]) -> None:
        self._owe(r"Evaluation [+-]\d+\.\d\d pawns from White's view.*")

    def _on_bench(self, words: list[str]) -> None:
        if not words or (words[0].isdecimal() and 1 <= int(words[0]) < MAX_PLY):
            self._owe(r"\d+ nodes \d+ nps", is_tool=True)

    def _on_compiler(self, words: list[str]) -> None:
        self._owe("Run by .*")

    # -- what is answered ------------------------------------------------------------------------------------------

    def heard(self, line: str, now: float) -> None:
        """A line came. Raises BreachError when no command owes it, or when something in it is wrong."""
        if any(unicodedata.category(letter) in ("Cc", "Cs") for letter in line):
            raise BreachError(f"characters that terminals obey: {line[:200]!r}")
        if "internal error" in line or "Traceback" in line:
            raise BreachError(line)
        word = line.split(" ")[0]
        if word in self._counts:
            self._counts[word] -= 1
            self._expect_asked(self._counts[word] >= 0, line)
        elif self._is_starved or line in _HELP:
            return
        elif word in ("id", "option"):
            self._expect_asked(self._counts["uciok"] > 0, line)
        elif line.startswith("info string ") or line == "bench was stopped":
            self._take_message(line, now)
        else:
            self._take_in_turn(line, now)

    def _expect_asked(self, fact: bool, line: str) -> None:
        if not fact:
            raise BreachError(f"nobody asked for '{line[:200]}'")

    def _take_message(self, line: str, now: float) -> None:
        first = self._in_turn[0] if self._in_turn else None
        if line in ("info string perft was stopped", "bench was stopped"):
            if not isinstance(first, Answer) or not first.may_stop:
                raise BreachError(f"'{line}' by nobody")
            del self._in_turn[0]
            self._free = now
            return
        self._counts["message"] = max(0, self._counts["message"] - 1)
        if isinstance(first, Search) and line.startswith("info string book move "):
            first.is_from_book = True

    def _take_in_turn(self, line: str, now: float) -> None:
        self._expect_asked(bool(self._in_turn), line)
        if not self.is_loaded:  # only a loaded engine says this
            self.is_loaded = True
            self._free = now
        debt = self._in_turn[0]
        if isinstance(debt, Answer):
            debt.take(line)
        else:
            debt.take(line, now, self._free)
        if not debt.is_over:
            return
        del self._in_turn[0]
        if isinstance(debt, Search):
            words = line.split()
            self.answer = (debt.board, words[1], words[3] if len(words) > 2 else None)
        if isinstance(debt, Search) or debt.is_tool:
            self._free = now

    def owed(self) -> list[str]:
        """What has not been answered."""
        at_once = [name for name, count in self._counts.items() for _ in range(count)]
        return at_once + [debt.name for debt in self._in_turn]

    def has_tool(self) -> bool:
        """Whether a count or a benchmark is under way, which the end of input does not end."""
        return any(debt.is_tool for debt in self._in_turn)

    def milliseconds(self) -> float:
        """How long the searches take at most if nothing more is sent; infinite if unknown."""
        if self._is_starved or self.has_tool():
            return math.inf
        return sum(debt.milliseconds() for debt in self._in_turn if isinstance(debt, Search))

    def ended(self) -> None:
        """The engine has ended. Raises BreachError when something was owed and there was no `quit`."""
        owed = self.owed()
        if owed and not self._is_quitting and not self._is_starved:
            raise BreachError(f"ended without an answer to '{owed[0]}'")
