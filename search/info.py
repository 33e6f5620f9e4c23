"""The reports of a search: during an iteration, after each iteration, and at the end."""

from __future__ import annotations

from dataclasses import dataclass

import chess

from search.kernels.score import EXACT, mate_distance


class Speed:
    """The base class of reports with `nodes` and `seconds`."""

    nodes: int
    seconds: float

    @property
    def nodes_per_second(self) -> int:
        """Nodes per second. A time below a microsecond counts as a microsecond."""
        return int(self.nodes / max(self.seconds, 1e-6))


@dataclass(frozen=True)
class Info(Speed):
    """A line of an iteration, or a failed window: the fields of UCI's `info` line.

    `score` is in centipawns from the side to move's view, or a mate score (see `search.kernels.score`). `nodes` counts
    the nodes of all threads, `seconds` the time since the start, `tb_hits` the tablebase probes. `hashfull` is in
    permille. `number` is the line's number among several (MultiPV), from 1. `bound` is LOWER or UPPER if `score` is
    only a bound. `is_known` is True if `score` comes from the tablebase (see `search.tablebase.TABLE_WIN`).
    """

    depth: int
    selective_depth: int
    score: int
    nodes: int
    seconds: float
    hashfull: int
    pv: tuple[chess.Move, ...]
    tb_hits: int = 0
    number: int = 1
    bound: int = EXACT
    is_known: bool = False

    @property
    def mate(self) -> int | None:
        """Full moves to mate: negative if the side to move is mated, None if the score is not a mate."""
        return mate_distance(self.score)


@dataclass(frozen=True)
class Progress(Speed):
    """The state of a long search: the iteration's depth, the root move being searched, and that move's number, from 1.

    The other fields are those of `Info`.
    """

    depth: int
    move: chess.Move
    number: int
    nodes: int
    seconds: float
    hashfull: int
    tb_hits: int


@dataclass(frozen=True)
class Result:
    """The outcome of a search: the move to play, the expected reply if known, and the last report of their line.

    `best` and `info` are None only if there is no legal move. `nodes` counts the nodes of all threads. `problems` has
    a line for each failure of a helper thread or of the tablebase; such failures leave the result valid.
    """

    best: chess.Move | None
    ponder: chess.Move | None
    info: Info | None
    nodes: int
    seconds: float
    problems: tuple[str, ...] = ()
