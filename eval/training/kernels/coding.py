"""A binary arithmetic coder whose probabilities adapt: the entropy coder of the archive.

Each bit has a few contexts. A context's slot holds the probability that its bits were 1 so far. The coder mixes
these probabilities in the logistic domain and learns the weights of the mix (Matt Mahoney, "Adaptive Weighing of
Context Models for Lossless Data Compression", 2005). All arithmetic is in integers, so every machine decodes the same.

The same calls encode and decode: a decoder ignores the bit that it is given and returns the next bit of its data.
"""

from __future__ import annotations

from decimal import Context, Decimal
from typing import Final

import numpy as np
import numpy.typing as npt

from engine.board.bits import multiply_low
from engine.compiler.jit import inlined, subkernel

#: The most contexts of a bit, and the most sets of weights.
MAX_CONTEXTS: Final = 5
MAX_SETS: Final = 128

_SLOT_BITS: Final = 20

#: The state of a coder. `data` (uint8[n]), which it writes or reads, is an argument of its own.
CODER: Final = np.dtype(
    [
        # Bounds of the interval and the bytes of a decoder inside it: 32 bits each.
        ("low", np.int64),
        ("high", np.int64),
        ("word", np.int64),
        # The number of bytes written or read, beyond the end of `data` too.
        ("used", np.int64),
        ("decodes", np.int64),
        # [context] slots of the next bit.
        ("slots", np.int64, (MAX_CONTEXTS,)),
        # [set][context] weights; 65,536 is 1.
        ("weights", np.int64, (MAX_SETS, MAX_CONTEXTS)),
        # [slot] probability of a 1 in the upper 22 bits; the number of bits seen, at most _MOST_SEEN, in the lower 10.
        ("odds", np.uint32, (1 << _SLOT_BITS,)),
    ],
    align=True,
)

_HALF: Final = 1 << 31
_BYTE_LIMIT: Final = 0xFFFF_FFFF
_MOST_SEEN: Final = 255
#: The part of the way towards the bit that a probability moves after so many bits, times 65,536.
_RATES: Final = (1 << 17) // (2 * np.arange(_MOST_SEEN + 1) + 3)
_FIRST_WEIGHT: Final = 20_000
_WEIGHT_RATE: Final = 6
#: The range of the logistic domain, in 1/256: probabilities from 0.0003 to 0.9997.
_LOGIT: Final = 2047
_HASH: Final = np.uint64(0x9E37_79B9_7F4A_7C15)
_HASH_SHIFT: Final = np.uint64(64 - _SLOT_BITS)


def _squash_table() -> npt.NDArray[np.int64]:
    """Returns the probability of each logit from -_LOGIT on, times 65,536."""
    context = Context(prec=20)  # decimal arithmetic rounds alike everywhere; a libm's exp may not
    table = [
        int(context.divide(Decimal(65_536), 1 + context.exp(Decimal(-logit) / 256)).to_integral_value())
        for logit in range(-_LOGIT, _LOGIT + 1)
    ]
    return np.array(table, np.int64)


_SQUASH: Final = _squash_table()
#: The largest logit whose probability does not exceed each multiple of 1/4096.
_STRETCH: Final = np.clip(
    np.searchsorted(_SQUASH, (np.arange(4096) << 4) + 8, side="right") - 1 - _LOGIT, -_LOGIT, _LOGIT
).astype(np.int64)


@subkernel
def start_coder(coder, data, decodes):
    """Prepares a CODER (mutated) to write `data` (uint8[n]), or to read it if `decodes` is 1."""
    coder.low = 0
    coder.high = _BYTE_LIMIT
    coder.word = 0
    coder.used = 0
    coder.decodes = decodes
    for index in range(MAX_SETS):
        for context in range(MAX_CONTEXTS):
            coder.weights[index, context] = _FIRST_WEIGHT
    for slot in range(1 << _SLOT_BITS):
        coder.odds[slot] = _HALF
    if decodes != 0:
        for _ in range(4):
            _next_byte(coder, data)


@inlined
def _next_byte(coder, data):
    """Shifts the next byte of `data` into the decoder's word; zeros follow its end."""
    byte = np.int64(data[coder.used]) if coder.used < data.size else np.int64(0)
    coder.word = (coder.word << 8 | byte) & _BYTE_LIMIT
    coder.used += 1


@inlined
def _add_byte(coder, data, byte):
    """Appends a byte if there is space for it, and counts it in any case."""
    if coder.used < data.size:
        data[coder.used] = byte
    coder.used += 1


@inlined
def slot_of(context, value):
    """Returns the slot of an int64 `value` in an int64 context, as int64. Different values may share a slot."""
    return np.int64(multiply_low(np.uint64(context << 40 ^ value), _HASH) >> _HASH_SHIFT)


@inlined
def logit_of(coder, slot):
    """Returns the logit of a slot's probability in 1/256, as int64."""
    return _STRETCH[np.int64(coder.odds[slot]) >> 20]


@inlined
def _learn(coder, slot, bit):
    """Moves a slot's probability towards `bit`: fast at first, slowly later."""
    odds = np.int64(coder.odds[slot])
    seen = odds & 1023
    probability = odds >> 10
    probability += ((4_194_303 if bit != 0 else 0) - probability) * _RATES[seen] >> 16
    coder.odds[slot] = probability << 10 | (seen + 1 if seen < _MOST_SEEN else seen)


@subkernel
def code_bit(coder, data, weights, count, bit):
    """Codes a bit by the first `count` slots in `coder.slots`, mixed with the weights of set `weights`; returns it.

    Mutates `coder` and, when encoding, `data`.
    """
    total = np.int64(0)
    for index in range(count):
        total += coder.weights[weights, index] * logit_of(coder, coder.slots[index])
    probability = _SQUASH[min(max(total >> 16, -_LOGIT), _LOGIT) + _LOGIT]
    probability = min(max(probability, 32), 65_536 - 32)

    middle = coder.low + ((coder.high - coder.low) * probability >> 16)
    if coder.decodes != 0:
        bit = np.int64(coder.word <= middle)
    if bit != 0:
        coder.high = middle
    else:
        coder.low = middle + 1
    while (coder.low ^ coder.high) >> 24 == 0:
        if coder.decodes != 0:
            _next_byte(coder, data)
        else:
            _add_byte(coder, data, coder.high >> 24)
        coder.low = coder.low << 8 & _BYTE_LIMIT
        coder.high = coder.high << 8 & _BYTE_LIMIT | 255

    error = ((65_536 if bit != 0 else 0) - probability) * _WEIGHT_RATE
    for index in range(count):
        slot = coder.slots[index]
        coder.weights[weights, index] += (logit_of(coder, slot) * error + (1 << 17)) >> 18
        _learn(coder, slot, bit)
    return np.int64(bit)


@subkernel
def code_number(coder, data, context, bits, number):
    """Codes a number of `bits` bits, the highest first; each bit's context is `context` and the bits before it.

    Returns the number, int64. `context` is an int64 below 2**16 and unused elsewhere. Mutates `coder` and `data`.
    """
    prefix = np.int64(1)
    for place in range(bits):
        coder.slots[0] = slot_of(context, prefix)
        bit = code_bit(coder, data, MAX_SETS - 1, 1, number >> (bits - 1 - place) & 1)
        prefix = prefix << 1 | bit
    return prefix - (np.int64(1) << bits)


@subkernel
def finish_coder(coder, data):
    """Writes the last bytes of an encoder. Mutates `coder` and `data`."""
    for shift in (24, 16, 8, 0):
        _add_byte(coder, data, coder.high >> shift & 255)
