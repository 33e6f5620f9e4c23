"""Games as PGN: written so that python-chess and GUIs read them, and read from whatever wrote them.

Each engine move carries a comment in cutechess-cli's manner, then the two tags that GUIs know, the evaluation from
white's point of view and the time: `{+0.35/12 0.105s, n=4711 [%eval 0.35,12] [%emt 0:00:00.105]}`. Moves of the opening
carry `{book}`.

A file is cut into games by its bytes before anything is parsed, so a game that is broken or cut short costs no other
and is reported as `file:line: why`.
"""

from __future__ import annotations

import codecs
import io
import re
import textwrap
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import chess
import chess.pgn

from bench.results import WHITE_POINTS, GameResult, MoveRecord, Termination
from engine.files import Output, open_regular, quoted, read_bytes, reason, shown

#: The tag that ties a game to the match it belongs to, by the description's fingerprint.
MATCH_TAG: Final = "MatchId"

_STANDARD_TERMINATION: Final = {
    Termination.TIME_FORFEIT: "time forfeit",
    Termination.ILLEGAL_MOVE: "rules infraction",
    Termination.CRASH: "abandoned",
    Termination.HANG: "abandoned",
    Termination.NOT_STARTED: "abandoned",
    Termination.RESIGN_RULE: "adjudication",
    Termination.DRAW_RULE: "adjudication",
    Termination.TABLEBASE: "adjudication",
    Termination.MAX_MOVES: "adjudication",
}

#: How the programs that play matches say why a game ended; the first that is found in the text counts.
_REASONS: Final = (
    ("syzygytb", Termination.TABLEBASE),
    ("tablebase", Termination.TABLEBASE),
    ("tb position", Termination.TABLEBASE),
    ("on time", Termination.TIME_FORFEIT),
    ("time forfeit", Termination.TIME_FORFEIT),
    ("illegal move", Termination.ILLEGAL_MOVE),
    ("rules infraction", Termination.ILLEGAL_MOVE),
    ("connection stalls", Termination.HANG),
    ("disconnect", Termination.CRASH),
    ("maximal game length", Termination.MAX_MOVES),
    ("draw by adjudication", Termination.DRAW_RULE),
    ("by adjudication", Termination.RESIGN_RULE),
    ("resign", Termination.RESIGN_RULE),
    ("repetition", Termination.REPETITION),
    ("fifty move", Termination.FIFTY_MOVES),
    ("stalemate", Termination.STALEMATE),
    ("insufficient", Termination.MATERIAL),
    ("mates", Termination.CHECKMATE),
    ("abandoned", Termination.CRASH),
)

_TAG: Final = re.compile(r'\[\s*(\w+)\s+"((?:[^"\\]|\\.)*)"\s*\]')
#: The tags that `format_game` writes, in its order.
_TAG_ORDER: Final = (
    "Event", "Site", "Date", "Round", "White", "Black", "Result", "SetUp", "FEN", "Opening", "PlyCount", "TimeControl",
    "WhiteTimeControl", "BlackTimeControl", "Termination", "TerminationDetails", MATCH_TAG,
)  # fmt: skip
#: The beginning of a tag.
_CUT_TAG: Final = re.compile(r'\[?|\[\w+(?: (?:"(?:[^"\\]|\\.)*(?:\\|"\]?)?)?)?')
#: A word of the moves that `format_game` writes: numbers, moves and what its comments consist of.
_WORD: Final = re.compile(
    r"\d+\.(?:\.\.)?|(?:[KQRBN]?[a-h]?[1-8]?x?[a-h][1-8](?:=[QRBN])?|O-O(?:-O)?)[+#]?|\{book\}"
    r"|\{[+-](?:\d+\.\d\d|M\d+)(?:/\d+)?|\{?\d+\.\d{3}s,?|n=\d+|\[%(?:eval|emt)|(?:-?\d+\.\d\d|#-?\d+)(?:,\d+)?\]"
    r"|\d+:\d\d:\d\d\.\d{3}\]\}"
)
#: The beginning of such a word.
_CUT_WORD: Final = re.compile(r"[\w+#=./,:%{}\[\]-]{0,30}")
_END: Final = re.compile(r"(?:^|\s)(1-0|0-1|1/2-1/2|\*)\s*$")
#: Numbers are as long as an engine's can be. No match begins within a number, which would take quadratic time.
_COMMENT: Final = re.compile(
    r"(?<!\d)(?P<score>[+-]?\d{1,7}\.\d{1,9}|[+-]?#?M?\d{1,7})/(?P<depth>\d{1,6})(?!\d)"
    r"(?:\s+(?P<seconds>\d{1,9}(?:\.\d{1,9})?)s)?"
)
_NODES: Final = re.compile(r"\bn=(\d{1,18})(?!\d)")

