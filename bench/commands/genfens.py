"""`secateur genfens`: prints random openings for data generation, in the format that OpenBench's client reads.

The client runs `ENGINE "genfens N seed S book <None|FILE> EXTRA" quit` several times at once and collects the lines
that begin with `info string genfens`. The client gives up after 15 seconds without such a line. EXTRA stands for
further options of this command, which OpenBench's workload specifies.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import chess

from bench.openings import BookError, load_openings, parse_plies, parse_position, play_random_moves, read_book
from engine.arguments import Parser, command
from engine.errors import arguments_are_judged
from engine.files import count_of, shown
from engine.progress import Steps

#: The prefix of the lines that the client collects.
PREFIX: Final = "info string genfens"

#: The default ranges of the number of random plies, from the start position (as in self-play) and from a book position.
START_PLIES: Final = "8-9"
BOOK_PLIES: Final = "1-4"

#: If the book's name contains one of these, the client plays Chess960, and this command reads an EPD book as Chess960.
CHESS960_NAMES: Final = ("FRC", "960", "FISCHER")

#: TT size in MiB. A small TT suffices, because each search is short and starts with an empty TT.
HASH: Final = 1

#: The command gives up after it has rejected this many candidates in a row.
PATIENCE: Final = 1000

#: A function that draws a position to play random moves from. It raises ValueError if it draws an invalid book line.
Draw = Callable[[random.Random], chess.Board]


@command("secateur genfens")
def main(arguments: list[str]) -> int:
    """Prints openings and returns the exit status."""
    if arguments[-1:] == ["quit"]:  # the client adds `quit` for engines that would continue to read commands
        arguments = arguments[:-1]
    parser = _parser()
    options = parser.parse_args(arguments)
    for name, value in (("N", options.count), ("--score", options.score), ("--nodes", options.nodes)):
        if value < 1:
            parser.error(f"{name} must be at least 1 (got {value})")
    from_start = options.book.lower() == "none"
    with arguments_are_judged():
        plies = parse_plies(options.plies or (START_PLIES if from_start else BOOK_PLIES))
    with Steps("reading the book") as steps:
        draw: Draw = (lambda _: chess.Board()) if from_start else _from_book(Path(options.book))
        steps.show("loading the kernels")
        from search.warmup import load_kernels

        load_kernels()
        found = openings(options.count, options.seed, draw, plies, options.score, options.nodes)
        for number, fen in enumerate(found, start=1):
            # Each line is a single write, because OpenBench's client reads stdout and stderr from one pipe.
            print(f"{PREFIX} {fen}\n", end="", flush=True)
            steps.show(f"{number} of {options.count} openings")
    return 0


def _parser() -> Parser:
    parser = Parser(
        prog="secateur genfens",
        usage="secateur genfens N seed S book None|FILE [--plies N|N-M] [--score CP] [--nodes N]",
        description="Prints random openings for OpenBench's data generation. They differ from each other, and the side "
        "to move is not in check. The same arguments give the same openings.",
    )
    parser.add_argument("count", type=int, metavar="N", help="number of openings")
    parser.add_argument("seed_word", choices=("seed",), metavar="seed")
    parser.add_argument("seed", type=int, metavar="S", help="seed of the random moves")
    parser.add_argument("book_word", choices=("book",), metavar="book")
    parser.add_argument("book", metavar="None|FILE", help="the start position, or an EPD or PGN book")
    parser.add_argument(
        "--plies", metavar="N|N-M", help=f"random plies (default {START_PLIES}, or {BOOK_PLIES} from a book)"
    )
    parser.add_argument(
        "--score", type=int, default=1000, metavar="CP", help="highest score for either side, in cp (default 1000)"
    )
    parser.add_argument("--nodes", type=int, default=5000, metavar="N", help="nodes to score an opening (default 5000)")
    return parser


def openings(count: int, seed: int, draw: Draw, plies: tuple[int, int], score: int, nodes: int) -> Iterator[str]:
    """Yields the FENs of `count` different openings. The arguments and the engine version determine them.

    A candidate is a position from `draw` after `plies` (least, most) random plies. It is rejected if its book line is
    invalid, if it is not new, if the side to move is in check or has no legal move, or if a search of `nodes` nodes
    scores it above `score` centipawns for either side. Raises BookError after PATIENCE rejected candidates in a row.
    """
    # Imported here so that `--help` does not load the kernels.
    from eval.network.format import shipped_network
    from search.limits import Limits
    from search.searcher import Game, Searcher

    generator = random.Random(seed)
    searcher = Searcher(HASH, network=shipped_network())
    seen: set[str] = set()
    failures, problem = 0, ""
    while len(seen) < count:
        if failures == PATIENCE:
            found = f"found {count_of(len(seen), 'opening')}"
            raise BookError(f"{found}, then rejected {PATIENCE} candidates in a row{problem}")
        failures += 1
        try:
            board = draw(generator)
        except ValueError as error:
            problem = f"; last error in the book: {error}"
            continue
        if not play_random_moves(board, plies, generator) or board.epd() in seen:
            continue
        searcher.new_game()
        info = searcher.search(Game(board), Limits(nodes=nodes)).info
        if info is None or abs(info.score) > score:
            continue
        failures = 0
        seen.add(board.epd())
        yield board.fen()


def _from_book(path: Path) -> Draw:
    """Returns a function that draws positions from a book. Raises BookError if the book is empty or unreadable."""
    name, data = read_book(path)
    if name.lower().endswith(".pgn"):
        games = load_openings(path)
        return lambda generator: generator.choice(games).board()
    lines = data.splitlines()
    if not lines:
        raise BookError(f"{shown(path)}: the book is empty")
    chess960 = any(name in path.name.upper() for name in CHESS960_NAMES)
    return lambda generator: parse_position(generator.choice(lines).decode("utf-8", "replace"), chess960)[0]
