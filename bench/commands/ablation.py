"""`secateur ablation`: measures the Elo gains of search techniques in games between engines that lack some of them.

In each pair of games, each of the two engines lacks each technique with probability `SHARE`; equal engines are drawn
again. The score counts towards every technique that only one engine has, so a game can measure several techniques.
Interactions are not measured. (This design is called random balance: F. E. Satterthwaite, Technometrics 1, 1959.)

The model is that of `bench.rating`: an engine's rating is the sum of its techniques' gains. The intervals come from
the sandwich estimator on pairs, corrected for leverage (HC3 of J. G. MacKinnon and H. White, Journal of Econometrics
29, 1985). With few pairs, an interval is at least as wide as the interval that the model alone implies.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from bench import records
from bench.adjudication import Adjudication
from bench.commands import ledger
from bench.description import (
    DescriptionError,
    MatchDescription,
    add_book_arguments,
    add_rule_arguments,
    book_from_arguments,
    check_tablebases,
    rules_from_arguments,
)
from bench.display import result_console
from bench.engines import EngineSpec, compile_kernels, engine_from_pairs, this_engine
from bench.game import check_engine
from bench.pairs import MINUS, PLUS, PairsError, PairsTask, Progress, StateFile, make_task, play_pairs
from bench.rating import RUNAWAY, UNIT, Floats, RatingError, fit_logistic
from bench.records import LedgerError, Record, circumstances_of
from bench.schedule import Plan, make_plan
from bench.stats import Z95, with_error
from engine.arguments import Parser, command
from engine.compiler.sources import PROJECT_ROOT
from engine.errors import FAILED, OK, arguments_are_judged
from engine.files import count_of, locked, shown
from engine.progress import Steps, say
from search.techniques import TECHNIQUES, Technique, named

#: The probability with which `left_out` removes any given technique from an engine for a pair of games.
SHARE: Final = 0.15

#: With fewer pairs of games per technique than this, the observed spread of the scores is unreliable.
FEW_PAIRS: Final = 10

DEFAULT_LIMIT: Final = "nodes=8000"
DEFAULT_GAMES: Final = 6000
#: TT size of each engine, in MiB.
HASH: Final = 16
#: The defaults of the options for openings and adjudication.
DEFAULTS: Final[dict[str, Any]] = {
    "book": str(PROJECT_ROOT / "bench" / "books" / "balanced.epd"),
    "order": "random",
    "seed": 1,
    "resign": "4,700",
    "draw": "40,8,10",
}

_EPILOG = f"""\
examples:
  secateur ablation --games 100                     a quick look
  secateur ablation --concurrency 2 --state run.jsonl --ledger --suffix network
  secateur ablation time-stability time-fall time-effort --tc 1+0.01
To measure one technique with all others in use, play a match:
  secateur match --engine cmd=./secateur arg=--tuning name=full \\
                 --engine cmd=./secateur arg=--tuning option.Without=null-move name=without --tc nodes=8000

techniques:
  {chr(10).join(f"{technique.key:<30}{technique.title}" for technique in TECHNIQUES).replace(chr(10), chr(10) + "  ")}

