"""Games as PGN: written for python-chess and GUIs, and read from any program.

Each engine move has a comment in cutechess-cli's style, then the two tags that GUIs know, the evaluation from White's
point of view and the time: `{ +0.35/12 0.105s, n=4711 [%eval 0.35,12] [%emt 0:00:00.105] }`. Opening moves have
`{ book }`. A file is cut into games before anything is parsed, so a broken game does not affect the others.
"""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import chess
import chess.engine
import chess.pgn

from bench.results import WHITE_POINTS, GameResult, MoveRecord, Termination
from engine.files import Output, quoted, read_bytes, reason, shown

#: The tag that identifies a game's match by the description's fingerprint.
MATCH_TAG: Final = "MatchId"

#: The PGN `Termination` tag of games that did not end by the rules of chess.
_STANDARD_TERMINATION: Final = {
    Termination.TIME_FORFEIT: "time forfeit",
    Termination.ILLEGAL_MOVE: "rules infraction",
    **dict.fromkeys((Termination.CRASH, Termination.HANG, Termination.NOT_STARTED), "abandoned"),
    **dict.fromkeys((Termination.RESIGN_RULE, Termination.DRAW_RULE), "adjudication"),
    **dict.fromkeys((Termination.TABLEBASE, Termination.MAX_MOVES), "adjudication"),
}

#: Patterns of match programs' phrases for the end of a game; the first that is in the text counts.
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

#: The largest size of a file of games, in bytes.
MOST_BYTES: Final = 2 << 30

# Callers report the problems of a game; python-chess would also log them.
logging.getLogger("chess.pgn").setLevel(logging.CRITICAL)


def termination_of(text: str) -> Termination:
    """The reason why a game ended, from the words of cutechess-cli, fastchess or a PGN file."""
    lowered = text.lower()
    try:
        return Termination(lowered)
    except ValueError:
        return next((reason for words, reason in _REASONS if re.search(words, lowered)), Termination.OTHER)


def format_game(
    game: GameResult, event: str, time_controls: tuple[str, str], match_id: str = "", round_name: str = ""
) -> str:
    """The game as PGN text that ends with an empty line; it needs its `moves`. Time controls: White's, Black's."""
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
    """Adds the comment to a move."""
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
    """A PGN file; each finished game is appended and forced to the disk before anything else happens.

    If that fails, the games wait in memory, and the next append tries them again. The first write drops the games in
    the file, or those beyond the size given to `go_on`. If somebody has replaced or changed the file, the games go to
    a new file beside it, which is then `output`. Raises OSError if no file can be written.
    """

    def __init__(self, path: Path) -> None:
        self.waiting: list[bytes] = []
        self.problem: str | None = None
        self.output = Output(path, is_pgn, "file of games")
        self.output.keep = 0
        self._gap = b""

    def go_on(self, size: int) -> None:
        """Keeps the first `size` bytes of the file. A game appended after them starts with an empty line."""
        self.output.keep = size
        self._gap = b"\n\n" if size else b""

    def append(self, text: str) -> bool:
        """Appends a game; returns whether all games so far are safe on the disk."""
        self.waiting.append(self._gap + text.encode("utf-8"))
        self._gap = b""
        return self.flush()

    def flush(self) -> bool:
        """Tries to write the waiting games; returns whether none is waiting any more. `problem` has the reason."""
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
                self.problem += f"; the games from now on are in {shown(self.output.path)}"
        return True


def is_pgn(head: bytes) -> bool:
    """Whether a file that begins with `head` holds games: its first line is a tag."""
    return _TAG.fullmatch(decode(head.lstrip().partition(b"\n")[0]).strip()) is not None


def is_cut_game(raw: RawGame, event: str, players: Collection[str]) -> bool:
    """Whether `raw` is the beginning of a game of this event and these players as `format_game` writes it."""
    begin = f'[Event "{_escape(event)}"]\n[Site "?"]\n'
    moves = raw.text.partition("\n\n")[2]
    is_whole = re.search(r"\s(1-0|0-1|1/2-1/2|\*)(\s|$)", moves) is not None  # somebody wrote something after it
    if is_whole or not raw.text.replace("\n", "").isprintable():
        return False
    if not (raw.text.startswith(begin) or begin.startswith(raw.text)):
        return False
    return all(raw.tags[name] in players for name in ("White", "Black") if name in raw.tags)


@dataclass(frozen=True)
class RawGame:
    """One game of a file, not yet parsed: its first line, counted from 1, and its bytes from `start` to `end`."""

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
        """The tags. Values are printable and short, because they are printed on terminals and in tables."""
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
        """Whether the moves end with a result, so that none is missing."""
        return _END.search(self.text) is not None

    def problem(self) -> str | None:
        """The first problem with the game's tags and structure, None if there is none."""
        missing = next((tag for tag in ("White", "Black", "Result") if tag not in self.tags), None)
        if missing:
            return f"a game without a {missing} tag"
        result, end = self.tags["Result"], _END.search(self.text)
        if result not in (*WHITE_POINTS, "*"):
            return f"not a result: {quoted(result)}"
        if end is None:
            return "the game is cut short: no result at its end"
        return None if end[1] == result else f"the tag says {result}, the moves end with {end[1]}"

    def parse(self) -> chess.pgn.Game:
        """The game with its moves. Raises ValueError when a move is illegal."""
        game = chess.pgn.read_game(io.StringIO(self.text))
        if game is None:
            raise ValueError("no game here")
        if game.errors:
            raise ValueError(str(game.errors[0]))
        return game


def split_games(source: str | Path | bytes) -> Iterator[RawGame]:
    """Cuts a PGN file, or its contents, into games. A `[` at the start of a line inside a comment starts no game.

    Raises OSError when the file cannot be read.
    """
    data = source if isinstance(source, bytes) else read_bytes(source, MOST_BYTES)
    offset = start = 0
    first_line = 1
    in_moves = in_comment = False
    for number, line in enumerate(data.splitlines(keepends=True), start=1):
        if line.startswith(b"[") and in_moves and (not in_comment or _TAG.fullmatch(decode(line).strip())):
            yield RawGame(first_line, start, data[start:offset])
            start, first_line, in_moves, in_comment = offset, number, False, False
        elif line.strip() and not line.startswith((b"[", b"%")):
            in_moves = True
        if in_moves:
            opened, closed = line.rfind(b"{"), line.rfind(b"}")
            if opened != closed:
                in_comment = opened > closed
        offset += len(line)
    if data[start:].strip():
        yield RawGame(first_line, start, data[start:])


def decode(data: bytes) -> str:
    """The text of a PGN or EPD file in UTF-8 or Latin-1."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data":  # cut in the middle of a character
            return data[: error.start].decode("utf-8-sig")
        return data.decode("latin-1")  # the encoding of the PGN standard


def read_games(path: str | Path, problems: list[str] | None = None) -> Iterator[GameResult]:
    """The finished games of a PGN file, in its order, without their moves.

    Broken games are left out and appended to `problems` as `file:line: reason`; unfinished games ("*") are left out
    silently. Raises OSError when the file cannot be read. Pairs are found by the Round tag and swapped colours, which
    works for our games, fastchess's and cutechess-cli's.
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
        if termination == Termination.OTHER:
            termination = termination_of(tags.get("Termination", ""))
        fen, opening, date = (tags.get(tag, "") for tag in ("FEN", "Opening", "Date"))
        yield GameResult(
            *(index, pair, white, black, tags["Result"], termination, detail),
            start_fen=fen or chess.STARTING_FEN,
            opening=opening,
            date=date,
        )
