"""The contracts of the search kernel, checked from outside."""

from typing import Any

import chess
import numpy as np
import pytest

from engine.board.convert import decode, encode, from_board
from engine.compiler.jit import kernel, subkernel
from search import tunables
from search.deepening import Deepening, Root
from search.kernels.alphabeta import MANY_CUTOFFS, search_root
from search.kernels.aspiration import _widen
from search.kernels.history import (
    BONUS_LESS,
    BUTTERFLY_LIMIT,
    CAPTURE_LIMIT,
    CONTINUATION_LIMIT,
    gravity,
    punish_refuted_move,
    reward_prior_move,
)
from search.kernels.score import INFINITE, LOWER, MATE, UPPER
from search.kernels.transposition import allocate_table, store
from search.kernels.worker import CORRECTION_LIMIT, NO_CONTINUATION, new_worker, set_tunables
from search.limits import MAX_PLY
from tests.search.games import ENDING, KIWIPETE, game, prepare

FENS = [
    chess.STARTING_FEN,
    KIWIPETE,
    "2rq1rk1/1b2bppp/p2ppn2/1p6/3NPP2/1BN1B3/PPP1Q1PP/R4RK1 b - - 1 14",
    ENDING,
    "8/5pk1/6p1/3R3p/1r5P/6P1/5PK1/8 w - - 4 44",
]


def root(fen: str) -> Any:
    """A new worker whose root is this position."""
    worker = new_worker()
    prepare(worker, game(fen))
    return worker


def value(fen: str, depth: int, alpha: int = -INFINITE, beta: int = INFINITE, exact: bool = False) -> int:
    """A search with an empty table and empty histories. `exact` switches all pruning but alpha-beta off."""
    worker = root(fen)
    if exact:
        set_tunables(worker, tunables.plain())
    return int(search_root(worker, allocate_table(1), depth, alpha, beta))


@pytest.mark.parametrize("fen", FENS)
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_without_pruning_the_value_is_the_same_in_every_window(fen: str, depth: int) -> None:
    exact = value(fen, depth, exact=True)
    for alpha, beta in [(exact - 50, exact + 50), (exact - 1, exact + 1), (exact - 1, exact + 900)]:
        assert value(fen, depth, alpha, beta, exact=True) == exact
    for distance in (1, 30, 300):
        assert exact <= value(fen, depth, exact + distance, exact + distance + 30, exact=True) <= exact + distance
        assert exact >= value(fen, depth, exact - distance - 30, exact - distance, exact=True) >= exact - distance


@pytest.mark.parametrize("name", ["aspiration_depth", "aspiration_window", "aspiration_growth"])
def test_windows_of_any_size_find_the_same_scores(name: str) -> None:
    """Without pruning, a score does not depend on its window. The nodes show that the tunable has an effect."""
    row = tunables.BY_NAME[name]
    exact = [value(FENS[2], depth, exact=True) for depth in range(1, 5)]
    nodes = set()
    for number in (row.low, row.default, row.high):
        worker, table = root(FENS[2]), allocate_table(1)
        set_tunables(worker, tunables.plain())
        for narrow in ("aspiration_depth", "aspiration_window"):
            set_tunables(worker, {narrow: tunables.BY_NAME[narrow].low})
        set_tunables(worker, {name: number})
        moves = worker["root_moves"][: worker["root_count"]].tolist()
        deepening = Deepening(worker, table, Root([worker["keys"][0]], moves, 1, 4))
        assert [found.score for found in deepening.iterations()] == exact
        nodes.add(int(worker["nodes"]))
    assert len(nodes) > 1


def test_the_best_move_comes_first_again_if_a_move_that_failed_high_is_refuted() -> None:
    """Otherwise an aborted search could play that move, although no window has shown that it is better."""
    worker = root(FENS[0])
    moves = worker["root_moves"][: worker["root_count"]].tolist()
    worker["expected"] = moves[0]
    worker["root_moves"][:3] = moves[2], moves[0], moves[1]
    worker["failed_high"], worker["width"] = 1, 6
    worker["alpha"], worker["beta"] = 10, 40
    assert _widen(worker, 5) == UPPER
    assert worker["root_moves"][: worker["root_count"]].tolist() == [moves[0], moves[2], moves[1], *moves[3:]]


@pytest.mark.parametrize("fen", FENS)
def test_the_full_search_is_deterministic(fen: str) -> None:
    for alpha in (-300, 0, 300):
        score = value(fen, 5, alpha, alpha + 1)
        assert -INFINITE < score < INFINITE
        assert value(fen, 5, alpha, alpha + 1) == score


