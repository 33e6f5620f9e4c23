"""fastchess as a runner."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from bench.runners.external import ExternalRunner
from bench.schedule import Plan


class FastchessRunner(ExternalRunner):
    """The arguments that only fastchess spells this way; its manual has every option."""

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
            # Our description sets the number of games at once; fastchess would refuse more games than cores.
            "-force-concurrency",
            *("-pgnout", f"file={pgn}", "nodes=true"),
            *("-output", "format=cutechess"),
            # It always saves its state; without a name, it would overwrite config.json in the current folder.
            *("-config", f"outname={scratch / 'config.json'}"),
        ]


def _quoted(argument: str) -> str:
    """Quotes an argument for fastchess's own splitter, which knows only double quotes and backslashes."""
    if argument and not any(character in ' "\\' for character in argument):
        return argument
    escaped = argument.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
