"""Games for the tests of the training pipeline, and a network of them: few nodes, made once a session."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import chess
import numpy as np
import numpy.typing as npt
import pytest

import uci_main
from bench.cluster import Outcome
from engine.board.convert import decode, to_board
from engine.memory import allocate
from eval.training import generation
from eval.training.generation import Player, Settings, generate
from eval.training.kernels.records import SAMPLE, STANDARD
from tests.training.positions import unpacked

QUICK = Settings(soft_nodes=150, hard_nodes=1200)
TINY = ["--hidden", "32", "--superbatches", "3", "--batch-size", "256", "--validation", "0.2", "--threads", "1"]


class Record(NamedTuple):
    """A game as it is kept: GAME[1] and PLY[n]."""

    game: npt.NDArray[np.void]
    plies: npt.NDArray[np.void]


def start_of(game: Any) -> chess.Board:
    """The start of GAME[1] as python-chess has it."""
    sample = allocate(SAMPLE, 1)
    sample["position"] = game["start"]
    return to_board(unpacked(sample)[0], chess960=int(game[0]["variant"]) != STANDARD)


def replayed(record: Record) -> list[chess.Board]:
    """All positions of a game, the last one included; every move is checked by python-chess."""
    board = start_of(record.game)
    boards = [board.copy()]
    for move in record.plies["move"].tolist():
        chess_move = decode(move, board.chess960)
        assert board.is_legal(chess_move), (board.fen(), chess_move)
        board.push(chess_move)
        boards.append(board.copy(stack=False))
    return boards


def play(settings: Settings, count: int) -> list[Record]:
    player = Player(settings)
    return [Record(*player.play(index)) for index in range(count)]


@pytest.fixture(scope="session")
def records() -> list[Record]:
    """Sixty-four quick games of all variants."""
    variants = (("standard", 40), ("chess960", 8), ("dfrc", 8), ("endgame", 8))
    return [
        record
        for variant, count in variants
        for record in play(Settings(soft_nodes=150, hard_nodes=1200, variant=variant), count)
    ]


@pytest.fixture(scope="session")
def lines(records: list[Record]) -> list[list[chess.Board]]:
    """The positions of these games."""
    return [replayed(record) for record in records]


def play_here(function: Callable[[Any], Any], items: Iterable[Any], *_: Any, **__: Any) -> Generator[Any, None, None]:
    """`map_unordered` without processes, whose start takes longer than the few games of a test."""
    return (Outcome(item, function(item)) for item in items)


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Games are played in the test's own process."""
    monkeypatch.setattr(generation, "map_unordered", play_here)


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with 64 quick games in one shard; not to be changed."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(generation, "map_unordered", play_here)
        generate(folder, QUICK, games=64)
    return folder


def arguments(made: Path, output: Path, *more: str) -> list[str]:
    """What trains a tiny network on the command line."""
    return ["train", str(made), "--output", str(output), *TINY, *more]


@pytest.fixture(scope="session")
def trained(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny network; its run lies beside it."""
    output = tmp_path_factory.mktemp("trained") / "tiny.snet"
    assert uci_main.main(arguments(made, output, "--quiet")) == 0
    return output


@pytest.fixture
def copied(made: Path, tmp_path: Path) -> Callable[[], Path]:
    """Copies that folder to where it may be changed; gives its one shard."""

    def copy() -> Path:
        target = tmp_path / "shard-000000.games"
        target.write_bytes((made / "shard-000000.games").read_bytes())
        return target

    return copy
