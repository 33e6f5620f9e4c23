"""`net`: network files described, and networks compared on games; the errors against sums made by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path

import chess
import numpy as np
import pytest

import uci_main
from engine.board.convert import to_board
from eval.network.evaluator import NetworkEvaluator
from eval.network.format import read_network, write_network
from eval.training.commands import net
from eval.training.quantise import rescaled_errors, squared_errors
from eval.training.samples import samples
from tests.eval.networks import random_network
from tests.training.positions import unpacked


def test_net_shows_what_a_file_is(trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert uci_main.main(["net", str(trained)]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{trained}: (768 -> 32)x2 -> 1, 8 output layers\n")
    for words in ("SHA-256    ", '"licence": "GPL-3.0-or-later"', '"seed": 1', "QA 511, QB 8192, scale "):
        assert words in out
    assert net.main([str(trained), "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    assert told["architecture"]["hidden"] == 32
    assert told["bytes"] == trained.stat().st_size

    damaged = tmp_path / "damaged.snet"
    data = bytearray(trained.read_bytes())
    data[-1000] ^= 1
    damaged.write_bytes(data)
    assert net.main([str(damaged), str(trained)]) == 1
    out, err = capsys.readouterr()
    assert err.startswith(f"secateur net: {damaged}: ")
    assert len(err.splitlines()) == 1
    assert out.startswith(str(trained))


def test_net_compares_networks_on_games(
    made: Path, trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.snet"
    write_network(other, random_network(hidden=32))
    assert net.main([str(trained), str(other), "--data", str(made), "--json", "--quiet"]) == 0
    mine, theirs = json.loads(capsys.readouterr().out)
    evaluator, expected = NetworkEvaluator(read_network(trained)), []
    for packed in samples(made):
        for position, sample in zip(unpacked(packed), packed, strict=True):
            board = to_board(position)
            pair = evaluator.score(board), int(sample["score"]) * (1 if board.turn == chess.WHITE else -1)
            found, wanted = (1 / (1 + math.exp(-cp / 170)) for cp in pair)
            expected.append((found - wanted) ** 2)
    assert (mine["positions"], mine["change_percent"], mine["change_interval"]) == (len(expected), 0, 0)
    assert mine["error"] == pytest.approx(sum(expected) / len(expected))
    # Noise is much worse than a network that was trained on these games.
    assert theirs["change_percent"] > 10 * theirs["change_interval"] > 0
    assert theirs["error"] == pytest.approx(mine["error"] * (1 + theirs["change_percent"] / 100))
    assert net.main([str(trained), str(other), "--data", str(made), "--quiet"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    told = f"{trained}: error {mine['error']:.6f}, rescaled {mine['rescaled_error']:.6f}, {len(expected)} positions"
    assert first == told
    assert f" ({theirs['change_percent']:+.2f} % +- {theirs['change_interval']:.2f}), rescaled " in second


def test_the_rescaled_error_ignores_the_size_of_evaluations() -> None:
    random = np.random.default_rng(1)
    pieces = random.integers(2, 33, 100_000)
    scores = np.rint(random.normal(0, 150, len(pieces))).astype(np.int64)
    evals = np.rint(scores + random.normal(0, 60, len(pieces))).astype(np.int64)
    # Larger with more pieces, as a network may be that learned from other positions.
    larger = np.rint(evals * (1 + pieces / 40)).astype(np.int64)
    plain = [squared_errors(mine, scores, 170.0).mean() for mine in (evals, larger)]
    rescaled = [rescaled_errors(mine, scores, pieces, 170.0).mean() for mine in (evals, larger)]
    assert plain[1] > 1.5 * plain[0]
    assert rescaled[0] <= plain[0]
    assert rescaled[1] == pytest.approx(rescaled[0], rel=0.02)
    # What the evaluation and the pieces cannot predict stays.
    noisier = np.rint(scores + random.normal(0, 120, len(pieces))).astype(np.int64)
    assert rescaled_errors(noisier, scores, pieces, 170.0).mean() > 1.5 * rescaled[0]


def test_net_needs_positions_to_compare_with(trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert net.main([str(trained), "--data", str(tmp_path), "--quiet"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"secateur net: {tmp_path}: ")
