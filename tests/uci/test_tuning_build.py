"""The tuning build: every number of the search is an option, and its techniques can be switched off; nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from engine.uci.options import OPTIONS, TUNING_OPTIONS
from search import tunables
from search.kernels.worker import new_worker, set_tunables, tunables_of
from search.techniques import TECHNIQUES
from tests.uci.conftest import Engine

ROWS = tunables.TUNABLES


@pytest.fixture(scope="module")
def shared_tuning() -> Iterator[Engine]:
    engine = Engine(arguments=("--tuning",))
    engine.best("go depth 1")
    yield engine
    engine.kill()


@pytest.fixture
def tuning(shared_tuning: Engine) -> Engine:
    """An engine of the tuning build, with all defaults."""
    shared_tuning.said(
        "setoption name Without value <empty>", *(f"setoption name {r.name} value {r.default}" for r in ROWS)
    )
    return shared_tuning


def bench(engine: Engine) -> int:
    """Nodes of a short benchmark."""
    engine.send("bench 4")
    while not (line := engine.expect("")).endswith(" nps"):
        pass
    return int(line.split()[0])


def test_the_table_is_what_is_offered(tuning: Engine) -> None:
    tuning.send("uci")
    tuning.expect("uciok")
    offered = [line for line in tuning.lines if line.startswith("option ")]
    rows = [f"option name {row.name} type spin default {row.default} min {row.low} max {row.high}" for row in ROWS]
    without = "option name Without type string default <empty>"
    assert offered == [*(option.declaration() for option in OPTIONS), *rows, without]


def test_a_players_build_offers_none_of_them(engine: Engine) -> None:
    engine.send("uci")
    engine.expect("uciok")
    offered = "\n".join(engine.lines)
    for option in TUNING_OPTIONS:
        assert f"option name {option.name} " not in offered
        (said,) = engine.said(f"setoption name {option.name} value 5")
        assert "unknown option" in said


def test_what_is_set_before_loading_changes_the_search(start: Callable[..., Engine], tuning: Engine) -> None:
    row = tunables.BY_NAME["lmr_base"]
    lines = [f"setoption name {row.name.upper()} value {row.low}", "setoption name Without value null-move"]
    early = start(arguments=("--tuning",))
    early.send(*lines)
    usual = bench(tuning)
    tuning.send(*lines)
    assert bench(tuning) == bench(early) != usual


def test_techniques_are_switched_off_and_on_again(tuning: Engine) -> None:
    usual = bench(tuning)
    tuning.send("setoption name Without value null-move")
    without_null_move = bench(tuning)
    tuning.send("ucinewgame", "setoption name Without value null-move, late-move-reduction")
    without_both = bench(tuning)
    assert len({usual, without_null_move, without_both}) == 3
    # A technique that is off stays off, no matter what its numbers are.
    row = tunables.BY_NAME["lmr_factor"]
    tuning.send(f"setoption name {row.name} value {row.high}")
    assert bench(tuning) == without_both
    tuning.send(f"setoption name {row.name} value {row.default}", "setoption name Without value")
    assert bench(tuning) == usual


def test_wrong_values_are_named_and_change_nothing(tuning: Engine) -> None:
    tuning.send("setoption name Without value null-move")
    off = bench(tuning)
    row = tunables.BY_NAME["rfp_margin"]
    (said,) = tuning.said(f"setoption name {row.name} value {row.high + 1}")
    assert f"must be {row.low} to {row.high}" in said
    (complaint,) = tuning.said("setoption name Without value probcut propcut")
    assert complaint.startswith("info string unknown technique 'propcut'; the techniques are ")
    assert all(technique.key in complaint for technique in TECHNIQUES)
    assert bench(tuning) == off


def test_reductions_are_logarithms_of_depth_and_number() -> None:
    worker = new_worker()
    set_tunables(worker, {"lmr_base": 7})
    assert tunables_of(worker) == tunables.defaults() | {"lmr_base": 7}
    table, factor = worker["reductions"], tunables.BY_NAME["lmr_factor"].default
    assert not table[0].any()
    assert not table[:, 0].any()
    assert table[1, 1] == 7
    assert table[20, 30] == int(7 + factor * np.log(20) * np.log(30))
