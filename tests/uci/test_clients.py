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
from tests.uci.recipes import HOME, block, lichess_bot_options

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the file that clients load is a shell script here")

Start = Callable[..., Engine]

SCID = Path("/usr/share/scid/tcl/enginecomm.tcl")

#: Scid's engine window without the window: its own code talks to the engine, this lets it analyse until depth 10.
SCID_SCRIPT = """\
namespace eval uci {}
source [lindex $argv 0]
proc said {message} {
    lassign $message kind content
    puts [list $kind $content]
    switch $kind {
        InfoConfig {
            if {[incr ::configured] == 1} {
                ::engine::send 1 SetOptions {{Hash 32} {MultiPV 2} {{Clear Hash} {}}}
            } else {
                ::engine::send 1 NewGame {analysis post_pv post_wdl}
            }
        }
        InfoReady {
            if {[incr ::ready] == 1} {
                ::engine::send 1 Go {{position startpos moves e2e4} {}}
            } else {
                ::engine::close 1
                exit
            }
        }
        InfoPV {
            if {[lindex $content 1] >= 10 && [incr ::deep] == 1} {
                ::engine::send 1 StopGo
            }
        }
        InfoDisconnected {
            exit 1
        }
    }
}
::engine::setLogCmd 1
::engine::connect 1 said [lindex $argv 1] {}
vwait forever
"""


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
            assert played.move in board.legal_moves
            assert {"score", "wdl", "pv", "depth", "nodes", "nps", "hashfull", "time"} <= set(played.info)
            board.push(played.move)
            # Half of the answers are those that were pondered on.
            answer = played.ponder if len(board.move_stack) % 4 == 1 else None
            board.push(answer or next(iter(board.legal_moves)))
        engine.send_game_result(board, chess.WHITE, "Black resigned")
        engine.ping()


def test_polyglot(secateur: Path, start: Start, tmp_path: Path) -> None:
    """A game of xboard's protocol through the recipe's file, in a folder whose name has a blank."""
    ini = tmp_path / "secateur.ini"
    ini.write_text(block("xboard", "ini").replace(HOME, str(secateur.parent)), encoding="utf-8")
    adapter = start(cwd=tmp_path, command=(program("polyglot"), str(ini)))
    adapter.send("xboard", "protover 2")
    adapter.expect("feature done=1")
    features = "\n".join(adapter.lines)
    assert 'myname="Secateur ' in features
    adapter.send("accepted done", "new", "memory 32", "cores 1", "level 0 0:02 0", "post", "easy")
    board = chess.Board()
    adapter.send("usermove e2e4")
    board.push_uci("e2e4")
    for _ in range(4):
        adapter.send("time 100", "otim 100")
        board.push_uci(adapter.expect("move ").split()[1])
        ours = next(iter(board.legal_moves))
        board.push(ours)
        adapter.send(f"usermove {ours.uci()}")
    adapter.expect("move ")
    assert not [line for line in adapter.lines if "rror" in line or "llegal" in line]
    adapter.send("quit")
    adapter.finish()


def test_xboard_without_a_file_starts_the_same(secateur: Path, start: Start) -> None:
    """What xboard makes of -fcp, -fd and -fUCI."""
    adapter = start(command=(program("polyglot"), "-noini", "-ec", "./secateur", "-ed", str(secateur.parent)))
    adapter.send("xboard", "protover 2")
    adapter.expect("feature done=1")
    adapter.send("new", "st 1", "go")
    assert adapter.expect("move ").split()[1] in map(str, chess.Board().legal_moves)
    adapter.send("quit")
    adapter.finish()


@pytest.mark.skipif(not SCID.is_file(), reason="scid is not installed")
def test_scid(secateur: Path, start: Start, tmp_path: Path) -> None:
    script = tmp_path / "scid.tcl"
    script.write_text(SCID_SCRIPT, encoding="utf-8")
    scid = start(command=(program("tclsh"), str(script), str(SCID), str(secateur)))
    scid.expect("InfoConfig")
    assert "{uci " in scid.lines[0]
    scid.expect("InfoGo")
    line = ""
    while not line.startswith("InfoReady"):
        line = scid.expect("Info")
    scid.finish()
    deep = [line for line in scid.lines if line.startswith("InfoPV {")]
    assert {line.split("{")[1].split()[0] for line in deep} == {"1", "2"}
    board = chess.Board()
    board.push_uci("e2e4")
    for line in deep:
        fields = line.removeprefix("InfoPV {").removesuffix("}")
        numbers, _, rest = fields.partition(" cp {")
        outcome, _, moves = rest.partition("} ")
        assert len(numbers.split()) == 9
        assert sum(map(int, outcome.split())) == 1000
        board.variation_san([chess.Move.from_uci(move) for move in moves.strip("{}").split()])


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
