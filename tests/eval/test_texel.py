"""The tuner: it works on the evaluation's own numbers, its gradient is right, and it finds what was hidden."""

from __future__ import annotations

from pathlib import Path

import chess
import numpy as np
import numpy.typing as npt
import pytest
from eval.training.coefficients import IS_DANGER, Labelled, join, load, trace_positions
from eval.training.recipe import Recipe
from eval.training.values_file import VALUES_FILE, values_source, write_values

from engine.board.convert import write_board
from engine.board.position import POSITION
from engine.memory import allocate
from eval.kernels.classical import ENDGAME, MIDDLEGAME, PHASE, SCALE, tapered
from eval.training.commands import texel as command
from eval.training.samples import Batch
from eval.training.texel import (
    Weights,
    expected_results,
    fit_slope,
    loss_and_gradient,
    split_games,
    tune,
    values,
)
from eval.weights import BISHOP_PAIR, COUNT, GROUPS, KNIGHT_MOBILITY, MATERIAL, MOP_UP_EDGE, WEIGHTS
from tests.eval.eval_positions import played, varied

PRIOR = WEIGHTS.astype(np.float64)


def positions_of(boards: list[chess.Board]) -> npt.NDArray[np.void]:
    positions = allocate(POSITION, len(boards))
    for board, position in zip(boards, positions, strict=True):
        write_board(board, position)
    return positions  # type: ignore[no-any-return]


def values_of(labelled: Labelled, weights: Weights) -> npt.NDArray[np.float64]:
    out = np.zeros(labelled.coefficients.size)
    values(labelled.coefficients, weights, out)
    return out


@pytest.fixture(scope="module")
def labelled() -> Labelled:
    """Positions of random games, ten to a game, with results and scores of 0."""
    boards = played(seed=21, games=120, plies=120)[::3]
    size = len(boards)
    games = np.arange(size) // 10
    return Labelled(trace_positions(positions_of(boards))[0], np.zeros(size), np.zeros(size), games)


def test_values_are_the_evaluation_s_but_for_rounding() -> None:
    coefficients, summaries = trace_positions(positions_of(varied(seed=22, count=300)))
    out = np.zeros(coefficients.size)
    values(coefficients, PRIOR, out)
    exact = [tapered(summary[MIDDLEGAME], summary[ENDGAME], summary[PHASE], summary[SCALE]) for summary in summaries]
    assert np.abs(out - exact).max() < 4.0
    assert np.abs(np.array(exact)).max() > 300


def test_the_gradient_is_that_of_the_loss(labelled: Labelled) -> None:
    rng = np.random.default_rng(3)
    data = labelled.coefficients._replace(targets=rng.random(labelled.coefficients.size))
    weights = PRIOR + rng.normal(0.0, 5.0, PRIOR.shape)
    chosen = np.arange(data.size)
    gradient = np.zeros_like(weights)
    loss_and_gradient(data, weights, chosen, 180.0, gradient)

    strongest = np.argsort(-np.abs(gradient).max(axis=1))[:40]
    dangers = [index for index in np.flatnonzero(IS_DANGER) if np.abs(gradient[index]).max() > 0.0]
    assert len(dangers) > 10
    for index in {*strongest, *dangers}:
        for phase in range(2):
            step = 1e-3
            nearby = [weights.copy(), weights.copy()]
            nearby[0][index, phase] -= step
            nearby[1][index, phase] += step
            less, more = (loss_and_gradient(data, one, chosen, 180.0, np.zeros_like(weights)) for one in nearby)
            assert gradient[index, phase] == pytest.approx((more - less) / (2.0 * step), rel=1e-3, abs=1e-10)


