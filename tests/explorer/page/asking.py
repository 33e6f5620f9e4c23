"""Requests of the explorer's server."""

from __future__ import annotations

import http.client
import json
import re
import threading
import time
from contextlib import closing
from typing import Any

from tests.explorer.page.conftest import Explorer

TREE = {"text": "[[5 6] [4 9]]", "algorithm": "alpha-beta"}

#: A search that takes many seconds: nothing is cut in 1500 plies, and after every node the whole path is folded.
LONG_TEXT = "[(0,0,0,0) [(1,1,1,1) " * 750 + "(0,0,0,0)" + "]]" * 750
LONG_LATTICE = {"kind": "product", "spec": "0..1 x 0..1 x 0..1 x 0..1"}
LONG = {"text": LONG_TEXT, "algorithm": "lattice-fold", "lattice": LONG_LATTICE}


def ask(explorer: Explorer, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any, bytes]:
    """Status, headers and body of one request; headers with underscores for hyphens."""
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    if data is not None:
        sent.setdefault("Content-Type", "application/json")
    with closing(http.client.HTTPConnection("127.0.0.1", explorer.port, timeout=300)) as connection:
        connection.request(method, path, data, sent)
        response = connection.getresponse()
        return response.status, dict(response.getheaders()), response.read()


def answer(explorer: Explorer, path: str, body: Any = None) -> Any:
    """The JSON value that the server answers, to a POST if there is a body."""
    return json.loads(ask(explorer, "GET" if body is None else "POST", path, body)[2])


def stands(explorer: Explorer) -> bool:
    """Whether the server still searches trees."""
    status, _, content = ask(explorer, "POST", "/api/trace", TREE)
    return status == 200 and json.loads(content)["result"]["value"] == "5"


class Asked(threading.Thread):
    """A request under way, with the name of its job."""

    def __init__(self, explorer: Explorer, path: str, body: Any, name: str) -> None:
        super().__init__(daemon=True)
        self.name_of_job = name
        self.status = 0
        self.answer: Any = None
        self._explorer, self._path, self._body = explorer, path, body
        self.start()

    def run(self) -> None:
        try:
            status, _, content = ask(self._explorer, "POST", f"{self._path}?job={self.name_of_job}", self._body)
            self.answer = json.loads(content)
        except (OSError, http.client.HTTPException, ValueError):
            # The server went away.
            return
        self.status = status

    def progress(self) -> str:
        """Its progress, in the server's words."""
        return str(answer(self._explorer, f"/api/progress?job={self.name_of_job}")["progress"])

    def wait_for(self, pattern: str, seconds: float = 300.0) -> str:
        """Waits until the pattern is found in the progress; returns the progress."""
        deadline = time.monotonic() + seconds
        while not re.search(pattern, progress := self.progress()):
            assert self.is_alive(), f"answered already: {self.status} {str(self.answer)[:200]}"
            assert time.monotonic() < deadline, f"never told: {pattern}"
            time.sleep(0.05)
        return progress

    def stop(self) -> None:
        """Stops it, and waits for its answer."""
        assert answer(self._explorer, "/api/stop", {"job": self.name_of_job}) == {"running": True}
        self.join(60)
        assert not self.is_alive()
