"""Recipes carried out with the clients themselves, where those are installed: polyglot, scid, fastchess."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import chess
import chess.engine
import psutil
import pytest

from tests.uci.conftest import PROJECT, Engine
from tests.uci.recipes import block, lichess_bot_options

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the file that clients load is a shell script here")

Start = Callable[..., Engine]


def program(name: str) -> str:
    """The path of a client; the test is skipped where it is not installed. Debian's games are not on every PATH."""
    found = shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/games"]))
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


@pytest.fixture(scope="module")
def secateur(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file that clients load, as `make` leaves it."""
    path = tmp_path_factory.mktemp("load me") / "secateur"
    command = [sys.executable, "-m", "engine.compiler.launcher", str(path)]
    subprocess.run(command, cwd=PROJECT, check=True, capture_output=True, timeout=60)
    return path


def test_python_chess(secateur: Path, tmp_path: Path) -> None:
    (tmp_path / "secateur").symlink_to(secateur)
    command = [sys.executable, "-c", block("python-chess", "python")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    analysis, fen = done.stdout.splitlines()
    score, expectation, line = analysis.split(maxsplit=2)
    assert int(score) == pytest.approx(0, abs=150)
    assert 0.3 < float(expectation) < 0.9
    assert line.startswith("1. ")
    assert chess.Board(fen).fullmove_number == 6


def test_lichess_bot_s_options_and_manner(secateur: Path, tmp_path: Path) -> None:
    """What its engine wrapper does in a game: options, a first move by time, then clocks, all info, pondering."""
    with chess.engine.SimpleEngine.popen_uci(
        [str(secateur)], timeout=60, setpgrp=True, cwd=str(tmp_path), stderr=subprocess.PIPE
    ) as engine:
        options = {
            name: value for name, value in lichess_bot_options().items() if not engine.options[name].is_managed()
        }
        engine.configure(options)
        engine.send_opponent_information(opponent=chess.engine.Opponent("Someone", "GM", 2600, False))
        board = chess.Board()
        limits = [chess.engine.Limit(time=0.2, clock_id="first move")]
        limits += 4 * [chess.engine.Limit(white_clock=3, black_clock=3, white_inc=0, black_inc=0, clock_id="real time")]
        for limit in limits:
            played = engine.play(
                board, limit, info=chess.engine.INFO_ALL, ponder=limit.time is None, draw_offered=False
            )
            assert played.move is not None
            assert played.move in board.legal_moves
            assert {"score", "wdl", "pv", "depth", "nodes", "nps", "hashfull", "time"} <= set(played.info)
            board.push(played.move)
            # Half of the answers are those that were pondered on.
            answer = played.ponder if len(board.move_stack) % 4 == 1 else None
            board.push(answer or next(iter(board.legal_moves)))
        engine.send_game_result(board, chess.WHITE, "Black resigned")
        engine.ping()


def test_fastchess_compliance(secateur: Path) -> None:
    command = [program("fastchess"), "--compliance", str(secateur)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=secateur.parent)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.rstrip().endswith("Engine passed all compliance checks.")


def test_the_engine_is_found_by_its_file_s_name(secateur: Path, start: Start, tmp_path: Path) -> None:
    """OpenBench's client ends engines by `pkill -f NAME`."""
    name = tmp_path / "Secateur-0123ABCD"
    name.symlink_to(secateur)
    engine = start(command=(str(name),))
    engine.send("uci")
    engine.expect("uciok")
    assert str(name) in " ".join(psutil.Process(engine.process.pid).cmdline())
    engine.send("quit")
    engine.finish()
