"""The search as a whole: what it finds, what it owes, and that it does the same thing twice."""

import threading
import time

import chess
import pytest

from search.kernels.score import MATE
from search.limits import Clock, Limits
from search.searcher import Game, Info, Searcher

KIWIPETE = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"


@pytest.fixture
def searcher() -> Searcher:
    return Searcher(4)


def game(fen: str, *moves: str, chess960: bool = False) -> Game:
    result = Game(chess.Board(fen, chess960=chess960))
    for move in moves:
        result.push(result.board.parse_uci(move))
    return result


MATES = [
    ("6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1", 1, "d1d8"),
    ("r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4", 1, "h5f7"),
    ("kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1", 2, "a1a6"),
    ("3k4/8/3K4/8/8/8/8/7R w - - 0 1", 1, "h1h8"),
    ("1k6/8/1K6/8/8/8/8/6QR w - - 0 1", 1, None),
]


@pytest.mark.parametrize(("fen", "moves", "best"), MATES)
def test_mates_are_found_with_their_distance(searcher: Searcher, fen: str, moves: int, best: str | None) -> None:
    result = searcher.search(game(fen), Limits(depth=2 * moves + 2))
    assert result.info is not None
    assert result.info.score == MATE - (2 * moves - 1)
    assert result.info.mate == moves
    if best is not None:
        assert result.best == chess.Move.from_uci(best)


def test_go_mate_ends_when_it_is_found(searcher: Searcher) -> None:
    result = searcher.search(game("kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1"), Limits(mate=2))
    assert result.info is not None
    assert result.info.mate == 2


def test_being_mated_counts_negative(searcher: Searcher) -> None:
    result = searcher.search(game("k7/8/8/8/8/1r6/r7/4K3 w - - 0 1"), Limits(depth=4))
    assert result.info is not None
    assert result.info.score == -(MATE - 2)
    assert result.info.mate == -1


@pytest.mark.parametrize("fen", ["7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", "R5k1/5ppp/8/8/8/8/8/6K1 b - - 0 1"])
def test_no_legal_move_gives_no_move(searcher: Searcher, fen: str) -> None:
    result = searcher.search(game(fen), Limits(depth=4))
    assert result.best is None
    assert result.nodes == 0


@pytest.mark.parametrize("depth", [1, 2, 5, 7])
@pytest.mark.parametrize("fen", [chess.STARTING_FEN, KIWIPETE, "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1"])
def test_every_line_is_legal_to_its_end(searcher: Searcher, fen: str, depth: int) -> None:
    infos: list[Info] = []
    result = searcher.search(game(fen), Limits(depth=depth), infos.append)
    assert [info.depth for info in infos] == list(range(1, depth + 1))
    assert infos[-1].pv[0] == result.best
    for info in infos:
        board = chess.Board(fen)
        for move in info.pv:
            assert move in board.legal_moves
            board.push(move)
        assert len(info.pv) >= min(info.depth, 2) or board.is_game_over(claim_draw=True)
        assert info.selective_depth <= 128


@pytest.mark.parametrize("nodes", [1, 2, 50, 1000, 12_345, 100_000])
def test_node_limits_are_exact(searcher: Searcher, nodes: int) -> None:
    result = searcher.search(game(KIWIPETE), Limits(nodes=nodes))
    assert result.nodes == nodes
    assert result.best is not None


def test_a_new_game_forgets_everything(searcher: Searcher) -> None:
    def run() -> tuple[int, str, int]:
        searcher.new_game()
        result = searcher.search(game(KIWIPETE), Limits(depth=7))
        assert result.info is not None
        return result.nodes, str(result.best), result.info.score

    first = run()
    searcher.search(game(chess.STARTING_FEN), Limits(depth=6))
    assert run() == first
    other = Searcher(4)
    result = other.search(game(KIWIPETE), Limits(depth=7))
    assert (result.nodes, str(result.best)) == first[:2]


def test_search_moves_restrict_the_root(searcher: Searcher) -> None:
    result = searcher.search(game(chess.STARTING_FEN), Limits(depth=6, search_moves=("a2a3", "h2h4")))
    assert result.best is not None
    assert result.best.uci() in ("a2a3", "h2h4")


def test_stop_ends_an_infinite_search(searcher: Searcher) -> None:
    searcher.arm()
    timer = threading.Timer(0.2, searcher.stop)
    timer.start()
    start = time.perf_counter()
    result = searcher.search(game(chess.STARTING_FEN), Limits(infinite=True))
    assert 0.2 <= time.perf_counter() - start < 2
    assert result.best is not None


