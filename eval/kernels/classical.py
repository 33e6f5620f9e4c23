"""The classical evaluation: a sum of weighted terms, tapered between middlegame and endgame.

The terms are in `eval.terms`, the weights in `eval.weights`, and the values of the weights, tuned on the engine's own
games, in `eval.values`. The value of a term is a packed pair of middlegame and endgame centipawns (`eval.terms.weigh`).
"""

from __future__ import annotations

from typing import Final

import numpy as np

from engine.board.bits import popcount
from engine.board.position import BISHOP, KNIGHT, QUEEN, ROOK
from engine.compiler.jit import inlined, kernel, subkernel
from eval.terms.endgames import FULL_SCALE, mop_up, scale_of
from eval.terms.king import danger_of, price_of
from eval.terms.passed import passed_pawns
from eval.terms.pawns import pawn_entry
from eval.terms.pieces import bishops, clear_counts, knights, others, prepare, queens, rooks, useful_squares
from eval.terms.threats import threats
from eval.terms.weigh import unpack_endgame, unpack_middlegame, weigh
from eval.weights import TEMPO

#: The phase of the start position: a minor piece counts 1, a rook 2, a queen 4.
FULL_PHASE: Final = 24

# Indices into the summary that `evaluation_terms` writes. PRICES is the first of four indices, in the order
# [color][middlegame, endgame]: what the colour's attack on the king costs the other side.
MIDDLEGAME, ENDGAME, PHASE, SCALE, PRICES = range(5)
SUMMARY: Final = PRICES + 4


@inlined
def game_phase(position):
    """Returns the game phase as int64, from FULL_PHASE (as in the start position) to 0 (only kings and pawns)."""
    pieces = position.pieces
    minors = popcount(pieces[KNIGHT] | pieces[BISHOP])
    return min(minors + 2 * popcount(pieces[ROOK]) + 4 * popcount(pieces[QUEEN]), FULL_PHASE)


@inlined
def _standing(position, workspace, entry, color, trace):
    """Returns the packed sum of the terms of `eval.terms.pieces` for `color`. Mutates `workspace`."""
    return (
        others(position, color, trace)
        + knights(position, workspace, entry, color, trace)
        + bishops(position, workspace, entry, color, trace)
        + rooks(position, workspace, color, trace)
        + queens(position, workspace, color, trace)
    )


@inlined
def _interplay(position, workspace, entry, color, trace):
    """Returns the packed sum of `color`'s threats, passed pawns and mop-up. Needs the attack maps of both sides."""
    return (
        threats(position, workspace, color, trace)
        + passed_pawns(position, workspace, entry, color, trace)
        + mop_up(position, color, trace)
    )


@subkernel
def packed_sum(position, workspace, trace):
    """Returns the sum of all terms, White's minus Black's, as a packed pair.

    Mutates `workspace` (`workspace.danger` gets the dangers of the king attacks) and `trace`, unless that is None.
    """
    entry = pawn_entry(position, workspace, trace)
    for color in range(2):
        clear_counts(workspace, color)
        prepare(position, workspace, color)
    for color in range(2):
        workspace.useful[color] = useful_squares(position, workspace, color)
    total = entry.score + entry.shelter
    for color in range(2):
        sign = 2 * color - 1
        total += sign * _standing(position, workspace, entry, color, trace)
    for color in range(2):
        sign = 2 * color - 1
        workspace.danger[color] = danger_of(position, workspace, color, trace)
        total += sign * price_of(workspace.danger[color])
        total += sign * _interplay(position, workspace, entry, color, trace)
    return total + (2 * position.turn - 1) * weigh(trace, position.turn, TEMPO, 1)


@inlined
def tapered(middlegame, endgame, phase, scale):
    """Blends `middlegame` with `endgame * scale / FULL_SCALE` by `phase`; returns int64 centipawns.

    A scale of 0 means a draw, so the result is then 0 in any phase.
    """
    if scale == 0:
        return 0
    blend = middlegame * phase * FULL_SCALE + endgame * scale * (FULL_PHASE - phase)
    # Floor division would favour Black; truncation treats both sides alike.
    return blend // (FULL_PHASE * FULL_SCALE) if blend >= 0 else -(-blend // (FULL_PHASE * FULL_SCALE))


@inlined
def _scale(position, middlegame, endgame):
    """Returns `scale_of`, int64, for the side that leads by `endgame` (White's minus Black's), else by `middlegame`."""
    return scale_of(position, np.int64(1 if (endgame if endgame != 0 else middlegame) > 0 else 0))


@subkernel
def evaluate(position, workspace):
    """Returns the classical evaluation in int64 centipawns from the side to move's view. Mutates `workspace`."""
    packed = packed_sum(position, workspace, None)
    middlegame, endgame = unpack_middlegame(packed), unpack_endgame(packed)
    white = tapered(middlegame, endgame, game_phase(position), _scale(position, middlegame, endgame))
    return white * (2 * position.turn - 1)


@kernel
def evaluation_terms(position, workspace, trace, summary):
    """Returns the same value as `evaluate`, and records its parts.

    Mutates `workspace` (a WORKSPACE record), `trace` (int32[2][COUNT]: the count of each weight for each colour)
    and `summary` (int64[SUMMARY]).
    """
    trace[:] = 0
    packed = packed_sum(position, workspace, trace)
    summary[MIDDLEGAME] = unpack_middlegame(packed)
    summary[ENDGAME] = unpack_endgame(packed)
    summary[PHASE] = game_phase(position)
    summary[SCALE] = _scale(position, summary[MIDDLEGAME], summary[ENDGAME])
    for color in range(2):
        price = price_of(workspace.danger[color])
        summary[PRICES + 2 * color] = unpack_middlegame(price)
        summary[PRICES + 2 * color + 1] = unpack_endgame(price)
    white = tapered(summary[MIDDLEGAME], summary[ENDGAME], summary[PHASE], summary[SCALE])
    return white * (2 * position.turn - 1)
