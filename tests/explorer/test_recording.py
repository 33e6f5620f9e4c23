"""The tracing build: it searches as the playing build does, and what it writes down is what happened."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import chess
import numpy as np
import pytest

from engine import jit
from eval.network.format import shipped_network
from search import tracing, tunables
from search.benchmark import run_benchmark
from search.explorer import chess_document
from search.explorer.build import choose_tracing
from search.explorer.chess_document import COUNTED_SEARCHES, MOVE_SEARCHES, REASONS, SEARCHES, keys
from search.explorer.measures import counted_nodes, statistics, tree_sizes
from search.explorer.positions import read_game
from search.explorer.recording import TECHNIQUES, RecordingError, game_at, record
from search.limits import Limits
from search.score import MATE
from search.searcher import Searcher
from search.theory.exchange import exchange_value, worth
from search.worker import WORKER
from tests.explorer.conftest import SEARCHED, Recorded

TUNE = tunables.defaults()
NAMES = [name for name, _, _ in SEARCHED]


# --- the playing build ---------------------------------------------------------------------------------------------


def test_the_playing_build_has_no_recording() -> None:
    assert not jit.TRACING
    assert tracing.TRACE_FIELDS == []
    assert "recording" not in (WORKER.names or ())


def test_hooks_are_nothing_in_the_playing_build() -> None:
    """The machine code of a function full of hooks is that of the function without them."""

    @jit.subkernel
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
        return tracing.ended(worker, tracing.CUTOFF if value > worker.nodes else tracing.TABLE, value + 1)

    @jit.subkernel
    def unwatched(worker: Any, value: Any) -> Any:
        worker.nodes += 1
        return value + 1

    bodies = []
    for function in (watched, unwatched):
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
    script = "from engine import jit; print(jit.build_hash(), jit.TRACING)"
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
    script = "from search.explorer.build import choose_tracing as c; c(); import engine.jit as j; c(); print(j.TRACING)"
    assert run_python(script, SECATEUR_TRACING=None).split() == ["True"]


def test_codes_and_keys_agree() -> None:
    renamed = {
        "DRAW_BY_RULE": "draw",
        "EVASION_LIMIT": "evasions",
        "BAD_HISTORY": "history",
        "WINDOW": "window",
        "PROBCUT_SEARCH": "probcut",
    }
    codes = {name: value for name, value in vars(tracing).items() if name.isupper() and type(value) is int}
    reasons = (
        "STOPPED DRAW_BY_RULE MATE_DISTANCE TABLE RAZORING REVERSE_FUTILITY NULL_MOVE PROBCUT MULTI_CUT CUTOFF "
        "ALL_MOVES ONLY_MOVE CHECKMATE STALEMATE STAND_PAT HORIZON LATE_MOVE FUTILITY EVASION_LIMIT BAD_HISTORY "
        "EXCHANGE_QUIET EXCHANGE_NOISY DELTA EXCHANGE_QUIESCENCE EXCLUDED"
    ).split()
    searches = "WINDOW RAZOR VERIFY SINGULAR NULL PROBE PROBCUT_SEARCH MOVE FULL_DEPTH OPEN_WINDOW".split()
    for names, table in ((reasons, REASONS), (searches, SEARCHES), (["PV", "CUT", "ALL"], chess_document.TYPES)):
        assert len(names) == len(table)
        for name in names:
            key = table[codes[name]][0]
            assert key in (renamed.get(name), name, name.lower().replace("_", "-")), name
    assert set(TECHNIQUES) <= {key for key, _ in REASONS}


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


def test_a_time_limit_ends_the_search(recorded: Recorded) -> None:
    assert recorded.documents["time"]["limits"] == {"depth": None, "nodes": None, "milliseconds": 30}
    assert recorded.documents["time"]["result"]["depth"] >= 1


INTERPRETED = """
import sys, warnings
from pathlib import Path
warnings.simplefilter("error")
from engine.jit import INTERPRETED
from search.explorer.chess_document import save
from search.explorer.recording import record
from search.limits import Limits
assert INTERPRETED
save(record(sys.argv[1], Limits(depth=2), 500), Path(sys.argv[2]))
"""


def test_the_interpreted_recording_is_the_compiled_one(
    recorded: Recorded, run_python: Callable[..., str], tmp_path: Path
) -> None:
    path = tmp_path / "interpreted.json"
    run_python(INTERPRETED, SEARCHED[1][1], str(path), SECATEUR_TRACING="1", NUMBA_DISABLE_JIT="1")
    assert chess_document.load(path) == recorded.documents["shallow"]
    assert recorded.documents["shallow"]["truncated"]


# --- the tree ------------------------------------------------------------------------------------------------------


class Tree:
    """The columns of a document with codes as keys, and children at hand."""

    def __init__(self, document: Any) -> None:
        self.document = document
        for name, column in document["nodes"].items():
            setattr(self, name, column)
        for name, table in (("end", "reasons"), ("search", "searches"), ("type", "types"), ("stage", "stages")):
            texts = [*keys(document[table]), ""]
            setattr(self, name, [texts[code] for code in document["nodes"][name]])
        self.moves = moves_of(document)
        self.children: dict[int, list[int]] = defaultdict(list)
        for row, parent in enumerate(document["nodes"]["parent"]):
            self.children[parent].append(row)
        texts, reasons, pruned = document["moves"], keys(document["reasons"]), document["pruned"]
        self.skips: dict[int, dict[str, str]] = defaultdict(dict)
        for node, move, reason in zip(pruned["node"], pruned["move"], pruned["reason"], strict=True):
            assert texts[move] not in self.skips[node], "skipped twice"
            self.skips[node][texts[move]] = reasons[reason]

    _known: ClassVar[dict[int, Tree]] = {}

    @classmethod
    def of(cls, document: Any) -> Tree:
        if id(document) not in cls._known:
            cls._known[id(document)] = cls(document)
        return cls._known[id(document)]

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.document["nodes"]["parent"])))

    def finished(self) -> Iterator[int]:
        return (row for row in self if self.end[row] != "stopped")

    def searched(self, row: int) -> dict[str, int]:
        """The moves searched at a row with the visit that had the last word about each, in order."""
        return {self.moves[child]: child for child in self.children[row] if self.search[child] in MOVE_SEARCHES}

    def beta_of(self, row: int) -> int:
        """beta as the main search uses it: no mate is quicker than the next move's. See mate distance pruning."""
        beta: int = self.beta[row]
        return beta if self.quiescence[row] or not self.ply[row] else min(beta, MATE - self.ply[row] - 1)

    def alpha_of(self, row: int) -> int:
        alpha: int = self.alpha[row]
        return alpha if self.quiescence[row] or not self.ply[row] else max(alpha, self.ply[row] - MATE)


