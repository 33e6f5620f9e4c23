"""`secateur spsa`: tunes the numbers of the search by games of the engine against itself."""

from __future__ import annotations

import argparse
import difflib
import json
import sys
import time
from collections import deque
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from bench.adjudication import Adjudication
from bench.description import add_book_arguments, add_rule_arguments, book_from_arguments, rules_from_arguments
from bench.display import figures_table
from bench.engines import EngineSpec, EngineSpecError, engine_from_pairs, this_engine
from bench.plots import check_path, plot_trajectories
from bench.spsa import GAIN_ITERATIONS, GAIN_MAX, Schedule, SpsaError, default_gain, select
from bench.tuning import Run, State, Step, edited_source, tune, write_source
from engine.arguments import Parser, command
from engine.errors import arguments_are_judged
from engine.files import locked
from engine.progress import Display, duration
from search import tunables

DEFAULT_LIMIT: Final = "nodes=4000"
DEFAULT_ITERATIONS: Final = 5000
#: Ends games whose outcome is clear; the rest of them would teach nothing.
DEFAULT_RULES: Final = {"resign": "3,600,both", "draw": "30,6,10", "max_moves": 200}
#: What says which run it is, and cannot be changed when one goes on.
_RUN_OPTIONS: Final = (
    "only", "without", "iterations", "pairs", "gain", "engine", "tc", "book", "order", "plies", "seed",
    "resign", "draw", "max_moves", "tb", "tb_pieces",
)  # fmt: skip
#: The time left is reckoned from the pace of this many iterations.
PACE: Final = 200

SOURCE: Final = Path(tunables.__file__)

_EPILOG = """\
examples:
  secateur spsa --state lmr.jsonl --only "lmr_*" --iterations 8000 --tc nodes=3000 \\
                --book bench/books/balanced.epd --concurrency 2 --plot lmr.png
  secateur spsa --state lmr.jsonl --resume          goes on where it was ended, by whatever
  secateur spsa --state lmr.jsonl --show --write    puts the values found into search/tunables.py

An iteration plays pairs of games between the values moved at random one way and the other, and follows the winner a
little. What comes out is a proposal: keep it when `secateur sprt` accepts it. Exit status 0 means that all iterations
were played.
"""


def parser() -> Parser:
    """The command's options."""
    parser = Parser(
        prog="secateur spsa",
        description="Tunes the numbers of the search by games against itself.",
        epilog=_EPILOG,
        needs=("rich",),
    )
    parser.add_argument("--state", required=True, metavar="FILE.jsonl", help="where the run is kept")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--resume", action="store_true", help="go on with the run in the file")
    mode.add_argument("--overwrite", action="store_true", help="begin afresh although the file is there")
    mode.add_argument("--show", action="store_true", help="play nothing: print, plot or write what the file holds")
    what = parser.add_argument_group("what is tuned")
    what.add_argument(
        "--only",
        nargs="+",
        metavar="NAME",
        help="these tunables; * and ? are wildcards (default: all that games of one thread at this limit can tell)",
    )
    what.add_argument("--except", dest="without", nargs="+", metavar="NAME", help="but not these")
    what.add_argument("--list", action="store_true", help="print the chosen tunables and end")
    how = parser.add_argument_group("how")
    how.add_argument("--iterations", type=int, help=f"iterations of the whole run (default {DEFAULT_ITERATIONS})")
    how.add_argument("--pairs", type=int, help="pairs of games an iteration (default 1)")
    how.add_argument(
        "--gain",
        type=float,
        help="steps that a point moves a parameter by at the end; fishtest's R "
        f"(default {GAIN_ITERATIONS:g} / iterations, {GAIN_MAX:g} at most)",
    )
    how.add_argument(
        "--engine", nargs="+", metavar="KEY=VALUE", help="cmd=, arg=, option.NAME= (default: this Secateur, --tuning)"
    )
    how.add_argument("--tc", help=f"time control (default {DEFAULT_LIMIT})")
    add_book_arguments(how)
    how.add_argument("--concurrency", type=int, default=1, help="iterations at the same time (default 1)")
    how.add_argument("--cluster", metavar="tcp://HOST:PORT", help="play on the workers of this Dask scheduler")
    rules = parser.add_argument_group(
        "adjudication",
        "default: " + ", ".join(f"--{key.replace('_', '-')} {DEFAULT_RULES[key]}" for key in DEFAULT_RULES),
    )
    add_rule_arguments(rules)
    output = parser.add_argument_group("what comes out")
    output.add_argument("--write", action="store_true", help="put the new defaults into search/tunables.py at the end")
    output.add_argument("--plot", metavar="FILE.png|svg", help="draw how the values moved")
    output.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_quiet()
    return parser


