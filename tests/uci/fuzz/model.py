"""What the engine owes for each line that it was sent, read from the protocol and not from the engine.

Commands take effect in their order. Those that can be obeyed during a search are answered at once, in their order; all
others wait until the search before them has answered. So there are two streams of what is owed, and every line of
output must be the next one of either. python-chess judges positions and moves.
"""

from __future__ import annotations

import math
import re
from typing import Final, Protocol

import chess
import chess.polyglot

from engine.uci.options import OPTIONS
from engine.uci.session import HELP
from search.strength import FULL_SKILL
from tests.uci.fuzz.searches import BreachError, Order, Search, Settings, read_move

#: What python-chess minds in a position and the engine does not. Castling rights and en passant squares that do not fit
#: are left out, with a remark; checks that no game can lead to are played from as puzzles have them.
TOLERATED: Final = (
    chess.STATUS_BAD_CASTLING_RIGHTS
    | chess.STATUS_INVALID_EP_SQUARE
    | chess.STATUS_TOO_MANY_CHECKERS
    | chess.STATUS_IMPOSSIBLE_CHECK
)

#: What may be said of the loading, before anything else that needs it.
_LOADING: Final = re.compile(
    r"info string (\d+ kernels compiled in|loading|compiling|kernels not cached|kernels not used:|(the )?kernels are"
    r"|readyok comes early:|(perft|bench|eval): \d+ s so far) ?.*"
)
_SPIN_OPTION: Final = re.compile(r"option name .+ type spin default (-?\d+) min (-?\d+) max (-?\d+)")
_OTHER_OPTION: Final = re.compile(r"option name .+ type (button|check default (true|false)|string default \S.*)")
#: What options that name files may say: at once, or when the engine is loaded, whatever it is needed for.
_FILES: Final = re.compile(r"info string (network|endgame tables|book|Debug Log File)\b.*")


def judged(fen: str, chess960: bool) -> chess.Board | None:
    """The board that a FEN stands for, None when it is refused: python-chess's verdict but for TOLERATED."""
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


class Debt(Protocol):
    """What is owed for one line."""

    name: str
    sent: float

    @property
    def is_satisfied(self) -> bool:
        """Whether nothing more is owed; there may be more to come."""

    @property
    def is_over(self) -> bool:
        """Whether nothing more can come."""

    def take(self, line: str, now: float) -> bool:
        """Takes a line of output if it belongs here."""


class Lines:
    """Lines of known form, each a regular expression, all owed and in this order."""

    def __init__(self, name: str, sent: float, *forms: str) -> None:
        self.name = name
        self.sent = sent
        self._forms = forms
        self._count = 0

    @property
    def is_satisfied(self) -> bool:
        return self._count == len(self._forms)

    @property
    def is_over(self) -> bool:
        return self.is_satisfied

    def take(self, line: str, now: float) -> bool:
        if self.is_over or not re.fullmatch(self._forms[self._count], line):
            return False
        self._count += 1
        return True


class Block:
    """Lines of any number, each of the form `body`, up to and with one of the form `last`."""

    def __init__(self, name: str, sent: float, body: str, last: str) -> None:
        self.name = name
        self.sent = sent
        self.is_over = False
        self.lines: list[str] = []
        self._body = re.compile(body)
        self._last = re.compile(last)

    @property
    def is_satisfied(self) -> bool:
        return self.is_over

    def take(self, line: str, now: float) -> bool:
        if self._last.fullmatch(line):
            self.is_over = True
        elif not self._body.fullmatch(line):
            return False
        self.lines.append(line)
        return True


class Remarks:
    """Up to `most` lines that may come and need not."""

    is_satisfied = True

    def __init__(self, name: str, sent: float, form: re.Pattern[str], most: int) -> None:
        self.name = name
        self.sent = sent
        self._form = form
        self._left = most

    @property
    def is_over(self) -> bool:
        return not self._left

    def take(self, line: str, now: float) -> bool:
        if self.is_over or not self._form.fullmatch(line):
            return False
        self._left -= 1
        return True


class Tool(Block):
    """A count or a benchmark: lines of the form `body`, then one of the form `last`, or that it was stopped."""

    #: Whether somebody has stopped it.
    may_stop = False

    def take(self, line: str, now: float) -> bool:
        if re.fullmatch(r"(info string perft|bench) was stopped", line):
            if not self.may_stop:
                raise BreachError(f"'{self.name}' was stopped by nobody")
            self.is_over = True
            return True
        is_mine = super().take(line, now)
        if self.is_over:
            self._check()
        return is_mine

    def _check(self) -> None:
        """Raises BreachError when the result is wrong."""


