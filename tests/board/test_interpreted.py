"""The same kernels as plain Python: with NUMBA_DISABLE_JIT they say what the compiled ones say, and never overflow."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.board.board_kernels import portrait
from tests.board.board_positions import RARE_POSITIONS, scattered_position

PORTRAITS = """
import json, sys, warnings
from tests.board.board_kernels import portrait
from engine.compiler.jit import CACHE_FOLDER, INTERPRETED, cache_problem

assert INTERPRETED and CACHE_FOLDER is None
assert cache_problem() == "kernels run as plain Python (NUMBA_DISABLE_JIT)"
warnings.simplefilter("error")
json.dump([portrait(*position) for position in json.load(open(sys.argv[1]))], sys.stdout)
"""


def rare() -> list[tuple[str, bool, int]]:
    return [(fen, chess960, 2) for fen, chess960 in RARE_POSITIONS]


def scattered() -> list[tuple[str, bool, int]]:
    rng = random.Random(7)
    return [(scattered_position(rng, most=8).fen(en_passant="fen"), False, 1) for _ in range(40)]


@pytest.mark.parametrize(
    ("positions", "pext"),
    [
        pytest.param([*rare(), *scattered()], "1", id="pext"),
        pytest.param(rare(), "0", id="magic"),
    ],
)
def test_interpreted_kernels_say_the_same(
    positions: list[tuple[str, bool, int]], pext: str, run_python: Callable[..., str], tmp_path: Path
) -> None:
    (tmp_path / "positions.json").write_text(json.dumps(positions), encoding="utf-8")
    answer = run_python(
        PORTRAITS,
        str(tmp_path / "positions.json"),
        NUMBA_DISABLE_JIT="1",
        SECATEUR_PEXT=pext,
    )
    for position, interpreted in zip(positions, json.loads(answer), strict=True):
        assert interpreted == portrait(*position), position
    assert len(json.loads(answer)) == len(positions)
