"""Packed pairs of values. `weigh` multiplies a weight by its count, and can record the count in a trace.

Every kernel that adds up weights takes a `trace` as its last argument. The search passes None, and Numba removes the
recording. The breakdown passes int32[2][COUNT], indexed [color][weight], and `weigh` adds the counts to it. Both run
the same code, so the breakdown agrees with the evaluation.
"""

from __future__ import annotations

from engine.compiler.jit import inlined
from eval.weights import PACKED

# Added before the halves are separated, because a negative lower half borrows 1 from the upper half.
_HALF = 1 << 31


@inlined
def weigh(trace, color, weight, count):
    """Returns `count` times the packed weight with index `weight`, int64. Adds `count` to `trace` unless it is None."""
    if trace is not None:
        trace[color, weight] += count
    return PACKED[weight] * count


@inlined
def unpack_middlegame(packed):
    """Returns the upper half of a packed pair, as int64."""
    return (packed + _HALF) >> 32


@inlined
def unpack_endgame(packed):
    """Returns the lower half of a packed pair, with its sign, as int64."""
    return ((packed + _HALF) & 0xFFFF_FFFF) - _HALF


@inlined
def pack(middlegame, endgame):
    """Returns the packed pair of two int64 values, as int64."""
    return (middlegame << 32) + endgame
