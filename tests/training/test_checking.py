"""Verification believes nothing: every kind of damage that a right checksum could hide."""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

import chess
import numpy as np
import pytest

from engine.board.convert import decode, encode, from_board
from engine.memory import allocate
from eval.training.generation import Settings
from eval.training.kernels.records import (
    CHECKMATE,
    DRAW_SCORE,
    ENDINGS,
    FIFTY_MOVES,
    GAME,
    LENGTH,
    PLY,
    REPETITION,
    SAMPLE,
    STALEMATE,
    TREE,
    WIN_SCORE,
)
from eval.training.shards import ShardError, ShardWriter, encode_block, read_shard
from eval.training.statistics import verify
from tests.training.conftest import Record, start_of
from tests.training.float_network import pack_sample


def shard_of(folder: Path, records: list[Record], **settings: Any) -> Any:
    with closing(ShardWriter(folder, 0, asdict(Settings(**settings)))) as writer:
        games, plies = (np.concatenate(part) for part in zip(*records, strict=True))
        writer.append(encode_block(0, games, plies))
        return read_shard(writer.finish())


def game_between(start: str, moves: list[str], ending: int, result: int, scores: list[int] | None = None) -> Record:
    """A game of these moves, as it would be recorded, with White's scores: 0 unless given."""
    game, plies, sample = allocate(GAME, 1), allocate(PLY, len(moves)), allocate(SAMPLE, 1)
    board = chess.Board(start)
    pack_sample(from_board(board), sample[0])
    game["start"], game["plies"], game["ending"], game["result"] = sample["position"], len(moves), ending, result
    plies["score"] = 0 if scores is None else scores
    for index, move in enumerate(moves):
        plies["move"][index] = encode(board, chess.Move.from_uci(move))
        board.push_uci(move)
    return Record(game, plies)


def test_games_that_were_played_are_sound(
    tmp_path: Path, records: list[Record], lines: list[list[chess.Board]]
) -> None:
    """Among them are games with castling of all variants."""
    shard = shard_of(tmp_path, records)
    verify(shard)
    # Older shards have no settings for random moves and positions of trees.
    del shard.settings["random_percent"], shard.settings["tree_nodes"]
    verify(shard)
    del shard.settings["win_score"]
    with pytest.raises(ShardError, match="the setting win_score is missing"):
        verify(shard)
    castled = {
        int(record.game[0]["variant"])
        for record, boards in zip(records, lines, strict=True)
        for board, ply in zip(boards, record.plies, strict=False)
        if board.is_castling(decode(int(ply["move"]), board.chess960))
    }
    assert castled == {0, 1, 2}


def test_positions_of_trees_are_checked(tmp_path: Path) -> None:
    """Each has one ply and the result of the game before it; its score needs no adjudication."""
    game = game_between(chess.STARTING_FEN, FOOLS_MATE, CHECKMATE, 0)
    tree = game_between("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1", ["e2e4"], TREE, 0, [9_000])
    settings = {"tree_nodes": 100, "win_plies": 1}
    verify(shard_of(tmp_path, [game, tree, tree], **settings))
    long = game_between("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1", ["e2e4", "e8d7"], TREE, 0)
    illegal = game_between("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1", ["e2e4"], TREE, 0)
    illegal.plies["move"] = encode(chess.Board(), chess.Move.from_uci("e2e3"))
    illegal.plies["move"] += 8 << 6
    for number, (records, problem) in enumerate(
        (
            ([game, long], "game 1, ply 1: an adjudication that its scores do not support"),
            ([tree], "game 0, ply 0: a result that does not fit its ending"),
            ([game, tree, illegal], "game 2, ply 0: an illegal move"),
        )
    ):
        with pytest.raises(ShardError, match=problem):
            verify(shard_of(tmp_path / str(number), records, **settings))


FOOLS_MATE = ["f2f3", "e7e5", "g2g4", "d8h4"]
SHUFFLE = ["g1f3", "g8f6", "f3g1", "f6g8"] * 2
STALEMATED = ("7k/5K2/8/8/8/8/8/6Q1 w - - 0 1", ["g1g6"])
FIFTY = ("7k/8/8/8/8/8/8/KR6 w - - 99 80", ["b1b2"])


