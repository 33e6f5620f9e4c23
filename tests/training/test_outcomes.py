"""The fit of the model of results: it finds what made up the counts, and counts what is in the games."""

from __future__ import annotations

import json
from typing import Any

import chess
import numpy as np
import pytest

from eval.training import outcomes
from eval.training.commands import wdl
from eval.training.kernels.records import SAMPLE
from eval.training.outcomes import BINS, SCORE_LIMIT, Fit, bin_scores, chances, count_results, fit
from search.outcome import FULL_MATERIAL, material, win_chance

TRUE = np.array([140.0, -60.0, 90.0, 70.0, 30.0, -20.0])


def made_up_counts() -> Any:
    """What games of the model with the coefficients TRUE come to, at every material and score."""
    weight = np.exp(-np.abs(bin_scores()) / 300.0)[None, :, None]
    return chances(TRUE) * weight * 1000


def test_the_coefficients_behind_the_counts_are_found() -> None:
    found = fit(made_up_counts())
    fitted = np.array([*found.win_score, *found.spread])
    share = np.arange(6, FULL_MATERIAL + 1) / FULL_MATERIAL
    powers = share[:, None] ** np.arange(3)
    for half in (slice(0, 3), slice(3, 6)):
        assert np.abs(powers @ (fitted[half] - TRUE[half])).max() < 2.0
    assert found.loss < found.plain_loss


def test_the_engine_and_the_fit_mean_the_same_by_their_coefficients(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("search.outcome.WIN_SCORE", tuple(TRUE[:3]))
    monkeypatch.setattr("search.outcome.SPREAD", tuple(TRUE[3:]))
    given = chances(TRUE)
    for pawns in (10, 40, 78):
        for index in (0, 10, 40, 47, BINS - 1):
            score = index * 10 - SCORE_LIMIT
            assert given[pawns, index, 2] == pytest.approx(win_chance(score, pawns))
            assert given[pawns, index, 0] == pytest.approx(win_chance(-score, pawns))


def packed(board: chess.Board) -> tuple[int, list[int]]:
    """Occupied squares and piece codes as `eval.training.kernels.records.PACKED` has them."""
    codes = []
    for square in chess.scan_forward(board.occupied):
        piece = board.piece_at(square)
        assert piece is not None
        code = 7 if board.castling_rights & chess.BB_SQUARES[square] else piece.piece_type
        codes.append(code + (0 if piece.color else 8))
    codes += [0] * (32 - len(codes))
    return board.occupied, [codes[2 * index] | codes[2 * index + 1] << 4 for index in range(16)]


def test_positions_are_counted_by_material_score_and_result() -> None:
    boards = [chess.Board(), chess.Board("r3k3/pp6/8/8/8/8/8/1N1QK3 b q - 0 1")]
    samples = np.zeros(2, SAMPLE)
    for sample, board, score, result in zip(samples, boards, (34, -398), (2, 1), strict=True):
        sample["position"]["occupied"], sample["position"]["pieces"] = packed(board)
        sample["score"], sample["result"] = score, result
    decided = samples[1:].copy()
    decided["score"] = SCORE_LIMIT + 1
    counts = count_results([samples, samples[:1], decided])
    assert counts.sum() == 3
    assert counts[material(boards[0]), (30 + SCORE_LIMIT) // 10, 2] == 2
    assert counts[material(boards[1]), 0, 1] == 1


def test_the_command_prints_what_belongs_into_the_engine(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fitted = Fit(tuple(TRUE[:3].tolist()), tuple(TRUE[3:].tolist()), 1000, 0.8, 1.0)
    monkeypatch.setattr(outcomes, "count_results", lambda batches: made_up_counts())
    monkeypatch.setattr(outcomes, "fit", lambda counts: fitted)
    assert wdl.main(["anywhere"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("WIN_SCORE: Final = (140.0, -60.0, 90.0)\nSPREAD: Final = (70.0, 30.0, -20.0)\n")
    assert wdl.main(["anywhere", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["win_score"] == [140.0, -60.0, 90.0]
    for _, _, expected, came in facts["calibration"]:
        assert expected == pytest.approx(came, abs=0.01)
