"""`secateur speed`: measures Secateur's start-up, threads and memory, and its speed beside other UCI engines.

`COMPARISONS` and `FIGURES` are the rows of its table. Times depend on the machine and its load. Ratios of runs that
took turns depend on them much less.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import chess

from bench import markdown
from bench.conversation import OURS, Conversation, EngineError, find_stockfish, run, started
from bench.engines import EngineSpec, engine_from_pairs
from engine.arguments import Parser, command, complain_about
from engine.compiler.cache_folder import CACHE_VARIABLE
from engine.compiler.library import JIT, KERNELS_VARIABLE, choose
from engine.errors import FAILED, OK, arguments_are_judged
from engine.extras import has_numba
from engine.progress import Steps
from search.benchmark import POSITIONS

KIWIPETE: Final = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"

#: (FEN, depth in plies, known count) of the perft measurements.
PERFT_POSITIONS: Final = ((chess.STARTING_FEN, 6, 119_060_324), (KIWIPETE, 5, 193_690_690))

#: Positions of the search measurements: an opening, middlegames, tactics, an endgame.
SEARCH_POSITIONS: Final = (POSITIONS[0], POSITIONS[5], POSITIONS[7], KIWIPETE, POSITIONS[12], POSITIONS[15])

#: Seconds that the first count may take: an engine without perft does not answer.
PERFT_PATIENCE: Final = 30.0


@dataclass(frozen=True)
class Row:
    """A line of the table: the figures of the rounds, and their unit with the blank before it."""

    name: str
    unit: str
    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """Median over the rounds."""
        return statistics.median(self.values)

    def cells(self) -> tuple[str, str, str]:
        """Name, median and spread as text."""

        def show(value: float) -> str:
            return (f"{value:.0f}" if value >= 100 else f"{value:.2f}") + self.unit

        spread = f"{show(min(self.values))} - {show(max(self.values))}" if len(self.values) > 1 else ""
        return self.name, show(self.median), spread


@dataclass
class Report:
    """The rows, remarks about what could not be measured here, and the failures of engines."""

    rows: list[Row] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def markdown(self) -> str:
        """The table, followed by the remarks and failures."""
        text = markdown.table(("what", "median", "spread"), (row.cells() for row in self.rows))
        lines = [f"- {line}" for line in [*self.remarks, *self.failures]]
        return "\n".join([text, "", *lines] if lines else [text])


# --------------------------------------------------------------------------------------------------------------
# Comparisons with other engines
# --------------------------------------------------------------------------------------------------------------


class Effort(NamedTuple):
    """How long a search is measured: milliseconds for its speed, plies for its time to depth."""

    movetime: int = 1000
    depth: int = 12


DEFAULT_EFFORT: Final = Effort()


def perft_speed(spec: EngineSpec, effort: Effort) -> float:
    """Leaves per second of `go perft` over PERFT_POSITIONS. Raises EngineError, also for a wrong count."""
    seconds = 0.0
    with started(spec) as engine:
        engine.ask("go perft 1", "Nodes searched", PERFT_PATIENCE)  # Secateur loads the kernel here
        for fen, depth, expected in PERFT_POSITIONS:
            engine.ask(f"position fen {fen}\nisready", "readyok")
            line, took = engine.ask(f"go perft {depth}", "Nodes searched")
            count = int(line.split(":")[1])
            if count != expected:
                raise EngineError(f"{engine.name}: perft {depth} of {fen} is {expected}, not {count}")
            seconds += took
    return sum(count for _, _, count in PERFT_POSITIONS) / seconds


def search_speed(spec: EngineSpec, effort: Effort) -> float:
    """Nodes per second over SEARCH_POSITIONS, as the engine reports them. Raises EngineError when it does not."""
    counted = {"nodes": 0, "time": 0}
    with started(spec) as engine:
        for fen in SEARCH_POSITIONS:
            engine.ask(f"ucinewgame\nposition fen {fen}\nisready", "readyok")
            engine.heard.clear()
            engine.ask(f"go movetime {effort.movetime}", "bestmove")
            infos = (line.split() for line in engine.heard if line.startswith("info ") and " nodes " in line)
            last = next((words for words in reversed(list(infos)) if "time" in words), [])
            for key in counted if last else ():
                value = last[last.index(key) + 1]
                counted[key] += int(value) if value.isdecimal() else 0
    if not all(counted.values()):
        raise EngineError(f"{spec.name} reports no nodes or no time")
    return 1000 * counted["nodes"] / counted["time"]


def depth_speed(spec: EngineSpec, effort: Effort) -> float:
    """How often in a second SEARCH_POSITIONS could be searched to the depth, each with a fresh TT."""
    seconds = 0.0
    with started(spec) as engine:
        for fen in SEARCH_POSITIONS:
            engine.ask(f"ucinewgame\nposition fen {fen}\nisready", "readyok")
            seconds += engine.ask(f"go depth {effort.depth}", "bestmove")[1]
    return 1 / seconds


def bench_speed(spec: EngineSpec, effort: Effort | None = None, environment: dict[str, str] | None = None) -> float:
    """Nodes per second that the command `bench` reports, as Secateur or Stockfish prints it. Raises EngineError."""
    for line in reversed("\n".join(run(spec, "bench", environment=environment)).splitlines()):
        words = line.split()
        if words[-1:] == ["nps"] and words[-2].isdecimal():
            return float(words[-2])
        if line.startswith("Nodes/second") and words[-1].isdecimal():
            return float(words[-1])
    raise EngineError(f"{spec.name} bench: no nodes per second in its output")


#: What `--measure` calls it: (name of the row, speed of an engine: more is better).
COMPARISONS: Final[dict[str, tuple[str, Callable[[EngineSpec, Effort], float]]]] = {
    "perft": ("perft, one thread", perft_speed),
    "bench": ("`bench` nodes per second", bench_speed),
    "search": ("search nodes per second", search_speed),
    "depth": ("speed to a depth", depth_speed),
}


def compare(
    others: Sequence[EngineSpec], keys: Iterable[str], rounds: int, effort: Effort, show: Callable[[str], None]
) -> Report:
    """How many times as fast as each other engine Secateur is, in each round; all engines take turns in a round.

    An engine that fails in a comparison is left out of that one.
    """
    report = Report()
    engines = [OURS, *others]
    for key in keys:
        name, speed = COMPARISONS[key]
        found: list[list[float]] = [[] for _ in engines]
        failed: set[int] = set()
        for number in range(rounds):
            for index, spec in enumerate(engines):
                if index in failed:
                    continue
                show(f"{name}, round {number + 1} of {rounds}: {spec.name}")
                try:
                    found[index].append(speed(spec, effort))
                except EngineError as error:
                    failed.add(index)
                    report.failures.append(f"{key}: {error}")
        for index, spec in enumerate(engines):
            if index and not failed & {0, index}:
                ratios = (ours / theirs for ours, theirs in zip(found[0], found[index], strict=True))
                report.rows.append(Row(f"{name}, over {spec.name}", "x", tuple(ratios)))
    return report


# --------------------------------------------------------------------------------------------------------------
# Secateur alone
# --------------------------------------------------------------------------------------------------------------


@contextmanager
def kernels(are_built: bool, empty_cache: bool) -> Iterator[dict[str, str]]:
    """The environment of an engine with kernels built ahead of time, or with those of Numba."""
    library = choose()[0] if are_built else None
    with tempfile.TemporaryDirectory() as folder:
        cache = {CACHE_VARIABLE: folder} if empty_cache else {}
        yield {KERNELS_VARIABLE: JIT if library is None else library.level.name, **cache}


def seconds_to(answer: str, command: str, are_built: bool, empty_cache: bool) -> float:
    """Seconds from starting Secateur until it gives `answer` to `command`."""
    with kernels(are_built, empty_cache) as environment:
        start = time.perf_counter()
        with Conversation(OURS, environment) as engine:
            engine.ask(command, answer)
            return time.perf_counter() - start


def resident_mebibytes(are_built: bool, milliseconds: int = 3000) -> float:
    """Resident memory of Secateur after a search of that time, which fills its TT of 16 MiB, by /proc."""
    with kernels(are_built, empty_cache=are_built) as environment, started(OURS, environment) as engine:
        engine.ask(f"setoption name Hash value 16\nposition startpos\ngo movetime {milliseconds}", "bestmove")
        status = Path(f"/proc/{engine.process.pid}/status").read_text(encoding="ascii")
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def built_speedup() -> float:
    """`bench` speed with kernels built ahead of time over that with Numba's."""
    with kernels(are_built=True, empty_cache=True) as built, kernels(are_built=False, empty_cache=False) as numba:
        # Out and back, so that a machine that slows down does so for both.
        first, second, third, fourth = (bench_speed(OURS, None, kind) for kind in (built, numba, numba, built))
    return (first + fourth) / (second + third)


