"""A recording as a tree, at hand for tests."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, ClassVar

import chess

from search.explorer.chess_document import MOVE_SEARCHES, keys
from search.explorer.recording import game_at
from search.kernels.score import MATE


class Tree:
    """The columns of a document with codes as keys, and children at hand."""

    def __init__(self, document: Any) -> None:
        self.document = document
        for name, column in document["nodes"].items():
            setattr(self, name, column)
        for name, table in (("end", "reasons"), ("search", "searches"), ("type", "types"), ("stage", "stages")):
            texts = [*keys(document[table]), ""]
            setattr(self, name, [texts[code] for code in document["nodes"][name]])
        self.moves = moves_of(document)
        self.children: dict[int, list[int]] = defaultdict(list)
        for row, parent in enumerate(document["nodes"]["parent"]):
            self.children[parent].append(row)
        texts, reasons, pruned = document["moves"], keys(document["reasons"]), document["pruned"]
        self.skips: dict[int, dict[str, str]] = defaultdict(dict)
        for node, move, reason in zip(pruned["node"], pruned["move"], pruned["reason"], strict=True):
            assert texts[move] not in self.skips[node], "skipped twice"
            self.skips[node][texts[move]] = reasons[reason]

    _known: ClassVar[dict[int, Tree]] = {}

    @classmethod
    def of(cls, document: Any) -> Tree:
        if id(document) not in cls._known:
            cls._known[id(document)] = cls(document)
        return cls._known[id(document)]

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.document["nodes"]["parent"])))

    def finished(self) -> Iterator[int]:
        return (row for row in self if self.end[row] != "stopped")

    def searched(self, row: int) -> dict[str, int]:
        """The moves searched at a row with the visit that had the last word about each, in order."""
        return {self.moves[child]: child for child in self.children[row] if self.search[child] in MOVE_SEARCHES}

    def beta_of(self, row: int) -> int:
        """beta as the main search uses it: no mate is quicker than the next move's. See mate distance pruning."""
        beta: int = self.beta[row]
        return beta if self.quiescence[row] or not self.ply[row] else min(beta, MATE - self.ply[row] - 1)

    def alpha_of(self, row: int) -> int:
        alpha: int = self.alpha[row]
        return alpha if self.quiescence[row] or not self.ply[row] else max(alpha, self.ply[row] - MATE)


def moves_of(document: Any) -> list[str]:
    texts = [*document["moves"], ""]
    return [texts[code] for code in document["nodes"]["move"]]


def boards(tree: Tree, most: int = 1500) -> Iterator[tuple[int, chess.Board]]:
    """`most` rows from all over the tree, each with its board."""
    root = game_at(tree.document, 0).board
    for row in list(tree)[:: 1 + len(tree.parent) // most]:
        path = []
        above = row
        while above >= 0:
            path.append(tree.moves[above])
            above = tree.parent[above]
        board = root.copy(stack=False)
        for text in reversed(path):
            if text:
                board.push_uci(text)
        yield row, board
