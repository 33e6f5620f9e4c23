"""`secateur book`: makes openings of its own: random plies, then a search that keeps what lies in a score window."""

from __future__ import annotations

import argparse
import itertools
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import chess

from bench.cluster import map_unordered
from bench.engines import EngineSpec, EngineSpecError, compile_kernels, engine_from_pairs, this_engine
from bench.openings import parse_plies, play_random_moves
from bench.runners.base import unfit_engines
from bench.suites import Problem, Task, solve
from bench.timecontrol import add_limit_arguments, limit_from_arguments
from engine.arguments import Parser, command
from engine.errors import CommandError, arguments_are_judged
from engine.files import Output, locked
from engine.progress import Steps

#: Name: the score window in centipawns from white's point of view.
WINDOWS: Final = {"balanced": (-40, 40), "unbalanced": (90, 150)}

#: How long a position is thought about.
DEFAULT_LIMIT: Final = "nodes=20000"

#: So many failures of the engine in a row, and it is given up.
PATIENCE: Final = 10

_EPILOG = """\
examples:
  secateur book balanced.epd --count 500
  secateur book unbalanced.epd --kind unbalanced --plies 8-10 --engine cmd=stockfish --nodes 50000 --concurrency 4

The same seed, engine and node limit make the same book. Each line has the score (ce, for the side to move).
"""


@dataclass(frozen=True, slots=True)
class Candidate:
    """The opening number `index` of the series that `seed` starts, to be judged by `engine`."""

    seed: int
    index: int
    plies: tuple[int, int]
    engine: EngineSpec


@dataclass(frozen=True, slots=True)
class Judged:
    """A position and its score for white in centipawns: None for a mate, for a failure, or for no position."""

    fen: str = ""
    score: int | None = None
    error: str = ""


@command("secateur book")
def main(arguments: list[str]) -> int:
    """Makes a book; returns the exit status."""
    options = parser().parse_args(arguments)
    with arguments_are_judged():
        engine = _engine(options)
        low, high = WINDOWS[options.kind] if options.window is None else options.window
        if low > high or options.count < 1 or options.concurrency < 1:
            raise EngineSpecError("the window's first score is the lower one; --count and --concurrency are at least 1")
        plies = parse_plies(options.plies)
    path = Path(options.file)
    _output(path, options.overwrite)
    tried, lines = 0, list[str]()
    problem = ""
    with locked(path):
        output = _output(path, options.overwrite)
        with Steps("starting the engine", options.quiet):
            for unfit in unfit_engines((engine,), options.cluster).values():
                raise CommandError(unfit)
        compile_kernels([engine], options.cluster)
        candidates = (Candidate(options.seed, index, plies, engine) for index in itertools.count())
        try:
            for tried, line in _lines(candidates, low, high, options):  # noqa: B007 - told below
                lines.append(line)
        except KeyboardInterrupt:
            problem = "interrupted"
        except CommandError as error:
            problem = str(error)
        if problem and (not lines or output.size):
            raise CommandError(f"{problem}; nothing was written")
    # Windows replaces no file that is open, as a locked one is.
    output.replace("".join(f"{line}\n" for line in lines))
    if problem:
        raise CommandError(f"{problem}; {path} has {len(lines)} of {options.count} openings")
    print(f"{path}: {options.count} openings, white between {low / 100:+.2f} and {high / 100:+.2f}, {tried} tried")
    return 0


def _output(path: Path, overwrite: bool) -> Output:
    """The file for the book. Raises OSError for another file, and CommandError for a book that is to stay."""
    output = Output(path, is_book, "book")
    if output.size and not overwrite:
        raise CommandError(f"{path} is there already; --overwrite replaces it")
    return output


def is_book(head: bytes) -> bool:
    """Whether a file that begins like this is a book of positions: its first line is an EPD."""
    line = head.lstrip().partition(b"\n")[0].decode("utf-8", "replace")
    return re.match(r"([1-8pnbrqkPNBRQK]{1,8}/){7}[1-8pnbrqkPNBRQK]{1,8} [wb] ", line) is not None