def perft_speedup(depth: int = 6) -> float:
    """Leaves per second of perft on two threads over those on one."""
    words = "perft", "--depth", depth, "--json", "--quiet", "--threads"
    one, two = (json.loads(run(OURS, *words, threads)[0])["nps"] for threads in (1, 2))
    return float(two / one)


def search_speedup(effort: Effort = DEFAULT_EFFORT) -> float:
    """Nodes per second of the search on two threads over those on one."""
    return search_speed(replace(OURS, options=(("Threads", "2"),)), effort) / search_speed(OURS, effort)


def worst_stop(count: int = 1000) -> float:
    """The most milliseconds from `stop` to `bestmove` on two threads, of searches stopped at random."""
    rng = random.Random(1)
    worst = 0.0
    with started(OURS) as engine:
        engine.ask("setoption name Threads value 2\nisready", "readyok")
        for number in range(count):
            fen = SEARCH_POSITIONS[number % len(SEARCH_POSITIONS)]
            engine.ask(f"position fen {fen}\ngo infinite", "info depth 1 ")
            # The first iterations last microseconds, later ones longer than this.
            time.sleep(rng.choice((0.0, 0.001, 0.01, 0.03)))
            worst = max(worst, 1000 * engine.ask("stop", "bestmove")[1])
    return worst


