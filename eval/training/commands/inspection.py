"""`secateur datagen stats` and `secateur datagen verify`: what training data hold, and whether they are sound."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.plots import PlotError, check_path
from eval.training.shards import Shard, ShardError, find_shards, read_shard
from eval.training.statistics import Statistics, plot, verify


def main(arguments: list[str]) -> int:
    """Runs `stats` or `verify`, the first of `arguments`; returns the exit status, 1 when a shard is not sound."""
    action, *rest = arguments
    return _stats(rest) if action == "stats" else _verify(rest)


def _stats(arguments: list[str]) -> int:
    parser = _parser("stats", "Counts games, positions, results, endings, scores and phases.")
    parser.add_argument("--plot", metavar="FILE.png|.svg", help="draw the histograms, too")
    options = parser.parse_args(arguments)
    statistics = Statistics()
    problems: list[str] = []
    try:
        picture = None if options.plot is None else check_path(options.plot)
        for shard in _shards(options, problems):
            statistics.add(shard)
        if picture is not None:
            plot(statistics, picture, ", ".join(options.paths))
    except (ShardError, PlotError, OSError) as error:
        print(f"secateur datagen stats: {error}", file=sys.stderr)
        return 1
    if options.json:
        print(json.dumps({**statistics.as_dict(), "problems": problems}))
    else:
        print("\n".join(statistics.lines()))
    return 1 if problems else 0


def _verify(arguments: list[str]) -> int:
    parser = _parser("verify", "Checks all checksums and plays every game through: each move, score, end and result.")
    options = parser.parse_args(arguments)
    problems: list[str] = []
    sound = games = positions = 0
    try:
        for shard in _shards(options, problems):
            try:
                verify(shard)
            except ShardError as error:
                _report(error, problems)
                continue
            sound += 1
            games += len(shard.games)
            positions += shard.positions
    except ShardError as error:
        print(f"secateur datagen verify: {error}", file=sys.stderr)
        return 1
    if options.json:
        print(json.dumps({"sound": sound, "games": games, "positions": positions, "problems": problems}))
    else:
        bad = f", {len(problems)} not sound" if problems else ""
        print(f"{sound} shards sound{bad}: {games} games, {positions} positions")
    return 1 if problems else 0


def _parser(action: str, description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"secateur datagen {action}",
        description=f"{description} A shard that is truncated or corrupt is reported and left out.",
    )
    parser.add_argument("paths", nargs="+", metavar="FOLDER|FILE", help="folders of shards, or single shards")
    parser.add_argument("--finished", action="store_true", help="leave out shards that are still being written")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    return parser


def _report(error: ShardError, problems: list[str]) -> None:
    problems.append(str(error))
    print(error, file=sys.stderr)


def _shards(options: argparse.Namespace, problems: list[str]) -> Iterator[Shard]:
    """The shards that can be read, with a bar on a terminal; the others are reported and noted in `problems`."""
    paths: list[Path] = find_shards(options.paths, partial=not options.finished)
    for path in _tracked(paths):
        try:
            shard = read_shard(path)
        except ShardError as error:
            _report(error, problems)
        else:
            yield shard


def _tracked(paths: list[Path]) -> Iterator[Path]:
    if not sys.stderr.isatty():
        yield from paths
        return
    try:
        from rich.console import Console
        from rich.progress import track
    except ImportError:
        yield from paths
        return
    tracked: Any = track(paths, description="shards", console=Console(stderr=True), transient=True)
    yield from tracked
