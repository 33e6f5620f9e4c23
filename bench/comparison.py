"""Speeds of several UCI engines in one run: perft, search speed and time to depth, in turns, as ratios.

Every round asks each engine in turn, and a ratio is that of one round, so that whatever slows the machine for a while
slows them all. The first engine is what the others are compared with.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from bench.engines import EngineSpec
from bench.speed import SEARCH_POSITIONS, Conversation, EngineError, perft_seconds
from bench.uci import UCIOK_SECONDS

MEASURES: Final = ("perft", "search", "depth")


@dataclass
class Measured:
    """One engine's figures, one for each round: seconds of perft, nodes per second, seconds to the depth."""

    name: str
    perft: list[float] = field(default_factory=list)
    search: list[float] = field(default_factory=list)
    depth: list[float] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def ratios(self, reference: Measured, measure: str) -> tuple[float, ...]:
        """How many times as fast as `reference`, round by round; empty where either has no figure."""
        ours, theirs = getattr(self, measure), getattr(reference, measure)
        if measure == "search":
            return tuple(own / other for own, other in zip(ours, theirs, strict=False))
        return tuple(other / own for own, other in zip(ours, theirs, strict=False))


def search_speed(engine: Conversation, milliseconds: int) -> float:
    """Nodes per second over SEARCH_POSITIONS at a fixed time each. Raises EngineError when no nodes are told."""
    nodes = 0
    seconds = 0.0
    for fen in SEARCH_POSITIONS:
        last = _search(engine, fen, f"go movetime {milliseconds}")
        nodes += last["nodes"]
        seconds += last["time"] / 1000
    if not nodes or not seconds:
        raise EngineError(f"{engine.name} tells no nodes or no time")
    return nodes / seconds


def depth_seconds(engine: Conversation, depth: int) -> float:
    """Seconds that SEARCH_POSITIONS take to `depth` plies, each with a fresh table."""
    total = 0.0
    for fen in SEARCH_POSITIONS:
        engine.ask("ucinewgame\nisready", "readyok")
        engine.ask(f"position fen {fen}\nisready", "readyok")
        _, seconds = engine.ask(f"go depth {depth}", "bestmove")
        total += seconds
    return total


def _search(engine: Conversation, fen: str, go: str) -> dict[str, int]:
    """Nodes and milliseconds of the last `info` line before the answer."""
    engine.ask("ucinewgame\nisready", "readyok")
    engine.ask(f"position fen {fen}\nisready", "readyok")
    engine.heard.clear()
    engine.ask(go, "bestmove")
    last = {"nodes": 0, "time": 0}
    for line in engine.heard:
        words = line.split()
        if words[:1] == ["info"] and "nodes" in words and "time" in words:
            for key in last:
                value = words[words.index(key) + 1]
                if value.isdecimal():
                    last[key] = int(value)
    return last


def compare(
    engines: list[EngineSpec],
    rounds: int,
    measures: tuple[str, ...] = MEASURES,
    milliseconds: int = 1000,
    depth: int = 12,
    progress: Callable[[str], None] = lambda _: None,
) -> list[Measured]:
    """Measures every engine; one that fails at a measure is told so and left out of it, the rest goes on."""
    table = [Measured(spec.name) for spec in engines]
    tasks: dict[str, Callable[[Conversation], float]] = {
        "perft": perft_seconds,
        "search": lambda engine: search_speed(engine, milliseconds),
        "depth": lambda engine: depth_seconds(engine, depth),
    }
    talks: list[Conversation | None] = []
    for spec, row in zip(engines, table, strict=True):
        try:
            talks.append(_start(spec))
        except EngineError as error:
            row.problems.append(str(error))
            talks.append(None)
    try:
        for measure in measures:
            for number in range(rounds):
                for index, row in enumerate(table):
                    talk = talks[index]
                    if talk is None or any(problem.startswith(measure) for problem in row.problems):
                        continue
                    progress(f"{measure}, round {number + 1} of {rounds}: {row.name}")
                    try:
                        getattr(row, measure).append(tasks[measure](talk))
                    except EngineError as error:
                        row.problems.append(f"{measure}: {error}")
                        talk.close()
                        talks[index] = _restart(engines[index], row)
    finally:
        for talk in talks:
            if talk is not None:
                talk.close()
    return table


def _start(spec: EngineSpec) -> Conversation:
    """Starts an engine, sets its options, and has it load what perft needs. Raises EngineError."""
    engine = Conversation([spec.resolved_program(), *spec.command[1:]], directory=spec.directory)
    engine.name = spec.name
    try:
        _prepare(engine, spec)
    except EngineError:
        engine.close()
        raise
    return engine


def _prepare(engine: Conversation, spec: EngineSpec) -> None:
    """Waits until the engine is ready, with its options. Raises EngineError."""
    engine.ask("uci", "uciok", UCIOK_SECONDS)
    for name, value in spec.options:
        engine.ask(f"setoption name {name} value {value}\nisready", "readyok")
    engine.ask("isready", "readyok")


def _restart(spec: EngineSpec, row: Measured) -> Conversation | None:
    try:
        return _start(spec)
    except EngineError as error:
        row.problems.append(str(error))
        return None


def cells(row: Measured, reference: Measured, measures: tuple[str, ...]) -> list[str]:
    """Table cells: the ratio of each measure to the reference, median and spread."""
    shown = []
    for measure in measures:
        ratios = row.ratios(reference, measure)
        if not ratios:
            shown.append("-")
        elif row is reference:
            shown.append("1.00x")
        else:
            spread = f" ({min(ratios):.2f} - {max(ratios):.2f})" if len(ratios) > 1 else ""
            shown.append(f"{statistics.median(ratios):.2f}x{spread}")
    return shown
