"""`secateur epd`: runs test suites on UCI engines and measures points, and the time and nodes to solution."""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from statistics import mean
from typing import Any, Final

from bench.cluster import ClusterError, map_unordered
from bench.commands.ledger import add_circumstances
from bench.display import result_console
from bench.engines import EngineSpec, EngineSpecError, compile_kernels, engine_from_pairs, this_engine
from bench.records import LedgerError, SuiteRecord, check_unused, save, tested_commits
from bench.runners.base import unfit_engines
from bench.suites import Problem, Solution, SuiteError, Task, load_suite, solve
from bench.timecontrol import add_limit_arguments, limit_from_arguments
from engine.arguments import Parser, command, complain_about
from engine.errors import FAILED, OK, arguments_are_judged
from engine.files import count_of, shown
from engine.progress import Steps, duration

#: The default limit for each position.
DEFAULT_LIMIT: Final = "movetime=1"

_EPILOG = """\
examples:
  secateur epd wac.epd --movetime 1
  secateur epd sts.epd mates.epd --nodes 100000 --concurrency 2 --json \\
      --engine cmd=./secateur name=new --engine cmd=stockfish option.Hash=64

Without --engine, Secateur solves the positions. The times and nodes to solution are means over the solved positions.
The exit status is 1 if a line is invalid or an answer is missing.
"""


def parser() -> Parser:
    """Returns the command's argument parser."""
    parser = Parser(
        prog="secateur epd",
        description="Runs EPD test suites on UCI engines: best moves, graded moves (STS) and mates.",
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
        help="engine to test: cmd=, name=, arg=, dir=, movetime=, nodes=, depth=, restart=on|off, option.NAME=",
    )
    parser.add_argument("--each", nargs="+", default=[], metavar="KEY=VALUE", help="settings for every engine")
    parser.add_argument("--first", type=int, metavar="N", help="use only the first N positions of each file")
    parser.add_argument("--concurrency", type=int, default=1, help="number of positions at once (default 1)")
    parser.add_argument("--cluster", metavar="tcp://HOST:PORT", help="run on this Dask cluster")
    parser.add_argument("--details", action="store_true", help="also list the unsolved positions")
    parser.add_argument("--ledger", metavar="ID", help="record the result of one suite in bench/ledger/suites/ID.json")
    add_circumstances(parser)
    parser.add_quiet()
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    return parser


@command("secateur epd")
def main(arguments: list[str]) -> int:
    """Runs the suites, prints the results, records them with `--ledger`, and returns the exit status."""
    options = parser().parse_args(arguments)
    with arguments_are_judged():
        engines = _engines(options)
        if options.concurrency < 1 or (options.first is not None and options.first < 1):
            raise EngineSpecError("--concurrency and --first must be at least 1")
        if options.ledger is not None:
            if len(options.files) != 1 or options.first is not None:
                raise EngineSpecError("--ledger requires a single file, without --first")
            check_unused(options.ledger, suite=True)
            options.commit = tested_commits(options.commit)
    troubles: list[str] = []
    suites: dict[str, list[Problem]] = {}
    with Steps("reading", options.quiet) as steps:
        for path in options.files:
            steps.show(f"reading {shown(path)}")
            try:
                suites[path] = load_suite(path, troubles)[: options.first]
            except SuiteError as error:
                troubles.append(str(error))
        steps.show("starting the engines")
        unfit = unfit_engines(engines, options.cluster) if suites else {}
        troubles += unfit.values()
    fit = [engine for engine in engines if engine not in unfit]
    tasks = [Task(engine, problem) for problems in suites.values() for problem in problems for engine in fit]
    answers = _solve_all(tasks, options, troubles)
    rows: dict[str, list[Solution]] = {}
    place = 0
    for path, problems in suites.items():
        places = range(place, place + len(problems) * len(fit))
        rows[path] = [answers[number] for number in places if number in answers]
        place = places.stop
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
    return FAILED if troubles else OK


def _engines(options: argparse.Namespace) -> list[EngineSpec]:
    limit = limit_from_arguments(options, DEFAULT_LIMIT)
    pairs = options.engine or [this_engine("name=Secateur")]
    engines = [engine_from_pairs(words, options.each, limit) for words in pairs]
    for engine in engines:
        if engine.limit.has_clock:
            raise EngineSpecError(f"engine {engine.name}: test suites have no clock; use movetime, nodes or depth")
        engine.resolved_program()
    if len({engine.name for engine in engines}) < len(engines):
        raise EngineSpecError("two engines have the same name; set different ones with name=")
    return engines