In each pair of games, each of the two engines lacks any given technique with a probability of {SHARE:.0%}. With a node
limit, every run plays the same games. Exit status 0 means that every game was played without a fault.
"""


def parser() -> Parser:
    """Returns the command's argument parser."""
    parser = Parser(
        prog="secateur ablation",
        description="Measures the Elo gain of search techniques in games between engines that lack some of them.",
        epilog=_EPILOG,
        needs=("rich", "scipy"),
    )
    parser.add_argument("keys", nargs="*", metavar="KEY", help="techniques (default: all but those that need a clock)")
    games = parser.add_argument_group("games", "default: --book bench/books/balanced.epd --order random --seed 1")
    games.add_argument("--tc", default=DEFAULT_LIMIT, help=f"time control (default {DEFAULT_LIMIT})")
    games.add_argument(
        "--games", type=int, metavar="N", default=DEFAULT_GAMES, help=f"number of games, even (default {DEFAULT_GAMES})"
    )
    games.add_argument(
        "--state", type=Path, metavar="FILE", help="save the results in FILE, or continue the run saved in it"
    )
    add_book_arguments(games)
    games.add_argument("--concurrency", type=int, default=1, metavar="N", help="pairs of games at once (default 1)")
    add_rule_arguments(
        parser.add_argument_group("adjudication", f"default: --resign {DEFAULTS['resign']} --draw {DEFAULTS['draw']}")
    )
    parser.set_defaults(**DEFAULTS)
    kept = parser.add_argument_group("ledger")
    kept.add_argument("--ledger", action="store_true", help="record each result in bench/ledger/KEY[-SUFFIX].json")
    kept.add_argument("--suffix", default="", metavar="TEXT", help="append -TEXT to the id of each record")
    ledger.add_circumstances(kept)
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_quiet()
    return parser


@command("secateur ablation")
def main(arguments: list[str]) -> int:
    """Measures and prints the gains, records them with `--ledger`, and returns the exit status."""
    options = parser().parse_args(arguments)
    with arguments_are_judged():
        techniques = named(options.keys) or tuple(technique for technique in TECHNIQUES if not technique.needs_clock)
        description = _description(techniques, options)
        if options.ledger:
            for technique in techniques:
                records.check_unused(_id(technique, options))
        options.commit = records.tested_commits(options.commit)
    with ExitStack() as held:
        if options.state is not None:
            held.enter_context(locked(options.state, remove=True))
        with Steps("reading the state and the book", options.quiet):
            state = StateFile(options.state, "ablation")
            plan = make_plan(description)
        for problem in plan.problems:
            _say(problem)
        if options.bench_nodes is None and (options.ledger or options.state):
            options.bench_nodes = _count_benchmark(options.quiet)
        keys = [technique.key for technique in techniques]
        _begin(state, keys, description.adjudication, options)
        stopped = ""
        try:
            _play(keys, plan, state, options)
        except KeyboardInterrupt:
            stopped = "interrupted"
        except PairsError as error:
            stopped = str(error)
        try:
            found = effects(keys, options.seed, state.results)
            _report(techniques, found, state, options)
            if options.ledger and not stopped:
                _record(techniques, found, state, description, options)
        except (PairsError, LedgerError) as error:
            stopped = stopped or str(error)
        if stopped:
            unrecorded = "; not recorded" if options.ledger else ""
            # If the message names the state file, it already says where the results are.
            kept = options.state and str(options.state) not in stopped
            _say(f"{stopped}{unrecorded}{f'; the results so far are in {shown(options.state)}' if kept else ''}")
        return FAILED if stopped or state.faults else OK


def _say(text: str) -> None:
    say(f"secateur ablation: {text}")


def _description(techniques: Sequence[Technique], options: argparse.Namespace) -> MatchDescription:
    """Returns the match that the options describe. Raises ValueError if an option is invalid."""
    if options.games < 2 or options.games % 2:
        raise DescriptionError(f"--games must be even and at least 2: openings are played twice (got {options.games})")
    if options.suffix and not options.ledger:
        raise DescriptionError("--suffix requires --ledger")
    sides = _engine(PLUS, (), options), _engine(MINUS, (), options)
    for technique in techniques:
        if technique.needs_clock and not sides[0].limit.has_clock:
            raise DescriptionError(f"{technique.key} needs a clock, such as --tc 1+0.01 (got {options.tc})")
    rules = rules_from_arguments(options, Adjudication())
    check_tablebases(rules)
    return MatchDescription(
        engines=sides,
        rounds=options.games // 2,
        book=book_from_arguments(options, None),
        concurrency=options.concurrency,
        adjudication=rules,
        runner="builtin",
    )


