"""A training run: a folder with its pool (see `eval.training.pool`), from which the run resumes exactly.

    run.json        recipe and data
    checkpoint.npz  parameters, moments and log after the last finished superbatch
    log.jsonl       a line for each superbatch
    start.snet      the network that the run began with, if it did not begin with random weights

A killed run resumes with the superbatch that it was in, and ends with the same network as a run that was not killed.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from engine.files import Output, open_regular, parse_json, printable, read_bytes, reason, replace_file, shown
from eval.network.format import is_network, read_network
from eval.training.kernels.gradients import Floats, new_vector, parameter_count
from eval.training.pool import FACTS, TRAINING, VALIDATION, holds_samples
from eval.training.samples import Filter
from eval.training.trainer import Entry, Moment, Recipe, State, Trainer, TrainingError, first_state, state_from

RUN, CHECKPOINT, LOG, START = "run.json", "checkpoint.npz", "log.jsonl", "start.snet"

#: The files of a run except RUN: what messages call each, and how its own contents begin.
_FILES: Final[dict[str, tuple[str, Callable[[bytes], bool]]]] = {
    START: ("network file", is_network),
    CHECKPOINT: ("checkpoint of a run", lambda head: head[30:44] == b"parameters.npy"),
    LOG: ("log of a run", lambda head: head.startswith(b'{"superbatch": ')),
    FACTS: ("pool of positions", lambda head: head.startswith(b'{\n  "shards": ')),
    TRAINING: ("file of positions", holds_samples),
    VALIDATION: ("file of positions", holds_samples),
}

#: Subfolder of a run's folder, in which a pool is made. A killed command leaves it behind.
_NEW: Final = ".new-pool-"


@dataclass(frozen=True)
class Run:
    """A recipe and its data: files and folders, whether unfinished shards count, the filter, and the share of the games
    held out for validation.
    """

    recipe: Recipe
    data: tuple[str, ...]
    partial: bool = False
    wanted: Filter = field(default_factory=Filter)
    validation: float = 0.02

    def __post_init__(self) -> None:
        if not 0.0 <= self.validation < 1.0:
            raise TrainingError(f"validation is 0 or more and less than 1, not {self.validation:g}")
        if self.wanted.halfmoves < 1:
            raise TrainingError(f"halfmoves is more than 0, not {self.wanted.halfmoves}")


def check_new(folder: Path, overwrite: bool) -> None:
    """Checks that a new run may begin in a folder.

    Raises TrainingError for an earlier run unless `overwrite` is set, and for a file with the name of one of a run's
    files where there is no run. Raises OSError for a file that is not the earlier run's own.
    """
    if os.path.lexists(folder / RUN):
        load_run(folder)
        if not overwrite:
            raise TrainingError(f"{shown(folder)} holds a run already: --resume continues it, --overwrite replaces it")
        return
    for name in _FILES:
        if os.path.lexists(folder / name):
            raise TrainingError(f"{shown(folder / name)}: is there already and belongs to no run; remove it")


def load_run(folder: Path) -> Run:
    """Reads `run.json`, and checks that all files with the names of a run's files are its own.

    Raises TrainingError, also when there is no run and for a link, because the run would write to the link's target.
    Raises OSError for a file of another kind.
    """
    path = folder / RUN
    for name in (RUN, *_FILES):
        if (folder / name).is_symlink():
            raise TrainingError(f"{shown(folder / name)}: is a link, not a file of the run")
    try:
        values = parse_json(read_bytes(path, 1 << 24), with_paths=True)
        values["wanted"] = Filter(**values["wanted"])
        values["recipe"] = Recipe(**values["recipe"])
        run = Run(**values | {"data": tuple(values["data"])})
    except FileNotFoundError:
        raise TrainingError(f"{shown(folder)}: holds no run to resume") from None
    except OSError as error:
        raise TrainingError(f"{shown(path)}: {reason(error)}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise TrainingError(f"{shown(path)}: cannot be used: {printable(str(error))}") from None
    for name in _FILES:
        _output(folder, name)
    return run


def _output(folder: Path, name: str) -> Output:
    """A file of a run to write. Raises OSError where a file of another kind has its name."""
    kind, is_own = _FILES[name]
    return Output(folder / name, is_own, kind)


@contextmanager
def new_pool(folder: Path) -> Iterator[Path]:
    """An empty folder within a run's folder to make a pool in. Removed in the end, with those of killed commands."""
    for left in folder.glob(f"{_NEW}*/"):
        if not left.is_symlink() and all(
            path.name.isdecimal() or path.name in (TRAINING, VALIDATION, FACTS) for path in left.iterdir()
        ):
            shutil.rmtree(left)
    with tempfile.TemporaryDirectory(prefix=_NEW, dir=folder) as new:
        yield Path(new)


