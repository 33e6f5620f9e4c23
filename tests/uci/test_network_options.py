"""`EvalFile` and `UseNNUE`: another network, none, and files that are no network."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import chess
import pytest

from eval.network.format import encode_network, write_network
from eval.network.reference import integer_score
from tests.eval.networks import random_network

NETWORK = random_network(21, 64)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a network.snet"
    write_network(path, NETWORK)
    return path


def evaluation(engine: Any) -> str:
    """The last line of `eval`."""
    engine.send("eval")
    return str(engine.expect("Evaluation "))


def expected() -> str:
    return f"Evaluation {integer_score(NETWORK, chess.Board()) / 100:+.2f} pawns from White's view"


def said(engine: Any) -> list[str]:
    """What the engine says before it is ready."""
    engine.lines.clear()
    engine.send("isready")
    engine.expect("readyok")
    return [line for line in engine.lines[:-1] if "network" in line]


def test_both_options_are_declared(start: Callable[..., Any]) -> None:
    engine = start()
    engine.send("uci")
    engine.expect("uciok")
    assert "option name UseNNUE type check default true" in engine.lines
    assert "option name EvalFile type string default <empty>" in engine.lines


def test_a_network_is_loaded_and_unloaded(start: Callable[..., Any], file: Path) -> None:
    engine = start()
    usual = evaluation(engine)
    engine.send(f"setoption name EvalFile value {file}")
    assert said(engine) == [f"info string network '{file}': {NETWORK.describe()}"]
    assert evaluation(engine) == expected() != usual
    engine.send("setoption name UseNNUE value false")
    engine.lines.clear()
    classical = evaluation(engine)
    assert not any(line.startswith("Classical evaluation") for line in engine.lines)
    assert classical != expected()
    engine.send("setoption name UseNNUE value true")
    assert evaluation(engine) == expected()
    engine.send("setoption name EvalFile value <empty>")
    assert evaluation(engine) == usual
    engine.send("go depth 4")
    engine.expect("bestmove ")


def test_it_may_be_named_before_the_engine_is_loaded(start: Callable[..., Any], file: Path) -> None:
    engine = start()
    engine.send(f"setoption name EvalFile value {file}", "isready")
    engine.expect("readyok")
    assert evaluation(engine) == expected()
    engine.send("go depth 5")
    engine.expect("bestmove ")


def test_a_bad_file_is_refused_and_the_current_network_stays(start: Callable[..., Any], file: Path) -> None:
    engine = start()
    engine.send(f"setoption name EvalFile value {file}", "isready")
    engine.expect("readyok")
    data = encode_network(NETWORK)
    bad = file.with_name("bad.snet")
    for content, part in (
        (data[:-100], "cut short"),
        (data[:5000] + b"!!" + data[5002:], "damaged: its SHA-256"),
        (b"hello", "not a network file"),
    ):
        bad.write_bytes(content)
        engine.send(f"setoption name EvalFile value {bad}")
        (message,) = said(engine)
        assert message.startswith(f"info string network not used: {bad}: ")
        assert part in message
        assert evaluation(engine) == expected()
    engine.send("setoption name EvalFile value /no/such/file")
    assert said(engine) == ["info string network not used: /no/such/file: No such file or directory"]
    assert evaluation(engine) == expected()


def test_a_bad_file_named_before_loading_leaves_the_usual_evaluation(start: Callable[..., Any]) -> None:
    engine = start()
    usual = evaluation(engine)
    other = start()
    other.send("setoption name EvalFile value /no/such/file")
    assert said(other) == ["info string network not used: /no/such/file: No such file or directory"]
    assert evaluation(other) == usual
