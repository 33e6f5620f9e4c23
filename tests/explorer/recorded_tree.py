"""A recording as a tree, at hand for tests."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import chess

from search.explorer.chess_document import MOVE_SEARCHES, decoded, skips
from search.kernels.score import MATE


class Tree:
    """The columns of a document as attributes, with keys and moves as texts, and children at hand."""

    def __init__(self, document: Any) -> None:
        self.document = document
        for name, column in decoded(document).items():
            setattr(self, name, column)
        self.moves = moves_of(document)
        self.children: dict[int, list[int]] = defaultdict(list)
        for row, parent in enumerate(document["nodes"]["parent"]):
            self.children[parent].append(row)
        self.skips: dict[int, dict[str, str]] = defaultdict(dict)
        for node, move, reason in skips(document):
            assert move not in self.skips[node], "skipped twice"
            self.skips[node][move] = reason

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.document["nodes"]["parent"])))

    def finished(self) -> Iterator[int]:
        return (row for row in self if self.end[row] != "stopped")

    def searched(self, row: int) -> dict[str, int]:
        """The moves searched at a row, in order, with the last visit of each."""
        return {self.moves[child]: child for child in self.children[row] if self.search[child] in MOVE_SEARCHES}

    def line(self, row: int) -> list[str]:
        """The moves from the root to a row."""
        line = []
        while row >= 0:
            line.append(self.moves[row])
            row = self.parent[row]
        return [move for move in reversed(line) if move]

    def sans(self, row: int) -> list[str]:
        """The moves from the root to a row in standard notation; "pass" for a null move."""
        board, sans = chess.Board(self.document["position"], chess960=self.document["chess960"]), []
        for text in self.line(row):
            move = board.parse_uci(text) if text != "0000" else chess.Move.null()
            sans.append(board.san(move) if move else "pass")
            board.push(move)
        return sans

    def board(self, row: int) -> chess.Board:
        """The position of a row."""
        board = chess.Board(self.document["position"], chess960=self.document["chess960"])
        for move in self.line(row):
            board.push_uci(move)
        return board

    def beta_of(self, row: int) -> int:
        """beta as the main search uses it: no mate is quicker than the next move's. See mate distance pruning."""
        beta: int = self.beta[row]
        return beta if self.quiescence[row] or not self.ply[row] else min(beta, MATE - self.ply[row] - 1)

    def alpha_of(self, row: int) -> int:
        alpha: int = self.alpha[row]
        return alpha if self.quiescence[row] or not self.ply[row] else max(alpha, self.ply[row] - MATE)

    def boards(self, most: int = 1500) -> Iterator[tuple[int, chess.Board]]:
        """`most` rows from all over the tree, each with its board."""
        return ((row, self.board(row)) for row in list(self)[:: 1 + len(self.parent) // most])


def moves_of(document: Any) -> list[str]:
    texts = [*document["moves"], ""]
    return [texts[code] for code in document["nodes"]["move"]]