@pytest.mark.parametrize("depth", range(4, 11))
def test_nobody_passes_with_pawns_alone(depth: int) -> None:
    """After Kf4 White is in zugzwang and loses its pawn.

    With this window White's evaluation is good enough for a null move, which would make Black lose its pawn instead.
    """
    board = chess.Board("8/8/8/3Kp3/4P1k1/8/8/8 b - - 0 1")
    worker = root(board.fen())
    worker["root_moves"][0] = encode(board, chess.Move.from_uci("g4f4"))
    worker["root_count"] = 1
    assert search_root(worker, allocate_table(1), depth, 30, 31) > 30


def test_an_aborted_search_says_so() -> None:
    worker = root(FENS[0])
    worker["stop"] = 1
    search_root(worker, allocate_table(1), 5, -INFINITE, INFINITE)
    assert worker["aborted"] == 1
    assert worker["nodes"] == 0
    worker["stop_threshold"] = 1
    worker["aborted"] = 0
    search_root(worker, allocate_table(1), 2, -INFINITE, INFINITE)
    assert worker["aborted"] == 0


def test_root_nodes_add_up() -> None:
    worker = root(FENS[1])
    search_root(worker, allocate_table(1), 4, -INFINITE, INFINITE)
    count = int(worker["root_count"])
    assert worker["root_nodes"][:count].sum() == worker["nodes"]
    assert worker["root_nodes"][:count].min() >= 1


def test_histories_are_fed_and_stay_within_their_limit() -> None:
    worker = root(FENS[1])
    search_root(worker, allocate_table(4), 10, -INFINITE, INFINITE)
    for name, limit in (
        ("butterfly_history", BUTTERFLY_LIMIT),
        ("capture_history", CAPTURE_LIMIT),
        ("continuation_history", CONTINUATION_LIMIT),
    ):
        assert 0 < np.abs(worker[name].astype(np.int64)).max() <= limit
    assert not worker["continuation_history"][NO_CONTINUATION].any()
    for name in ("pawn_corrections", "non_pawn_corrections", "continuation_corrections"):
        values = worker[name].astype(np.int64)
        assert 0 < np.abs(values).max() <= CORRECTION_LIMIT


@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("butterfly_share", "butterfly_history"),
        ("continuation_share", "continuation_history"),
        ("capture_share", "capture_history"),
    ],
)
def test_a_history_without_a_share_learns_nothing(name: str, table: str) -> None:
    worker = root(FENS[1])
    set_tunables(worker, {name: 0, "eval_change_weight": 0})
    search_root(worker, allocate_table(4), 9, -INFINITE, INFINITE)
    for other in ("butterfly_history", "continuation_history", "capture_history"):
        assert worker[other].any() == (other != table)


def test_what_earlier_searches_left_in_the_stack_does_not_matter() -> None:
    """The search resets everything before it reads it."""
    searched = []
    for left in (0, 99):
        worker = root(FENS[1])
        for name in ("cutoffs", "stat_score", "move_count", "double_extensions", "tt_hit", "threatened"):
            worker["stack"][name] = left
        value = search_root(worker, allocate_table(4), 8, -INFINITE, INFINITE)
        searched.append((value, int(worker["nodes"]), worker["stack"]["cutoffs"][1:8].tolist()))
    assert searched[0] == searched[1]
    assert max(searched[0][2]) > MANY_CUTOFFS


def test_the_table_knows_the_positions_of_pv_nodes() -> None:
    """The root and the positions of the PV are marked, and by no means all."""
    worker, table = root(FENS[1]), allocate_table(4)
    search_root(worker, table, 8, -INFINITE, INFINITE)
    words = {int(check ^ word): int(word) for check, word in table.tolist() if word}
    frame = worker["stack"][0]
    board = chess.Board(FENS[1])
    for move in frame["pv"][: min(int(frame["pv_length"]), 4)]:
        assert words[int(from_board(board)["key"])] >> 63 == 1
        board.push(decode(move))
    marked = sum(word >> 63 for word in words.values())
    assert 10 < marked < len(words) / 2


def bonus(depth: int) -> int:
    """The full bonus of a search to `depth` plies with the default tunables."""
    square, slope, most = (tunables.BY_NAME[f"history_bonus_{name}"].default for name in ("square", "slope", "max"))
    return min((square * depth + slope) * depth - BONUS_LESS, most)


@subkernel
def _store_lower(table: Any, key: Any, depth: Any, score: Any, move: Any) -> None:
    store(table, key, 1, 0, depth, score, LOWER, 0, move, 0)


