"""A UCI engine with numbers to tune: `python tunable_engine.py [--log FILE] [--fault]`.

It plays the first legal move and says that it is winning when its option Size is above WINNING_SIZE, else that it is
losing. FILE gets a line for each start, option and game. With --fault it ends at its first move.
"""

import argparse
import sys
from pathlib import Path

from fake_uci import FakeEngine, send  # type: ignore[import-not-found]

WINNING_SIZE = 110


class TunableEngine(FakeEngine):  # type: ignore[misc]
    name = "Tunable"
    options = (
        "name Size type spin default 100 min 0 max 200",
        "name Other type spin default 20 min 0 max 60",
        "name Hash type spin default 1 min 1 max 9",
    )

    def __init__(self) -> None:
        super().__init__()
        parser = argparse.ArgumentParser()
        parser.add_argument("--log", type=Path)
        parser.add_argument("--fault", action="store_true")
        self.asked = parser.parse_args()
        self.size = 100
        self.log("start")

    def log(self, line: str) -> None:
        if self.asked.log:
            with self.asked.log.open("a", encoding="utf-8") as file:
                file.write(line + "\n")

    def set_option(self, name: str, value: str) -> None:
        self.log(f"{name} value {value}")
        if name == "Size":
            self.size = int(value)

    def new_game(self) -> None:
        self.log("game")

    def go(self, words: list[str]) -> None:
        if self.asked.fault:
            sys.exit(3)
        move = next(iter(self.board.legal_moves)).uci()
        send(f"info depth 1 nodes 1 score cp {1000 if self.size > WINNING_SIZE else -1000}", f"bestmove {move}")


TunableEngine().run()