@pytest.mark.parametrize(
    ("start", "moves", "ending", "result"),
    [
        (chess.STARTING_FEN, FOOLS_MATE, CHECKMATE, 0),
        (chess.STARTING_FEN, SHUFFLE, REPETITION, 1),
        (*STALEMATED, STALEMATE, 1),
        (*FIFTY, FIFTY_MOVES, 1),
        (chess.STARTING_FEN, FOOLS_MATE[:2], LENGTH, 1),
    ],
)
def test_what_the_rules_say(tmp_path: Path, start: str, moves: list[str], ending: int, result: int) -> None:
    """The right ending passes, every other one that can be told from the moves does not, nor does a wrong result."""
    length = len(moves)
    verify(shard_of(tmp_path, [game_between(start, moves, ending, result)], max_plies=length))
    for other in range(5):
        if other != ending:
            game = game_between(start, moves, other, result)
            with pytest.raises(ShardError, match="an ending that does not fit its moves"):
                verify(shard_of(tmp_path / ENDINGS[other], [game], max_plies=length))
    for wrong in {0, 1, 2} - {result}:
        game = game_between(start, moves, ending, wrong)
        with pytest.raises(ShardError, match="a result that does not fit its ending"):
            verify(shard_of(tmp_path / str(wrong), [game], max_plies=length))


ADJUDICATING = {"win_score": 900, "win_plies": 3, "draw_score": 4, "draw_plies": 3, "draw_from": 2, "max_plies": 7}
LEVEL = [9, 9, 0, -4, 4]


@pytest.mark.parametrize(
    ("scores", "ending", "result", "problem"),
    [
        ([0, 0, 900, 1200, 32_000], WIN_SCORE, 2, ""),
        ([-900] * 3, WIN_SCORE, 0, ""),
        ([900] * 3, WIN_SCORE, 1, "ply 2: a result that does not fit its ending"),
        ([-900] * 3, WIN_SCORE, 2, "ply 2: a result that does not fit its ending"),
        ([900, 900, 899], WIN_SCORE, 2, "ply 2: an adjudication that its scores do not support"),
        ([900] * 3, DRAW_SCORE, 1, "ply 2: an adjudication that its scores do not support"),
        ([900] * 4, WIN_SCORE, 2, "ply 3: moves after its scores or its length required its end"),
        (LEVEL, DRAW_SCORE, 1, ""),
        (LEVEL, DRAW_SCORE, 2, "ply 4: a result that does not fit its ending"),
        ([9, *LEVEL[:-1], 5], DRAW_SCORE, 1, "ply 5: an adjudication that its scores do not support"),
        ([*LEVEL, 0], DRAW_SCORE, 1, "ply 5: moves after its scores or its length required its end"),
        ([20] * 7, LENGTH, 1, ""),
        ([20] * 7, LENGTH, 0, "ply 6: a result that does not fit its ending"),
        ([20] * 6, LENGTH, 1, "ply 5: an adjudication that its scores do not support"),
        ([20] * 8, LENGTH, 1, "ply 7: moves after its scores or its length required its end"),
    ],
)
def test_what_the_scores_say(tmp_path: Path, scores: list[int], ending: int, result: int, problem: str) -> None:
    """Adjudications are those of the settings: by scores for so many plies in a row, or by length."""
    shard = shard_of(
        tmp_path, [game_between(chess.STARTING_FEN, SHUFFLE[: len(scores)], ending, result, scores)], **ADJUDICATING
    )
    if problem:
        with pytest.raises(ShardError, match=rf"game 0, {problem}$"):
            verify(shard)
    else:
        verify(shard)


