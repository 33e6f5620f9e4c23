"""`secateur datagen archive` and `secateur datagen restore`: compressed copies of finished shards."""

from __future__ import annotations

import json
from pathlib import Path

from engine.arguments import Parser, command
from engine.files import shown
from engine.progress import Steps
from eval.training.archive import MANIFEST, Run, archive_runs, restore_runs

_EPILOG = f"""\
example:
  secateur datagen archive data/first data/wild --output archive --commit 7fc62b7
  secateur datagen verify archive/first archive/wild
  secateur datagen restore archive --output data

The archive keeps each run by the name of its folder, and {MANIFEST} describes all runs. The same command continues
after an interruption, and adds the shards that were finished since. `train`, `datagen stats` and `datagen verify` also
read the folders of an archive, but much more slowly.
"""


def main(arguments: list[str]) -> int:
    """Runs `archive` or `restore`, the first of `arguments`; returns the exit status."""
    return command(f"secateur datagen {arguments[0]}")(_run)(arguments)


def _run(arguments: list[str]) -> int:
    action, *rest = arguments
    archives = action == "archive"
    parser = Parser(
        prog=f"secateur datagen {action}",
        description="Copies finished shards into an archive of about 1.4 bytes a position and a manifest."
        if archives
        else "Restores the shards of an archive, byte for byte.",
        epilog=_EPILOG,
    )
    if archives:
        parser.add_argument(
            "folders", nargs="+", type=Path, metavar="FOLDER", help="folders of shards, one for each run"
        )
        parser.add_argument("--commit", metavar="HASH", help="note the commit of Secateur that played the games")
    else:
        parser.add_argument("archive", type=Path, metavar="ARCHIVE", help="the folder that has the manifest")
    parser.add_argument("--output", required=True, type=Path, metavar="DIR", help="the folder to write into")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_quiet()
    options = parser.parse_args(rest)
    with Steps("starting", options.quiet) as steps:

        def show(done: int, count: int) -> None:
            steps.show(f"{done} of {count} shards")

        if archives:
            runs = archive_runs(options.folders, options.output, options.commit, show)
        else:
            runs = restore_runs(options.archive, options.output, show)
    print(json.dumps(_counts(runs)) if options.json else "\n".join(_lines(options.output, runs)))
    return 0


def _counts(runs: dict[str, Run]) -> dict[str, dict[str, int]]:
    return {
        name: {"shards": len(run.shards), **dict(zip(("games", "positions", "bytes"), run.totals, strict=True))}
        for name, run in runs.items()
    }


def _lines(folder: Path, runs: dict[str, Run]) -> list[str]:
    lines = []
    for name, run in runs.items():
        games, positions, size = run.totals
        rate = f", {size / positions:.2f} bytes a position in the archive" if positions else ""
        lines.append(f"{shown(folder / name)}: {len(run.shards)} shards, {games} games, {positions} positions{rate}")
    return lines
