"""A UCI engine whose speed is known: `python speed_engine.py --nodes N --time MS [--excess N]`.

It answers `go` at once, and says that it has searched so many nodes in so many milliseconds. `go perft` counts, and
adds the excess.
"""

import argparse

import chess
from fake_uci import FakeEngine, send


def perft(board: chess.Board, depth: int) -> int:
    if depth == 0:
        return 1
    count = 0
    for move in board.legal_moves:
        board.push(move)
        count += perft(board, depth - 1)
        board.pop()
    return count


class SpeedEngine(FakeEngine):
    name = "Speed"

    def __init__(self) -> None:
        super().__init__()
        parser = argparse.ArgumentParser()
        parser.add_argument("--nodes", type=int, required=True)
        parser.add_argument("--time", type=int, required=True)
        parser.add_argument("--excess", type=int, default=0)
        self.asked = parser.parse_args()

    def go(self, words: list[str]) -> None:
        if words[1] == "perft":
            send(f"Nodes searched: {perft(self.board, int(words[2])) + self.asked.excess}")
            return
        move = next(iter(self.board.legal_moves)).uci()
        send(
            "info depth 1 nodes 20 time 1",
            f"info depth 2 nodes {self.asked.nodes} time {self.asked.time}",
            f"bestmove {move}",
        )


SpeedEngine().run()
