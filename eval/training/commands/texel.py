"""`secateur texel`: tunes the weights of the classical evaluation on self-play games."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from engine.arguments import Parser, command
from engine.errors import CommandError, arguments_are_judged
from engine.files import Output, shown
from engine.progress import Steps, counted
from eval.training.recipe import Recipe

_EPILOG = """\
examples:
  secateur texel data/first --output eval/values.py --overwrite
  secateur texel data/first data/second --partial --epochs 60 --result-share 0.5 --seed 2

Only games tell whether new weights are better: the errors printed here do not. Afterwards the kernels are compiled anew
at the next start. The method is described in docs/training.md.
"""


def _parser() -> Parser:
    recipe = Recipe()
    parser = Parser(
        prog="secateur texel",
        description="Tunes the weights of the classical evaluation on the games of self-play shards.",
        epilog=_EPILOG,
    )
    add = parser.add_argument
    add("data", nargs="+", metavar="FOLDER|SHARD", help="what `secateur datagen` wrote")
    add("--partial", action="store_true", help="use the shard that is still being written, too")
    add("--positions", type=int, metavar="N", help="use the first N positions only")
    add("--skip", type=int, default=16, metavar="PLIES", help="leave out the first plies of games (default 16)")
    add("--score-limit", type=int, default=2000, metavar="CP", help="leave out scores beyond this (default 2000)")
    add(
        "--result-share",
        type=float,
        default=recipe.result_share,
        metavar="0..1",
        help=f"share of the game's result in the target, the rest being the score (default {recipe.result_share})",
    )
    add(
        "--prior",
        type=float,
        default=recipe.prior,
        metavar="CP",
        help=f"how far weights are believed to lie from their present values (default {recipe.prior:g})",
    )
    add("--rate", type=float, default=recipe.rate, help=f"first step of a weight (default {recipe.rate:g})")
    add("--epochs", type=int, default=recipe.epochs, help=f"passes over the positions (default {recipe.epochs})")
    add("--batch", type=int, default=recipe.batch, help=f"positions a step (default {recipe.batch})")
    add(
        "--validation",
        type=float,
        default=recipe.validation,
        metavar="0..1",
        help=f"share of the games kept for checking (default {recipe.validation})",
    )
    add("--seed", type=int, default=recipe.seed, help=f"decides split and order (default {recipe.seed})")
    add("--output", type=Path, metavar="FILE", help="write the new values here; eval/values.py makes them the engine's")
    add("--overwrite", action="store_true", help="replace values that are there")
    add("--json", action="store_true", help="print the outcome as JSON")
    parser.add_quiet()
    return parser


def _recipe(options: argparse.Namespace) -> Recipe:
    """The recipe. Raises ValueError, whose one line says what is wrong with it."""
    for name in ("result_share", "validation"):
        if not 0.0 <= getattr(options, name) <= 1.0:
            raise ValueError(f"--{name.replace('_', '-')} lies between 0 and 1, not at {getattr(options, name):g}")
    for name in ("prior", "rate", "epochs", "batch"):
        if not getattr(options, name) > 0:
            raise ValueError(f"--{name} is more than 0, not {getattr(options, name):g}")
    return Recipe(
        options.result_share,
        options.prior,
        options.rate,
        options.epochs,
        options.batch,
        options.validation,
        options.seed,
    )


@command("secateur texel")
def main(arguments: list[str]) -> int:
    """Runs the command; returns the exit status."""
    options = _parser().parse_args(arguments)
    from eval.training.values_file import values_output

    with arguments_are_judged():
        recipe = _recipe(options)
    output = None if options.output is None else values_output(options.output)
    if output is not None and not options.overwrite and output.size:
        raise CommandError(f"{shown(output.path)} is there already: --overwrite replaces it when the weights are tuned")
    with Steps("loading the kernels", options.quiet) as steps:
        return _run(options, recipe, output, steps)


def _run(options: argparse.Namespace, recipe: Recipe, output: Output | None, steps: Steps) -> int:
    import numpy as np

    from eval.training.coefficients import load
    from eval.training.samples import ANY_HALFMOVES, Filter, positions
    from eval.training.texel import tune
    from eval.training.values_file import write_values
    from eval.weights import WEIGHTS

    def say(text: str) -> None:
        if not options.quiet:
            print(text, file=sys.stderr, flush=True)

    # The values in use were tuned with any halfmove clock; the same shards must reproduce them.
    wanted = Filter(skip=options.skip, score_limit=options.score_limit, halfmoves=ANY_HALFMOVES)
    batches = counted(positions(options.data, wanted, options.partial), steps.show, "batches of positions read")
    labelled = load(batches, options.positions)
    games = len(np.unique(labelled.games))
    say(f"{len(labelled.games)} positions of {games} games, {len(labelled.coefficients.weights)} coefficients")

    def on_epoch(epoch: int, training: float, validation: float) -> None:
        say(f"epoch {epoch:3d}  training error {training:.6f}  validation error {validation:.6f}")
        steps.show(f"{epoch} of {recipe.epochs} epochs done")

    outcome = tune(labelled, WEIGHTS.astype(np.float64), recipe, on_epoch)
    rounded = np.rint(outcome.weights).astype(np.int64)
    if output is not None:
        write_values(output, rounded)
    if options.json:
        facts: dict[str, object] = {"positions": len(labelled.games), "games": games, "slope": outcome.slope}
        facts |= {"score_slope": outcome.score_slope, "training": outcome.training, "validation": outcome.validation}
        print(json.dumps(facts, indent=2))
        return 0
    print(f"slope {outcome.slope:.1f} (scores {outcome.score_slope:.1f})")
    print(f"validation error {outcome.validation[0]:.6f} before, {outcome.validation[-1]:.6f} after")
    print(
        f"{int((rounded != WEIGHTS).sum())} of {rounded.size} numbers changed"
        + (f": {shown(options.output)}" if options.output is not None else "")
    )
    return 0
