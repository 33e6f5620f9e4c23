"""The tracing build searches as the playing build does, and records what happened."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import chess
import numpy as np
import pytest

from engine.compiler import jit
from engine.compiler.numba_hooks import entry_point
from eval.network.evaluator import NetworkEvaluator
from eval.network.format import shipped_network
from search import tunables
from search.benchmark import run_benchmark
from search.explorer import chess_document
from search.explorer.build import choose_tracing
from search.explorer.chess_document import REASONS, SEARCHES
from search.explorer.positions import read_board
from search.explorer.recording import record
from search.game import Game
from search.kernels import tracing
from search.kernels.worker import WORKER
from search.limits import Limits
from search.searcher import Searcher
from tests.explorer.conftest import SEARCHED, TACTICS, Recorded
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
        tracing.entered(worker, value, value, value, value, 0)
        tracing.entered_quiescence(worker, value, value, value)
        tracing.shortened(worker, value)
        tracing.evaluated(worker, value, value, 0)
        tracing.evaluated_quiescence(worker, value, value)
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


def test_the_playing_build_refuses_to_record() -> None:
    with pytest.raises(RuntimeError, match="SECATEUR_TRACING=1"):
        record(Game(), Limits(depth=1))
    with pytest.raises(RuntimeError, match="already in use"):
        choose_tracing()


def test_the_tracing_build_is_chosen_in_time_and_has_a_cache_of_its_own(
    run_python: Callable[..., str],
) -> None:
    script = "from search.explorer.build import choose_tracing as c; c()\n"
    script += "import engine.compiler.jit as j; c(); print(j.TRACING, j.build_hash())"
    tracing, build = run_python(script, SECATEUR_TRACING=None).split()
    assert tracing == "True"
    assert build != jit.build_hash()


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
        "STOPPED DRAW_BY_RULE MATE_DISTANCE TT_CUTOFF REVERSE_FUTILITY NULL_MOVE PROBCUT MULTI_CUT CUTOFF "
        "ALL_MOVES ONLY_MOVE CHECKMATE STALEMATE STAND_PAT HORIZON LATE_MOVE FUTILITY EVASION_LIMIT BAD_HISTORY "
        "EXCHANGE_QUIET EXCHANGE_NOISY DELTA ENOUGH EXCHANGE_QUIESCENCE EXCLUDED"
    ).split()
    searches = "WINDOW VERIFY SINGULAR NULL PROBE PROBCUT_SEARCH MOVE FULL_DEPTH OPEN_WINDOW".split()
    for names, table in ((reasons, REASONS), (searches, SEARCHES), (["PV", "CUT", "ALL"], chess_document.TYPES)):
        assert len(names) == len(table)
        for name in names:
            key = table[codes[name]][0]
            assert key in (renamed.get(name), name, name.lower().replace("_", "-")), name


# --- the same search -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "position", "depth"), SEARCHED)
def test_the_traced_search_is_the_untraced_one(recorded: Recorded, name: str, position: str, depth: int) -> None:
    found = Searcher(16, network=shipped_network()).search(Game(read_board(position)), Limits(depth=depth))
    assert found.info is not None
    result = recorded[name]["result"]
    assert (result["nodes"], result["value"], result["depth"]) == (found.nodes, found.info.score, depth)
    assert result["line"] == [move.uci() for move in found.info.pv]


@pytest.mark.parametrize("name", [row[0] for row in SEARCHED])
def test_quiet_moves_show_the_priors_of_the_policy(recorded: Recorded, name: str) -> None:
    document = recorded[name]
    nodes, moves = document["nodes"], document["moves"]
    network = shipped_network()
    assert network is not None
    evaluator = NetworkEvaluator(network)
    boards = {-1: read_board(document["position"])}
    least, shown = tunables.BY_NAME["policy_depth"].default, 0
    for row, (parent, move, prior) in enumerate(zip(nodes["parent"], nodes["move"], nodes["prior"], strict=True)):
        board = boards[parent].copy(stack=False)
        if move >= 0:
            board.push_uci(moves[move])
        boards[row] = board
        if prior is not None:
            assert nodes["depth"][parent] >= least
            expected = evaluator.priors(boards[parent])[chess.Move.from_uci(moves[move])]
            assert prior == pytest.approx(100 * expected, abs=0.051)
            shown += 1
        elif move >= 0 and moves[move] != "0000" and nodes["depth"][parent] >= least and not boards[parent].is_check():
            played = chess.Move.from_uci(moves[move])
            assert boards[parent].is_capture(played) or played.promotion or nodes["quiescence"][parent]
    assert shown > 0 or document["limits"]["depth"] < 6


def test_the_benchmark_counts_the_same_nodes(recorded: Recorded) -> None:
    nodes: list[int] = []
    run_benchmark(9, on_position=lambda index, count, fen: nodes.append(count))
    assert recorded.facts["bench"] == nodes
    assert recorded.facts["rows"] == 100_000  # full, so that both kinds of visit are in it


def test_a_full_recording_changes_nothing_but_says_so(recorded: Recorded) -> None:
    whole, small = recorded["tactics"], recorded["small"]
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


def test_a_node_limit_is_exact_and_leaves_an_open_path(recorded: Recorded) -> None:
    document = recorded["nodes"]
    assert document["result"]["nodes"] == 4321
    assert not document["iterations"][-1]["complete"]
    tree = Tree(document)
    stopped = [row for row in tree if tree.end[row] == "stopped"]
    assert stopped
    for row in stopped:
        assert tree.parent[row] == -1 or tree.parent[row] in stopped
        assert tree.value[row] is None


def test_an_incomplete_iteration_has_no_score(recorded: Recorded) -> None:
    document = recorded["new move"]
    *complete, last = document["iterations"]
    assert all(iteration["complete"] and iteration["value"] is not None for iteration in complete)
    assert (last["complete"], last["score"], last["value"]) == (False, "-", None)
    assert document["result"]["line"] == last["line"]
    assert document["result"]["value"] == complete[-1]["value"]


def test_a_search_that_ends_at_once_still_has_a_move(recorded: Recorded) -> None:
    document = recorded["one node"]
    assert document["result"]["nodes"] == 1
    assert chess.Move.from_uci(document["result"]["move"]) in chess.Board(document["position"]).legal_moves


def test_a_search_that_is_stopped_holds_what_was_searched_by_then(recorded: Recorded) -> None:
    document = recorded["stopped"]
    assert 1 <= document["result"]["depth"] < 60
    assert not document["iterations"][-1]["complete"]
    assert chess.Move.from_uci(document["result"]["move"]) in chess.Board().legal_moves
    assert document["left_out"]["visits"] == document["result"]["visits"] - 2_000


INTERPRETED = """
import sys, warnings
from pathlib import Path
warnings.simplefilter("error")
from engine.compiler.jit import INTERPRETED
from search.explorer.chess_document import save
from search.explorer.positions import read_board
from search.explorer.recording import record
from search.game import Game
from search.limits import Limits
assert INTERPRETED
save(record(Game(read_board(sys.argv[1])), Limits(depth=2), 200), Path(sys.argv[2]))
"""


def test_the_interpreted_recording_is_the_compiled_one(
    recorded: Recorded, run_python: Callable[..., str], tmp_path: Path
) -> None:
    path = tmp_path / "interpreted.json"
    run_python(INTERPRETED, TACTICS, str(path), SECATEUR_TRACING="1", NUMBA_DISABLE_JIT="1")
    assert json.loads(chess_document.read_text(path)) == recorded["shallow"]
    assert recorded["shallow"]["truncated"]
