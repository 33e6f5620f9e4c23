"""fastchess as a runner."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bench.engines import EngineSpec
from bench.runners.external import ExternalRunner, folder_of, limit_arguments, rule_arguments
from bench.schedule import Plan

_FORMATS = {"gauntlet": "gauntlet", "round-robin": "roundrobin"}


class FastchessRunner(ExternalRunner):
    """Builds fastchess's command line."""

    name = "fastchess"
    program = "fastchess"

    def arguments(self, plan: Plan, book: Path, pgn: Path, scratch: Path) -> list[str]:
        """The arguments; every one of them is in fastchess's manual."""
        description = plan.description
        arguments: list[str] = []
        for engine in description.engines:
            arguments += ["-engine", *_engine(engine, plan)]
        if description.format != "match":
            arguments += ["-tournament", _FORMATS[description.format]]
        arguments += ["-games", str(description.games_per_pair), "-rounds", str(description.rounds)]
        arguments += ["-openings", f"file={book}", f"format={book.suffix[1:]}", "order=sequential"]
        # Our description says how many games at once; fastchess would else refuse more than the machine has cores.
        arguments += ["-concurrency", str(description.concurrency), "-force-concurrency", *rule_arguments(plan)]
        arguments += ["-recover", "-event", description.event, "-ratinginterval", "0"]
        arguments += ["-pgnout", f"file={pgn}", "nodes=true"]
        # It always saves its state; without a name, over the config.json of whatever folder we are in.
        arguments += ["-output", "format=cutechess", "-config", f"outname={scratch / 'config.json'}"]
        return arguments


def _engine(engine: EngineSpec, plan: Plan) -> Iterator[str]:
    yield f"name={engine.name}"
    yield f"cmd={engine.resolved_program()}"
    if engine.command[1:]:
        yield f"args={' '.join(_quoted(argument) for argument in engine.command[1:])}"
    yield "proto=uci"
    yield f"dir={folder_of(engine)}"
    yield from limit_arguments(engine, plan)
    if engine.limit.depth is not None:
        yield f"plies={engine.limit.depth}"
    if engine.restart:
        yield "restart=on"
    for name, value in engine.options:
        yield f"option.{name}={value}"


def _quoted(argument: str) -> str:
    """The argument as fastchess's own splitter reads it back: double quotes and backslashes, nothing else."""
    if argument and not any(character in ' "\\' for character in argument):
        return argument
    escaped = argument.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
