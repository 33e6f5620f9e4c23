"""The explorer's server, which serves the page and its searches to this machine only.

It listens on 127.0.0.1. The page of another site could still make the user's browser send requests. If they name a
host that resolves to 127.0.0.1, the check of the Host header refuses them; if they post forms, the checks of Origin and
content type do. Paths are looked up in a table of the page's files, so no other file can be read.
"""

from __future__ import annotations

import asyncio
import mimetypes
import os
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, Final

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from engine.files import parse_json
from search.explorer import service
from search.explorer.jobs import Job, StoppedError
from search.explorer.service import RequestError
from search.theory.trees import MAX_BYTES

HOST: Final = "127.0.0.1"

#: The maximum size of a request in bytes. A tree's text can double in size in JSON, which escapes line ends and quotes.
MAX_BODY: Final = 2 * MAX_BYTES + 100_000

#: The maximum time that a search waits for its turn, in seconds.
PATIENCE: Final = 120.0

#: The number of ports from the default one on that `listen_near` tries.
_MORE_PORTS: Final = 20

#: The maximum number of connections: more than a browser opens, and fewer than the usual limit of open files.
MOST_CONNECTIONS: Final = 64

#: The time between two checks of whether a waiting search has been stopped, in seconds.
_TICK: Final = 0.2

_JOB_NAME: Final = re.compile(r"[A-Za-z0-9-]{1,64}")

_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}

#: Content types by file suffix. They take precedence over the system's table, which may contain other types.
_TYPES: Final = {".css": "text/css", ".html": "text/html", ".js": "text/javascript", ".svg": "image/svg+xml"}


def page_files() -> dict[str, Traversable]:
    """Returns the page's files that have a suffix, by the path of their URL; `/` is the same as `/index.html`."""
    found: dict[str, Traversable] = {}

    def collect(folder: Traversable, prefix: str) -> None:
        for entry in folder.iterdir():
            if entry.is_dir():
                collect(entry, f"{prefix}{entry.name}/")
            elif entry.name.rpartition(".")[1]:
                found[prefix + entry.name] = entry

    collect(files("search.explorer") / "page", "/")
    found["/"] = found["/index.html"]
    return found


def make_app(port: int, opened: dict[str, Any] | None = None) -> ASGIApp:
    """Returns the ASGI app of a server on `port`. The page first shows `opened` (see `command.read_file`), if given."""
    pages = page_files()
    jobs = _Jobs()

    async def page(request: Request) -> Response:
        entry = pages.get(request.url.path)
        if entry is None:
            return _json({"error": "not found"}, 404)
        kind = _TYPES.get(entry.name[entry.name.rfind(".") :]) or mimetypes.guess_type(entry.name)[0]
        return Response(entry.read_bytes(), media_type=kind or "text/plain")

    async def first_document(request: Request) -> Response:
        return _json({"document": None, "tree": None} | (opened or {}))

    async def catalogue(request: Request) -> Response:
        return _json(service.catalogue())

    async def progress(request: Request) -> Response:
        job = jobs.find(request.query_params.get("job", ""))
        return _json({"progress": "" if job is None else job.progress, "running": job is not None})

    async def stop(request: Request) -> Response:
        try:
            body = await _body(request)
        except RequestError as error:
            return _json(error.as_json(), 400)
        job = jobs.find(body.get("job", "") if isinstance(body, dict) else "")
        if job is not None:
            job.stop()
        return _json({"running": job is not None})

    routes = [Route(f"/api/{name}", jobs.endpoint(name), methods=["POST"]) for name in service.ANSWERS]
    routes += [Route("/api/progress", progress), Route("/api/stop", stop, methods=["POST"])]
    routes += [Route("/api/catalogue", catalogue), Route("/api/document", first_document)]
    routes += [Route("/{path:path}", page)]
    return _Guard(Starlette(routes=routes), port)


class _Jobs:
    """The jobs that are running or waiting for their turn, by the names that the page gave them."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        # Searches of trees are plain Python and share one interpreter, so several at a time would not be faster.
        self._turn = asyncio.Semaphore(1)

    def find(self, name: object) -> Job | None:
        """Returns the running or waiting job of this name, or None if there is none."""
        return self._jobs.get(name) if isinstance(name, str) else None

    def endpoint(self, name: str) -> Callable[[Request], Any]:
        """Returns an endpoint that waits for its turn, and answers the request `name` on another thread."""

        async def answer(request: Request) -> Response:
            job = Job()
            gone: asyncio.Task[None] | None = None
            try:
                with self._entered(request.query_params.get("job", ""), job):
                    body = await _body(request)
                    gone = asyncio.create_task(_stop_when_gone(request, job))
                    await self._take_turn(job)
                    try:
                        return _as_response(*await run_in_threadpool(service.respond, name, body, job))
                    finally:
                        self._turn.release()
            except RequestError as error:
                return _json(error.as_json(), 400)
            except StoppedError:
                return _json({"error": "stopped", "stopped": True}, 409)
            except TimeoutError:
                return _json({"error": "earlier searches are still running"}, 503)
            except ClientDisconnect:
                return _json({"error": "the request ended early"}, 400)
            finally:
                # If the server shuts down, no client will read the answer, so the work must stop.
                job.stop()
                if gone is not None:
                    gone.cancel()

        return answer

    @contextmanager
    def _entered(self, name: str, job: Job) -> Iterator[None]:
        """Registers a job for the `with` block if it is named. Raises RequestError if the name is invalid or in use."""
        if name and not _JOB_NAME.fullmatch(name):
            raise RequestError("a job's name must be 1 to 64 letters, digits or hyphens")
        if name in self._jobs:
            raise RequestError(f"a job named '{name}' is already running or waiting")
        if name:
            self._jobs[name] = job
        try:
            yield
        finally:
            self._jobs.pop(name, None)

    async def _take_turn(self, job: Job) -> None:
        """Waits for the job's turn. Raises StoppedError if the job is stopped, TimeoutError after PATIENCE seconds."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + PATIENCE
        job.tell("waiting for an earlier search")
        while True:
            job.check()
            try:
                async with asyncio.timeout(_TICK):
                    await self._turn.acquire()
                    break
            except TimeoutError:
                if clock() > deadline:
                    raise
        job.tell("")