def test_a_quiet_tt_move_that_cuts_off_gets_its_share() -> None:
    """The TT says that 1. e4 fails high, so nothing is searched, and only the history of 1. e4 changes."""
    move = encode(chess.Board(), chess.Move.from_uci("e2e4"))
    not_ours = encode(chess.Board(), chess.Move.from_uci("d7d5"))
    for stored, share in ((move, 100), (move, 50), (move, 0), (not_ours, 100), (0, 100)):
        worker, table = root(chess.STARTING_FEN), allocate_table(1)
        set_tunables(worker, {"tt_move_share": share, "butterfly_share": 100})
        _store_lower(table, worker["keys"][0], np.int64(5), np.int64(300), np.int64(stored))
        assert search_root(worker, table, 5, 299, 300) == 300
        assert worker["nodes"] == 0
        learnt = worker["butterfly_history"].astype(np.int64)
        expected = bonus(5) * share // 100 if stored == move else 0
        assert learnt[1, 0, 0, chess.E2, chess.E4] == expected
        assert np.count_nonzero(learnt) == (expected != 0)


@kernel
def _reward_prior_move(worker: Any, twice: Any) -> None:
    reward_prior_move(worker, np.int64(2), np.int64(5), twice)


@kernel
def _punish_refuted_move(worker: Any) -> None:
    punish_refuted_move(worker, np.int64(2), np.int64(5))


@pytest.mark.parametrize("share", [0, 50, 100])
@pytest.mark.parametrize(("uci", "learns"), [("g1f3", True), ("e4d5", False)])
def test_the_last_move_gets_its_share_for_having_no_answer_or_a_malus_for_a_good_one(
    share: int, uci: str, learns: bool
) -> None:
    """Only a quiet move learns, as an answer to the move before it and as a follow-up of none."""
    board = chess.Board("rnbqkbnr/ppp1pppp/8/3p4/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2")
    move = chess.Move.from_uci(uci)
    for call, factor in (
        (lambda worker: _reward_prior_move(worker, np.bool_(False)), 1),
        (lambda worker: _reward_prior_move(worker, np.bool_(True)), 2),
        (_punish_refuted_move, -1),
    ):
        worker = new_worker()
        shares = {"prior_move_share": share, "refuted_move_share": share, "continuation_share": 100}
        set_tunables(worker, shares)
        worker["stack"][0]["continuation"] = earlier = 77
        worker["stack"][1]["position"] = from_board(board)
        worker["stack"][1]["move"] = encode(board, move)
        call(worker)
        expected = factor * (bonus(5) * share // 100) if learns else 0
        number = 384 + 64 * (chess.KNIGHT - 1) + move.to_square
        assert worker["continuation_history"][earlier, number] == expected
        assert np.count_nonzero(worker["continuation_history"]) == (expected != 0)


@pytest.mark.parametrize("slope", [400, 600])
def test_moves_before_a_cutoff_lose_the_malus(slope: int) -> None:
    """The window asks for a mate at once, and the second move mates."""
    board = chess.Board("4k3/R7/8/8/8/8/8/4K2R w - - 0 1")
    worker = root(board.fen())
    worker["root_moves"][:2] = [encode(board, chess.Move.from_uci(uci)) for uci in ("a7a6", "h1h8")]
    worker["root_count"] = 2
    bonuses = {"history_bonus_slope": slope, "history_bonus_square": 0, "butterfly_share": 100}
    set_tunables(worker, bonuses | {"eval_change_weight": 0})
    assert search_root(worker, allocate_table(1), 1, MATE - 2, MATE - 1) == MATE - 1
    learnt = worker["butterfly_history"].astype(np.int64)[1]
    assert learnt[:, :, chess.A7, chess.A6].sum() == BONUS_LESS - slope
    assert learnt[:, :, chess.H1, chess.H8].sum() == slope - BONUS_LESS


@pytest.mark.parametrize("limit", [BUTTERFLY_LIMIT, CAPTURE_LIMIT, CONTINUATION_LIMIT])
@pytest.mark.parametrize("bonus", [100, 5_000, 100_000])
def test_gravity_never_leaves_its_limits(limit: int, bonus: int) -> None:
    value = 0
    for change in [bonus] * 1000 + [-bonus] * 2000:
        value = gravity(value, change, limit)
        assert abs(value) <= limit
    assert value < -0.9 * limit


@pytest.mark.parametrize("fen", [FENS[1], FENS[3]])
def test_every_number_may_be_set_to_the_ends_of_its_range(fen: str) -> None:
    for tunable in tunables.TUNABLES:
        for number in (tunable.low, tunable.high):
            worker, table = root(fen), allocate_table(1)
            set_tunables(worker, {tunable.name: number})
            assert abs(int(search_root(worker, table, 7, -INFINITE, INFINITE))) < INFINITE
            stored = table["word"][table["word"] != 0]
            assert int((stored >> np.uint64(48) & np.uint64(0xFF)).max()) <= MAX_PLY
