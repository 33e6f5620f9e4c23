"""What bounds a search. Imports nothing heavy, because the protocol parser needs it before the engine is loaded."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

#: Deepest ply of a line, quiescence included.
MAX_PLY: Final = 128

#: Transposition table in MiB, search threads, and milliseconds kept back each move, unless told otherwise.
DEFAULT_HASH: Final = 16
DEFAULT_THREADS: Final = 1
DEFAULT_OVERHEAD: Final = 10


#: `go mate n` up to this n leaves no move out and reduces none: a mate that is there is found. Longer ones are looked
#: for by the usual search, which gives up after depth MATE_DEPTHS * n + MATE_DEPTH_BASE.
SURE_MATES: Final = 2
MATE_DEPTHS: Final = 3
MATE_DEPTH_BASE: Final = 7


@dataclass(frozen=True)
class Clock:
    """A side's clock in milliseconds: what is left, what each move adds, and the moves until time is added."""

    time_left: int
    increment: int = 0
    moves_to_go: int | None = None


@dataclass(frozen=True)
class Limits:
    """What ends a search: whichever comes first. Without any bound it runs until it is stopped.

    `depth` in plies, `nodes` in nodes, `move_time` in milliseconds, `mate` in full moves (ends when such a mate is
    found, or at a depth at which it would have been), `clock` of the side to move. `infinite` searches answer only
    when they are stopped. `ponder` is thinking on the opponent's time: the clock and `move_time` begin to count when
    the move that was expected is played (ponderhit). `search_moves` restricts the root to these moves (UCI notation);
    None means all.
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
        """Whether more is wanted than a move to play: it lasts until stopped, looks for a mate or at certain moves."""
        return self.infinite or self.ponder or self.mate is not None or self.search_moves is not None

    def leaves_nothing_out(self) -> bool:
        """Whether a mate is so near that the search can afford to look at every move."""
        return self.mate is not None and self.mate <= SURE_MATES and not self.infinite

    def deepest(self, deepest: int) -> int:
        """Depth of the last iteration, `deepest` at most."""
        depth = deepest if self.depth is None else min(max(self.depth, 1), deepest)
        if self.mate is not None and self.leaves_nothing_out():
            depth = min(depth, 2 * self.mate - 1)
        elif self.mate is not None and not self.infinite:
            # The line of a mate in n is 2n - 1 plies long; moves that look bad are searched to less. Where none was
            # found this far beyond, none is there as a rule, and whoever asked is waiting.
            depth = min(depth, MATE_DEPTHS * self.mate + MATE_DEPTH_BASE)
        return depth

    def is_unbounded(self) -> bool:
        """Whether nothing but a stop ends the search."""
        return self.infinite or (
            self.depth is None
            and self.nodes is None
            and self.move_time is None
            and self.mate is None
            and self.clock is None
        )