def moves_of(document: Any) -> list[str]:
    texts = [*document["moves"], ""]
    return [texts[code] for code in document["nodes"]["move"]]


@pytest.fixture(params=[*NAMES, "classical", "nodes", "no null move", "chess960"])
def tree(request: pytest.FixtureRequest, recorded: Recorded) -> Tree:
    return Tree.of(recorded.documents[request.param])


def test_visits_are_in_the_order_of_entering(tree: Tree) -> None:
    open_rows: list[int] = []
    for row in tree:
        while open_rows and open_rows[-1] != tree.parent[row]:
            open_rows.pop()
        assert open_rows or tree.parent[row] == -1
        open_rows.append(row)


def test_sizes_add_up_to_the_nodes(tree: Tree) -> None:
    for row in tree:
        assert tree.size[row] == 1 + sum(tree.size[child] for child in tree.children[row])
    result = tree.document["result"]
    assert sum(tree.size[row] for row in tree.children[-1]) == result["visits"] == len(tree.parent)
    assert counted_nodes(tree.document) == result["nodes"]
    iterations = tree.document["iterations"]
    assert sum(iteration["nodes"] for iteration in iterations) == result["nodes"]
    counted = {index for index, (key, _) in enumerate(SEARCHES) if key in COUNTED_SEARCHES}
    codes = tree.document["nodes"]["search"]
    first = 0
    for iteration in iterations:
        assert iteration["first_node"] == first
        rows = range(first, iteration["last_node"] + 1)
        assert sum(codes[row] in counted for row in rows) == iteration["nodes"]
        windows = iteration["windows"]
        assert [window["first_node"] for window in windows] == [row for row in rows if tree.parent[row] == -1]
        assert windows[-1]["last_node"] == iteration["last_node"]
        if iteration["complete"]:
            assert windows[-1]["outcome"] == "exact"
            assert windows[-1]["value"] == iteration["value"]
            assert [window["outcome"] for window in windows[:-1]].count("exact") == 0
        first = iteration["last_node"] + 1
    assert first == len(tree.parent)


