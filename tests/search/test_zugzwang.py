"""Zugzwang: endings in which whoever has to move loses, against results that are worked out to their end.

A white and a black pawn stand in each other's way, so that only the kings can move until one of them takes a pawn. What
is left then is in the tables for three men.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import chess
import chess.syzygy
import pytest

from search.limits import Limits
from search.searcher import Game, Searcher

FOLDER = Path(__file__).resolve().parents[1] / "data" / "syzygy"

#: Who is to move, and the squares of the white and the black king.
Place = tuple[chess.Color, chess.Square, chess.Square]


def sign(number: int) -> int:
    return (number > 0) - (number < 0)


class BlockedPawns:
    """All positions of the kings with a white pawn on `pawn` and a black one before it.

    `known` has the result for the side to move, 1 or -1, and in how many plies a pawn is taken that decides it; drawn
    positions are not in it.
    """

    def __init__(self, pawn: chess.Square, tables: chess.syzygy.Tablebase) -> None:
        self.pawn = pawn
        moves = {place: dict(self._moves(place, tables)) for place in self._places()}
        self.known: dict[Place, tuple[int, int]] = {}
        while True:
            plies = 1 + max((plies for _, plies in self.known.values()), default=0)
            found = {}
            for place in moves.keys() - self.known.keys():
                results = [self._result_of(outcome) for outcome in moves[place].values()]
                if 1 in results:
                    found[place] = (1, plies)
                elif results and set(results) == {-1}:
                    found[place] = (-1, plies)
            if not found:
                break
            self.known |= found
        self.winning = {
            place: [move for move, outcome in options.items() if self._result_of(outcome) == 1]
            for place, options in moves.items()
        }

    def board(self, place: Place) -> chess.Board:
        turn, white, black = place
        board = chess.Board(None)
        board.set_piece_at(self.pawn, chess.Piece(chess.PAWN, chess.WHITE))
        board.set_piece_at(self.pawn + 8, chess.Piece(chess.PAWN, chess.BLACK))
        board.set_piece_at(white, chess.Piece(chess.KING, chess.WHITE))
        board.set_piece_at(black, chess.Piece(chess.KING, chess.BLACK))
        board.turn = turn
        return board

    def zugzwangs(self) -> list[tuple[chess.Square, chess.Square]]:
        """Squares of the kings from which either side loses if it has to move."""
        kings = {(white, black) for _, white, black in self.known}
        return sorted(
            pair for pair in kings if all(self.known.get((turn, *pair), (0, 0))[0] == -1 for turn in chess.COLORS)
        )

    def _places(self) -> Iterator[Place]:
        for white in chess.SquareSet(chess.BB_ALL ^ chess.BB_SQUARES[self.pawn] ^ chess.BB_SQUARES[self.pawn + 8]):
            for black in chess.SquareSet(chess.BB_ALL ^ chess.BB_SQUARES[self.pawn] ^ chess.BB_SQUARES[self.pawn + 8]):
                # Pawns that cannot move never give check.
                if chess.square_distance(white, black) > 1 and not (
                    chess.BB_PAWN_ATTACKS[chess.WHITE][self.pawn] & chess.BB_SQUARES[black]
                    or chess.BB_PAWN_ATTACKS[chess.BLACK][self.pawn + 8] & chess.BB_SQUARES[white]
                ):
                    yield from ((turn, white, black) for turn in chess.COLORS)

    def _moves(self, place: Place, tables: chess.syzygy.Tablebase) -> Iterator[tuple[chess.Move, Place | int]]:
        """The legal moves, each with where it leads, or with the result for who takes a pawn by it."""
        turn, white, black = place
        board = self.board(place)
        for move in list(board.legal_moves):
            if board.is_capture(move):
                board.push(move)
                yield move, -sign(tables.probe_wdl(board))
                board.pop()
            elif turn:
                yield move, (not turn, move.to_square, black)
            else:
                yield move, (not turn, white, move.to_square)

    def _result_of(self, outcome: Place | int) -> int:
        """The result for who made a move that leads there, as far as it is known."""
        return outcome if isinstance(outcome, int) else -self.known.get(outcome, (0, 0))[0]


@pytest.fixture(scope="module", params=[chess.E4, chess.B4, chess.F3], ids=chess.square_name)
def ending(request: pytest.FixtureRequest) -> Iterator[BlockedPawns]:
    with chess.syzygy.open_tablebase(str(FOLDER)) as tables:
        yield BlockedPawns(request.param, tables)


@pytest.fixture(scope="module")
def searcher() -> Iterator[Searcher]:
    made = Searcher(1)
    yield made
    made.close()


def searched(searcher: Searcher, board: chess.Board, depth: int) -> tuple[chess.Move, int]:
    """Move and score of a search from scratch."""
    searcher.new_game()
    result = searcher.search(Game(board), Limits(depth=depth))
    assert result.best is not None
    assert result.info is not None
    return result.best, result.info.score


def test_both_sides_lose_if_they_have_to_move(ending: BlockedPawns, searcher: Searcher) -> None:
    """Each king attacks one pawn and guards the other, and has to let go: the trebuchet."""
    pawn = ending.pawn
    zugzwangs = ending.zugzwangs()
    assert zugzwangs == [(pawn + 7, pawn + 1), (pawn + 9, pawn - 1)]
    for kings in zugzwangs:
        for turn in chess.COLORS:
            board = ending.board((turn, *kings))
            for depth in range(3, 9):
                assert searched(searcher, board, depth)[1] < 0, (board.fen(), depth)


def test_the_only_move_that_wins_leaves_the_other_in_zugzwang(ending: BlockedPawns, searcher: Searcher) -> None:
    count = 0
    for white, black in ending.zugzwangs():
        for square in chess.SquareSet(chess.BB_KING_ATTACKS[white]):
            count += finds_only_move(ending, searcher, (chess.WHITE, square, black), white)
        for square in chess.SquareSet(chess.BB_KING_ATTACKS[black]):
            count += finds_only_move(ending, searcher, (chess.BLACK, white, square), black)
    assert count >= 8


def finds_only_move(ending: BlockedPawns, searcher: Searcher, place: Place, target: chess.Square) -> bool:
    """Checks that the king goes to `target` from `place`, if that is its only move that wins there."""
    if [move.to_square for move in ending.winning.get(place, [])] != [target]:
        return False
    for depth in (4, 6, 8):
        move, score = searched(searcher, ending.board(place), depth)
        assert move.to_square == target, (ending.board(place).fen(), depth)
        assert score > 0, (ending.board(place).fen(), depth)
    return True


def test_who_wins_is_seen_as_soon_as_the_pawn_falls_within_the_depth(ending: BlockedPawns, searcher: Searcher) -> None:
    rng = random.Random(1)
    for plies in range(1, 7):
        places = sorted(place for place, known in ending.known.items() if known[1] == plies)
        assert places
        for place in rng.sample(places, min(len(places), 12)):
            board = ending.board(place)
            _, score = searched(searcher, board, plies + 2)
            assert sign(score) == ending.known[place][0], (board.fen(), plies)
