"""The trainer's passes: features, outputs, and the gradient against finite differences; and the optimiser."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import chess
import numpy as np
import numpy.typing as npt
import pytest

from engine.board.position import POSITION
from engine.compiler.jit import kernel, subkernel
from engine.memory import allocate, readable
from eval.network.reference import active_rows
from eval.training.kernels.blocks import (
    _activate_twin,
    _descend_twin,
    _gather_twin,
    _scatter_twin,
    activate,
    descend,
    gather,
    scatter,
)
from eval.training.kernels.gradients import (
    CHUNK,
    MOST_ROWS,
    Blend,
    Layers,
    add_gradients,
    count_invalid,
    layers_of,
    new_scratch,
    new_vector,
    outputs,
    parameter_count,
    row_count,
    sample_features,
)
from eval.training.kernels.optimizer import MOST_WEIGHT, adamw_step, make_step, reduce_gradients
from eval.training.kernels.records import SAMPLE
from tests.board.board_positions import RARE_POSITIONS
from tests.eval.eval_positions import varied
from tests.training.float_network import exact, loss_of, samples_of

BLEND = Blend(0.4, 250.0)
HIDDEN = 64


def boards_for(count: int) -> list[chess.Board]:
    boards = varied(seed=31, count=count // 2)
    random.Random(31).shuffle(boards)
    assert len(boards) >= count
    return boards[:count]


@pytest.fixture(scope="module")
def boards() -> list[chess.Board]:
    """One run of positions, both sides to move, kings on both wings, from 2 to 32 pieces."""
    return boards_for(CHUNK)


@pytest.fixture(scope="module")
def samples(boards: list[chess.Board]) -> npt.NDArray[np.void]:
    rng = np.random.default_rng(32)
    return samples_of(boards, rng.integers(-900, 900, CHUNK).tolist(), rng.integers(0, 3, CHUNK).tolist())


def random_layers(buckets: int, seed: int, threats: bool = False) -> tuple[npt.NDArray[np.float32], Layers]:
    """A network whose units are clipped now below and now above."""
    vector = new_vector(parameter_count(HIDDEN, buckets, threats))
    layers = layers_of(vector, HIDDEN, buckets, threats)
    rng = np.random.default_rng(seed)
    layers.features[:] = rng.normal(0.0, 0.15, layers.features.shape)
    layers.bias[:] = rng.normal(0.3, 0.3, HIDDEN)
    layers.output[:] = rng.normal(0.0, 0.3, layers.output.shape)
    layers.output_bias[:] = rng.normal(0.0, 0.3, buckets)
    return vector, layers


def gradient_of(layers: Layers, samples: npt.NDArray[np.void], blend: Blend = BLEND) -> tuple[float, Layers]:
    shape = HIDDEN, len(layers.output_bias), layers.features.shape[1] > 768
    gradient = layers_of(new_vector(parameter_count(*shape)), *shape)
    chunks = np.arange(len(samples) // CHUNK)
    return add_gradients(layers, samples, chunks, blend, new_scratch(HIDDEN, shape[2]), gradient), gradient


@subkernel
def run_blocks(sums, rows, weights, views, which):  # type: ignore[no-untyped-def]
    if which == 0:
        scatter(sums, 64, views, 3, 7, rows, 5)
    elif which == 1:
        gather(rows, 5, sums, 64, views, 3, 7)
    elif which == 2:
        return activate(sums, 64, rows, 5, weights, 37)
    else:
        descend(sums, 64, np.float32(0.3), weights, sums, 128, rows, 5)
    return np.float32(0)


@pytest.mark.parametrize(
    ("which", "twin"), list(enumerate((_scatter_twin, _gather_twin, _activate_twin, _descend_twin)))
)
def test_operations_on_blocks_do_what_their_twins_do(which: int, twin: Callable[..., Any]) -> None:
    rng = np.random.default_rng(37)
    found = [rng.normal(0.5, 0.6, 1024).astype(np.float32) for _ in range(3)]
    wanted = [array.copy() for array in found]
    views = rng.permutation(16).astype(np.int16)
    result = run_blocks(*found, views, which)
    sums, rows, weights = wanted
    expected = (
        lambda: twin(sums, 64, views, 3, 7, rows, 5),
        lambda: twin(rows, 5, sums, 64, views, 3, 7),
        lambda: twin(sums, 64, rows, 5, weights, 37),
        lambda: twin(sums, 64, np.float32(0.3), weights, sums, 128, rows, 5),
    )[which]()
    for one, other in zip(found, wanted, strict=True):
        assert one == pytest.approx(other, rel=1e-5, abs=1e-6)
    assert which != 2 or result == pytest.approx(expected, rel=1e-5)


@kernel
def features_of(sample, has_threats, board, rows):  # type: ignore[no-untyped-def]
    return sample_features(sample.position, has_threats, board, rows)


@pytest.mark.parametrize("threats", [False, True])
def test_features_are_those_of_python_chess(threats: bool) -> None:
    boards = boards_for(CHUNK) + [chess.Board(fen, chess960=is_960) for fen, is_960 in RARE_POSITIONS]
    rows, scratch = np.zeros((2, MOST_ROWS), np.int64), allocate(POSITION, 1)[0]
    for board, sample in zip(boards, samples_of(boards), strict=True):
        pieces, count = features_of(sample, threats, scratch, rows)
        assert pieces == len(board.piece_map())
        seen = [sorted(row[:count].tolist()) for row in rows]
        assert seen == [sorted(active_rows(board, side, threats)) for side in (board.turn, not board.turn)]
    assert {chess.square_file(board.king(chess.WHITE) or 0) for board in boards} == set(range(8))


@pytest.mark.parametrize(("buckets", "threats"), [(1, False), (8, False), (8, True)])
def test_outputs_and_losses_are_those_of_float64(
    boards: list[chess.Board], samples: npt.NDArray[np.void], buckets: int, threats: bool
) -> None:
    _, layers = random_layers(buckets, 33, threats)
    loss, expected = loss_of(exact(layers), boards, samples, BLEND)
    out = np.zeros(len(samples), np.float32)
    assert outputs(layers, samples, BLEND, new_scratch(HIDDEN, threats), out) == pytest.approx(loss, rel=1e-5)
    assert out == pytest.approx(expected, rel=1e-4, abs=1e-5)
    assert np.abs(expected).max() > 1.0
    assert gradient_of(layers, samples)[0] == pytest.approx(loss, rel=1e-5)


@pytest.mark.parametrize(("buckets", "threats"), [(1, False), (8, False), (8, True)])
def test_the_gradient_is_that_of_finite_differences(
    boards: list[chess.Board], samples: npt.NDArray[np.void], buckets: int, threats: bool
) -> None:
    vector, layers = random_layers(buckets, 36, threats)
    gradient, parameters = exact(gradient_of(layers, samples)[1]), exact(layers)
    rng = np.random.default_rng(35)
    chosen: list[tuple[str, tuple[int, ...]]] = []
    for name, size in (("features", 12), ("bias", 4), ("output", 12), ("output_bias", 2)):
        slopes = np.abs(getattr(gradient, name)).ravel()
        # The steepest ones, and some of all.
        indices = {*np.argsort(-slopes)[: size // 2 + 1].tolist(), *rng.integers(slopes.size, size=size).tolist()}
        chosen += [(name, np.unravel_index(i, getattr(gradient, name).shape)) for i in indices]
    checked = 0
    for name, place in chosen:
        array, step, losses = getattr(parameters, name), 1e-5, []
        before = array[place]
        for side in (-1, 1):
            array[place] = before + side * step
            losses.append(loss_of(parameters, boards, samples, BLEND)[0])
        array[place] = before
        slope = (losses[1] - losses[0]) / (2.0 * step)
        assert getattr(gradient, name)[place] == pytest.approx(slope, rel=2e-3, abs=2e-5), (name, place)
        checked += abs(slope) > 1e-2
    assert checked > 10
    assert not vector[HIDDEN * (len(exact(layers).features) + 1) + buckets * (2 * HIDDEN + 1) :].any()


def one_step() -> list[float]:
    """Loss, norm of the gradient and sum of the parameters of one step of training."""
    samples = samples_of(boards_for(CHUNK), list(range(-640, 640, 10)))
    vector, layers = random_layers(8, seed=40)
    gradients = new_vector(len(vector)).reshape(1, -1)
    gradient = layers_of(gradients[0], HIDDEN, 8)
    loss = add_gradients(layers, samples, np.array([0]), BLEND, new_scratch(HIDDEN), gradient)
    norm = reduce_gradients(gradients, np.float32(1 / CHUNK)) ** 0.5
    momentum, squares = new_vector(len(vector)), new_vector(len(vector))
    adamw_step(vector, momentum, squares, gradients[0], make_step(1, 0.01, 0.01, norm, 1.0))
    return [loss, norm, float(np.abs(vector).sum(dtype=np.float64))]


def test_interpreted_kernels_do_the_same(run_python: Callable[..., str]) -> None:
    script = "import json; from tests.training.test_gradients import one_step; print(json.dumps(one_step()))"
    assert json.loads(run_python(script, NUMBA_DISABLE_JIT="1")) == pytest.approx(one_step(), rel=1e-4)


def test_runs_are_those_that_were_asked_for(samples: npt.NDArray[np.void]) -> None:
    _, layers = random_layers(1, seed=37)
    twice = np.concatenate([samples, samples[::-1].copy()])
    gradient = layers_of(new_vector(parameter_count(HIDDEN, 1)), HIDDEN, 1)
    second = add_gradients(layers, twice, np.array([1]), BLEND, new_scratch(HIDDEN), gradient)
    both = add_gradients(layers, twice, np.array([1, 0, 1]), BLEND, new_scratch(HIDDEN), gradient)
    assert second == pytest.approx(gradient_of(layers, samples)[0])
    assert both == pytest.approx(3 * second)
    assert gradient.bias == pytest.approx(4 * gradient_of(layers, samples)[1].bias, rel=1e-3, abs=1e-4)


def test_what_is_no_chess_is_counted() -> None:
    samples = samples_of(boards_for(4))
    assert count_invalid(samples) == 0
    broken = samples.copy()
    broken[1]["position"]["occupied"] = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
    broken[3]["position"]["pieces"][0] = 0
    assert count_invalid(broken) == 2


def test_damaged_positions_are_safe() -> None:
    samples = readable(np.frombuffer(np.random.default_rng(41).bytes(32 * 2000), SAMPLE).copy())
    samples["position"]["pieces"][:500] = 0
    samples["position"]["occupied"][:2] = 0, 1
    rows, scratch = np.zeros((2, MOST_ROWS), np.int64), allocate(POSITION, 1)[0]
    for sample in samples:
        pieces, count = features_of(sample, True, scratch, rows)
        assert 2 <= pieces <= 32
        assert pieces <= count <= MOST_ROWS
        assert 0 <= rows.min() <= rows.max() < row_count(True)
    _, layers = random_layers(8, seed=42, threats=True)
    out = np.zeros(len(samples), np.float32)
    outputs(layers, samples, BLEND, new_scratch(HIDDEN, True), out)
    assert np.isfinite(out).all()


# --------------------------------------------------------------------------------------------------------------
# The optimiser
# --------------------------------------------------------------------------------------------------------------


def test_gradients_of_threads_become_one_mean() -> None:
    rng = np.random.default_rng(38)
    parts = rng.normal(size=(3, 1000)).astype(np.float32)
    expected = parts.astype(np.float64).sum(axis=0) / 50.0
    norm = reduce_gradients(parts, np.float32(1 / 50.0))
    assert parts[0] == pytest.approx(expected, rel=1e-4, abs=1e-6)
    assert not parts[1:].any()
    assert norm == pytest.approx(float((expected**2).sum()), rel=1e-4)


def test_steps_are_those_of_adamw() -> None:
    rng = np.random.default_rng(39)
    parameters = rng.normal(0.0, 0.5, 500)
    found, momentum, squares = (new_vector(500) for _ in range(3))
    found[:] = parameters
    mean = square = np.zeros(500)
    for number in range(1, 40):
        gradient = rng.normal(0.0, 0.1, 500)
        norm = float(np.sqrt((gradient**2).sum()))
        clipped = gradient * min(1.0, 2.0 / norm)
        rate = 0.01 / number
        mean, square = 0.9 * mean + 0.1 * clipped, 0.999 * square + 0.001 * clipped**2
        parameters *= 1.0 - rate * 0.1
        parameters -= rate * (mean / (1 - 0.9**number)) / (np.sqrt(square / (1 - 0.999**number)) + 1e-8)
        single = gradient.astype(np.float32)
        adamw_step(found, momentum, squares, single, make_step(number, rate, 0.1, norm, 2.0))
        assert not single.any()
    assert found == pytest.approx(parameters, abs=2e-5)
    assert np.linalg.norm(gradient) > 2.0


def test_weights_stay_within_their_bounds() -> None:
    found = np.array([1.979, -1.979, 0.0], np.float32)
    momentum, squares, gradient = np.zeros(3, np.float32), np.zeros(3, np.float32), np.array([-1, 1, 0], np.float32)
    adamw_step(found, momentum, squares, gradient, make_step(1, 0.1, 0.0, 1.0, 10.0))
    assert found.tolist() == [float(MOST_WEIGHT), -float(MOST_WEIGHT), 0.0]