@command("secateur spsa")
def main(arguments: list[str]) -> int:
    """Tunes; returns the exit status."""
    options = parser().parse_args(arguments)
    with arguments_are_judged():
        if options.list:
            return _list(options)
        if options.plot:
            options.plot = check_path(options.plot)
        if options.concurrency < 1:
            raise SpsaError(f"--concurrency is at least 1, not {options.concurrency}")
        if options.resume or options.show:
            _check_options_of_a_run(options)
        run = None if options.resume or options.show else _run(options)
    with ExitStack() as held:
        return _play(_state(run, options, held), options)


def _play(state: State, options: argparse.Namespace) -> int:
    """Plays or shows a run; returns the exit status."""
    if options.write:
        _new_source(state)  # a file that cannot be written is reported before hours of games
    interrupted = False
    if not options.show:
        with Progress(state, options.quiet) as progress:
            try:
                tune(state, progress.add, progress.problem, options.concurrency, options.cluster)
            except KeyboardInterrupt:
                interrupted = True
    _report(state, options)
    if interrupted:
        unwritten = ", nothing was written" if options.write else ""
        goes_on = f"--state {state.path} --resume goes on" if state.is_begun else "the run has not begun"
        print(f"secateur spsa: interrupted{unwritten}; {goes_on}", file=sys.stderr)
    return 0 if state.is_finished or options.show else 1


def _matters(tunable: tunables.Tunable, has_clock: bool) -> bool:
    """Whether games of one thread, with or without a clock, can tell one value of a tunable from another."""
    return tunable.name != "vote_base" and (has_clock or not tunable.name.startswith("time_"))


def _engine(options: argparse.Namespace) -> EngineSpec:
    """The engine that plays itself, with its limit. Raises `SpsaError`."""
    engine = options.engine or this_engine("arg=--tuning", "option.Hash=8")
    try:
        spec = engine_from_pairs(engine, (), options.tc or DEFAULT_LIMIT)
    except EngineSpecError as error:
        raise SpsaError(f"--engine: {error}") from None
    if spec.directory is not None or spec.restart:
        raise SpsaError("--engine: dir and restart have no meaning here")
    return spec


def _table(options: argparse.Namespace, has_clock: bool) -> Sequence[tunables.Tunable]:
    """What can be chosen from: without names not those without any effect, which would only wander about."""
    return tunables.TUNABLES if options.only else [row for row in tunables.TUNABLES if _matters(row, has_clock)]


def _list(options: argparse.Namespace) -> int:
    print(f"{'name':<24}{'default':>8}{'low':>7}{'high':>7}{'step':>6}")
    for row in select(_table(options, _engine(options).limit.has_clock), options.only or (), options.without or ()):
        print(f"{row.name:<24}{row.default:>8}{row.low:>7}{row.high:>7}{row.step:>6}")
    return 0


def _check_options_of_a_run(options: argparse.Namespace) -> None:
    """Raises `SpsaError` for options that a run which is there already cannot be given."""
    for name in _RUN_OPTIONS:
        if getattr(options, name) is not None:
            flag = "except" if name == "without" else name.replace("_", "-")
            raise SpsaError(f"--{flag} cannot be given for a run that is there already: {options.state} knows it")


