"""`secateur epd`: test suites for any UCI engine, with points, time and nodes to solution."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import mean
from typing import Any, Final

from bench.cluster import ClusterError, map_unordered
from bench.display import result_console
from bench.engines import EngineSpec, EngineSpecError, compile_kernels, engine_from_pairs, this_engine
from bench.records import LedgerError, SuiteRecord, save_suite, tested_commits
from bench.runners.base import unfit_engines
from bench.suites import Problem, Solution, SuiteError, Task, load_suite, solve
from bench.timecontrol import add_limit_arguments, limit_from_arguments
from engine.arguments import Parser, command, complain_about
from engine.errors import arguments_are_judged
from engine.files import shown
from engine.progress import Display, Steps, duration

#: How long an engine thinks about a position.
DEFAULT_LIMIT: Final = "movetime=1"

#: Positions that are shown one by one without being asked.
SHOWN = 30

_EPILOG = """\
examples:
  secateur epd wac.epd --movetime 1
  secateur epd sts.epd mates.epd --nodes 100000 --concurrency 2 --json \\
      --engine cmd=./secateur name=new --engine cmd=stockfish option.Hash=64

Without --engine, Secateur itself answers. A line or an answer that is missing makes the exit status 1.
"""


def parser() -> Parser:
    """The command's options."""
    parser = Parser(
        prog="secateur epd",
        description="Puts the positions of EPD files to engines: best moves, graded moves (STS) and mates.",
        epilog=_EPILOG,
        needs=("rich",),
    )
    parser.add_argument("files", nargs="+", metavar="FILE.epd")
    add_limit_arguments(parser, DEFAULT_LIMIT)
    parser.add_argument(
        "--engine",
        action="append",
        nargs="+",
        metavar="KEY=VALUE",
        help="cmd=, name=, arg=, dir=, option.NAME=, nodes=",
    )
    parser.add_argument("--each", nargs="+", default=[], metavar="KEY=VALUE", help="the same for every engine")
    parser.add_argument("--first", type=int, metavar="N", help="only the first N positions of each file")
    parser.add_argument("--concurrency", type=int, default=1, help="positions at the same time (default 1)")
    parser.add_argument("--cluster", metavar="tcp://HOST:PORT", help="work on this Dask cluster")
    parser.add_argument("--details", action="store_true", help="show every position")
    parser.add_argument("--ledger", metavar="ID", help="record the only suite's result in bench/ledger/suites/ID.json")
    parser.add_argument(
        "--commit", action="append", default=[], help="the commit that was tested (default: the current)"
    )
    parser.add_argument("--bench-nodes", type=int, metavar="N", help="node count of `secateur bench`")
    parser.add_quiet()
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    return parser


@command("secateur epd")
def main(arguments: list[str]) -> int:
    """Runs the suites; returns the exit status."""
    options = parser().parse_args(arguments)
    with arguments_are_judged():
        engines = _engines(options)
        if options.concurrency < 1 or (options.first is not None and options.first < 1):
            raise EngineSpecError("--concurrency and --first are at least 1")
        if options.ledger is not None and (len(options.files) != 1 or options.first is not None):
            raise EngineSpecError("--ledger records one whole suite")
        if options.ledger is not None:
            options.commit = tested_commits(options.commit)
        names = [engine.name for engine in engines]
        if len(set(names)) < len(names):
            raise EngineSpecError("two engines have the same name; give them different ones")
    troubles: list[str] = []
    suites: dict[str, list[Problem]] = {}
    with Steps("reading", options.quiet) as steps:
        for path in options.files:
            steps.show(f"reading {path}")
            try:
                suites[path] = load_suite(path, troubles)[: options.first]
            except SuiteError as error:
                troubles.append(str(error))
        steps.show("starting the engines")
        unfit = unfit_engines(engines, options.cluster) if any(suites.values()) else {}
        troubles += unfit.values()
    places = [
        (path, Task(engine, problem))
        for path, problems in suites.items()
        for problem in problems
        for engine in engines
        if engine not in unfit
    ]
    tasks = [task for _, task in places]
    answers: dict[int, Solution] = {}
    try:
        for task, solution in _solve_all(tasks, options):
            answers[id(task)] = solution
            if solution.error:
                troubles.append(f"{solution.engine}: {solution.problem}: {solution.error}")
    except ClusterError as error:
        troubles.append(str(error))
    except KeyboardInterrupt:  # what is there is shown
        troubles.append(f"interrupted: {len(tasks) - len(answers)} positions are missing")
    rows: dict[str, list[Solution]] = {path: [] for path in suites}
    for path, task in places:
        if id(task) in answers:
            rows[path].append(answers[id(task)])
    if options.ledger is not None:
        try:
            _record(options, rows, engines, troubles)
        except LedgerError as error:
            troubles.append(str(error))
    if options.json:
        print(json.dumps(_to_json(rows, engines, troubles), indent=1))
    elif rows:
        _show(rows, engines, options.details)
    complain_about("secateur epd", troubles)
    return 1 if troubles else 0


def _engines(options: argparse.Namespace) -> list[EngineSpec]:
    limit = limit_from_arguments(options, DEFAULT_LIMIT)
    pairs = options.engine or [this_engine("name=Secateur")]
    engines = [engine_from_pairs(words, options.each, limit) for words in pairs]
    for engine in engines:
        if engine.limit.has_clock:
            raise EngineSpecError(f"engine {engine.name}: a suite has no clock; give movetime, nodes or depth")
        engine.resolved_program()
    return engines