async def _stop_when_gone(request: Request, job: Job) -> None:
    """Waits until the page closes the connection of `request`, and then stops the job."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    job.stop()


async def _body(request: Request) -> object:
    """Returns a request's JSON value. Raises RequestError if the type or body is not JSON or the body is too long."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise RequestError("the content type of a request must be application/json")
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > MAX_BODY:
            raise RequestError(f"the request is longer than {MAX_BODY:,} bytes")
    try:
        return parse_json(bytes(data))
    except ValueError as error:
        raise RequestError(f"the request is not valid JSON: {error}") from None


def _json(value: object, status: int = 200) -> Response:
    return _as_response(status, service.as_text(value))


def _as_response(status: int, text: str) -> Response:
    return Response(text.encode(), status, media_type="application/json")


class _Guard:
    """Middleware that refuses requests by origin, host or method (see `_refusal`), and adds security headers."""

    def __init__(self, app: ASGIApp, port: int) -> None:
        self._app = app
        self._hosts = {f"{name}:{port}".encode() for name in ("127.0.0.1", "localhost", "[::1]")}
        if port == 80:
            self._hosts |= {b"127.0.0.1", b"localhost", b"[::1]"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles an HTTP request; ignores ASGI connections of other types."""
        if scope["type"] != "http":
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                extra = ((name.lower().encode(), value.encode()) for name, value in _HEADERS.items())
                message["headers"] = [*message.get("headers", []), *extra]
            await send(message)

        try:
            await (self._refusal(scope) or self._app)(scope, receive, send_with_headers)
        except ClientDisconnect:
            return

    def _refusal(self, scope: Scope) -> Response | None:
        hosts = [value.lower() for name, value in scope["headers"] if name == b"host"]
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            return _json({"error": "the Host header does not name this server"}, 421)
        origins = [value.lower() for name, value in scope["headers"] if name == b"origin"]
        if any(origin.partition(b"://")[2] not in self._hosts for origin in origins):
            return _json({"error": "only the page itself may send requests"}, 403)
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return _json({"error": f"method {scope['method'][:20]} is not allowed"}, 405)
        return None


class _Connection(H11Protocol):
    """A connection. If MOST_CONNECTIONS others are open, it replaces the oldest idle one, or else the oldest."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accepts a connection, and aborts another one if MOST_CONNECTIONS others are open."""
        super().connection_made(transport)
        self._since = self.loop.time()
        others = [each for each in self.connections if isinstance(each, _Connection) and each is not self]
        others = [each for each in others if not each.transport.is_closing()]
        if len(others) >= MOST_CONNECTIONS:
            min(others, key=lambda each: (not each._is_waiting(), each._since)).transport.abort()

    def _is_waiting(self) -> bool:
        """Returns whether the connection is idle: the server waits for the next request, or for the rest of one."""
        return self.cycle is None or self.cycle.response_complete or self.cycle.more_body


def listen_near(port: int) -> socket.socket:
    """Returns a socket that listens on 127.0.0.1, on `port` or the next of _MORE_PORTS that is free, or else on any."""
    for candidate in range(port, port + _MORE_PORTS):
        with suppress(OSError):
            return listen(candidate)
    return listen(0)


def listen(port: int) -> socket.socket:
    """Returns a socket that listens on 127.0.0.1; port 0 means any free port. Raises OSError."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if os.name == "posix":
            # Allows binding to a port that another server has just released. On Windows the option has another meaning.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, port))
        listener.listen(MOST_CONNECTIONS)
    except OSError:
        listener.close()
        raise
    return listener


def serve(listener: socket.socket, opened: dict[str, Any] | None = None) -> None:
    """Serves the page on `listener` until interrupted. The page first shows `opened`, as in `make_app`."""
    config = uvicorn.Config(
        make_app(listener.getsockname()[1], opened),
        log_level="critical",
        access_log=False,
        lifespan="off",
        http=_Connection,
        # asyncio may accept this many connections before it reads from the first one.
        backlog=MOST_CONNECTIONS,
        ws="none",
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=1,
    )
    uvicorn.Server(config).run(sockets=[listener])