def _state(run: Run | None, options: argparse.Namespace, held: ExitStack) -> State:
    """A new run to play, or (None) the one that is there, with its lock `held` unless it is only shown.

    Raises `SpsaError`, `EngineSpecError`, and OSError for a file that another process has, or that cannot be written.
    """
    path = Path(options.state)
    if run is None:
        state = State.load(path, shown_only=True)
        if options.show:
            return state
        held.enter_context(locked(path))
        return State.load(path)  # another process may have gone on with it until now
    run.engine("plus", {}).resolved_program()
    run.openings()
    held.enter_context(locked(path))
    state = State.create(run, path)
    if path.stat().st_size and not options.overwrite:
        raise SpsaError(f"{path} is there already: --resume goes on with it, --overwrite drops it")
    return state


def _run(options: argparse.Namespace) -> Run:
    """What the options describe. Raises ValueError."""
    for name, value in DEFAULT_RULES.items():
        if getattr(options, name) is None:
            setattr(options, name, value)
    iterations = DEFAULT_ITERATIONS if options.iterations is None else options.iterations
    gain = default_gain(iterations) if options.gain is None else options.gain
    schedule = Schedule(iterations, gain)
    seed = options.seed or 0
    if options.book is None:
        options.seed = None  # it is the perturbations' as well as the book's
    book = book_from_arguments(options, None)
    if book is None:
        print("secateur spsa: note: without --book every game begins at the start position", file=sys.stderr)
    spec = _engine(options)
    return Run(
        parameters=select(_table(options, spec.limit.has_clock), options.only or (), options.without or ()),
        schedule=schedule,
        command=spec.command,
        options=spec.options,
        limit=str(spec.limit),
        seed=seed,
        pairs=1 if options.pairs is None else options.pairs,
        book=book.file if book else None,
        order=options.order or "random",
        plies=options.plies,
        adjudication=rules_from_arguments(options, Adjudication()),
    )


# --------------------------------------------------------------------------------------------------------------
# While it runs
# --------------------------------------------------------------------------------------------------------------


class Progress(Display):
    """Shows the values and the pace: a table that renews itself on a terminal, lines elsewhere."""

    def __init__(self, state: State, quiet: bool = False) -> None:
        super().__init__(quiet)
        self._state = state
        self._played = 0
        self._finished: deque[float] = deque([self.began], maxlen=PACE)
        self._problems: list[str] = []

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        if self.shows_lines and self._played:
            self.print_line()

    def add(self, step: Step) -> None:
        """Takes a finished iteration."""
        self._played += 1
        self._finished.append(time.monotonic())

    def problem(self, text: str) -> None:
        """Takes a line about what went wrong; it is shown even when quiet."""
        self._problems.append(text)
        if self._live is None:
            print(f"secateur spsa: {text}", file=sys.stderr)

    def figures(self) -> dict[str, str]:
        """What there is to show besides the values, as label and text."""
        state = self._state
        total = state.run.schedule.iterations
        figures = {"iterations": f"{len(state.steps)} of {total}"}
        figures["plus won, even, lost"] = " ".join(str(count) for count in _outcomes(state.steps))
        elapsed = self._finished[-1] - self._finished[0]
        if elapsed > 0 and len(self._finished) > 1:
            pace = (len(self._finished) - 1) / elapsed
            figures["pairs an hour"] = f"{3600 * pace * state.run.pairs:.0f}"
            figures["time left"] = duration((total - len(state.steps)) / pace)
        figures["time"] = duration(time.monotonic() - self.began)
        if self._problems:
            figures["problems"] = str(len(self._problems))
        return figures

    def line(self) -> str:
        """The figures in one line, with what has changed most."""
        changes = sorted(
            zip(self._state.spsa.change_in_steps(), self._state.run.parameters, strict=True),
            key=lambda pair: -abs(pair[0]),
        )
        most = ", ".join(f"{parameter.name} {change:+.2f}" for change, parameter in changes[:3])
        texts = [f"{label} {text}" for label, text in self.figures().items()]
        return "; ".join([*texts, f"most changed, in steps: {most}"])

    def picture(self) -> Any:
        """The figures and the values as tables."""
        from rich.console import Group

        last = {"last problem": self._problems[-1]} if self._problems else {}
        return Group(figures_table(self.figures() | last), _values_table(self._state))


