"""`net`: network files described, and evaluations compared on games; the errors against sums made by hand."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import uci_main
from engine.board.convert import to_board
from engine.compiler.library import JIT, KERNELS_VARIABLE
from eval.network.format import read_network, write_network
from eval.training.commands import net
from eval.training.comparison import Comparison, classical_scores, compare
from eval.training.quantise import integer_scores
from eval.training.samples import samples, unpacked
from eval.training.shards import read_shard
from tests.eval.eval_positions import score
from tests.eval.networks import random_network


def turned(packed: Any) -> npt.NDArray[np.int64]:
    """The scores of samples as the side to move sees them."""
    black = packed["position"]["state"] >= 128
    scores: npt.NDArray[np.int64] = np.where(black, -packed["score"], packed["score"]).astype(np.int64)
    return scores


def material(packed: Any) -> npt.NDArray[np.int64]:
    """A poor evaluation: the scores in steps of two pawns."""
    steps: npt.NDArray[np.int64] = np.rint(turned(packed) / 200).astype(np.int64)
    return 200 * steps


@pytest.fixture(scope="module")
def compared(made: Path) -> Comparison:
    return compare({"scores": turned, "material": material}, samples(made))


def expected(value: float, scale: float) -> float:
    return 1.0 / (1.0 + math.exp(-value / scale))


def test_errors_are_those_of_sums_by_hand(compared: Comparison, made: Path) -> None:
    """Game by game, which the shard tells apart with certainty."""
    shard = read_shard(made / "shard-000000.games")
    teacher, poor = compared.errors
    (packed,) = samples(made)
    rough = np.where(packed["position"]["state"] >= 128, -1, 1) * material(packed)
    games: list[list[float]] = [[] for _ in shard.games]
    to_scores, to_results, better = 0.0, 0.0, 0.0
    for sample, value in zip(packed, rough.tolist(), strict=True):
        came = int(sample["result"]) / 2
        told = int(sample["score"])
        to_scores += (expected(value, compared.scale) - expected(told, compared.scale)) ** 2
        square = (expected(value, poor.scale) - came) ** 2
        best = (expected(told, teacher.scale) - came) ** 2
        to_results, better = to_results + square, better + best
        games[int(sample["game"])].append(square - best)
    count = len(packed)
    mean = (to_results - better) / count
    spread = sum(sum(value - mean for value in game) ** 2 for game in games)
    assert compared.games == sum(1 for game in games if game)
    assert poor.scores == pytest.approx(to_scores / count)
    assert poor.results == pytest.approx(to_results / count)
    assert teacher.results == pytest.approx(better / count)
    assert poor.difference == pytest.approx(mean)
    assert poor.deviation == pytest.approx(math.sqrt(spread) / count)
    assert poor.deviation > 0
    assert (teacher.scores, teacher.difference, teacher.scale) == (0.0, 0.0, compared.scale)


def test_the_classical_evaluation_is_the_engine_s(made: Path) -> None:
    (packed,) = samples(made)
    some = packed[:: max(1, len(packed) // 50)]
    assert classical_scores(some).tolist() == [score(to_board(position).fen()) for position in unpacked(some)]


def test_the_command(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KERNELS_VARIABLE, JIT)
    file = tmp_path / "random.snet"
    write_network(file, random_network(seed=3))
    arguments = ["net", str(file), "--on", str(made)]
    assert uci_main.main([*arguments, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    network = read_network(file)
    found = compare({"classical": classical_scores, str(file): partial(integer_scores, network)}, samples(made))
    assert told == {**asdict(found), "errors": [asdict(errors) for errors in found.errors]}
    # What knows nothing is worse than what was tuned, by far more than chance allows.
    classical, random = found.errors
    assert random.scores > 2 * classical.scores
    assert random.difference > 3 * random.deviation > 0

    assert uci_main.main(arguments) == 0
    head, _, first, second = capsys.readouterr().out.splitlines()
    assert head.endswith(f" on {found.positions} quiet positions of {found.games} games")
    assert first.split()[:2] == ["classical", f"{classical.scores:.5f}"]
    assert second.split()[-3:] == [f"{-random.difference:+.5f}", "+-", f"{random.deviation:.5f}"]


def test_net_shows_what_a_file_is(trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert uci_main.main(["net", str(trained)]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{trained}: (768 -> 32)x2 -> 1, 8 output layers\n")
    for words in ("SHA-256    ", '"licence": "GPL-3.0-or-later"', '"seed": 1', "QA 255, QB 64, scale "):
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