def _solve_all(tasks: list[Task], options: argparse.Namespace, troubles: list[str]) -> dict[int, Solution]:
    """Returns the solutions by index into `tasks`. Appends problems, such as failed engines, to `troubles`."""
    compile_kernels({task.engine for task in tasks}, options.cluster)
    numbers = {id(task): number for number, task in enumerate(tasks)}
    answers: dict[int, Solution] = {}
    solved = errors = 0
    began = time.monotonic()
    positions = count_of(len(tasks), "position")
    with Steps(f"0 of {positions}, 0 solved", options.quiet) as steps:
        try:
            for outcome in map_unordered(solve, tasks, options.cluster, workers=options.concurrency):
                task, solution = outcome.item, outcome.value
                if solution is None:
                    solution = task.failed(outcome.error or "")
                answers[numbers[id(task)]] = solution
                if solution.error:
                    troubles.append(f"{solution.engine}: {solution.problem}: {solution.error}")
                solved, errors = solved + solution.is_solved, errors + bool(solution.error)
                left = duration((time.monotonic() - began) * (len(tasks) - len(answers)) / len(answers))
                unanswered = f", {errors} without an answer" if errors else ""
                steps.show(f"{len(answers)} of {positions}, {solved} solved{unanswered}, {left} left")
        except ClusterError as error:
            troubles.append(str(error))
        except KeyboardInterrupt:
            troubles.append(f"interrupted: {count_of(len(tasks) - len(answers), 'answer')} missing")
    return answers


def totals(rows: list[Solution], engine: str) -> dict[str, Any]:
    """Returns a dict of an engine's totals. The means are over the solved positions, or None if none is solved."""
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
    }


def _to_json(rows: dict[str, list[Solution]], engines: list[EngineSpec], troubles: list[str]) -> dict[str, Any]:
    suites = {
        path: {
            "totals": {engine.name: totals(found, engine.name) for engine in engines},
            "answers": [{**asdict(row), "solved": row.is_solved} for row in found],
        }
        for path, found in rows.items()
    }
    return {"suites": suites, "problems": troubles}


def _record(
    options: argparse.Namespace, rows: dict[str, list[Solution]], engines: list[EngineSpec], troubles: list[str]
) -> None:
    """Records the result of the only suite. Raises LedgerError if the result is incomplete or cannot be saved."""
    if troubles or not rows:
        raise LedgerError(f"{options.ledger} is not recorded: the result is incomplete")
    ((path, found),) = rows.items()
    record = SuiteRecord(
        id=options.ledger,
        suite=shown(Path(path).name),
        limit=" / ".join(dict.fromkeys(str(engine.limit) for engine in engines)),
        positions=len(found) // len(engines),
        solved={engine.name: totals(found, engine.name)["solved"] for engine in engines},
        commits=tuple(options.commit),
        bench_nodes=options.bench_nodes,
        note=options.note,
    )
    print(f"recorded in {save(record)}", file=sys.stderr)


def _show(rows: dict[str, list[Solution]], engines: list[EngineSpec], details: bool) -> None:
    from rich.table import Table

    def to_solution(seconds: float | None, nodes: float | None) -> tuple[str, str]:
        return "" if seconds is None else f"{seconds:.3f} s", "" if nodes is None else f"{nodes:.0f}"

    table = Table("suite", "engine", "limit", box=None, pad_edge=False)
    for head in ("solved", "points", "mean time to solution", "mean nodes to solution", "time", "nodes/s"):
        table.add_column(head, justify="right")
    for path, found in rows.items():
        for engine in engines:
            total = totals(found, engine.name)
            table.add_row(
                shown(Path(path).name),
                engine.name,
                str(engine.limit),
                f"{total['solved']}/{total['positions']}",
                f"{total['points']}/{total['of']} ({100 * total['points'] / max(total['of'], 1):.1f} %)",
                *to_solution(total["seconds_to_solution"], total["nodes_to_solution"]),
                f"{total['seconds']:.1f} s",
                f"{total['nodes'] / total['seconds']:.0f}" if total["seconds"] else "",
            )
        if details:
            for row in found:
                if not row.is_solved:
                    print(f"{row.problem}: {row.engine} played {row.move or 'no move'}, {row.points}/{row.most} points")
    result_console().print(table)
