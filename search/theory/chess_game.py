"""The game that the kernels search, written with python-chess for the algorithms of this package.

The tree is that of `search.kernels.alphabeta` with every selective technique switched off (`search.tunables.plain`):
all moves to a fixed depth, then the quiescence search of `search.kernels.quiescence`. Two properties of quiescence
become rules of the game: standing pat is an extra move that ends the game, and moves that quiescence never tries do not
exist. So minimax over this game defines the value that the kernel must find.

The game uses the kernels' classical evaluation. Its purpose is to test their search, not their evaluation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import chess

from eval.report import Evaluator
from search.kernels.quiescence import CHECK_PLIES
from search.kernels.score import DRAW, MATE
from search.limits import MAX_PLY
from search.theory.exchange import exchange_value, worth
from search.theory.plain_chess import Key, position_key

#: The move by which a side in quiescence accepts the static evaluation.
STAND_PAT: Final = chess.Move.null()

_EVALUATOR: Final = Evaluator()


@dataclass(frozen=True)
class ChessNode:
    """A position in the tree: `depth` plies of full search remain, then `checks` plies of quiescence with quiet checks.

    `ply` counts from the root. `earlier` is the previous node, or None at the root. `before_root` contains the keys of
    the positions before the root, oldest first. `stood` is True after standing pat, which leaves the board unchanged.
    """

    board: chess.Board
    depth: int
    checks: int = CHECK_PLIES
    ply: int = 0
    earlier: ChessNode | None = field(default=None, repr=False)
    before_root: tuple[Key, ...] = field(default=(), repr=False)
    stood: bool = False

    @cached_property
    def key(self) -> Key:
        """The key of the position (see `position_key`). A position with an earlier position's key repeats it."""
        return position_key(self.board)

    def line(self) -> Iterator[Key]:
        """Yields the keys of all earlier positions, latest first."""
        node = self.earlier
        while node is not None:
            yield node.key
            node = node.earlier
        yield from reversed(self.before_root)


def root_node(board: chess.Board, depth: int) -> ChessNode:
    """Returns the root of a search to `depth` plies (at least 1); `board.move_stack` contains the earlier moves."""
    replay = board.root()
    keys = []
    for move in board.move_stack:
        keys.append(position_key(replay))
        replay.push(move)
    return ChessNode(board.copy(stack=False), depth, before_root=tuple(keys))


class ChessGame:
    """The kernels' search as a `Game`. A position is a `ChessNode`, and a move is a legal move or STAND_PAT."""

    def moves(self, position: ChessNode) -> Iterator[chess.Move]:
        """Yields all legal moves; in quiescence without check, STAND_PAT and some moves; none if the game is over."""
        if self._is_over(position):
            return
        board = position.board
        if position.depth > 0 or board.is_check():
            yield from ordered(board, board.generate_legal_moves())
            return
        yield STAND_PAT
        tried = (
            move
            for move in board.generate_legal_moves()
            if is_noisy(board, move) or (position.checks > 0 and board.gives_check(move))
        )
        yield from (move for move in ordered(board, tried) if exchange_value(board, move) >= 0)

    def apply(self, position: ChessNode, move: chess.Move) -> ChessNode:
        """Returns the node after a move, or after standing pat."""
        board = position.board
        if move != STAND_PAT:
            board = board.copy(stack=False)
            board.push(move)
        is_quiescence = position.depth <= 0
        return ChessNode(
            board,
            max(position.depth - 1, 0),
            position.checks - 1 if is_quiescence else position.checks,
            position.ply + 1,
            position,
            position.before_root,
            stood=move == STAND_PAT,
        )

    def value(self, position: ChessNode) -> int:
        """Returns the value of a final position for the side to move: an evaluation, a draw, or a mate at this ply."""
        board = position.board
        if position.stood:
            return -stand_pat(board)
        if self._is_drawn(position):
            return DRAW
        if position.ply >= MAX_PLY:
            return DRAW if board.is_check() else static_evaluation(board)
        return position.ply - MATE if board.is_check() else DRAW

    def _is_over(self, position: ChessNode) -> bool:
        return position.stood or position.ply >= MAX_PLY or self._is_drawn(position)

    def _is_drawn(self, position: ChessNode) -> bool:
        """Returns whether the position is drawn by repetition, fifty moves or material; False at the root."""
        return position.ply > 0 and (
            is_repeated(position) or position.board.is_fifty_moves() or position.board.is_insufficient_material()
        )


def is_repeated(position: ChessNode) -> bool:
    """Returns whether the position occurred before: once after the root, or twice at or before the root."""
    reach = position.board.halfmove_clock
    earlier = 0
    if reach < 4:
        return False
    for back, key in enumerate(position.line(), start=1):
        if back > reach:
            break
        if key == position.key:
            if back < position.ply:
                return True
            earlier += 1
    return earlier >= 2


def is_noisy(board: chess.Board, move: chess.Move) -> bool:
    """Returns whether the move is a capture or a promotion."""
    return bool(move.promotion) or board.is_capture(move)


def ordered(board: chess.Board, moves: Iterator[chess.Move]) -> list[chess.Move]:
    """Returns the moves, sorted by largest gain, then by least valuable attacker. The order affects no value."""

    def rank(move: chess.Move) -> int:
        victim = worth(move.promotion) + worth(board.piece_type_at(move.to_square))
        return worth(board.piece_type_at(move.from_square)) - 64 * victim

    return sorted(moves, key=rank)


def stand_pat(board: chess.Board) -> int:
    """Returns the value of standing pat: the evaluation, scaled down as the fifty-move rule approaches."""
    return static_evaluation(board) * (200 - board.halfmove_clock) // 200


def static_evaluation(board: chess.Board) -> int:
    """Returns the kernels' classical evaluation in centipawns for the side to move."""
    return _EVALUATOR.score(board)
