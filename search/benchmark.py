"""The benchmark: a search of fixed positions to a fixed depth, on one thread.

The total node count is a fingerprint of the search. With the same depth, TT size and network it must be the same on
every machine and in every run. A code change that changes the count changes how the engine searches.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import chess

from search.limits import DEFAULT_HASH, Limits

if TYPE_CHECKING:
    from search.searcher import Searcher

DEFAULT_DEPTH: Final = 13

#: Openings, middlegames, endgames, and a few positions of pure tactics or zugzwang.
POSITIONS: Final = (
    chess.STARTING_FEN,
    "rnbqkb1r/pp2pppp/3p1n2/8/3NP3/2N5/PPP2PPP/R1BQKB1R b KQkq - 2 5",
    "r1bqk2r/pppp1ppp/2n2n2/2b1p3/2B1P3/2PP1N2/PP3PPP/RNBQK2R b KQkq - 0 5",
    "rnbqk2r/ppp1ppbp/3p1np1/8/2PPP3/2N5/PP3PPP/R1BQKBNR w KQkq - 0 5",
    "r2q1rk1/pp2bppp/2n1bn2/2pp4/3P4/1P2PN2/PB1NBPPP/R2Q1RK1 w - - 4 11",
    "r1bq1rk1/pp3ppp/2n1pn2/3p4/1bPP4/2NBPN2/PP3PPP/R1BQ1RK1 w - - 0 9",
    "2rq1rk1/1b2bppp/p2ppn2/1p6/3NPP2/1BN1B3/PPP1Q1PP/R4RK1 b - - 1 14",
    "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10",
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1",
    "rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8",
    "3r1rk1/p4ppp/1pq1pn2/2p5/2P5/1P1QPN2/P4PPP/3R1RK1 w - - 0 18",
    "5rk1/1p1q1ppp/p2p4/3Pp3/2P1P1n1/1P1B2P1/P3Q2P/5RK1 b - - 2 26",
    "2r2rk1/1p3pp1/p3pn1p/q2p4/3N4/1P2P2P/P1Q2PP1/2R2RK1 w - - 0 21",
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
    "8/5pk1/6p1/3R3p/1r5P/6P1/5PK1/8 w - - 4 44",
    "8/8/1p1k4/p1p2p2/P1P2P2/1P1K4/8/8 w - - 0 50",
    "6k1/5ppp/8/1B6/8/2n4P/5PP1/6K1 w - - 0 35",
    "8/1p4k1/p3n1p1/4K2p/2P4P/1P3BP1/8/8 b - - 3 48",
    "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1",
    "8/8/8/3k4/8/8/4Q3/3K4 w - - 0 1",
    "1k1r4/pp1b1R2/3q2pp/4p3/2B5/4Q3/PPP2B2/2K5 b - - 0 1",
    "r1b2rk1/2q1b1pp/p2ppn2/1p6/3QP3/1BN1B3/PPP3PP/R4RK1 w - - 0 15",
    "8/k7/3p4/p2P1p2/P2P1P2/8/8/K7 w - - 0 1",
)


@dataclass(frozen=True)
class BenchmarkResult:
    """The total nodes and seconds of a benchmark."""

    nodes: int
    seconds: float

    @property
    def nodes_per_second(self) -> int:
        """Nodes per second over all positions. (This repeats code of `search.info`, which imports kernels.)"""
        return int(self.nodes / max(self.seconds, 1e-6))

    def last_line(self) -> str:
        """Returns the last line that `bench` prints, which OpenBench reads."""
        return f"{self.nodes} nodes {self.nodes_per_second} nps"


def run_benchmark(
    depth: int = DEFAULT_DEPTH,
    hash_mebibytes: int = DEFAULT_HASH,
    on_position: Callable[[int, int, str], None] | None = None,
    should_stop: Callable[[], bool] = lambda: False,
    searcher: Searcher | None = None,
) -> BenchmarkResult | None:
    """Searches every position to `depth` plies, each as a new game; returns the sums of nodes and seconds.

    Returns None if `should_stop()` is true after a search. `on_position(index, nodes, fen)` is called after each
    position; `index` counts from 0. If `searcher` is None, a new one with a TT of `hash_mebibytes` MiB and the shipped
    network is used. A caller that passes a searcher can end the running search by `searcher.stop()`.
    """
    # Imported here, so that callers that need only the positions import no kernels.
    from eval.network.format import shipped_network
    from search.searcher import Game, Searcher

    if searcher is None:
        searcher = Searcher(hash_mebibytes, network=shipped_network())
    nodes = 0
    seconds = 0.0
    for index, fen in enumerate(POSITIONS):
        searcher.new_game()
        game = Game(chess.Board(fen))
        start = time.perf_counter()
        result = searcher.search(game, Limits(depth=depth))
        seconds += time.perf_counter() - start
        if should_stop():
            return None
        nodes += result.nodes
        if on_position is not None:
            on_position(index, result.nodes, fen)
    return BenchmarkResult(nodes, seconds)
