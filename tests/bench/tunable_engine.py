"""A UCI engine with numbers to tune: `python tunable_engine.py [--log FILE] [--fault]`.

It plays the first legal move and says that it is winning when its option Size is above WINNING_SIZE, else that it is
losing. FILE gets a line for each start, option and game. With --fault it ends at its first move.
"""

import argparse
import sys
from pathlib import Path

import chess

WINNING_SIZE = 110


def send(*lines: str) -> None:
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--log", type=Path)
    parser.add_argument("--fault", action="store_true")
    options = parser.parse_args()

    def log(line: str) -> None:
        if options.log:
            with options.log.open("a", encoding="utf-8") as file:
                file.write(line + "\n")

    log("start")
    size = 100
    board = chess.Board()
    for line in sys.stdin:
        words = line.split()
        command = words[0] if words else ""
        if command == "uci":
            send("id name Tunable", "option name Size type spin default 100 min 0 max 200")
            send(
                "option name Other type spin default 20 min 0 max 60",
                "option name Hash type spin default 1 min 1 max 9",
            )
            send("uciok")
        elif command == "isready":
            send("readyok")
        elif command == "setoption":
            log(" ".join(words[2:]))
            if words[2] == "Size":
                size = int(words[4])
        elif command == "ucinewgame":
            log("game")
        elif command == "position":
            moves = words.index("moves") if "moves" in words else len(words)
            board = chess.Board() if words[1] == "startpos" else chess.Board(" ".join(words[2:moves]))
            for move in words[moves + 1 :]:
                board.push_uci(move)
        elif command == "go":
            if options.fault:
                sys.exit(3)
            move = next(iter(board.legal_moves)).uci()
            send(f"info depth 1 nodes 1 score cp {1000 if size > WINNING_SIZE else -1000}", f"bestmove {move}")
        elif command == "quit":
            return


main()
