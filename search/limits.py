"""The limits of a search. This module imports nothing heavy: the UCI parser needs it before the engine loads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

#: Deepest ply of a line, including quiescence.
MAX_PLY: Final = 128
#: The greatest depth of an iteration, in plies.
MAX_DEPTH: Final = MAX_PLY - 1
#: More nodes than a search can visit.
NO_NODE_LIMIT: Final = 1 << 62

#: Defaults: TT size in MiB, number of search threads, and milliseconds that each move keeps in reserve on the clock.
DEFAULT_HASH: Final = 16
DEFAULT_THREADS: Final = 1
DEFAULT_OVERHEAD: Final = 10


#: `go mate n` first searches without pruning or reductions, so as to miss no mate in SURE_MATES or fewer moves. For a
#: larger n the usual search follows and gives up after depth MATE_DEPTHS * n + MATE_DEPTH_BASE.
SURE_MATES: Final = 2
MATE_DEPTHS: Final = 3
MATE_DEPTH_BASE: Final = 7


@dataclass(frozen=True)
class Clock:
    """A side's clock: time left and increment in ms, and the moves to the next time control (None: sudden death)."""

    time_left: int
    increment: int = 0
    moves_to_go: int | None = None


@dataclass(frozen=True)
class Limits:
    """The limits of a search. The first limit reached ends it; without limits, `stop` or the greatest depth does.

    `depth` is in plies, `move_time` in milliseconds, `mate` in full moves (the search ends when it finds a mate in so
    many moves or fewer, or at a depth that should have found one); `clock` is that of the side to move. If `infinite`
    is set, time and `mate` do not end the search. `ponder` means thinking on the opponent's time: neither the clock nor
    `move_time` ends the search before the expected move is played (ponderhit). `search_moves` restricts the root to
    these moves (UCI notation); None means all moves.
    """

    depth: int | None = None
    nodes: int | None = None
    move_time: int | None = None
    mate: int | None = None
    clock: Clock | None = None
    infinite: bool = False
    ponder: bool = False
    search_moves: tuple[str, ...] | None = None

    def is_analysis(self) -> bool:
        """Returns whether to ignore the book: the search is infinite, ponders, seeks a mate or has `search_moves`."""
        return self.infinite or self.ponder or self.mate is not None or self.search_moves is not None

    def sure_depth(self) -> int:
        """Returns the depth in plies up to which the search must prune no move, or 0 if it does not seek a mate."""
        return 0 if self.mate is None or self.infinite else 2 * min(self.mate, SURE_MATES) - 1

    def deepest(self, deepest: int) -> int:
        """Returns the greatest depth to search in plies: at most `deepest`, less if `depth` or `mate` demands it."""
        depth = deepest if self.depth is None else min(max(self.depth, 1), deepest)
        if self.mate is None or self.infinite:
            return depth
        if self.mate <= SURE_MATES:
            depth = min(depth, self.sure_depth())
        else:
            # The line of a mate in n is 2n - 1 plies long, and moves that look bad are searched less deeply. If even a
            # search to this depth finds no mate, there usually is none, and the user is waiting.
            depth = min(depth, MATE_DEPTHS * self.mate + MATE_DEPTH_BASE)
        return depth

    def is_unbounded(self) -> bool:
        """Returns whether the search is infinite or has no limit at all except `search_moves`."""
        return self.infinite or (
            self.depth is None
            and self.nodes is None
            and self.move_time is None
            and self.mate is None
            and self.clock is None
        )
