"""A UCI engine that answers from a table: `python table_engine.py TABLE.json [--fault crash|hang]`.

The table maps the first four fields of a FEN to the lines that it prints after `go`. Without an entry it plays the
first legal move, with a score that depends on the position alone.
"""

import json
import sys
import time
import zlib
from pathlib import Path

from fake_uci import FakeEngine, send  # type: ignore[import-not-found]


class TableEngine(FakeEngine):  # type: ignore[misc]
    name = "Table"

    def __init__(self) -> None:
        super().__init__()
        self.table = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
        self.fault = sys.argv[3] if len(sys.argv) > 3 else ""

    def go(self, words: list[str]) -> None:
        if self.fault == "crash":
            sys.exit(1)
        while self.fault == "hang":
            time.sleep(1)
        default = next(iter(self.board.legal_moves)).uci()
        score = zlib.crc32(self.board.epd().encode()) % 400 - 200
        answer = [f"info depth 1 nodes 10 score cp {score} pv {default}", f"bestmove {default}"]
        send(*self.table.get(" ".join(self.board.fen().split()[:4]), answer))


TableEngine().run()
