"""Converts search reports to python-chess's types. Unlike its sister modules, it imports the kernels at once."""

from __future__ import annotations

import chess
from chess.engine import Cp, InfoDict, Mate, PovScore, PovWdl, Wdl

from engine.uci.infos import chances
from search.info import Info, Progress
from search.kernels.score import EXACT, LOWER


def info_dict(info: Info, board: chess.Board) -> InfoDict:
    """Converts the report of a finished iteration or a failed aspiration window, for the root position `board`."""
    mate = info.mate
    found: InfoDict = {
        "depth": info.depth,
        "seldepth": max(info.depth, info.selective_depth),
        "multipv": info.number,
        "score": PovScore(Cp(info.score) if mate is None else Mate(mate), board.turn),
        "wdl": PovWdl(Wdl(*chances(info, board)), board.turn),
        "nodes": info.nodes,
        "nps": info.nodes_per_second,
        "hashfull": info.hashfull,
        "tbhits": info.tb_hits,
        "time": info.seconds,
        "pv": list(info.pv),
    }
    if info.bound != EXACT:
        # chess.engine sets these entries, too, although its InfoDict does not declare them.
        found["lowerbound" if info.bound == LOWER else "upperbound"] = True  # type: ignore[typeddict-unknown-key]
    return found


def progress_dict(progress: Progress) -> InfoDict:
    """Converts the report of the current root move of a long search."""
    return {
        "depth": progress.depth,
        "currmove": progress.move,
        "currmovenumber": progress.number,
        "nodes": progress.nodes,
        "nps": progress.nodes_per_second,
        "hashfull": progress.hashfull,
        "tbhits": progress.tb_hits,
        "time": progress.seconds,
    }


def game_over_dict(board: chess.Board) -> InfoDict:
    """Returns the report for a position without legal moves: checkmate or stalemate."""
    score, wdl = (Mate(0), Wdl(0, 0, 1000)) if board.is_check() else (Cp(0), Wdl(0, 1000, 0))
    return {
        "depth": 0,
        "multipv": 1,
        "score": PovScore(score, board.turn),
        "wdl": PovWdl(wdl, board.turn),
        "nodes": 0,
        "pv": [],
    }
