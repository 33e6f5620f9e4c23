"""`secateur speed`: compares Secateur's speed with that of other UCI engines, and times its start.

Times depend on the machine and its load. If two engines take turns, the ratio of their speeds depends less on the load.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import chess

from bench import markdown
from bench.conversation import OURS, PATIENCE, Conversation, EngineError, find_stockfish, run, started
from bench.engines import EngineSpec, EngineSpecError, engine_from_pairs
from engine.arguments import Parser, command, complain_about
from engine.errors import FAILED, OK, arguments_are_judged
from engine.progress import Steps
from search.benchmark import POSITIONS

KIWIPETE: Final = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"

#: (FEN, depth in plies, known count) of the perft measurements.
PERFT_POSITIONS: Final = ((chess.STARTING_FEN, 6, 119_060_324), (KIWIPETE, 5, 193_690_690))

#: The positions of the search measurements, from the start position to an endgame.
SEARCH_POSITIONS: Final = (POSITIONS[0], POSITIONS[5], POSITIONS[7], KIWIPETE, POSITIONS[12], POSITIONS[15])

#: The depth in plies of the measurement "depth".
DEPTH: Final = 16

#: Seconds to wait for the answer to `go perft 1`. An engine without perft may never answer.
PERFT_PATIENCE: Final = 30.0


#: A row of the table: its name, the suffix that gives the unit, and one figure for each round.
Row = tuple[str, str, tuple[float, ...]]


def cells(row: Row) -> tuple[str, str, str]:
    """Returns a row's name, median and range (empty for a single round) as text."""
    name, unit, values = row

    def show(value: float) -> str:
        return (f"{value:.0f}" if value >= 100 else f"{value:.2f}") + unit

    spread = f"{show(min(values))} - {show(max(values))}" if len(values) > 1 else ""
    return name, show(statistics.median(values)), spread


def perft_speed(spec: EngineSpec, movetime: int) -> float:
    """Returns the leaves per second of `go perft` in PERFT_POSITIONS. Raises EngineError also for a wrong count."""
    seconds = 0.0
    with started(spec) as engine:
        engine.ask("go perft 1", "Nodes searched", PERFT_PATIENCE)  # Secateur loads the kernel here
        for fen, depth, expected in PERFT_POSITIONS:
            engine.ask(f"position fen {fen}\nisready", "readyok")
            line, took = engine.ask(f"go perft {depth}", "Nodes searched")
            count = int(line.split(":")[1])
            if count != expected:
                raise EngineError(f"{engine.name}: perft {depth} of {fen} must be {expected} (got {count})")
            seconds += took
    return sum(count for _, _, count in PERFT_POSITIONS) / seconds


def search_speed(spec: EngineSpec, movetime: int) -> float:
    """Returns the nodes per second that an engine reports for SEARCH_POSITIONS, with `movetime` milliseconds each.

    Raises EngineError if the engine fails, or reports no nodes or no time.
    """
    counted = {"nodes": 0, "time": 0}
    with started(spec) as engine:
        for fen in SEARCH_POSITIONS:
            engine.ask(f"ucinewgame\nposition fen {fen}\nisready", "readyok")
            engine.heard.clear()
            engine.ask(f"go movetime {movetime}", "bestmove", PATIENCE + movetime / 1000)
            infos = (line.split() for line in engine.heard if line.startswith("info ") and " nodes " in line)
            last = next((words for words in reversed(list(infos)) if "time" in words), [])
            for key in counted if last else ():
                value = last[last.index(key) + 1]
                counted[key] += int(value) if value.isdecimal() else 0
    if not all(counted.values()):
        raise EngineError(f"{spec.name} reports no nodes or no time")
    return 1000 * counted["nodes"] / counted["time"]


def depth_speed(spec: EngineSpec, movetime: int) -> float:
    """Returns how many of SEARCH_POSITIONS an engine searches to DEPTH plies per second. Raises EngineError."""
    seconds = 0.0
    with started(spec) as engine:
        for fen in SEARCH_POSITIONS:
            engine.ask(f"ucinewgame\nposition fen {fen}\nisready", "readyok")
            _, took = engine.ask(f"go depth {DEPTH}", "bestmove")
            seconds += took
    return len(SEARCH_POSITIONS) / seconds


def bench_speed(spec: EngineSpec, movetime: int) -> float:
    """Returns the nodes per second that `bench` of Secateur or Stockfish prints. Raises EngineError on failure."""
    for line in reversed("\n".join(run(spec, "bench")).splitlines()):
        words = line.split()
        if words[-1:] == ["nps"] and words[-2].isdecimal():
            return float(words[-2])
        if line.startswith("Nodes/second") and words[-1].isdecimal():
            return float(words[-1])
    raise EngineError(f"{spec.name}: the output of `bench` contains no nodes per second")


#: Maps a name for `--measure` to the name of the row and a function that returns an engine's speed (more is better).
#: Only `search_speed` uses the second argument, the milliseconds of a search.
COMPARISONS: Final[dict[str, tuple[str, Callable[[EngineSpec, int], float]]]] = {
    "perft": ("perft, one thread", perft_speed),
    "bench": ("`bench` nodes per second", bench_speed),
    "search": ("search nodes per second", search_speed),
    "depth": (f"time to depth {DEPTH}", depth_speed),
}


