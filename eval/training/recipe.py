"""How the classical evaluation is tuned: apart from the tuner, whose kernels take a compiler."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Recipe:
    """How to tune.

    `result_share` of the target is the game's result, the rest the search's score. `prior` is the spread in
    centipawns (or units of danger) that weights are believed to have around their old values, `rate` the first
    step's length in the same units, `batch` positions a step. Of all games, `validation` is kept for checking.
    """

    result_share: float = 0.05
    prior: float = 30.0
    rate: float = 1.0
    epochs: int = 10
    batch: int = 16_384
    validation: float = 0.1
    seed: int = 1
