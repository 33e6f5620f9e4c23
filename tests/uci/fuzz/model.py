"""What the engine owes for each line that it was sent.

The session's own parsers read the lines; `tests/uci/test_parse.py` tests those. python-chess judges positions and
moves. Commands that the engine obeys during a search are answered at once, in their order; all others wait until the
search before them has answered. So there are two streams of debts, and every line of output must be the next of either.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import chess
import chess.polyglot

from engine.uci.options import OptionValues
from engine.uci.parse import parse_go, parse_position, parse_setoption
from engine.uci.session import COMMANDS, HELP
from search.limits import MAX_PLY
from search.strength import FULL_SKILL
from tests.uci.fuzz.searches import BreachError, Search, read_move

#: What python-chess minds in a position and the engine does not. Castling rights and en passant squares that do not fit
#: are left out with a remark; checks that no game can lead to are accepted, because puzzles have them.
TOLERATED: Final = (
    chess.STATUS_BAD_CASTLING_RIGHTS
    | chess.STATUS_INVALID_EP_SQUARE
    | chess.STATUS_TOO_MANY_CHECKERS
    | chess.STATUS_IMPOSSIBLE_CHECK
)

#: Messages about loading, which may come at any time.
_LOADING: Final = re.compile(
    r"info string (\d+ kernels compiled in|loading|compiling|kernels not (cached|used:)|no kernels|(the )?kernels are"
    r"|readyok comes early:|(perft|bench|eval): \d+ s so far) ?.*"
)
#: Messages about files that options name: at once, or when the engine is loaded.
_FILES: Final = re.compile(r"info string (network|tablebases|book|Debug Log File)\b.*")
_NAMING_FILES: Final = ("EvalFile", "SyzygyPath", "BookFile", "OwnBook", "Debug Log File")
_SPIN_OPTION: Final = re.compile(r"option name .+ type spin default (-?\d+) min (-?\d+) max (-?\d+)")
_OTHER_OPTION: Final = re.compile(r"option name .+ type (button|check default (true|false)|string default \S.*)")


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


class Answer:
    """Lines that a command owes: any number of the form `body`, and in their order those of the regexes `forms`.

    `optional`: the lines need not come. `is_tool`: the command is a count or a benchmark, which `stop` ends. `check`
    gets all lines after the last.
    """

    def __init__(
        self,
        name: str,
        sent: float,
        *forms: str,
        body: str | None = None,
        optional: bool = False,
        is_tool: bool = False,
        check: Callable[[list[str]], None] | None = None,
    ) -> None:
        self.name = name
        self.sent = sent
        self.is_tool = is_tool
        #: Whether the tool was told to stop.
        self.may_stop = False
        self._forms = list(forms)
        self._body = body
        self._optional = optional
        self._check = check
        self._lines: list[str] = []

    @property
    def is_over(self) -> bool:
        """Whether nothing more can come."""
        return not self._forms

    @property
    def is_satisfied(self) -> bool:
        """Whether nothing more is owed."""
        return self._optional or self.is_over

    def take(self, line: str, now: float) -> bool:
        """Takes a line of output if it belongs here."""
        if self.is_tool and re.fullmatch(r"(info string perft|bench) was stopped", line):
            if not self.may_stop:
                raise BreachError(f"'{self.name}' was stopped by nobody")
            self._forms.clear()
            return True
        if self._forms and re.fullmatch(self._forms[0], line):
            del self._forms[0]
        elif self._body is None or not re.fullmatch(self._body, line):
            return False
        self._lines.append(line)
        if self.is_over and self._check is not None:
            self._check(self._lines)
        return True


def check_perft(board: chess.Board, depth: int, lines: list[str]) -> None:
    """Compares a perft with python-chess as far as that is quick. Raises BreachError."""
    *rows, empty, total = lines
    counts = {move: int(count) for move, count in (row.split(": ") for row in rows)}
    moves = {board.uci(move): move for move in board.legal_moves}
    if empty or len(rows) != len(moves) or counts.keys() != moves.keys():
        raise BreachError(f"perft does not list the moves of {board.fen()}: {rows}")
    expected = counts
    if depth == 1:
        expected = dict.fromkeys(counts, 1)
    elif depth == 2 and len(moves) < 60:
        for text, move in moves.items():
            board.push(move)
            expected = {**expected, text: board.legal_moves.count()}
            board.pop()
    if expected != counts or int(total.split(": ")[1]) != sum(counts.values()):
        raise BreachError(f"perft counts wrongly in {board.fen()}: {counts}, {total}")


class Model:
    """The state that the engine should have, and what it owes: `sent` takes input lines, `heard` output lines.

    Times are in seconds, of any clock. BreachError says what went wrong.
    """

    def __init__(self, is_loaded: bool = True) -> None:
        """`is_loaded`: the engine can search at once."""
        self.board = chess.Board()
        self.options = OptionValues()
        #: The last answer: the position it is for, the move, and the expected reply or None.
        self.answer: tuple[chess.Board, str, str | None] | None = None
        #: The last good `position`; empty after `flip`.
        self.position = "position startpos"
        #: Whether it has answered something that takes the kernels.
        self.is_loaded = is_loaded
        self._at_once: list[Answer] = []
        self._in_turn: list[Answer | Search] = []
        self._debug = False
        self._introduction: list[str] = []
        #: How many remarks about files there may be.
        self._files = 0
        self._task_ended = -math.inf
        self._is_quitting = False
        # The line that was sent last, and when.
        self._line, self._now = "", 0.0

    # -- what is asked ---------------------------------------------------------------------------------------------

    def sent(self, raw: bytes, now: float) -> None:
        """A line was sent."""
        text = raw.decode("utf-8", "backslashreplace").strip()
        self._line, self._now = text[:200], now
        word, *words = text.split() or [""]
        if word in COMMANDS:
            try:
                getattr(self, f"_on_{word}", self._on_nothing)(words)
            except ValueError as error:
                self._owe_exactly(str(error))
        elif word:
            self._owe_at_once("info string unknown command .*")

    def input_ended(self, now: float) -> None:
        """The input was closed: every command is owed an answer."""
        self._release(now)

    def _release(self, now: float) -> None:
        """Every search and tool so far is told to end."""
        for debt in self._in_turn:
            if isinstance(debt, Answer):
                debt.may_stop = True
            elif debt.stopped is None:
                debt.stopped = now

    def _owe(self, *forms: str, **details: Any) -> None:
        """The current line owes an answer in its turn."""
        self._in_turn.append(Answer(self._line, self._now, *forms, **details))

    def _owe_at_once(self, *forms: str, **details: Any) -> None:
        """The current line owes an answer even during a search."""
        self._at_once.append(Answer(self._line, self._now, *forms, **details))

    def _owe_exactly(self, *messages: str) -> None:
        """The current line owes exactly these messages."""
        if messages:
            self._owe(*(re.escape(f"info string {' '.join(message.split())}") for message in messages))

    def _on_nothing(self, words: list[str]) -> None:
        """The command owes nothing."""

    def _on_uci(self, words: list[str]) -> None:
        body = r"id (name|author) \S.*|option name \S.* type \S.*"
        self._owe_at_once("uciok", body=body, check=self._check_introduction)

    def _on_isready(self, words: list[str]) -> None:
        self._owe_at_once("readyok")

    def _on_debug(self, words: list[str]) -> None:
        if words not in (["on"], ["off"]):
            self._owe_at_once("info string debug takes .*")
            return
        self._debug = words == ["on"]
        for debt in self._in_turn:
            if isinstance(debt, Search):
                debt.may_debug |= self._debug

    def _on_help(self, words: list[str]) -> None:
        self._owe_at_once(*map(re.escape, HELP.split("\n")))

    def _on_stop(self, words: list[str]) -> None:
        self._release(self._now)

    def _on_ponderhit(self, words: list[str]) -> None:
        searches = [debt for debt in self._in_turn if isinstance(debt, Search)]
        if searches and searches[-1].hit is None:
            searches[-1].hit = self._now

    def _on_quit(self, words: list[str]) -> None:
        self._release(self._now)
        self._is_quitting = True

    def _on_setoption(self, words: list[str]) -> None:
        option, value = parse_setoption(words)
        if self.options.set(option, value) in _NAMING_FILES:
            # SyzygyPath may list several folders.
            self._files += 2 + str(value).count(":") + str(value).count(";")

    def _on_position(self, words: list[str]) -> None:
        command = parse_position(words)
        fen, chess960 = command.fen or chess.STARTING_FEN, self.options.flag("UCI_Chess960")
        board = judged(fen, chess960)
        if board is None:
            self._owe("info string bad FEN .*: .+")
            return
        for text in command.moves:
            move = read_move(board, text)
            if move is None:
                self._owe("info string illegal move .*")
                return
            board.push(move)
        if chess.Board(fen, chess960=chess960).status() & TOLERATED:
            form = "info string (castling rights|the en passant) .*"
            self._owe(form, optional=True)
        self.board = board
        self.position = " ".join(["position", *words])

    def _on_go(self, words: list[str]) -> None:
        self._release(self._now)
        command, complaints = parse_go(words)
        self._owe_exactly(*complaints)
        board = self.board.copy(stack=False)
        if "perft" in command.numbers:
            self._on_perft(board, command.numbers["perft"])
            return
        options, limits = self.options, command.limits(board.turn)
        illegal = [text for text in limits.search_moves or () if read_move(board, text) is None]
        self._owe_exactly(*(f"go searchmoves: '{text}' is not legal here" for text in illegal))
        is_limited = options.flag("UCI_LimitStrength") or options.number("Skill Level") != FULL_SKILL
        is_analysis = options.flag("UCI_AnalyseMode") or limits.infinite or limits.mate is not None
        search = Search(self._line, self._now, limits, board, options, is_weakened=is_limited and not is_analysis)
        search.may_debug = self._debug
        self._in_turn.append(search)

    def _on_perft(self, board: chess.Board, depth: int) -> None:
        if not 1 <= depth <= 32:
            self._owe("info string perft depth .*")
            return
        body, last = r"[a-h][1-8][a-h][1-8][qrbn]?: \d+|", r"Nodes searched: \d+"
        check = partial(check_perft, board, depth)
        self._owe(last, body=body, is_tool=True, check=check)

    def _on_d(self, words: list[str]) -> None:
        board = self.board
        lines = [*str(board).split("\n"), "", f"Fen: {board.fen()}"]
        if board.chess960:
            lines.append(f"Shredder-FEN: {board.fen(shredder=True)}")
        key = "[0-9A-F]{16}" if board.chess960 else f"{chess.polyglot.zobrist_hash(board):016X}"
        checkers = " ".join(map(chess.square_name, board.checkers()))
        tail = [f"Key: {key}", f"Checkers: {checkers}", f"Legal moves: {board.legal_moves.count()}"]
        self._owe(*map(re.escape, lines), *tail)

    def _on_flip(self, words: list[str]) -> None:
        self.board = self.board.copy(stack=False).mirror()
        self.position = ""

    def _on_eval(self, words: list[str]) -> None:
        body = r"(?!info |bestmove|readyok|uciok|id |option |Fen).*"
        self._owe(r"Evaluation [+-]\d+\.\d\d pawns from White's view.*", body=body)

    def _on_bench(self, words: list[str]) -> None:
        if words and not (words[0].isdecimal() and 1 <= int(words[0]) < MAX_PLY):
            self._owe("info string bench takes .*")
            return
        body = r" *\d+ +\d+ \S+ [wb] \S+ \S+ \d+ \d+"
        self._owe(r"\d+ nodes \d+ nps", body=body, is_tool=True)

    def _on_compiler(self, words: list[str]) -> None:
        self._owe("Compiled (ahead of time )?by .*", "Processor: .*", "Run by .*")

    # -- what is answered ------------------------------------------------------------------------------------------

    def heard(self, line: str, now: float) -> None:
        """A line came. Raises BreachError when no command owes it, or when something in it is wrong."""
        check_letters(line)
        if _LOADING.fullmatch(line):
            return
        if self._files and _FILES.fullmatch(line):
            self._files -= 1
            return
        if self._at_once and self._at_once[0].take(line, now):
            if self._at_once[0].is_over:
                debt = self._at_once.pop(0)
                if line == "readyok" and self.is_loaded:  # before that, it says only that the engine listens
                    self._check_order(debt)
            return
        if not line.startswith("info string "):  # complaints about words need no engine
            self._note_loaded(now)
        for index, owed in enumerate(self._in_turn):
            if owed.take(line, now):
                del self._in_turn[:index]
                if owed.is_over:
                    del self._in_turn[0]
                    self._answered(owed, line, now)
                return
            if not owed.is_satisfied:
                break
        names = ", ".join(repr(owed.name) for owed in self.owed()[:5]) or "nothing"
        raise BreachError(f"nobody asked for '{line[:200]}'; {names} is owed an answer")

    def _answered(self, debt: Answer | Search, line: str, now: float) -> None:
        if isinstance(debt, Search):
            words = line.split()
            self.answer = (debt.board, words[1], words[3] if len(words) > 2 else None)
        elif not debt.is_tool:
            return
        self._task_ended = now
        self._begin_next(now)

    def _note_loaded(self, now: float) -> None:
        """Only a loaded engine says this: the first search can begin now at the latest."""
        if not self.is_loaded:
            self.is_loaded = True
            self._begin_next(now)

    def _begin_next(self, now: float) -> None:
        """The next search can begin, if there is one."""
        for debt in self._in_turn:
            if isinstance(debt, Search):
                debt.begun = max(debt.sent, now)
                break

    def _check_introduction(self, lines: list[str]) -> None:
        """Name, author, then options, each with a default that it would take; the same every time."""
        names = [line.partition(" type ")[0] for line in lines[2:-1]]
        if not lines[0].startswith("id name") or not lines[1].startswith("id author") or len(set(names)) < len(names):
            raise BreachError(f"the answer to 'uci': {lines}")
        for line in lines[2:-1]:
            spin = _SPIN_OPTION.fullmatch(line)
            if not (
                int(spin[2]) <= int(spin[1]) <= int(spin[3]) if spin is not None else _OTHER_OPTION.fullmatch(line)
            ):
                raise BreachError(f"a declaration of an option: '{line}'")
        if self._introduction not in ([], lines):
            raise BreachError("a second 'uci' is answered differently")
        self._introduction = lines

    def _check_order(self, ready: Answer) -> None:
        """If no search ran, everything that was sent before `isready` is done before `readyok`."""
        before = [debt for debt in self._in_turn if debt.sent < ready.sent and not debt.is_satisfied]
        is_idle = self._task_ended < ready.sent and not any(_is_task(debt) for debt in before)
        if before and is_idle:
            raise BreachError(f"'readyok' before the answer to '{before[0].name}'")

    def owed(self) -> list[Answer | Search]:
        """What has not been answered."""
        return [debt for debt in (*self._at_once, *self._in_turn) if not debt.is_satisfied]

    def has_tool(self) -> bool:
        """Whether a count or a benchmark is under way, which the end of input does not end."""
        return any(isinstance(debt, Answer) and debt.is_tool for debt in self.owed())

    def milliseconds(self) -> float:
        """How long the searches take at most if nothing more is sent; infinite if unknown."""
        tasks = [debt for debt in self.owed() if _is_task(debt)]
        return sum(debt.milliseconds() if isinstance(debt, Search) else math.inf for debt in tasks)

    def ended(self) -> None:
        """The engine has ended. Raises BreachError when something was owed and there was no `quit`."""
        owed = self.owed()
        if owed and not self._is_quitting:
            raise BreachError(f"ended without an answer to '{owed[0].name}'")


def _is_task(debt: Answer | Search) -> bool:
    return isinstance(debt, Search) or debt.is_tool


def check_letters(line: str) -> None:
    """Raises BreachError for a line that a terminal would obey."""
    if any(unicodedata.category(letter) in ("Cc", "Cs") for letter in line):
        raise BreachError(f"characters that terminals obey: {line[:200]!r}")


class Lenient(Model):
    """What an engine with few resources owes: an answer to every `isready` and `go`, no matter which."""

    def __init__(self) -> None:
        super().__init__()
        self._counts = {"readyok": 0, "bestmove": 0}

    def sent(self, raw: bytes, now: float) -> None:
        words = raw.decode("utf-8", "backslashreplace").split()
        if words[:1] == ["isready"]:
            self._counts["readyok"] += 1
        elif words[:1] == ["go"] and "perft" not in parse_go(words[1:])[0].numbers:
            self._counts["bestmove"] += 1

    def heard(self, line: str, now: float) -> None:
        check_letters(line)
        if "internal error" in line:
            raise BreachError(line)
        word = line.split(" ")[0]
        if word in self._counts:
            self._counts[word] -= 1
            if self._counts[word] < 0:
                raise BreachError(f"nobody asked for '{line[:200]}'")

    def owed(self) -> list[Answer | Search]:
        return [Answer(name, 0.0, "") for name, count in self._counts.items() if count]

    def milliseconds(self) -> float:
        return math.inf

    def ended(self) -> None:
        pass
