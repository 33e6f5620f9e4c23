"""cutechess-cli as a runner."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from bench.runners.external import ExternalRunner
from bench.schedule import Plan


class CutechessRunner(ExternalRunner):
    """The arguments that only cutechess-cli spells this way; its manual has every option."""

    name = "cutechess"
    program = "cutechess-cli"
    formats: ClassVar[dict[str, str]] = {"gauntlet": "gauntlet", "round-robin": "round-robin"}
    depth_key = "depth"
    untimed = ("tc=inf",)

    def command_words(self, arguments: tuple[str, ...]) -> Iterator[str]:
        """One word for each argument."""
        return (f"arg={argument}" for argument in arguments)

    def own_arguments(self, plan: Plan, pgn: Path, scratch: Path) -> list[str]:
        """Each opening for all games of a pair, and finished games alone in the PGN file."""
        return ["-repeat", str(plan.description.games_per_pair), "-pgnout", str(pgn), "fi"]
