"""How a term counts: a count times a weight, recorded when the evaluation is traced.

Every kernel of the terms takes a `trace` as its last argument. The search passes None, and Numba compiles the recording
away. The breakdown passes int32[2][COUNT], [color][weight], and gets how often each weight counted. So there
is one evaluation, and its coefficients cannot differ from its value.
"""

from __future__ import annotations

from engine.compiler.jit import inlined
from eval.weights import PACKED

# Added before the halves are separated, so that the sign of the lower half survives.
_HALF = 1 << 31


@inlined
def weigh(trace, color, weight, count):
    """`count` (int64) times a weight for `color`, as a packed pair, int64. Mutates `trace`, if there is one."""
    if trace is not None:
        trace[color, weight] += count
    return PACKED[weight] * count


@inlined
def unpack_middlegame(packed):
    """The upper half of a packed pair, int64."""
    return (packed + _HALF) >> 32


@inlined
def unpack_endgame(packed):
    """The lower half of a packed pair, int64, with its sign."""
    return ((packed + _HALF) & 0xFFFF_FFFF) - _HALF


@inlined
def pack(middlegame, endgame):
    """Two int64 as a packed pair."""
    return (middlegame << 32) + endgame
