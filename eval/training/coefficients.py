"""The data of the classical evaluation's tuner: how often each weight counts in each position, stored sparsely.

The counts come from tracing the evaluation itself (`eval.classical.evaluation_terms`). For weights in centipawns only
White's count less Black's matters. Danger is stored for each colour separately, because its price is not linear; an
attack that is too small to have a price has no entries.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from engine.compiler.jit import kernel
from eval.classical import PHASE, SCALE, SUMMARY, evaluation_terms
from eval.training.samples import Batch
from eval.weights import ATTACK_BASE, COUNT, DANGER, GROUPS
from eval.workspace import new_workspace

#: The most entries that one position can need: every weight in three columns.
_MOST_ENTRIES: Final = 3 * COUNT
#: Positions traced at a time.
_CHUNK: Final = 4096
#: Columns of a position: centipawns (White less Black), danger from Black, danger from White.
COLUMNS: Final = 3

#: bool[COUNT]: the weights whose unit is danger.
IS_DANGER: Final = np.zeros(COUNT, np.bool_)
for _group in GROUPS:
    if _group.row == DANGER:
        IS_DANGER[_group.first : _group.first + _group.size] = True


class Coefficients(NamedTuple):
    """The coefficients of n positions, for kernels.

    Column c of position i has `counts[k]` (int16) of weight `weights[k]` (uint16) for k from `starts[3 i + c]` up to
    `starts[3 i + c + 1]` (int64[3 n + 1]). `phases` and `scales` (uint8[n]) are the evaluation's own, `targets`
    (float64[n]) is the expected result for White, 0 to 1.
    """

    starts: npt.NDArray[np.int64]
    weights: npt.NDArray[np.uint16]
    counts: npt.NDArray[np.int16]
    phases: npt.NDArray[np.uint8]
    scales: npt.NDArray[np.uint8]
    targets: npt.NDArray[np.float64]

    @property
    def size(self) -> int:
        """The number of positions."""
        return len(self.phases)


@kernel
def _collect(positions, workspace, trace, summary, is_danger, starts, weights, counts):
    """Traces POSITION[n] and appends the counts that are not zero from entry 0 on.

    Mutates all arguments but `positions` and `is_danger` (bool[COUNT]); `summary` is int64[n][SUMMARY], `starts`
    int64[3 n + 1], the entries uint16[] and int16[].
    """
    entry = 0
    starts[0] = 0
    for index in range(positions.size):
        evaluation_terms(positions[index], workspace, trace, summary[index])
        for weight in range(is_danger.size):
            count = trace[1, weight] - trace[0, weight]
            if count != 0 and not is_danger[weight]:
                weights[entry] = weight
                counts[entry] = count
                entry += 1
        starts[3 * index + 1] = entry
        for color in range(2):
            if trace[color, ATTACK_BASE] != 0:
                for weight in range(is_danger.size):
                    count = trace[color, weight]
                    if count != 0 and is_danger[weight]:
                        weights[entry] = weight
                        counts[entry] = count
                        entry += 1
            starts[3 * index + 2 + color] = entry


def trace_positions(positions: Any) -> tuple[Coefficients, npt.NDArray[np.int64]]:
    """The coefficients of POSITION[n], with targets of 0, and the evaluations' summaries, int64[n][SUMMARY]."""
    workspace, trace = new_workspace(), np.zeros((2, COUNT), np.int32)
    weights, counts = np.zeros(_CHUNK * _MOST_ENTRIES, np.uint16), np.zeros(_CHUNK * _MOST_ENTRIES, np.int16)
    parts, summaries = [], []
    for first in range(0, len(positions), _CHUNK):
        chunk = positions[first : first + _CHUNK]
        summary = np.zeros((len(chunk), SUMMARY), np.int64)
        starts = np.zeros(COLUMNS * len(chunk) + 1, np.int64)
        _collect(chunk, workspace, trace, summary, IS_DANGER, starts, weights, counts)
        size = starts[-1]
        phases, scales = summary[:, PHASE].astype(np.uint8), summary[:, SCALE].astype(np.uint8)
        targets = np.zeros(len(chunk))
        parts.append(Coefficients(starts, weights[:size].copy(), counts[:size].copy(), phases, scales, targets))
        summaries.append(summary)
    return join(parts), np.concatenate([np.zeros((0, SUMMARY), np.int64), *summaries])


def join(parts: Iterable[Coefficients]) -> Coefficients:
    """Several sets of positions as one."""
    parts = list(parts)
    offsets = np.cumsum([0, *(len(part.weights) for part in parts)])
    starts = [part.starts[:-1] + offset for part, offset in zip(parts, offsets, strict=False)]
    return Coefficients(
        np.concatenate([*starts, offsets[-1:]]).astype(np.int64),
        np.concatenate([np.zeros(0, np.uint16), *(part.weights for part in parts)]),
        np.concatenate([np.zeros(0, np.int16), *(part.counts for part in parts)]),
        np.concatenate([np.zeros(0, np.uint8), *(part.phases for part in parts)]),
        np.concatenate([np.zeros(0, np.uint8), *(part.scales for part in parts)]),
        np.concatenate([np.zeros(0), *(part.targets for part in parts)]),
    )


class Labelled(NamedTuple):
    """Positions with labels: their coefficients, White's result, the search's score in centipawns (both float64[n]) and
    the number of the game (int64[n]).
    """

    coefficients: Coefficients
    results: npt.NDArray[np.float64]
    scores: npt.NDArray[np.float64]
    games: npt.NDArray[np.int64]


def _game_numbers(batches: Iterable[Batch]) -> Iterator[tuple[Batch, npt.NDArray[np.int64]]]:
    """Each batch with the numbers of its positions' games: a new one begins where the game's low byte changes."""
    number, last = -1, -1
    for batch in batches:
        games = number + np.cumsum(np.diff(batch.games.astype(np.int64), prepend=last) != 0)
        if len(games):
            number, last = int(games[-1]), int(batch.games[-1])
        yield batch, games


def load(batches: Iterable[Batch], limit: int | None = None) -> Labelled:
    """Traces batches of labelled positions, `limit` positions at most."""
    parts: list[Coefficients] = []
    results, scores, numbers = [np.zeros(0)], [np.zeros(0)], [np.zeros(0, np.int64)]
    found = 0
    for batch, games in _game_numbers(batches):
        size = len(games) if limit is None else min(len(games), limit - found)
        if size == 0:
            break
        parts.append(trace_positions(batch.positions[:size])[0])
        results.append(batch.results[:size].astype(np.float64))
        scores.append(batch.scores[:size].astype(np.float64))
        numbers.append(games[:size])
        found += size
    return Labelled(join(parts), np.concatenate(results), np.concatenate(scores), np.concatenate(numbers))
