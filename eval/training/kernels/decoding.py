"""The kernel that turns games into training positions."""

from __future__ import annotations

import numpy as np

from engine.board.bits import U0, copy_record
from engine.board.make import apply_move
from engine.board.moves import is_capture, is_promotion
from engine.compiler.jit import inlined, kernel
from eval.training.kernels.records import pack, unpack


@inlined
def _is_wanted(position, move, score, ply, wanted):
    """Returns whether a position passes the filter `wanted`, int64[4] from `Filter.as_array`."""
    if ply < wanted[0] or abs(score) >= wanted[1] or position.halfmoves >= wanted[3]:
        return False
    return wanted[2] == 0 or (position.checkers == U0 and not is_capture(move) and not is_promotion(move))


@kernel
def decode_samples(games, plies, first, wanted, line, samples):
    """Packs the wanted positions of GAME[n] into `samples` (SAMPLE, mutated); returns their number, int64.

    `plies` is PLY[m], `first` (int64[n]) gives the index in `plies` of each game's first ply, `wanted` is int64[4] from
    `Filter.as_array`, and `line` is POSITION[2] scratch (mutated). `samples` must have room for all games' positions.
    """
    count = np.int64(0)
    for index in range(games.size):
        game = games[index]
        unpack(game.start, line[0])
        for number in range(np.int64(game.plies)):
            record = plies[first[index] + number]
            move = np.int64(record.move)
            score = np.int64(record.score)
            ply = np.int64(game.opening) + number
            if _is_wanted(line[0], move, score, ply, wanted):
                sample = samples[count]
                pack(line[0], sample.position)
                sample.score = score
                sample.result = game.result
                sample.game = index & 0xFF
                sample.move = record.move
                count += 1
            apply_move(line[0], line[1], move)
            copy_record(line[0], line[1])
    return count
