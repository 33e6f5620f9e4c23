"""The tuning build: every number of the search is an option, and its techniques can be switched off; nowhere else."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from engine.uci.options import OPTIONS, TUNING_OPTIONS
from search import tunables
from search.kernels.worker import new_worker, set_tunables, tunables_of
from search.searcher import Searcher
from search.techniques import TECHNIQUES


@pytest.fixture
def tuning(start: Callable[..., Any]) -> Any:
    return start(arguments=("--tuning",))


def bench(engine: Any) -> int:
    """Nodes of a short benchmark."""
    engine.send("bench 5")
    while not (line := str(engine.expect(""))).endswith(" nps"):
        pass
    return int(line.split()[0])


def test_the_table_is_what_is_offered(tuning: Any) -> None:
    tuning.send("uci")
    tuning.expect("uciok")
    offered = [line for line in tuning.lines if line.startswith("option ")]
    rows = [
        f"option name {row.name} type spin default {row.default} min {row.low} max {row.high}"
        for row in tunables.TUNABLES
    ]
    without = "option name Without type string default <empty>"
    assert offered == [*(option.declaration() for option in OPTIONS), *rows, without]
    tuning.send("quit")
    tuning.finish()


def test_a_players_build_offers_none_of_them(engine: Any) -> None:
    name = tunables.TUNABLES[0].name
    engine.send("uci", f"setoption name {name} value 5", "setoption name Without value null-move", "isready")
    engine.expect("readyok")
    offered = [line for line in engine.lines if line.startswith("option name ")]
    assert not any(f"option name {option.name} " in line for option in TUNING_OPTIONS for line in offered)
    for refused in (name, "Without"):
        assert any("no option" in line and refused in line for line in engine.lines)


def test_what_is_set_changes_the_search_before_and_after_loading(tuning: Any) -> None:
    row = tunables.BY_NAME["lmr_base"]
    tuning.send(f"setoption name {row.name} value {row.low}")  # nothing is loaded yet
    changed = bench(tuning)
    tuning.send(f"setoption name {row.name} value {row.default}")
    usual = bench(tuning)
    tuning.send(f"setoption name {row.name.lower()} value {row.low}", "ucinewgame")
    assert bench(tuning) == changed != usual


def test_techniques_are_switched_off_and_on_again(tuning: Any) -> None:
    tuning.send("setoption name Without value null-move, late-move-reduction")  # nothing is loaded yet
    without_both = bench(tuning)
    tuning.send("setoption name Without value null-move")
    without_null_move = bench(tuning)
    tuning.send("ucinewgame")
    assert bench(tuning) == without_null_move
    tuning.send("setoption name Without value <empty>")
    usual = bench(tuning)
    assert len({usual, without_null_move, without_both}) == 3
    tuning.send("setoption name Without value late-move-reduction null-move")
    assert bench(tuning) == without_both
    tuning.send("setoption name Without value")
    assert bench(tuning) == usual


def test_a_technique_that_is_off_stays_off_whatever_its_numbers_are(tuning: Any) -> None:
    row = tunables.BY_NAME["lmr_factor"]
    tuning.send("setoption name Without value late-move-reduction")
    off = bench(tuning)
    tuning.send(f"setoption name {row.name} value {row.high}")
    assert bench(tuning) == off
    tuning.send("setoption name Without value <empty>")
    high = bench(tuning)
    tuning.send(f"setoption name {row.name} value {row.default}")
    assert bench(tuning) != high


def test_an_unknown_technique_is_named_and_changes_nothing(tuning: Any) -> None:
    tuning.send("setoption name Without value null-move")
    off = bench(tuning)
    tuning.send("setoption name Without value razoring rasoring", "isready")
    tuning.expect("readyok")
    (complaint,) = [line for line in tuning.lines if "rasoring" in line]
    assert complaint.startswith("info string there is no technique 'rasoring'; those are ")
    assert all(technique.key in complaint for technique in TECHNIQUES)
    assert bench(tuning) == off


def test_values_out_of_range_are_refused(tuning: Any) -> None:
    row = tunables.BY_NAME["rfp_margin"]
    tuning.send(f"setoption name {row.name} value {row.high + 1}", "isready")
    tuning.expect("readyok")
    assert any(f"takes {row.low} to {row.high}" in line for line in tuning.lines)


def test_no_name_is_taken_twice() -> None:
    names = [option.name.lower() for option in (*OPTIONS, *TUNING_OPTIONS)]
    assert len(set(names)) == len(names)


def test_the_workers_numbers_and_reductions_follow() -> None:
    worker = new_worker()
    assert tunables_of(worker) == tunables.defaults()
    set_tunables(worker, {"lmr_base": 7})
    assert tunables_of(worker) == tunables.defaults() | {"lmr_base": 7}
    assert worker["reductions"].tolist() == tunables.reductions(7, tunables.BY_NAME["lmr_factor"].default)
    with pytest.raises(KeyError):
        Searcher(1).set_tunable("Nonsense", 1)


def test_reductions_are_logarithms_of_depth_and_number() -> None:
    base, factor = (tunables.BY_NAME[name].default for name in tunables.REDUCTION_TUNABLES)
    table = np.array(tunables.reductions(base, factor))
    assert table.shape == (64, 64)
    assert not table[0].any()
    assert not table[:, 0].any()
    assert table[1, 1] == base
    assert table[20, 30] == int(base + factor * np.log(20) * np.log(30))
