"""Attack tables and lookups, by PEXT and by magic multiplication, against squares walked one by one."""

from __future__ import annotations

from types import FunctionType
from typing import Any

import chess
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.board import attacks, tables
from engine.board.magics import BISHOP_MAGICS, ROOK_MAGICS
from engine.compiler.jit import USE_PEXT, subkernel

BISHOP_STEPS = ((1, 1), (1, -1), (-1, 1), (-1, -1))
ROOK_STEPS = ((1, 0), (-1, 0), (0, 1), (0, -1))
KNIGHT_STEPS = ((1, 2), (2, 1), (-1, 2), (-2, 1), (1, -2), (2, -1), (-1, -2), (-2, -1))

Steps = tuple[tuple[int, int], ...]


def walk(square: int, steps: Steps, occupied: int, reach: int = 7) -> int:
    """The squares that a piece attacks, stepping over the board until something is in the way."""
    attacked = 0
    for over, up in steps:
        file, rank = square & 7, square >> 3
        for _ in range(reach):
            file, rank = file + over, rank + up
            if not (0 <= file < 8 and 0 <= rank < 8):
                break
            attacked |= 1 << (8 * rank + file)
            if occupied >> (8 * rank + file) & 1:
                break
    return attacked


def subsets(mask: int) -> list[int]:
    found, subset = [0], 0
    while subset := (subset - mask) & mask:
        found.append(subset)
    return found


class Slider:
    """One kind of slider: the relevant blockers of each square and the attacks for each set of them."""

    def __init__(self, steps: Steps, masks: list[int], lines: Any, magics: tuple[int, ...]) -> None:
        self.steps, self.masks, self.lines, self.magics = steps, masks, lines, magics
        self.blockers = [np.array(subsets(mask), np.uint64) for mask in masks]
        self.attacks = [
            np.array([walk(square, steps, int(blockers)) for blockers in self.blockers[square]], np.uint64)
            for square in range(64)
        ]


@pytest.fixture(scope="module")
def sliders() -> dict[str, Slider]:
    rook_masks = [rank | file for rank, file in zip(chess.BB_RANK_MASKS, chess.BB_FILE_MASKS, strict=True)]
    rook_lines: Any = [chess.BB_RANK_ATTACKS, chess.BB_FILE_ATTACKS]
    return {
        "bishop": Slider(BISHOP_STEPS, list(chess.BB_DIAG_MASKS), [chess.BB_DIAG_ATTACKS], BISHOP_MAGICS),
        "rook": Slider(ROOK_STEPS, rook_masks, rook_lines, ROOK_MAGICS),
    }


def filler(attack: Any) -> Any:
    """A kernel that looks many blocker sets up with `attack`."""

    @subkernel
    def fill(square: Any, occupied: Any, attacked: Any) -> Any:
        for index in range(len(occupied)):
            attacked[index] = attack(square, occupied[index])

    return fill


def prove_lookup(fill: Any, slider: Slider) -> None:
    rng = np.random.default_rng(64)
    for square in range(64):
        expected = slider.attacks[square]
        found = np.zeros_like(expected)
        fill(np.int64(square), slider.blockers[square], found)
        np.testing.assert_array_equal(found, expected)
        # What stands elsewhere must not matter.
        elsewhere = rng.integers(0, 1 << 64, len(expected), np.uint64) & ~np.uint64(slider.masks[square])
        fill(np.int64(square), slider.blockers[square] | elsewhere, found)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "way",
    [
        pytest.param("pext", marks=pytest.mark.skipif(not USE_PEXT, reason="this CPU has no fast PEXT")),
        "magic",
    ],
)
@pytest.mark.parametrize("name", ["bishop", "rook"])
def test_lookup_over_a_table_of_its_own(sliders: dict[str, Slider], name: str, way: str) -> None:
    slider = sliders[name]
    table, offsets = tables.slider_table(slider.masks, slider.lines, slider.magics, use_pext=way == "pext")
    code = getattr(attacks, f"_{name}_attacks_{way}").__code__
    names = {f"{name.upper()}_TABLE": table, f"{name.upper()}_OFFSETS": offsets}
    prove_lookup(filler(subkernel(FunctionType(code, vars(attacks) | names, code.co_name))), slider)


def test_leapers() -> None:
    for square in range(64):
        assert int(tables.KNIGHT_ATTACKS[square]) == walk(square, KNIGHT_STEPS, 0, reach=1)
        assert int(tables.KING_ATTACKS[square]) == walk(square, BISHOP_STEPS + ROOK_STEPS, 0, reach=1)
        assert int(tables.PAWN_ATTACKS[0, square]) == walk(square, ((1, -1), (-1, -1)), 0, reach=1)
        assert int(tables.PAWN_ATTACKS[1, square]) == walk(square, ((1, 1), (-1, 1)), 0, reach=1)
        assert int(tables.BISHOP_RAYS[square]) == walk(square, BISHOP_STEPS, 0)
        assert int(tables.ROOK_RAYS[square]) == walk(square, ROOK_STEPS, 0)


def test_between_and_line() -> None:
    for a in range(64):
        for b in range(64):
            between = line = 0
            for over, up in BISHOP_STEPS + ROOK_STEPS:
                if a != b and walk(a, ((over, up),), 0) >> b & 1:
                    between = walk(a, ((over, up),), 1 << b) & ~(1 << b)
                    line = walk(a, ((over, up), (-over, -up)), 0) | 1 << a
            assert int(tables.BETWEEN[a, b]) == between, (a, b)
            assert int(tables.LINE[a, b]) == line, (a, b)


@subkernel
def reached_from(piece: Any, square: Any, occupied: Any) -> Any:
    return attacks.attacks_from(piece, square, occupied)


@given(st.integers(0, 63), st.integers(0, (1 << 64) - 1), st.integers(0, (1 << 64) - 1))
def test_attacks_from(square: int, some: int, others: int) -> None:
    occupied = some & others
    expected = {
        chess.KNIGHT: walk(square, KNIGHT_STEPS, 0, reach=1),
        chess.BISHOP: walk(square, BISHOP_STEPS, occupied),
        chess.ROOK: walk(square, ROOK_STEPS, occupied),
        chess.QUEEN: walk(square, BISHOP_STEPS + ROOK_STEPS, occupied),
        chess.KING: walk(square, BISHOP_STEPS + ROOK_STEPS, 0, reach=1),
    }
    for piece, attacked in expected.items():
        assert int(reached_from(np.int64(piece), np.int64(square), np.uint64(occupied))) == attacked
