"""Engines and commands that find no compiled kernel: `isready` is answered soon, and no silence is long."""

from __future__ import annotations

import pytest

from tests.uci.fuzz import cold

#: The tests share their machine: everything may take so many times as long as on a quiet one.
ALLOWANCE = 3.0


@pytest.mark.slow
def test_two_engines_that_compile_on_one_cache_are_ready_soon_and_never_silent_for_long() -> None:
    cold.two_engines(ALLOWANCE)


@pytest.mark.slow
def test_a_command_that_compiles_is_never_silent_for_long() -> None:
    cold.command("datagen new {data} --games 16", ALLOWANCE)
