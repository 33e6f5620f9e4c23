"""The evaluation as a whole: fair to both colours, the sum of its parts, the same interpreted."""

from __future__ import annotations

import json
from collections.abc import Callable

import chess
import numpy as np
import pytest

from engine.board.convert import from_board
from eval.kernels.classical import tapered
from eval.kernels.workspace import new_workspace
from eval.report import Evaluator, evaluation_report
from eval.terms.weigh import pack, unpack_endgame, unpack_middlegame
from eval.weights import COUNT, GROUPS, ROWS, WEIGHTS
from search.kernels.score import MATE_BOUND
from tests.eval.eval_positions import played, score, static, varied

breakdown = Evaluator().breakdown


def test_both_colours_are_treated_alike() -> None:
    workspace = new_workspace()
    even = chess.Board("8/8/5N2/8/8/p5N1/2k5/7K b - - 0 1")  # the endgame values of the two sides are equal
    for board in (*varied(seed=1, count=600), even):
        mirrored = board.mirror()
        assert static(from_board(board), workspace) == static(from_board(mirrored), workspace), board.fen()


def test_the_score_is_the_mover_s() -> None:
    # Passing changes the sign, but for the right to move, which both sides value alike.
    for board in played(seed=2, games=3, plies=40):
        if board.is_check() or board.has_legal_en_passant():
            continue
        passed = board.copy()
        passed.push(chess.Move.null())
        if not passed.is_check() and breakdown(board).scale == breakdown(passed).scale:
            assert 0 <= (score(board.fen()) + score(passed.fen())) <= 60, board.fen()


def test_scores_stay_below_mates() -> None:
    board = chess.Board("QQQQKQQQ/QQQQQQQQ/8/8/8/8/8/k7 w - - 0 1")
    assert 5000 < score(board.fen()) < MATE_BOUND
    assert max(abs(score(board.fen())) for board in varied(seed=3, count=300)) < MATE_BOUND


def test_rows_add_up_to_the_score() -> None:
    for board in varied(seed=4, count=400):
        found = breakdown(board)
        total = (found.rows[:, 1] - found.rows[:, 0]).sum(axis=0)
        assert tuple(total) == found.totals, board.fen()
        white = tapered(total[0], total[1], found.phase, found.scale)
        assert found.score == (white if board.turn else -white)
        assert found.score == score(board.fen())


def test_the_printed_report_names_every_row() -> None:
    text = evaluation_report(chess.Board())
    assert all(f"\n{row:<13}|" in text for row in ROWS)
    assert text.endswith(f"Evaluation {score(chess.STARTING_FEN) / 100:+.2f} pawns from White's view")


@pytest.mark.parametrize("pair", [(0, 0), (5, -7), (-5, 7), (-1, -1), (30_000, -30_000), (-30_000, 30_000)])
def test_packed_pairs_come_apart_again(pair: tuple[int, int]) -> None:
    packed = pack(np.int64(pair[0]), np.int64(pair[1]))
    assert (unpack_middlegame(packed), unpack_endgame(packed)) == pair


def test_every_weight_has_its_place() -> None:
    assert WEIGHTS.shape == (COUNT, 2)
    assert len({group.name for group in GROUPS}) == len(GROUPS)
    squares = {group.name: WEIGHTS[group.first : group.first + 64] for group in GROUPS if group.size == 64}
    # Seen from White: pawns about to promote are the last but one row of a table that begins with a1.
    assert squares["PAWN_SQUARES"][48:56, 1].min() > squares["PAWN_SQUARES"][8:16, 1].max()


SCRIPT = """
import json, sys, warnings
warnings.simplefilter("error")
from engine.compiler.jit import INTERPRETED
from tests.eval.test_classical import breakdowns
assert INTERPRETED
print(json.dumps(breakdowns(json.loads(sys.argv[1]))))
"""


def breakdowns(fens: list[str]) -> list[object]:
    found = [breakdown(chess.Board(fen)) for fen in fens]
    return [[one.score, one.phase, one.scale, one.rows.tolist()] for one in found]


def test_interpreted_it_is_the_same(run_python: Callable[..., str]) -> None:
    fens = [board.fen(en_passant="fen") for board in varied(seed=6, count=60)[::2]]
    assert json.loads(run_python(SCRIPT, json.dumps(fens), NUMBA_DISABLE_JIT="1")) == breakdowns(fens)