def test_windows_lie_within_those_above(tree: Tree) -> None:
    for row in tree:
        assert tree.alpha[row] < tree.beta[row]
        assert (tree.type[row] == "PV") == (tree.beta[row] - tree.alpha[row] > 1)
        parent = tree.parent[row]
        if parent == -1:
            assert tree.search[row] == "window"
            assert (tree.ply[row], tree.moves[row], tree.stage[row]) == (0, "", "")
            continue
        has_move = tree.search[row] not in ("window", "razor", "verify", "singular")
        assert tree.ply[row] == tree.ply[parent] + has_move
        assert (tree.moves[row] != "") == has_move
        assert (tree.moves[row] == "0000") == (tree.search[row] == "null")
        assert (tree.stage[row] != "") == (has_move and tree.search[row] != "null")
        if tree.search[row] in MOVE_SEARCHES:
            assert -tree.beta[row] >= tree.alpha_of(parent)
            assert -tree.alpha[row] <= tree.beta_of(parent)
        if tree.search[row] == "null":
            assert (tree.alpha[row], tree.beta[row]) == (-tree.beta_of(parent), 1 - tree.beta_of(parent))


def test_depths_follow_from_reductions_and_extensions(tree: Tree) -> None:
    reduced = extended = 0
    for row in tree:
        parent = tree.parent[row]
        if tree.quiescence[row]:
            assert tree.depth[row] == 0
            continue
        assert tree.depth[row] >= 0
        if parent == -1:
            continue
        assert not tree.quiescence[parent]
        if tree.search[row] in (*MOVE_SEARCHES, "null", "probcut"):
            expected = tree.depth[parent] - 1 - tree.reduction[row] + tree.extension[row]
            # Behind a null move or for ProbCut the parent may have been shortened only afterwards.
            late = tree.search[row] in ("null", "probcut") and tree.reduction[parent] > 0
            assert tree.depth[row] in ((expected, expected + 1) if late else (expected,))
        reduced += tree.reduction[row] > 0
        extended += tree.extension[row] > 0
    assert reduced or len(tree.parent) < 3000
    assert extended or len(tree.parent) < 3000


def test_stages_come_in_the_picker_s_order(tree: Tree) -> None:
    order = {key: index for index, (key, _) in enumerate(chess_document.STAGES)}
    for row in tree:
        stages = [order[tree.stage[child]] for child in tree.searched(row).values()]
        assert stages == sorted(stages)
        assert ("root" in [tree.stage[child] for child in tree.children[row]]) == (
            tree.ply[row] == 0 and bool(tree.searched(row))
        )


def test_values_follow_from_how_nodes_ended(tree: Tree) -> None:
    for row in tree.finished():
        end, value, ply = tree.end[row], tree.value[row], tree.ply[row]
        alpha, beta = tree.alpha_of(row), tree.beta_of(row)
        searched = tree.searched(row)
        children = tree.children[row]
        replies = [-tree.value[child] for child in searched.values()]
        assert tree.moves_searched[row] == len(searched)
        assert tree.moves_pruned[row] == len(tree.skips[row])
        assert tree.cutter[row] == (len(searched) if end == "cutoff" else 0)
        if end == "cutoff":
            assert value == replies[-1] == max(replies) >= beta
        elif end == "all-moves":
            assert value < beta
            best = max(replies, default=-MATE)
            if tree.quiescence[row] and tree.eval[row] is not None:
                best = max(best, tree.eval[row])
            guesses = {"futility", "delta"} & set(tree.skips[row].values())
            assert value >= best if guesses else value == best
        elif end == "draw":
            assert value == 0
        elif end == "mate-distance":
            assert alpha >= beta
        elif end == "table":
            assert value >= beta or value <= alpha
            assert tree.type[row] != "PV"
        elif end == "razoring":
            assert tree.search[children[-1]] == "razor"
            assert value == tree.value[children[-1]] <= alpha
        elif end == "null-move":
            assert value >= beta
            assert any(tree.search[child] == "null" and -tree.value[child] >= beta for child in children)
        elif end == "probcut":
            assert tree.search[children[-1]] == "probcut"
            assert -tree.value[children[-1]] >= beta + TUNE[tunables.PROBCUT_MARGIN]
            assert value >= beta
        elif end == "multi-cut":
            assert tree.search[children[-1]] == "singular"
            assert tree.value[children[-1]] >= value >= beta
        elif end == "only-move":
            assert tree.search[row] == "singular"
            assert value == alpha
        elif end == "checkmate":
            assert value == ply - MATE
        elif end == "stalemate":
            assert value == 0
        elif end == "stand-pat":
            assert tree.quiescence[row]
            assert value == tree.eval[row] >= beta
        elif end == "reverse-futility":
            depth, improving, estimate = tree.depth[row], tree.improving[row], tree.estimate[row]
            assert depth <= TUNE[tunables.RFP_DEPTH]
            assert estimate - TUNE[tunables.RFP_MARGIN] * (depth - improving) >= beta
            assert value == (estimate + beta) // 2
        else:
            pytest.fail(f"{end} at row {row}")


