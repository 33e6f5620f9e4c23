"""`secateur explore`: the page that shows searches, served on loopback."""

from __future__ import annotations

import argparse
import json
import sys
import threading
import webbrowser
from pathlib import Path
from typing import Any, Final

from search.explorer.build import choose_tracing
from search.theory.trees import MAX_BYTES, shortened

_FORMAT: Final = "secateur trace"

#: A recording may be much larger than a tree's text.
_MOST_FILE_BYTES: Final = 512 << 20


class FileError(ValueError):
    """A file that cannot be opened; one line names it and says why."""


def main(arguments: list[str]) -> int:
    """Serves the page until it is interrupted; the first line on stdout is its URL."""
    parser = argparse.ArgumentParser(
        prog="secateur explore",
        description="Shows how alpha-beta prunes, step by step: on trees, on games, and in Secateur's own search. "
        "Opens a page in the browser that this machine alone can reach, and serves it until Ctrl-C.",
    )
    parser.add_argument("file", nargs="?", metavar="FILE", help="a trace or a recording (JSON), or a tree as text")
    parser.add_argument("--port", type=int, default=0, metavar="P", help="port on 127.0.0.1 (default: any free one)")
    parser.add_argument("--no-browser", action="store_true", help="only print the URL")
    options = parser.parse_args(arguments)
    if not 0 <= options.port <= 65535:
        parser.error(f"--port is 0 to 65535, not {options.port}")
    try:
        opened = None if options.file is None else read_file(Path(options.file))
    except FileError as error:
        print(f"secateur explore: {error}", file=sys.stderr)
        return 1

    # Searches that the page asks for are recorded; nothing has imported the kernels yet.
    choose_tracing()
    # Imported late: the extra 'explore' has it.
    from search.explorer.server import HOST, listen, serve

    try:
        listener = listen(options.port)
    except OSError as error:
        print(f"secateur explore: cannot listen on {HOST} port {options.port}: {error.strerror}", file=sys.stderr)
        return 1
    url = f"http://{HOST}:{listener.getsockname()[1]}/"
    print(url, flush=True)
    if not options.no_browser:
        threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()
    try:
        serve(listener, opened)
    except KeyboardInterrupt:
        pass
    finally:
        listener.close()
    return 0


def read_file(path: Path) -> dict[str, Any]:
    """What the page is to show first: {"document"} for a trace or a recording, {"tree"} for a tree's text.

    Raises `FileError`.
    """
    try:
        if path.stat().st_size > _MOST_FILE_BYTES:
            raise FileError(f"{path}: larger than {_MOST_FILE_BYTES >> 20} MiB")
        data = path.read_bytes()
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}") from None
    if data.startswith(b"\x1f\x8b"):
        data = _unzipped(path, data)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(f"{path}: no text: byte {error.start} is not UTF-8") from None
    try:
        value = json.loads(text)
    except ValueError as error:
        if text.lstrip().startswith("{") and _FORMAT in text[:1000]:
            raise FileError(f"{path}: a damaged trace: {error}") from None
        value = None
    except RecursionError:
        value = None
    if isinstance(value, dict) and value.get("format") == _FORMAT:
        if value.get("version") != 1 or value.get("kind") not in ("tree", "chess"):
            kind = shortened(f"version {value.get('version')!r}, kind {value.get('kind')!r}")
            raise FileError(f"{path}: a trace that this version cannot show: {kind}")
        return {"document": value}
    return {"tree": {"text": _tree_text(path, text), "title": path.name}}


def _unzipped(path: Path, data: bytes) -> bytes:
    import gzip
    import io
    import zlib

    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
            content = stream.read(_MOST_FILE_BYTES + 1)
    except (EOFError, OSError, zlib.error) as error:
        raise FileError(f"{path}: a damaged compressed file: {error}") from None
    if len(content) > _MOST_FILE_BYTES:
        raise FileError(f"{path}: larger than {_MOST_FILE_BYTES >> 20} MiB")
    return content


def _tree_text(path: Path, text: str) -> str:
    """The text, checked to be a tree."""
    from search.theory.tree_text import read_tree
    from search.theory.trees import TreeError

    if len(text.encode()) > MAX_BYTES:
        raise FileError(f"{path}: a tree's text has at most {MAX_BYTES:,} bytes")
    try:
        read_tree(text)
    except TreeError as error:
        raise FileError(f"{path}: {error}") from None
    return text
