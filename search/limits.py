"""The limits of a search. This module imports nothing heavy: the UCI parser needs it before the engine loads."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

#: Deepest ply of a line, including quiescence.
MAX_PLY: Final = 128

#: Defaults: the transposition table in MiB, the search threads, and the milliseconds reserved for each move.
DEFAULT_HASH: Final = 16
DEFAULT_THREADS: Final = 1
DEFAULT_OVERHEAD: Final = 10


#: `go mate n` up to this n prunes and reduces no move, so it finds any mate that exists. For longer mates the usual
#: search runs and gives up after depth MATE_DEPTHS * n + MATE_DEPTH_BASE.
SURE_MATES: Final = 2
MATE_DEPTHS: Final = 3
MATE_DEPTH_BASE: Final = 7


@dataclass(frozen=True)
class Clock:
    """A side's clock: the time left and the increment in milliseconds, and the moves until time is added."""

    time_left: int
    increment: int = 0
    moves_to_go: int | None = None


@dataclass(frozen=True)
class Limits:
    """The limits of a search. The first one reached ends it; without any it runs until it is stopped.

    `depth` in plies, `nodes` in nodes, `move_time` in milliseconds, `mate` in full moves (the search ends when it finds
    such a mate, or at a depth that would have found it), `clock` of the side to move. An `infinite` search ends only
    when it is stopped. `ponder` is thinking on the opponent's time: the clock and `move_time` count from the moment
    when the expected move is played (ponderhit). `search_moves` restricts the root to these moves (UCI notation); None
    means all.
    """

    depth: int | None = None
    nodes: int | None = None
    move_time: int | None = None
    mate: int | None = None
    clock: Clock | None = None
    infinite: bool = False
    ponder: bool = False
    search_moves: tuple[str, ...] | None = field(default=None)

    def is_analysis(self) -> bool:
        """Returns whether this is analysis, not play: it ponders, is infinite, seeks a mate or restricts the moves."""
        return self.infinite or self.ponder or self.mate is not None or self.search_moves is not None

    def leaves_nothing_out(self) -> bool:
        """Returns whether the wanted mate is so short that the search can afford to search every move."""
        return self.mate is not None and self.mate <= SURE_MATES and not self.infinite

    def deepest(self, deepest: int) -> int:
        """Returns the depth of the last iteration, at most `deepest`."""
        depth = deepest if self.depth is None else min(max(self.depth, 1), deepest)
        if self.mate is not None and self.leaves_nothing_out():
            depth = min(depth, 2 * self.mate - 1)
        elif self.mate is not None and not self.infinite:
            # The line of a mate in n is 2n - 1 plies long, and moves that look bad are searched less deeply. If the
            # search finds no mate this far beyond, there usually is none, and the user is waiting.
            depth = min(depth, MATE_DEPTHS * self.mate + MATE_DEPTH_BASE)
        return depth

    def is_unbounded(self) -> bool:
        """Returns whether only `stop` ends the search."""
        return self.infinite or (
            self.depth is None
            and self.nodes is None
            and self.move_time is None
            and self.mate is None
            and self.clock is None
        )
