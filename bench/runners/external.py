"""The common part of the wrappers of cutechess-cli and fastchess: nearly the same arguments, and the same output.

The program gets the openings in a temporary file, already chosen and in order, so that every runner plays the same
games from the same book. We read its output line by line; its PGN file supplies the details that the lines lack.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from abc import abstractmethod
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar, Final

import chess.pgn

from bench.adjudication import Adjudication
from bench.engines import EngineSpec, EngineSpecError
from bench.openings import Opening
from bench.pgn import MOST_BYTES, is_pgn, read_games, split_games, termination_of
from bench.results import GameResult, MatchResult, Termination
from bench.runners.base import Collector, OnGame, OnProblem, Runner, RunnerError, unfit_engines
from bench.schedule import Plan
from engine.files import Output, printable, read_bytes, reason

_FINISHED: Final = re.compile(r"Finished game (\d+) \((.+) vs (.+)\): (1-0|0-1|1/2-1/2|\*) \{(.*)\}")
#: Lines in which the programs report problems.
_COMPLAINT: Final = re.compile(
    r"warning[:;]|error\b|cannot|could not|does(?:n't| not) (?:have|exist|support)|invalid|unknown|failed",
    re.IGNORECASE,
)
#: Exceptions: a fault that its game reports, the end of the match, or a remark about an engine's principal variation.
_NO_COMPLAINT: Final = re.compile(
    r"is not responsive|Illegal move|Stats will be dropped|^Elo difference"
    r"|(?i:\bPVs?\b|info line|extract score|mating)"
)
#: The patterns search only this many characters of a line.
_LONGEST_LINE: Final = 4096
#: Seconds that the program gets to end its games and engines after Ctrl-C.
STOP_SECONDS: Final = 20.0


@dataclass
class Transcript:
    """What the program has printed so far."""

    games: list[GameResult] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    last_lines: deque[str] = field(default_factory=lambda: deque(maxlen=5))

    def read(self, line: str, games_per_pair: int) -> GameResult | None:
        """Reads one line; returns the game that it reports as finished, None if it reports none."""
        # A longer line comes from an engine; the pattern would take quadratic time on it.
        line = printable(line.rstrip()[:_LONGEST_LINE])
        finished = _FINISHED.fullmatch(line)
        if finished is not None:
            number, white, black, result, why = finished.groups()
            index = int(number) - 1
            game = GameResult(
                index, index // games_per_pair, white, black, result, termination=termination_of(why), detail=why
            )
            if not game.is_finished:
                return None
            self.games.append(game)
            return game
        if line:
            self.last_lines.append(line)
        if _COMPLAINT.search(line) and not _NO_COMPLAINT.search(line) and line not in self.complaints:
            self.complaints.append(line)
        return None


class ExternalRunner(Runner):
    """Runs a match program and reads its output. Subclasses define what their programs spell differently."""

    program: ClassVar[str]
    #: The program's names for the formats that are more than a match.
    formats: ClassVar[dict[str, str]]
    #: An engine's key for a limit in plies, and the words for an engine without a time limit.
    depth_key: ClassVar[str]
    untimed: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def program_path(cls) -> str | None:
        """The program's path; None when it is not on the PATH."""
        return shutil.which(cls.program)

    def required_program(self) -> str:
        """The program's path. Raises `RunnerError` when it is not on the PATH."""
        program = self.program_path()
        if program is None:
            raise RunnerError(f"{self.program} is not on the PATH; --runner builtin needs no other program")
        return program

    @abstractmethod
    def command_words(self, arguments: tuple[str, ...]) -> Iterator[str]:
        """The words that pass `arguments` to an engine's program."""

    @abstractmethod
    def own_arguments(self, plan: Plan, pgn: Path, scratch: Path) -> list[str]:
        """Options that only this program has or needs, and those that make it write its games to `pgn`."""

    def arguments(self, plan: Plan, book: Path, pgn: Path, scratch: Path) -> list[str]:
        """The program's arguments for `plan`, with its openings in `book` and its games to `pgn`."""
        description = plan.description
        arguments: list[str] = []
        for engine in description.engines:
            arguments += ["-engine", *self._engine_words(engine, plan)]
        if description.format != "match":
            arguments += ["-tournament", self.formats[description.format]]
        arguments += ["-games", str(description.games_per_pair), "-rounds", str(description.rounds)]
        arguments += ["-openings", f"file={book}", f"format={book.suffix[1:]}", "order=sequential"]
        arguments += ["-concurrency", str(description.concurrency), *_rule_arguments(description.adjudication)]
        # Without -recover, one crash would end the match.
        arguments += ["-recover", "-event", description.event, "-ratinginterval", "0"]
        return arguments + self.own_arguments(plan, pgn, scratch)

    def _engine_words(self, engine: EngineSpec, plan: Plan) -> Iterator[str]:
        limit = engine.limit
        yield from (f"name={engine.name}", f"cmd={engine.resolved_program()}")
        yield from self.command_words(engine.command[1:])
        # By default, cutechess-cli starts an engine in the folder of the engine's program.
        yield from ("proto=uci", f"dir={Path(engine.directory or '.').absolute()}")
        if limit.has_clock:
            yield f"tc={limit.clock_text()}"
        if limit.movetime is not None:
            yield f"st={limit.movetime:g}"
        if limit.is_timed:
            yield f"timemargin={round(plan.description.time_margin * 1000)}"
        else:
            yield from self.untimed
        if limit.nodes is not None:
            yield f"nodes={limit.nodes}"
        if limit.depth is not None:
            yield f"{self.depth_key}={limit.depth}"
        if engine.restart:
            yield "restart=on"
        yield from (f"option.{name}={value}" for name, value in engine.options)

    def command_line(self, plan: Plan) -> list[str]:
        """The exact command, with placeholder names for the two temporary files."""
        pgn = Path(plan.description.pgn or "GAMES.pgn")
        book = Path("OPENINGS" + _book_suffix(plan.openings))
        return [self.program_path() or self.program, *self.arguments(plan, book, pgn, Path())]

    def run(self, plan: Plan, on_game: OnGame, on_problem: OnProblem) -> MatchResult:
        """Runs the program and reads its output to the end."""
        began = time.monotonic()
        program = self.required_program()
        collector = Collector(plan, on_game, on_problem)
        unfit = unfit_engines(plan.description.engines, None)
        if unfit:
            collector.add_unfit(unfit.values())
            fit = tuple(engine for engine in plan.description.engines if engine not in unfit)
            if len(fit) < 2 or (plan.description.format == "gauntlet" and fit[0] != plan.description.engines[0]):
                return collector.finish(time.monotonic() - began)
            plan = replace(plan, description=replace(plan.description, engines=fit))
        with tempfile.TemporaryDirectory(prefix="secateur-") as folder:
            scratch = Path(folder)
            book = scratch / ("openings" + _book_suffix(plan.openings))
            book.write_text(book_text(plan.openings), encoding="utf-8")
            try:
                games = Output(Path(plan.description.pgn or scratch / "games.pgn"), is_pgn, "file of games")
                pgn = (games.beside() if games.size else games).path.absolute()
                command = [program, *self.arguments(plan, book, pgn, scratch)]
            except EngineSpecError as error:
                raise RunnerError(str(error)) from None
            except OSError as error:
                raise RunnerError(f"{error.filename}: {reason(error)}") from None
            output = Transcript()
            status = self._follow(command, collector, output, plan.description.games_per_pair)
            _add_details(collector.result, pgn)
            if games.size and pgn.exists():
                _replace_games(games, pgn, collector.result.problems)
        result = collector.result
        result.problems.extend(f"{self.program}: {line}" for line in output.complaints)
        unwanted = result.stopped_early or result.interrupted
        if not unwanted and (status != 0 or len(result.games) < plan.game_count):
            last = " | ".join(output.last_lines) or "it printed nothing"
            result.problems.append(
                f"{self.program} ended with exit status {status} after {len(result.games)} of {plan.game_count} games; "
                f"its last lines: {last}"
            )
        return collector.finish(time.monotonic() - began)

    def _follow(self, command: list[str], collector: Collector, output: Transcript, games_per_pair: int) -> int:
        """Runs `command`, feeds its lines to `output` and its games to `collector`; returns its exit status."""
        # The program gets a session of its own: Ctrl-C reaches only us, and we stop the program in its own way.
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        assert process.stdout is not None
        try:
            for line in process.stdout:
                game = output.read(line, games_per_pair)
                if game is not None and not collector.add(game):
                    break
            else:
                return process.wait()
        except KeyboardInterrupt:
            collector.result.interrupted = True
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    # Keep reading: a full pipe would keep the program from ending.
                    process.communicate(timeout=STOP_SECONDS)
            process.stdout.close()
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # the program, or engines that outlived it
        return process.wait()


