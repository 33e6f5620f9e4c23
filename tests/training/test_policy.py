"""Training a policy: its gradient, its rounding, and `train --policy` from games to a network file that rates moves."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import chess
import numpy as np
import pytest

import uci_main
from engine.board.convert import decode, to_board
from eval.network.evaluator import NetworkEvaluator
from eval.network.format import Network, read_network, write_network
from eval.network.layout import LOGIT, POLICY_QB
from eval.training import runs
from eval.training.commands import train
from eval.training.kernels.gradients import CHUNK, new_vector
from eval.training.kernels.policy import (
    Weights,
    add_policy_gradients,
    new_policy_scratch,
    policy_count,
    rate_samples,
    weights_of,
)
from eval.training.quantise import with_policy
from eval.training.samples import ALL, Samples, samples
from tests.eval.networks import random_network, rating_network
from tests.training.conftest import TINY
from tests.training.positions import unpacked

HIDDEN = 64


@pytest.fixture(scope="module")
def packed(made: Path) -> Samples:
    """Positions of games, also those in check and those in which a capture was played."""
    (found,) = samples(made, ALL)
    return found[: 4 * CHUNK]


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a network without a policy."""
    path = tmp_path_factory.mktemp("start") / "start.snet"
    write_network(path, random_network(1, HIDDEN))
    return path


def random_weights(seed: int) -> tuple[np.ndarray, Weights]:
    vector = new_vector(policy_count(HIDDEN))
    weights = weights_of(vector, HIDDEN)
    rng = np.random.default_rng(seed)
    weights.rows[:] = rng.normal(0.0, 0.2, weights.rows.shape)
    weights.bias[:] = rng.normal(0.0, 0.5, weights.bias.shape)
    return vector, weights


def losses(network: Network, packed: Samples) -> list[float | None]:
    """The cross-entropy of each position by the policy's integers; None if it teaches nothing."""
    evaluator = NetworkEvaluator(network)
    found: list[float | None] = []
    for sample, position in zip(packed, unpacked(packed), strict=True):
        board = to_board(position, chess960=True)
        move = decode(int(sample["move"]), chess960=True)
        quiet = not (board.is_check() or board.is_capture(move) or move.promotion)
        logits = evaluator.logits(board) if quiet else {}
        if len(logits) < 2:
            found.append(None)
            continue
        found.append(math.log(sum(math.exp(logit) for logit in logits.values())) - logits[move])
    return found


def test_the_loss_is_that_of_the_definition(packed: Samples) -> None:
    """Weights that are whole numbers of POLICY_QB lose nothing by rounding."""
    _, weights = random_weights(1)
    weights.rows[:] = np.rint(weights.rows * POLICY_QB) / POLICY_QB
    weights.bias[:] = np.rint(weights.bias * LOGIT) / LOGIT
    plain = random_network(1, HIDDEN)
    expected = losses(with_policy(plain, weights, {}), packed)
    ranks = np.zeros(len(packed), np.int64)
    found = rate_samples(plain.record(), weights, packed, new_policy_scratch(HIDDEN), ranks)
    assert found == pytest.approx(sum(loss for loss in expected if loss is not None), rel=1e-4)
    assert [rank >= 0 for rank in ranks.tolist()] == [loss is not None for loss in expected]
    assert expected.count(None) > 20


def test_ranks_count_the_moves_above(packed: Samples) -> None:
    network = rating_network(2, HIDDEN)
    assert network.policy_rows is not None
    assert network.policy_bias is not None
    weights = weights_of(new_vector(policy_count(HIDDEN)), HIDDEN)
    weights.rows[:], weights.bias[:] = network.policy_rows / POLICY_QB, network.policy_bias / LOGIT
    ranks = np.zeros(len(packed), np.int64)
    rate_samples(network.record(), weights, packed, new_policy_scratch(HIDDEN), ranks)
    evaluator = NetworkEvaluator(network)
    for sample, position, rank in zip(packed, unpacked(packed), ranks.tolist(), strict=True):
        if rank >= 0:
            logits = evaluator.logits(to_board(position, chess960=True))
            played = logits[decode(int(sample["move"]), chess960=True)]
            assert abs(sum(logit >= played for logit in logits.values()) - 1 - rank) <= 1
    assert len(set(ranks.tolist())) > 10


def test_a_policy_that_knows_nothing_never_rates_the_played_move_first(packed: Samples) -> None:
    ranks = np.zeros(len(packed), np.int64)
    nothing = weights_of(new_vector(policy_count(HIDDEN)), HIDDEN)
    rate_samples(random_network(1, HIDDEN).record(), nothing, packed, new_policy_scratch(HIDDEN), ranks)
    evaluator = NetworkEvaluator(rating_network(1, HIDDEN))
    for position, rank in zip(unpacked(packed), ranks.tolist(), strict=True):
        assert rank in (-1, len(evaluator.logits(to_board(position, chess960=True))) - 1)