def _engine(name: str, lacks: Sequence[str], options: argparse.Namespace) -> EngineSpec:
    """Returns Secateur as an engine without the techniques in `lacks`. Raises `EngineSpecError` if --tc is invalid."""
    without = " ".join(lacks) or "<empty>"
    pairs = ("arg=--tuning", f"name={name}", f"option.Hash={HASH}", f"option.Without={without}")
    return engine_from_pairs(this_engine(*pairs), (), options.tc)


def _id(technique: Technique, options: argparse.Namespace) -> str:
    """Returns the id of a technique's record in the ledger."""
    return "-".join(filter(None, (technique.key, options.suffix)))


def _count_benchmark(quiet: bool) -> int:
    """Returns the benchmark's node count, which identifies the version of the search."""
    from search.benchmark import run_benchmark
    from search.warmup import load_kernels

    with Steps("counting the nodes of the benchmark", quiet):
        load_kernels()
        result = run_benchmark()
    assert result is not None
    return result.nodes


def _begin(state: StateFile, keys: Sequence[str], rules: Adjudication, options: argparse.Namespace) -> None:
    """Resumes or begins the run of `state`. Raises `PairsError` if the state is of another run or cannot be saved."""
    games = {name: getattr(options, name) for name in ("tc", "book", "order", "plies", "seed", "bench_nodes")}
    games |= {"hash": HASH, "techniques": keys, "share": SHARE, "adjudication": asdict(rules)}
    if state.settings is None:
        state.begin({"games": games, "commits": options.commit})
        return
    played, tested = state.settings.get("games"), state.settings.get("commits")
    if not isinstance(played, dict) or not isinstance(tested, list) or not all(isinstance(one, str) for one in tested):
        raise PairsError(f"{shown(options.state)}:1: not the settings of an ablation run")
    differ = [name for name, value in json.loads(json.dumps(games)).items() if played.get(name) != value]
    if differ:
        raise PairsError(f"{shown(options.state)}: belongs to a run with other settings ({', '.join(differ)})")


def _play(keys: Sequence[str], plan: Plan, state: StateFile, options: argparse.Namespace) -> None:
    """Plays the missing pairs and adds each to `state`. Raises `PairsError` if engines fail or saving fails."""
    description = plan.description
    missing = list(state.missing(range(description.rounds)))
    if not missing:
        return
    compile_kernels(description.engines)
    problem = check_engine(description.engines[0])
    if problem is not None:
        raise PairsError(problem.replace(f"engine {PLUS}", "the engine"))

    def task(number: int) -> PairsTask:
        first, second = left_out(keys, options.seed, number)
        sides = _engine(PLUS, first, options), _engine(MINUS, second, options)
        return make_task(number, *sides, plan.openings, description.adjudication)

    def on_problem(number: int, fault: str) -> None:
        lacks = " against ".join(" ".join(side) or "nothing" for side in left_out(keys, options.seed, number))
        _say(f"pair {number + 1} (left out: {lacks}): {fault}")

    with Progress(state, description.rounds, "pairs", options.quiet):
        for _ in play_pairs(map(task, missing), state, on_problem, options.concurrency):
            pass


def _record(
    techniques: Sequence[Technique],
    found: dict[str, Effect],
    state: StateFile,
    description: MatchDescription,
    options: argparse.Namespace,
) -> None:
    """Saves a record in the ledger for each technique. Raises `LedgerError` if a record cannot be saved."""
    assert state.settings is not None
    circumstances = circumstances_of(description)
    together = f"one of {len(techniques)} techniques; each side lacked each of them with probability {SHARE:.0%}"
    for technique in techniques:
        effect = found[technique.key]
        record = Record(
            id=_id(technique, options),
            what=f"{technique.title}, against none",
            date=records.today(),
            commits=tuple(state.settings.get("commits", ())),
            engines=("with", "without"),
            games=2 * len(state.results),
            pentanomial=(),
            elo=round(effect.elo, 2),
            elo_error=round(effect.error, 2),
            nelo=None,
            verdict="measured",
            bench_nodes=options.bench_nodes,
            note="; ".join(filter(None, (together, options.note))),
            faults=state.faults,
            book=circumstances["book"],
            time_control=circumstances["time_control"],
        )
        _say(f"recorded in {records.save(record)}")


