"""`secateur train`: trains a network on self-play games."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from engine.arguments import Parser, command
from engine.errors import CommandError, UsageError, arguments_are_judged
from engine.files import Output, shown
from engine.progress import Steps

if TYPE_CHECKING:
    from eval.training.pool import Facts
    from eval.training.shards import ShardError
    from eval.training.trainer import Pace, Recipe, Run, Trainer

_EPILOG = """\
examples:
  secateur train data/first --hidden 32 --superbatches 20 --output first.snet --plot first.png
  secateur train data/first data/second --superbatch-size 100000000 --result-share 0.5 --seed 2 --output net.snet
  secateur train --output net.snet --resume        goes on where the run was ended, by whatever
  secateur train data/third --start net.snet --rate 0.0003 --output next.snet

The errors tell whether a run went well, not whether its network is better: only games decide that. The recipe and how
to make the data are in docs/training.md.
"""

#: The most threads that the default uses.
_MOST_THREADS: Final = 16


def _parser() -> Parser:
    parser = Parser(
        prog="secateur train",
        description="Trains a network on the games of self-play shards, and writes it as a network file.",
        epilog=_EPILOG,
    )
    add = parser.add_argument
    add("data", nargs="*", metavar="FOLDER|SHARD", help="what `secateur datagen` wrote")
    add("--output", type=Path, required=True, metavar="FILE.snet", help="the network file to write")
    add("--checkpoint", type=Path, metavar="FOLDER", help="where the run is kept (default: FILE.training)")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--resume", action="store_true", help="go on with the run in that folder")
    mode.add_argument("--overwrite", action="store_true", help="begin afresh although a run is there")

    data = parser.add_argument_group("positions")
    data.add_argument("--partial", action="store_true", default=None, help="use unfinished shards, too")
    data.add_argument("--skip", type=int, metavar="PLIES", help="leave out the first plies of games (default 0)")
    data.add_argument("--score-limit", type=int, metavar="CP", help="leave out scores from this on (default 10000)")
    data.add_argument(
        "--halfmoves",
        type=int,
        metavar="PLIES",
        help="leave out positions with so many plies since the last capture or pawn move (default 40)",
    )
    data.add_argument(
        "--noisy",
        dest="quiet_only",
        action="store_false",
        default=None,
        help="keep checks and positions whose best move is a capture",
    )
    data.add_argument(
        "--validation", type=float, metavar="0..1", help="share of games kept for checking (default 0.02)"
    )

    shape = parser.add_argument_group("the network")
    shape.add_argument(
        "--start", type=Path, metavar="FILE.snet", help="train this network on (default: one of random weights)"
    )
    shape.add_argument("--hidden", type=int, metavar="N", help="width of an accumulator (default 128)")
    shape.add_argument("--buckets", type=int, metavar="1|8", help="outputs, by the number of pieces (default 8)")

    recipe = parser.add_argument_group("the recipe")
    recipe.add_argument("--superbatches", type=int, metavar="N", help="superbatches of the run (default 40)")
    recipe.add_argument("--superbatch-size", type=int, metavar="N", help="positions of each (default: one pass)")
    recipe.add_argument("--batch-size", type=int, metavar="N", help="positions a step (default 4096)")
    recipe.add_argument("--result-share", type=float, metavar="0..1", help="of the result in the target (default 0)")
    recipe.add_argument(
        "--scale", type=float, metavar="CP", help="of the sigmoid (default: what fits the scores to the results)"
    )
    recipe.add_argument("--rate", type=float, help="learning rate at its height (default 0.004)")
    recipe.add_argument("--last-rate", type=float, help="and in the last step (default 2e-06)")
    recipe.add_argument("--warm-up", type=int, metavar="STEPS", help="steps in which it rises (default 400)")
    recipe.add_argument("--decay", type=float, help="weight decay (default 0.01)")
    recipe.add_argument("--clip", type=float, help="norm that gradients are cut to (default 1)")
    recipe.add_argument("--seed", type=int, help="decides first weights and order (default 1)")
    recipe.add_argument(
        "--threads", type=int, metavar="N", help=f"parts of a batch (default here: {_default_threads()})"
    )

    output = parser.add_argument_group("what comes out")
    output.add_argument("--plot", type=Path, metavar="FILE.png|svg", help="draw the loss curves")
    output.add_argument("--json", action="store_true", help="print the outcome as JSON")
    parser.add_quiet()
    return parser


def _default_threads() -> int:
    """The largest power of two up to the number of cores and _MOST_THREADS, so that batches divide equally."""
    return 1 << (min(os.cpu_count() or 1, _MOST_THREADS).bit_length() - 1)


@command("secateur train")
def main(arguments: list[str]) -> int:
    """Trains; returns the exit status."""
    options = _parser().parse_args(arguments)
    from bench.plots import check_path
    from eval.network.format import network_output
    from eval.training.shards import only_writer

    if not options.output.name:
        raise UsageError(f"--output {options.output}: this is a folder, not a file")
    folder = options.checkpoint or options.output.with_suffix(".training")
    if options.plot is not None:
        with arguments_are_judged():
            options.plot = check_path(options.plot)
    output = network_output(options.output)
    run = _run(options, folder)
    if output.size and not options.overwrite:
        if not options.resume:
            raise CommandError(f"{options.output} is there already: --overwrite replaces it when the run has ended")
        if not _is_of(options.output, folder, run):
            raise CommandError(f"{options.output} is there already, and this run has not made it: name another file")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with only_writer(folder, "training"):
            return _train(options, folder, run, output)
    except KeyboardInterrupt:
        print(f"secateur train: interrupted; --resume goes on with {shown(folder)}", file=sys.stderr)
        return 1


def _is_of(output: Path, folder: Path, run: Run) -> bool:
    """Whether a network file says that this run made it: with this recipe, from these data."""
    from engine.files import parse_json
    from eval.network.format import read_network
    from eval.training.pool import read_facts
    from eval.training.shards import ShardError

    try:
        provenance = dict(read_network(output).provenance)
        wanted = parse_json(json.dumps(_origin(run.recipe, read_facts(folder))))
    except (CommandError, ShardError, OSError):
        return False
    return all(provenance.get(name) == value for name, value in wanted.items())


def _origin(recipe: Recipe, pool: Facts) -> dict[str, Any]:
    """The provenance for the network file: everything that the weights depend on."""
    data = asdict(pool)
    # Without the time taken, a slower machine makes the same file on the same day.
    del data["seconds"]
    return {"data": data, "recipe": asdict(recipe)}


def _given(options: argparse.Namespace, names: list[str]) -> dict[str, Any]:
    """The options of these names that the user gave."""
    return {name: getattr(options, name) for name in names if getattr(options, name) is not None}


def _run(options: argparse.Namespace, folder: Path) -> Run:
    """The run to train. Raises CommandError."""
    from eval.network.format import read_network
    from eval.training.samples import Filter
    from eval.training.shards import find_shards
    from eval.training.trainer import Recipe, Run, check_folder, check_run, load_run

    recipe = _given(options, [entry.name for entry in fields(Recipe)])
    wanted = _given(options, ["skip", "score_limit", "halfmoves", "quiet_only"])
    if "quiet_only" in wanted:
        wanted["quiet"] = wanted.pop("quiet_only")
    whole = _given(options, ["partial", "validation"])
    if options.start is not None:
        network = read_network(options.start)
        recipe = {"hidden": network.hidden, "buckets": network.buckets} | recipe | {"start": network.digest()}
    if options.resume:
        run = load_run(folder)
        check_run(folder)
        there: dict[str, Any] = {**asdict(run), **asdict(run.recipe), **asdict(run.wanted)}
        for name, value in {**recipe, **wanted, **whole}.items():
            if there[name] != value:
                raise UsageError(f"{folder}: the run there has {name.replace('_', '-')} {there[name]}, not {value}")
        if options.data and tuple(options.data) != run.data:
            raise UsageError(f"{folder}: the run there is on {', '.join(run.data)}, not {', '.join(options.data)}")
        return run
    check_folder(folder, options.overwrite)
    if not options.data:
        raise UsageError("say what to train on: folders or shards of `secateur datagen`")
    find_shards(options.data, bool(options.partial))
    recipe.setdefault("threads", _default_threads())
    with arguments_are_judged():
        return Run(Recipe(**recipe), tuple(options.data), wanted=Filter(**wanted), **whole)


def _train(options: argparse.Namespace, folder: Path, run: Run, output: Output) -> int:
    from engine.files import replace_file
    from eval.network.format import read_network_file
    from eval.training.trainer import START, TrainingError, adopt_run, begin_run, drop_new, drop_run, train
    from eval.training.training_view import TrainingView, plot_losses

    problems: list[str] = []
    start = None if options.start is None else read_network_file(options.start)[0]
    drop_new(folder)  # left by a killed command
    place = folder if options.resume else begin_run(folder, run, options.overwrite)
    is_first = place == folder and not options.resume
    try:
        if start is not None and not (place / START).exists():
            replace_file(place / START, start)  # a copy: the run can be resumed without the other file
        trainer = _prepared(options, place, run, problems)
        if trainer is not None and place != folder:
            trainer = None  # Windows cannot move a mapped file
            adopt_run(folder, run)
            trainer = _prepared(options, folder, run, problems)
        if trainer is None:
            if is_first:
                drop_run(folder)
            return 1
    except TrainingError:
        if is_first:
            # There is nothing to resume: the folder stays free for the corrected command.
            drop_run(folder)
        raise
    except KeyboardInterrupt:
        if place == folder:
            raise
        raise CommandError(f"interrupted; the earlier run is still in {shown(folder)}") from None
    finally:
        drop_new(folder)
    pool = trainer.pool
    if not options.quiet:
        print(
            f"{pool.facts.training} positions to train on, {pool.facts.validation} to check, of {pool.facts.games} "
            f"games{_loaded_in(pool.facts.seconds)}; {trainer.steps} steps a superbatch; scale {trainer.scale:g}",
            file=sys.stderr,
        )
    with TrainingView(run.recipe.superbatches, trainer.steps, trainer.state.log, options.quiet) as view:
        train(folder, trainer, view.step, view.superbatch)
    with Steps("measuring and writing the network", options.quiet):
        facts = _export(trainer, output)
    if options.plot is not None:
        title = f"{options.output.name}: {pool.facts.training:,} positions, H = {run.recipe.hidden}"
        plot_losses(trainer.state.log, options.plot, title)
    pace = trainer.pace()
    if options.json:
        outcome = {"network": str(options.output), **facts, "pace": asdict(pace), "problems": problems}
        print(json.dumps(outcome, indent=2))
    else:
        _print(options.output, facts, pace)
    return 1 if problems else 0


def _prepared(options: argparse.Namespace, folder: Path, run: Run, problems: list[str]) -> Trainer | None:
    """The trainer of the run in a folder; makes the pool if there is none.

    None if every shard was left out; a line for each has said why. Raises TrainingError, ShardError, OSError.
    """
    from eval.training.pool import FACTS, build_pool, open_pool
    from eval.training.trainer import Trainer, load_state

    if not (folder / FACTS).exists():
        with _Loading(options.quiet, problems) as view:
            parts = (run.data, run.wanted, run.validation, run.recipe.seed, run.partial)
            build_pool(folder, *parts, view.problem, view.shard)
    pool = open_pool(folder)
    if problems and not pool.facts.shards:
        return None
    with Steps("preparing the run", options.quiet):
        return Trainer(run.recipe, pool, load_state(folder, run.recipe))


def _loaded_in(seconds: float | None) -> str:
    return "" if seconds is None else f", loaded in {seconds:.1f} s"


class _Loading(Steps):
    """Shows the progress of making the pool, and reports the shards that are left out."""

    def __init__(self, quiet: bool, problems: list[str]) -> None:
        super().__init__("reading shards", quiet)
        self._problems = problems

    def problem(self, error: ShardError) -> None:
        """Reports an unusable shard, even when quiet."""
        self._problems.append(str(error))
        print(f"secateur train: left out: {error}", file=sys.stderr)

    def shard(self, shards: int, positions: int) -> None:
        """Shows a decoded shard."""
        self.show(f"{shards} shards decoded, {positions} positions")


def _export(trainer: Trainer, output: Output) -> dict[str, Any]:
    """Writes the network file; returns its provenance."""
    from bench.records import current_commit
    from engine.version import version
    from eval.network.format import write_network
    from eval.training.quantise import measure, quantised

    validation, exact = trainer.validate()
    log = trainer.state.log
    facts: dict[str, Any] = {
        "made_by": "secateur train",
        "version": version(),
        "commit": current_commit(),
        "licence": "GPL-3.0-or-later",
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        **_origin(trainer.recipe, trainer.pool.facts),
        "scale": trainer.scale,
        "positions_seen": sum(entry.positions for entry in log),
        "training_error": log[-1].training,
        "validation_error": validation,
    }
    loss = measure(quantised(trainer.layers, {}), trainer.pool.validation, exact)
    facts["quantisation"] = {"positions": loss.positions, "most": round(loss.most, 2), "rms": round(loss.rms, 3)}
    write_network(output, quantised(trainer.layers, facts))
    return facts


def _print(path: Path, facts: dict[str, Any], pace: Pace) -> None:
    loss = facts["quantisation"]
    checked = "" if facts["validation_error"] is None else f", validation error {facts['validation_error']:.6f}"
    print(f"{shown(path)}: training error {facts['training_error']:.6f}{checked}")
    if loss["positions"]:
        print(f"rounding costs {loss['rms']} centipawns (root mean square), {loss['most']} at most")
    whole = "" if pace.with_loading is None else f", {pace.with_loading:,.0f} with decoding, filtering and shuffling"
    print(f"{pace.training:,.0f} positions/s in training{whole}")
