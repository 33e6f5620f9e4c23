"""The search as a whole: the moves and scores that it finds, its limits, and that it repeats."""

import threading
import time

import chess
import pytest

from search.kernels.score import MATE
from search.limits import Clock, Limits
from search.searcher import Game, Info, Searcher
from tests.search.games import ENDING, KIWIPETE, MATE_IN_ONE, check_lines, game, last_info

ROOK_UP = "7k/8/8/8/8/8/r7/6K1 {} - - 0 1"


@pytest.mark.parametrize(
    ("fen", "moves", "best"),
    [
        (MATE_IN_ONE, 1, "d1d8"),
        ("r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4", 1, "h5f7"),
        ("r3r1k1/5ppp/8/8/8/8/4QPPP/4R1K1 w - - 0 1", 2, "e2e8"),
        ("3k4/8/3K4/8/8/8/8/7R w - - 0 1", 1, "h1h8"),
        # Mate on the hundredth ply of the fifty-move rule counts.
        ("6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 99 80", 1, "d1d8"),
    ],
)
def test_mates_are_found_with_their_distance(searcher: Searcher, fen: str, moves: int, best: str) -> None:
    result = searcher.search(game(fen), Limits(depth=2 * moves + 2))
    assert last_info(result).score == MATE - (2 * moves - 1)
    assert last_info(result).mate == moves
    assert result.best == chess.Move.from_uci(best)


def test_being_mated_counts_negative(searcher: Searcher) -> None:
    info = last_info(searcher.search(game("k7/8/8/8/8/1r6/r7/4K3 w - - 0 1"), Limits(depth=4)))
    assert (info.score, info.mate) == (-(MATE - 2), -1)


@pytest.mark.parametrize("fen", ["7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", "R5k1/5ppp/8/8/8/8/8/6K1 b - - 0 1"])
def test_no_legal_move_gives_no_move(searcher: Searcher, fen: str) -> None:
    result = searcher.search(game(fen), Limits(depth=4))
    assert (result.best, result.nodes) == (None, 0)


@pytest.mark.parametrize("fen", [chess.STARTING_FEN, KIWIPETE, ENDING])
def test_every_line_is_legal_to_its_end(searcher: Searcher, fen: str) -> None:
    infos: list[Info] = []
    result = searcher.search(game(fen), Limits(depth=7), infos.append)
    assert [info.depth for info in infos] == list(range(1, 8))
    assert infos[-1].pv[0] == result.best
    check_lines(fen, infos)
    assert all(len(info.pv) >= min(info.depth, 2) and info.selective_depth <= 128 for info in infos)


@pytest.mark.parametrize("nodes", [1, 2, 50, 1000, 12_345, 100_000])
def test_node_limits_are_exact(searcher: Searcher, nodes: int) -> None:
    result = searcher.search(game(KIWIPETE), Limits(nodes=nodes))
    assert result.nodes == nodes
    assert result.best is not None


def test_a_new_game_forgets_everything(searcher: Searcher) -> None:
    def run(searcher: Searcher) -> tuple[int, chess.Move | None, int]:
        searcher.new_game()
        result = searcher.search(game(KIWIPETE), Limits(depth=7))
        return result.nodes, result.best, last_info(result).score

    first = run(searcher)
    searcher.search(game(), Limits(depth=6))
    assert run(searcher) == first == run(Searcher(1))


def test_search_moves_restrict_the_root(searcher: Searcher) -> None:
    result = searcher.search(game(), Limits(depth=6, search_moves=("a2a3", "h2h4")))
    assert str(result.best) in ("a2a3", "h2h4")


def test_stop_ends_an_infinite_search(searcher: Searcher) -> None:
    searcher.arm()
    timer = threading.Timer(0.1, searcher.stop)
    timer.start()
    result = searcher.search(game(), Limits(infinite=True))
    assert result.seconds < 10
    assert result.best is not None


def test_a_stop_before_the_start_still_gets_a_move(searcher: Searcher) -> None:
    searcher.arm()
    searcher.stop()
    result = searcher.search(game(KIWIPETE), Limits(infinite=True))
    assert result.best is not None
    assert last_info(result).depth == 1


