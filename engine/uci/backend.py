"""The part of the session's needs that imports python-chess, NumPy or Numba; the loader imports it."""

from __future__ import annotations

import math
import os
import platform

import chess
import numpy as np

from engine.compiler import jit, library
from engine.uci.book import Book
from engine.uci.infos import info_line, progress_line
from engine.uci.positions import PositionKeeper, board_report, parse_move
from eval.network.format import read_network, shipped_network
from eval.report import evaluation_report
from search.benchmark import run_benchmark
from search.limits import Clock, Limits
from search.perft import Counter
from search.searcher import Game, Info, Result, Searcher
from search.tablebase import open_tables
from search.timing import budget_for
from search.warmup import PLAYING, load_kernels

__all__ = [
    "PLAYING",
    "Book",
    "Counter",
    "Game",
    "Info",
    "PositionKeeper",
    "Result",
    "Searcher",
    "board_report",
    "compiler_report",
    "evaluation_report",
    "info_line",
    "load_kernels",
    "open_tables",
    "parse_move",
    "plan_report",
    "progress_line",
    "read_network",
    "rehearse",
    "remarks",
    "run_benchmark",
    "shipped_network",
]


def rehearse() -> None:
    """Searches and reports as a warm-up: the first time takes ten milliseconds longer, which a game's first move must
    not pay.
    """
    searcher = Searcher(1)
    game = Game()
    for _ in range(2):
        result = searcher.search(game, Limits(depth=3, clock=Clock(1000)))
        if result.info is not None:
            info_line(result.info, game.board, show_wdl=True)
    searcher.close()


def remarks() -> list[str]:
    """Remarks about the source of the kernels, one line each; empty when nothing is unexpected.

    Without a library or a request for one, it is expected that Numba compiles.
    """
    if library.is_any_built() or os.environ.get(library.KERNELS_VARIABLE):
        return jit.remarks()
    problem = jit.cache_problem()
    return [] if problem is None else [problem]


def compiler_report() -> str:
    """The answer to `compiler`: what compiles and runs the engine, and which processor features it uses."""
    vectors = {0: "none", 256: "AVX2", 512: "AVX-512"}[jit.VECTOR_BITS]
    return (
        f"{jit.compiler_report()}\n"
        f"Processor: sliding attacks by {'PEXT' if jit.USE_PEXT else 'magic multiplication'}, vectors: {vectors}\n"
        f"Run by {platform.python_implementation()} {platform.python_version()} on {platform.platform()}, "
        f"with NumPy {np.__version__} and python-chess {chess.__version__}"
    )


def plan_report(limits: Limits, overhead: int, ponders: bool) -> str:
    """The line of `debug on` about a new search: its planned time."""
    budget = budget_for(limits, overhead, ponders=ponders)
    if budget.hard == math.inf:
        return "debug: no time limit"
    soft = "" if budget.soft == math.inf else f"about {budget.soft:.0f} ms, "
    return f"debug: time planned: {soft}at most {budget.hard:.0f} ms"