def parser() -> Parser:
    """The command's options."""
    parser = Parser(
        prog="secateur book",
        description="Makes openings: random moves from the start, kept if an engine's score lies in the window.",
        epilog=_EPILOG,
    )
    parser.add_argument("file", metavar="FILE.epd")
    parser.add_argument("--count", type=int, default=500, help="openings to make (default 500)")
    windows = ", ".join(f"{name} {low}..{high}" for name, (low, high) in WINDOWS.items())
    parser.add_argument("--kind", choices=tuple(WINDOWS), default="balanced", help=f"a usual window: {windows}")
    parser.add_argument(
        "--window", type=int, nargs=2, metavar=("LOW", "HIGH"), help="centipawns from white's point of view"
    )
    parser.add_argument("--plies", default="8", metavar="N|N-M", help="random plies (default 8)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random moves (default 1)")
    add_limit_arguments(parser, DEFAULT_LIMIT)
    parser.add_argument(
        "--engine", nargs="+", metavar="KEY=VALUE", help="the judge: cmd=, arg=, option.NAME= (default: Secateur)"
    )
    parser.add_argument("--concurrency", type=int, default=1, help="searches at the same time (default 1)")
    parser.add_argument("--cluster", metavar="tcp://HOST:PORT", help="search on this Dask cluster")
    parser.add_argument("--overwrite", action="store_true", help="replace the file")
    parser.add_quiet()
    return parser


def _engine(options: argparse.Namespace) -> EngineSpec:
    pairs = options.engine or this_engine("name=Secateur")
    engine = engine_from_pairs(pairs, (), limit_from_arguments(options, DEFAULT_LIMIT))
    engine.resolved_program()
    return engine


# --------------------------------------------------------------------------------------------------------------
# Candidates
# --------------------------------------------------------------------------------------------------------------


def random_position(seed: int, index: int, plies: tuple[int, int]) -> chess.Board | None:
    """The start position after random moves; None where the game ends on the way or the side to move is in check."""
    generator = random.Random(f"{seed}/{index}")
    board = chess.Board()
    return board if play_random_moves(board, plies, generator) else None


def judge(candidate: Candidate) -> Judged:
    """Makes the candidate's position and asks the engine for its score."""
    board = random_position(candidate.seed, candidate.index, candidate.plies)
    if board is None:
        return Judged()
    answer = solve(Task(candidate.engine, Problem(str(candidate.index), board.fen())))
    if answer.error:
        return Judged(error=f"{candidate.engine.name}: {answer.error}")
    score = answer.centipawns
    if score is not None and board.turn == chess.BLACK:
        score = -score
    return Judged(board.fen(), score)


def _lines(
    candidates: Iterator[Candidate], low: int, high: int, options: argparse.Namespace
) -> Iterator[tuple[int, str]]:
    """The lines of the book, each with the number of candidates tried so far. Raises CommandError for a bad engine."""
    seen: set[str] = set()
    failures = 0
    with Steps("searching", options.quiet) as steps:
        for tried, judged in enumerate(_in_order(candidates, options), start=1):
            steps.show(f"{len(seen)} of {options.count} openings, {tried} tried")
            failures = failures + 1 if judged.error else 0
            if failures >= PATIENCE:
                raise CommandError(f"given up after {failures} failures in a row: {judged.error}")
            if judged.score is None or not low <= judged.score <= high:
                continue
            board = chess.Board(judged.fen)
            # Transpositions are one opening, whatever their counters say.
            if board.epd() in seen:
                continue
            seen.add(board.epd())
            for_mover = judged.score if board.turn == chess.WHITE else -judged.score
            yield tried, board.epd(hmvc=board.halfmove_clock, fmvn=board.fullmove_number, ce=for_mover)
            if len(seen) >= options.count:
                return


def _in_order(candidates: Iterator[Candidate], options: argparse.Namespace) -> Iterator[Judged]:
    """The verdicts in the order of the candidates, so that the book does not depend on who finished first."""
    waiting: dict[int, Judged] = {}
    wanted = 0
    for outcome in map_unordered(judge, candidates, options.cluster, workers=options.concurrency):
        waiting[outcome.item.index] = outcome.value or Judged(error=outcome.error or "no answer")
        while wanted in waiting:
            yield waiting.pop(wanted)
            wanted += 1
