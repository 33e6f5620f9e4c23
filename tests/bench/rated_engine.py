"""A UCI engine whose strength is an option: the greater `UCI_Elo`, the more often it minds what it wins and loses.

Its moves depend on position and rating alone, so that the same match always ends the same way.
"""

import random
import sys

import chess
from fake_engine import VALUES, material, send


def gain(board: chess.Board, move: chess.Move) -> int:
    """What the move takes, less the piece itself where it can be taken back."""
    taken, moved = board.piece_type_at(move.to_square), board.piece_type_at(move.from_square)
    risk = VALUES[moved or chess.PAWN] if board.is_attacked_by(not board.turn, move.to_square) else 0
    return (VALUES[taken] if taken else 0) - risk


def choose(board: chess.Board, elo: int) -> chess.Move:
    rng = random.Random(f"{elo} {board.fen()}")
    moves = list(board.legal_moves)
    rng.shuffle(moves)
    return max(moves, key=lambda move: gain(board, move)) if rng.random() < elo / 4000 else moves[0]


def main() -> None:
    elo, is_limited = 1000, False
    board = chess.Board()
    for line in sys.stdin:
        words = line.split()
        command = words[0] if words else ""
        if command == "uci":
            send("id name Rated")
            send("option name UCI_LimitStrength type check default false")
            send("option name UCI_Elo type spin default 1000 min 0 max 4000")
            send("uciok")
        elif command == "isready":
            send("readyok")
        elif command == "setoption":
            name, value = line.split(" name ")[1].split(" value ")
            if name == "UCI_Elo":
                elo = int(value)
            else:
                is_limited = value.strip() == "true"
        elif command == "position":
            moves = words.index("moves") if "moves" in words else len(words)
            board = chess.Board() if words[1] == "startpos" else chess.Board(" ".join(words[2:moves]))
            for move in words[moves + 1 :]:
                board.push_uci(move)
        elif command == "go":
            move = choose(board, elo if is_limited else 4000).uci()
            send(f"info depth 1 nodes 10 score cp {material(board)} pv {move}")
            send(f"bestmove {move}")
        elif command == "quit":
            return


main()