# What a figure needs: each function says why this machine cannot give it, or returns None.


def _two_cores() -> str | None:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return None if cores >= 2 else "there is only one core"


def _numba() -> str | None:
    return None if has_numba() else "Numba is not installed"


def _built() -> str | None:
    return None if choose()[0] is not None else "`secateur kernels list` shows no built kernels in use"


def _proc() -> str | None:
    return None if Path("/proc/self/status").exists() else "this system does not show a process's memory"


@dataclass(frozen=True)
class Figure:
    """A row about Secateur alone: what `--measure` calls it, name, unit, what measures it, and what that needs.

    It is measured in each round or, if it is `slow`, once.
    """

    key: str
    name: str
    unit: str
    value: Callable[[], float]
    needs: tuple[Callable[[], str | None], ...] = ()
    slow: bool = False


_UCIOK, _READYOK = partial(seconds_to, "uciok", "uci"), partial(seconds_to, "readyok", "uci\nisready")
_MEMORY = "resident memory at Hash 16"

FIGURES: Final = (
    Figure("threads", "perft on two threads over one", "x", perft_speedup, (_two_cores,)),
    Figure("threads", "search, 2 threads over 1, nps", "x", search_speedup, (_two_cores,)),
    Figure("start", "`uciok` after start, empty cache", " s", partial(_UCIOK, False, True), (_numba,)),
    Figure("start", "`readyok` after start, warm cache", " s", partial(_READYOK, False, False), (_numba,)),
    Figure("start", "`uciok` after start, built kernels", " s", partial(_UCIOK, True, True), (_built,)),
    Figure("start", "`readyok` after start, built kernels", " s", partial(_READYOK, True, True), (_built,)),
    Figure("stop", "`stop` to `bestmove`, worst of 1000, two threads", " ms", worst_stop, slow=True),
    Figure("kernels", "`bench` speed, built kernels over Numba's", "x", built_speedup, (_numba, _built)),
    Figure("memory", _MEMORY, " MiB", partial(resident_mebibytes, False), (_numba, _proc)),
    Figure("memory", f"{_MEMORY}, built kernels", " MiB", partial(resident_mebibytes, True), (_built, _proc)),
)

