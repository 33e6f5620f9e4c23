"""Training runs: a run is a folder with a pool (see `eval.training.pool`) and the following files.

    run.json        recipe and data
    checkpoint.npz  recipe, and parameters, state of the optimiser and log after the last finished superbatch
    log.jsonl       a line for each superbatch
    start.snet      the network that the run began with, if it did not begin with random weights

A run that is killed and resumed repeats the unfinished superbatch. Its final weights are those of an uninterrupted run.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from engine.files import Output, built, open_regular, parse_json, printable, read_bytes, reason, shown
from engine.progress import say
from eval.network.format import is_network, read_network
from eval.training.kernels.gradients import Floats, new_vector
from eval.training.pool import FACTS, TRAINING, VALIDATION, holds_samples
from eval.training.samples import Filter
from eval.training.shards import check_only_writer
from eval.training.trainer import Entry, Moment, Recipe, State, Trainer, TrainingError, first_state, state_from

RUN, CHECKPOINT, LOG, START = "run.json", "checkpoint.npz", "log.jsonl", "start.snet"

#: Maps each file of a run to its kind and a test of its first bytes. A new run removes or renames them in this order.
_FILES: Final[dict[str, tuple[str, Callable[[bytes], bool]]]] = {
    START: ("network file", is_network),
    LOG: ("log of a run", lambda head: head.startswith(b'{"superbatch": ')),
    CHECKPOINT: ("checkpoint of a run", lambda head: head[30:44] == b"parameters.npy"),
    FACTS: ("pool of positions", lambda head: head.startswith(b'{\n  "shards": ')),
    TRAINING: ("file of positions", holds_samples),
    VALIDATION: ("file of positions", holds_samples),
    RUN: ("run", lambda head: head.lstrip().startswith(b"{")),
}

#: The prefix of the temporary subfolder in which a pool is made (a killed command may leave it behind), and the name of
#: a file that marks such a subfolder as Secateur's and contains the subfolder's name.
_NEW, _MARKER = ".new-pool-", "made-by-secateur"

#: The files of a pool in the order in which they are moved to the run: the last one marks the pool as complete.
_POOL: Final = (TRAINING, VALIDATION, FACTS)


@dataclass(frozen=True)
class Run:
    """A recipe and its data. `data` lists shards and folders of shards; `partial` includes unfinished shards. `wanted`
    is the filter of positions. `validation` is the share of games to hold out. `weights` gives the share of the games
    to use from some of `data`. `network` is the SHA-256 of the network file that the run may replace, or "". Raises
    TrainingError if a value is out of range.
    """

    recipe: Recipe
    data: tuple[str, ...]
    partial: bool = False
    wanted: Filter = field(default_factory=Filter)
    validation: float = 0.02
    weights: dict[str, float] = field(default_factory=dict)
    network: str = ""

    def __post_init__(self) -> None:
        for path, weight in self.weights.items():
            if path not in self.data:
                raise TrainingError(f"weight: {printable(path)} is not among the data")
            if not 0.0 < weight <= 1.0:
                raise TrainingError(f"weight of {printable(path)} must be more than 0 and at most 1 (got {weight:g})")
        if not 0.0 <= self.validation < 1.0:
            raise TrainingError(f"validation must be at least 0 and less than 1 (got {self.validation:g})")
        if self.wanted.halfmoves < 1:
            raise TrainingError(f"halfmoves must be greater than 0 (got {self.wanted.halfmoves})")
        if not 0 <= self.wanted.lookahead <= 100:
            raise TrainingError(f"lookahead must be 0 to 100 (got {self.wanted.lookahead})")


def check_new(folder: Path, overwrite: bool) -> None:
    """Checks that a new run may begin in a folder.

    Raises TrainingError if the folder contains an unusable run or, without `overwrite`, any run. Raises it also for a
    file that has the name of a run's file but belongs to no run. Raises OSError and NetworkError as `load_run` does.
    """
    if os.path.lexists(folder / RUN):
        load_run(folder)
        if not overwrite:
            advice = "pass --resume to continue it or --overwrite to replace it"
            raise TrainingError(f"{shown(folder)} contains a run; {advice}")
        return
    for name in _FILES:
        if os.path.lexists(folder / name):
            raise TrainingError(f"{shown(folder / name)}: already exists and belongs to no run; remove it")


def load_run(folder: Path) -> Run:
    """Returns the run that `run.json` describes, and checks that the folder's other files can belong to this run.

    Raises TrainingError if `run.json` is missing or unusable, if a file is a link (the run could overwrite its target),
    or if `start.snet` is not the run's start network. Raises the errors of `output_of` and `load_state`, too.
    """
    path = folder / RUN
    for name in _FILES:
        if (folder / name).is_symlink():
            raise TrainingError(f"{shown(folder / name)}: is a link, not a file of the run")
    try:
        run: Run = built(Run, parse_json(read_bytes(path, 1 << 24), with_paths=True), "the run")
        run.wanted.as_array()  # raises OverflowError for too large a number
    except FileNotFoundError:
        raise TrainingError(f"{shown(folder)}: contains no run to resume") from None
    except OSError as error:
        raise TrainingError(f"{shown(path)}: {reason(error)}") from None
    except (ValueError, TypeError, OverflowError) as error:
        raise TrainingError(f"{shown(path)}: cannot be used: {printable(str(error))}") from None
    for name in _FILES:
        output_of(folder, name)
    if (folder / START).exists() and read_network(folder / START).digest() != run.recipe.start:
        raise TrainingError(f"{shown(folder / START)}: is not part of this run; move it")
    if any((folder / name).exists() for name in (CHECKPOINT, LOG)):
        load_state(folder, run.recipe)
    return run


def output_of(folder: Path, name: str) -> Output:
    """Returns the output for a file of a run. Raises OSError if the file is not writable or is of another kind."""
    kind, is_own = _FILES[name]
    return Output(folder / name, is_own, kind)


@contextmanager
def new_pool(folder: Path) -> Iterator[Path]:
    """Removes the pools that killed commands left in `folder`. Yields a new subfolder and finally removes it."""
    for left in folder.glob(f"{_NEW}*/"):
        _remove_pool(left)
    new = Path(tempfile.mkdtemp(prefix=_NEW, dir=folder))
    (new / _MARKER).write_text(new.name, encoding="utf-8")
    try:
        yield new
    finally:
        _remove_pool(new)


def _remove_pool(new: Path) -> None:
    """Removes Secateur's files from a temporary folder with the marker, then the folder unless other files remain."""
    with suppress(OSError):
        if new.is_symlink() or read_bytes(new / _MARKER, 99) != new.name.encode():
            return
        for path in new.iterdir():
            if not path.is_symlink() and path.is_file() and (path.name.isdecimal() or path.name in _POOL):
                path.unlink()
        if [path.name for path in new.iterdir()] == [_MARKER]:
            (new / _MARKER).unlink()
            new.rmdir()


