"""A UCI engine that answers from a table: `python table_engine.py TABLE.json [--fault crash|hang]`.

The table maps the first four fields of a FEN to the lines that it prints after `go`. Without an entry it plays the
first legal move, with a score that its node count and the position determine.
"""

import json
import sys
import time
import zlib
from pathlib import Path

import chess


def send(*lines: str) -> None:
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


def main() -> None:
    table = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    fault = sys.argv[3] if len(sys.argv) > 3 else ""
    board = chess.Board()
    for line in sys.stdin:
        words = line.split()
        command = words[0] if words else ""
        if command == "uci":
            send("id name Table", "uciok")
        elif command == "isready":
            send("readyok")
        elif command == "position":
            moves = words.index("moves") if "moves" in words else len(words)
            board = chess.Board() if words[1] == "startpos" else chess.Board(" ".join(words[2:moves]))
            for move in words[moves + 1 :]:
                board.push_uci(move)
        elif command == "go":
            if fault == "crash":
                sys.exit(1)
            while fault == "hang":
                time.sleep(1)
            default = next(iter(board.legal_moves)).uci()
            score = zlib.crc32(board.epd().encode()) % 400 - 200
            answer = [f"info depth 1 nodes 10 score cp {score} pv {default}", f"bestmove {default}"]
            send(*table.get(" ".join(board.fen().split()[:4]), answer))
        elif command == "quit":
            return


main()
