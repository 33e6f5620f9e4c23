"""fastchess as a runner."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from bench.runners.external import ExternalRunner
from bench.schedule import Plan


class FastchessRunner(ExternalRunner):
    """What fastchess spells its own way; every option is in its manual."""

    name = "fastchess"
    program = "fastchess"
    formats: ClassVar[dict[str, str]] = {"gauntlet": "gauntlet", "round-robin": "roundrobin"}
    depth_key = "plies"

    def command_words(self, arguments: tuple[str, ...]) -> Iterator[str]:
        """One word for all arguments."""
        if arguments:
            yield f"args={' '.join(map(_quoted, arguments))}"

    def own_arguments(self, plan: Plan, pgn: Path, scratch: Path) -> list[str]:
        """Node counts in the PGN file, and cutechess-cli's lines on stdout."""
        return [
            # Our description says how many games at once; fastchess would else refuse more than the machine has cores.
            "-force-concurrency",
            *("-pgnout", f"file={pgn}", "nodes=true"),
            *("-output", "format=cutechess"),
            # It always saves its state; without a name, over the config.json of whatever folder we are in.
            *("-config", f"outname={scratch / 'config.json'}"),
        ]


def _quoted(argument: str) -> str:
    """The argument as fastchess's own splitter reads it back: double quotes and backslashes, nothing else."""
    if argument and not any(character in ' "\\' for character in argument):
        return argument
    escaped = argument.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
