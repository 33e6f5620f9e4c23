"""The runners cutechess-cli and fastchess, which take nearly the same arguments and print the same lines.

The program gets the selected openings, in order, in a temporary file, so that every runner plays the same openings of a
book. The program writes the PGN file, and this module reads the program's output line by line.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO, Final

import chess.pgn

from bench.adjudication import Adjudication
from bench.engines import EngineSpec
from bench.openings import Opening
from bench.pgn import MOST_BYTES, is_pgn, split_games, termination_of
from bench.results import GameResult
from bench.runners.base import Collector, PlayError, Runner, unfit_engines
from bench.schedule import Plan
from engine.files import Output, leads_to, printable, read_bytes, reason, shown

#: Maps the name of each of these runners to its program.
PROGRAMS: Final = {"cutechess": "cutechess-cli", "fastchess": "fastchess"}

_FINISHED: Final = re.compile(r"Finished game (\d+) \((.+) vs (.+)\): (1-0|0-1|1/2-1/2) \{(.*)\}")
#: Only this many characters of an output line are searched, because the search may take quadratic time.
_LONGEST_LINE: Final = 4096
#: After SIGINT, the program may take this many seconds to end its games and engines.
STOP_SECONDS: Final = 20.0


class ExternalRunner(Runner):
    """A runner that runs cutechess-cli or fastchess and reads its output."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.program = PROGRAMS[name]

    def required_program(self) -> str:
        """Returns the path of the program. Raises `PlayError` if the program is not on the PATH."""
        program = shutil.which(self.program)
        if program is None:
            raise PlayError(f"{self.program} is not on the PATH; install it or pass --runner builtin")
        return program

    def arguments(self, plan: Plan, book: Path, pgn: Path, scratch: Path) -> list[str]:
        """Returns the program's arguments to play `plan` with the openings in `book` and to write the games to `pgn`.

        fastchess saves its state in the folder `scratch`.
        """
        description, is_fastchess = plan.description, self.name == "fastchess"
        arguments: list[str] = []
        for engine in description.engines:
            arguments += ["-engine", *_engine_words(engine, description.time_margin, is_fastchess)]
        if description.format != "match":
            arguments += ["-tournament", description.format.replace("-", "" if is_fastchess else "-")]
        arguments += ["-games", "2", "-rounds", str(description.rounds)]
        arguments += ["-openings", f"file={book}", f"format={book.suffix[1:]}", "order=sequential"]
        arguments += ["-concurrency", str(description.concurrency), *_rule_arguments(description.adjudication)]
        # Without -recover, the first crash of an engine would end the match.
        arguments += ["-recover", "-event", description.event, "-ratinginterval", "0"]
        if not is_fastchess:
            return [*arguments, "-repeat", "2", "-pgnout", str(pgn), "fi"]
        return [
            *arguments,
            # Without this, fastchess refuses to play more games at the same time than there are cores.
            "-force-concurrency",
            *("-pgnout", f"file={pgn}", "nodes=true"),
            *("-output", "format=cutechess"),
            # fastchess always saves its state; without a file name, it would overwrite ./config.json.
            *("-config", f"outname={scratch / 'config.json'}"),
        ]

    def command_line(self, plan: Plan) -> str:
        """Returns the command that plays `plan`, with placeholders for the names of the temporary files."""
        pgn = Path(plan.description.pgn or "GAMES.pgn")
        book = Path("OPENINGS" + _book_suffix(plan.openings))
        return shlex.join([shutil.which(self.program) or self.program, *self.arguments(plan, book, pgn, Path())])

    def run(self, plan: Plan, collector: Collector, games: Output | None) -> None:
        """Runs the program on `plan` without unfit engines, if enough remain, and passes the games to `collector`."""
        program, description, problems = self.required_program(), plan.description, collector.result.problems
        unfit = unfit_engines(description.engines, None)
        for problem in unfit.values():
            collector.add_problem(problem)
        fit = tuple(engine for engine in description.engines if engine not in unfit)
        if len(fit) < 2 or (description.format == "gauntlet" and fit[0] != description.engines[0]):
            return
        plan = replace(plan, description=replace(description, engines=fit))
        with tempfile.TemporaryDirectory(prefix="secateur-") as folder:
            book = Path(folder, "openings" + _book_suffix(plan.openings))
            book.write_text(book_text(plan.openings), encoding="utf-8")
            games = games or Output(Path(folder, "games.pgn"), is_pgn, "PGN file")
            # The program writes to a new file, because a user may change the PGN file meanwhile.
            place = games.path.absolute()
            descriptor, name = tempfile.mkstemp(".pgn", f"{place.stem[:60]}-", place.parent)
            last_lines: deque[str] = deque(maxlen=5)
            command = [program, *self.arguments(plan, book, Path(name), Path(folder))]
            with os.fdopen(descriptor, "rb") as played:
                try:
                    status = _follow(command, collector, last_lines)
                finally:
                    _take_over(games, Path(name), played, problems)
        result = collector.result
        if result.interrupted:
            kept = f"; the finished games are in {shown(games.path)}" if description.pgn and games.size else ""
            result.notes.append(f"interrupted{kept}")
        unwanted = result.stopped_early or result.interrupted
        if not unwanted and (status != 0 or len(result.games) < plan.game_count):
            problems.append(
                f"{self.program} ended with exit status {status} after {len(result.games)} of {plan.game_count} games; "
                + (f"its last lines: {' | '.join(last_lines)}" if last_lines else "it printed nothing")
            )


