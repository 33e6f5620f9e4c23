"""Formats the reports of the search as UCI's `info` lines."""

from __future__ import annotations

from typing import Final

import chess

from search.info import Info, Progress
from search.kernels.score import EXACT, LOWER, UPPER
from search.outcome import CERTAIN_DRAW, CERTAIN_LOSS, CERTAIN_WIN, Outcome, material, outcome
from search.tablebase import TABLE_BOUND

_BOUNDS: Final = {EXACT: "", LOWER: " lowerbound", UPPER: " upperbound"}


def info_line(info: Info, board: chess.Board, show_wdl: bool = False) -> str:
    """Formats the report of one PV for the root position `board`; `show_wdl` adds win, draw and loss chances."""
    mate = info.mate
    score = f"cp {info.score}" if mate is None else f"mate {mate}"
    wdl = " wdl {} {} {}".format(*chances(info, board)) if show_wdl else ""
    line = " ".join(move.uci() for move in info.pv)
    return (
        f"info depth {info.depth} seldepth {max(info.depth, info.selective_depth)} multipv {info.number} "
        f"score {score}{_BOUNDS[info.bound]}{wdl} nodes {info.nodes} nps {info.nodes_per_second} "
        f"hashfull {info.hashfull} tbhits {info.tb_hits} time {int(info.seconds * 1000)} pv {line}"
    )


def progress_line(progress: Progress) -> str:
    """Formats the report that names the current root move of a long search."""
    return (
        f"info depth {progress.depth} currmove {progress.move.uci()} currmovenumber {progress.number} "
        f"nodes {progress.nodes} nps {progress.nodes_per_second} hashfull {progress.hashfull} "
        f"tbhits {progress.tb_hits} time {int(progress.seconds * 1000)}"
    )


def chances(info: Info, board: chess.Board) -> Outcome:
    """Returns the chances of the side to move in permille: certain for mate and tablebase scores, else estimated."""
    if not info.is_known:
        return outcome(info.score, material(board))
    if abs(info.score) < TABLE_BOUND:
        return CERTAIN_DRAW
    return CERTAIN_WIN if info.score > 0 else CERTAIN_LOSS
