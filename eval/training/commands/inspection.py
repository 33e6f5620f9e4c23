"""`secateur datagen stats` and `secateur datagen verify`: statistics of training data, and checks of their games."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator

from engine.arguments import Parser, command, complain
from engine.progress import Steps, counted
from eval.training.shards import Shard, ShardError, open_shards
from eval.training.statistics import Statistics, verify


def main(arguments: list[str]) -> int:
    """Runs `stats` or `verify`, the first of `arguments`; returns the exit status, 1 when a shard is not sound."""
    action, *rest = arguments
    return _stats(rest) if action == "stats" else _verify(rest)


@command("secateur datagen stats")
def _stats(arguments: list[str]) -> int:
    options = _parser("stats", "Counts games, positions, results, endings, scores and phases.").parse_args(arguments)
    statistics = Statistics()
    problems = _Problems()
    for shard in _shards(options, problems.report):
        statistics.add(shard)
    if options.json:
        print(json.dumps({**statistics.as_dict(), "problems": problems}))
    else:
        print("\n".join(statistics.lines()))
    return 1 if problems else 0


@command("secateur datagen verify")
def _verify(arguments: list[str]) -> int:
    parser = _parser("verify", "Checks all checksums and plays every game through: each move, score, end and result.")
    options = parser.parse_args(arguments)
    problems = _Problems()
    sound = games = positions = 0
    for shard in _shards(options, problems.report):
        try:
            verify(shard)
        except ShardError as error:
            problems.report(error)
            continue
        sound += 1
        games += len(shard.games)
        positions += shard.positions
    if options.json:
        print(json.dumps({"sound": sound, "games": games, "positions": positions, "problems": problems}))
    else:
        bad = f", {len(problems)} not sound" if problems else ""
        print(f"{sound} {'shard' if sound == 1 else 'shards'} sound{bad}: {games} games, {positions} positions")
    return 1 if problems else 0


def _parser(action: str, description: str) -> Parser:
    parser = Parser(
        prog=f"secateur datagen {action}",
        description=f"{description} A truncated or corrupt shard is reported and left out.",
    )
    parser.add_argument("paths", nargs="+", metavar="FOLDER|FILE", help="folders of shards, or single shards")
    parser.add_argument("--finished", action="store_true", help="leave out shards that are still being written")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_quiet()
    return parser


def _shards(options: argparse.Namespace, report: Callable[[ShardError], None]) -> Iterator[Shard]:
    """Yields the readable shards and shows progress; reports the other shards."""
    with Steps("looking for shards", options.quiet) as steps:
        yield from counted(open_shards(options.paths, not options.finished, report), steps.show, "shards read")


class _Problems(list[str]):
    """The problems of shards, reported when they are found."""

    def report(self, error: ShardError) -> None:
        """Prints a problem, and keeps it."""
        complain("secateur datagen", str(error))
        self.append(str(error))
