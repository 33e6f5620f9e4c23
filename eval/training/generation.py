"""Generates self-play games in one or more processes, and resumes after a crash.

With the same seed, settings, network and sources, game number n is always the same game. Workers play blocks of
GAMES_PER_BLOCK games. The blocks are appended to shards in order, so the files in a folder do not depend on the number
of workers. After a `kill -9`, the same command continues after the last whole block.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cache, lru_cache
from itertools import chain, count
from pathlib import Path
from typing import Any, Final

import chess
import numpy as np
import numpy.typing as npt

from bench.cluster import WorkError, map_unordered
from engine.board.position import POSITION
from engine.compiler.sources import PROJECT_ROOT, add_sources, kernel_sources
from engine.files import shown
from engine.memory import allocate
from eval.build import require_own_evaluation
from eval.network.format import decode_network, network_digest
from eval.training.kernels.records import GAME, PLY, VARIANTS
from eval.training.kernels.selfplay import RULES, play_game
from eval.training.shards import (
    ARCHIVED,
    FINISHED,
    UNFINISHED,
    Shard,
    ShardError,
    ShardWriter,
    check_head,
    check_only_writer,
    encode_block,
    is_empty,
    only_writer,
    read_shard,
    shard_path,
)
from search.kernels.transposition import allocate_table
from search.kernels.worker import forget, new_worker, set_network

GAMES_PER_BLOCK: Final = 16
BLOCKS_PER_SHARD: Final = 256

#: The modules of this package whose code determines the games.
_SOURCES: Final = ("generation.py", "kernels/records.py", "kernels/selfplay.py")


@dataclass(frozen=True)
class Settings:
    """The settings of self-play games. Scores are in centipawns; RULES describes most fields.

    `generate` sets `network` to the digest of the network that evaluates, or to "" for the classical evaluation.
    `hash_mebibytes` is the size of the TT. Raises ValueError, with a message of one line, if a value is invalid.
    """

    seed: int = 1
    soft_nodes: int = 5000
    hard_nodes: int = 40_000
    hash_mebibytes: int = 1
    variant: str = "standard"
    opening_least: int = 8
    opening_most: int = 9
    opening_score: int = 1000
    random_percent: int = 0
    tree_nodes: int = 0
    tree_percent: int = 100
    win_score: int = 2500
    win_plies: int = 4
    draw_score: int = 4
    draw_plies: int = 12
    draw_from: int = 60
    max_plies: int = 400
    network: str = ""

    def __post_init__(self) -> None:
        bounds = {
            "seed": (0, 1 << 63),
            "soft_nodes": (1, 1 << 40),
            "hard_nodes": (self.soft_nodes, 1 << 40),
            "hash_mebibytes": (1, 1024),
            "opening_least": (0, 100),
            "opening_most": (self.opening_least, 100),
            "opening_score": (100, 40_000),
            "random_percent": (0, 100),
            "tree_nodes": (0, 1 << 40),
            "tree_percent": (1, 100),
            "win_score": (100, 40_000),
            "win_plies": (1, 1000),
            "draw_score": (-1, 1000),
            "draw_plies": (1, 1000),
            "draw_from": (0, 65_535),
            "max_plies": (1, 65_000),
        }
        for name, (low, high) in bounds.items():
            value = getattr(self, name)
            if not low <= value <= high:
                raise ValueError(f"{name.replace('_', ' ')} must be {low} to {high} (got {value})")
        if self.variant not in VARIANTS:
            raise ValueError(f"variant must be one of {', '.join(VARIANTS)} (got {self.variant})")

    def as_rules(self) -> Any:
        """Returns the settings that RULES contains, as a RULES record."""
        rules = allocate(RULES, 1)[0]
        for name in RULES.names or ():
            rules[name] = VARIANTS.index(self.variant) if name == "variant" else getattr(self, name)
        return rules


@cache
def source_digest() -> str:
    """Returns a digest of the sources that the games depend on: 12 hexadecimal digits, the same on every machine."""
    digest = hashlib.sha256()
    add_sources(digest, [*kernel_sources(), *(PROJECT_ROOT / "eval" / "training" / name for name in _SOURCES)])
    return digest.hexdigest()[:12]


class Player:
    """A player of self-play games. Its settings, its network and the number of a game determine the game."""

    def __init__(self, settings: Settings, network: bytes = b"") -> None:
        """Sets up the search. `network` is the contents of a network file, empty for the classical evaluation.

        Raises NetworkError if `network` is invalid, and EvaluationError if the process has a custom evaluation.
        """
        # A custom evaluation is compiled into the search, so it would score the moves, whatever the settings say.
        require_own_evaluation("training data")
        self._seed = settings.seed
        self._rules = settings.as_rules()
        self._worker = new_worker()
        if network:
            set_network(self._worker, decode_network(network).record())
        self._table = allocate_table(settings.hash_mebibytes)
        starts = map(chess.Board.from_chess960_pos, range(960))
        self._ranks = np.array([[board.piece_type_at(square) for square in range(8)] for board in starts], np.uint8)
        trees = settings.max_plies if settings.tree_nodes else 0
        self._games = allocate(GAME, 1 + trees)
        self._plies = allocate(PLY, settings.max_plies + trees)
        self._scratch = allocate(POSITION, 1)[0], self._worker["keys"].copy()

    def play(self, index: int) -> tuple[npt.NDArray[np.void], npt.NDArray[np.void]]:
        """Plays game number `index`; returns its records, GAME[m], the game's own first, and their plies, PLY[n].

        The records after the first are positions of search trees, one ply each.
        """
        forget(self._worker)
        self._worker["generation"] = 0
        self._table["check"] = self._table["word"] = 0
        random = _random(self._seed, index)
        records = play_game(
            self._worker, self._table, self._rules, self._ranks, random, self._games, self._plies, self._scratch
        )
        first = int(self._rules["max_plies"])
        of_trees = self._plies[first : first + records - 1]
        plies = np.concatenate([self._plies[: int(self._games[0]["plies"])], of_trees])
        return self._games[:records].copy(), plies


def _random(seed: int, index: int) -> npt.NDArray[np.uint64]:
    """Returns the initial state of a game's random number generator: uint64[1], an odd number."""
    digest = hashlib.sha256(f"{seed} {index}".encode()).digest()
    return np.array([int.from_bytes(digest[:8], "little") | 1], np.uint64)


