from pathlib import Path

import chess
import pytest

from bench.adjudication import Adjudication, Adjudicator, DrawRule, ResignRule, natural_end, open_tablebases
from bench.results import MoveRecord, Termination

SHUFFLE = ("g1f3", "g8f6", "f3g1", "f6g8")


def play(adjudicator: Adjudicator, moves: tuple[str, ...], scores: list[int | None]) -> tuple[int, str] | None:
    """The ply after which the game was ended and its result."""
    board = chess.Board()
    for ply, (move, score) in enumerate(zip(moves, scores, strict=True), start=1):
        board.push_uci(move)
        verdict = adjudicator.after_move(board, MoveRecord(move, centipawns=score))
        if verdict is not None:
            return ply, verdict.result
    return None


def test_resigns_after_enough_lost_scores_in_a_row() -> None:
    rules = Adjudication(resign=ResignRule(2, 500))
    assert play(Adjudicator(rules), SHUFFLE * 2, [0, -600, 0, -600, 0, -600, 0, 0]) == (4, "1-0")
    assert play(Adjudicator(rules), SHUFFLE * 2, [-500, 0, -499, 0, -500, 0, -500, 0]) == (7, "0-1")
    assert play(Adjudicator(rules), SHUFFLE * 2, [0, -600, 0, None, 0, -600, 0, 0]) is None

    mate = MoveRecord("e2e4", mate=-3)
    board = chess.Board("rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1")
    verdict = Adjudicator(Adjudication(resign=ResignRule(1, 900))).after_move(board, mate)
    assert verdict is not None
    assert verdict.result == "0-1"


def test_two_sided_resignation_needs_the_winner_to_agree() -> None:
    rules = Adjudication(resign=ResignRule(2, 500, both_sides=True))
    assert play(Adjudicator(rules), SHUFFLE * 2, [0, -600, 0, -600, 600, -600, 600, -600]) == (8, "1-0")
    assert play(Adjudicator(rules), SHUFFLE * 2, [0, -600] * 4) is None


def test_draws_after_quiet_moves_of_both_sides() -> None:
    rules = Adjudication(draw=DrawRule(3, 2, 10))
    assert play(Adjudicator(rules), SHUFFLE * 2, [0] * 8) == (6, "1/2-1/2")
    assert play(Adjudicator(rules), SHUFFLE * 2, [0, 0, 0, 0, 11, 0, 0, 0]) is None
    rules = Adjudication(draw=DrawRule(1, 2, 10))  # a pawn move restarts the count
    assert play(Adjudicator(rules), ("g1f3", "g8f6", "f3g1", "f6g8"), [0] * 4) == (4, "1/2-1/2")
    assert play(Adjudicator(rules), ("g1f3", "g8f6", "e2e4", "f6g8"), [0] * 4) is None


def test_a_game_that_is_too_long_is_drawn() -> None:
    assert play(Adjudicator(Adjudication(max_moves=3)), SHUFFLE * 2, [900] * 8) == (6, "1/2-1/2")


class FakeTable:
    def __init__(self, wdl: int | None) -> None:
        self.wdl = wdl

    def get_wdl(self, board: chess.Board) -> int | None:
        return self.wdl


@pytest.mark.parametrize(
    ("wdl", "result"), [(2, "0-1"), (-2, "1-0"), (1, "1/2-1/2"), (0, "1/2-1/2"), (-1, "1/2-1/2"), (None, None)]
)
def test_tablebases_decide_with_the_fifty_move_rule(wdl: int | None, result: str | None) -> None:
    board = chess.Board("8/8/8/4k3/8/8/3PK3/8 w - - 0 1")
    board.push_uci("d2d4")
    adjudicator = Adjudicator(Adjudication(), FakeTable(wdl))  # type: ignore[arg-type]
    verdict = adjudicator.after_move(board, MoveRecord("d2d4"))
    assert (verdict.result if verdict else None) == result


def test_tablebases_are_asked_only_when_their_answer_is_exact() -> None:
    adjudicator = Adjudicator(Adjudication(), FakeTable(2))  # type: ignore[arg-type]
    for fen, asked in [
        ("8/8/8/4k3/8/8/3PK3/8 w - - 0 1", True),
        ("8/8/8/4k3/8/8/3PK3/8 w - - 3 1", False),
        ("8/8/8/4k3/8/8/8/4K2R w K - 0 1", False),
    ]:
        assert (adjudicator.after_move(chess.Board(fen), MoveRecord("a1a1")) is not None) == asked


def test_a_folder_without_tablebases_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no Syzygy files"):
        open_tablebases(str(tmp_path))
    assert open_tablebases(None) is None


@pytest.mark.parametrize(
    ("fen", "moves", "reason", "result"),
    [
        ("7k/5Q2/6K1/8/8/8/8/8 w - - 0 1", ("f7g7",), Termination.CHECKMATE, "1-0"),
        ("7K/5q2/6k1/8/8/8/8/8 b - - 0 1", ("f7g7",), Termination.CHECKMATE, "0-1"),
        ("7k/8/6K1/5Q2/8/8/8/8 w - - 0 1", ("f5f7",), Termination.STALEMATE, "1/2-1/2"),
        ("7k/8/8/8/8/8/6p1/7K w - - 0 1", ("h1g2",), Termination.MATERIAL, "1/2-1/2"),
        ("7k/7p/8/8/8/8/7P/6K1 w - - 99 80", ("g1f1",), Termination.FIFTY_MOVES, "1/2-1/2"),
        (chess.STARTING_FEN, SHUFFLE * 2, Termination.REPETITION, "1/2-1/2"),
    ],
)
def test_the_rules_end_games(fen: str, moves: tuple[str, ...], reason: Termination, result: str) -> None:
    board = chess.Board(fen)
    for move in moves:
        assert natural_end(board) is None
        board.push_uci(move)
    verdict = natural_end(board)
    assert verdict is not None
    assert (verdict.termination, verdict.result) == (reason, result)
