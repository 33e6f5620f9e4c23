"""The kinds of processor that kernels are compiled for ahead of time.

For x86-64 they are the microarchitecture levels of its psABI. Level 3 comes twice: AMD processors before Zen 3 have the
instruction PEXT, but run it in microcode, slower than a magic multiplication.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass
from typing import Final

#: Processors with slow PEXT, by the names of LLVM, and of GCC and Clang in `__builtin_cpu_is`.
SLOW_PEXT_CPUS: Final = ("bdver4", "znver1", "znver2")

#: The names of x86-64 in `platform.machine`, depending on the system.
X86_64: Final = ("x86_64", "AMD64")

_V2: Final = ("cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3")
_V3: Final = (*_V2, "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")
_V4: Final = (*_V3, "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl")

#: Features that GCC and Clang can test by the same name. A processor that has those of a level has the others of it.
_ASKED: Final = frozenset(
    ("popcnt", "sse4.2", "avx2", "bmi", "bmi2", "fma", "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl")
)


@dataclass(frozen=True)
class Level:
    """A kind of processor: LLVM's names of it and of its instruction sets, and whether PEXT finds sliding attacks."""

    name: str
    cpu: str
    features: tuple[str, ...] = ()
    pext: bool = False

    @property
    def vector_bits(self) -> int:
        """Width in bits of the widest instructions that multiply int16 vectors; 0 without AVX2."""
        return 512 if "avx512bw" in self.features else 256 if "avx2" in self.features else 0

    @property
    def signed_features(self) -> str:
        """The features as LLVM and Numba take them."""
        return ",".join(f"+{feature}" for feature in self.features)

    @property
    def asked(self) -> tuple[str, ...]:
        """The features that a library tests the processor for before its code runs."""
        return tuple(name for name in self.features if name in _ASKED)


def levels_of(machine: str) -> tuple[Level, ...]:
    """The levels of a machine, as `platform.machine` names it, best first: the best library that runs is used."""
    if machine not in X86_64:
        return (Level(machine.lower(), "generic"),)
    return (
        Level("x86-64-v4", "x86-64-v4", _V4, pext=True),
        Level("x86-64-v3", "x86-64-v3", _V3, pext=True),
        Level("x86-64-v3-slow-pext", "x86-64-v3", _V3),
        Level("x86-64-v2", "x86-64-v2", _V2),
    )


#: This machine's.
LEVELS: Final = levels_of(platform.machine())
