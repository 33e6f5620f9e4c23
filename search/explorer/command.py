"""`secateur explore`: the page that shows searches, served on loopback; recordings made and printed without it."""

from __future__ import annotations

import argparse
import sys
import threading
import webbrowser
from pathlib import Path
from typing import Any, Final

from engine.arguments import Parser, command, missing
from engine.errors import CommandError, MissingError, UsageError
from engine.files import parse_json, read_bytes, read_text, reason, shown
from engine.progress import Steps
from search.explorer.build import choose_tracing
from search.explorer.chess_document import MOST_BYTES, DocumentError, decompressed
from search.explorer.loading import KERNELS
from search.theory.trees import MAX_BYTES, shortened

_FORMAT: Final = "secateur trace"

#: How deep a recorded search goes unless told otherwise.
_DEFAULT_DEPTH: Final = 8

#: What the extra 'explore' brings, directly or not.
_SERVER_PACKAGES: Final = ("starlette", "uvicorn", "anyio", "h11", "click", "idna", "typing_extensions")


class FileError(CommandError, ValueError):
    """A file that cannot be opened, shown or written; one line names it and says why."""


@command("secateur explore")
def main(arguments: list[str]) -> int:
    """Serves the page until it is interrupted; the first line on stdout is its URL. Or records, or prints."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if not 0 <= options.port <= 65535:
        parser.error(f"--port is 0 to 65535, not {options.port}")
    if options.file is not None and options.record is not None:
        parser.error("--record makes a new recording: it takes no FILE to open")
    for name in ("position", "pgn", "after", "depth", "nodes", "costs"):
        if options.record is None and getattr(options, name) != parser.get_default(name):
            parser.error(f"--{name} says what to record: it goes with --record")
    # Searches of chess are recorded, and nothing has imported the kernels yet.
    choose_tracing()
    if options.record is not None:
        return _record(options)
    opened = None if options.file is None else read_file(Path(options.file))
    if options.text:
        if opened is None:
            parser.error("--text prints a FILE, or what --record records")
        return _print_text(opened, Path(options.file))
    return _serve(opened, options.port, open_browser=not options.no_browser)


def _parser() -> Parser:
    parser = Parser(
        prog="secateur explore",
        description="Shows how alpha-beta prunes, step by step: on trees, on games, and in Secateur's own search. "
        "Opens a page in the browser that this machine alone can reach, and serves it until Ctrl-C.",
    )
    parser.add_argument("file", nargs="?", metavar="FILE", help="a trace or a recording (JSON), or a tree as text")
    parser.add_argument("--port", type=int, default=0, metavar="P", help="port on 127.0.0.1 (default: any free one)")
    parser.add_argument("--no-browser", action="store_true", help="only print the URL")
    parser.add_argument("--text", action="store_true", help="print FILE, or what is recorded, and show no page")
    recording = parser.add_argument_group("recording a chess search")
    recording.add_argument("--record", metavar="OUT", help="search, save the recording (.json or .json.gz), and end")
    recording.add_argument("--position", default="", metavar="FEN", help="FEN, or FEN moves ... (default: the start)")
    recording.add_argument("--pgn", metavar="PGN", help="a file with a game: its last position, or that of --after")
    recording.add_argument("--after", metavar="MOVE", help="the position after this move of the PGN, such as 23w")
    recording.add_argument("--depth", type=int, metavar="N", help=f"plies (default {_DEFAULT_DEPTH} without --nodes)")
    recording.add_argument("--nodes", type=int, metavar="N", help="nodes")
    recording.add_argument(
        "--costs", action="store_true", help="search again without each technique, and record what it takes"
    )
    parser.add_quiet()
    return parser


def _serve(opened: dict[str, Any] | None, port: int, *, open_browser: bool) -> int:
    try:
        # Imported late: only the page needs the extra.
        import uvicorn  # noqa: F401

        from search.explorer.server import HOST, listen, serve
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] not in _SERVER_PACKAGES:
            raise
        raise MissingError(missing(str(error.name), "explore")) from None
    try:
        listener = listen(port)
    except OSError as error:
        raise CommandError(f"cannot listen on {HOST} port {port}: {error.strerror}") from None
    url = f"http://{HOST}:{listener.getsockname()[1]}/"
    print(url, flush=True)
    if open_browser:
        threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()
    try:
        serve(listener, opened)
    except KeyboardInterrupt:
        pass
    finally:
        listener.close()
    return 0


# --------------------------------------------------------------------------------------------------------------
# Without the page
# --------------------------------------------------------------------------------------------------------------


def _record(options: argparse.Namespace) -> int:
    """Searches, saves, and prints what came of it. What can be refused is refused before anything is compiled."""
    from search.explorer.chess_document import recording_output, save
    from search.explorer.positions import PositionError, read_board

    out = Path(options.record)
    try:
        output = recording_output(out)
    except OSError as error:
        raise FileError(f"{shown(out)}: {reason(error)}") from None
    depth, nodes = options.depth, options.nodes
    if depth is None and nodes is None:
        depth = _DEFAULT_DEPTH
    for name, value in (("depth", depth), ("nodes", nodes)):
        if value is not None and value < 1:
            raise UsageError(f"--{name} is at least 1, not {value}")
    try:
        board = read_board(_position(options), options.after)
    except PositionError as error:
        raise FileError(str(error)) from None
    KERNELS.wait(lambda text: _say(text, options.quiet), every=1.5)

    from search.explorer.recording import RecordingError, record
    from search.explorer.report import print_text
    from search.game import Game
    from search.limits import Limits

    def iteration(depth: int, nodes: int) -> None:
        progress.show(f"depth {depth}, {nodes:,} nodes")

    try:
        with Steps("searching", options.quiet) as progress:
            document = record(Game(board), Limits(depth, nodes), on_iteration=iteration)
            if options.costs:
                from search.explorer.costs import Watch, costs_of_search

                document["costs"] = costs_of_search(document, Watch(on_step=progress.show)).as_json()
    except RecordingError as error:
        raise FileError(str(error)) from None
    try:
        save(document, output)
    except OSError as error:
        raise FileError(f"{shown(out)}: {reason(error)}") from None
    if options.text:
        print_text(document, sys.stdout)
    else:
        result = document["result"]
        print(f"{out}: depth {result['depth']}, {result['score']}, {result['visits']:,} visits")
    return 0


def _say(text: str, quiet: bool) -> None:
    if not quiet:
        print(f"secateur explore: {text}", file=sys.stderr, flush=True)


def _position(options: argparse.Namespace) -> str:
    """The text of the position or the game to search."""
    if options.pgn is None:
        return str(options.position)
    if options.position:
        raise UsageError("--position and --pgn both say what to search")
    try:
        return read_text(options.pgn, MAX_BYTES)
    except OSError as error:
        raise FileError(f"{shown(options.pgn)}: {reason(error)}") from None


def _print_text(opened: dict[str, Any], path: Path) -> int:
    """A recording of chess as a report, a tree as indented text with windows and values."""
    from search.explorer import service
    from search.explorer.chess_document import check
    from search.explorer.report import print_text
    from search.theory.run_text import run_as_text

    document = opened.get("document")
    if document is not None and document["kind"] == "chess":
        try:
            print_text(check(document), sys.stdout)
        except DocumentError as error:
            raise FileError(f"{shown(path)}: {error}") from None
        return 0
    request = {"text": opened["tree"]["text"], "algorithm": "alpha-beta"} if document is None else document["request"]
    try:
        print(run_as_text(service.run_of(request)), end="")
    except service.RequestError as error:
        raise FileError(f"{shown(path)}: {error}") from None
    return 0


# --------------------------------------------------------------------------------------------------------------
# Files
# --------------------------------------------------------------------------------------------------------------


def read_file(path: Path) -> dict[str, Any]:
    """What the page is to show first: {"document"} for a trace or a recording, {"tree"} for a tree's text.

    Raises `FileError`.
    """
    place = shown(path)
    try:
        data = decompressed(read_bytes(path, MOST_BYTES))
    except OSError as error:
        raise FileError(f"{place}: {reason(error)}") from None
    except DocumentError as error:
        raise FileError(f"{place}: {error}") from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(f"{place}: no text: byte {error.start} is not UTF-8") from None
    try:
        value = parse_json(text)
    except ValueError as error:
        if text.lstrip().startswith("{") and _FORMAT in text[:1000]:
            raise FileError(f"{place}: a damaged trace: {error}") from None
        value = None
    if isinstance(value, dict) and value.get("format") == _FORMAT:
        if value.get("version") != 1 or value.get("kind") not in ("tree", "chess"):
            kind = shortened(f"version {value.get('version')!r}, kind {value.get('kind')!r}")
            raise FileError(f"{place}: a trace that this version cannot show: {kind}")
        return {"document": value | {"request": value.get("request")}}
    return {"tree": {"text": _tree_text(path, text), "title": shown(path.name)}}


def _tree_text(path: Path, text: str) -> str:
    """The text, checked to be a tree."""
    from search.theory.tree_text import read_tree
    from search.theory.trees import TreeError

    if len(text.encode()) > MAX_BYTES:
        raise FileError(f"{shown(path)}: a tree's text has at most {MAX_BYTES:,} bytes")
    try:
        read_tree(text)
    except TreeError as error:
        raise FileError(f"{shown(path)}: {error}") from None
    return text
