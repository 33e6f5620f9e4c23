"""`EvalFile`, `UseNNUE` and `UsePolicy`: another network, none, a policy, and files that are no network."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import chess
import pytest

from eval.network.format import encode_network, write_network
from eval.network.reference import integer_score
from tests.eval.networks import random_network, rating_network
from tests.search.games import KIWIPETE
from tests.uci.conftest import Engine

NETWORK = random_network(21, 64)
NO_POLICY = "info string UsePolicy has no effect: no network with a policy is in use"
MISSING = "info string network not used: /no/such/file: No such file or directory"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a network.snet"
    write_network(path, NETWORK)
    return path


def evaluation(engine: Engine) -> str:
    """The last line of `eval`."""
    engine.send("eval")
    return engine.expect("Evaluation ")


def expected() -> str:
    return f"Evaluation {integer_score(NETWORK, chess.Board()) / 100:+.2f} pawns from White's view"


def test_a_network_is_loaded_and_unloaded(engine: Engine, file: Path) -> None:
    usual = evaluation(engine)
    assert engine.said(f"setoption name EvalFile value {file}") == [
        f"info string network '{file}': {NETWORK.describe()}"
    ]
    assert evaluation(engine) == expected() != usual
    engine.send("setoption name UseNNUE value false")
    engine.lines.clear()
    assert evaluation(engine) != expected()
    assert not any(line.startswith("Classical evaluation") for line in engine.lines)
    engine.send("setoption name UseNNUE value true")
    assert evaluation(engine) == expected()
    engine.send("setoption name EvalFile value <empty>")
    assert evaluation(engine) == usual
    engine.best("go depth 4")


def test_the_policy_is_switched_on_and_off(engine: Engine, tmp_path: Path) -> None:
    network = rating_network(22, 64)
    write_network(tmp_path / "rating.snet", network)
    (message,) = engine.said(f"setoption name EvalFile value {tmp_path / 'rating.snet'}")
    assert message.endswith(", 8 output layers, with a policy")

    def nodes() -> str:
        engine.send("ucinewgame", f"position fen {KIWIPETE}")
        engine.lines.clear()
        engine.best("go depth 10")
        return str(re.findall(r" nodes (\d+) ", "\n".join(engine.lines))[-1])

    def bench() -> str:
        engine.send("bench 7")
        while not (line := engine.expect("")).endswith(" nps"):
            pass
        return line.split()[0]

    without = nodes()
    engine.send("setoption name UsePolicy value true")
    rated = nodes()
    benchmark = bench()
    engine.send("setoption name UsePolicy value false")
    assert nodes() == without != rated
    assert bench() != benchmark


def test_a_policy_that_does_not_exist_is_reported(engine: Engine, file: Path) -> None:
    engine.said(f"setoption name EvalFile value {file}")
    assert engine.said("setoption name UsePolicy value true") == [NO_POLICY]


def test_an_unusable_file_is_reported_and_the_current_network_kept(engine: Engine, file: Path) -> None:
    engine.said(f"setoption name EvalFile value {file}")
    data = encode_network(NETWORK)
    bad = file.with_name("bad.snet")
    for content, part in (
        (data[:-100], "cut short"),
        (data[:5000] + b"!!" + data[5002:], "damaged: its SHA-256"),
        (b"hello", "not a network file"),
    ):
        bad.write_bytes(content)
        (message,) = engine.said(f"setoption name EvalFile value {bad}")
        assert message.startswith(f"info string network not used: {bad}: ")
        assert part in message
        assert evaluation(engine) == expected()
    assert engine.said("setoption name EvalFile value /no/such/file") == [MISSING]
    assert evaluation(engine) == expected()


@pytest.mark.parametrize("is_good", [True, False])
def test_it_may_be_named_before_the_engine_is_loaded(
    engine: Engine, start: Callable[..., Engine], file: Path, is_good: bool
) -> None:
    other = start()
    other.send(f"setoption name EvalFile value {file if is_good else '/no/such/file'}")
    assert evaluation(other) == (expected() if is_good else evaluation(engine))
    assert is_good or MISSING in other.lines
    other.best("go depth 5")
