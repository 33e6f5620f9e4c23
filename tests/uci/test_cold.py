"""Engines that find no compiled kernel: every `isready` is answered soon, and no silence is long."""

from __future__ import annotations

import pytest

from tests.uci.fuzz import cold

#: The tests share their machine: times that are asked for on a quiet one may be so many times as long.
ALLOWANCE = 2.0


@pytest.mark.slow
@pytest.mark.parametrize("number", [1, 2])
def test_engines_that_compile_are_ready_soon_and_never_silent_for_long(number: int) -> None:
    cold.engines(number).check(ALLOWANCE)


@pytest.mark.slow
@pytest.mark.parametrize("line", ["perft --depth 3", "datagen new {data} --games 16"])
def test_commands_that_compile_are_never_silent_for_long(line: str) -> None:
    cold.command(line).check(ALLOWANCE)
