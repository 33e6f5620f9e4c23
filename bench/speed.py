"""Speed and start-up side by side: Secateur and a rival engine, interleaved in one run.

Times depend on the machine and on what else it does; ratios of runs that took turns depend on it much less. Every
figure is the median over rounds, with the smallest and the largest beside it.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import chess

from bench.engines import SECATEUR
from engine.compiler.cache_folder import CACHE_VARIABLE
from engine.compiler.library import JIT, KERNELS_VARIABLE
from engine.errors import CommandError, MissingError
from engine.extras import has_numba
from engine.files import quoted, read_bytes, reason, replace_file, shown
from search.benchmark import POSITIONS
from search.limits import Limits

KIWIPETE: Final = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"

#: (FEN, depth in plies, known count) of the perft comparison.
PERFT_POSITIONS: Final = ((chess.STARTING_FEN, 6, 119_060_324), (KIWIPETE, 5, 193_690_690))

#: Positions of the search measurements: an opening, middlegames, tactics, an endgame.
SEARCH_POSITIONS: Final = (POSITIONS[0], POSITIONS[5], POSITIONS[7], KIWIPETE, POSITIONS[12], POSITIONS[15])

#: Seconds that any one answer may take.
PATIENCE: Final = 300.0

#: Makes an engine compile its kernels, also where they were compiled ahead of time.
BY_NUMBA: Final = {KERNELS_VARIABLE: JIT}


class EngineError(CommandError):
    """An engine that did not start, did not answer, or answered nonsense; the message names it."""


@dataclass(frozen=True)
class Row:
    """One line of the table. `values` are the rounds' figures; `must` and `aim` as stated; `lower_is_better`."""

    name: str
    unit: str
    values: tuple[float, ...]
    must: float
    aim: float
    lower_is_better: bool = False

    @property
    def median(self) -> float:
        """Median over the rounds."""
        return statistics.median(self.values)

    def verdict(self) -> str:
        """`aim`, `must` or `MISSED`."""
        sign = -1 if self.lower_is_better else 1
        if sign * self.median >= sign * self.aim:
            return "aim"
        return "must" if sign * self.median >= sign * self.must else "MISSED"

    def cells(self) -> list[str]:
        """The row's text cells: name, median, spread, must, aim, verdict."""

        def show(value: float) -> str:
            digits = f"{value:.0f}" if value >= 100 else f"{value:.2f}"
            return f"{digits}{self.unit}"

        spread = f"{show(min(self.values))} - {show(max(self.values))}" if len(self.values) > 1 else ""
        return [self.name, show(self.median), spread, show(self.must), show(self.aim), self.verdict()]


@dataclass
class Report:
    """The finished table and what could not be measured."""

    rows: list[Row] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def markdown(self) -> str:
        """The table as Markdown, followed by the remarks."""
        head = ["what", "median", "spread", "must", "aim", "reached"]
        lines = ["| " + " | ".join(head) + " |", "|---|---|---|---|---|---|"]
        lines += ["| " + " | ".join(row.cells()) + " |" for row in self.rows]
        lines += ["", *(f"- {remark}" for remark in self.remarks)] if self.remarks else []
        return "\n".join(lines)


class Conversation:
    """A UCI engine as a child process, for timing what it does."""

    def __init__(
        self, command: list[str], environment: dict[str, str] | None = None, directory: str | None = None
    ) -> None:
        self.name = command[0]
        #: Everything it said, for those who want more than the answer.
        self.heard: list[str] = []
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the engine
        try:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                text=True,
                bufsize=1,
                cwd=directory,
                env={**os.environ, **(environment or {})},
            )
        except OSError as error:
            self._errors.close()
            raise EngineError(f"{self.name} does not start: {error.strerror or error}") from None

    def ask(self, command: str, answer: str, patience: float = PATIENCE) -> tuple[str, float]:
        """Sends a command; returns the first line that starts with `answer`, and the seconds until it came.

        Raises EngineError when that takes longer than `patience` seconds, or the engine is gone.
        """
        assert self.process.stdin is not None
        start = time.perf_counter()
        try:
            self.process.stdin.write(command + "\n")
            self.process.stdin.flush()
        except OSError:
            raise EngineError(f"{self.name} went away before '{command}'{self._last_words()}") from None
        # The alarm ends an engine that says nothing at all, so that the loop below ends, too.
        alarm = threading.Timer(patience, self.process.kill)
        alarm.start()
        try:
            return self._wait_for(command, answer, start)
        finally:
            alarm.cancel()

    def _wait_for(self, command: str, answer: str, start: float) -> tuple[str, float]:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.heard.append(line)
            if line.startswith(answer):
                return line.strip(), time.perf_counter() - start
        waited = time.perf_counter() - start
        raise EngineError(
            f"{self.name} did not answer '{command}' with '{answer}' in {waited:.0f} s{self._last_words()}"
        )

    def _last_words(self) -> str:
        """The engine's last line, for a message."""
        self._errors.seek(0)
        heard = [*(line.strip() for line in self.heard), *self._errors.read().decode(errors="replace").splitlines()]
        last = next((line for line in reversed(heard) if line.strip()), None)
        return "; it said nothing" if last is None else f"; its last line: {quoted(last)}"

    def close(self) -> None:
        """Ends the engine, politely first."""
        try:
            self.process.communicate("quit\n", timeout=5)
        except (subprocess.TimeoutExpired, OSError, ValueError):
            self.process.kill()
            self.process.wait()
        self._errors.close()

    def __enter__(self) -> Conversation:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def find_rival(path: str | None) -> str | None:
    """The rival's executable: the given one, or Stockfish on the PATH or where Debian puts games; None when absent."""
    if path is not None:
        return shutil.which(path)
    return shutil.which("stockfish") or shutil.which("/usr/games/stockfish")


