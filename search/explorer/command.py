"""The command `secateur explore`, which serves the page, and records and prints searches."""

from __future__ import annotations

import argparse
import sys
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from engine.arguments import Parser, command, missing
from engine.errors import CommandError, MissingError, UsageError
from engine.files import parse_json, read_text, reason, shown
from engine.progress import Steps
from search.explorer import chess_document
from search.explorer.build import KERNELS, choose_tracing
from search.explorer.chess_document import DocumentError, RecordingError
from search.explorer.jobs import Job
from search.theory.trees import MAX_BYTES, TreeError, shortened

#: The depth of a recorded search if neither --depth nor --nodes is given.
_DEFAULT_DEPTH: Final = 8

#: The port of the page. It is always the same if it is free, so that the addresses of searches stay valid.
_DEFAULT_PORT: Final = 8733

#: The packages that the extra 'explore' installs, directly or as dependencies.
_SERVER_PACKAGES: Final = ("starlette", "uvicorn", "anyio", "h11", "click", "idna", "typing_extensions")


class FileError(CommandError, ValueError):
    """Raised if a file cannot be used or a search cannot be recorded. The message is one line that says why."""


@command("secateur explore")
def main(arguments: list[str]) -> int:
    """Records a search (with --record), prints FILE (with --text), or serves the page; returns the exit status."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.port is not None and not 0 <= options.port <= 65535:
        parser.error(f"--port must be 0 to 65535 (got {options.port})")
    if options.file is not None and options.record is not None:
        parser.error("--record cannot be combined with FILE")
    for name in ("position", "pgn", "after", "depth", "nodes", "costs", "overwrite"):
        if options.record is None and getattr(options, name) != parser.get_default(name):
            parser.error(f"--{name} needs --record")
    # Both the page and --record need the tracing build. Choose it before the kernels are imported.
    choose_tracing()
    if options.record is not None:
        return _record(options)
    if options.text and options.file is None:
        parser.error("--text needs a FILE or --record")
    opened = None if options.file is None else read_file(Path(options.file))
    if options.text:
        return _print_text(opened or {}, Path(options.file))
    return _serve(opened, options.port, open_browser=not options.no_browser)


def _parser() -> Parser:
    parser = Parser(
        prog="secateur explore",
        description="Shows step by step how alpha-beta prunes: in trees, in games and in Secateur's own search. "
        "Serves a page to this machine only, opens it in the browser, and stops at Ctrl-C.",
    )
    parser.add_argument("file", nargs="?", metavar="FILE", help="a trace or a recording (JSON), or a tree as text")
    parser.add_argument(
        "--port",
        type=int,
        metavar="P",
        help=f"port on 127.0.0.1, 0 for any (default: {_DEFAULT_PORT} or the next free)",
    )
    parser.add_argument("--no-browser", action="store_true", help="only print the URL")
    parser.add_argument("--text", action="store_true", help="print FILE or the recording instead of serving the page")
    recording = parser.add_argument_group("recording a chess search")
    recording.add_argument("--record", metavar="OUT", help="search, save the recording (.json or .json.gz), and exit")
    recording.add_argument("--overwrite", action="store_true", help="replace the recording OUT; a copy stays beside it")
    recording.add_argument("--position", default="", metavar="FEN", help="FEN, or FEN moves ... (default: startpos)")
    recording.add_argument("--pgn", metavar="PGN", help="search the last position of the first game in this file")
    recording.add_argument("--after", metavar="MOVE", help="with --pgn: the position after this move, such as 23w")
    recording.add_argument(
        "--depth", type=int, metavar="N", help=f"stop at this depth in plies (default {_DEFAULT_DEPTH} without --nodes)"
    )
    recording.add_argument("--nodes", type=int, metavar="N", help="stop after this many nodes")
    recording.add_argument(
        "--costs", action="store_true", help="search again without each technique in turn, and record the node counts"
    )
    parser.add_quiet()
    return parser


def _serve(opened: dict[str, Any] | None, port: int | None, *, open_browser: bool) -> int:
    try:
        # Imported late, because only the page needs the packages of the extra 'explore'.
        from search.explorer.server import HOST, listen, listen_near, serve
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] not in _SERVER_PACKAGES:
            raise
        raise MissingError(missing(str(error.name), "explore")) from None
    try:
        listener = listen_near(_DEFAULT_PORT) if port is None else listen(port)
    except OSError as error:
        raise CommandError(f"cannot listen on {HOST} port {port}: {error.strerror}") from None
    url = f"http://{HOST}:{listener.getsockname()[1]}/"
    print(url, flush=True)
    if open_browser:
        threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()
    with listener, suppress(KeyboardInterrupt):
        serve(listener, opened)
    return 0


@contextmanager
def _errors(path: object) -> Iterator[None]:
    """Turns errors about files, documents and trees in the `with` block into FileErrors that name `path`."""
    try:
        yield
    except (OSError, DocumentError, TreeError) as error:
        problem = reason(error) if isinstance(error, OSError) else str(error)
        raise FileError(f"{shown(str(path))}: {problem}") from None


# --------------------------------------------------------------------------------------------------------------
# Without the page
# --------------------------------------------------------------------------------------------------------------


def _record(options: argparse.Namespace) -> int:
    """Checks the options, loads the kernels, records a search, saves the recording, and prints its result or report."""
    from search.explorer.positions import read_board

    with _errors(options.record):
        output = chess_document.recording_output(Path(options.record))
    if output.size and not options.overwrite:
        raise FileError(f"{shown(output.path)} already exists; pass --overwrite to replace it")
    for name in ("depth", "nodes"):
        value = getattr(options, name)
        if value is not None and value < 1:
            raise UsageError(f"--{name} must be at least 1 (got {value})")
    if options.depth is None and options.nodes is None:
        options.depth = _DEFAULT_DEPTH
    if options.pgn is not None and options.position:
        raise UsageError("--position cannot be combined with --pgn")
    with _errors(options.pgn):
        text = options.position if options.pgn is None else read_text(options.pgn, MAX_BYTES)
    try:
        board = read_board(text, options.after)
        KERNELS.wait(Job(lambda progress: _say(progress, options.quiet)), every=1.5)

        from search.explorer.costs import costs_of_search
        from search.explorer.recording import record
        from search.game import Game
        from search.limits import Limits

        with Steps("searching", options.quiet) as progress:
            job = Job(progress.show)
            document = record(Game(board), Limits(options.depth, options.nodes), job=job)
            if options.costs:
                document["costs"] = costs_of_search(document, job)
    except RecordingError as error:
        raise FileError(str(error)) from None
    with _errors(options.record):
        chess_document.save(document, output)
    if options.text:
        return _print_report(document)
    result = document["result"]
    print(f"{shown(options.record)}: depth {result['depth']}, {result['score']}, {result['visits']:,} visits")
    return 0


def _say(text: str, quiet: bool) -> None:
    if not quiet:
        print(f"secateur explore: {text}", file=sys.stderr, flush=True)


def _print_text(opened: dict[str, Any], path: Path) -> int:
    """Prints the report of a recording, or searches a tree and prints the search as text with windows and values."""
    from search.explorer import service

    document = opened.get("document")
    if document is not None and document["kind"] == "chess":
        try:
            return _print_report(document)
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
            raise FileError(f"{shown(path)}: damaged recording: some fields are missing or invalid") from None
    request = {"text": opened["tree"]["text"], "algorithm": "alpha-beta"} if document is None else document["request"]
    try:
        print(service.export(request)["text"], end="")
    except service.RequestError as error:
        raise FileError(f"{shown(path)}: {error}") from None
    return 0


def _print_report(document: dict[str, Any]) -> int:
    from search.explorer.report import report

    lines = list(report(document))
    print("\n".join(lines))
    return 0


# --------------------------------------------------------------------------------------------------------------
# Files
# --------------------------------------------------------------------------------------------------------------


def read_file(path: Path) -> dict[str, Any]:
    """Reads a file. Returns {"document"} for a trace or a recording, or {"tree": {"text", "title"}} for a tree's text.

    Raises `FileError` if the file cannot be read or contains none of these.
    """
    with _errors(path):
        text = chess_document.read_text(path)
    try:
        value = parse_json(text)
    except ValueError as error:
        if text.lstrip().startswith("{") and chess_document.FORMAT in text[:1000]:
            raise FileError(f"{shown(path)}: damaged trace: {error}") from None
        value = None
    if isinstance(value, dict) and value.get("format") == chess_document.FORMAT:
        if value.get("version") != 1 or value.get("kind") not in ("tree", "chess"):
            kind = shortened(f"version {value.get('version')!r}, kind {value.get('kind')!r}")
            raise FileError(f"{shown(path)}: unsupported trace: {kind}; expected version 1, kind 'tree' or 'chess'")
        return {"document": value | {"request": value.get("request")}}
    if len(text.encode()) > MAX_BYTES:
        raise FileError(f"{shown(path)}: the tree's text is larger than {MAX_BYTES:,} bytes")
    from search.theory.tree_text import read_tree

    with _errors(path):
        read_tree(text)
    return {"tree": {"text": text, "title": shown(path.name)}}
