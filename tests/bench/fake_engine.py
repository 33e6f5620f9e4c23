"""A tiny UCI engine for the tests: plays random legal moves, and misbehaves on request.

    python fake_engine.py [--seed N] [--fault KIND] [--at MOVE] [--marker FILE] [--score CP] [--think SECONDS]

KIND is one of hang, crash, garbage, noise, illegal, null, slow, mute (no uciok), exit (at once), flood (of lines),
endless (one line). The fault strikes at the MOVE-th own move of a game (default 3); with --marker it strikes only while
FILE does not exist, and creates it, so that a test can have exactly one.
"""

import argparse
import random
import sys
import time
from itertools import pairwise
from pathlib import Path

from fake_uci import FakeEngine, material, send  # type: ignore[import-not-found]


class RandomEngine(FakeEngine):  # type: ignore[misc]
    options = (
        "name Hash type spin default 16 min 1 max 1024",
        "name Style type combo default Calm var Calm var Wild",
        "name UCI_LimitStrength type check default false",
        "name UCI_Elo type spin default 1000 min 0 max 4000",
    )

    def __init__(self) -> None:
        super().__init__()
        parser = argparse.ArgumentParser()
        parser.add_argument("--seed", type=int, default=1)
        parser.add_argument("--fault", default="")
        parser.add_argument("--at", type=int, default=3)
        parser.add_argument("--marker", type=Path)
        parser.add_argument("--score", type=int)
        parser.add_argument("--think", type=float, default=0.0, help="seconds a move where the limit has no time")
        self.asked = parser.parse_args()
        self.random = random.Random(self.asked.seed)
        self.moves = 0

    def introduce(self) -> None:
        if self.asked.fault != "mute":
            super().introduce()

    def new_game(self) -> None:
        self.moves = 0

    def strikes(self) -> bool:
        if not self.asked.fault or self.moves != self.asked.at:
            return False
        if self.asked.marker:
            try:
                # Two games may be at this point at once: only one of them makes the file.
                self.asked.marker.touch(exist_ok=False)
            except FileExistsError:
                return False
        return True

    def go(self, words: list[str]) -> None:
        began = time.perf_counter()
        self.moves += 1
        fault = self.asked.fault if self.strikes() else ""
        move = self.random.choice(list(self.board.legal_moves)).uci()
        if fault == "hang":
            while sys.stdin.readline():
                pass
            sys.exit(0)
        if fault == "crash":
            sys.stderr.write("fake: Segmentation fault (not really)\n")
            sys.exit(42)
        if fault == "flood":
            while True:
                send("info string what a flood")
        while fault == "endless":
            sys.stdout.write("x" * 65536)
        if fault in ("noise", "garbage"):
            sys.stdout.buffer.write(b"\xff\xfe\x00 \x01\x02 rubbish\n")
            sys.stdout.flush()
        if fault == "garbage":
            move = "p@$$w0rd"
        elif fault == "illegal":
            move = "e1e5"
        elif fault == "null":
            move = "0000"
        if fault == "slow":
            time.sleep(1.0)
        limits = dict(pairwise(words))
        if "movetime" in limits:
            time.sleep(max(0.0, int(limits["movetime"]) / 1000 - (time.perf_counter() - began)))
        else:
            time.sleep(self.asked.think)
        score = material(self.board) if self.asked.score is None else self.asked.score
        nodes = int(limits.get("nodes", 1000))
        for depth in range(1, 13):
            send(f"info depth {depth} seldepth {depth} multipv 1 score cp {score} nodes {nodes} nps 1000000 pv {move}")
        send(f"bestmove {move}")

    def run(self) -> None:
        if self.asked.fault == "exit":
            sys.stderr.write("fake: cannot find my network\n")
            sys.exit(7)
        super().run()


RandomEngine().run()
