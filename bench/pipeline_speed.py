"""How fast games and networks are made: `datagen` and `train` as a user would call them, on two cores.

Only made data are trained on, and they are gone afterwards.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from bench.engines import SECATEUR
from bench.speed import Row
from eval.network.format import SHIPPED

#: Processes and threads that the figures are asked for.
CORES: Final = 2

#: Nodes a move, and games to play at that.
GENERATION_NODES: Final = 5000
GENERATION_GAMES: Final = 160

#: Width of the network that is trained, passes over the data (the default of `train`), and what it is trained on:
#: quickly made positions, which take as long as good ones.
TRAINING_WIDTH: Final = 128
TRAINING_PASSES: Final = 40
TRAINING_POSITIONS: Final = 600_000
TRAINING_NODES: Final = 60


class PipelineError(Exception):
    """A command of the pipeline that failed; the message is its last line."""


def generation_speed(games: int = GENERATION_GAMES, nodes: int = GENERATION_NODES) -> float:
    """Positions a second of `datagen` with the network that comes with the engine, its start included.

    Raises PipelineError.
    """
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        made = _run("datagen", folder, "--games", games, "--nodes", nodes, "--workers", CORES, "--network", SHIPPED)
        return float(made["positions"]) / (time.perf_counter() - began)


def training_speeds(
    rounds: int, positions: int = TRAINING_POSITIONS, passes: int = TRAINING_PASSES, width: int = TRAINING_WIDTH
) -> list[float]:
    """Samples a second of `train` in each round, decoding, filtering and shuffling included. Raises PipelineError."""
    with tempfile.TemporaryDirectory() as folder:
        data, output = Path(folder, "data"), Path(folder, "measured.snet")
        _run("datagen", data, "--positions", positions, "--nodes", TRAINING_NODES, "--workers", CORES)
        recipe = ("--hidden", width, "--superbatches", passes, "--threads", CORES, "--quiet", "--overwrite")
        trained = [_run("train", data, "--output", output, *recipe) for _ in range(rounds)]
        return [float(outcome["pace"]["with_loading"]) for outcome in trained]


def measure_pipeline(rounds: int, progress: Callable[[str], None]) -> tuple[list[Row], list[str]]:
    """The rows, and remarks about those that could not be measured."""
    rows, remarks = [], []
    try:
        made = []
        for number in range(rounds):
            progress(f"making games, round {number + 1} of {rounds}")
            made.append(generation_speed())
        name = f"`datagen` at {GENERATION_NODES} nodes a move, two cores"
        rows.append(Row(name, " positions/s", tuple(made), 300, 600))
        progress("training")
        trained = tuple(speed / 1e6 for speed in training_speeds(rounds))
        name = f"`train`, H = {TRAINING_WIDTH}, two cores, loading included"
        rows.append(Row(name, " M samples/s", trained, 0.6, 1.5))
    except PipelineError as error:
        remarks.append(f"Making games and networks was not measured: {error}")
    return rows, remarks


def _run(*arguments: object) -> Any:
    """What a command of Secateur says with `--json`. Raises PipelineError."""
    command = [*SECATEUR, *map(str, arguments), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        raise PipelineError(lines[-1] if lines else f"{command[1]} ended with {done.returncode}")
    return json.loads(done.stdout)
