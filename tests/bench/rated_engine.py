"""A UCI engine whose strength is an option: the greater `UCI_Elo`, the more often it minds what it wins and loses.

Its moves depend on position and rating alone, so that the same match always ends the same way.
"""

import random

import chess
from fake_uci import VALUES, FakeEngine, material, send  # type: ignore[import-not-found]

#: The greatest rating, and that of the engine when it is not limited.
FULL_STRENGTH = 4000


def gain(board: chess.Board, move: chess.Move) -> int:
    """What the move takes, less the piece itself where it can be taken back."""
    taken, moved = board.piece_type_at(move.to_square), board.piece_type_at(move.from_square)
    risk = VALUES[moved or chess.PAWN] if board.is_attacked_by(not board.turn, move.to_square) else 0
    return (VALUES[taken] if taken else 0) - risk


def choose(board: chess.Board, elo: int) -> chess.Move:
    rng = random.Random(f"{elo} {board.fen()}")
    moves = list(board.legal_moves)
    rng.shuffle(moves)
    return max(moves, key=lambda move: gain(board, move)) if rng.random() < elo / FULL_STRENGTH else moves[0]


class RatedEngine(FakeEngine):  # type: ignore[misc]
    name = "Rated"
    options = (
        "name UCI_LimitStrength type check default false",
        f"name UCI_Elo type spin default 1000 min 0 max {FULL_STRENGTH}",
    )

    def __init__(self) -> None:
        super().__init__()
        self.elo, self.is_limited = 1000, False

    def set_option(self, name: str, value: str) -> None:
        if name == "UCI_Elo":
            self.elo = int(value)
        else:
            self.is_limited = value == "true"

    def go(self, words: list[str]) -> None:
        move = choose(self.board, self.elo if self.is_limited else FULL_STRENGTH).uci()
        send(f"info depth 1 nodes 10 score cp {material(self.board)} pv {move}", f"bestmove {move}")


RatedEngine().run()
