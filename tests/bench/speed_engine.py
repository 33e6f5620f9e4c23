"""A UCI engine whose speed is known: `python speed_engine.py --nodes N --time MS`.

It answers `go` at once, and says that it has searched so many nodes in so many milliseconds.
"""

import argparse

from fake_uci import FakeEngine, send


class SpeedEngine(FakeEngine):
    name = "Speed"

    def __init__(self) -> None:
        super().__init__()
        parser = argparse.ArgumentParser()
        parser.add_argument("--nodes", type=int, required=True)
        parser.add_argument("--time", type=int, required=True)
        self.asked = parser.parse_args()

    def go(self, words: list[str]) -> None:
        move = next(iter(self.board.legal_moves)).uci()
        send(
            "info depth 1 nodes 20 time 1",
            f"info depth 2 nodes {self.asked.nodes} time {self.asked.time}",
            f"bestmove {move}",
        )


SpeedEngine().run()
