"""Training: it learns material, gives the same network twice, and resumes exactly."""

from __future__ import annotations

import math
import random
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import chess
import numpy as np
import numpy.typing as npt
import pytest

from engine.memory import readable
from eval.training.accelerator import DeviceError
from eval.training.kernels.gradients import CHUNK
from eval.training.kernels.records import SAMPLE
from eval.training.pool import Facts, Pool
from eval.training.quantise import measure, quantised
from eval.training.runs import CHECKPOINT, LOG, load_state, output_of, save_state
from eval.training.trainer import Recipe, Trainer, TrainingError, first_state
from tests.training.float_network import samples_of

VALUES = {chess.PAWN: 100, chess.KNIGHT: 300, chess.BISHOP: 320, chess.ROOK: 500, chess.QUEEN: 900, chess.KING: 0}
RECIPE = Recipe(
    hidden=32,
    buckets=1,
    superbatches=3,
    batch_size=2 * CHUNK,
    result_share=0.0,
    scale=400.0,
    rate=1e-3,
    warm_up=10,
    threads=1,
)


def random_samples(seed: int, count: int) -> npt.NDArray[np.void]:
    """SAMPLE[n] with pieces anywhere, and their material as the score; packed by hand."""
    rng = random.Random(seed)
    samples = np.zeros(count, SAMPLE)
    for sample in samples:
        pieces = [chess.KING, chess.KING + 8]
        for piece in rng.choices(list(VALUES), (50, 15, 15, 15, 5, 0), k=rng.randint(0, 12)):
            pieces.append(piece + rng.choice((0, 8)))
        rng.shuffle(pieces)
        packed = sample["position"]
        packed["occupied"] = np.uint64(sum(1 << square for square in rng.sample(range(64), len(pieces))))
        for index, piece in enumerate(pieces):
            packed["pieces"][index // 2] |= piece << 4 * (index % 2)
        packed["state"] = 64 + rng.choice((0, 128))
        sample["score"] = sum(VALUES[piece & 7] * (-1 if piece & 8 else 1) for piece in pieces)
        sample["result"] = 1
    return readable(samples)  # type: ignore[no-any-return]


def pool_of(training: npt.NDArray[np.void], validation: npt.NDArray[np.void], crc: int = 1) -> Pool:
    facts = Facts(1, 1, len(training), len(validation), 0.1, {}, 400.0, crc, [])
    return Pool(training, validation, facts)


@pytest.fixture(scope="module")
def pool() -> Pool:
    """Positions whose scores are their material."""
    return pool_of(random_samples(41, 10_000), random_samples(42, 600))


def trained(recipe: Recipe, pool: Pool) -> Trainer:
    trainer = Trainer(recipe, pool, first_state(recipe))
    while not trainer.is_finished:
        trainer.superbatch()
    return trainer


def test_hidden_material_is_found(pool: Pool) -> None:
    recipe = replace(RECIPE, superbatches=20, superbatch_size=30_000, rate=0.005)
    trainer = trained(recipe, pool)
    log = trainer.state.log
    untrained = Trainer(recipe, pool, first_state(recipe)).validate()[0]
    assert untrained is not None
    assert log[-1].validation is not None
    assert log[-1].training < 0.02 * untrained
    assert log[-1].validation < 0.05 * untrained
    boards = [chess.Board("4k3/2pppp2/8/8/8/8/2PPPP2/4K3 w - - 0 1") for _ in range(5)]
    for board, (square, piece) in zip(
        boards[1:], ((chess.D4, "N"), (chess.A1, "R"), (chess.D5, "Q"), (chess.B6, "q")), strict=True
    ):
        board.set_piece_at(square, chess.Piece.from_symbol(piece))
    even, knight, rook, queen, lost = Trainer(
        recipe, pool_of(pool.training, samples_of(boards)), trainer.state
    ).validate()[1]
    assert abs(even) < 80
    assert 200 < knight - even < 400
    assert knight + 50 < rook < queen - 100
    assert lost - even < -500


def test_training_twice_gives_the_same(pool: Pool) -> None:
    for threads in (1, 2):
        recipe = replace(RECIPE, threads=threads)
        one, two = (trained(recipe, pool) for _ in range(2))
        assert one.state.parameters.tobytes() == two.state.parameters.tobytes()
        assert [entry.training for entry in one.state.log] == [entry.training for entry in two.state.log]
    other = trained(replace(RECIPE, seed=2), pool)
    assert other.state.parameters.tobytes() != one.state.parameters.tobytes()


@pytest.mark.parametrize("threats", [False, True])
def test_jax_trains_like_the_kernels(pool: Pool, tmp_path: Path, threats: bool) -> None:
    pytest.importorskip("jax", reason="the extra gpu is not installed")
    recipe = replace(RECIPE, hidden=64, threats=threats, result_share=0.3, rate=0.003, clip=0.02, threads=2)
    ours, theirs = trained(recipe, pool), Trainer(replace(recipe, device="jax"), pool, first_state(recipe))
    outputs = (output_of(tmp_path, CHECKPOINT), output_of(tmp_path, LOG))
    for expected in ours.state.log:
        entry = theirs.superbatch()
        assert entry.training == pytest.approx(expected.training, rel=1e-3)
        assert entry.validation == pytest.approx(expected.validation, rel=1e-3)
        save_state(outputs, theirs.recipe, theirs.state)
        theirs = Trainer(theirs.recipe, pool, load_state(tmp_path, theirs.recipe))
    np.testing.assert_allclose(theirs.state.parameters, ours.state.parameters, atol=2e-3)
    assert np.abs(ours.state.parameters - first_state(recipe).parameters).max() > 0.05


def test_a_missing_gpu_is_named(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = replace(RECIPE, device="gpu")
    jax = pytest.importorskip("jax", reason="the extra gpu is not installed")
    monkeypatch.setattr(jax, "devices", lambda kind: (_ for _ in ()).throw(RuntimeError(f"no {kind} backend")))
    with pytest.raises(DeviceError, match="JAX finds no GPU: no gpu backend"):
        Trainer(recipe, pool, first_state(recipe))
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(DeviceError, match=r"needs JAX: run '.* -m pip install \"\.\[gpu\]\"' in the project's folder"):
        Trainer(recipe, pool, first_state(recipe))


def test_a_damaged_checkpoint_is_refused(pool: Pool, tmp_path: Path) -> None:
    trainer = Trainer(RECIPE, pool, first_state(RECIPE))
    save_state((output_of(tmp_path, CHECKPOINT), output_of(tmp_path, LOG)), RECIPE, trainer.state)
    path = tmp_path / CHECKPOINT
    data = path.read_bytes()
    entry = data.index(b"PK\x01\x02")  # the first one in the table of contents
    for damaged in (
        data[: len(data) // 2],
        b"",
        data[:2000] + b"x" * 100 + data[2100:],
        data[: entry + 8] + b"\x01" + data[entry + 9 :],  # "encrypted"
        data[: entry + 10] + b"\x63" + data[entry + 11 :],  # an unknown compression
        data.replace(b"{'descr': '<f4'", b"(((((((((((((((", 1),
    ):
        path.write_bytes(damaged)
        with pytest.raises(TrainingError, match=r"checkpoint\.npz: is damaged: "):
            load_state(tmp_path, RECIPE)


def test_other_data_are_refused(pool: Pool, tmp_path: Path) -> None:
    trainer = Trainer(RECIPE, pool, first_state(RECIPE))
    save_state((output_of(tmp_path, CHECKPOINT), output_of(tmp_path, LOG)), RECIPE, trainer.state)
    with pytest.raises(TrainingError, match="the data differ from those that the run began with"):
        Trainer(RECIPE, pool_of(pool.training, pool.validation, crc=2), load_state(tmp_path, RECIPE))


def test_the_rate_rises_and_falls(pool: Pool) -> None:
    trainer = Trainer(replace(RECIPE, superbatches=10, warm_up=20), pool, first_state(RECIPE))
    steps = 10 * trainer.steps
    rates = [trainer.rate(step) for step in range(steps)]
    top = int(np.argmax(rates))
    assert top == min(20, steps // 10)
    assert rates[top] == pytest.approx(1e-3, rel=1e-2)
    assert rates[-1] == pytest.approx(2e-6)
    assert all(np.diff(rates[: top + 1]) > 0)
    assert all(np.diff(rates[top:]) < 0)


def test_no_validation_is_no_error(pool: Pool) -> None:
    trainer = Trainer(RECIPE, pool_of(pool.training, pool.training[:0]), first_state(RECIPE))
    assert trainer.superbatch().validation is None
    network = quantised(trainer.layers, {})
    assert measure(network, pool.training[:0], trainer.validate()[1])["positions"] == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"hidden": 48}, "hidden must be a multiple of 32 up to 1024 (got 48)"),
        ({"buckets": 4}, "buckets must be 1 or 8 (got 4)"),
        ({"batch_size": 100}, "batch-size must be a positive multiple of 128 (got 100)"),
        ({"threads": 3}, "batch-size must be a positive multiple of 384 with 3 threads (got 256)"),
        ({"result_share": 1.5}, "result-share must be 0 to 1 (got 1.5)"),
        ({"rate": math.nan}, "rate must be greater than 0 (got nan)"),
        ({"start_share": 1.0, "start": "a"}, "start-share must be at least 0 and less than 1 (got 1)"),
        ({"start_share": 0.5}, "start-share needs a start network, and no policy"),
        ({"device": "tpu"}, "device must be cpu, gpu or jax (got 'tpu')"),
        ({"seed": -1}, "seed must be 0 or more (got -1)"),
    ],
)
def test_recipes_that_make_no_sense_are_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(TrainingError) as caught:
        replace(RECIPE, **change)
    assert str(caught.value) == words