def test_move_time_is_kept(searcher: Searcher) -> None:
    start = time.perf_counter()
    searcher.search(game(KIWIPETE), Limits(move_time=200))
    assert 0.15 < time.perf_counter() - start < 5


def test_an_only_move_costs_no_clock(searcher: Searcher) -> None:
    result = searcher.search(game("7k/8/8/8/8/8/1r6/K7 w - - 0 1"), Limits(clock=Clock(600_000)))
    assert result.seconds < 5
    assert result.best == chess.Move.from_uci("a1b2")


@pytest.mark.parametrize(
    ("start", "depth", "restriction", "score"),
    [
        pytest.param(game("6k1/6p1/8/6KQ/1r6/q2b4/8/8 w - - 0 32"), 8, None, 0, id="perpetual check"),
        # White goes back to g1 for the third time.
        pytest.param(
            game(ROOK_UP.format("b"), "a2b2", "g1f1", "b2a2", "f1g1", "a2b2", "g1f1"), 4, "b2a2", 0, id="third time"
        ),
        # After 400 plies of shuffling the position a move ahead has occurred before.
        pytest.param(game(ROOK_UP.format("w"), *("g1f1", "a2b2", "f1g1", "b2a2") * 100), 4, "g1f1", 0, id="long game"),
        pytest.param(game("7k/8/8/8/8/8/8/KR6 w - - 99 80"), 5, None, 0, id="fifty moves"),
        pytest.param(game("8/8/4k3/8/8/3NK3/8/8 w - - 0 1"), 5, None, 0, id="bare minor piece"),
    ],
)
def test_draws_are_seen(searcher: Searcher, start: Game, depth: int, restriction: str | None, score: int) -> None:
    limits = Limits(depth=depth, search_moves=None if restriction is None else (restriction,))
    assert last_info(searcher.search(start, limits)).score == score


def test_a_root_that_is_drawn_already_is_searched(searcher: Searcher) -> None:
    shuffled = game(ROOK_UP.format("b"), *("a2b2", "g1f1", "b2a2", "f1g1") * 2)
    assert shuffled.board.is_repetition(3)
    assert searcher.search(shuffled, Limits(depth=6)).best is not None


def test_a_pawn_move_keeps_a_win_that_the_fifty_move_rule_would_end(searcher: Searcher) -> None:
    result = searcher.search(game("7k/8/8/8/8/8/P7/KR6 w - - 99 80"), Limits(depth=5))
    assert last_info(result).score > 300
    assert str(result.best) in ("a2a3", "a2a4")


def test_chess960_castling_is_king_takes_rook(searcher: Searcher) -> None:
    start = game("4k3/8/8/8/8/8/8/RK5R w HA - 0 1", chess960=True)
    assert searcher.search(start, Limits(depth=3, search_moves=("b1h1",))).best == chess.Move.from_uci("b1h1")


@pytest.mark.parametrize(
    "fen", ["8/8/8/8/8/8/8/8 w - - 0 1", "4k3/8/8/8/8/8/8/8 w - - 0 1", "4k3/8/8/8/8/8/4R3/4K3 w - - 0 1"]
)
def test_impossible_positions_are_refused(fen: str) -> None:
    with pytest.raises(ValueError, match="illegal position"):
        game(fen)


def test_a_game_replays_the_stack_of_its_board() -> None:
    board = chess.Board()
    for san in ("e4", "e5", "Nf3", "Nc6"):
        board.push_san(san)
    replayed = Game(board)
    assert replayed.board.fen() == board.fen()
    assert len(replayed.keys) == 5
    replayed.pop()
    assert len(replayed.keys) == 4
    assert replayed.board.fullmove_number == 2


def test_resizing_keeps_the_old_table_when_memory_is_short(searcher: Searcher) -> None:
    with pytest.raises(MemoryError):
        searcher.resize(1 << 40)
    for size in (None, 1):
        if size is not None:
            searcher.resize(size)
        assert searcher.search(game(KIWIPETE), Limits(depth=3)).best is not None