def test_a_game_that_ends_on_the_board_must_not_have_been_decided_before(tmp_path: Path) -> None:
    game = game_between(chess.STARTING_FEN, FOOLS_MATE, CHECKMATE, 0, [0, -900, -900, -31_999])
    verify(shard_of(tmp_path, [game], win_score=900, win_plies=4))
    with pytest.raises(ShardError, match=r"ply 3: an adjudication that its scores do not support$"):
        verify(shard_of(tmp_path / "0", [game], win_score=900, win_plies=3))


def test_draws_count_from_the_start_of_the_game(tmp_path: Path) -> None:
    """Random plies before the recorded ones are plies of the game."""
    game = game_between(chess.STARTING_FEN, SHUFFLE[:3], DRAW_SCORE, 1)
    game.game["opening"] = 2
    verify(shard_of(tmp_path, [game], **ADJUDICATING))
    game.game["opening"] = 1
    with pytest.raises(ShardError, match=r"an adjudication that its scores do not support$"):
        verify(shard_of(tmp_path / "0", [game], **ADJUDICATING))


@pytest.fixture(autouse=True)
def folders(tmp_path: Path) -> None:
    for name in (*ENDINGS, "0", "1", "2"):
        (tmp_path / name).mkdir()


def test_illegal_moves_are_found_at_their_place(
    tmp_path: Path, records: list[Record], lines: list[list[chess.Board]]
) -> None:
    rng = np.random.default_rng(3)
    for number in range(30):
        victim = int(rng.integers(1, 8))
        ply = int(rng.integers(0, len(records[victim].plies)))
        damaged = [Record(record.game.copy(), record.plies.copy()) for record in records[:8]]
        board = lines[victim][ply]
        move = int(rng.integers(0, 1 << 16))
        if any(encode(board, legal) == move for legal in board.legal_moves):
            continue
        damaged[victim].plies["move"][ply] = move
        folder = tmp_path / f"case{number}"
        folder.mkdir()
        with pytest.raises(ShardError, match=rf"shard-000000\.games: game {victim}, ply {ply}: an illegal move$"):
            verify(shard_of(folder, damaged))


@pytest.mark.parametrize(
    ("fen", "is_position"),
    [
        ("4k3/8/8/8/8/8/8/4K2R w K - 0 1", True),
        ("4k3/8/8/8/8/8/8/4K2R w - - 0 1", True),
        ("4k3/8/8/8/8/8/8/4K2K w - - 0 1", False),
        ("4k3/8/8/8/8/8/8/8 w - - 0 1", False),
        ("4k3/8/8/8/8/8/8/P3K3 w - - 0 1", False),
        ("4k3/8/8/8/8/8/8/4K2p w - - 0 1", False),
        ("4k3/8/8/8/8/8/4r3/4K3 b - - 0 1", False),
        ("4k3/8/8/8/8/7R/8/4K3 w H - 0 1", False),
        ("4k3/8/8/8/8/8/4K3/7R w H - 0 1", False),
    ],
)
def test_starts_must_be_positions(tmp_path: Path, fen: str, is_position: bool) -> None:
    record = game_between("4k3/8/8/8/8/8/8/4K2R w - - 0 1", ["e1e2"], LENGTH, 1)
    sample = allocate(SAMPLE, 1)
    board = chess.Board(fen)
    position = from_board(board) if len(list(board.pieces(chess.KING, chess.WHITE))) == 1 else None
    if position is None:
        # No kernel takes such a position, so it is written by hand.
        pieces = sorted(board.piece_map().items())
        sample["position"]["occupied"] = board.occupied
        for index, (_, piece) in enumerate(pieces):
            code = piece.piece_type | (0 if piece.color else 8)
            sample["position"]["pieces"][0, index >> 1] |= code << 4 * (index & 1)
        sample["position"]["state"] = 64
    else:
        if "H" in fen:
            position["castling"] = np.uint64(board.rooks)
        pack_sample(position, sample[0])
    record.game["start"] = sample["position"]
    shard = shard_of(tmp_path, [record], max_plies=1)
    if is_position:
        verify(shard)
        assert start_of(shard.games).piece_map() == board.piece_map()
    else:
        with pytest.raises(ShardError, match=r"game 0, ply 0: its start is not a valid position$"):
            verify(shard)