def _engine_words(engine: EngineSpec, margin: float, is_fastchess: bool) -> Iterator[str]:
    """Yields the program's arguments for an engine, which may exceed its time by `margin` seconds."""
    limit, arguments = engine.limit, engine.command[1:]
    yield from (f"name={engine.name}", f"cmd={engine.resolved_program()}")
    if not is_fastchess:
        yield from (f"arg={argument}" for argument in arguments)
    elif arguments:
        yield f"args={' '.join(map(_quoted, arguments))}"
    # The folder is explicit, because cutechess-cli would otherwise use the folder of the engine's program.
    yield from ("proto=uci", f"dir={Path(engine.directory or '.').absolute()}")
    if limit.has_clock:
        yield f"tc={limit.clock_text()}"
    if limit.movetime is not None:
        yield f"st={limit.movetime:g}"
    if limit.is_timed:
        yield f"timemargin={round(margin * 1000)}"
    elif not is_fastchess:
        yield "tc=inf"
    if limit.nodes is not None:
        yield f"nodes={limit.nodes}"
    if limit.depth is not None:
        yield f"{'plies' if is_fastchess else 'depth'}={limit.depth}"
    if engine.restart:
        yield "restart=on"
    yield from (f"option.{name}={value}" for name, value in engine.options)


def _quoted(argument: str) -> str:
    """Quotes an argument for fastchess's argument parser, which supports only double quotes and backslashes."""
    if argument and not any(character in ' "\\' for character in argument):
        return argument
    escaped = argument.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _rule_arguments(rules: Adjudication) -> Iterator[str]:
    """Yields the program's arguments for adjudication."""
    if rules.resign is not None:
        yield from ("-resign", f"movecount={rules.resign.moves}", f"score={rules.resign.score}")
        yield f"twosided={'true' if rules.resign.both_sides else 'false'}"
    if rules.draw is not None:
        draw = rules.draw
        yield from ("-draw", f"movenumber={draw.from_move}", f"movecount={draw.moves}", f"score={draw.score}")
    if rules.max_moves is not None:
        yield from ("-maxmoves", str(rules.max_moves))
    if rules.tablebases is not None:
        yield from ("-tb", rules.tablebases, "-tbpieces", "7")


def _book_suffix(openings: tuple[Opening, ...]) -> str:
    return ".pgn" if any(opening.moves for opening in openings) else ".epd"


def book_text(openings: tuple[Opening, ...]) -> str:
    """Returns the openings as PGN if any of them has moves, else as EPD."""
    if _book_suffix(openings) == ".epd":
        return "".join(f"{opening.fen}\n" for opening in openings)
    return "".join(f"{chess.pgn.Game.from_board(opening.board())}\n\n" for opening in openings)


def finished_game(line: str) -> GameResult | None:
    """Returns the finished game that a line of the program's output reports; None if it reports none."""
    finished = _FINISHED.fullmatch(line)
    if finished is None:
        return None
    index = int(finished[1]) - 1
    termination = termination_of(finished[5])
    return GameResult(index, index // 2, finished[2], finished[3], finished[4], termination, detail=finished[5])


def _follow(command: list[str], collector: Collector, last_lines: deque[str]) -> int:
    """Runs `command`; returns its exit status. Stops it if `collector.add` returns False, or on Ctrl-C or SIGTERM.

    Passes the games that the command reports to `collector`, and the other lines of its output to `last_lines`.
    """
    # The program runs in a new session, so Ctrl-C reaches only this process, which then stops the program by SIGINT.
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
    before = signal.getsignal(signal.SIGTERM) or signal.SIG_DFL
    with contextlib.suppress(ValueError):  # only the main thread can handle signals
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        for line in process.stdout:
            text = printable(line.rstrip()[:_LONGEST_LINE])
            game = finished_game(text)
            if game is None:
                last_lines.extend(filter(None, [text]))
            elif not collector.add(game):
                break
        else:
            return process.wait()
    except KeyboardInterrupt:
        collector.result.interrupted = True
    finally:
        if process.poll() is None:
            # Windows has neither this signal for other processes nor process groups.
            process.terminate() if sys.platform == "win32" else process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                # This reads the output, because a full pipe would prevent the program from ending.
                process.communicate(timeout=STOP_SECONDS)
        process.stdout.close()
        with contextlib.suppress(ProcessLookupError, AttributeError):
            os.killpg(process.pid, signal.SIGKILL)  # ends the program and engines that are still running
        with contextlib.suppress(ValueError):
            signal.signal(signal.SIGTERM, before)
    return process.wait()


def _take_over(games: Output, path: Path, played: IO[bytes], problems: list[str]) -> None:
    """Moves games from `played`, and any new file at `path`, to `games`. If none is complete, keeps earlier ones."""
    try:
        data = played.read(MOST_BYTES)
        with contextlib.suppress(OSError):
            if not leads_to(path, played):  # somebody moved the file, and the program went on in a new one
                data += b"\n\n" + read_bytes(path, MOST_BYTES)
        if data and games.size and not any(raw.is_complete for raw in split_games(data)):
            problems.append(f"{shown(games.path)}: keeps its games; the unfinished new games are in {shown(path)}")
            return
        if data:
            games.replace(data, keep_old=True)
        if leads_to(path, played) and os.fstat(played.fileno()).st_size == len(data):
            path.unlink()
    except OSError as error:
        problems.append(f"{shown(games.path)}: cannot be written: {reason(error)}; the games are in {shown(path)}")
