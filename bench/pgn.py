"""Writes games as PGN for python-chess and GUIs, and reads PGN files from any program.

Each engine move has a comment like `{ +0.35/12 0.105s, n=4711 [%eval 0.35,12] [%emt 0:00:00.105] }`. It is in the style
of cutechess-cli, with two tags that GUIs know: the evaluation from White's point of view, and the time. Opening moves
have a comment `{ book }`. Files are split into games before the games are parsed, so a broken game affects no other.
"""

from __future__ import annotations

import codecs
import io
import logging
import re
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import chess
import chess.engine
import chess.pgn

from bench.results import FAULTS, WHITE_POINTS, GameResult, MoveRecord, Termination
from engine.files import Output, count_of, quoted, read_bytes, reason, shown

#: The tag with the fingerprint of the match's description.
MATCH_TAG: Final = "MatchId"

#: The PGN `Termination` tag of games that did not end by the rules of chess.
_STANDARD_TERMINATION: Final = {
    Termination.TIME_FORFEIT: "time forfeit",
    Termination.ILLEGAL_MOVE: "rules infraction",
    **dict.fromkeys((Termination.CRASH, Termination.HANG, Termination.NOT_STARTED), "abandoned"),
    **dict.fromkeys((Termination.RESIGN_RULE, Termination.DRAW_RULE), "adjudication"),
    **dict.fromkeys((Termination.TABLEBASE, Termination.MAX_MOVES), "adjudication"),
}

#: Patterns of the phrases with which match programs describe the end of a game. The first pattern that matches counts.
_REASONS: Final = (
    ("syzygytb|tablebase|tb position", Termination.TABLEBASE),
    ("on time|time forfeit", Termination.TIME_FORFEIT),
    ("illegal move|rules infraction", Termination.ILLEGAL_MOVE),
    ("connection stalls", Termination.HANG),
    ("disconnect|abandoned", Termination.CRASH),
    ("maximal game length", Termination.MAX_MOVES),
    ("draw by adjudication", Termination.DRAW_RULE),
    ("by adjudication|resign", Termination.RESIGN_RULE),
    ("repetition", Termination.REPETITION),
    ("fifty move", Termination.FIFTY_MOVES),
    ("stalemate", Termination.STALEMATE),
    ("insufficient", Termination.MATERIAL),
    ("mates", Termination.CHECKMATE),
)

_TAG: Final = re.compile(r'\[\s*(\w+)\s+"((?:[^"\\]|\\.)*)"\s*\]')
_END: Final = re.compile(r"(?:^|\s)(1-0|0-1|1/2-1/2|\*)\s*$")

#: The largest PGN file that can be read, in bytes.
MOST_BYTES: Final = 2 << 30

# Callers report the problems of a game; python-chess would also log them.
logging.getLogger("chess.pgn").setLevel(logging.CRITICAL)


def termination_of(text: str) -> Termination:
    """Returns the termination that a match program's phrase or a PGN tag describes; OTHER for an unknown text."""
    lowered = text.lower()
    try:
        return Termination(lowered)
    except ValueError:
        return next((reason for words, reason in _REASONS if re.search(words, lowered)), Termination.OTHER)


def format_game(
    game: GameResult, event: str, time_controls: tuple[str, str], match_id: str = "", round_name: str = ""
) -> str:
    """Formats a game and its moves as PGN, followed by an empty line. `time_controls` are White's and Black's."""
    pgn = chess.pgn.Game()
    pgn.setup(game.start_fen or chess.STARTING_FEN)
    tags = {
        "Event": event,
        "Date": game.date or "????.??.??",
        "Round": round_name or str(game.game + 1),
        "White": game.white,
        "Black": game.black,
        "Result": game.result,
        "Opening": game.opening,
        "PlyCount": str(len(game.moves)),
        **dict(zip(("WhiteTimeControl", "BlackTimeControl"), time_controls, strict=True)),
        "Termination": _STANDARD_TERMINATION.get(game.termination, "normal"),
        "TerminationDetails": game.detail or str(game.termination),
        MATCH_TAG: match_id,
    }
    if time_controls[0] == time_controls[1]:
        tags["TimeControl"] = tags.pop("WhiteTimeControl")
        del tags["BlackTimeControl"]
    pgn.headers.update({name: _escape(value) for name, value in tags.items() if value})
    node: chess.pgn.GameNode = pgn
    for record in game.moves:
        node = node.add_variation(chess.Move.from_uci(record.uci))
        _annotate(node, record)
    return f"{pgn.accept(chess.pgn.StringExporter(columns=100))}\n\n"


def _escape(value: str) -> str:
    clean = "".join(character if character.isprintable() else " " for character in value)
    return clean.replace("\\", "\\\\").replace('"', '\\"')


