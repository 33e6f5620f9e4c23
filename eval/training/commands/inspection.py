"""`secateur datagen stats` and `secateur datagen verify`: statistics of training data, and checks of their games."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator

from engine.arguments import Parser, command, complain
from engine.progress import Steps
from eval.training.shards import Shard, ShardError, find_shards, read_shard
from eval.training.statistics import Statistics, verify


def main(arguments: list[str]) -> int:
    """Runs `stats` or `verify`, the first of `arguments`; returns the exit status, 1 when a shard is not sound."""
    action, *rest = arguments
    return _stats(rest) if action == "stats" else _verify(rest)


@command("secateur datagen stats")
def _stats(arguments: list[str]) -> int:
    options = _parser("stats", "Counts games, positions, results, endings, scores and phases.").parse_args(arguments)
    statistics = Statistics()
    problems: list[str] = []
    for shard in _shards(options, problems):
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
    problems: list[str] = []
    sound = games = positions = 0
    for shard in _shards(options, problems):
        try:
            verify(shard)
        except ShardError as error:
            _report(error, problems)
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


def _report(error: ShardError, problems: list[str]) -> None:
    problems.append(str(error))
    complain("secateur datagen", str(error))


def _shards(options: argparse.Namespace, problems: list[str]) -> Iterator[Shard]:
    """Yields the readable shards and prints progress; reports the other shards and adds them to `problems`."""
    with Steps("looking for shards", options.quiet) as steps:
        paths = find_shards(options.paths, partial=not options.finished)
        for number, path in enumerate(paths, start=1):
            steps.show(f"shard {number} of {len(paths)}")
            try:
                shard = read_shard(path)
            except ShardError as error:
                _report(error, problems)
            else:
                yield shard