#: A file of games is at most this large, in bytes.
MOST_BYTES: Final = 2 << 30


def termination_of(text: str) -> Termination:
    """Why a game ended, from the words of cutechess-cli, fastchess or a PGN file."""
    lowered = text.lower()
    try:
        return Termination(lowered)
    except ValueError:
        return next((reason for words, reason in _REASONS if words in lowered), Termination.OTHER)


# --------------------------------------------------------------------------------------------------------------
# Writing
# --------------------------------------------------------------------------------------------------------------


def format_game(
    game: GameResult, event: str, time_controls: tuple[str, str], match_id: str = "", round_name: str = ""
) -> str:
    """The game as PGN text that ends with an empty line; its `moves` must be there. Time controls: white's, black's."""
    board = chess.Board(game.start_fen or chess.STARTING_FEN)
    tags = {
        "Event": event,
        "Site": "?",
        "Date": game.date or "????.??.??",
        "Round": round_name or str(game.game + 1),
        "White": game.white,
        "Black": game.black,
        "Result": game.result,
    }
    if board.fen() != chess.STARTING_FEN:
        tags |= {"SetUp": "1", "FEN": board.fen()}
    if game.opening:
        tags["Opening"] = game.opening
    tags["PlyCount"] = str(len(game.moves))
    if time_controls[0] == time_controls[1]:
        tags["TimeControl"] = time_controls[0]
    else:
        tags["WhiteTimeControl"], tags["BlackTimeControl"] = time_controls
    tags["Termination"] = _STANDARD_TERMINATION.get(game.termination, "normal")
    tags["TerminationDetails"] = game.detail or str(game.termination)
    if match_id:
        tags[MATCH_TAG] = match_id
    head = "".join(f'[{name} "{_escape(value)}"]\n' for name, value in tags.items())
    words: list[str] = []
    for number, record in enumerate(game.moves):
        if board.turn == chess.WHITE:
            words.append(f"{board.fullmove_number}.")
        elif number == 0:
            words.append(f"{board.fullmove_number}...")
        white_moves = board.turn == chess.WHITE
        words.append(board.san_and_push(chess.Move.from_uci(record.uci)))
        words.append(_comment(record, white_moves))
    words.append(game.result)
    body = textwrap.fill(" ".join(words), 100, break_long_words=False, break_on_hyphens=False)
    return f"{head}\n{body}\n\n"


def _escape(value: str) -> str:
    clean = "".join(character if character.isprintable() else " " for character in value)
    return clean.replace("\\", "\\\\").replace('"', '\\"')


def _comment(record: MoveRecord, white_moves: bool) -> str:
    if record.book:
        return "{book}"
    seconds = f"{record.seconds:.3f}s"
    depth = f"/{record.depth}" if record.depth is not None else ""
    sign = 1 if white_moves else -1
    if record.mate is not None:
        text = f"{'+' if record.mate > 0 else '-'}M{abs(record.mate)}"
        evaluation = f"[%eval #{sign * record.mate}{depth.replace('/', ',')}] "
    elif record.centipawns is not None:
        text = f"{record.centipawns / 100:+.2f}"
        evaluation = f"[%eval {sign * record.centipawns / 100:.2f}{depth.replace('/', ',')}] "
    else:
        text, evaluation = "", ""
    nodes = f", n={record.nodes}" if record.nodes is not None else ""
    minutes, rest = divmod(record.seconds, 60)
    emt = f"[%emt {int(minutes) // 60}:{int(minutes) % 60:02d}:{rest:06.3f}]"
    own = f"{text}{depth} {seconds}" if text else seconds
    return f"{{{own}{nodes} {evaluation}{emt}}}"


class PgnLog:
    """A PGN file to which each finished game is appended and forced to the disk before anything else happens.

    Where that fails (a full disk), the games wait in memory and are tried again with the next one. Before the first one
    is written, the file is cut: to nothing, or to what `go_on` says. Where another file took its place, or somebody
    changed it, the games go to a new file beside it, `output` from then on. Raises OSError where none can be written.
    """

    def __init__(self, path: Path) -> None:
        self.waiting: list[bytes] = []
        self.problem: str | None = None
        self.output = Output(path, is_pgn, "file of games")
        self.output.keep = 0
        self._gap = b""

    def go_on(self, size: int) -> None:
        """Keeps the first `size` bytes of the file, and ends them with an empty line. Raises OSError."""
        self.output.keep = size
        with open_regular(self.output.path) as file:
            file.seek(max(0, size - 4))
            end = file.read(min(4, size))
        self._gap = b"\n\n" if end and not end.endswith((b"\n\n", b"\r\n\r\n")) else b""

    def append(self, text: str) -> bool:
        """Appends a game; returns whether this and all earlier ones are safe on the disk. `problem` says why not."""
        self.waiting.append(self._gap + text.encode("utf-8"))
        self._gap = b""
        return self.flush()

    def flush(self) -> bool:
        """Tries to write what waits; returns whether nothing waits any more."""
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
    """Whether a file that begins like this holds games: its first line is a tag."""
    return _TAG.fullmatch(_decode(head.lstrip().partition(b"\n")[0]).strip()) is not None


