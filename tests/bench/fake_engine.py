"""A tiny UCI engine for the tests: plays random legal moves, and misbehaves on request.

    python fake_engine.py [--seed N] [--fault KIND] [--at MOVE] [--marker FILE] [--score CP]

KIND is one of hang, crash, garbage, noise, illegal, null, slow, mute (no uciok), exit (at once), flood. The fault
strikes at the MOVE-th own move of a game (default 3); with --marker it strikes only while FILE does not exist, and
creates it, so that a test can have exactly one.
"""

import argparse
import random
import sys
import time
from itertools import pairwise
from pathlib import Path

import chess

VALUES = {chess.PAWN: 100, chess.KNIGHT: 300, chess.BISHOP: 300, chess.ROOK: 500, chess.QUEEN: 900, chess.KING: 0}


def send(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def material(board: chess.Board) -> int:
    return sum(
        value * (len(board.pieces(piece, board.turn)) - len(board.pieces(piece, not board.turn)))
        for piece, value in VALUES.items()
    )


class Fake:
    def __init__(self) -> None:
        parser = argparse.ArgumentParser()
        parser.add_argument("--name", default="Fake")
        parser.add_argument("--seed", type=int, default=1)
        parser.add_argument("--fault", default="")
        parser.add_argument("--at", type=int, default=3)
        parser.add_argument("--marker", type=Path)
        parser.add_argument("--score", type=int)
        parser.add_argument("--think", type=float, default=0.0, help="seconds a move where the limit has no time")
        self.options = parser.parse_args()
        self.random = random.Random(self.options.seed)
        self.board = chess.Board()
        self.known: list[str] = []
        self.moves = 0

    def position(self, words: list[str]) -> None:
        if words != self.known[: len(words)] and self.known and words[: len(self.known)] == self.known:
            new = words[len(self.known) :]
            for move in new:
                if move != "moves":
                    self.board.push_uci(move)
        else:
            moves = words.index("moves") if "moves" in words else len(words)
            self.board = chess.Board() if words[1] == "startpos" else chess.Board(" ".join(words[2:moves]))
            for move in words[moves + 1 :]:
                self.board.push_uci(move)
        self.known = words

    def strikes(self) -> bool:
        if not self.options.fault or self.moves != self.options.at:
            return False
        if self.options.marker:
            try:
                # Two games may be at this point at once: only one of them makes the file.
                self.options.marker.touch(exist_ok=False)
            except FileExistsError:
                return False
        return True

    def go(self, words: list[str], began: float) -> None:
        self.moves += 1
        fault = self.options.fault if self.strikes() else ""
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
            time.sleep(self.options.think)
        score = material(self.board) if self.options.score is None else self.options.score
        nodes = int(limits.get("nodes", 1000))
        for depth in range(1, 13):
            send(f"info depth {depth} seldepth {depth} multipv 1 score cp {score} nodes {nodes} nps 1000000 pv {move}")
        send(f"bestmove {move}")

    def run(self) -> None:
        if self.options.fault == "exit":
            sys.stderr.write("fake: cannot find my network\n")
            sys.exit(7)
        for line in sys.stdin:
            began = time.perf_counter()
            words = line.split()
            if not words:
                continue
            if words[0] == "uci" and self.options.fault != "mute":
                send(f"id name {self.options.name}")
                send("id author nobody")
                send("option name Hash type spin default 16 min 1 max 1024")
                send("option name Style type combo default Calm var Calm var Wild")
                send("uciok")
            elif words[0] == "isready":
                send("readyok")
            elif words[0] == "ucinewgame":
                self.moves, self.known = 0, []
            elif words[0] == "position":
                self.position(words)
            elif words[0] == "go":
                self.go(words, began)
            elif words[0] == "quit":
                return


if __name__ == "__main__":
    Fake().run()