class Perft(Tool):
    """`go perft`: every legal move with its count, and their sum; python-chess counts along as far as it is quick."""

    def __init__(self, name: str, sent: float, board: chess.Board, depth: int) -> None:
        super().__init__(name, sent, r"[a-h][1-8][a-h][1-8][qrbn]?: \d+|", r"Nodes searched: \d+")
        self._board = board.copy(stack=False)
        self._depth = depth

    def _check(self) -> None:
        *rows, empty, total = self.lines
        counts = {move: int(count) for move, count in (row.split(": ") for row in rows)}
        moves = list(self._board.legal_moves)
        if empty or len(rows) != len(moves) or set(counts) != {self._board.uci(move) for move in moves}:
            raise BreachError(f"'{self.name}' does not list the moves of {self._board.fen()}: {rows}")
        expected = None
        if self._depth == 1:
            expected = dict.fromkeys(counts, 1)
        elif self._depth == 2 and len(moves) < 60:
            expected = {}
            for move in moves:
                text = self._board.uci(move)
                self._board.push(move)
                expected[text] = self._board.legal_moves.count()
                self._board.pop()
        if expected not in (None, counts) or int(total.split(": ")[1]) != sum(counts.values()):
            raise BreachError(f"'{self.name}' counts wrongly in {self._board.fen()}: {counts}, {total}")