def _solve_all(tasks: list[Task], options: argparse.Namespace) -> Iterable[tuple[Task, Solution]]:
    """Every task with its solution as it comes, while the view shows how many there are."""
    compile_kernels({task.engine for task in tasks}, options.cluster)
    with Progress(len(tasks), options.quiet) as progress:
        for outcome in map_unordered(solve, tasks, options.cluster, workers=options.concurrency):
            task, solution = outcome.item, outcome.value
            if solution is None:
                error = outcome.error or ""
                solution = Solution(task.engine.name, task.problem.name, most=task.problem.most, error=error)
            progress.add(solution)
            yield task, solution


class Progress(Display):
    """Shows how many positions are answered and solved, and when the others will be."""

    def __init__(self, planned: int, quiet: bool) -> None:
        super().__init__(quiet)
        self._planned, self._done, self._solved, self._errors = planned, 0, 0, 0

    def add(self, solution: Solution) -> None:
        """Takes an answer."""
        self._done += 1
        self._solved += solution.is_solved
        self._errors += bool(solution.error)

    def line(self) -> str:
        """Positions, those that are solved, errors, time and time left."""
        elapsed = time.monotonic() - self.began
        errors = f", {self._errors} without an answer" if self._errors else ""
        left = f", {duration(elapsed * (self._planned - self._done) / self._done)} left" if self._done else ""
        done = f"{self._done} of {self._planned} positions, {self._solved} solved"
        return f"{done}{errors} in {duration(elapsed)}{left}"


# --------------------------------------------------------------------------------------------------------------
# Output
# --------------------------------------------------------------------------------------------------------------


def totals(rows: list[Solution], engine: str) -> dict[str, Any]:
    """One engine's result in one suite. Means to solution are over what it solved; None where that is nothing."""
    own = [row for row in rows if row.engine == engine]
    solved = [row for row in own if row.is_solved]
    return {
        "positions": len(own),
        "solved": len(solved),
        "points": sum(row.points for row in own),
        "of": sum(row.most for row in own),
        "seconds_to_solution": mean(row.seconds_to_solution or 0.0 for row in solved) if solved else None,
        "nodes_to_solution": mean(row.nodes_to_solution or 0 for row in solved) if solved else None,
        "seconds": sum(row.seconds for row in own),
        "nodes": sum(row.nodes for row in own),
        "errors": sum(bool(row.error) for row in own),
    }


def _to_json(rows: dict[str, list[Solution]], engines: list[EngineSpec], troubles: list[str]) -> dict[str, Any]:
    return {
        "suites": {
            path: {
                "totals": {engine.name: totals(found, engine.name) for engine in engines},
                "answers": [{**asdict(row), "solved": row.is_solved} for row in found],
            }
            for path, found in rows.items()
        },
        "problems": troubles,
    }


def _record(
    options: argparse.Namespace, rows: dict[str, list[Solution]], engines: list[EngineSpec], troubles: list[str]
) -> None:
    """Keeps the result of the one suite that was run. Raises LedgerError when it is not whole."""
    if troubles or not rows:
        raise LedgerError(f"{options.ledger} is not recorded: lines or answers are missing")
    ((path, found),) = rows.items()
    record = SuiteRecord(
        id=options.ledger,
        suite=shown(Path(path).name),
        limit=str(engines[0].limit),
        positions=totals(found, engines[0].name)["positions"],
        solved={engine.name: totals(found, engine.name)["solved"] for engine in engines},
        commits=tuple(options.commit),
        bench_nodes=options.bench_nodes,
    )
    print(f"recorded in {save_suite(record)}", file=sys.stderr)


def _table(title: str | None, texts: Sequence[str], numbers: Sequence[str]) -> Any:
    """An empty table with columns of texts and of numbers."""
    from rich.table import Table

    table = Table(title=title, box=None, pad_edge=False, title_justify="left")
    for head in texts:
        table.add_column(head)
    for head in numbers:
        table.add_column(head, justify="right")
    return table


def _show(rows: dict[str, list[Solution]], engines: list[EngineSpec], details: bool) -> None:
    console = result_console()
    for path, found in rows.items():
        if details or len(found) <= SHOWN:
            texts = ("position", "engine", "move", "score")
            grid = _table(shown(path), texts, ("points", "time to it", "nodes to it", "depth", "nodes"))
            for row in found:
                time = "" if row.seconds_to_solution is None else f"{row.seconds_to_solution:.3f} s"
                nodes = "" if row.nodes_to_solution is None else str(row.nodes_to_solution)
                answer = (row.problem, row.engine, row.error or row.move, row.score)
                grid.add_row(*answer, f"{row.points}/{row.most}", time, nodes, str(row.depth), str(row.nodes))
            console.print(grid)
    numbers = ("solved", "points", "mean time to it", "mean nodes to it", "time", "nodes/s")
    grid = _table(None, ("suite", "engine", "limit"), numbers)
    for path, found in rows.items():
        for engine in engines:
            total = totals(found, engine.name)
            time, nodes = total["seconds_to_solution"], total["nodes_to_solution"]
            grid.add_row(
                shown(Path(path).name),
                engine.name,
                str(engine.limit),
                f"{total['solved']}/{total['positions']}",
                f"{total['points']}/{total['of']} ({100 * total['points'] / max(total['of'], 1):.1f} %)",
                "" if time is None else f"{time:.3f} s",
                "" if nodes is None else f"{nodes:.0f}",
                f"{total['seconds']:.1f} s",
                f"{total['nodes'] / total['seconds']:.0f}" if total["seconds"] else "",
            )
    console.print(grid)