def _annotate(node: chess.pgn.GameNode, record: MoveRecord) -> None:
    """Sets the comment of a move and, unless it is a book move, its evaluation and time tags."""
    if record.book:
        node.comment = "book"
        return
    score: chess.engine.Score | None = None
    text = ""
    if record.mate is not None:
        score, text = chess.engine.Mate(record.mate), f"{'+' if record.mate > 0 else '-'}M{abs(record.mate)}"
    elif record.centipawns is not None:
        score, text = chess.engine.Cp(record.centipawns), f"{record.centipawns / 100:+.2f}"
    if text:
        text += f"/{record.depth} " if record.depth is not None else " "
    nodes = f", n={record.nodes}" if record.nodes is not None else ""
    node.comment = f"{text}{record.seconds:.3f}s{nodes}"
    if score is not None:
        node.set_eval(chess.engine.PovScore(score, not node.turn()), record.depth)
    node.set_emt(record.seconds)


class PgnLog:
    """A PGN file. Each finished game is appended to the file and synced to the disk at once.

    If a write fails, the games wait in memory until the next append. The first write truncates the file to the size
    given to `go_on` (default: 0); a copy of the dropped bytes stays beside it. If another program has removed, replaced
    or changed the file, `output` becomes a new file in the same folder for all further games.
    """

    def __init__(self, output: Output) -> None:
        self.waiting: list[bytes] = []
        self.problem: str | None = None
        self.output = output
        self.output.keep = 0
        self._gap = b""

    def go_on(self, size: int) -> None:
        """Makes the first write keep the first `size` bytes of the file. An empty line then separates the games."""
        self.output.keep = size
        self._gap = b"\n\n" if size else b""

    def append(self, text: str) -> bool:
        """Appends the PGN text of a game. Returns whether all games so far are on the disk."""
        self.waiting.append(self._gap + text.encode("utf-8"))
        self._gap = b""
        return self.flush()

    def save_elsewhere(self) -> str:
        """Tries to write the waiting games to a new file in the current or temporary folder; returns a message."""
        for folder in ("", tempfile.gettempdir()):
            with suppress(OSError):
                other = Output(Path(folder, self.output.path.name), lambda head: True, "file of games").beside()
                other.replace(b"".join(self.waiting))
                return f"the {count_of(len(self.waiting), 'unsaved game')} went to {shown(other.path)}"
        return f"{count_of(len(self.waiting), 'game')} not saved"

    def flush(self) -> bool:
        """Tries to write the waiting games. Returns whether all were written; a failure is described in `problem`."""
        while self.waiting:
            try:
                self.output.append(self.waiting[0])
                self.waiting.pop(0)
            except OSError as error:
                self.problem = f"{shown(self.output.path)}: cannot save a game: {reason(error)}"
                if not isinstance(error, FileExistsError | FileNotFoundError):
                    return False
                try:
                    self.output = self.output.beside()
                except OSError:
                    return False
                self.problem += f"; further games go to {shown(self.output.path)}"
        return True


def is_pgn(head: bytes) -> bool:
    """Returns whether a file that begins with `head` is PGN, that is, whether its first non-blank line is a tag."""
    return _TAG.fullmatch(decode(head.lstrip().partition(b"\n")[0]).strip()) is not None


def is_cut_game(raw: RawGame, event: str, match_id: str) -> bool:
    """Returns whether `raw` begins like the games of `event` in the match `match_id`, and has no result."""
    begin = f'[Event "{_escape(event)}"]\n'
    _, gap, moves = raw.text.partition("\n\n")
    return (
        not re.search(r"\s(1-0|0-1|1/2-1/2|\*)(\s|$)", moves)  # else it is a whole game, perhaps followed by other text
        and (raw.text.startswith(begin) or begin.startswith(raw.text))
        and raw.tags.get(MATCH_TAG, "" if gap else match_id) == match_id
    )