#: Everything that `--measure` can name.
KEYS: Final = (*COMPARISONS, *dict.fromkeys(figure.key for figure in FIGURES))


def measure(
    others: Sequence[EngineSpec],
    keys: Sequence[str] = KEYS,
    rounds: int = 3,
    effort: Effort = DEFAULT_EFFORT,
    show: Callable[[str], None] = lambda _: None,
) -> Report:
    """The rows that the keys name. Other engines are needed for COMPARISONS only."""
    compared = [key for key in COMPARISONS if key in keys]
    report = compare(others, compared if others else (), rounds, effort, show)
    for figure in FIGURES:
        if figure.key not in keys:
            continue
        obstacle = next(filter(None, (need() for need in figure.needs)), None)
        if obstacle is not None:
            report.remarks.append(f"{figure.name}: not measured, {obstacle}")
            continue
        show(figure.name)
        try:
            values = tuple(figure.value() for _ in range(1 if figure.slow else rounds))
            report.rows.append(Row(figure.name, figure.unit, values))
        except EngineError as error:
            report.failures.append(f"{figure.key}: {error}")
    return report


# --------------------------------------------------------------------------------------------------------------
# The command
# --------------------------------------------------------------------------------------------------------------

#: Measured with other engines unless `--measure` says more.
_COMPARED = ("perft", "search", "depth")


@command("secateur speed")
def main(arguments: list[str]) -> int:
    """Measures and prints the table; exit status 1 when an engine fails."""
    parser = Parser(
        prog="secateur speed",
        description="Measures perft, search speed, start-up and memory. Other engines (default: Stockfish "
        "where it is installed) take turns with Secateur: the ratios say how many times as fast Secateur is. Run "
        "nothing else meanwhile.",
    )
    parser.add_argument(
        "--engine",
        nargs="+",
        action="append",
        metavar="KEY=VALUE",
        help="compare with this engine, as in `match`: cmd=, name=, arg=, dir=, option.NAME=",
    )
    parser.add_argument(
        "--measure",
        nargs="+",
        choices=KEYS,
        metavar="NAME",
        help=f"some of {', '.join(KEYS)} (default: all; with --engine: {', '.join(_COMPARED)})",
    )
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="rounds to take the median of (default 3)")
    parser.add_argument("--movetime", type=int, default=1000, metavar="MS", help="time of a search (default 1000)")
    parser.add_argument("--depth", type=int, default=12, metavar="N", help="plies of the time to depth (default 12)")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON, not as Markdown")
    parser.add_quiet()
    options = parser.parse_args(arguments)
    for name in ("rounds", "movetime", "depth"):
        if getattr(options, name) < 1:
            parser.error(f"--{name} is at least 1, not {getattr(options, name)}")
    with arguments_are_judged():
        # The measurements bring their own limits.
        others = [engine_from_pairs(pairs, fallback="depth=1") for pairs in options.engine or ()]
    for spec in others:
        spec.resolved_program()
    keys = options.measure or (_COMPARED if others else KEYS)
    remarks = []
    if options.engine is None:
        stockfish = find_stockfish()
        others = [] if stockfish is None else [stockfish]
        remarks = [] if others else ["Stockfish is not installed: nothing was compared"]
    # Not at the top: a command's help takes no kernels.
    from search.warmup import EVERYTHING, load_kernels

    with Steps("loading the kernels", options.quiet) as steps:
        load_kernels(EVERYTHING)
        report = measure(others, keys, options.rounds, Effort(options.movetime, options.depth), steps.show)
    report.remarks += remarks
    if options.json:
        rows = [{"name": row.name, "unit": row.unit.strip(), "values": row.values} for row in report.rows]
        print(json.dumps({"rows": rows, "remarks": [*report.remarks, *report.failures]}))
    else:
        print(report.markdown())
    complain_about("secateur speed", report.failures)
    return FAILED if report.failures else OK