def _rule_arguments(rules: Adjudication) -> Iterator[str]:
    """The adjudication options."""
    if rules.resign is not None:
        yield from ("-resign", f"movecount={rules.resign.moves}", f"score={rules.resign.score}")
        yield f"twosided={'true' if rules.resign.both_sides else 'false'}"
    if rules.draw is not None:
        draw = rules.draw
        yield from ("-draw", f"movenumber={draw.from_move}", f"movecount={draw.moves}", f"score={draw.score}")
    if rules.max_moves is not None:
        yield from ("-maxmoves", str(rules.max_moves))
    if rules.tablebases is not None:
        yield from ("-tb", rules.tablebases, "-tbpieces", str(rules.tablebase_pieces))


def _book_suffix(openings: Iterable[Opening]) -> str:
    return ".pgn" if any(opening.moves for opening in openings) else ".epd"


def book_text(openings: tuple[Opening, ...]) -> str:
    """The openings as EPD when they are positions only, as PGN when they have moves."""
    if _book_suffix(openings) == ".epd":
        return "".join(f"{opening.fen}\n" for opening in openings)
    return "".join(f"{chess.pgn.Game.from_board(opening.board())}\n\n" for opening in openings)


def _replace_games(games: Output, new: Path, problems: list[str]) -> None:
    """Replaces the games of an earlier match by those in the file `new`, if there are any, and removes that file."""
    try:
        if any(raw.is_complete for raw in split_games(new)):
            games.replace(read_bytes(new, MOST_BYTES))
        new.unlink()
    except OSError as error:
        problems.append(f"{games.path}: the earlier games are still in it: {reason(error)}")


def _add_details(result: MatchResult, pgn: Path) -> None:
    """Completes the games from the output with details from the PGN file.

    Neither program numbers the games in its PGN, but the Round tag orders the games of one pairing and colour.
    """
    if not pgn.exists():
        return
    problems: list[str] = []
    written: defaultdict[tuple[str, str], list[GameResult]] = defaultdict(list)
    for game in read_games(pgn, problems, moves=True):
        written[game.white, game.black].append(game)
    result.problems.extend(problems)
    places: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for place in sorted(range(len(result.games)), key=lambda place: result.games[place].game):
        places[result.games[place].white, result.games[place].black].append(place)
    for key, own in places.items():
        found = sorted(written[key], key=lambda game: game.pair)
        if len(found) != len(own):
            continue  # truncated: no details are better than wrong ones
        for place, game in zip(own, found, strict=True):
            if result.games[place].result == game.result:
                live = result.games[place]
                result.games[place] = replace(
                    live,
                    termination=game.termination if live.termination == Termination.OTHER else live.termination,
                    plies=game.plies,
                    start_fen=game.start_fen,
                    final_fen=game.final_fen,
                    opening=game.opening,
                    date=game.date,
                )
