"""The move picker: every move that a node wants, once, in the order of the stages."""

from __future__ import annotations

import random
from typing import Any

import chess
import numpy as np
import pytest

from engine.board.convert import encode, write_board
from engine.board.moves import MAX_MOVES, NO_MOVE
from engine.compiler.jit import kernel
from search import tunables
from search.kernels.history import CAPTURE_LIMIT, find_threats
from search.kernels.picker import (
    ALL_QUIETS,
    CHECKS_ONLY,
    ESCAPES,
    NO_QUIETS,
    SLACK,
    VICTIMS,
    next_move,
    start,
    usable_tt_move,
)
from search.kernels.transposition import allocate_table
from search.kernels.worker import NO_CONTINUATION, new_worker, set_tunables
from search.theory.exchange import exchange_value
from tests.board.board_positions import RARE_POSITIONS, random_game, scattered_position

PLY = 3
NEVER = MAX_MOVES


@kernel
def _pick_all(worker: Any, table: Any, ply: Any, tt_move: Any, quiets: Any, skip_after: Any, moves: Any) -> Any:
    """Writes the picker's moves, skips quiet moves after `skip_after` of them, and returns the number of moves."""
    frame = worker.stack[ply]
    start(worker, ply, usable_tt_move(frame.position, tt_move, quiets), quiets)
    count = np.int64(0)
    while True:
        if count == skip_after:
            frame.skip_quiets = 1
        move = next_move(worker, table, ply)
        if move == NO_MOVE:
            return count
        moves[count] = move
        count += 1


@kernel
def _find_threats(worker: Any, ply: Any) -> None:
    find_threats(worker, ply)


class Picker:
    """A worker with noise in its histories, and the moves of a board by code."""

    def __init__(self, rng: random.Random) -> None:
        self.worker = new_worker()
        self._table = allocate_table(1)
        noise = np.random.default_rng(rng.randrange(1 << 30))
        for name in ("butterfly_history", "capture_history", "continuation_history"):
            shape = self.worker[name].shape
            self.worker[name] = noise.integers(-CAPTURE_LIMIT + 1, CAPTURE_LIMIT, shape)
        self.worker["stack"]["continuation"] = NO_CONTINUATION
        self._moves = np.zeros(2 * MAX_MOVES, np.int32)

    def __call__(
        self,
        board: chess.Board,
        tt_move: int = NO_MOVE,
        quiets: int = ALL_QUIETS,
        skip_after: int = NEVER,
    ) -> list[int]:
        frame = self.worker["stack"][PLY]
        write_board(board, frame["position"])
        numbers = map(np.int64, (PLY, tt_move, quiets, skip_after))
        count = _pick_all(self.worker, self._table, *numbers, self._moves)
        return [int(move) for move in self._moves[:count]]


def _without_histories(seed: int) -> Picker:
    pick = Picker(random.Random(seed))
    for name in ("butterfly_history", "capture_history", "continuation_history"):
        pick.worker[name] = 0
    return pick


def codes(board: chess.Board) -> dict[int, chess.Move]:
    return {encode(board, move): move for move in board.legal_moves}


def is_noisy(board: chess.Board, move: chess.Move) -> bool:
    return board.is_capture(move) or move.promotion is not None


def stage(board: chess.Board, move: chess.Move) -> int:
    """Good noisy moves 0, quiet moves 1, bad noisy moves 2, without capture history."""
    if not is_noisy(board, move):
        return 1
    victim = chess.PAWN if board.is_en_passant(move) else board.piece_type_at(move.to_square)
    value = int(VICTIMS[victim or 0] + VICTIMS[move.promotion or 0]) - (board.piece_type_at(move.from_square) or 0)
    keeps = exchange_value(board, move) >= -value * SLACK // 1024 and move.promotion in (None, chess.QUEEN)
    return 0 if keeps else 2


def boards(rng: random.Random) -> list[chess.Board]:
    found = [chess.Board(fen, chess960=chess960) for fen, chess960 in RARE_POSITIONS]
    found += [scattered_position(rng) for _ in range(400)]
    for number in range(15):
        board = chess.Board() if number % 2 else chess.Board.from_chess960_pos(rng.randrange(960))
        found += [board.copy(stack=False) for _ in random_game(rng, board, 80)]
    return found


def test_every_legal_move_comes_once_whatever_the_table_says() -> None:
    rng = random.Random(21)
    pick, strangers = Picker(rng), [NO_MOVE]
    tabled = 0
    for board in boards(rng):
        legal = codes(board)
        quiets = [code for code, move in legal.items() if not is_noisy(board, move)]
        tt_move = rng.choice([*legal, *strangers, rng.randrange(1 << 16)])
        given = pick(board, tt_move)
        assert sorted(given) == sorted(legal), (board.fen(), tt_move)
        if tt_move in legal:
            assert given[0] == tt_move
            tabled += 1
        strangers = quiets or strangers
    assert tabled > 300


