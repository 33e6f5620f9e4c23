"""The processor levels for which kernels are compiled ahead of time.

For x86-64 they are levels 2 to 4 of the psABI's microarchitecture levels. Level 3 has two variants, because some AMD
processors before Zen 3 run PEXT in microcode, which is slower than a magic multiplication.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass
from typing import Final

#: Processors with slow PEXT, by the names that LLVM and `__builtin_cpu_is` use.
SLOW_PEXT_CPUS: Final = ("bdver4", "znver1", "znver2")

#: The names that `platform.machine` gives x86-64 on different systems.
X86_64: Final = ("x86_64", "AMD64")

_V2: Final = ("cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3")
_V3: Final = (*_V2, "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")
_V4: Final = (*_V3, "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl")

#: Features that GCC and Clang can test under LLVM's names. If a processor has all features of a level that are in this
#: set, it also has the level's other features.
_ASKED: Final = frozenset(
    ("popcnt", "sse4.2", "avx2", "bmi", "bmi2", "fma", "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl")
)


@dataclass(frozen=True)
class Level:
    """A processor level: its name, LLVM's names for the CPU and its features, and whether attacks use PEXT."""

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
        """The features in the form that LLVM and Numba take, such as `+bmi,+bmi2`."""
        return ",".join(f"+{feature}" for feature in self.features)

    @property
    def asked(self) -> tuple[str, ...]:
        """The features that a library tests for before any kernel runs."""
        return tuple(name for name in self.features if name in _ASKED)


def levels_of(machine: str) -> tuple[Level, ...]:
    """Returns the levels of `machine`, a name from `platform.machine`, best first."""
    if machine not in X86_64:
        return (Level(machine.lower(), "generic"),)
    return (
        Level("x86-64-v4", "x86-64-v4", _V4, pext=True),
        Level("x86-64-v3", "x86-64-v3", _V3, pext=True),
        Level("x86-64-v3-slow-pext", "x86-64-v3", _V3),
        Level("x86-64-v2", "x86-64-v2", _V2),
    )


#: The levels of this machine, best first.
LEVELS: Final = levels_of(platform.machine())