def _report(
    techniques: Sequence[Technique], found: dict[str, Effect], state: StateFile, options: argparse.Namespace
) -> None:
    """Prints the gains, largest first, as a table, or as JSON with `--json`."""
    games = 2 * len(state.results)
    order = sorted(techniques, key=lambda technique: -found[technique.key].elo)
    if options.json:
        rows = [{"key": row.key, "title": row.title, **asdict(found[row.key])} for row in order]
        print(json.dumps({"time_control": options.tc, "games": games, "techniques": rows}, indent=2))
        return
    from rich.table import Table

    table = Table("technique", "what it is", box=None, pad_edge=False)
    table.add_column("Elo with it", justify="right")
    for row in order:
        table.add_row(row.key, row.title, with_error(found[row.key].elo, found[row.key].error))
    console = result_console()
    console.print(table)
    console.print(f"{games} games")


@dataclass(frozen=True, slots=True)
class Effect:
    """A technique's gain in Elo (`elo`), and half the width of the gain's 95 % interval (`error`)."""

    elo: float
    error: float


def left_out(techniques: Sequence[str], seed: int, number: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns the techniques that the first engine lacks, and those that the second lacks, in pair `number`.

    The choice depends only on the arguments. The two sets differ, because equal engines would measure nothing.
    """
    rng = random.Random(f"{seed}/{number}")
    while True:
        first, second = (tuple(key for key in techniques if rng.random() < SHARE) for _ in range(2))
        if first != second:
            return first, second


def effects(techniques: Sequence[str], seed: int, results: Mapping[int, int]) -> dict[str, Effect]:
    """Returns each technique's estimated gain. `results` maps a pair's number to the first engine's wins minus losses.

    `techniques`, in the same order, and `seed` must be those given to `left_out`. Raises `PairsError` if there are too
    few pairs, or if their results are so one-sided that the estimate of a gain is infinite.
    """
    had = np.zeros((len(results), len(techniques)))
    for row, number in enumerate(sorted(results)):
        first, second = left_out(techniques, seed, number)
        had[row] = [(key in second) - (key in first) for key in techniques]
    scores = np.array([(results[number] + 2) / 4 for number in sorted(results)])
    games = 2 * len(results)
    if not results or np.linalg.matrix_rank(had) < len(techniques):
        raise PairsError(f"{games} games are too few to measure {count_of(len(techniques), 'technique')}; play more")
    try:
        gains = fit_logistic(had, scores)
    except RatingError as error:
        raise PairsError(f"{games} games: {error}") from None
    if np.abs(gains).max() > RUNAWAY:
        worst = techniques[int(np.abs(gains).argmax())]
        raise PairsError(f"{games} games are too one-sided to measure {worst}; play more")
    errors = Z95 * _deviations(had, scores, gains)
    return {
        key: Effect(float(gain) * UNIT, float(error) * UNIT)
        for key, gain, error in zip(techniques, gains, errors, strict=True)
    }


def _deviations(had: Floats, scores: Floats, gains: Floats) -> Floats:
    """Returns the standard errors of `gains`, float64[techniques], in natural units. `had`, float64[pairs, techniques],
    is 1 if only the first engine had a technique, -1 if only the second had it, else 0. `scores` is float64[pairs].
    """
    from scipy.special import expit

    expected = expit(had @ gains)
    weights = expected * (1 - expected)
    bread = np.linalg.inv((had.T * weights) @ had)
    leverages = weights * np.einsum("ij,jk,ik->i", had, bread, had)
    spread = had * ((scores - expected) / np.maximum(1 - leverages, 1e-3))[:, None]
    variances = np.diag(bread @ (spread.T @ spread) @ bread)
    if len(had) < FEW_PAIRS * had.shape[1]:
        # The mean of a pair's two games has half the variance of a game.
        variances = np.maximum(variances, np.diag(bread) / 2)
    return np.asarray(np.sqrt(variances), np.float64)