def perft_seconds(engine: Conversation) -> float:
    """Seconds that an engine's `go perft` takes over PERFT_POSITIONS. Raises EngineError for a wrong count."""
    total = 0.0
    for fen, depth, expected in PERFT_POSITIONS:
        engine.ask(f"position fen {fen}\nisready", "readyok")
        line, seconds = engine.ask(f"go perft {depth}", "Nodes searched")
        count = int(line.split(":")[1])
        if count != expected:
            raise EngineError(f"{engine.name}: perft {depth} of {fen} is {expected}, not {count}")
        total += seconds
    return total


def bench_speed(command: list[str], environment: dict[str, str] | None = None, *arguments: str) -> float:
    """Nodes per second that an engine's `bench` reports, in either of the usual forms. Raises EngineError.

    `arguments` follow the word `bench`.
    """
    try:
        done = subprocess.run(
            [*command, "bench", *arguments],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
            env={**os.environ, **(environment or {})},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EngineError(f"{command[0]} bench: {error}") from None
    for line in reversed((done.stdout + "\n" + done.stderr).splitlines()):
        words = line.split()
        if words[-1:] == ["nps"] and words[-2].isdecimal():
            return float(words[-2])
        if line.startswith("Nodes/second") and words[-1].isdecimal():
            return float(words[-1])
    raise EngineError(f"{command[0]} bench: no nodes per second in its output")


def two_thread_speedup() -> float:
    """Perft time on one thread over the time on two, both positions: the best of five turns each, which are short."""
    from search.perft import count_by_move

    best = {1: float("inf"), 2: float("inf")}
    for _ in range(5):
        for threads in best:
            start = time.perf_counter()
            for fen, depth, _ in PERFT_POSITIONS:
                count_by_move(chess.Board(fen), depth, threads)
            best[threads] = min(best[threads], time.perf_counter() - start)
    return best[1] / best[2]


def search_speedup(positions: tuple[str, ...] = SEARCH_POSITIONS, milliseconds: int = 500) -> float:
    """Nodes per second of the search on two threads over those on one, in turns on each position."""
    from eval.network.format import shipped_network
    from search.searcher import Game, Searcher

    nodes = {1: 0, 2: 0}
    seconds = {1: 0.0, 2: 0.0}
    searchers = {threads: Searcher(threads=threads, network=shipped_network()) for threads in nodes}
    for fen in positions:
        for threads, searcher in searchers.items():
            searcher.new_game()
            result = searcher.search(Game(chess.Board(fen)), Limits(move_time=milliseconds))
            nodes[threads] += result.nodes
            seconds[threads] += result.seconds
    for searcher in searchers.values():
        searcher.close()
    return nodes[2] / seconds[2] / (nodes[1] / seconds[1])


def seconds_to(answer: str, command: str, environment: dict[str, str]) -> float:
    """Seconds from starting Secateur in an environment until it gives `answer` to `command`."""
    start = time.perf_counter()
    with Conversation(SECATEUR, environment) as engine:
        engine.ask(command, answer)
        return time.perf_counter() - start


def compile_seconds() -> float:
    """Seconds that `secateur warmup` takes with an empty cache."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        subprocess.run(
            [*SECATEUR, "warmup"],
            env={**os.environ, **BY_NUMBA, CACHE_VARIABLE: folder},
            capture_output=True,
            check=True,
        )
        return time.perf_counter() - start


def resident_mebibytes(environment: dict[str, str]) -> float | None:
    """Resident memory of Secateur after a search that fills its 16-MiB table; None where /proc does not tell."""
    with Conversation(SECATEUR, environment) as engine:
        engine.ask("isready", "readyok")
        engine.ask("setoption name Hash value 16\nposition startpos\ngo movetime 3000", "bestmove")
        try:
            status = Path(f"/proc/{engine.process.pid}/status").read_text(encoding="ascii")
        except OSError:
            return None
        for line in status.splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
    return None


def stop_milliseconds(count: int = 1000, threads: int = 2) -> list[float]:
    """Milliseconds from `stop` to `bestmove`, `count` times: SEARCH_POSITIONS in turn, stopped at random."""
    rng = random.Random(1)
    times = []
    with Conversation(SECATEUR) as engine:
        engine.ask(f"setoption name Threads value {threads}\nisready", "readyok")
        for number in range(count):
            fen = SEARCH_POSITIONS[number % len(SEARCH_POSITIONS)]
            engine.ask(f"position fen {fen}\ngo infinite", "info depth 1 ")
            # From the first iterations, which last microseconds, to those that last longer than the wait.
            time.sleep(rng.choice((0.0, 0.001, 0.01, 0.03)))
            times.append(1000 * engine.ask("stop", "bestmove")[1])
    return times


def _compare_perft(rival: str, rounds: int, progress: Callable[[str], None]) -> Row:
    ratios = []
    with Conversation(SECATEUR) as ours, Conversation([rival]) as theirs:
        for engine in (ours, theirs):
            engine.ask("isready", "readyok")
        ours.ask("go perft 1", "Nodes searched")  # loads the perft kernel
        for number in range(rounds):
            progress(f"perft, round {number + 1} of {rounds}")
            ratios.append(perft_seconds(theirs) / perft_seconds(ours))
    return Row("perft, one thread, over Stockfish's `go perft`", "x", tuple(ratios), 3, 5)


def _compare_bench(rival: str, rounds: int, progress: Callable[[str], None]) -> list[Row]:
    """The search with the network and with the classical evaluation, each over the rival's run beside it."""
    ratios, classical = [], []
    for number in range(rounds):
        progress(f"search speed, round {number + 1} of {rounds}")
        theirs = bench_speed([rival])
        ratios.append(bench_speed(SECATEUR) / theirs)
        classical.append(bench_speed(SECATEUR, None, "--classical") / theirs)
    return [
        Row("search nodes per second over Stockfish's `bench`, network", "x", tuple(ratios), 0.8, 1.5),
        Row("search nodes per second over Stockfish's `bench`, classical evaluation", "x", tuple(classical), 1.5, 3),
    ]


def _add_start_up(report: Report, rounds: int, progress: Callable[[str], None]) -> None:
    """Adds the rows about starting where Numba compiles, with an empty cache and with a full one."""
    progress("start-up")
    with tempfile.TemporaryDirectory() as folder:
        cold = tuple(
            seconds_to("uciok", "uci", {**BY_NUMBA, CACHE_VARIABLE: f"{folder}/{number}"}) for number in range(rounds)
        )
    report.rows.append(Row("`uciok` after start, empty cache", " s", cold, 1, 0.2, lower_is_better=True))
    warm = tuple(seconds_to("readyok", "uci\nisready", BY_NUMBA) for _ in range(rounds))
    report.rows.append(Row("`readyok` after start, warm cache", " s", warm, 3, 1, lower_is_better=True))


def _add_compilation(report: Report, progress: Callable[[str], None]) -> None:
    """Adds the rows about what compiling costs: time, and memory."""
    progress("compiling everything once")
    compiled = (compile_seconds(),)
    report.rows.append(Row("compile everything once", " s", compiled, 60, 20, lower_is_better=True))
    progress("memory")
    memory = resident_mebibytes(BY_NUMBA)
    if memory is None:
        report.remarks.append("This system does not tell a process's memory: it was not measured.")
    else:
        report.rows.append(Row("resident memory at Hash 16", " MiB", (memory,), 400, 250, lower_is_better=True))


def measure(rival: str | None, rounds: int = 3, progress: Callable[[str], None] = lambda _: None) -> Report:
    """Runs the whole table. Raises EngineError when an engine fails; without a rival its rows are left out."""
    from bench.ahead_of_time import measure_ahead_of_time
    from bench.pipeline_speed import measure_pipeline

    report = Report()
    if rival is None:
        report.remarks.append("Stockfish is not installed: perft and search speed were not compared.")
    else:
        report.rows.append(_compare_perft(rival, rounds, progress))
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if cores >= 2:
        two_thread_speedup()  # loads the kernel
        speedups = []
        for number in range(rounds):
            progress(f"perft on two threads, round {number + 1} of {rounds}")
            speedups.append(two_thread_speedup())
        report.rows.append(Row("perft on two threads over one", "x", tuple(speedups), 1.8, 1.95))
        speedups = []
        for number in range(rounds):
            progress(f"search on two threads, round {number + 1} of {rounds}")
            speedups.append(search_speedup())
        report.rows.append(Row("search, 2 threads over 1, nps", "x", tuple(speedups), 1.85, 1.95))
    else:
        report.remarks.append("One core only: perft and search on two threads, and making networks, were not measured.")
    if rival is not None:
        report.rows += _compare_bench(rival, rounds, progress)
    compiles = has_numba()
    if compiles:
        _add_start_up(report, rounds, progress)
    else:
        report.remarks.append("Numba is not installed: what it compiles was not measured.")
    progress("stop to bestmove, a thousand times")
    worst = (max(stop_milliseconds()),)
    name = "`stop` to `bestmove`, worst of 1000, two threads"
    report.rows.append(Row(name, " ms", worst, 50, 10, lower_is_better=True))
    if compiles:
        _add_compilation(report, progress)
    parts = [measure_pipeline] if compiles and cores >= 2 else []
    for part in (*parts, measure_ahead_of_time):
        rows, remarks = part(rounds, progress)
        report.rows += rows
        report.remarks += remarks
    return report


class MarkersError(MissingError, ValueError):
    """A file that has no place for a table; the message is one line."""


#: What encloses the generated table in a Markdown file.
BEGIN, END = "<!-- speed: begin -->", "<!-- speed: end -->"
#: A Markdown file is at most this large, in bytes.
MOST_TEXT: Final = 1 << 24


def replace_table(text: str, table: str, first: str = BEGIN, last: str = END) -> str:
    """`text` with the part between two markers replaced.

    Raises `MarkersError` unless each marker stands there once, on an unindented line of its own outside code blocks.
    """
    before, begin, rest = text.partition(first)
    _, end, after = rest.partition(last)
    if not begin or not end:
        raise MarkersError(f"no '{first}' followed by '{last}'")
    fence, lines = "", []
    for line in text.splitlines():
        opened = re.match(r" {0,3}(`{3,}|~{3,})", line)
        if not fence:
            fence = opened[1] if opened else ""
            lines.append(line.rstrip())
        elif opened and opened[1].startswith(fence) and line.strip() == opened[1]:
            fence = ""
    for marker in (first, last):
        if text.count(marker) > 1 or marker not in lines:
            raise MarkersError(f"'{marker}' does not stand there once, on a line of its own and outside code blocks")
    return f"{before}{first}\n{table}\n{last}{after}"


def check_table(path: Path, first: str = BEGIN, last: str = END) -> str:
    """The text of a file with both markers. Raises `MarkersError`, which names the file. Meant for before the work."""
    try:
        text = read_bytes(path, MOST_TEXT).decode("utf-8")
        replace_table(text, "", first, last)
    except FileNotFoundError:
        raise MarkersError(f"there is no file {shown(path)}") from None
    except OSError as error:
        raise MarkersError(f"{shown(path)}: {reason(error)}") from None
    except UnicodeDecodeError as error:
        raise MarkersError(f"{shown(path)}: is no UTF-8 text (byte {error.start})") from None
    except MarkersError as error:
        raise MarkersError(f"{shown(path)}: {error}") from None
    return text


def renew_table(path: Path, table: str, first: str = BEGIN, last: str = END) -> None:
    """Replaces the part between two markers of a file, whose other bytes stay as they are.

    Raises `MarkersError` for a file that cannot be read or has no such part, and OSError when it cannot be written.
    """
    text = check_table(path, first, last)
    if "\r\n" in text:
        table = table.replace("\n", "\r\n")
    new = replace_table(text, table, first, last)
    if "\r\n" in text:
        new = new.replace(f"{first}\n", f"{first}\r\n").replace(f"\n{last}", f"\r\n{last}")
    if new != text:
        replace_file(path, new)
