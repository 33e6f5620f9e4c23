"""The evaluation in words: what the `eval` command prints."""

from __future__ import annotations

import chess
import numpy as np

from engine.board.convert import from_board
from eval.classical import FULL_PHASE, PHASE, TEMPO, evaluation_terms

TERMS = ("Material", "Squares", "Bishop pair")


def game_phase_of(board: chess.Board) -> int:
    """The phase of a board, FULL_PHASE (middlegame) to 0 (endgame)."""
    counts = sum(int(PHASE[piece.piece_type]) for piece in board.piece_map().values())
    return min(counts, FULL_PHASE)


def evaluation_report(board: chess.Board) -> str:
    """A table of every term for both sides in pawns, middlegame and endgame, and the total from White's view."""
    terms = np.zeros((2, len(TERMS), 2), np.int64)
    score = int(evaluation_terms(from_board(board), terms))
    lines = [
        "Term         |     White     |     Black     |     Total",
        "             |    MG     EG  |    MG     EG  |    MG     EG",
        "-------------+---------------+---------------+---------------",
    ]
    for index, name in enumerate(TERMS):
        white, black = terms[1, index], terms[0, index]  # a bool would index as a mask, not as chess.WHITE
        cells = " |".join(" ".join(f"{value / 100:6.2f}" for value in pair) for pair in (white, black, white - black))
        lines.append(f"{name:<13}|{cells}")
    sign = 1 if board.turn else -1
    lines.append(f"Phase {game_phase_of(board)} of {FULL_PHASE}; tempo {sign * TEMPO / 100:+.2f}")
    note = " (in check: the search looks further)" if board.is_check() else ""
    lines.append(f"Evaluation {sign * score / 100:+.2f} pawns from White's view{note}")
    return "\n".join(lines)
