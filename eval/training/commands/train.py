"""`secateur train`: trains a network on self-play games."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from engine.arguments import Parser, command
from engine.errors import CommandError, UsageError, arguments_are_judged
from engine.files import Output, quoted, shown
from engine.progress import Steps

if TYPE_CHECKING:
    from eval.training.policy import PolicyTrainer
    from eval.training.runs import Run
    from eval.training.trainer import Trainer

_EPILOG = """\
examples:
  secateur train data/first --hidden 32 --superbatches 20 --output first.snet --plot first.png
  secateur train data/first data/second --superbatch-size 100000000 --result-share 0.5 --seed 2 --output net.snet
  secateur train --output net.snet --resume        continues an interrupted run
  secateur train data/third --start net.snet --lookahead 50 --superbatches 2 --output next.snet
  secateur train data/third --start next.snet --policy --superbatches 2 --rate 0.02 --output rating.snet

The errors show whether a run went well, but only games show how strong its network is. docs/training.md describes the
recipe and how to make the data.
"""

#: The default rate with a start network. At a higher rate, training forgets more than it learns from a few new games.
_RATE_AFTER_START: Final = 2e-4

#: After training, the command shows the validation errors of means with these shares of the start network. The last is
#: the start network itself.
_SHARES: Final = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)

#: The options with a value, by group in the help: name, type, metavar, help.
_OPTIONS: Final[dict[str, tuple[tuple[str, type, str | None, str], ...]]] = {
    "positions": (
        ("--skip", int, "PLIES", "leave out the first PLIES plies of each game (default 0)"),
        ("--score-limit", int, "CP", "leave out positions that score at least CP for either side (default 10000)"),
        ("--halfmoves", int, "PLIES", "leave out positions with a halfmove clock of at least PLIES (default 40)"),
        ("--lookahead", int, "PERCENT", "weight of the next ply's score in a label, and so on (default 0: none)"),
        ("--validation", float, "0..1", "share of games kept for validation (default 0.02)"),
    ),
    "the network": (
        ("--start", Path, "FILE.snet", "continue training this network (default: random weights)"),
        ("--start-share", float, "0..1", "share of that network in the mean that is written (default 0)"),
        ("--hidden", int, "N", "width of an accumulator (default 128)"),
        ("--buckets", int, "1|8", "number of outputs; the number of pieces selects one (default 8)"),
    ),
    "the recipe": (
        ("--superbatches", int, "N", "number of superbatches (default 40)"),
        ("--superbatch-size", int, "N", "positions in a superbatch (default: one pass over the data)"),
        ("--batch-size", int, "N", "positions in a step (default 4096)"),
        ("--result-share", float, "0..1", "share of the result in the target; the rest is the score's (default 0)"),
        ("--scale", float, "CP", "scale of the sigmoid (default: fitted to the scores and results)"),
        ("--rate", float, None, "highest learning rate (default 0.004; 0.0002 to train a network --start further)"),
        ("--last-rate", float, None, "learning rate in the last step (default 2e-06)"),
        ("--warm-up", int, "STEPS", "steps in which the rate rises, at most a tenth of all (default 400)"),
        ("--decay", float, None, "weight decay (default 0.01)"),
        ("--clip", float, None, "largest norm of a gradient (default 1)"),
        ("--seed", int, None, "seed of the initial weights and the order of positions (default 1)"),
        ("--device", str, "cpu|gpu|jax", "train on the processor, or with JAX on a GPU or its choice (default cpu)"),
    ),
}


def _parser() -> Parser:
    parser = Parser(
        prog="secateur train",
        description="Trains a network on the games of self-play shards and writes it to a network file.",
        epilog=_EPILOG,
    )
    add = parser.add_argument
    add("data", nargs="*", metavar="FOLDER|SHARD", help="folders of shards, or single shards")
    add("--output", type=Path, required=True, metavar="FILE.snet", help="the network file to write")
    add("--checkpoint", type=Path, metavar="FOLDER", help="folder for the run (default: FILE.training)")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--resume", action="store_true", help="continue the run in the checkpoint folder")
    mode.add_argument("--overwrite", action="store_true", help="replace the existing run and network file")
    groups = {title: parser.add_argument_group(title) for title in _OPTIONS}
    for title, options in _OPTIONS.items():
        for name, kind, metavar, text in options:
            groups[title].add_argument(name, type=kind, metavar=metavar, help=text)
    groups["the recipe"].add_argument(
        "--threads", type=int, metavar="N", help=f"number of threads (default here: {_default_threads()})"
    )
    groups["the network"].add_argument(
        "--threats",
        action="store_true",
        default=None,
        help="give the network rows for hanging pieces and safe checks (default: as the network --start)",
    )
    groups["the network"].add_argument(
        "--policy",
        action="store_true",
        default=None,
        help="train a policy, which rates moves, for the network --start; that network stays as it is",
    )
    add_flag = groups["positions"].add_argument
    add_flag(
        "--weight",
        action="append",
        type=_weight,
        metavar="FOLDER=0..1",
        help="use only this share of the games in one of the folders or shards; repeatable",
    )
    add_flag("--partial", action="store_true", default=None, help="also use unfinished shards")
    add_flag(
        "--trees",
        dest="games",
        action="store_false",
        default=None,
        help="leave out the games of shards with positions of trees",
    )
    add_flag(
        "--noisy",
        dest="quiet_only",
        action="store_false",
        default=None,
        help="also use positions in check or whose best move is a capture or promotion",
    )
    output = parser.add_argument_group("output")
    output.add_argument("--plot", type=Path, metavar="FILE.png|svg", help="draw the loss curves")
    output.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_quiet()
    return parser


def _weight(text: str) -> tuple[str, float]:
    path, found, number = text.rpartition("=")
    try:
        return path, float(number if found else "")
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected FOLDER=NUMBER, got {quoted(text)}") from None


def _default_threads() -> int:
    """Returns the largest power of two up to the number of cores, at most 16. It divides the default batch size."""
    return 1 << (min(os.cpu_count() or 1, 16).bit_length() - 1)


@command("secateur train")
def main(arguments: list[str]) -> int:
    """Runs the command; returns the exit status."""
    options = _parser().parse_args(arguments)
    from bench.plots import check_path
    from eval.network.format import network_output
    from eval.training.shards import only_writer

    output = network_output(options.output)
    folder = options.checkpoint or options.output.with_suffix(".training")
    if folder.absolute() == options.output.absolute():
        raise UsageError(f"--output {shown(options.output)} is the folder of the run; expected FILE.snet")
    with arguments_are_judged():
        options.plot = options.plot and check_path(options.plot, "training")
    if folder.is_dir():
        with only_writer(folder, "training"):
            pass  # a training that runs would change what is checked now
    run, start = _run(options, folder)
    if output.size and not options.overwrite:
        if not options.resume:
            raise CommandError(f"{shown(options.output)} already exists; pass --overwrite to replace it")
        if output.digest != run.network:
            raise CommandError(f"{shown(options.output)} already exists and is not from this run; name another file")
    if not options.resume:
        run = replace(run, network=output.digest)
    folder.mkdir(parents=True, exist_ok=True)
    with only_writer(folder, "training"):
        return _train(options, folder, run, start, output)


def _given(options: argparse.Namespace, names: list[str]) -> dict[str, Any]:
    """Returns the values, by name, of the options in `names` that the user gave."""
    return {name: getattr(options, name) for name in names if getattr(options, name) is not None}


def _run(options: argparse.Namespace, folder: Path) -> tuple[Run, bytes | None]:
    """Returns the run, and the contents of the --start file, if any. Raises OSError or CommandError."""
    from eval.network.format import read_network_file
    from eval.training.runs import Run, check_new, load_run
    from eval.training.samples import Filter
    from eval.training.shards import find_shards
    from eval.training.trainer import Recipe, state_from

    recipe = _given(options, [entry.name for entry in fields(Recipe) if entry.name != "start"])
    wanted = _given(options, ["skip", "score_limit", "halfmoves", "lookahead", "quiet_only", "games"])
    if "quiet_only" in wanted:
        wanted["quiet"] = wanted.pop("quiet_only")
    whole = _given(options, ["partial", "validation"])
    if options.weight is not None:
        whole["weights"] = dict(options.weight)
    start = None
    if options.start is not None:
        start, network = read_network_file(options.start)
        recipe["start"] = network.digest()
    if options.resume:
        run = load_run(folder)
        there: dict[str, Any] = {**asdict(run), **asdict(run.recipe), **asdict(run.wanted)}
        for name, value in {**recipe, **wanted, **whole}.items():
            if there[name] != value and name != "start_share":
                raise UsageError(f"{folder}: the existing run has {name.replace('_', '-')} {there[name]}, not {value}")
        if options.data and tuple(options.data) != run.data:
            raise UsageError(f"{folder}: the existing run uses {', '.join(run.data)}, not {', '.join(options.data)}")
        if options.start_share is not None:
            with arguments_are_judged():
                run = replace(run, recipe=replace(run.recipe, start_share=options.start_share))
        return run, start
    if start is not None:
        recipe = dict(zip(("hidden", "buckets", "threats"), network.shape(), strict=True)) | recipe
        if not options.policy:
            recipe.setdefault("rate", _RATE_AFTER_START)
    check_new(folder, options.overwrite)
    if not options.data:
        raise UsageError("no training data given: name folders or shards from `secateur datagen`")
    find_shards(options.data, bool(options.partial))
    recipe.setdefault("threads", _default_threads())
    with arguments_are_judged():
        run = Run(Recipe(**recipe), tuple(options.data), wanted=Filter(**wanted), **whole)
    if start is not None:
        state_from(network, run.recipe)  # raises TrainingError if the network has another size
    return run, start


def _train(options: argparse.Namespace, folder: Path, run: Run, start: bytes | None, output: Output) -> int:
    from eval.network.format import read_network
    from eval.training.policy import PolicyTrainer, trainer_of
    from eval.training.pool import FACTS, open_pool
    from eval.training.runs import RUN, START, load_run, load_state, output_of, save_run, train
    from eval.training.trainer import state_from
    from eval.training.training_view import TrainingView, plot_losses

    if not (options.resume and (folder / FACTS).exists()):
        _make_pool(options, folder, run, start)
    record, share = output_of(folder, RUN), run.recipe.start_share
    run = load_run(folder)  # read again, now that the folder is locked
    run = replace(run, recipe=replace(run.recipe, start_share=share))
    with Steps("preparing the run", options.quiet) as steps:
        pool = open_pool(folder, steps.show)
        network = read_network(folder / START) if run.recipe.policy else None
        trainer = trainer_of(run.recipe, pool, load_state(folder, run.recipe), network)
    if not options.quiet:
        loaded = "" if pool.facts.seconds is None else f", prepared in {pool.facts.seconds:.1f} s"
        print(
            f"{pool.facts.training} positions to train on and {pool.facts.validation} for validation, from "
            f"{pool.facts.games} games{loaded}; {trainer.steps} steps a superbatch; scale {trainer.scale:g}",
            file=sys.stderr,
        )
    try:
        with TrainingView(run.recipe.superbatches, trainer.steps, len(trainer.state.log), options.quiet) as view:
            train(folder, trainer, view.step, view.superbatch)
    except KeyboardInterrupt:
        raise CommandError(f"interrupted; pass --resume to continue the run in {shown(folder)}") from None
    with Steps("measuring and writing the network", options.quiet):
        means: dict[str, float | None] = {}
        if run.recipe.start and not run.recipe.policy:
            beginning = state_from(read_network(folder / START), run.recipe).parameters
            means = trainer.errors_of_means(beginning, _SHARES)
            trainer.return_to(beginning)
        facts = _export_policy(trainer, output) if isinstance(trainer, PolicyTrainer) else _export(trainer, output)
        save_run(record, replace(run, network=output.digest))
    if options.plot is not None:
        title = f"{shown(options.output.name)}: {pool.facts.training:,} positions, H = {run.recipe.hidden}"
        plot_losses(trainer.state.log, options.plot, title, *(["cross entropy"] if run.recipe.policy else []))
    if options.json:
        outcome = {"network": str(options.output), **facts, "positions_per_second": round(trainer.pace(), 1)}
        outcome["validation_by_start_share"] = means
        print(json.dumps(outcome, indent=2))
    else:
        validation = facts["validation_error"]
        checked = "" if validation is None else f", validation error {validation:.6f}"
        print(f"{shown(options.output)}: training error {facts['training_error']:.6f}{checked}")
        if means and validation is not None:
            print("validation error by share of the start network (--resume --start-share chooses another):")
            print(", ".join(f"{share}: {error:.6f}" for share, error in means.items()))
        hits, loss = facts.get("hits", {}), facts.get("quantisation", {})
        if hits.get("positions"):
            print(
                f"the played move rates first in {hits['top_1']:.1%} and among the first three in {hits['top_3']:.1%} "
                f"of {hits['positions']} positions; after rounding in {hits['rounded_top_1']:.1%} and "
                f"{hits['rounded_top_3']:.1%}"
            )
        if loss.get("positions"):
            print(f"rounding changes scores by {loss['rms']} centipawns (root mean square), {loss['most']} at most")
        print(f"{trainer.pace():,.0f} positions/s in training")
    return 0


def _make_pool(options: argparse.Namespace, folder: Path, run: Run, start: bytes | None) -> None:
    """Makes a pool, begins the run unless it is resumed, and moves the pool to `folder`.

    Raises OSError, and CommandError if the data are unusable or, in a resumed run, have changed.
    """
    from eval.training.pool import build_pool
    from eval.training.runs import adopt_pool, begin_run, load_state, new_pool

    with new_pool(folder) as new:
        with Steps("reading shards", options.quiet) as view:

            def on_shard(shards: int, positions: int) -> None:
                view.show(f"decoding shards: {shards} done, {positions} positions")

            facts = build_pool(
                new, run.data, run.wanted, run.validation, run.recipe.seed, run.partial, on_shard, run.weights
            )
        run.recipe.steps_of_pass(facts.training)
        if options.resume:
            load_state(folder, run.recipe).use(facts)
        else:
            begin_run(folder, run, start, options.overwrite)
        adopt_pool(folder, new)


def _export(trainer: Trainer, output: Output) -> dict[str, Any]:
    """Writes the network file; returns its provenance."""
    from eval.network.format import write_network
    from eval.training.quantise import measure, quantised

    validation, exact = trainer.validate()
    facts = _facts(trainer, validation)
    facts["quantisation"] = measure(quantised(trainer.layers, {}), trainer.pool.validation, exact)
    write_network(output, quantised(trainer.layers, facts))
    return facts


def _export_policy(trainer: PolicyTrainer, output: Output) -> dict[str, Any]:
    """Writes the start network with its policy; returns the policy's provenance."""
    from eval.network.format import write_network
    from eval.training.quantise import with_policy

    facts = _facts(trainer, trainer.state.log[-1].validation)
    facts["hits"] = trainer.measure(with_policy(trainer.network, trainer.weights, {}))
    write_network(output, with_policy(trainer.network, trainer.weights, facts))
    return facts


def _facts(trainer: Trainer, validation: float | None) -> dict[str, Any]:
    """Returns where the trainer's weights come from; `validation` is their error on the validation positions."""
    from bench.records import current_commit
    from engine.version import version

    log = trainer.state.log
    return {
        "made_by": "secateur train",
        "version": version(),
        "commit": current_commit(),
        "licence": "GPL-3.0-or-later",
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "data": {name: value for name, value in asdict(trainer.pool.facts).items() if name != "seconds"},
        "recipe": asdict(trainer.recipe),
        "scale": trainer.scale,
        "positions_seen": sum(entry.positions for entry in log),
        "training_error": log[-1].training,
        "validation_error": validation,
    }