def boards(tree: Tree, most: int = 1500) -> Iterator[tuple[int, chess.Board]]:
    """`most` rows from all over the tree, each with its board."""
    root = game_at(tree.document, 0).board
    for row in list(tree)[:: 1 + len(tree.parent) // most]:
        path = []
        above = row
        while above >= 0:
            path.append(tree.moves[above])
            above = tree.parent[above]
        board = root.copy(stack=False)
        for text in reversed(path):
            if text:
                board.push_uci(text)
        yield row, board


def test_every_legal_move_is_searched_skipped_or_cut_off(tree: Tree) -> None:
    for row, board in boards(tree):
        legal = {move.uci(): move for move in board.legal_moves}
        assert tree.legal[row] == len(legal)
        searched, skipped = set(tree.searched(row)), set(tree.skips[row])
        assert not searched & skipped
        assert searched | skipped <= set(legal)
        if tree.end[row] == "all-moves":
            if tree.quiescence[row] and not board.is_check():
                noisy = {text for text, move in legal.items() if board.is_capture(move) or move.promotion}
                assert noisy <= searched | skipped
            else:
                assert searched | skipped == set(legal)
        elif tree.end[row] == "checkmate":
            assert board.is_checkmate()
        elif tree.end[row] == "stalemate":
            assert board.is_stalemate()
        elif tree.end[row] == "only-move":
            assert list(tree.skips[row].values()) == ["excluded"]
            assert len(legal) == 1
        elif tree.end[row] not in ("cutoff", "stopped"):
            assert not searched
            assert not skipped


def test_reasons_for_skipping_are_true(tree: Tree) -> None:
    for row, board in boards(tree):
        skips = tree.skips[row]
        if not skips:
            continue
        depth, alpha, evaluation = tree.depth[row], tree.alpha_of(row), tree.eval[row]
        is_null_window = tree.type[row] != "PV"
        moves = {text: board.parse_uci(text) for text in skips}
        noisy = {text: board.is_capture(move) or bool(move.promotion) for text, move in moves.items()}
        quiet_searches = 0
        for text in tree.searched(row):
            move = board.parse_uci(text)
            quiet_searches += not (board.is_capture(move) or move.promotion)
        for text, reason in skips.items():
            move = moves[text]
            if reason == "late-move":
                limit = (TUNE[tunables.LMP_BASE] + depth * depth) // (2 - tree.improving[row])
                assert not noisy[text]
                assert quiet_searches == limit
            elif reason == "futility":
                assert not noisy[text]
                assert not board.is_check()
                assert not is_null_window or evaluation + TUNE[tunables.FUTILITY_BASE] <= alpha
            elif reason == "history":
                assert not noisy[text]
            elif reason == "exchange-quiet":
                assert not noisy[text]
                assert exchange_value(board, move) < 0
            elif reason == "exchange-noisy":
                assert noisy[text]
                assert exchange_value(board, move) < -TUNE[tunables.SEE_NOISY] * depth
            elif reason == "delta":
                victim = chess.PAWN if board.is_en_passant(move) else board.piece_type_at(move.to_square)
                hoped = evaluation + worth(victim) + TUNE[tunables.DELTA_MARGIN]
                assert not is_null_window or hoped <= max(alpha, evaluation)
            elif reason == "exchange-quiescence":
                assert exchange_value(board, move) < -TUNE[tunables.QUIESCENCE_LOSS]
            elif reason == "evasions":
                assert board.is_check()
                assert not noisy[text]
                assert tree.moves_searched[row] >= TUNE[tunables.EVASIONS]
            else:
                assert reason == "excluded"
                assert tree.search[row] == "singular"


def test_every_reason_occurs(recorded: Recorded) -> None:
    found: set[str] = set()
    for document in recorded.documents.values():
        found |= {row["key"] for row in document["statistics"]["reasons"]}
    # Lines of 128 plies do not come up in so short searches.
    assert found == {key for key, _ in REASONS} - {"horizon"}


def test_game_at_gives_the_position_of_a_row(recorded: Recorded) -> None:
    tree = Tree.of(recorded.documents["shuffled"])
    for row, board in boards(tree, 50):
        assert game_at(tree.document, row).board.fen() == board.fen()
    with pytest.raises(RecordingError, match="no node"):
        game_at(tree.document, len(tree.parent))


# --- switching off -------------------------------------------------------------------------------------------------


def test_what_is_switched_off_does_not_occur(recorded: Recorded) -> None:
    tree = Tree.of(recorded.documents["no null move"])
    assert tree.document["without"] == ["null-move"]
    assert "null-move" not in tree.end
    assert "null" not in tree.search
    assert "null" in Tree.of(recorded.documents["tactics"]).search


def test_the_cost_of_a_technique_is_counted_by_searching_without(recorded: Recorded) -> None:
    nodes, without = recorded.facts["cost"]
    assert nodes == recorded.documents["tactics"]["result"]["nodes"]
    assert without > nodes


# --- measures ------------------------------------------------------------------------------------------------------


def test_measures_follow_from_the_columns(tree: Tree) -> None:
    measures = tree.document["statistics"]
    assert statistics(tree.document) == measures
    cutters = [tree.cutter[row] for row in tree if tree.end[row] == "cutoff" and tree.quiescence[row]]
    quiescence = measures["quiescence_first_move"]
    assert (quiescence["nodes"], quiescence["first"]) == (len(cutters), cutters.count(1))
    first = measures["first_move"]
    assert sum(first["by_number"]) == first["nodes"] > 0
    assert first["by_number"][0] == first["first"]
    assert measures["first_move_best"] == first["share"] == round(first["first"] / first["nodes"], 4)
    by_key = {row["key"]: row for row in measures["reasons"]}
    for key, row in by_key.items():
        assert row["ended"] == tree.end.count(key)
    skipped = [reason for skips in tree.skips.values() for reason in skips.values()]
    for key in set(skipped):
        assert by_key[key]["skipped"] == skipped.count(key)
        assert by_key[key]["saved"] >= skipped.count(key)


def test_sizes_of_trees() -> None:
    # Knuth and Moore: b ** ceil(d / 2) + b ** floor(d / 2) - 1 leaves.
    for branching in (1, 2, 5):
        for depth in (0, 1, 2, 3, 6):
            sizes = tree_sizes([float(branching)] * depth)
            assert sizes["minimax_leaves"] == branching**depth
            assert sizes["minimal_leaves"] == branching ** ((depth + 1) // 2) + branching ** (depth // 2) - 1
            assert sizes["minimax"] == sum(branching**ply for ply in range(depth + 1))
    assert tree_sizes([20.0, 30.0, 10.0])["minimal"] == 1 + 20 + (20 + 30 - 1) + (200 + 30 - 1)


def test_first_moves_of_exact_nodes_are_found() -> None:
    """A PV node whose second move turned out best, after a search with a null window and one with an open one."""
    rows = [
        # parent, search, type, alpha, beta, value, end
        (-1, "window", "PV", -100, 100, 30, "all-moves"),
        (0, "move", "PV", -100, 100, -10, "all-moves"),
        (0, "move", "CUT", -11, -10, -15, "table"),
        (0, "open-window", "PV", -100, -10, -30, "all-moves"),
    ]
    document = small_document(rows)
    assert statistics(document)["first_move"]["by_number"][:3] == [0, 1, 0]


def small_document(rows: list[tuple[int, str, str, int, int, int, str]]) -> Any:
    document: Any = {
        name: chess_document.table(getattr(chess_document, name.upper()))
        for name in ("reasons", "searches", "stages", "types")
    }
    codes = {name: keys(document[name]).index for name in ("reasons", "searches", "types")}
    nodes: dict[str, list[int]] = {name: [0] * len(rows) for name in chess_document.NODE_COLUMNS}
    nodes["parent"] = [row[0] for row in rows]
    nodes["search"] = [codes["searches"](row[1]) for row in rows]
    nodes["type"] = [codes["types"](row[2]) for row in rows]
    nodes["alpha"], nodes["beta"], nodes["value"] = ([row[index] for row in rows] for index in (3, 4, 5))
    nodes["end"] = [codes["reasons"](row[6]) for row in rows]
    nodes["size"] = [1] * len(rows)
    nodes["depth"] = [2 if row[0] == -1 else 1 for row in rows]
    return document | {"nodes": nodes, "pruned": {"node": [], "move": [], "reason": []}, "iterations": [], "moves": []}
