"""`secateur datagen`: makes training data by self-play, and inspects existing data."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from engine.arguments import Parser, command
from engine.errors import arguments_are_judged
from engine.files import shown
from engine.progress import Display, duration

if TYPE_CHECKING:
    from eval.training.generation import Progress

_EPILOG = """\
examples:
  secateur datagen data/first --positions 10000000
  secateur datagen data/wild --games 100000 --variant dfrc --seed 2 --workers 8
  secateur datagen data/first --positions 20000000 --cluster tcp://HOST:PORT
  secateur datagen data/second --positions 10000000 --network first.snet --seed 3
  secateur datagen stats data/first
  secateur datagen verify data/first data/wild
  secateur datagen archive data/first data/wild --output archive

The same arguments make the same games, whatever the number of workers. After an interruption, run the same command
to continue after the last finished block. docs/training.md describes the file format.
"""


class ProgressView(Display):
    """A display, on stderr, of games, positions, positions per second and time left. Call `update` after each block."""

    def __init__(self, games: int | None, positions: int | None, quiet: bool = False) -> None:
        super().__init__(quiet)
        self._games, self._positions = games, positions
        self._pace: deque[tuple[float, Progress]] = deque(maxlen=200)

    def update(self, progress: Progress) -> None:
        """Shows the progress after another block."""
        self._pace.append((time.monotonic(), progress))

    def line(self) -> str:
        """Returns one line with games, positions, pace and time left."""
        elapsed = duration(time.monotonic() - self.began)
        if not self._pace:
            return f"reading existing shards ({elapsed})"
        (began, first), (now, last) = self._pace[0], self._pace[-1]
        text = f"{last.games} games, {last.positions} positions"
        if last.positions == first.positions or now == began:
            return f"{text}, playing the first block ({elapsed})"
        added, left = last.positions - first.positions, (self._positions or 0) - last.positions
        if self._games is not None:
            added, left = last.games - first.games, self._games - last.games
        speed = (last.positions - first.positions) / (now - began)
        return f"{text} in {elapsed}, {speed:.0f} positions/s, {duration(max(left, 0) * (now - began) / added)} left"


@command("secateur datagen")
def main(arguments: list[str]) -> int:
    """Runs the command; returns the exit status."""
    # A folder with the name stats or verify must be given as ./stats or ./verify.
    if arguments and arguments[0] in ("stats", "verify"):
        from eval.training.commands import inspection

        return inspection.main(arguments)
    if arguments and arguments[0] in ("archive", "restore"):
        from eval.training.commands import archive

        return archive.main(arguments)
    parser = _parser()
    options = parser.parse_args(arguments)
    from eval.build import require_own_evaluation

    with arguments_are_judged():
        require_own_evaluation("training data")
    if options.games is None and options.positions is None:
        parser.error("--games or --positions is required")
    for name in ("games", "positions", "workers"):
        value = getattr(options, name)
        if value is not None and value < 1:
            parser.error(f"--{name}: {value} is not a positive number")
    from eval.network.format import read_network_file
    from eval.training.generation import GAMES_PER_BLOCK, Settings, generate

    network = b""
    if options.network is not None:
        network, _ = read_network_file(options.network)
    with arguments_are_judged():
        settings = Settings(
            seed=options.seed,
            soft_nodes=options.nodes,
            hard_nodes=8 * options.nodes if options.hard_nodes is None else options.hard_nodes,
            hash_mebibytes=options.hash,
            variant=options.variant,
            opening_least=options.opening_plies[0],
            opening_most=options.opening_plies[1],
            opening_score=options.opening_score,
            random_percent=options.random_moves,
            tree_nodes=options.tree_nodes,
            tree_percent=options.tree_percent,
            win_score=options.win[0],
            win_plies=options.win[1],
            draw_score=options.draw[0],
            draw_plies=options.draw[1],
            draw_from=options.draw[2],
            max_plies=options.max_plies,
        )
    folder = Path(options.folder)
    games = options.games
    if games is not None and games % GAMES_PER_BLOCK:
        games += -games % GAMES_PER_BLOCK
        why = f"games are played in blocks of {GAMES_PER_BLOCK}"
        print(f"--games {options.games} is rounded up to {games}: {why}", file=sys.stderr)
    with ProgressView(games, options.positions, options.quiet) as view:
        progress = generate(
            folder, settings, games, options.positions, options.workers, options.cluster, view.update, network
        )
    if options.json:
        print(json.dumps({"folder": str(folder), "games": progress.games, "positions": progress.positions}))
    else:
        print(f"{shown(folder)}: {progress.games} games, {progress.positions} positions")
    return 0


def _parser() -> Parser:
    parser = Parser(
        prog="secateur datagen",
        description="Plays games against itself and saves every position with its score and the game's result. "
        "`datagen stats` and `datagen verify` inspect existing data; each has --help.",
        epilog=_EPILOG,
    )
    parser.add_argument("folder", metavar="FOLDER", help="folder for the shards; created if missing")
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument(
        "--games",
        type=int,
        metavar="N",
        help="play until the folder contains N games, rounded up to a multiple of 16",
    )
    amount.add_argument("--positions", type=int, metavar="N", help="play until the folder contains N positions")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random openings (default 1)")
    parser.add_argument("--nodes", type=int, default=5000, help="begin no iteration after N nodes (default 5000)")
    parser.add_argument(
        "--hard-nodes", type=int, metavar="N", help="stop a search after N nodes (default 8 times --nodes)"
    )
    parser.add_argument("--hash", type=int, default=1, metavar="MIB", help="size of the TT in MiB (default 1)")
    parser.add_argument(
        "--network", type=Path, metavar="FILE.snet", help="evaluate with this network (default: classical evaluation)"
    )
    parser.add_argument(
        "--variant",
        choices=("standard", "chess960", "dfrc", "endgame"),
        default="standard",
        help="start positions; dfrc is Chess960 with a separate array for each side, endgame a few pieces at random "
        "(default standard)",
    )
    parser.add_argument(
        "--opening-plies", type=_numbers(2), default=(8, 9), metavar="N,M", help="N to M random plies (default 8,9)"
    )
    parser.add_argument(
        "--opening-score",
        type=int,
        default=1000,
        metavar="CP",
        help="replace openings that score above CP centipawns for either side (default 1000)",
    )
    parser.add_argument(
        "--random-moves",
        type=int,
        default=0,
        metavar="PERCENT",
        help="play a random quiet move instead of a quiet best move in PERCENT of positions (default 0)",
    )
    parser.add_argument(
        "--tree-nodes",
        type=int,
        default=0,
        metavar="N",
        help="also record a position of each search's tree, and search it with N nodes (default 0: none)",
    )
    parser.add_argument(
        "--tree-percent",
        type=int,
        default=100,
        metavar="PERCENT",
        help="record a position of only PERCENT of the trees (default 100)",
    )
    parser.add_argument(
        "--win",
        type=_numbers(2),
        default=(2500, 4),
        metavar="CP,PLIES",
        help="end a game as won after PLIES scores in a row of at least CP for the same side (default 2500,4)",
    )
    parser.add_argument(
        "--draw",
        type=_numbers(3),
        default=(4, 12, 60),
        metavar="CP,PLIES,FROM",
        help="end a game as a draw after PLIES scores in a row from -CP to CP, beyond ply FROM (default 4,12,60)",
    )
    parser.add_argument(
        "--max-plies", type=int, default=400, metavar="N", help="draw a game N plies after its opening (default 400)"
    )
    cores = os.cpu_count() or 1
    parser.add_argument("--workers", type=int, default=cores, help=f"worker processes (default {cores}, one per core)")
    parser.add_argument("--cluster", metavar="tcp://HOST:PORT", help="play on the workers of this Dask scheduler")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_quiet()
    return parser


def _numbers(count: int) -> Callable[[str], tuple[int, ...]]:
    """Returns a parser of `count` integers separated by commas; it raises ArgumentTypeError for other text."""

    def read(text: str) -> tuple[int, ...]:
        try:
            numbers = tuple(int(part) for part in text.split(","))
        except ValueError:
            numbers = ()
        if len(numbers) != count:
            raise argparse.ArgumentTypeError(f"expected {count} whole numbers separated by commas, got '{text}'")
        return numbers

    return read
