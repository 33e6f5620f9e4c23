"""What a passed pawn is worth: more on higher ranks, and with its own king near and the enemy's far."""

from __future__ import annotations

import random
import statistics
from collections.abc import Iterable
from functools import cache
from itertools import pairwise

import chess

from eval.report import Evaluator
from eval.terms.passed import FIRST_RANK

RANKS = range(FIRST_RANK, 7)
#: Distances in king's moves from either king to the square that the pawn is about to enter. An enemy king beside that
#: square would as a rule attack the pawn itself.
OWN_DISTANCES, ENEMY_DISTANCES = range(1, 5), range(2, 6)

EVALUATOR = Evaluator()


def endgame_value(board: chess.Board) -> int:
    """The unscaled value in the endgame, from White's view."""
    return EVALUATOR.breakdown(board).totals[1]


def worth(pawn: chess.Square, own: chess.Square, enemy: chess.Square) -> int:
    """What a white pawn adds to kings that stay where they are, with Black to move.

    Black has a knight in a far corner, so that not even a king far away makes it certain that the pawn promotes.
    """
    board = chess.Board(None)
    board.set_piece_at(corner(pawn), chess.Piece(chess.KNIGHT, chess.BLACK))
    board.set_piece_at(own, chess.Piece(chess.KING, chess.WHITE))
    board.set_piece_at(enemy, chess.Piece(chess.KING, chess.BLACK))
    board.turn = chess.BLACK
    without = endgame_value(board)
    board.set_piece_at(pawn, chess.Piece(chess.PAWN, chess.WHITE))
    return endgame_value(board) - without


def corner(pawn: chess.Square) -> chess.Square:
    """The corner behind the pawn on the other wing."""
    return chess.H1 if chess.square_file(pawn) < 4 else chess.A1


@cache
def mean_worth(rank: int, own_distance: int, enemy_distance: int) -> float:
    """The mean of `worth` over all white pawns on that rank and enemy kings so far from the square before it.

    The pawn's own king stands somewhere at its distance. No king is before the pawn, and the enemy's attacks it not.
    """
    rng = random.Random(1)
    values = []
    for pawn in range(8 * rank, 8 * rank + 8):
        free = set(chess.SQUARES) - set(range(pawn, 64, 8)) - {corner(pawn)}
        for enemy in sorted(free):
            if chess.square_distance(enemy, pawn + 8) != enemy_distance or chess.square_distance(enemy, pawn) == 1:
                continue
            own = [
                square
                for square in sorted(free)
                if chess.square_distance(square, pawn + 8) == own_distance and chess.square_distance(square, enemy) > 1
            ]
            if own:
                values.append(worth(pawn, rng.choice(own), enemy))
    return statistics.mean(values)


def grows(values: Iterable[float]) -> bool:
    return all(first < second for first, second in pairwise(values))


def test_it_is_worth_more_the_further_it_is() -> None:
    """With both kings as far from its next square as before, whatever these distances are."""
    for own in OWN_DISTANCES:
        for enemy in ENEMY_DISTANCES:
            values = [mean_worth(rank, own, enemy) for rank in RANKS]
            assert grows(values), (own, enemy, values)


def test_its_own_king_is_to_be_near() -> None:
    for rank in RANKS:
        for enemy in ENEMY_DISTANCES:
            values = [mean_worth(rank, own, enemy) for own in reversed(OWN_DISTANCES)]
            assert grows(values), (rank, enemy, values)
            # Without the weights of that distance it would be about 45 on the first of these ranks.
            assert values[-1] - values[0] > 60, (rank, enemy, values)


def test_the_enemy_s_king_is_to_be_far() -> None:
    for rank in RANKS:
        for own in OWN_DISTANCES:
            values = [mean_worth(rank, own, enemy) for enemy in ENEMY_DISTANCES]
            assert grows(values), (rank, own, values)
            # The same here.
            assert values[-1] - values[0] > 60, (rank, own, values)