def begin_run(folder: Path, run: Run, start: bytes | None) -> None:
    """Replaces an earlier run by a new one without a pool. Raises OSError, and TrainingError as `check_new`.

    `start` is the network file that the run begins with, None for random weights.
    """
    check_new(folder, overwrite=True)  # again: making the pool may have taken hours
    for name in _FILES:
        (folder / name).unlink(missing_ok=True)
    save_run(folder, run)
    if start is not None:
        replace_file(folder / START, start)


def save_run(folder: Path, run: Run) -> None:
    """Writes `run.json`. Raises OSError."""
    replace_file(folder / RUN, json.dumps(asdict(run), indent=2).encode() + b"\n")


def adopt_pool(folder: Path, new: Path) -> None:
    """Moves a pool from `new` into the run's folder; `pool.json`, the mark of a whole pool, last. Raises OSError."""
    for name in (TRAINING, VALIDATION, FACTS):
        _output(folder, name)  # again: only a file of the run is replaced
        (new / name).replace(folder / name)


def state_outputs(folder: Path) -> tuple[Output, Output]:
    """The checkpoint and the log. Raises OSError where other files have their names."""
    return _output(folder, CHECKPOINT), _output(folder, LOG)


def save_state(outputs: tuple[Output, Output], state: State) -> None:
    """Writes checkpoint and log. Raises OSError."""
    checkpoint, log_file = outputs
    lines = "".join(json.dumps(asdict(entry)) + "\n" for entry in state.log).encode()
    buffer = io.BytesIO()
    np.savez(
        buffer,
        parameters=state.parameters,
        momentum=state.momentum,
        squares=state.squares,
        log=np.frombuffer(lines, np.uint8),
        pool=np.array(state.pool),
    )
    checkpoint.replace(buffer.getvalue())
    log_file.replace(lines)


def load_state(folder: Path, recipe: Recipe) -> State:
    """The state after the last finished superbatch; before the first, the run's initial state.

    Raises TrainingError, and NetworkError for a damaged start.
    """
    path = folder / CHECKPOINT
    if not path.exists():
        return state_from(read_network(folder / START), recipe) if recipe.start else first_state(recipe)
    size = parameter_count(recipe.hidden, recipe.buckets)
    vectors: dict[str, Floats] = {}
    try:
        with open_regular(path) as file, np.load(file) as data:
            for name in ("parameters", "momentum", "squares"):
                # `new_vector` aligns the memory: the order of sums must not depend on its alignment.
                vectors[name] = new_vector(size)
                vectors[name][:] = data[name]
            log = [Entry(**parse_json(line)) for line in data["log"].tobytes().splitlines()]
            pool = int(data["pool"])
    except OSError as error:
        raise TrainingError(f"{shown(path)}: {reason(error)}") from None
    except (EOFError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
        raise TrainingError(f"{shown(path)}: is damaged: {printable(str(error))}") from None
    return State(**vectors, log=log, pool=pool)


def train(
    folder: Path, trainer: Trainer, on_step: Callable[[Moment], None], on_superbatch: Callable[[Entry], None]
) -> None:
    """Trains to the end, with a checkpoint after each superbatch. Raises OSError and TrainingError."""
    outputs = state_outputs(folder)
    while not trainer.is_finished:
        entry = trainer.superbatch(on_step)
        save_state(outputs, trainer.state)
        on_superbatch(entry)
