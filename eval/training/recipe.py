"""The settings for tuning the classical evaluation, kept apart from the tuner, whose kernels need a compiler."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Recipe:
    """How to tune.

    `result_share` of the target is the game's result, the rest the search's score. `prior` is the assumed spread of
    weights around their old values, in centipawns (or units of danger), `rate` the first step's length in the same
    units, `batch` the positions a step. `validation` is the share of all games held out for validation.
    """

    result_share: float = 0.05
    prior: float = 30.0
    rate: float = 1.0
    epochs: int = 10
    batch: int = 16_384
    validation: float = 0.1
    seed: int = 1
