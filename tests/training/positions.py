"""The positions of samples, for tests."""

from __future__ import annotations

from typing import Any

from engine.board.position import POSITION
from engine.compiler.jit import kernel
from engine.memory import allocate
from eval.training.kernels.records import unpack
from eval.training.samples import Samples


@kernel
def unpack_samples(samples, positions):  # type: ignore[no-untyped-def]
    """Writes SAMPLE[n] to POSITION[n]."""
    for index in range(samples.size):
        unpack(samples[index].position, positions[index])


def unpacked(packed: Samples) -> Any:
    """Complete records, POSITION[n]."""
    positions = allocate(POSITION, len(packed))
    unpack_samples(packed, positions)
    return positions
