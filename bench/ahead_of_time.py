"""What it brings to have the kernels compiled ahead of time: start-up, speed and memory, and what is given to others.

Nothing is taken from a kernel cache: engines with built kernels get an empty one.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Final

from bench.engines import SECATEUR
from bench.speed import BY_NUMBA, Row, bench_speed, resident_mebibytes, seconds_to
from bench.standalone import megabytes
from engine.compiler.cache_folder import CACHE_VARIABLE
from engine.compiler.library import KERNELS_VARIABLE, choose
from engine.compiler.sources import PROJECT_ROOT
from engine.extras import has_numba

#: Where `make wheel` and `make standalone` leave what they make.
DIST: Final = PROJECT_ROOT / "dist"


def measure_ahead_of_time(rounds: int, progress: Callable[[str], None]) -> tuple[list[Row], list[str]]:
    """The rows, and remarks about those that could not be measured. Raises EngineError."""
    rows, remarks = _sizes()
    library, reasons = choose()
    if library is None:
        why = "; ".join(reasons) or "the environment asks for others"
        return rows, [*remarks, f"Kernels compiled ahead of time were not measured: {why}."]
    name = library.level.name
    with tempfile.TemporaryDirectory() as empty:
        built = {KERNELS_VARIABLE: name, CACHE_VARIABLE: empty}
        progress("start-up with built kernels")
        for answer, command, must, aim in (("uciok", "uci", 0.3, 0.1), ("readyok", "uci\nisready", 0.8, 0.3)):
            seconds = tuple(seconds_to(answer, command, built) for _ in range(rounds))
            rows.append(Row(f"`{answer}` after start, built kernels, no cache", " s", seconds, must, aim, True))
        if has_numba():
            ratios = _speed_ratios(built, rounds, progress)
            rows.append(Row(f"`bench` speed, built kernels ({name}) over Numba's", "x", ratios, 0.97, 1.0))
        else:
            remarks.append("Numba is not installed: built kernels were not compared with its own.")
        progress("memory with built kernels")
        memory = resident_mebibytes(built)
        if memory is not None:
            rows.append(Row("resident memory at Hash 16, built kernels", " MiB", (memory,), 150, 80, True))
    return rows, remarks


def _speed_ratios(built: dict[str, str], rounds: int, progress: Callable[[str], None]) -> tuple[float, ...]:
    """`bench` speed in the environment `built` over that of Numba's kernels, a ratio each round."""
    ratios = []
    for number in range(rounds):
        progress(f"search speed with built kernels, round {number + 1} of {rounds}")
        # There and back again, so that a machine that becomes slower is so for both.
        order = (built, BY_NUMBA, BY_NUMBA, built)
        first, second, third, fourth = (bench_speed(SECATEUR, environment) for environment in order)
        ratios.append((first + fourth) / (second + third))
    return tuple(ratios)


def _sizes() -> tuple[list[Row], list[str]]:
    """The rows of what lies ready in DIST."""
    rows, remarks = [], []
    wheels = sorted(DIST.glob("secateur-*.whl"), key=lambda path: path.stat().st_mtime)
    if wheels:
        rows.append(Row("wheel with kernels for every level", " MB", (megabytes(wheels[-1]),), 12, 5, True))
    else:
        remarks.append("There is no wheel to measure (`make wheel`).")
    program = DIST / "secateur"
    if program.is_dir():
        rows.append(Row("stand-alone program", " MB", (megabytes(program),), 90, 40, True))
    else:
        remarks.append("There is no stand-alone program to measure (`make standalone`).")
    return rows, remarks
