"""`Engine`: the arguments that it takes and refuses, its options, and what it imports."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import chess
import chess.engine
import chess.variant
import pytest
from chess.engine import INFO_ALL, INFO_PV, INFO_SCORE, Cp, EngineError, Limit, Mate, PovScore

from engine import Engine
from engine.client import engine as loading
from engine.compiler import compiling
from search.strength import MIN_ELO
from tests.conftest import PROJECT

TABLES = PROJECT / "tests" / "data" / "syzygy"
STALEMATE = "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1"
MATED = "R5k1/5ppp/8/8/8/8/8/6K1 b - - 0 1"


# -- positions and limits --


def impossible() -> chess.Board:
    """A board with an illegal move in its history."""
    board = chess.Board()
    board.push(chess.Move.from_uci("e1e8"))
    return board


@pytest.mark.parametrize(("fen", "score"), [(STALEMATE, Cp(0)), (MATED, Mate(0))])
def test_a_game_that_is_over_has_no_move_but_a_score(engine: Engine, fen: str, score: chess.engine.Score) -> None:
    board = chess.Board(fen)
    played = engine.play(board, Limit(time=1), info=chess.engine.INFO_ALL, ponder=True)
    assert played.move is played.ponder is None
    assert played.info["score"] == PovScore(score, chess.BLACK)
    (line,) = engine.analyse(board, Limit(depth=5), multipv=3)
    assert (line["depth"], line["pv"], line["nodes"]) == (0, [], 0)
    assert sum(line["wdl"]) == 1000
    with engine.analysis(board) as analysis:
        assert analysis.wait().move is None
        assert analysis.info["score"].relative == score


def test_a_null_move_in_the_history_cuts_it_off(engine: Engine) -> None:
    board = chess.Board()
    for move in ("e2e4", "0000", "d2d4"):
        board.push_uci(move)
    assert engine.play(board, Limit(depth=3)).move in set(board.legal_moves)


@pytest.mark.parametrize(
    ("board", "error", "message"),
    [
        (chess.Board("4k3/4R3/8/8/8/8/8/4K3 w - - 0 1"), ValueError, "^illegal position: opposite check: '4k3/"),
        (chess.variant.AtomicBoard(), ValueError, "not atomic"),
        (impossible(), ValueError, "illegal move 'e1e8'"),
        ("startpos", TypeError, "expected a chess.Board, got 'startpos'"),
    ],
)
def test_boards_that_cannot_be_played_from(engine: Engine, board: Any, error: type[Exception], message: str) -> None:
    for command in (engine.play, engine.analyse, engine.analysis):
        with pytest.raises(error, match=message):
            command(board, Limit(depth=1))
    assert engine.play(chess.Board(), Limit(depth=1)).move


@pytest.mark.parametrize(
    ("limit", "keywords", "message"),
    [
        (Limit(), {}, r"Limit\(\) sets no bound"),
        (0.1, {}, "expected a chess.engine.Limit, got 0.1"),
        (Limit(time=-1), {}, r"Limit.time must be at least 0 \(got -1\)"),
        (Limit(time=float("nan")), {}, r"Limit.time must be finite \(got nan\)"),
        (Limit(nodes=1.5), {}, r"Limit.nodes must be a whole number \(got 1.5\)"),  # type: ignore[arg-type]
        (Limit(depth=1, remaining_moves=-1), {}, "Limit.remaining_moves must be at least 0"),
        (Limit(depth=1), {"root_moves": [chess.Move.from_uci("e2e5")]}, "root move e2e5 is not legal"),
        (Limit(depth=1), {"root_moves": ["e2e4"]}, "expected a chess.Move, got 'e2e4'"),
        (Limit(depth=1), {"root_moves": []}, "root_moves is empty"),
        (Limit(depth=1), {"multipv": 0}, r"multipv must be at least 1 \(got 0\)"),
    ],
)
def test_limits_that_make_no_sense(engine: Engine, limit: Any, keywords: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        engine.analyse(chess.Board(), limit, **keywords)


def test_infos_hold_what_was_asked_for(engine: Engine) -> None:
    for selector, names in ((INFO_SCORE, {"score", "wdl"}), (INFO_PV, {"pv"}), (INFO_ALL, {"score", "wdl", "pv"})):
        for info in (
            engine.play(chess.Board(), Limit(depth=2), info=selector).info,
            engine.analyse(chess.Board(), Limit(depth=2), info=selector),
        ):
            assert {"depth", "nodes", "time"} <= info.keys()
            assert {"score", "wdl", "pv"} & info.keys() == names


# -- options --


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"Hsh": 16}, "unknown option 'Hsh'; did you mean 'Hash'"),
        ({"hsh": 16}, "unknown option 'hsh'; did you mean 'Hash'"),
        ({"Motor": 16}, "unknown option 'Motor'$"),
        ({"Hash": 0}, "option Hash must be 1 to"),
        ({"Hash": None}, "option Hash needs a value"),
        ({"UseNNUE": 1}, r"option UseNNUE must be true or false \(got '1'\)"),
        (
            {"MultiPV": 2},
            "MultiPV is set by the argument multipv of analyse and analysis; the options are Hash, Threads",
        ),
        ({"Debug Log File": "x"}, "Debug Log File cannot be set; "),
    ],
)
def test_options_that_are_refused(engine: Engine, options: dict[str, Any], message: str) -> None:
    with pytest.raises(EngineError, match=message):
        engine.configure({"Threads": 2, **options})
    assert engine._searcher.threads == 1, "one that is wrong, and none is set"
    with pytest.raises(EngineError, match=message):
        Engine(options)


def test_options_are_a_dictionary() -> None:
    with pytest.raises(TypeError, match=r"expected a dictionary of options such as {'Hash': 64}, got 'stockfish'"):
        Engine("stockfish")  # type: ignore[arg-type]


def test_options_are_applied(engine: Engine) -> None:
    engine.configure({"hash": 8, "Threads": "2"})
    assert engine._searcher._tt.nbytes == 8 << 20
    assert 0 < engine.analyse(chess.Board(), Limit(nodes=20_000))["nodes"] <= 20_000
    assert engine._searcher.threads == 2


def test_a_limited_strength_plays_but_does_not_analyse(engine: Engine) -> None:
    engine.configure({"UCI_LimitStrength": True, "UCI_Elo": MIN_ELO})
    limit = Limit(nodes=20_000)
    played = engine.play(chess.Board(), limit, game="limited", info=INFO_ALL)
    analysed = engine.analyse(chess.Board(), limit, game="limited")
    assert played.info["nodes"] < 5_000 < analysed["nodes"]


def test_what_cannot_be_had_is_an_error_and_changes_nothing(engine: Engine, tmp_path: Path) -> None:
    engine.configure({"SyzygyPath": TABLES})
    cases: tuple[tuple[dict[str, Any], str], ...] = (
        ({"EvalFile": tmp_path / "none.snet"}, "network not used: .*none.snet"),
        ({"SyzygyPath": str(tmp_path / "none")}, "tablebases not used: .*none"),
        ({"BookFile": tmp_path / "none.bin", "OwnBook": True}, "book not used: .*none.bin"),
    )
    for options, message in cases:
        with pytest.raises(EngineError, match=message):
            engine.configure(options)
        with pytest.raises(EngineError, match=message):
            Engine(options)
    engine.configure({"OwnBook": False})
    found = engine.analyse(chess.Board("8/8/8/8/1k6/8/6PK/8 w - - 0 1"), Limit(depth=4))
    assert found["tbhits"] > 0, "the old tables are there"
    assert tuple(found["wdl"]) == (1000, 0, 0)


def test_name_and_options_are_described_as_chess_engine_does(engine: Engine) -> None:
    assert repr(engine) == f"<Engine ({engine.id['name']})>"
    assert engine.id["name"].startswith("Secateur ")
    assert engine.id["author"]
    options = engine.options
    assert options["Hash"].parse(32) == 32
    assert options["Hash"].default == 16
    assert options["UseNNUE"].default is True
    assert options["Clear Hash"].type == "button"


# -- the process --


def test_slow_loading_is_explained(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    done, said = threading.Event(), ["", "compiling the search: 2 s", "compiling the search: 4 s", ""]

    def current() -> str:
        if len(said) == 1:
            done.set()
        return said.pop(0)

    monkeypatch.setattr(loading, "_SILENCE", 0.01)
    monkeypatch.setattr(compiling, "current", current)
    loading._explain(done)
    assert caplog.messages == ["loading the kernels takes longer than usual", "compiling the search: 2 s"]


def test_nothing_heavy_is_imported_before_it_is_asked_for(run_python: Callable[..., str]) -> None:
    script = """
import sys, engine
def heavy(): return [name for name in ("chess", "numpy", "numba") if name in sys.modules]
print(heavy())
from engine import Engine  # whose evaluation comes before the kernels
print(heavy())
"""
    assert run_python(script).splitlines() == ["[]", "['chess']"]
    with pytest.raises(AttributeError, match="no attribute 'Motor'"):
        __import__("engine").Motor  # noqa: B018