def compare(
    others: Sequence[EngineSpec], keys: Iterable[str], rounds: int, movetime: int, show: Callable[[str], None]
) -> tuple[list[Row], list[str]]:
    """Compares the speed of Secateur with that of each other engine. The engines take turns in each round.

    Returns a row of ratios (Secateur's speed divided by the other engine's) for each measurement and engine, and a
    message for each failure. There is no row for a measurement in which Secateur or the other engine fails.
    """
    rows: list[Row] = []
    failures: list[str] = []
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
                    found[index].append(speed(spec, movetime))
                except EngineError as error:
                    failed.add(index)
                    failures.append(f"{key}: {error}")
        for index, spec in enumerate(engines):
            if index and not failed & {0, index}:
                ratios = (ours / theirs for ours, theirs in zip(found[0], found[index], strict=True))
                rows.append((f"{name}, over {spec.name}", "x", tuple(ratios)))
    return rows, failures


def compilation_of(spec: EngineSpec) -> str:
    """Returns how an engine says it was compiled, in answer to `compiler`, in one line. Raises EngineError."""
    with started(spec) as engine:
        engine.heard.clear()
        engine.ask("compiler\nisready", "readyok")
        # Stockfish names its compiler and its settings in two lines. Secateur's line says `Compiled`, too.
        told = [line for line in engine.heard if line.startswith(("Compiled ", "Compilation settings"))]
    return "; ".join(" ".join(line.split()) for line in told) or "does not say how it was compiled"


def seconds_to(answer: str, question: str) -> float:
    """Returns the seconds from Secateur's start until it answers `question` with `answer`. Raises EngineError."""
    start = time.perf_counter()
    with Conversation(OURS) as engine:
        engine.ask(question, answer)
        return time.perf_counter() - start


#: The names that `--measure` accepts, and its default if `--engine` is given.
KEYS: Final = (*COMPARISONS, "start")
_COMPARED: Final = ("perft", "search")


def measure(
    others: Sequence[EngineSpec],
    keys: Sequence[str] = KEYS,
    rounds: int = 3,
    movetime: int = 1000,
    show: Callable[[str], None] = lambda _: None,
) -> tuple[list[Row], list[str]]:
    """Returns the rows for `keys`, and a message for each failure. Without `others`, there are no comparisons."""
    compared = [key for key in COMPARISONS if key in keys]
    rows, failures = compare(others, compared if others else (), rounds, movetime, show)
    for question, answer in (("uci", "uciok"), ("uci\nisready", "readyok")) if "start" in keys else ():
        show(f"{answer} after start")
        try:
            values = tuple(seconds_to(answer, question) for _ in range(rounds))
            rows.append((f"`{answer}` after start", " s", values))
        except EngineError as error:
            failures.append(f"start: {error}")
    return rows, failures


def _engine(pairs: list[str]) -> EngineSpec:
    """Returns the engine that --engine describes. Raises `EngineSpecError` for a limit, which the measurements set."""
    unused = "depth=1"
    engine = engine_from_pairs(pairs, fallback=unused)
    if str(engine.limit) != unused or engine.restart:
        raise EngineSpecError(f"engine {engine.name}: the measurements set limits and restarts themselves")
    return engine


@command("secateur speed")
def main(arguments: list[str]) -> int:
    """Measures the speeds and prints the table. Returns the exit status, which is 1 if an engine fails."""
    parser = Parser(
        prog="secateur speed",
        description="Measures perft speed, search speed and start-up time. Other engines (default: Stockfish, if "
        "installed) take turns with Secateur; the ratios say how many times as fast Secateur is. Below the table, each "
        "engine says how it was compiled. Run nothing else meanwhile.",
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
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="rounds; the median is shown (default 3)")
    parser.add_argument("--movetime", type=int, default=1000, metavar="MS", help="ms per search (default 1000)")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON, not as Markdown")
    parser.add_quiet()
    options = parser.parse_args(arguments)
    for name in ("rounds", "movetime"):
        if getattr(options, name) < 1:
            parser.error(f"--{name} must be at least 1 (got {getattr(options, name)})")
    with arguments_are_judged():
        others = [_engine(pairs) for pairs in options.engine or ()]
    for spec in others:
        spec.resolved_program()
    keys = options.measure or (_COMPARED if others else KEYS)
    remarks = []
    if options.engine is None:
        stockfish = find_stockfish()
        others = [] if stockfish is None else [stockfish]
        remarks = [] if others else ["Stockfish is not installed: nothing was compared"]
    # Imported here so that `--help` does not load the kernels.
    from search.warmup import EVERYTHING, load_kernels

    with Steps("loading the kernels", options.quiet) as steps:
        load_kernels(EVERYTHING)
        rows, failures = measure(others, keys, options.rounds, options.movetime, steps.show)
        for spec in [OURS, *others] if others else ():
            try:
                remarks.append(f"{spec.name}: {compilation_of(spec)}")
            except EngineError as error:
                remarks.append(str(error))
    remarks += failures
    if options.json:
        found = [{"name": name, "unit": unit.strip(), "values": values} for name, unit, values in rows]
        print(json.dumps({"rows": found, "remarks": remarks}))
    else:
        print(markdown.table(("what", "median", "spread"), map(cells, rows)))
        if remarks:
            print()
        for remark in remarks:
            print(f"- {remark}")
    complain_about("secateur speed", failures)
    return FAILED if failures else OK