def test_hidden_weights_are_found_again(labelled: Labelled) -> None:
    hidden = PRIOR.copy()
    hidden[MATERIAL + 1] += (40, -50)
    hidden[MATERIAL + 3] += (-30, 60)
    hidden[BISHOP_PAIR] += (35, -25)
    hidden[KNIGHT_MOBILITY : KNIGHT_MOBILITY + 9] += np.linspace(-30.0, 30.0, 9)[:, None]
    hidden[IS_DANGER] *= 1.3
    labelled = labelled._replace(results=expected_results(values_of(labelled, hidden), 180.0))
    recipe = Recipe(result_share=1.0, prior=1e6, rate=3.0, epochs=150, batch=256)
    before = np.abs(values_of(labelled, PRIOR) - values_of(labelled, hidden)).mean()
    # The slope is fitted with weights that are wrong, which only changes the unit.
    outcome = tune(labelled, PRIOR, recipe)
    found = values_of(labelled, outcome.weights) * 180.0 / outcome.slope
    assert np.abs(found - values_of(labelled, hidden)).mean() < 0.2 * before
    assert outcome.validation[-1] < 0.2 * outcome.validation[0]
    moved = outcome.weights[MATERIAL + 1] - outcome.weights[MATERIAL + 3] - PRIOR[MATERIAL + 1] + PRIOR[MATERIAL + 3]
    assert moved[0] > 30
    assert moved[1] < -40


def test_a_narrow_prior_holds_the_weights(labelled: Labelled) -> None:
    rng = np.random.default_rng(4)
    labelled = labelled._replace(results=rng.integers(0, 3, labelled.coefficients.size) / 2.0)

    def moved(prior: float) -> float:
        outcome = tune(labelled, PRIOR, Recipe(result_share=1.0, prior=prior, epochs=10, batch=512))
        return float(np.abs(outcome.weights - PRIOR).mean())

    assert moved(0.1) < 0.2 < moved(100.0)


def test_weights_that_games_cannot_teach_stay(labelled: Labelled) -> None:
    labelled = labelled._replace(results=np.ones(labelled.coefficients.size))
    outcome = tune(labelled, PRIOR, Recipe(epochs=3))
    assert (outcome.weights[MOP_UP_EDGE : MOP_UP_EDGE + 4] == PRIOR[MOP_UP_EDGE : MOP_UP_EDGE + 4]).all()
    assert (outcome.weights != PRIOR).any()


def test_tuning_twice_gives_the_same(labelled: Labelled) -> None:
    rng = np.random.default_rng(5)
    labelled = labelled._replace(results=rng.random(labelled.coefficients.size))
    one, two = (tune(labelled, PRIOR, Recipe(epochs=2)) for _ in range(2))
    other = tune(labelled, PRIOR, Recipe(epochs=2, seed=2))
    assert (one.weights == two.weights).all()
    assert (one.weights != other.weights).any()


@pytest.mark.parametrize("slope", [60.0, 180.0, 700.0])
def test_slopes_are_found(slope: float) -> None:
    centipawns = np.random.default_rng(6).normal(0.0, 300.0, 5000)
    assert fit_slope(centipawns, expected_results(centipawns, slope)) == pytest.approx(slope, rel=1e-3)


def test_games_are_not_torn_apart() -> None:
    games = np.repeat(np.arange(1000), 7)
    held_out = split_games(games, 0.1, seed=1).reshape(1000, 7)
    assert (held_out.all(axis=1) | ~held_out.any(axis=1)).all()
    assert 50 < held_out[:, 0].sum() < 150
    assert (split_games(games, 0.1, seed=1) != split_games(games, 0.1, seed=2)).any()


def test_loading_numbers_games_and_keeps_labels() -> None:
    boards = played(seed=23, games=1, plies=9)
    # A game may go on at a later ply than the one before it ended, and its number is known by the low byte alone.
    plies = np.array([4, 5, 8, 9, 16, 6, 7, 8, 9], np.uint16)
    games = np.array([254, 254, 254, 255, 255, 0, 0, 0, 0], np.uint8)
    results = np.linspace(0.0, 1.0, len(boards), dtype=np.float32)
    whole = Batch(positions_of(boards), np.arange(len(boards), dtype=np.int16), results, plies, games)
    halves = [Batch(*(part[:5] for part in whole)), Batch(*(part[5:] for part in whole))]
    once, twice = load([whole]), load(halves)
    assert once.games.tolist() == twice.games.tolist() == [0, 0, 0, 1, 1, 2, 2, 2, 2]
    assert once.scores.tolist() == list(range(9))
    assert once.results == pytest.approx(results)
    for one, two in zip(once.coefficients, twice.coefficients, strict=True):
        assert (one == two).all()
    assert load([whole], limit=4).coefficients.size == 4
    assert join([]).size == 0


