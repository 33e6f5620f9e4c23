"""`secateur texel`: tunes the weights of the classical evaluation on self-play games."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from engine.arguments import Parser, command
from engine.errors import CommandError, arguments_are_judged
from engine.files import Output, shown
from engine.progress import Steps, counted

if TYPE_CHECKING:
    from eval.training.texel import Recipe

_EPILOG = """\
examples:
  secateur texel data/first --output eval/values.py --overwrite
  secateur texel data/first data/second --partial --epochs 60 --result-share 0.5 --seed 2

Only games tell whether new weights are better: the errors printed here do not. Afterwards the kernels are compiled anew
at the next start. The method is described in docs/training.md.
"""


def _parser() -> Parser:
    parser = Parser(
        prog="secateur texel",
        description="Tunes the weights of the classical evaluation on the games of self-play shards.",
        epilog=_EPILOG,
    )
    add = parser.add_argument
    add("data", nargs="+", metavar="FOLDER|SHARD", help="what `secateur datagen` wrote")
    add("--partial", action="store_true", help="also use the shard that is still being written")
    add("--skip", type=int, default=16, metavar="PLIES", help="leave out the first plies of games (default 16)")
    add("--score-limit", type=int, default=2000, metavar="CP", help="leave out scores beyond this (default 2000)")
    add(
        "--result-share",
        type=float,
        metavar="0..1",
        help="share of the game's result in the target, the rest being the score (default 0.05)",
    )
    add(
        "--prior",
        type=float,
        metavar="CP",
        help="how far weights are believed to lie from their present values (default 30)",
    )
    add("--epochs", type=int, help="passes over the positions (default 10)")
    add("--seed", type=int, help="decides the validation games and the order (default 1)")
    add("--output", type=Path, metavar="FILE", help="write the new values here; eval/values.py makes them the engine's")
    add("--overwrite", action="store_true", help="replace the values in that file")
    add("--json", action="store_true", help="print the outcome as JSON")
    parser.add_quiet()
    return parser


@command("secateur texel")
def main(arguments: list[str]) -> int:
    """Runs the command; returns the exit status."""
    options = _parser().parse_args(arguments)
    with Steps("loading the kernels", options.quiet) as steps:
        from eval.training.texel import Recipe, values_output

        given = {name: getattr(options, name) for name in ("result_share", "prior", "epochs", "seed")}
        with arguments_are_judged():
            recipe = Recipe(**{name: value for name, value in given.items() if value is not None})
        output = None if options.output is None else values_output(options.output)
        if output is not None and not options.overwrite and output.size:
            raise CommandError(f"{shown(output.path)}: is there already; --overwrite replaces it")
        return _run(options, recipe, output, steps)


def _run(options: argparse.Namespace, recipe: Recipe, output: Output | None, steps: Steps) -> int:
    import numpy as np

    from eval.training.samples import ANY_HALFMOVES, Filter, samples
    from eval.training.texel import load, tune, values_source
    from eval.weights import WEIGHTS

    def say(text: str) -> None:
        if not options.quiet:
            print(text, file=sys.stderr, flush=True)

    def on_epoch(epoch: int, training: float, validation: float) -> None:
        say(f"epoch {epoch:3d}  training error {training:.6f}  validation error {validation:.6f}")
        steps.show(f"{epoch} of {recipe.epochs} epochs done")

    # The values in use were tuned with any halfmove clock; the same shards must reproduce them.
    wanted = Filter(skip=options.skip, score_limit=options.score_limit, halfmoves=ANY_HALFMOVES)
    labelled = load(counted(samples(options.data, wanted, options.partial), steps.show, "shards read"))
    games = len(np.unique(labelled.games))
    say(f"{len(labelled.games)} positions of {games} games, {len(labelled.coefficients.weights)} coefficients")
    outcome = tune(labelled, WEIGHTS.astype(np.float64), recipe, on_epoch)
    rounded = np.rint(outcome.weights).astype(np.int64)
    if output is not None:
        output.replace(values_source(rounded))
    if options.json:
        facts: dict[str, object] = {"positions": len(labelled.games), "games": games, "slope": outcome.slope}
        facts |= {"score_slope": outcome.score_slope, "training": outcome.training, "validation": outcome.validation}
        print(json.dumps(facts, indent=2))
        return 0
    print(f"slope {outcome.slope:.1f} (scores {outcome.score_slope:.1f})")
    print(f"validation error {outcome.validation[0]:.6f} before, {outcome.validation[-1]:.6f} after")
    where = "" if output is None else f": {shown(output.path)}"
    print(f"{int((rounded != WEIGHTS).sum())} of {rounded.size} numbers changed{where}")
    return 0
