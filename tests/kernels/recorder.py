"""Plays, counts and evaluates with the kernels of a library, and records every call of a kernel for `driver.c`.

`python -m tests.kernels.recorder FILE DEPTH POSITIONS` writes FILE. It prints the number of calls, the nodes of the
searches, the leaves of perft, and the sum of the evaluations.
"""

from __future__ import annotations

import ctypes
import random
import struct
import sys
from pathlib import Path
from typing import Any

import chess

from engine.compiler import jit, library
from eval.network.evaluator import NetworkEvaluator
from eval.network.format import SHIPPED, read_network
from search.limits import Limits
from search.perft import count_by_move
from search.searcher import Game, Searcher

KIWIPETE = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"
CHESS960 = "bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9"


class Recording:
    """The recorded calls and the contents of memory before and after them, each content once."""

    def __init__(self) -> None:
        self.numbers: dict[bytes, int] = {}
        self.calls: list[bytes] = []

    def number(self, content: bytes) -> int:
        return self.numbers.setdefault(content, len(self.numbers))

    def call(self, kernel: library.BuiltKernel, *arguments: Any) -> Any:
        """Calls a kernel and records the call."""
        values: list[int] = []
        places: list[tuple[int, int, int]] = []
        sizes: dict[int, int] = {}
        for argument, parameter in zip(arguments, kernel._parameters, strict=True):
            taken = library._PACKERS[parameter.kind](argument)
            if parameter.kind != "int":
                sizes[len(values)] = argument.nbytes
            values += taken
        before = {place: ctypes.string_at(values[place], size) for place, size in sizes.items()}
        result = kernel._function(*values)
        for place, value in enumerate(values):
            if place in sizes:
                after = ctypes.string_at(value, sizes[place])
                places.append((1, self.number(before[place]), self.number(after)))
            else:
                places.append((0, value, 0))
        has_result = result is not None
        name = kernel._function.__name__.encode().ljust(32, b"\0")
        head = struct.pack("<32s3q", name, has_result, result or 0, len(places))
        self.calls.append(head + b"".join(struct.pack("<3q", *place) for place in places))
        return result

    def write(self, path: Path) -> None:
        with path.open("wb") as file:
            file.write(struct.pack("<q", len(self.numbers)))
            for content in self.numbers:
                file.write(struct.pack("<q", len(content)) + content + b"\0" * (-len(content) % 8))
            file.write(struct.pack("<q", len(self.calls)) + b"".join(self.calls))


def random_positions(count: int) -> list[chess.Board]:
    """Positions of random games."""
    rng = random.Random(8)
    boards: list[chess.Board] = []
    while len(boards) < count:
        board = chess.Board()
        while not board.is_game_over() and board.ply() < 200:
            board.push(rng.choice(list(board.legal_moves)))
            boards.append(board.copy(stack=False))
    return boards[:count]


def main(path: str, depth: str, positions: str) -> None:
    assert jit.AHEAD_OF_TIME
    recording = Recording()

    def call(kernel: library.BuiltKernel, *arguments: Any) -> Any:
        return recording.call(kernel, *arguments)

    library.BuiltKernel.__call__ = call  # type: ignore[assignment, method-assign]
    network = read_network(SHIPPED)
    nodes = []
    for fen in (chess.STARTING_FEN, KIWIPETE, CHESS960):
        result = Searcher(hash_mebibytes=1, network=network).search(
            Game(chess.Board(fen, chess960=True)), Limits(depth=int(depth))
        )
        nodes.append(result.nodes)
    leaves = sum(sum(count_by_move(board, 2).values()) for board in random_positions(int(positions)))
    evaluator = NetworkEvaluator(network)
    total = sum(evaluator.score(board) for board in random_positions(int(positions)))
    recording.write(Path(path))
    sys.stdout.write(f"{len(recording.calls)} {' '.join(map(str, nodes))} {leaves} {total}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
