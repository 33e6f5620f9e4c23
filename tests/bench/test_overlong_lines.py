"""Lines of engines that are longer than any that means something."""

import asyncio
import sys
from pathlib import Path

import chess
import chess.engine

from bench.engines import EngineSpec
from bench.timecontrol import TimeControl
from bench.uci import LINE_LIMIT, Engine

SCRIPT = f"""\
import sys
for line in sys.stdin:
    if line.startswith("uci\\n"):
        print("uciok", flush=True)
    if line.startswith("isready"):
        print("readyok", flush=True)
    if line.startswith("go"):
        print("x" * {2 * LINE_LIMIT}, end="", flush=True)
        print("bestmove a2a3", flush=True)
        print("bestmove e2e4", flush=True)
    if line.startswith("quit"):
        break
"""


def test_the_end_of_an_overlong_line_is_no_line(tmp_path: Path) -> None:
    script = tmp_path / "engine.py"
    script.write_text(SCRIPT, encoding="utf-8")
    spec = EngineSpec("X", (sys.executable, str(script)), TimeControl.parse("depth=1"))

    async def best() -> chess.Move | None:
        engine = await Engine.start(spec)
        try:
            return (await engine.play(chess.Board(), chess.engine.Limit(depth=1))).move
        finally:
            await engine.close()

    # The end of the first line is "bestmove a2a3".
    assert asyncio.run(best()) == chess.Move.from_uci("e2e4")