def _outcomes(steps: list[Step]) -> tuple[int, int, int]:
    """Iterations that the plus side won, drew and lost."""
    return (
        sum(step.points > 0 for step in steps),
        sum(step.points == 0 for step in steps),
        sum(step.points < 0 for step in steps),
    )


def _values_table(state: State) -> Any:
    """Start, range, value and change of every parameter."""
    from rich.table import Table

    grid = Table(box=None, pad_edge=False)
    grid.add_column("tunable", no_wrap=True)
    for head in ("start", "low", "high", "step", "value", "new default", "change in steps"):
        grid.add_column(head, justify="right", no_wrap=True)
    results = state.spsa.result()
    changes = state.spsa.change_in_steps()
    for parameter, value, change in zip(state.run.parameters, state.spsa.values, changes, strict=True):
        numbers = (parameter.default, parameter.low, parameter.high, parameter.step)
        grid.add_row(parameter.name, *map(str, numbers), f"{value:.2f}", str(results[parameter.name]), f"{change:+.2f}")
    return grid


# --------------------------------------------------------------------------------------------------------------
# What came out
# --------------------------------------------------------------------------------------------------------------


def _new_source(state: State) -> tuple[str, str]:
    """The text of `search/tunables.py`, and with the new defaults. Raises `SpsaError`."""
    try:
        source = SOURCE.read_bytes().decode("utf-8")
    except OSError as error:
        raise SpsaError(f"{SOURCE}: {error.strerror}") from None
    return source, edited_source(source, state.run.parameters, state.spsa.result())


def _report(state: State, options: argparse.Namespace) -> None:
    """Prints, draws and writes the outcome. Raises ValueError."""
    if options.json:
        _print_json(state)
    else:
        _print(state)
    if options.plot:
        points = _trajectory(state)
        title = f"SPSA: {len(state.steps)} of {state.run.schedule.iterations} iterations, {state.run.limit}"
        plot_trajectories([parameter.name for parameter in state.run.parameters], points, options.plot, title=title)
    if options.write and (state.is_finished or options.show):
        _, text = _new_source(state)
        write_source(SOURCE, text)
        print(f"secateur spsa: {SOURCE} has the new defaults", file=sys.stderr)


def _trajectory(state: State) -> list[tuple[int, list[float]]]:
    """(iterations finished, change of each parameter in steps), from the start on."""
    parameters = state.run.parameters
    rows = [(0, [0.0] * len(parameters))]
    for count, step in enumerate(state.steps, start=1):
        pairs = zip(parameters, step.values, strict=True)
        rows.append((count, [(value - parameter.default) / parameter.step for parameter, value in pairs]))
    return rows


def _print(state: State) -> None:
    from rich.console import Console

    run = state.run
    won, even, lost = _outcomes(state.steps)
    print(f"{len(state.steps)} of {run.schedule.iterations} iterations of {2 * run.pairs} games at {run.limit}")
    print(f"plus won {won}, even {even}, lost {lost}")
    # Wide enough for every column: to a file or a pipe nothing is to be cut off.
    console = Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else 200)
    console.print(_values_table(state))
    try:
        old, new = _new_source(state)
    except SpsaError as error:
        print(f"secateur spsa: note: no patch: {error}", file=sys.stderr)
        return
    lines = difflib.unified_diff(
        old.splitlines(keepends=True),
        new.splitlines(keepends=True),
        "a/search/tunables.py",
        "b/search/tunables.py",
        n=0,
    )
    print("\n" + "".join(lines), end="")


def _print_json(state: State) -> None:
    run = state.run
    results = state.spsa.result()
    answer = {
        "iterations": len(state.steps),
        "planned": run.schedule.iterations,
        "pairs": run.pairs,
        "limit": run.limit,
        "plus": dict(zip(("won", "even", "lost"), _outcomes(state.steps), strict=True)),
        "parameters": {
            parameter.name: {
                "start": parameter.default,
                "value": value,
                "default": results[parameter.name],
                "change_in_steps": change,
            }
            for parameter, value, change in zip(
                run.parameters, state.spsa.values, state.spsa.change_in_steps(), strict=True
            )
        },
    }
    print(json.dumps(answer, indent=2))