def test_stages_come_in_their_order() -> None:
    rng = random.Random(22)
    pick = Picker(rng)
    pick.worker["capture_history"] = 0
    bad_noisy = 0
    for board in boards(rng):
        legal = codes(board)
        stages = [stage(board, legal[code]) for code in pick(board)]
        assert stages == sorted(stages), board.fen()
        bad_noisy += stages.count(2)
    assert bad_noisy > 300


@pytest.mark.parametrize("quiets", [NO_QUIETS, CHECKS_ONLY])
def test_quiescence_gets_noisy_moves_and_the_checks_it_wants(quiets: int) -> None:
    rng = random.Random(23)
    pick = Picker(rng)
    checks = 0
    for board in boards(rng):
        if quiets == CHECKS_ONLY and board.is_check():
            continue  # in check, quiescence wants all evasions
        legal = codes(board)
        wanted = {
            code: move
            for code, move in legal.items()
            if is_noisy(board, move) or (quiets == CHECKS_ONLY and board.gives_check(move))
        }
        checks += sum(not is_noisy(board, move) for move in wanted.values())
        tt_move = rng.choice([NO_MOVE, *legal])
        assert sorted(pick(board, tt_move, quiets)) == sorted(wanted), board.fen()
    assert (checks > 300) == (quiets == CHECKS_ONLY)


def test_skipping_quiets_leaves_all_others_at_any_moment() -> None:
    rng = random.Random(24)
    pick = Picker(rng)
    for board in boards(rng)[::4]:
        legal = codes(board)
        quiets = {code for code, move in legal.items() if not is_noisy(board, move)}
        whole = pick(board)
        for moment in range(len(whole) + 1):
            given = pick(board, skip_after=moment)
            assert given[:moment] == whole[:moment]
            assert not quiets & set(given[moment:])
            assert sorted(given) == sorted(set(legal) - quiets | set(whole[:moment]))


def test_a_limited_player_sees_the_rest_of_the_moves() -> None:
    """All but those that it overlooks, in the same order; every reply to a check, every capture on the last square."""
    rng = random.Random(28)
    pick = Picker(rng)
    noise = np.random.default_rng(28)
    overlooked = retaken = 0
    for board in boards(rng):
        legal = codes(board)
        pick.worker["overlooks"] = 0
        every = pick(board)
        last = rng.choice(every or [NO_MOVE])
        blind = noise.integers(0, 3, (2, 64, 64), np.uint8)
        pick.worker["overlooks"], pick.worker["blind"] = 1, blind
        pick.worker["stack"][PLY - 1]["move"] = last

        seen = []
        for code in every:
            takes = board.is_capture(legal[code]) and code >> 6 & 63 == last >> 6 & 63
            degree = blind[int(board.turn), code & 63, code >> 6 & 63]
            retaken += takes and degree == 2
            if takes or degree <= is_noisy(board, legal[code]):
                seen.append(code)
        expected = every if board.is_check() else seen
        assert pick(board) == expected, board.fen()
        frame = pick.worker["stack"][PLY]
        assert frame["overlooked"] == len(every) - len(expected)
        overlooked += len(every) - len(expected)
    assert overlooked > 1000
    assert retaken > 50


def test_better_history_comes_first() -> None:
    board = chess.Board()
    pick = _without_histories(25)
    favourite = chess.Move.from_uci("b1c3")
    pick.worker["butterfly_history"][1, 0, 0, favourite.from_square, favourite.to_square] = 1
    assert pick(board)[0] == encode(board, favourite)
    pick.worker["butterfly_history"][1, 0, 0, favourite.from_square, favourite.to_square] = -1
    assert pick(board)[-1] == encode(board, favourite)


@pytest.mark.parametrize(("weight", "back"), [("butterfly_weight", 0), ("answer_weight", 1), ("follow_up_weight", 2)])
def test_a_history_counts_by_its_weight(weight: str, back: int) -> None:
    """One history prefers Nc3 by 100, another one prefers Nf3 by 50."""
    board, pick = chess.Board(), _without_histories(28)
    pick.worker["stack"][PLY - 1]["continuation"] = 400
    pick.worker["stack"][PLY - 2]["continuation"] = 20

    def prefer(move: chess.Move, history: int, amount: int) -> None:
        if history == 0:
            pick.worker["butterfly_history"][1, 0, 0, move.from_square, move.to_square] = amount
        else:
            number = 384 + 64 * (chess.KNIGHT - 1) + move.to_square
            pick.worker["continuation_history"][400 if history == 1 else 20, number] = amount

    knights = [chess.Move.from_uci(uci) for uci in ("b1c3", "g1f3")]
    prefer(knights[0], back, 100)
    prefer(knights[1], (back + 1) % 3, 50)
    for name in ("butterfly_weight", "answer_weight", "follow_up_weight"):
        set_tunables(pick.worker, {name: 128})
    set_tunables(pick.worker, {"far_weight": 0})
    for number, best in ((128, 0), (66, 0), (62, 1), (0, 1)):
        set_tunables(pick.worker, {weight: number})
        assert pick(board)[0] == encode(board, knights[best])


