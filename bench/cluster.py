"""The function `map_unordered`, which runs work in local processes or on the workers of a Dask cluster.

A piece of work is a call of an importable function with an item that can be pickled. Results come in the order of
completion. If a worker dies, another worker repeats the item. After three local workers have died while running an
item, the item is dropped and reported. Ctrl-C, or closing the generator, ends all local work at once.

Except on Windows, each local worker runs in a new session of the operating system, so Ctrl-C in the terminal reaches
neither the worker nor its engines. If such a worker dies, its engines are killed.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import islice
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from typing import Any, Final, Generic, NamedTuple, TypeVar

from engine.errors import CommandError
from engine.extras import remedy

T = TypeVar("T")
R = TypeVar("R")

#: An item is dropped after this many local workers have died while running it.
ATTEMPTS: Final = 3
#: Seconds to wait for a cluster to answer.
CONNECT_SECONDS: Final = 20
#: A local worker gets this many seconds to end its engines. Then the worker is killed.
GOODBYE_SECONDS: Final = 3.0


class ClusterError(CommandError, RuntimeError):
    """Raised if the cluster cannot be used or Dask is not installed; the message is one line."""


class WorkError(CommandError, RuntimeError):
    """Raised if a piece of work failed; the message is one line."""


class Outcome(NamedTuple, Generic[T, R]):
    """The outcome of one item: its `value`, or one line in `error` that says why there is no value."""

    item: T
    value: R | None = None
    error: str | None = None

    def unwrap(self) -> R:
        """Returns the value. Raises `WorkError` with the message `error` if there is an error."""
        if self.error is not None:
            raise WorkError(self.error)
        return self.value  # type: ignore[return-value]


def map_unordered(
    function: Callable[[T], R], items: Iterable[T], cluster: str | None = None, *, workers: int = 1
) -> Generator[Outcome[T, R], None, None]:
    """Applies `function` to all `items`, in up to `workers` local processes or, if `cluster` is set, on a Dask cluster.

    Yields the outcomes in order of completion. Takes only a few `items` in advance. `cluster` is the address of a Dask
    scheduler. Each thread of its workers runs one item at a time. Raises `ClusterError` if the cluster is unusable.
    """
    return (
        _on_processes(function, iter(items), workers)
        if cluster is None
        else _on_cluster(function, iter(items), cluster)
    )


def _serve(connection: Connection, function: Callable[[Any], Any]) -> None:
    """Runs in a worker: answers each item from the pipe with (value, None) or (None, error) until the pipe closes."""
    if hasattr(os, "setsid"):
        os.setsid()
    else:  # a console sends Ctrl-C to all its programs, and only the parent must react
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_die_with_parent, daemon=True).start()
    while True:
        try:
            item = connection.recv()
        except EOFError:
            return
        answer: tuple[Any, str | None]
        try:
            answer = function(item), None
        except Exception as error:  # the parent reports every error
            answer = None, f"{type(error).__name__}: {error}"
        connection.send(answer)


@contextlib.contextmanager
def _interrupts_held() -> Iterator[None]:
    """Blocks SIGINT while a worker starts. The worker inherits the signal mask, so SIGINT stays blocked in it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # Starting the resource tracker unblocks SIGINT, so the tracker must be started before SIGINT is blocked.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _die_with_parent() -> None:
    """Waits until the parent process ends, even by `kill -9`; then kills this worker and its engines."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    _kill_group(os.getpid())
    os._exit(1)


def _kill_group(pid: int) -> None:
    """Kills a worker and its engines, which are in one process group. On Windows, kills only the worker."""
    with contextlib.suppress(OSError):  # they may have ended
        if hasattr(os, "killpg"):
            os.killpg(pid, signal.SIGKILL)
        else:
            os.kill(pid, signal.SIGTERM)


class _Worker:
    """A local worker. `job` is the worker's item and how many workers have died while running it; None if idle."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        # The process is spawned, because a forked process would inherit thread locks and the pipes of other workers.
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, function), daemon=False)
        with _interrupts_held():
            self.process.start()
        theirs.close()
        self.job: tuple[Any, int] | None = None

    def give(self, job: tuple[Any, int]) -> None:
        self.job = job
        with contextlib.suppress(OSError):  # if the worker has died, `recv` will report it
            self.connection.send(job[0])

    def end(self, deadline: float) -> None:
        """Ends the worker, at once or, at most until the monotonic time `deadline`, when it has ended its engines."""
        self.connection.close()
        self.process.join(max(0.0, deadline - time.monotonic()))
        assert self.process.pid is not None
        _kill_group(self.process.pid)
        self.process.kill()  # a worker that has just started may have no process group yet
        self.process.join()
        self.process.close()


