"""The tracing build: it searches as the playing build does, and what it writes down is what happened."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import chess
import numpy as np
import pytest

from engine.compiler import jit
from engine.compiler.numba_hooks import entry_point
from engine.version import full_name
from eval.network.format import shipped_network
from search.benchmark import run_benchmark
from search.explorer import chess_document
from search.explorer.build import choose_tracing
from search.explorer.chess_document import REASONS, SEARCHES, SWITCHES
from search.explorer.positions import read_game
from search.explorer.recording import TECHNIQUES, record
from search.kernels import tracing
from search.kernels.worker import WORKER
from search.limits import Limits
from search.searcher import Searcher
from tests.explorer.conftest import SEARCHED, Recorded
from tests.explorer.recorded_tree import Tree, moves_of

# --- the playing build ---------------------------------------------------------------------------------------------


def test_the_playing_build_has_no_recording() -> None:
    assert not jit.TRACING
    assert tracing.TRACE_FIELDS == []
    assert "recording" not in (WORKER.names or ())


def test_hooks_are_nothing_in_the_playing_build() -> None:
    """The machine code of a function full of hooks is that of the function without them."""

    def watched(worker: Any, value: Any) -> Any:
        tracing.searching(worker, tracing.MOVE, value, 0)
        tracing.entered(worker, value, value, value, value, value, 0)
        tracing.entered_quiescence(worker, value, value, value)
        tracing.shortened(worker, value)
        tracing.evaluated(worker, value, value, 0)
        tracing.evaluated_quiescence(worker, value)
        tracing.skipped(worker, value, value, tracing.DELTA)
        tracing.skipped_rest(worker, value)
        worker.nodes += 1
        return tracing.ended(worker, tracing.CUTOFF if value > worker.nodes else tracing.TT_CUTOFF, value + 1)

    def unwatched(worker: Any, value: Any) -> Any:
        worker.nodes += 1
        return value + 1

    bodies = []
    for plain in (watched, unwatched):
        function = entry_point(plain, {"nogil": True}, None)
        worker = np.zeros(1, np.dtype([("nodes", np.int64)]))[0]
        assert function(worker, 41) == 42
        assert worker["nodes"] == 1
        (text,) = function.inspect_llvm().values()
        name = re.escape(next(iter(function.overloads.values())).fndesc.mangled_name)
        found = re.search(rf'^define [^\n]*@"?{name}"?\(.*?^}}', text, re.MULTILINE | re.DOTALL)
        assert found is not None
        instructions = [line.split(",")[0].split(";")[0].strip() for line in found[0].splitlines()[1:]]
        bodies.append([re.sub(r"[%@][\w.\"]+", "%", line) for line in instructions if line and line[-1] != ":"])
    assert bodies[0] == bodies[1]
    assert len(bodies[0]) > 3


def test_the_tracing_build_has_a_cache_of_its_own(run_python: Callable[..., str]) -> None:
    script = "from engine.compiler import jit; print(jit.build_hash(), jit.TRACING)"
    playing, traced = run_python(script, SECATEUR_TRACING=None), run_python(script, SECATEUR_TRACING="1")
    assert playing.split()[1] == "False"
    assert traced.split()[1] == "True"
    assert playing.split()[0] == jit.build_hash() != traced.split()[0]


def test_the_playing_build_refuses_to_record() -> None:
    with pytest.raises(RuntimeError, match="SECATEUR_TRACING=1"):
        record("startpos", Limits(depth=1))
    with pytest.raises(RuntimeError, match="in use already"):
        choose_tracing()


def test_the_tracing_build_can_be_chosen_before_the_kernels_are_imported(run_python: Callable[..., str]) -> None:
    script = "from search.explorer.build import choose_tracing as c; c()\n"
    script += "import engine.compiler.jit as j; c(); print(j.TRACING)"
    assert run_python(script, SECATEUR_TRACING=None).split() == ["True"]


def test_codes_and_keys_agree() -> None:
    renamed = {
        "DRAW_BY_RULE": "draw",
        "TT_CUTOFF": "table",
        "EVASION_LIMIT": "evasions",
        "BAD_HISTORY": "history",
        "WINDOW": "window",
        "PROBCUT_SEARCH": "probcut",
    }
    codes = {name: value for name, value in vars(tracing).items() if name.isupper() and type(value) is int}
    reasons = (
        "STOPPED DRAW_BY_RULE MATE_DISTANCE TT_CUTOFF RAZORING REVERSE_FUTILITY NULL_MOVE PROBCUT MULTI_CUT CUTOFF "
        "ALL_MOVES ONLY_MOVE CHECKMATE STALEMATE STAND_PAT HORIZON LATE_MOVE FUTILITY EVASION_LIMIT BAD_HISTORY "
        "EXCHANGE_QUIET EXCHANGE_NOISY DELTA EXCHANGE_QUIESCENCE EXCLUDED"
    ).split()
    searches = "WINDOW RAZOR VERIFY SINGULAR NULL PROBE PROBCUT_SEARCH MOVE FULL_DEPTH OPEN_WINDOW".split()
    for names, table in ((reasons, REASONS), (searches, SEARCHES), (["PV", "CUT", "ALL"], chess_document.TYPES)):
        assert len(names) == len(table)
        for name in names:
            key = table[codes[name]][0]
            assert key in (renamed.get(name), name, name.lower().replace("_", "-")), name
    assert tuple(TECHNIQUES) == SWITCHES
    assert set(SWITCHES) <= {key for key, _ in REASONS}


# --- the same search -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "position", "depth"), SEARCHED)
def test_the_traced_search_is_the_untraced_one(recorded: Recorded, name: str, position: str, depth: int) -> None:
    found = Searcher(16, network=shipped_network()).search(read_game(position), Limits(depth=depth))
    assert found.info is not None
    result = recorded.documents[name]["result"]
    assert (result["nodes"], result["value"], result["depth"]) == (found.nodes, found.info.score, depth)
    assert result["line"] == [move.uci() for move in found.info.pv]


def test_the_benchmark_counts_the_same_nodes(recorded: Recorded) -> None:
    nodes: list[int] = []
    run_benchmark(9, on_position=lambda index, count, fen: nodes.append(count))
    assert recorded.facts["bench"] == nodes
    assert recorded.facts["rows"] == 100_000  # full, so that both kinds of visit are in it


def test_a_full_recording_changes_nothing_but_says_so(recorded: Recorded) -> None:
    whole, small = recorded.documents["tactics"], recorded.documents["small"]
    assert small["truncated"]
    assert not whole["truncated"]
    assert small["result"] == whole["result"]
    assert small["left_out"]["visits"] == len(whole["nodes"]["parent"]) - 1000
    columns = small["nodes"]
    assert {len(column) for column in columns.values()} == {1000}
    for name in set(columns) - {"move"}:
        assert columns[name] == whole["nodes"][name][:1000], name
    assert moves_of(small) == moves_of(whole)[:1000]
    assert [row["nodes"] for row in small["iterations"]] == [row["nodes"] for row in whole["iterations"]]


def test_the_same_search_gives_the_same_document(recorded: Recorded) -> None:
    assert recorded.documents["again"] == recorded.documents["tactics"]


def test_a_node_limit_is_exact_and_leaves_an_open_path(recorded: Recorded) -> None:
    document = recorded.documents["nodes"]
    assert document["result"]["nodes"] == 4321
    assert not document["iterations"][-1]["complete"]
    assert document["iterations"][-1]["windows"][-1]["outcome"] == "stopped"
    tree = Tree.of(document)
    stopped = [row for row in tree if tree.end[row] == "stopped"]
    assert stopped
    for row in stopped:
        assert tree.parent[row] == -1 or tree.parent[row] in stopped
        assert tree.value[row] is None


def test_a_search_that_ends_at_once_still_has_a_move(recorded: Recorded) -> None:
    document = recorded.documents["one node"]
    assert document["result"]["nodes"] == 1
    assert chess.Move.from_uci(document["result"]["move"]) in chess.Board(document["position"]).legal_moves


def test_a_search_that_is_stopped_holds_what_was_searched_by_then(recorded: Recorded) -> None:
    document = recorded.documents["stopped"]
    assert 1 <= document["result"]["depth"] < 60
    assert not document["iterations"][-1]["complete"]
    assert chess.Move.from_uci(document["result"]["move"]) in chess.Board().legal_moves
    assert document["left_out"]["visits"] == document["result"]["visits"] - 20_000


def test_a_recording_says_which_version_made_it(recorded: Recorded) -> None:
    assert {document["engine"] for document in recorded.documents.values()} == {full_name()}
    assert re.fullmatch(r"Secateur \d+\.\d+\.\d+.*", full_name())


def test_a_time_limit_ends_the_search(recorded: Recorded) -> None:
    assert recorded.documents["time"]["limits"] == {"depth": None, "nodes": None, "milliseconds": 30}
    assert recorded.documents["time"]["result"]["depth"] >= 1


INTERPRETED = """
import sys, warnings
from pathlib import Path
warnings.simplefilter("error")
from engine.compiler.jit import INTERPRETED
from search.explorer.chess_document import save
from search.explorer.recording import record
from search.limits import Limits
assert INTERPRETED
save(record(sys.argv[1], Limits(depth=2), 200), Path(sys.argv[2]))
"""


def test_the_interpreted_recording_is_the_compiled_one(
    recorded: Recorded, run_python: Callable[..., str], tmp_path: Path
) -> None:
    path = tmp_path / "interpreted.json"
    run_python(INTERPRETED, SEARCHED[1][1], str(path), SECATEUR_TRACING="1", NUMBA_DISABLE_JIT="1")
    assert chess_document.load(path) == recorded.documents["shallow"]
    assert recorded.documents["shallow"]["truncated"]