@dataclass(frozen=True)
class RawGame:
    """An unparsed game of a file: the number of its first line (from 1), its offset in bytes, and its bytes."""

    line: int
    start: int
    data: bytes

    @property
    def end(self) -> int:
        """The offset of the first byte after the game."""
        return self.start + len(self.data)

    @cached_property
    def text(self) -> str:
        """The game as text."""
        return decode(self.data)

    @cached_property
    def tags(self) -> dict[str, str]:
        """The values of the tags by name. They are made printable and short for terminals and tables."""
        tags: dict[str, str] = {}
        for line in map(str.strip, self.text.splitlines()):
            if line.startswith("["):
                if match := _TAG.fullmatch(line):
                    tags[match[1]] = shown(re.sub(r"\\(.)", r"\1", match[2]))
            elif line and not line.startswith("%"):
                break
        return tags

    @property
    def is_complete(self) -> bool:
        """Whether the game ends with a result, so that no moves are missing."""
        return _END.search(self.text) is not None

    def problem(self) -> str | None:
        """Returns a message if a required tag or the final result is missing or the Result tag is wrong, else None."""
        missing = next((tag for tag in ("White", "Black", "Result") if tag not in self.tags), None)
        if missing:
            return f"the {missing} tag is missing"
        result, end = self.tags["Result"], _END.search(self.text)
        if result not in (*WHITE_POINTS, "*"):
            return f"invalid Result tag: {quoted(result)}"
        if end is None:
            return "the game is cut short: it does not end with a result"
        return None if end[1] == result else f"the Result tag is {result}, but the moves end with {end[1]}"

    def parse(self) -> chess.pgn.Game:
        """Parses the game with its moves. Raises ValueError if there is no game or a move is illegal."""
        game = chess.pgn.read_game(io.StringIO(self.text))
        if game is None:
            raise ValueError("no game found")
        if game.errors:
            raise ValueError(str(game.errors[0]))
        return game


def split_games(source: str | Path | bytes) -> Iterator[RawGame]:
    """Yields the games of a PGN file. `source` is the path or the contents (bytes) of the file.

    After moves, a line that begins with `[` starts a new game; in a comment, only a line that is a complete tag does.
    Raises OSError if the file cannot be read.
    """
    data = source if isinstance(source, bytes) else read_bytes(source, MOST_BYTES)
    offset = start = 0
    first_line = 1
    in_moves = in_comment = False
    for number, line in enumerate(data.splitlines(keepends=True), start=1):
        text = line.removeprefix(codecs.BOM_UTF8)
        if text.startswith(b"[") and in_moves and (not in_comment or _TAG.fullmatch(decode(text).strip())):
            yield RawGame(first_line, start, data[start:offset])
            start, first_line, in_moves, in_comment = offset, number, False, False
        elif text.strip() and not text.startswith((b"[", b"%")):
            in_moves = True
        if in_moves:
            opened, closed = line.rfind(b"{"), line.rfind(b"}")
            if opened != closed:
                in_comment = opened > closed
        offset += len(line)
    if data[start:].strip():
        yield RawGame(first_line, start, data[start:])


def decode(data: bytes) -> str:
    """Decodes a PGN or EPD file as UTF-8, or else as Latin-1. Drops an incomplete last character of UTF-8."""
    data = data.removeprefix(codecs.BOM_UTF8)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data":  # cut in the middle of a character
            return data[: error.start].decode("utf-8")
        return data.decode("latin-1")  # the encoding of the PGN standard


def read_games(path: str | Path, problems: list[str] | None = None) -> Iterator[GameResult]:
    """Yields the finished games of a PGN file in order, without moves. `GameResult.game` is the index in the file.

    Games with a problem (see `RawGame.problem`) are skipped and reported in `problems` as `file:line: reason`;
    unfinished games ("*") are skipped silently. Two games with the same round (up to the first dot of the Round tag)
    and swapped colours form a pair, as in files of Secateur, fastchess and cutechess-cli. Raises OSError if the file
    cannot be read.
    """
    waiting: dict[tuple[str, str, str], int] = {}
    pairs = 0
    for index, raw in enumerate(split_games(path)):
        problem, tags = raw.problem(), raw.tags
        if problem is not None:
            if problems is not None:
                problems.append(f"{shown(path)}:{raw.line}: {shown(problem)}")
            continue
        if tags["Result"] == "*":
            continue
        white, black = tags["White"], tags["Black"]
        round_name = tags.get("Round", "?").partition(".")[0]
        pair = waiting.pop((black, white, round_name), None)
        if pair is None:
            pair, pairs = pairs, pairs + 1
            waiting[white, black, round_name] = pair
        # cutechess-cli and fastchess give the most precise reason in the comment after the last move.
        comments = re.findall(r"\{([^}]*)\}", raw.text[-400:])
        detail = tags.get("TerminationDetails", "")
        termination = termination_of(detail or (comments[-1] if comments else ""))
        named = termination_of(tags.get("Termination", ""))
        # The text about a fault contains the engine's name and words, which may look like another reason.
        if termination == Termination.OTHER or (named in FAULTS and termination not in FAULTS):
            termination = named
        fen, opening, date = (tags.get(tag, "") for tag in ("FEN", "Opening", "Date"))
        yield GameResult(
            *(index, pair, white, black, tags["Result"], termination, detail),
            start_fen=fen or chess.STARTING_FEN,
            opening=opening,
            date=date,
        )