def test_a_stop_before_the_start_still_gets_a_move(searcher: Searcher) -> None:
    searcher.arm()
    searcher.stop()
    result = searcher.search(game(KIWIPETE), Limits(infinite=True))
    assert result.best is not None
    assert result.info is not None
    assert result.info.depth == 1


def test_move_time_is_kept(searcher: Searcher) -> None:
    start = time.perf_counter()
    searcher.search(game(KIWIPETE), Limits(move_time=300))
    assert 0.2 < time.perf_counter() - start < 1.0


def test_an_only_move_costs_no_clock(searcher: Searcher) -> None:
    # The king's only square.
    only = game("7k/8/8/8/8/8/1r6/K7 w - - 0 1")
    assert only.board.legal_moves.count() == 1
    start = time.perf_counter()
    result = searcher.search(only, Limits(clock=Clock(600_000)))
    assert time.perf_counter() - start < 1
    assert result.best == chess.Move.from_uci("a1b2")


def test_the_side_that_is_lost_repeats(searcher: Searcher) -> None:
    """A queen behind, White draws by checking for ever."""
    fen = "6k1/6p1/8/6KQ/1r6/q2b4/8/8 w - - 0 32"
    result = searcher.search(game(fen), Limits(depth=8))
    assert result.info is not None
    assert result.info.score == 0
    assert result.best == chess.Move.from_uci("h5e8")


def test_a_third_occurrence_is_a_draw_in_the_tree(searcher: Searcher) -> None:
    """Black is a rook up; going back to a position that was there twice already would throw that away."""
    start = "7k/8/8/8/8/8/r7/6K1 b - - 0 1"
    shuffled = game(start, "a2b2", "g1f1", "b2a2", "f1g1", "a2b2", "g1f1", "b2a2", "f1g1")
    assert shuffled.board.is_repetition(3)
    result = searcher.search(shuffled, Limits(depth=6))
    assert result.best is not None  # the root is drawn by the rules, but a move is owed all the same
    shuffled = game(start, "a2b2", "g1f1", "b2a2", "f1g1", "a2b2", "g1f1")
    restricted = searcher.search(shuffled, Limits(depth=4, search_moves=("b2a2",)))
    assert restricted.info is not None
    assert restricted.info.score == 0  # White goes back to g1


def test_fifty_moves_end_the_game_in_the_tree(searcher: Searcher) -> None:
    """One quiet move from the fifty-move draw, a rook ahead: only captures and pawn moves keep the win."""
    result = searcher.search(game("7k/8/8/8/8/8/8/KR6 w - - 99 80"), Limits(depth=5))
    assert result.info is not None
    assert result.info.score == 0
    with_pawn = searcher.search(game("7k/8/8/8/8/8/P7/KR6 w - - 99 80"), Limits(depth=5))
    assert with_pawn.info is not None
    assert with_pawn.info.score > 300
    assert with_pawn.best is not None
    assert with_pawn.best.uci() in ("a2a3", "a2a4")


def test_mate_on_the_hundredth_ply_counts(searcher: Searcher) -> None:
    result = searcher.search(game("6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 99 80"), Limits(depth=4))
    assert result.best == chess.Move.from_uci("d1d8")
    assert result.info is not None
    assert result.info.mate == 1


def test_bare_minor_pieces_are_a_draw(searcher: Searcher) -> None:
    result = searcher.search(game("8/8/4k3/8/8/3NK3/8/8 w - - 0 1"), Limits(depth=5))
    assert result.info is not None
    assert result.info.score == 0


def test_chess960_castling_is_king_takes_rook(searcher: Searcher) -> None:
    fen = "4k3/8/8/8/8/8/8/RK5R w HA - 0 1"
    result = searcher.search(game(fen, chess960=True), Limits(depth=3, search_moves=("b1h1",)))
    assert result.best == chess.Move.from_uci("b1h1")


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


def test_long_games_keep_the_keys_that_matter(searcher: Searcher) -> None:
    """After 400 plies of shuffling the position a move ahead has been there before: a draw, whoever is ahead."""
    long = game("7k/8/8/8/8/8/r7/6K1 w - - 0 1")
    for _ in range(100):
        for move in ("g1f1", "a2b2", "f1g1", "b2a2"):
            long.push(chess.Move.from_uci(move))
    result = searcher.search(long, Limits(depth=4, search_moves=("g1f1",)))
    assert result.info is not None
    assert result.info.score == 0


def test_resizing_keeps_the_old_table_when_memory_is_short(searcher: Searcher) -> None:
    with pytest.raises(MemoryError):
        searcher.resize(1 << 40)
    assert searcher.search(game(KIWIPETE), Limits(depth=3)).best is not None
    searcher.resize(1)
    assert searcher.search(game(KIWIPETE), Limits(depth=3)).best is not None