_player = lru_cache(maxsize=1)(Player)  # a process reuses its player while settings and network stay the same


@dataclass(frozen=True)
class Task:
    """A block of games to play, with the digest of the required `sources` and the contents of the network file."""

    settings: Settings
    block: int
    sources: str
    network: bytes = b""


def play_block(task: Task) -> bytes:
    """Plays a block; returns its bytes. Raises RuntimeError if the sources differ, and the errors of `Player`."""
    if source_digest() != task.sources:
        raise RuntimeError(f"this worker's version of Secateur is {source_digest()}, the command's is {task.sources}")
    player = _player(task.settings, task.network)
    start = task.block * GAMES_PER_BLOCK
    games, plies = zip(*map(player.play, range(start, start + GAMES_PER_BLOCK)), strict=True)
    return encode_block(task.block, np.concatenate(games), np.concatenate(plies))


@dataclass(frozen=True)
class Progress:
    """The progress of `generate`: the numbers of blocks and positions that the folder contains."""

    blocks: int
    positions: int

    @property
    def games(self) -> int:
        """The number of games in the folder."""
        return self.blocks * GAMES_PER_BLOCK


def generate(
    folder: Path,
    settings: Settings,
    games: int | None = None,
    positions: int | None = None,
    workers: int = 1,
    cluster: str | None = None,
    on_progress: Callable[[Progress], None] = lambda progress: None,
    network: bytes = b"",
) -> Progress:
    """Plays until the folder contains the first `games` games (rounded up to blocks) or at least `positions` positions.

    If both are None, plays until interrupted. Plays missing blocks in ascending order, in `workers` processes or
    on the Dask scheduler `cluster`, then finishes all shards. Calls `on_progress` at the start and after each block;
    returns the final progress. `network` is the contents of a network file, empty for the classical evaluation.
    Raises OSError, also if the folder was moved; ShardError if another process uses the folder or has changed a shard,
    or if a shard is unusable or has other settings; ClusterError if the cluster is unusable; NetworkError if `network`
    is invalid; EvaluationError if the process has a custom evaluation; and WorkError if a block fails.
    """
    require_own_evaluation("training data")
    settings = replace(settings, network=network_digest(network))
    folder.mkdir(parents=True, exist_ok=True)
    with only_writer(folder, "making or restoring games"), _named(folder):
        head = {**asdict(settings), "games_per_block": GAMES_PER_BLOCK, "sources": source_digest()}
        there = _shards_there(folder, head)
        progress = Progress(sum(shard.blocks for shard in there.values()), sum(s.positions for s in there.values()))
        on_progress(progress)
        end = None if games is None else -(-games // GAMES_PER_BLOCK)
        have = {number: shard.blocks for number, shard in there.items()}
        missing = _missing_blocks(have, end)
        first = None if positions is not None and progress.positions >= positions else next(missing, None)
        if first is not None and cluster is None:
            # Compile once here, not in every worker at the same time. Playing one ply compiles the whole kernel.
            Player(Settings(soft_nodes=1, hard_nodes=1, max_plies=1)).play(0)
        numbers = () if first is None else chain([first], missing)
        tasks = (Task(settings, block, head["sources"], network) for block in numbers)
        writer: ShardWriter | None = None
        try:
            with closing(_play_in_order(tasks, workers, cluster)) as blocks:
                for block, data in blocks:
                    check_only_writer(folder)
                    if writer is None:
                        writer = ShardWriter(folder, block // BLOCKS_PER_SHARD, head)
                        if writer.blocks != block % BLOCKS_PER_SHARD:
                            raise ShardError(f"{shown(writer.path)}: another process has changed it")
                    before = writer.positions
                    writer.append(data)
                    progress = Progress(progress.blocks + 1, progress.positions + writer.positions - before)
                    on_progress(progress)
                    if writer.blocks == BLOCKS_PER_SHARD:
                        writer.finish()
                        writer = None
                    if positions is not None and progress.positions >= positions:
                        break
        finally:
            if writer is not None:
                writer.close()
        check_only_writer(folder)
        for path in sorted(folder.glob(f"shard-*{UNFINISHED}")):
            with closing(ShardWriter(folder, _number_of(path), head)) as unfinished:
                if unfinished.blocks:
                    unfinished.finish()
        return progress


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Adds `path` to an OSError from the `with` block if the error names no file. That of a full disk names none."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


def _shards_there(folder: Path, head: dict[str, Any]) -> dict[int, Shard]:
    """Returns a folder's shards by number. Skips unfinished shards without a complete head.

    Raises OSError, and ShardError if a shard is unusable, exists twice, or has another number or other settings.
    """
    there: dict[int, Shard] = {}
    if any(folder.glob(f"shard-*{ARCHIVED}")):
        raise ShardError(f"{folder}: contains archived shards; restore them, or use another folder")
    for path in sorted(folder.glob(f"shard-*{FINISHED}")) + sorted(folder.glob(f"shard-*{UNFINISHED}")):
        number = _number_of(path)
        if path.suffix == UNFINISHED and is_empty(path, number, head):
            continue
        shard = read_shard(path)
        check_head(path, (shard.number, shard.settings), number, head)
        if number in there:
            raise ShardError(f"{there[number].path}: {path.name} also exists; remove one of them")
        there[number] = shard
    return there


def _number_of(path: Path) -> int:
    """Returns the number in the name of a shard. Raises ShardError if the file is not named like a shard."""
    digits = path.stem.removeprefix("shard-")
    if not (digits.isdecimal() and path == shard_path(path.parent, int(digits), path.suffix)):
        raise ShardError(f"{path}: is not named like a shard (shard-NNNNNN{path.suffix})")
    return int(digits)


def _missing_blocks(have: dict[int, int], end: int | None) -> Iterator[int]:
    """Yields the missing blocks' numbers in order, below `end` if it is given. `have` maps shards to block counts."""
    for number in count():
        first = number * BLOCKS_PER_SHARD
        for block in range(first + have.get(number, 0), first + BLOCKS_PER_SHARD):
            if end is not None and block >= end:
                return
            yield block


def _play_in_order(
    tasks: Iterator[Task], workers: int, cluster: str | None
) -> Generator[tuple[int, bytes], None, None]:
    """Plays blocks; yields (number, bytes) in the order of `tasks`.

    Raises WorkError if a block fails, and ClusterError if the cluster is unusable.
    """
    wanted: deque[int] = deque()
    waiting: dict[int, bytes] = {}

    def noted() -> Iterator[Task]:
        for task in tasks:
            wanted.append(task.block)
            yield task

    with closing(map_unordered(play_block, noted(), cluster, workers=workers)) as outcomes:
        for outcome in outcomes:
            if outcome.error is not None:
                raise WorkError(f"block {outcome.item.block}: {outcome.error}")
            waiting[outcome.item.block] = outcome.unwrap()
            while wanted and wanted[0] in waiting:
                block = wanted.popleft()
                yield block, waiting.pop(block)