def is_cut_game(data: bytes, event: str, players: Collection[str], match_id: str) -> bool:
    """Whether `data` is the beginning of a game of that event, players and match as `format_game` writes it.

    False for text that a person or another program wrote or appended.
    """
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(data)  # a character may be cut, too
    except UnicodeDecodeError:
        return False
    head, has_moves, moves = text.partition("\n\n")
    *lines, cut = (head + "\n" * bool(has_moves)).split("\n")
    found = [_TAG.fullmatch(line) for line in lines]
    tags = {match[1]: re.sub(r"\\(.)", r"\1", match[2]) for match in found if match is not None}
    if None in found or len(tags) < len(lines) or list(tags) != [name for name in _TAG_ORDER if name in tags]:
        return False
    begin = f'[Event "{_escape(event)}"]\n[Site "?"]\n'
    known = {"White": players, "Black": players, MATCH_TAG: (match_id,)}
    if "\r" in text or not (text.startswith(begin) or begin.startswith(text)):
        return False
    if any(tags[name] not in values for name, values in known.items() if name in tags):
        return False
    if not has_moves:
        return _CUT_TAG.fullmatch(cut) is not None
    words = moves.split()
    last = "" if not words or moves[-1].isspace() else words.pop()
    return MATCH_TAG in tags and all(map(_WORD.fullmatch, words)) and _CUT_WORD.fullmatch(last) is not None


# --------------------------------------------------------------------------------------------------------------
# Reading
# --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RawGame:
    """One game of a file, uninterpreted: where it lies, its tags and its text. `line` counts from 1."""

    line: int
    start: int
    end: int
    tags: dict[str, str]
    text: str
    problem: str | None
    problem_line: int

    @property
    def is_complete(self) -> bool:
        """Whether the move text ends with a result, so that nothing is missing."""
        return _END.search(self.text) is not None


def split_games(path: str | Path) -> Iterator[RawGame]:
    """Cuts a PGN file into its games. Raises OSError when it cannot be read."""
    data = read_bytes(path, MOST_BYTES)
    offset = start = 0
    first_line = 1
    lines: list[bytes] = []
    in_moves = in_comment = False
    for number, line in enumerate(data.splitlines(keepends=True), start=1):
        if line.startswith(b"[") and in_moves and (not in_comment or _TAG.fullmatch(_decode(line).strip())):
            yield _raw_game(lines, first_line, start, offset)
            lines, start, first_line, in_moves, in_comment = [], offset, number, False, False
        elif line.strip() and not line.startswith((b"[", b"%")):
            in_moves = True
        if in_moves:
            opened, closed = line.rfind(b"{"), line.rfind(b"}")
            if opened != closed:
                in_comment = opened > closed
        lines.append(line)
        offset += len(line)
    if b"".join(lines).strip():
        yield _raw_game(lines, first_line, start, offset)