class Model:
    """The state that the engine should have, and what it owes. Lines go in by `sent`, and come back by `heard`.

    Times are in seconds, of the clock that the caller likes. BreachError says what went wrong.
    """

    def __init__(self, is_loaded: bool = True) -> None:
        """`is_loaded`: the engine can search at once."""
        self.board = chess.Board()
        self.options = {option.name: option.default for option in OPTIONS}
        #: The last answer: the position it is for, the move, and the reply that is expected, or None.
        self.answer: tuple[chess.Board, str, str | None] | None = None
        #: What was sent as the last good position.
        self.position = "position startpos"
        self._declared = {option.name.lower(): option for option in OPTIONS}
        self._at_once: list[Debt] = []
        self._in_turn: list[Debt] = []
        self._debug = False
        self._said: list[str] | None = None
        #: How many remarks about files there may be.
        self._files = 0
        self._task_ended = -math.inf
        self._is_quitting = False
        self._is_loaded = is_loaded

    # -- what is asked ---------------------------------------------------------------------------------------------

    def sent(self, raw: bytes, now: float) -> None:
        """A line was sent."""
        text = raw.decode("utf-8", "backslashreplace").strip()
        words = text.split()
        if not words:
            return
        if words[0] not in COMMANDS:
            self._at_once.append(Lines(text[:80], now, "info string unknown command .*"))
            return
        getattr(self, f"_on_{words[0]}")(words[1:], text[:200], now)

    def input_ended(self, now: float) -> None:
        """The input was closed: everything is owed an answer, soon."""
        self._release(now)

    def _release(self, now: float) -> None:
        """Whatever was begun is told to end."""
        for debt in self._in_turn:
            if isinstance(debt, Search) and debt.stopped is None:
                debt.stopped = now
            elif isinstance(debt, Tool):
                debt.may_stop = True

    def _info(self, name: str, now: float, form: str, at_once: bool = False) -> None:
        """One `info string` is owed."""
        (self._at_once if at_once else self._in_turn).append(Lines(name, now, f"info string {form}"))

    def _on_uci(self, words: list[str], name: str, now: float) -> None:
        self._at_once.append(Block(name, now, r"id (name|author) \S.*|option name \S.* type \S.*", "uciok"))

    def _on_isready(self, words: list[str], name: str, now: float) -> None:
        self._at_once.append(Lines(name, now, "readyok"))

    def _on_ucinewgame(self, words: list[str], name: str, now: float) -> None:
        pass

    def _on_register(self, words: list[str], name: str, now: float) -> None:
        pass

    def _on_debug(self, words: list[str], name: str, now: float) -> None:
        if words not in (["on"], ["off"]):
            self._info(name, now, "debug takes .*", at_once=True)
        elif words == ["on"]:
            self._debug = True
            for debt in self._in_turn:
                if isinstance(debt, Search):
                    debt.may_debug = True

    def _on_help(self, words: list[str], name: str, now: float) -> None:
        self._at_once.append(Lines(name, now, *map(re.escape, HELP.split("\n"))))

    def _on_stop(self, words: list[str], name: str, now: float) -> None:
        self._release(now)

    def _on_ponderhit(self, words: list[str], name: str, now: float) -> None:
        for debt in reversed(self._in_turn):
            if isinstance(debt, Search):
                if debt.hit is None:
                    debt.hit = now
                break

    def _on_quit(self, words: list[str], name: str, now: float) -> None:
        self._release(now)
        self._is_quitting = True

    def _on_setoption(self, words: list[str], name: str, now: float) -> None:
        lowered = [word.lower() for word in words]
        at = lowered.index("value") if "value" in lowered else len(words)
        value = " ".join(words[at + 1 :]) if at < len(words) else None
        option = self._declared.get(" ".join(lowered[1:at])) if lowered[:1] == ["name"] else None
        if option is None:
            self._info(name, now, "(there is no option|setoption needs) .*")
            return
        is_good = value is not None
        parsed: int | bool | str | None = value
        if option.kind == "button":
            return
        if option.kind == "check":
            is_good = value is not None and value.lower() in ("true", "false")
            parsed = is_good and value is not None and value.lower() == "true"
        elif option.kind == "spin":
            try:
                parsed = int(value or "")
                is_good = option.low <= parsed <= option.high
            except ValueError:
                is_good = False
        if not is_good:
            self._info(name, now, f"option {re.escape(option.name)} (takes|needs) .*")
            return
        self.options[option.name] = parsed
        if option.kind == "string" or option.name == "OwnBook":
            # Of folders with tables there may be several.
            most = 2 + str(value).count(":") + str(value).count(";")
            self._files += most

    def _on_position(self, words: list[str], name: str, now: float) -> None:
        at = words.index("moves") if "moves" in words else len(words)
        kind, before, moves = words[:1], words[1:at], words[at + 1 :]
        if kind == ["startpos"] and not before:
            fen = chess.STARTING_FEN
        elif kind == ["fen"] and before:
            fen = " ".join(before)
        else:
            self._info(name, now, "position .*")
            return
        chess960 = bool(self.options["UCI_Chess960"])
        board = judged(fen, chess960)
        if board is None:
            self._info(name, now, "bad FEN .*: .+")
            return
        has_flaw = chess.Board(fen, chess960=chess960).status() & TOLERATED
        for text in moves:
            move = read_move(board, text)
            if move is None:
                self._info(name, now, "illegal move .*")
                return
            board.push(move)
        if has_flaw:
            self._in_turn.append(Remarks(name, now, re.compile("info string (castling rights|the en passant) .*"), 1))
        self.board = board
        self.position = " ".join(["position", *words])

    def _on_go(self, words: list[str], name: str, now: float) -> None:
        self._release(now)
        order = Order.of(words)
        if "perft" in order.numbers:
            if order.faults:
                self._in_turn.append(Remarks(name, now, re.compile("info string go.*"), order.faults))
            depth = order.numbers["perft"]
            if 1 <= depth <= 32:
                self._in_turn.append(Perft(name, now, self.board, depth))
            else:
                self._info(name, now, "perft depth .*")
            return
        is_limited = bool(self.options["UCI_LimitStrength"]) or self.options["Skill Level"] != FULL_SKILL
        wants_truth = bool(self.options["UCI_AnalyseMode"]) or order.infinite or "mate" in order.numbers
        settings = Settings(
            lines=int(self.options["MultiPV"] or 1),
            threads=int(self.options["Threads"] or 1),
            show_wdl=bool(self.options["UCI_ShowWDL"]),
            own_book=bool(self.options["OwnBook"]),
            is_weakened=is_limited and not wants_truth,
        )
        search = Search(name, order, self.board, settings, now)
        search.may_debug = self._debug
        self._in_turn.append(search)

    def _on_d(self, words: list[str], name: str, now: float) -> None:
        board = self.board
        lines = [*str(board).split("\n"), "", f"Fen: {board.fen()}"]
        if board.chess960:
            lines.append(f"Shredder-FEN: {board.fen(shredder=True)}")
        key = "[0-9A-F]{16}" if board.chess960 else f"{chess.polyglot.zobrist_hash(board):016X}"
        checkers = " ".join(map(chess.square_name, board.checkers()))
        tail = [f"Key: {key}", f"Checkers: {checkers}", f"Legal moves: {board.legal_moves.count()}"]
        self._in_turn.append(Lines(name, now, *map(re.escape, lines), *tail))

    def _on_flip(self, words: list[str], name: str, now: float) -> None:
        self.board = self.board.copy(stack=False).mirror()
        self.position = ""

    def _on_eval(self, words: list[str], name: str, now: float) -> None:
        body = r"(?!info |bestmove|readyok|uciok|id |option |Fen).*"
        self._in_turn.append(Block(name, now, body, r"Evaluation [+-]\d+\.\d\d pawns from White's view.*"))

    def _on_bench(self, words: list[str], name: str, now: float) -> None:
        if words and not (words[0].isdecimal() and 1 <= int(words[0]) <= 127):
            self._info(name, now, "bench takes .*")
        else:
            self._in_turn.append(Tool(name, now, r" *\d+ +\d+ \S+ [wb] \S+ \S+ \d+ \d+", r"\d+ nodes \d+ nps"))

    def _on_compiler(self, words: list[str], name: str, now: float) -> None:
        self._in_turn.append(Lines(name, now, "Compiled (ahead of time )?by .*", "Processor: .*", "Run by .*"))

    # -- what is answered ------------------------------------------------------------------------------------------

    def heard(self, line: str, now: float) -> None:
        """A line came. Raises BreachError when nobody asked for it, or when it is not what was asked for."""
        if _LOADING.fullmatch(line):
            return
        if self._files and _FILES.fullmatch(line):
            self._files -= 1
            return
        if self._at_once and self._at_once[0].take(line, now):
            if self._at_once[0].is_over:
                self._answered_at_once(self._at_once.pop(0), now)
            return
        if not line.startswith("info string "):  # complaints about words need no engine
            self._note_loaded(now)
        for index, debt in enumerate(self._in_turn):
            if debt.take(line, now):
                del self._in_turn[:index]
                if debt.is_over:
                    self._answered_in_turn(self._in_turn.pop(0), line, now)
                return
            if not debt.is_satisfied:
                break
        owed = ", ".join(repr(debt.name) for debt in self.owed()[:5]) or "nothing"
        raise BreachError(f"nobody asked for '{line[:200]}'; {owed} is owed an answer")

    def _note_loaded(self, now: float) -> None:
        """Something was said that only a loaded engine can say: by now the first search could begin."""
        if not self._is_loaded:
            self._is_loaded = True
            self._begin_next(now)

    def _answered_at_once(self, debt: Debt, now: float) -> None:
        if isinstance(debt, Block):
            self._check_introduction(debt.lines)
        elif debt.name.split()[:1] == ["isready"]:
            self._note_loaded(now)
            self._check_order(debt)

    def _check_introduction(self, lines: list[str]) -> None:
        """Name, author, then options, each with a default that it would take; the same whenever it is asked."""
        if self._said not in (None, lines):
            raise BreachError("a second 'uci' is answered differently")
        self._said = lines
        names = [line.partition(" type ")[0] for line in lines[2:-1]]
        if not lines[0].startswith("id name") or not lines[1].startswith("id author") or len(set(names)) < len(names):
            raise BreachError(f"the answer to 'uci': {lines}")
        for line in lines[2:-1]:
            spin = _SPIN_OPTION.fullmatch(line)
            is_in = int(spin[2]) <= int(spin[1]) <= int(spin[3]) if spin is not None else _OTHER_OPTION.fullmatch(line)
            if not is_in:
                raise BreachError(f"a declaration of an option: '{line}'")

    def _check_order(self, ready: Debt) -> None:
        """When nothing was searched any more, `readyok` says that everything before it is done."""
        before = [debt for debt in self._in_turn if debt.sent < ready.sent and not debt.is_satisfied]
        is_idle = self._task_ended < ready.sent and not any(isinstance(debt, Search | Tool) for debt in before)
        if before and is_idle:
            raise BreachError(f"'readyok' before the answer to '{before[0].name}'")

    def _answered_in_turn(self, debt: Debt, line: str, now: float) -> None:
        if not isinstance(debt, Search | Tool):
            return
        self._task_ended = now
        self._begin_next(now)
        if isinstance(debt, Search):
            words = line.split()
            self.answer = (debt.board, words[1], words[3] if len(words) > 2 else None)

    def _begin_next(self, now: float) -> None:
        """The next search can begin, if it was asked for."""
        for debt in self._in_turn:
            if isinstance(debt, Search):
                debt.begun = max(debt.sent, now)
                break

    def owed(self) -> list[Debt]:
        """What has not been answered."""
        return [debt for debt in (*self._at_once, *self._in_turn) if not debt.is_satisfied]

    def is_settled(self) -> bool:
        """Whether nothing is owed."""
        return not self.owed()

    def milliseconds(self) -> float:
        """How long that will take at most if nothing is said meanwhile; infinite where it cannot be told."""
        tasks = [debt for debt in self.owed() if isinstance(debt, Search | Tool)]
        return sum(debt.milliseconds if isinstance(debt, Search) else math.inf for debt in tasks)

    def ended(self) -> None:
        """The engine has ended. Raises BreachError when something was owed: after `quit` nothing is."""
        if not self._is_quitting and not self.is_settled():
            raise BreachError(f"ended without an answer to '{self.owed()[0].name}'")


#: The engine's commands; each has a method of the model's.
COMMANDS: Final = frozenset(
    (
        "uci isready ucinewgame setoption position go stop ponderhit quit debug register d "
        "flip eval bench compiler help"
    ).split()
)