def begin_run(folder: Path, run: Run, start: bytes | None, overwrite: bool) -> None:
    """Writes `run.json` and, with `start`, `start.snet`, which is the contents of the start network's file, or None.

    Before that, removes the positions and the checkpoint of an earlier run, renames its other files and prints their
    new names. Raises OSError, and the other errors of `check_new`.
    """
    check_new(folder, overwrite)  # checked again, because making the pool may take hours
    check_only_writer(folder)
    kept = []
    for path in (folder / name for name in _FILES if (folder / name).exists()):
        if path.name in (START, LOG, RUN, FACTS):
            kept.append(path.rename(output_of(folder, path.name).beside("-old").path).name)
        else:
            path.unlink()
    if kept:
        say(f"secateur train: {shown(folder)}: the earlier run is kept in part: {', '.join(kept)}")
    save_run(output_of(folder, RUN), run)
    if start is not None:
        output_of(folder, START).replace(start)


def save_run(output: Output, run: Run) -> None:
    """Writes `run.json`. Raises OSError."""
    output.replace(json.dumps(asdict(run), indent=2) + "\n")


def adopt_pool(folder: Path, new: Path) -> None:
    """Moves a pool from `new` to a run's folder. `pool.json` comes last: a pool with it is complete. Raises OSError."""
    for name in _POOL:
        output_of(folder, name)  # checked again, so that no other program's file is replaced
        (new / name).replace(folder / name)


