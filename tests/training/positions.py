"""The positions of samples, for tests."""

from __future__ import annotations

from typing import Any

from engine.board.position import POSITION
from engine.memory import allocate
from eval.training.kernels.records import unpack_samples
from eval.training.samples import Samples


def unpacked(packed: Samples) -> Any:
    """Complete records, POSITION[n]."""
    positions = allocate(POSITION, len(packed))
    unpack_samples(packed, positions)
    return positions
