"""The same kernels as plain Python: with NUMBA_DISABLE_JIT they say what the compiled ones say, and never overflow."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.board import bits
from tests.board.board_kernels import portrait
from tests.board.board_positions import RARE_POSITIONS, scattered_position

MASK = (1 << 64) - 1

PORTRAITS = """
import json, sys, warnings
from tests.board.board_kernels import portrait
from engine.compiler.jit import CACHE_FOLDER, INTERPRETED, cache_problem

assert INTERPRETED and CACHE_FOLDER is None
assert cache_problem() == "kernels run interpreted (NUMBA_DISABLE_JIT)"
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


TWINS = """
import json, sys, warnings
import numpy as np
from engine.board import bits

warnings.simplefilter("error")
values = [np.uint64(value) for value in json.loads(sys.argv[1])]
answers = {}
for name in ("popcount", "without_lsb"):
    answers[name] = [getattr(bits, name)(value) for value in values]
answers["lsb"] = [bits.lsb(value) for value in values if value]
answers["bit"] = [bits.bit(np.int64(square)) for square in range(64)]
for name in ("multiply_high", "multiply_low", "pext"):
    answers[name] = [getattr(bits, name)(one, two) for one in values for two in values]
types = {name: sorted({type(value).__name__ for value in found}) for name, found in answers.items()}
target, source = np.zeros(2, [("a", np.uint64), ("b", np.int8, 3)])
source["a"], source["b"] = 7, (1, 2, 3)
bits.copy_record(target, source)
record = [int(target["a"]), target["b"].tolist(), bits.prefetch(np.zeros(1), 0)]
print(json.dumps([{name: list(map(int, found)) for name, found in answers.items()}, types, record]))
"""


def test_twins_of_the_machine_operations(run_python: Callable[..., str]) -> None:
    rng = random.Random(9)
    values = [0, 1, 1 << 63, MASK, *(rng.getrandbits(64) for _ in range(20)), *(1 << n for n in range(0, 64, 7))]
    answers, types, record = json.loads(run_python(TWINS, json.dumps(values), NUMBA_DISABLE_JIT="1"))
    pairs = [(one, two) for one in values for two in values]
    assert answers["popcount"] == [value.bit_count() for value in values]
    assert answers["without_lsb"] == [value & (value - 1) if value else 0 for value in values]
    assert answers["lsb"] == [bin(value)[::-1].index("1") for value in values if value]
    assert answers["bit"] == [1 << square for square in range(64)]
    assert answers["multiply_high"] == [one * two >> 64 for one, two in pairs]
    assert answers["multiply_low"] == [one * two & MASK for one, two in pairs]
    assert answers["pext"] == [int(bits._gather(one, two)) for one, two in pairs]
    # The same kinds of number as compiled, so that signed and unsigned stay apart.
    signed = {"popcount", "lsb"}
    assert types == {name: ["int64" if name in signed else "uint64"] for name in answers}
    assert record == [7, [1, 2, 3], None]
