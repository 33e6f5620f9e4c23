"""`secateur datagen stats` and `secateur datagen verify`: statistics of training data, and checks of its games."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from engine.arguments import Parser, command, complain
from engine.files import count_of
from engine.progress import Steps, counted
from eval.training.archive import differences, find_runs
from eval.training.kernels.records import TREE
from eval.training.shards import Shard, ShardError, find_shards, read_shard
from eval.training.statistics import statistics, statistics_text, verify


def main(arguments: list[str]) -> int:
    """Runs the command that `arguments[0]` names; returns the exit status, 1 if it reports a problem."""
    return command(f"secateur datagen {arguments[0]}")(_inspect)(arguments)


def _inspect(arguments: list[str]) -> int:
    action, *rest = arguments
    what = {
        "stats": "Counts games, positions, results, endings, scores and phases.",
        "verify": "Checks all checksums, replays every game, and checks its moves, scores, ending and result. Compares "
        "the files of an archive with its manifest.",
    }
    parser = Parser(
        prog=f"secateur datagen {action}",
        description=f"{what[action]} Reports unsound shards and does not count their games.",
    )
    parser.add_argument("paths", nargs="+", metavar="FOLDER|FILE", help="folders of shards, archives, or single shards")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_quiet()
    options = parser.parse_args(rest)
    problems: list[str] = []

    def report(problem: str) -> None:
        problems.append(problem)
        complain("secateur datagen", problem)

    def found_shards() -> Iterator[Path]:
        """Yields the shards to read, without the files that differ from their manifest."""
        for path in map(Path, options.paths):
            runs = find_runs(path)
            if not runs:
                yield from find_shards([path], partial=True)
            for folder, listed in runs:
                differ = dict(differences(folder, listed)) if action == "verify" else {}
                for difference in differ.values():
                    report(difference)
                try:
                    yield from (shard for shard in find_shards([folder], partial=True) if shard not in differ)
                except ShardError as error:
                    if not differ:
                        report(str(error))

    def sound() -> Iterator[Shard]:
        for path in found_shards():
            try:
                shard = read_shard(path)
                if action == "verify":
                    verify(shard)
            except ShardError as error:
                report(str(error))
            else:
                yield shard

    with Steps("looking for shards", options.quiet) as steps:
        shards = counted(sound(), steps.show, "shards read")
        if action == "stats":
            found = statistics(shards)
        else:
            sizes = [(int((shard.games["ending"] != TREE).sum()), shard.positions) for shard in shards]
            games, positions = (sum(column) for column in zip((0, 0), *sizes, strict=True))
            found = {"sound": len(sizes), "games": games, "positions": positions}
    if options.json:
        print(json.dumps({**found, "problems": problems}))
    elif action == "stats":
        print("\n".join(statistics_text(found)))
    else:
        bad = f", {count_of(len(problems), 'problem')}" if problems else ""
        shards_text = "1 sound shard" if found["sound"] == 1 else f"{found['sound']} sound shards"
        print(f"{shards_text}{bad}: {found['games']} games, {found['positions']} positions")
    return 1 if problems else 0