def _text(log: list[Entry]) -> bytes:
    return "".join(json.dumps(asdict(entry)) + "\n" for entry in log).encode()


def save_state(outputs: tuple[Output, Output], recipe: Recipe, state: State) -> None:
    """Writes `recipe` and `state` to the checkpoint, and the log to the log file. Raises OSError."""
    checkpoint, log_file = outputs
    lines = _text(state.log)
    buffer = io.BytesIO()
    np.savez(
        buffer,
        parameters=state.parameters,
        momentum=state.momentum,
        squares=state.squares,
        log=np.frombuffer(lines, np.uint8),
        pool=np.array(state.pool),
        slope=np.array(state.slope),
        recipe=np.array(json.dumps(asdict(recipe))),
    )
    checkpoint.replace(buffer.getvalue())
    log_file.replace(lines)


def load_state(folder: Path, recipe: Recipe) -> State:
    """Returns the state after the last finished superbatch, or the run's initial state if there is none.

    Raises TrainingError if the checkpoint is unreadable, damaged or of another recipe, if the start network's size
    differs from the recipe's, or if `log.jsonl` was edited. Raises NetworkError if the start network is unusable.
    """
    path, vectors = folder / CHECKPOINT, dict[str, Floats]()
    try:
        with open_regular(path) as file, np.load(file) as data:
            saved = parse_json(str(data["recipe"])) if "recipe" in data else {}  # an older checkpoint has no recipe
            saved.pop("start_share", None)  # counts only after training, so a finished run may get another one
            edits = [f"{k} {asdict(recipe)[k]} instead of {v}" for k, v in saved.items() if asdict(recipe)[k] != v]
            if edits:
                raise TrainingError(f"{shown(folder / RUN)}: has {', '.join(edits)} as in {CHECKPOINT}")
            for name in ("parameters", "momentum", "squares"):
                # `new_vector` aligns the memory, because the order of sums must not depend on the alignment.
                vectors[name] = new_vector(recipe.size())
                vectors[name][:] = data[name]
            log = [built(Entry, parse_json(line), LOG) for line in data["log"].tobytes().splitlines()]
            slope = float(data["slope"]) if "slope" in data else None  # an older checkpoint has no slope
            state = State(**vectors, log=log, pool=int(data["pool"]), slope=slope)
    except FileNotFoundError:
        state = state_from(read_network(folder / START), recipe) if recipe.start else first_state(recipe)
    except TrainingError:
        raise
    except OSError as error:
        raise TrainingError(f"{shown(path)}: {reason(error)}") from None
    except Exception as error:  # NumPy and zipfile raise errors of many types for a damaged file
        raise TrainingError(f"{shown(path)}: is damaged: {printable(str(error))}") from None
    # A killed run may have saved its checkpoint, but not yet its log.
    logs = (hashlib.sha256(_text(log)).hexdigest() for log in (state.log, state.log[:-1]))
    if output_of(folder, LOG).digest not in ("", *logs):
        raise TrainingError(f"{shown(folder / LOG)}: differs from the log in {CHECKPOINT}; move it")
    return state


def train(
    folder: Path, trainer: Trainer, on_step: Callable[[Moment], None], on_superbatch: Callable[[Entry], None]
) -> None:
    """Trains the remaining superbatches. Calls `on_step` after each step; saves the state after each superbatch, then
    calls `on_superbatch`. Raises OSError, and TrainingError if training diverges.
    """
    outputs = output_of(folder, CHECKPOINT), output_of(folder, LOG)
    while not trainer.is_finished:
        entry = trainer.superbatch(on_step)
        check_only_writer(folder)
        save_state(outputs, trainer.recipe, trainer.state)
        on_superbatch(entry)
