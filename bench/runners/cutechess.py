"""cutechess-cli as a runner."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bench.engines import EngineSpec
from bench.runners.external import ExternalRunner, folder_of, limit_arguments, rule_arguments
from bench.schedule import Plan


class CutechessRunner(ExternalRunner):
    """Builds cutechess-cli's command line."""

    name = "cutechess"
    program = "cutechess-cli"

    def arguments(self, plan: Plan, book: Path, pgn: Path, scratch: Path) -> list[str]:
        """The arguments; every one of them is in cutechess-cli's manual."""
        description = plan.description
        arguments: list[str] = []
        for engine in description.engines:
            arguments += ["-engine", *_engine(engine, plan)]
        if description.format != "match":
            arguments += ["-tournament", description.format]
        games = description.games_per_pair
        arguments += ["-games", str(games), "-rounds", str(description.rounds), "-repeat", str(games)]
        arguments += ["-openings", f"file={book}", f"format={book.suffix[1:]}", "order=sequential"]
        arguments += ["-concurrency", str(description.concurrency), *rule_arguments(plan)]
        # Without -recover, one crash would end the match.
        arguments += ["-recover", "-event", description.event, "-pgnout", str(pgn), "fi", "-ratinginterval", "0"]
        return arguments


def _engine(engine: EngineSpec, plan: Plan) -> Iterator[str]:
    yield f"name={engine.name}"
    yield f"cmd={engine.resolved_program()}"
    for argument in engine.command[1:]:
        yield f"arg={argument}"
    yield "proto=uci"
    yield f"dir={folder_of(engine)}"
    if not engine.limit.is_timed:
        yield "tc=inf"
    yield from limit_arguments(engine, plan)
    if engine.limit.depth is not None:
        yield f"depth={engine.limit.depth}"
    if engine.restart:
        yield "restart=on"
    for name, value in engine.options:
        yield f"option.{name}={value}"