def _decode(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:  # PGN was Latin-1 for most of its life
        return data.decode("latin-1")


def _raw_game(lines: list[bytes], first_line: int, start: int, end: int) -> RawGame:
    tags: dict[str, str] = {}
    problem, problem_line = None, first_line
    in_moves = False
    for number, raw in enumerate(lines, start=first_line):
        line = _decode(raw).strip()
        if line.startswith("[") and not in_moves:
            match = _TAG.fullmatch(line)
            if match is None and problem is None:
                problem, problem_line = f"not a tag: {quoted(line)}", number
            elif match is not None:
                # Names are printed on terminals and in every line of a table: they must be printable and short.
                tags[match[1]] = shown(re.sub(r"\\(.)", r"\1", match[2]))
        elif line and not line.startswith("%"):
            in_moves = True
    return RawGame(first_line, start, end, tags, _decode(b"".join(lines)), problem, problem_line)


def read_games(path: str | Path, problems: list[str] | None = None, *, moves: bool = False) -> Iterator[GameResult]:
    """The finished games of a PGN file, in its order; `moves` also replays and checks every move.

    What is broken is appended to `problems` as `file:line: why` and left out; unfinished games ("*") are left out
    silently. Raises OSError when the file cannot be read. Pairs are found by the Round tag and swapped colours, which
    holds for our games, fastchess's and cutechess-cli's.
    """
    waiting: dict[tuple[str, str, str], int] = {}
    pairs = 0
    for index, raw in enumerate(split_games(path)):
        problem, line = _what_is_wrong(raw)
        parsed = None
        if problem is None and moves:
            parsed = chess.pgn.read_game(io.StringIO(raw.text), Visitor=_QuietBuilder)
            if parsed is None or parsed.errors:
                problem = str(parsed.errors[0]) if parsed is not None else "no game here"
                line = _line_of(raw, problem)
        if problem is not None:
            if problems is not None:
                problems.append(f"{shown(path)}:{line}: {shown(problem)}")
            continue
        if raw.tags["Result"] == "*":
            continue
        white, black = raw.tags.get("White", "?"), raw.tags.get("Black", "?")
        round_name = raw.tags.get("Round", "?").partition(".")[0]
        pair = waiting.pop((black, white, round_name), None)
        if pair is None:
            pair, pairs = pairs, pairs + 1
            waiting[white, black, round_name] = pair
        yield _game_result(index, pair, raw, parsed)


class _QuietBuilder(chess.pgn.GameBuilder[chess.pgn.Game]):
    """Collects what is wrong with a game's moves, which python-chess would also print."""

    def handle_error(self, error: Exception) -> None:
        self.game.errors.append(error)


def _what_is_wrong(raw: RawGame) -> tuple[str | None, int]:
    """The first thing wrong with a game's frame, and its line."""
    if raw.problem is not None:
        return raw.problem, raw.problem_line
    last_line = raw.line + raw.text.rstrip().count("\n")
    end = _END.search(raw.text)
    if "Result" not in raw.tags:
        return "a game without a Result tag", raw.line
    if raw.tags["Result"] not in (*WHITE_POINTS, "*"):
        return f"no result: {quoted(raw.tags['Result'])}", raw.line
    if end is None:
        return "the game is cut short: no result at its end", last_line
    if end[1] != raw.tags["Result"]:
        return f"the tag says {raw.tags['Result']}, the moves end with {end[1]}", last_line
    return None, raw.line


def _line_of(raw: RawGame, problem: str) -> int:
    """The line with the move that python-chess quotes in its message."""
    word = re.search(r"'([^']+)'", problem)
    if word:
        for number, line in enumerate(raw.text.splitlines(), start=raw.line):
            if not line.startswith("[") and re.search(rf"(?<!\S){re.escape(word[1])}(?!\S)", line):
                return number
    return raw.line


def _game_result(index: int, pair: int, raw: RawGame, parsed: chess.pgn.Game | None) -> GameResult:
    tags = raw.tags
    comments = re.findall(r"\{([^}]*)\}", raw.text[-400:])
    details = tags.get("TerminationDetails", "")
    # cutechess-cli and fastchess say it most precisely in the comment after the last move.
    reason = details or (comments[-1] if comments else "")
    termination = termination_of(reason)
    if termination == Termination.OTHER:
        termination = termination_of(tags.get("Termination", ""))
    records: tuple[MoveRecord, ...] = ()
    final_fen = None
    plies = int(tags["PlyCount"]) if re.fullmatch(r"[0-9]{1,6}", tags.get("PlyCount", "")) else None
    if parsed is not None:
        records = tuple(_move_record(node) for node in parsed.mainline())
        final_fen, plies = parsed.end().board().fen(), len(records)
        if termination == Termination.OTHER and parsed.end().board().is_checkmate():
            termination = Termination.CHECKMATE
    return GameResult(
        game=index,
        pair=pair,
        white=tags.get("White", "?"),
        black=tags.get("Black", "?"),
        result=tags["Result"],
        termination=termination,
        detail=details,
        plies=plies,
        start_fen=tags.get("FEN", chess.STARTING_FEN),
        final_fen=final_fen,
        opening=tags.get("Opening", ""),
        moves=records,
        date=tags.get("Date", ""),
    )


def _move_record(node: chess.pgn.ChildNode) -> MoveRecord:
    """Reads back a move with its comment, ours, cutechess-cli's or fastchess's."""
    comment = node.comment
    match = _COMMENT.search(comment)
    nodes = _NODES.search(comment)
    centipawns = mate = depth = None
    seconds = 0.0
    with suppress(ValueError):  # a number of thousands of digits
        seconds = node.emt() or 0.0
    if match:
        depth = int(match["depth"])
        score = match["score"]
        if "M" in score or "#" in score:
            mate = int(score.replace("M", "").replace("#", ""))
        else:
            centipawns = round(float(score) * 100)
        seconds = float(match["seconds"] or seconds)
    return MoveRecord(
        node.move.uci(), seconds, depth, centipawns, mate, int(nodes[1]) if nodes else None, "book" in comment
    )
