"""What the test packages share: gathered data, fresh Python processes, Dask clusters, Hypothesis' settings."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

PROJECT = Path(__file__).resolve().parent.parent

# The tests are of the sources: only those that say so use libraries in the project's folder.
os.environ["SECATEUR_KERNELS"] = "jit"
os.environ.pop("SECATEUR_KERNELS_DIR", None)
# A shell has Ctrl-C ignored by what it runs in the background, and children inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

#: What a `make` that runs the tests tells a `make` that they run.
MAKE_VARIABLES = ("MAKEFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "MFLAGS")

SHARED_DATA = PROJECT.parent / "shared" / "data"

# No deadline, because a first call compiles; the same examples in every run, because a red test must stay red.
settings.register_profile("secateur", deadline=None, derandomize=True, database=None)
settings.load_profile("secateur")


@pytest.fixture(scope="session")
def shared_data() -> Callable[[str], Path]:
    """`shared_data("perft/standard.epd")` is the path of that file; the test is skipped where it is absent."""

    def find(name: str) -> Path:
        path = SHARED_DATA / name
        if not path.is_file():
            pytest.skip(f"gathered test data is absent: ../shared/data/{name}")
        return path

    return find


@pytest.fixture(scope="session")
def run_python() -> Callable[..., str]:
    """`run_python(script, argument, ..., NAME="value")` runs `script` in a fresh interpreter; gives its stdout.

    Keywords are environment variables, None removes one. `cwd`, `paths` (for imports; by default the project, and its
    `secateur`) and `stdin` (a text, or the caller's own) are not. Fails with the interpreter's stderr when it does not
    exit with 0.
    """

    def run(
        script: str,
        *arguments: str,
        cwd: Path = PROJECT,
        paths: tuple[Path, ...] = (PROJECT, PROJECT / "engine" / "checkout"),
        stdin: str | None = None,
        **env: Any,
    ) -> str:
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths))} | env
        done = subprocess.run(
            [sys.executable, "-c", script, *arguments],
            cwd=cwd,
            env={name: value for name, value in environment.items() if value is not None},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@dataclass
class Cluster:
    """A Dask cluster of two workers."""

    address: str
    workers: list[subprocess.Popen[bytes]]


@pytest.fixture(scope="module")
def start_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Cluster]]:
    """Starts a scheduler on loopback and two workers of one thread each."""
    pytest.importorskip("distributed", reason="the extra 'cluster' is not installed")
    folder = tmp_path_factory.mktemp("dask")
    processes: list[subprocess.Popen[bytes]] = []
    path = os.pathsep.join([str(PROJECT), str(PROJECT / "tests" / "bench")])
    environment = {**os.environ, "PYTHONPATH": path, "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "2"}

    def start(*arguments: str) -> subprocess.Popen[bytes]:
        log = (folder / f"{len(processes)}.log").open("wb")
        process = subprocess.Popen(
            [sys.executable, "-m", "distributed.cli." + arguments[0], *arguments[1:]],
            stdout=log,
            stderr=log,
            env=environment,
            cwd=folder,
        )
        log.close()
        processes.append(process)
        return process

    def cluster() -> Cluster:
        file = folder / f"scheduler{len(processes)}.json"
        start("dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file))
        deadline = time.monotonic() + 30
        while not file.exists():
            assert time.monotonic() < deadline, "the scheduler did not start"
            time.sleep(0.05)
        address = ""
        while not address:
            try:
                address = json.loads(file.read_text(encoding="utf-8"))["address"]
            except ValueError:
                time.sleep(0.05)
        worker = ("dask_worker", address, "--nworkers", "1", "--nthreads", "1", "--no-dashboard", "--no-nanny")
        return Cluster(address, [start(*worker), start(*worker)])

    yield cluster
    for process in processes:
        process.kill()
        process.wait()
