"""The kernel that turns games into training positions."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from engine.board.bits import U0, copy_record
from engine.board.make import apply_move
from engine.board.moves import is_capture, is_promotion
from engine.compiler.jit import inlined, kernel, subkernel
from eval.training.kernels.records import LENGTH, TREE, pack, unpack

#: The scale in centipawns of the expected results that labels average. It affects only how large and small scores mix.
LABEL_SCALE: Final = 200.0

#: Expected results of labels keep this distance from 0 and 1, so that no label exceeds 2800 centipawns.
_LEAST: Final = 1e-6


@inlined
def _is_wanted(position, move, score, ply, wanted):
    """Returns whether a position passes the filter `wanted`, int64[5] from `Filter.as_array`."""
    if ply < wanted[0] or abs(score) >= wanted[1] or position.halfmoves >= wanted[3]:
        return False
    return wanted[2] == 0 or (position.checkers == U0 and not is_capture(move) and not is_promotion(move))


@inlined
def _expected(score):
    """Returns White's expected result at `score` centipawns, 0 to 1, float64."""
    return 1.0 / (1.0 + math.exp(-np.float64(score) / LABEL_SCALE))


@subkernel
def _label(game, plies, first, lookahead, labels):
    """Writes the labels of a game's plies, from index `first` on: see `Filter.lookahead`. Mutates `labels`."""
    last = first + np.int64(game.plies) - 1
    share = 0.01 * np.float64(lookahead)
    label = 0.5 * np.float64(game.result)
    if np.int64(game.ending) == LENGTH or np.int64(game.ending) == TREE:
        label = _expected(plies[last].score)
    for index in range(last, first - 1, -1):
        label = (1.0 - share) * _expected(plies[index].score) + share * label
        bounded = min(max(label, _LEAST), 1.0 - _LEAST)
        labels[index] = np.int64(round(LABEL_SCALE * math.log(bounded / (1.0 - bounded))))


@kernel
def decode_samples(games, plies, first, wanted, line, labels, samples):
    """Packs the wanted positions of GAME[n] into `samples` (SAMPLE, mutated); returns their number, int64.

    `plies` is PLY[m], `first` (int64[n]) gives the index in `plies` of each game's first ply, `wanted` is int64[5] from
    `Filter.as_array`. The kernel uses `line`, POSITION[2], and `labels`, int16[m], as scratch (both mutated). `samples`
    must have room for all games' positions.
    """
    count = np.int64(0)
    for index in range(games.size):
        game = games[index]
        if wanted[4] > 0:
            _label(game, plies, first[index], wanted[4], labels)
        unpack(game.start, line[0])
        for number in range(np.int64(game.plies)):
            record = plies[first[index] + number]
            move = np.int64(record.move)
            score = np.int64(record.score)
            ply = np.int64(game.opening) + number
            if _is_wanted(line[0], move, score, ply, wanted):
                sample = samples[count]
                pack(line[0], sample.position)
                sample.score = score if wanted[4] == 0 else np.int64(labels[first[index] + number])
                sample.result = game.result
                sample.game = index & 0xFF
                sample.move = record.move
                count += 1
            apply_move(line[0], line[1], move)
            copy_record(line[0], line[1])
    return count