def _on_processes(function: Callable[[T], R], items: Iterator[T], count: int) -> Generator[Outcome[T, R], None, None]:
    workers: list[_Worker] = []
    again: deque[tuple[T, int]] = deque()
    patience = 0.0
    try:
        while True:
            # A worker is started only if an item is ready and no worker is idle.
            while (worker := next((one for one in workers if one.job is None), None)) or len(workers) < count:
                job = again.popleft() if again else next(((item, 0) for item in items), None)
                if job is None:
                    break
                if worker is None:
                    worker = _Worker(function)
                    workers.append(worker)
                worker.give(job)
            busy = {worker.connection: (worker, worker.job) for worker in workers if worker.job is not None}
            if not busy:
                patience = GOODBYE_SECONDS
                return
            for connection in wait(busy):
                worker, (item, deaths) = busy[connection]  # type: ignore[index]
                try:
                    value, error = worker.connection.recv()
                except (EOFError, OSError):
                    workers.remove(worker)
                    worker.end(time.monotonic())
                    if deaths + 1 < ATTEMPTS:
                        again.append((item, deaths + 1))
                        continue
                    value, error = None, f"gave up after {ATTEMPTS} workers died during this work"
                worker.job = None
                yield Outcome(item, value, error)
    finally:
        for worker in workers:
            worker.connection.close()  # they end their engines at the same time
        deadline = time.monotonic() + patience
        for worker in workers:
            worker.end(deadline)


def _check_worker() -> None:
    """Does nothing. A worker that can run this function can import the project."""


def _on_cluster(function: Callable[[T], R], items: Iterator[T], address: str) -> Generator[Outcome[T, R], None, None]:
    try:
        from distributed import Client, as_completed
    except ModuleNotFoundError as error:
        raise ClusterError(f"--cluster needs the package '{error.name}': {remedy('cluster')}") from None
    try:
        client: Any = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise ClusterError(f"no Dask scheduler answers at {address}: {error or type(error).__name__}") from None
    with client:
        try:
            client.wait_for_workers(1, timeout=CONNECT_SECONDS)
            client.submit(_check_worker, pure=False).result()
        except TimeoutError:
            raise ClusterError(f"the cluster at {address} has no workers") from None
        except Exception as error:
            problem = f"the workers of {address} cannot import Secateur ({error}); install Secateur where they run"
            raise ClusterError(problem) from None
        futures: dict[Any, T] = {}
        queue: Any = as_completed(loop=client.loop)  # type: ignore[no-untyped-call]
        while True:
            # Submit two items more than can run at once, so that workers rarely wait for this process.
            for item in islice(items, max(0, sum(client.nthreads().values()) + 2 - len(futures))):
                future = client.submit(function, item, pure=False)
                futures[future] = item
                queue.add(future)
            if not futures:
                return
            future = next(queue)
            item = futures.pop(future)
            try:
                outcome: Outcome[T, R] = Outcome(item, future.result())
            except Exception as error:  # for example, if every worker that ran the item died
                outcome = Outcome(item, None, f"{type(error).__name__}: {error}")
            yield outcome
