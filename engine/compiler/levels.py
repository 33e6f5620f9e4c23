"""The platforms and processor levels for which kernels are compiled ahead of time.

For x86-64 the levels are 2 to 4 of the psABI's microarchitecture levels. Level 3 has two variants, because some AMD
processors before Zen 3 run PEXT in microcode, which is slower than a magic multiplication. All AArch64 processors have
NEON, so AArch64 has one level for each system.
"""

from __future__ import annotations

import platform
import sys
import sysconfig
from dataclasses import dataclass
from typing import Final

#: Processors with slow PEXT, by LLVM's names. They are those of AMD's families SLOW_PEXT_FAMILIES that have PEXT.
SLOW_PEXT_CPUS: Final = ("bdver4", "znver1", "znver2")
SLOW_PEXT_FAMILIES: Final = (0x15, 0x17)

#: The names that `platform.machine` gives x86-64 and AArch64 on different systems.
X86_64: Final = ("x86_64", "AMD64")
AARCH64: Final = ("aarch64", "arm64", "ARM64")

_V2: Final = ("cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3")
_V3: Final = (*_V2, "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")
_V4: Final = (*_V3, "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl")


@dataclass(frozen=True)
class Level:
    """A processor level: its name, LLVM's names for the CPU and its features, and whether attacks use PEXT."""

    name: str
    cpu: str
    features: tuple[str, ...] = ()
    pext: bool = False

    @property
    def vector_bits(self) -> int:
        """Width in bits of the widest instructions that multiply int16 vectors; 0 without AVX2 and NEON."""
        return widest_vectors(self.features)

    @property
    def signed_features(self) -> str:
        """The features in the form that LLVM and Numba take, such as `+bmi,+bmi2`."""
        return ",".join(f"+{feature}" for feature in self.features)


def widest_vectors(features: tuple[str, ...]) -> int:
    """Returns the width in bits of the widest instructions that multiply int16 vectors, or 0."""
    widths = (("avx512bw", 512), ("avx2", 256), ("neon", 128))
    return next((width for feature, width in widths if feature in features), 0)


def levels_of(machine: str) -> tuple[Level, ...]:
    """Returns the levels of `machine`, a name from `platform.machine`, best first."""
    if machine in X86_64:
        return (
            Level("x86-64-v4", "x86-64-v4", _V4, pext=True),
            Level("x86-64-v3", "x86-64-v3", _V3, pext=True),
            Level("x86-64-v3-slow-pext", "x86-64-v3", _V3),
            Level("x86-64-v2", "x86-64-v2", _V2),
        )
    if machine in AARCH64:
        return (Level(machine.lower(), "apple-m1" if machine == "arm64" else "generic", ("neon",)),)
    return (Level(machine.lower(), "generic"),)


@dataclass(frozen=True)
class Target:
    """A platform: its name, `sys.platform`, `platform.machine`, LLVM's triple, Zig's name, the tag of its wheels.

    `left_out` names the levels that no processor of this platform needs. If `zig` is "", only this machine's C compiler
    can link for the platform.
    """

    name: str
    system: str
    machine: str
    triple: str = ""
    zig: str = ""
    tag: str = ""
    left_out: tuple[str, ...] = ()

    @property
    def levels(self) -> tuple[Level, ...]:
        """The levels of libraries for this platform, best first."""
        return tuple(level for level in levels_of(self.machine) if level.name not in self.left_out)

    @property
    def suffix(self) -> str:
        """The suffix of libraries."""
        return {"win32": ".dll", "darwin": ".dylib"}.get(self.system, ".so")


#: The platforms that one machine can build for. macOS enables AVX-512 at its first use: a test at the start misses it.
TARGETS: Final = (
    Target(
        "linux-x86-64",
        "linux",
        "x86_64",
        "x86_64-unknown-linux-gnu",
        "x86_64-linux-gnu.2.17",
        "manylinux_2_17_x86_64",
    ),
    Target(
        "linux-aarch64",
        "linux",
        "aarch64",
        "aarch64-unknown-linux-gnu",
        "aarch64-linux-gnu.2.17",
        "manylinux_2_17_aarch64",
    ),
    Target("windows-x86-64", "win32", "AMD64", "x86_64-pc-windows-gnu", "x86_64-windows-gnu", "win_amd64"),
    Target("macos-arm64", "darwin", "arm64", "arm64-apple-macosx11.0.0", "aarch64-macos.11.0", "macosx_11_0_arm64"),
    Target(
        "macos-x86-64",
        "darwin",
        "x86_64",
        "x86_64-apple-macosx11.0.0",
        "x86_64-macos.11.0",
        "macosx_11_0_x86_64",
        ("x86-64-v4", "x86-64-v3-slow-pext"),
    ),
)


def target_of(system: str, machine: str) -> Target:
    """Returns the platform with these names from `sys.platform` and `platform.machine`."""
    found = (target for target in TARGETS if (target.system, target.machine) == (system, machine))
    return next(found, Target(f"{system}-{machine}".lower(), system, machine))


def machine() -> str:
    """Returns the machine's name as `platform.machine` does; on Windows, that of the machines that run this Python.

    There, `platform.machine` may take seconds, and it names an ARM processor even if that emulates x86-64.
    """
    return sysconfig.get_platform().removeprefix("win-").upper() if sys.platform == "win32" else platform.machine()


#: The platform of this machine, and its levels, best first.
HERE: Final = target_of(sys.platform, machine())
LEVELS: Final = HERE.levels

#: The levels of all platforms, by name. A level of another kind of processor may be built here, but not used.
ALL_LEVELS: Final = {level.name: level for target in (*TARGETS, HERE) for level in target.levels}
