"""The report on the evaluation of a position: the output of the `eval` command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import chess
import numpy as np
import numpy.typing as npt

from engine.board.convert import from_board
from eval.custom import CHOICE, custom_score
from eval.kernels.classical import ENDGAME, FULL_PHASE, MIDDLEGAME, PHASE, PRICES, SCALE, SUMMARY, evaluation_terms
from eval.kernels.endings import USE_CLASSICAL, USE_DRAW, USE_NETWORK, chosen_evaluation
from eval.kernels.inference import EVALUATION_LIMIT
from eval.kernels.workspace import new_workspace
from eval.network.evaluator import NetworkEvaluator
from eval.network.format import Network
from eval.terms.endgames import FULL_SCALE
from eval.weights import COUNT, DANGER, GROUPS, ROWS, WEIGHTS

#: The reasons why the evaluation is not the network's value.
_WHY_NOT_THE_NETWORK: Final = {
    USE_CLASSICAL: "from the classical evaluation, because a king is bare",
    USE_DRAW: "the side that the network favours cannot win",
}


@dataclass(frozen=True)
class Breakdown:
    """The classical evaluation of a position, and its parts.

    `score` is in centipawns from the side to move's view. `rows` is int64[len(ROWS)][2][2] in centipawns, indexed
    [row][color][middlegame, endgame]. `totals` is the sum of the rows, White's minus Black's, as (middlegame, endgame).
    `phase` is from 0 to FULL_PHASE. `scale` says how many sixty-fourths of the endgame value count.
    """

    score: int
    rows: npt.NDArray[np.int64]
    totals: tuple[int, int]
    phase: int
    scale: int


class Evaluator:
    """A classical evaluator for Python code. It allocates the kernels' memory once and reuses it for all boards."""

    def __init__(self) -> None:
        self._workspace = new_workspace()
        self._trace = np.zeros((2, COUNT), np.int32)
        self._summary = np.zeros(SUMMARY, np.int64)

    def score(self, board: chess.Board) -> int:
        """Returns the evaluation in centipawns from the side to move's view."""
        return int(evaluation_terms(from_board(board), self._workspace, self._trace, self._summary))

    def breakdown(self, board: chess.Board) -> Breakdown:
        """Returns the evaluation of a board, with its parts."""
        score = self.score(board)
        rows = np.zeros((len(ROWS), 2, 2), np.int64)
        for group in GROUPS:
            part = slice(group.first, group.first + group.size)
            rows[group.row] += self._trace[:, part].astype(np.int64) @ WEIGHTS[part]
        # Danger is not in centipawns, so the row DANGER shows the cost of the danger.
        rows[DANGER] = self._summary[PRICES:].reshape(2, 2)
        middlegame, endgame, phase, scale = (int(self._summary[n]) for n in (MIDDLEGAME, ENDGAME, PHASE, SCALE))
        return Breakdown(score, rows, (middlegame, endgame), phase, scale)


def evaluation_report(board: chess.Board, network: Network | None = None) -> str:
    """Returns a table of each side's middlegame and endgame terms, and the evaluation from White's view, all in pawns.

    With a `network`, the last line shows the network's value, or the value that `eval.kernels.endings` chooses instead
    and the reason. A custom evaluation has no table, but a warning if exchanging the sides changes the score.
    """
    note = " (in check: the search looks further)" if board.is_check() else ""
    if CHOICE is not None:
        return _custom_report(board, f"Evaluation by {CHOICE.name}", note)
    found = Evaluator().breakdown(board)
    lines = [
        "Term         |     White     |     Black     |     Total",
        "             |    MG     EG  |    MG     EG  |    MG     EG",
        "-------------+---------------+---------------+---------------",
    ]
    for name, (black, white) in zip(ROWS, found.rows, strict=True):
        cells = " |".join(" ".join(f"{value / 100:6.2f}" for value in pair) for pair in (white, black, white - black))
        lines.append(f"{name:<13}|{cells}")
    middlegame, endgame = (f"{value / 100:6.2f}" for value in found.totals)
    lines.append(f"{'Sum':<13}|{'':15}|{'':15}|{middlegame} {endgame}")
    lines.append(f"Phase {found.phase} of {FULL_PHASE}; endgame scale {found.scale} of {FULL_SCALE}")
    if network is None:
        lines.append(_total("Evaluation", found.score, board) + note)
    else:
        lines.append(_total("Classical evaluation", found.score, board))
        lines.append(f"Network {network.describe()}")
        value = NetworkEvaluator(network).score(board)
        choice = int(chosen_evaluation(from_board(board), value))
        if choice != USE_NETWORK:
            lines.append(_total("Network evaluation", value, board))
            value = found.score if choice == USE_CLASSICAL else 0
            note = f": {_WHY_NOT_THE_NETWORK[choice]}{note}"
        lines.append(_total("Evaluation", value, board) + note)
    return "\n".join(lines)


def _custom_report(board: chess.Board, title: str, note: str) -> str:
    """Returns the report on a custom evaluation, with a warning if exchanging the sides changes the score."""
    score, mirrored = (
        min(max(int(custom_score(from_board(side))), -EVALUATION_LIMIT), EVALUATION_LIMIT)
        for side in (board, board.mirror())
    )
    lines = [title, _total("Evaluation", score, board) + note]
    if mirrored != score:
        lines.append(
            f"The evaluation is not symmetrical: it gives the side to move {score} centipawns, but {mirrored} with "
            "the sides exchanged. Does it score from the side to move's view?"
        )
    return "\n".join(lines)


def _total(name: str, score: int, board: chess.Board) -> str:
    """Returns a line with `score`, centipawns from the side to move's view, converted to pawns from White's view."""
    return f"{name} {(score if board.turn else -score) / 100:+.2f} pawns from White's view"
