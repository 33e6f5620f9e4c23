"""`secateur datagen stats` and `secateur datagen verify`: statistics of training data, and checks of its games."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from engine.arguments import Parser, command, complain
from engine.files import count_of
from engine.progress import Steps, counted
from eval.training.archive import differences, run_folders
from eval.training.shards import Shard, ShardError, find_shards, read_shard
from eval.training.statistics import statistics, statistics_text, verify


def main(arguments: list[str]) -> int:
    """Runs the command that `arguments[0]` names; returns the exit status, 1 if a shard is unsound."""
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

    def sound() -> Iterator[Shard]:
        folders = [folder for path in options.paths for folder in run_folders(Path(path))]
        if action == "verify":
            for folder in folders:
                for difference in differences(folder):
                    report(difference)
        for path in find_shards(folders, partial=True):
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
            sizes = [(len(shard.games), shard.positions) for shard in shards]
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