def test_the_gradient_is_the_slope_of_the_loss(packed: Samples) -> None:
    vector, weights = random_weights(3)
    record, scratch = random_network(1, HIDDEN).record(), new_policy_scratch(HIDDEN)
    gradient = new_vector(policy_count(HIDDEN))
    chunks = np.array([0, 2], np.int64)

    def loss() -> float:
        nothing = weights_of(new_vector(policy_count(HIDDEN)), HIDDEN)
        return float(add_policy_gradients(record, weights, packed, chunks, scratch, nothing))

    add_policy_gradients(record, weights, packed, chunks, scratch, weights_of(gradient, HIDDEN))
    steep = np.argsort(-np.abs(gradient))[:40]
    bias = np.arange(len(weights.rows.reshape(-1)), len(vector))
    for index in [*steep.tolist(), *bias[gradient[bias] != 0][:20].tolist()]:
        before, step = vector[index], np.float32(0.02)
        vector[index] = before + step
        above = loss()
        vector[index] = before - step
        below = loss()
        vector[index] = before
        assert (above - below) / (2 * float(step)) == pytest.approx(float(gradient[index]), rel=0.02, abs=0.02)


def arguments(made: Path, start: Path, output: Path, *more: str) -> list[str]:
    tiny = [*TINY[2:], "--rate", "0.03", "--warm-up", "2"]
    return ["train", str(made), "--start", str(start), "--policy", "--output", str(output), *tiny, *more]


def test_a_policy_is_trained(made: Path, start: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "rating.snet"
    assert uci_main.main(arguments(made, start, output)) == 0
    out, _ = capsys.readouterr()
    assert "the played move rates first in " in out
    before, after = read_network(start), read_network(output)
    assert np.array_equal(before.features, after.features)
    assert np.array_equal(before.output, after.output)
    assert after.has_policy
    assert after.provenance["data"] == before.provenance["data"]
    facts = after.provenance["policy"]
    assert facts["recipe"]["policy"] is True
    assert facts["recipe"]["start"] == before.digest()
    log = (tmp_path / "rating.training" / "log.jsonl").read_text(encoding="utf-8")
    errors = [json.loads(line)["training"] for line in log.splitlines()]
    assert errors == sorted(errors, reverse=True)
    found = facts["hits"]
    assert found["positions"] > 100
    assert found["error"] == pytest.approx(found["rounded_error"], abs=0.02)
    assert 0.05 < found["top_1"] < found["top_3"] < 1
    # In the first position the policy knows moves that are often played from those that never are.
    logits = NetworkEvaluator(after).logits(chess.Board())
    assert len(logits) == 20
    assert max(logits.values()) > min(logits.values())


def test_a_policy_resumes_to_the_same_weights(
    made: Path, start: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, parts = tmp_path / "whole.snet", tmp_path / "parts.snet"
    more = ["--threads", "2", "--quiet"]
    assert uci_main.main(arguments(made, start, whole, *more)) == 0
    save = runs.save_state

    def save_and_stop(*given: Any) -> None:
        save(*given)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(runs, "save_state", save_and_stop)
        assert uci_main.main(arguments(made, start, parts, *more)) == 1
    assert len((tmp_path / "parts.training" / "log.jsonl").read_text(encoding="utf-8").splitlines()) == 1
    assert train.main(["--output", str(parts), "--resume", "--quiet"]) == 0
    assert read_network(parts).digest() == read_network(whole).digest()


def test_training_further_drops_the_policy(made: Path, start: Path, tmp_path: Path) -> None:
    """It reads accumulators, and these change."""
    rating, further = tmp_path / "rating.snet", tmp_path / "further.snet"
    assert uci_main.main(arguments(made, start, rating, "--quiet")) == 0
    more = [*TINY[2:], "--quiet"]
    assert uci_main.main(["train", str(made), "--start", str(rating), "--output", str(further), *more]) == 0
    assert not read_network(further).has_policy


def test_what_a_policy_needs(made: Path, start: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output, narrow = tmp_path / "net.snet", tmp_path / "narrow.snet"
    write_network(narrow, random_network(1, 32))
    given = [str(made), "--output", str(output), "--policy"]
    for more, words in (
        ([], "policy needs the network that it is for, as start"),
        (["--start", str(narrow)], "policy needs a hidden that is a multiple of 64 (got 32)"),
        (["--start", str(narrow), "--device", "gpu"], "a policy trains only on device cpu (got gpu)"),
        (
            ["--start", str(start), "--scale", "200"],
            "a policy learns moves, so it takes neither result-share nor scale",
        ),
    ):
        assert train.main([*given, *more]) == 2
        assert capsys.readouterr().err == f"secateur train: {words}\n"
    for more in (["--hidden", "128"], ["--buckets", "1"], ["--threats"]):
        assert train.main([*given, "--start", str(start), *more]) == 1
        words = "a policy needs the start network's hidden, buckets and threats, (64, 8, False) "
        assert capsys.readouterr().err.startswith(f"secateur train: {words}")
    assert not output.exists()