def test_values_take_the_place_of_values_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "values.py"
    for _ in range(2):
        write_values(path, WEIGHTS)
        assert path.read_text(encoding="utf-8") == values_source(WEIGHTS)
    kept = values_source(WEIGHTS) + "# my remarks\n"
    path.write_text(kept, encoding="utf-8")
    assert command.main([str(tmp_path), "--output", str(path)]) == 1
    assert capsys.readouterr().err == (
        f"secateur texel: {path} is there already: --overwrite replaces it when the weights are tuned\n"
    )
    assert path.read_text(encoding="utf-8") == kept
    assert command.main([str(tmp_path / "none"), "--output", str(path), "--overwrite"]) == 1
    assert "there is no such file or folder" in capsys.readouterr().err
    path.write_text("print('my program')\n", encoding="utf-8")
    with pytest.raises(FileExistsError, match="is no file of the evaluation's values"):
        write_values(path, WEIGHTS)
    assert command.main([str(tmp_path), "--output", str(path)]) == 1
    assert f"texel: {path}: is there already and is no file of the evaluation's values" in capsys.readouterr().err
    assert path.read_text(encoding="utf-8") == "print('my program')\n"


def test_what_somebody_puts_in_the_place_of_the_values_stays(
    labelled: Labelled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path, mine, beside = (tmp_path / name for name in ("values.py", "mine", "values-2.py"))
    write_values(path, WEIGHTS)
    kept = values_source(WEIGHTS) + "# my remarks\n"
    mine.write_text(kept, encoding="utf-8")

    def read(*arguments: object) -> Labelled:
        mine.replace(path)
        return labelled

    monkeypatch.setattr("eval.training.coefficients.load", read)
    given = [str(tmp_path), "--output", str(path), "--overwrite", "--epochs", "1", "--quiet"]
    assert command.main(given) == 1
    told = f"{path}: another file took its place; it is left as it is; its new contents are in {beside}"
    assert capsys.readouterr().err == f"secateur texel: {told}\n"
    assert path.read_text(encoding="utf-8") == kept
    assert beside.read_text(encoding="utf-8").startswith(values_source(WEIGHTS)[:60])


def test_the_values_file_is_what_the_tuner_writes(tmp_path: Path) -> None:
    assert VALUES_FILE.read_text(encoding="utf-8") == values_source(WEIGHTS)
    changed = WEIGHTS + np.arange(2 * COUNT).reshape(COUNT, 2)
    names: dict[str, dict[str, tuple[str, str]]] = {}
    exec(values_source(changed), names)
    for group in GROUPS:
        part = changed[group.first : group.first + group.size]
        for phase, text in enumerate(names["VALUES"][group.name]):
            numbers = [int(number) for number in text.split()]
            if group.size == 64:
                numbers = [number for row in range(7, -1, -1) for number in numbers[8 * row : 8 * row + 8]]
            assert numbers == part[:, phase].tolist()


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ("{tmp} --result-share 2", 2, "--result-share lies between 0 and 1, not at 2"),
        ("{tmp} --epochs 0", 2, "--epochs is more than 0, not 0"),
        ("{tmp} --output {tmp}/none/values.py", 1, "there is no such folder"),
        ("{tmp}/none", 1, "none"),
    ],
)
def test_mistakes_are_told_in_one_line(
    arguments: str, status: int, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(arguments.format(tmp=tmp_path).split()) == status
    text = capsys.readouterr().err
    assert message in text
    assert text.count("\n") == 1
    assert text.startswith("secateur texel: ")