@pytest.mark.parametrize(
    ("threats", "place"), [((), 0), ((chess.B1,), 19), ((chess.C3,), 19), ((chess.B1, chess.C3), 19)]
)
def test_threats_select_the_butterfly_history(threats: tuple[int, ...], place: int) -> None:
    """Only where the opponent attacks neither square of a move, that move has a good history."""
    pick = _without_histories(27)
    pick.worker["butterfly_history"][1, :, :, chess.B1, chess.C3] = -1
    pick.worker["butterfly_history"][1, 0, 0, chess.B1, chess.C3] = 1
    pick.worker["stack"]["threats"] = chess.SquareSet(threats).mask
    board = chess.Board()
    assert pick(board)[place] == encode(board, chess.Move.from_uci("b1c3"))


@pytest.mark.parametrize(
    ("fen", "move", "raised"),
    [
        pytest.param("6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1", "d1d8", True, id="rook"),
        pytest.param("6k1/8/8/8/4B3/8/8/6K1 w - - 0 1", "e4d5", True, id="bishop"),
        pytest.param("N3k3/8/8/8/8/8/8/6K1 w - - 0 1", "a8c7", True, id="knight"),
        pytest.param("6k1/8/8/4n3/8/3p4/8/4K3 b - - 0 1", "d3d2", False, id="pawn-lost"),
        pytest.param("6k1/8/8/8/4n3/3p4/8/4K3 b - - 0 1", "d3d2", True, id="pawn-of-black"),
        pytest.param("r5k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1", "d1d8", False, id="rook-lost"),
        pytest.param("6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1", "d1d7", False, id="no-check"),
        pytest.param("4k3/8/8/8/8/8/4N3/4R1K1 w - - 0 1", "e2c3", False, id="uncovered"),
    ],
)
def test_safe_checks_by_the_moving_piece_come_first(fen: str, move: str, raised: bool) -> None:
    """The other quiet moves have a better history, by half of the bonus for checks."""
    board, played = chess.Board(fen), chess.Move.from_uci(move)
    quiets = [code for code, legal in codes(board).items() if not is_noisy(board, legal)]
    pick = _without_histories(26)
    pick.worker["butterfly_history"] = tunables.BY_NAME["check_bonus"].default // 4
    pick.worker["butterfly_history"][int(board.turn), :, :, played.from_square, played.to_square] = 0
    write_board(board, pick.worker["stack"][PLY]["position"])
    _find_threats(pick.worker, PLY)
    place = [code for code in pick(board) if code in quiets].index(encode(board, played))
    assert place == (0 if raised else len(quiets) - 1)


@pytest.mark.parametrize(
    ("fen", "move", "escapes"),
    [
        pytest.param("6k1/8/8/3p4/4N3/8/8/6K1 w - - 0 1", "e4g3", True, id="knight"),
        pytest.param("6k1/8/8/3p4/4N3/8/8/6K1 w - - 0 1", "g1h1", False, id="not-threatened"),
        pytest.param("6k1/8/5p2/3p4/4N3/8/8/6K1 w - - 0 1", "e4g5", False, id="to-another-pawn"),
        pytest.param("6k1/8/8/3b4/4R3/8/8/6K1 w - - 0 1", "e4a4", True, id="rook"),
        pytest.param("6k1/8/8/3r4/4N3/8/8/6K1 w - - 0 1", "e4d2", False, id="attacked-by-greater-piece"),
        pytest.param("r5k1/8/8/8/Q7/8/8/6K1 w - - 0 1", "a4b3", True, id="queen"),
    ],
)
def test_pieces_that_escape_from_lesser_ones_come_first(fen: str, move: str, escapes: bool) -> None:
    """The other quiet moves have a better history, by half of the least bonus for escapes."""
    board, played = chess.Board(fen), chess.Move.from_uci(move)
    pick = _without_histories(29)
    better = int(ESCAPES[chess.KNIGHT]) // 4
    pick.worker["butterfly_history"] = better
    pick.worker["butterfly_history"][1, :, :, played.from_square, played.to_square] = 0
    write_board(board, pick.worker["stack"][PLY]["position"])
    _find_threats(pick.worker, PLY)
    given = pick(board)
    quiets = [legal for legal in (codes(board)[code] for code in given) if not is_noisy(board, legal)]
    rivals = [legal for legal in quiets if legal.from_square != played.from_square]
    assert all((quiets.index(played) < quiets.index(rival)) == escapes for rival in rivals)
