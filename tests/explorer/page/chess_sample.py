"""A small recording of chess, written by hand: two iterations from a position with castling and en passant at hand."""

from __future__ import annotations

from typing import Any

from search.explorer import chess_document
from search.explorer.measures import statistics

POSITION = "r3k2r/8/8/3pP3/8/8/8/R3K2R w KQkq d6 0 2"

REASONS = [key for key, _ in chess_document.REASONS]
SEARCHES = [key for key, _ in chess_document.SEARCHES]
STAGES = [key for key, _ in chess_document.STAGES]

#: parent, move, depth, alpha, beta, type, value, stage, search, end, cutter, searched, skipped, legal, size, quiescence
ROWS: tuple[tuple[Any, ...], ...] = (
    (-1, None, 1, -32000, 32000, 0, 30, None, "window", "all-moves", 0, 2, 1, 28, 3, 0),
    (0, "e5d6", 0, -32000, 32000, 0, -30, "noisy", "move", "stand-pat", 0, 0, 0, 25, 1, 1),
    (0, "e1g1", 0, -31, -30, 1, -10, "quiet", "move", "stand-pat", 0, 0, 0, 25, 1, 1),
    (-1, None, 2, 0, 40, 0, 40, None, "window", "cutoff", 1, 1, 0, 28, 2, 0),
    (3, "e5d6", 1, -40, 0, 1, -40, "table", "move", "table", 0, 0, 0, 25, 1, 0),
    (-1, None, 2, 0, 32000, 0, 55, None, "window", "all-moves", 0, 2, 2, 28, 6, 0),
    (5, "e5d6", 1, -32000, 0, 0, -55, "table", "move", "all-moves", 0, 2, 4, 25, 4, 0),
    (6, "e8c8", 0, 0, 32000, 0, 55, "quiet", "move", "stand-pat", 0, 0, 0, 27, 1, 1),
    (6, "h8h1", 0, 55, 56, 1, 500, "noisy", "move", "cutoff", 1, 1, 0, 3, 2, 1),
    (8, "e1d2", -1, -56, -55, 2, -500, "noisy", "move", "all-moves", 0, 0, 3, 22, 1, 1),
    (5, "e1g1", 1, -56, -55, 1, 20, "quiet", "move", "reverse-futility", 0, 0, 0, 25, 1, 0),
)
SKIPPED = (
    (0, "a1a8", "late-move"),
    (5, "a1b1", "futility"),
    (5, "a1c1", "history"),
    (6, "e8f8", "late-move"),
    (6, "e8f7", "late-move"),
    (6, "a8b8", "futility"),
    (6, "a8c8", "futility"),
)


def chess_sample() -> dict[str, Any]:
    """The document; it passes the check of recordings."""
    texts = sorted({row[1] for row in ROWS if row[1]} | {move for _, move, _ in SKIPPED})
    columns: dict[str, list[Any]] = {name: [] for name in chess_document.NODE_COLUMNS}
    for (
        parent,
        move,
        depth,
        alpha,
        beta,
        kind,
        value,
        stage,
        search,
        end,
        cutter,
        searched,
        skipped,
        legal,
        size,
        quiet,
    ) in ROWS:
        row = {
            "parent": parent,
            "move": texts.index(move) if move else -1,
            "ply": columns["ply"][parent] + 1 if parent >= 0 else 0,
            "depth": depth,
            "alpha": alpha,
            "beta": beta,
            "type": kind,
            "eval": value - 5,
            "estimate": value - 5,
            "improving": 0,
            "value": value,
            "stage": STAGES.index(stage) if stage else -1,
            "search": SEARCHES.index(search),
            "reduction": 0,
            "extension": 0,
            "end": REASONS.index(end),
            "cutter": cutter,
            "moves_searched": searched,
            "moves_pruned": skipped,
            "legal": legal,
            "size": size,
            "quiescence": quiet,
        }
        for name, content in row.items():
            columns[name].append(content)
    document: dict[str, Any] = {
        "format": chess_document.FORMAT,
        "version": chess_document.VERSION,
        "kind": chess_document.KIND,
        "engine": "Secateur by hand",
        "evaluation": "classical",
        "fen": POSITION,
        "before": [],
        "position": POSITION,
        "chess960": False,
        "limits": {"depth": 2, "nodes": None, "milliseconds": None},
        "without": [],
        "scores": {"infinite": 32000, "mate": 31000, "mate_bound": 30000},
        "result": {
            "move": "e5d6",
            "score": "+0.55",
            "value": 55,
            "depth": 2,
            "line": ["e5d6", "e8c8"],
            "nodes": 8,
            "visits": 11,
        },
        "iterations": [
            {
                "depth": 1,
                "score": "+0.30",
                "value": 30,
                "alpha": -32000,
                "beta": 32000,
                "nodes": 2,
                "line": ["e5d6"],
                "first_node": 0,
                "last_node": 2,
                "complete": True,
                "windows": [],
            },
            {
                "depth": 2,
                "score": "+0.55",
                "value": 55,
                "alpha": 0,
                "beta": 32000,
                "nodes": 6,
                "line": ["e5d6", "e8c8"],
                "first_node": 3,
                "last_node": 10,
                "complete": True,
                "windows": [],
            },
        ],
        "nodes": columns,
        "pruned": {
            "node": [node for node, _, _ in SKIPPED],
            "move": [texts.index(move) for _, move, _ in SKIPPED],
            "reason": [REASONS.index(reason) for _, _, reason in SKIPPED],
        },
        "moves": texts,
        "reasons": chess_document.table(chess_document.REASONS),
        "searches": chess_document.table(chess_document.SEARCHES),
        "stages": chess_document.table(chess_document.STAGES),
        "types": chess_document.table(chess_document.TYPES),
        "truncated": False,
        "left_out": {"visits": 0, "pruned": 0},
    }
    document["statistics"] = {}
    document["statistics"] = statistics(document)
    return chess_document.check(document)
