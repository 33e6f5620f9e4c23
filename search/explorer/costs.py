"""The cost of a search without a technique, counted by another search; a recording's statistics only estimate it.

A count is a separate search of the same position to the same depth, but from an empty TT and, because the position is
its root, with an open window. In a document `costs` is

    {"depth", "nodes", "value", "without": [{"reason", "nodes", "value"}]}

with nodes and value (centipawns) of the unchanged search, and of the search without each reason's technique. Needs the
tracing build, like `search.explorer.recording`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

from search.explorer.chess_document import SWITCHES, Document
from search.explorer.positions import replay
from search.explorer.recording import RecordingError, game_at, record
from search.game import Game
from search.limits import Limits


@dataclass(frozen=True)
class Cost:
    """Nodes and value (centipawns, of the side to move) of a search without the technique of a reason."""

    reason: str
    nodes: int
    value: int


@dataclass(frozen=True)
class Costs:
    """Nodes and value (centipawns, of the side to move) of a search to `depth` plies, and without single techniques."""

    depth: int
    nodes: int
    value: int
    without: tuple[Cost, ...]

    def as_json(self) -> dict[str, Any]:
        """The field of a document."""
        return asdict(self) | {"without": [asdict(cost) for cost in self.without]}


@dataclass(frozen=True)
class Watch:
    """Callbacks that follow the counting and may end it.

    `on_step(text)` is called before each search and describes it; an exception from it ends the counting. `on_start` is
    that of `record`. `check` is called after each search and raises if the search was stopped, because its count is
    then invalid.
    """

    on_step: Callable[[str], None] = lambda text: None
    on_start: Callable[[Callable[[], None]], None] | None = None
    check: Callable[[], None] = lambda: None


def costs_at(
    game: Game,
    depth: int,
    reasons: Iterable[str],
    *,
    classical: bool = False,
    without: Iterable[str] = (),
    watch: Watch = Watch(),
) -> Costs:
    """Searches a position to `depth` unchanged, then without each technique of `reasons`, keys of SWITCHES.

    `classical` and `without` as in `record`: techniques that are already off stay off. Raises RecordingError.
    """
    asked, off = list(dict.fromkeys(reasons)), list(without)
    unknown = [reason for reason in asked if reason not in SWITCHES]
    if unknown:
        raise RecordingError(f"{unknown[0]!r} cannot be switched off; what can is {', '.join(SWITCHES)}")
    found: list[Cost] = []
    for number, reason in enumerate(["", *asked], start=1):
        what = f"without {reason}" if reason else "as it is"
        watch.on_step(f"search {number} of {len(asked) + 1}, {what}")
        now = [*off, reason] if reason else off
        again = record(game, Limits(depth=depth), 1, classical=classical, without=now, on_start=watch.on_start)
        watch.check()
        result = again["result"]
        found.append(Cost(reason, result["nodes"], result["value"]))
    first, *others = found
    return Costs(depth, first.nodes, first.value, tuple(others))


def costs_of_node(document: Document, node: int, reasons: Iterable[str], watch: Watch = Watch()) -> Costs:
    """`costs_at` for the position of a row, to that row's depth. Raises RecordingError, PositionError."""
    game, depth = game_at(document, node), document["nodes"]["depth"][node]
    if document["nodes"]["quiescence"][node] or depth < 1:
        raise RecordingError(f"node {node} is quiescence: it has no depth to search again")
    classical = document["evaluation"] == "classical"
    return costs_at(game, depth, reasons, classical=classical, without=document["without"], watch=watch)


def costs_of_search(document: Document, watch: Watch = Watch()) -> Costs:
    """`costs_at` for the whole search, to its last complete depth, and every technique that left something out there.

    Raises RecordingError, PositionError.
    """
    complete = [iteration["depth"] for iteration in document["iterations"] if iteration["complete"]]
    if not complete:
        raise RecordingError("no depth was searched completely: there is nothing to compare with")
    game = replay(document["fen"], document["before"], chess960=document["chess960"])
    used = {row["key"] for row in document["statistics"]["reasons"]}
    reasons = [key for key in SWITCHES if key in used]
    classical = document["evaluation"] == "classical"
    return costs_at(game, complete[-1], reasons, classical=classical, without=document["without"], watch=watch)
