"""The recorded tree is what the search did: every row follows the rules of the search."""

from __future__ import annotations

import pytest

from search import tunables
from search.explorer.chess_document import MOVE_SEARCHES, REASONS
from search.kernels.score import MATE, MATE_BOUND
from search.theory.exchange import exchange_value
from tests.explorer.conftest import Recorded
from tests.explorer.recorded_tree import Tree

TUNE = tunables.defaults()

#: Searches that count as nodes: those that begin with making a move or passing.
COUNTED_SEARCHES = ("null", "probe", "move")


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
    iterations = tree.document["iterations"]
    assert sum(iteration["nodes"] for iteration in iterations) == result["nodes"]
    first = 0
    for iteration in iterations:
        assert iteration["first_node"] == first
        rows = range(first, iteration["last_node"] + 1)
        assert sum(tree.search[row] in COUNTED_SEARCHES for row in rows) == iteration["nodes"]
        if iteration["complete"]:
            *failed, last = (row for row in rows if tree.parent[row] == -1)
            assert tree.alpha[last] < tree.value[last] == iteration["value"] < tree.beta[last]
            assert not any(tree.alpha[row] < tree.value[row] < tree.beta[row] for row in failed)
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
        has_move = tree.search[row] not in ("window", "verify", "singular")
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
            late = TUNE["iir_cut"] if tree.search[row] in ("null", "probcut") and tree.reduction[parent] > 0 else 0
            # A move that has raised alpha shortens the searches of the others.
            raised = TUNE["raised_depth"] if tree.type[parent] == "PV" else 0
            assert expected - raised <= tree.depth[row] <= expected + late
        reduced += tree.reduction[row] > 0
        extended += tree.extension[row] > 0
    assert reduced or len(tree.parent) < 3000
    # Short searches extend few moves.
    assert extended or len(tree.parent) < 20_000


def _cutoff_values(tree: Tree, row: int, score: int, beta: int) -> set[int]:
    """Returns the values that a node may have after a move scored `score`, at least `beta`: means of the two."""
    if tree.quiescence[row] or max(abs(score), abs(beta)) >= MATE_BOUND:
        return {score}
    # A move that has raised alpha shortens the node.
    least = max(tree.depth[row] - TUNE["raised_depth"], 1) if tree.type[row] == "PV" else tree.depth[row]
    weight = TUNE["fail_high_weight"]
    return {(score * depth + beta * weight) // (depth + weight) for depth in range(least, tree.depth[row] + 1)}


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
            assert replies[-1] == max(replies)
            assert value in _cutoff_values(tree, row, replies[-1], beta)
            assert value >= beta
        elif end == "all-moves":
            assert value < beta
            best = max(replies, default=-MATE)
            if tree.quiescence[row] and tree.eval[row] is not None:
                best = max(best, tree.estimate[row])
            assert value >= best if "delta" in tree.skips[row].values() else value == best
        elif end == "draw":
            assert value == 0
        elif end == "mate-distance":
            assert alpha >= beta
        elif end == "table":
            assert value >= beta or value <= alpha
            assert tree.type[row] != "PV"
        elif end == "null-move":
            assert value >= beta
            assert any(tree.search[child] == "null" and -tree.value[child] >= beta for child in children)
        elif end == "probcut":
            if tree.eval[row] is None:
                assert value == beta + TUNE["check_probcut_margin"]
            else:
                assert tree.search[children[-1]] == "probcut"
                margin = TUNE["probcut_margin"] - TUNE["probcut_improving"] * tree.improving[row]
                assert value == -tree.value[children[-1]] >= beta + margin
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
            assert value == tree.estimate[row] >= beta
        elif end == "reverse-futility":
            assert tree.depth[row] <= TUNE["rfp_depth"]
            assert value == tree.estimate[row] >= beta
        else:
            pytest.fail(f"{end} at row {row}")


def test_every_legal_move_is_searched_skipped_or_cut_off(tree: Tree) -> None:
    for row, board in tree.boards():
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
    for row, board in tree.boards():
        skips = tree.skips[row]
        if not skips:
            continue
        depth, alpha = tree.depth[row], tree.alpha_of(row)
        is_null_window = tree.type[row] != "PV"
        # A move that has raised alpha shortens the searches of the others.
        least = depth if is_null_window else max(depth - TUNE["raised_depth"], 1)
        moves = {text: board.parse_uci(text) for text in skips}
        noisy = {text: board.is_capture(move) or bool(move.promotion) for text, move in moves.items()}
        counted = len(tree.searched(row)) + sum(reason not in ("late-move", "excluded") for reason in skips.values())
        for text, reason in skips.items():
            move = moves[text]
            if reason == "late-move":
                assert not noisy[text]
                assert counted >= (TUNE["lmp_base"] + least * least) // (2 - tree.improving[row])
            elif reason == "futility":
                assert not board.is_check()
                assert not move.promotion
            elif reason == "history":
                assert not noisy[text]
            elif reason == "exchange-quiet":
                assert not noisy[text]
                assert exchange_value(board, move) < 0
            elif reason == "exchange-noisy":
                assert noisy[text]
                assert exchange_value(board, move) < -TUNE["see_noisy_margin"] * least
            elif reason == "delta":
                assert not board.gives_check(move)
                assert not is_null_window or tree.estimate[row] + TUNE["delta_margin"] <= alpha
            elif reason == "enough":
                assert not board.is_check()
                assert not board.gives_check(move)
                assert len(tree.searched(row)) + len(skips) > TUNE["quiescence_moves"]
            elif reason == "exchange-quiescence":
                assert exchange_value(board, move) < -TUNE["quiescence_see_margin"]
            elif reason == "evasions":
                assert board.is_check()
                assert not noisy[text]
                assert tree.moves_searched[row] >= TUNE["quiescence_evasions"]
            else:
                assert reason == "excluded"
                assert tree.search[row] == "singular"


def test_nobody_passes_with_pawns_alone(recorded: Recorded) -> None:
    """There, having to move can be what loses."""
    tree = recorded.tree("pawns")
    tempted = [
        row
        for row in tree
        if tree.type[row] != "PV"
        and tree.search[row] != "singular"
        and tree.depth[row] >= TUNE["nmp_depth"]
        and tree.estimate[row] is not None
        and tree.estimate[row] >= tree.beta_of(row)
        and tree.end[row] in ("cutoff", "all-moves")
    ]
    assert len(tempted) > 20
    assert "null" not in tree.search


def test_every_reason_occurs(recorded: Recorded) -> None:
    found: set[str] = set()
    for name in recorded.names():
        found |= {row["key"] for row in recorded[name]["statistics"]["reasons"]}
    # Lines of 128 plies do not come up in so short searches.
    assert found == {key for key, _ in REASONS} - {"horizon"}
