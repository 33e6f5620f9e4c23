"""`Engine` finds what Secateur finds in a separate process, driven by `chess.engine`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import chess
import chess.engine
import pytest
from chess.engine import Limit, SimpleEngine, UciProtocol

from engine import Engine
from engine.client.commands import limits_of
from engine.uci.parse import parse_go
from tests.conftest import PROJECT

#: (FEN, moves, Chess960)
POSITIONS = [
    (chess.STARTING_FEN, "", False),
    (chess.STARTING_FEN, "e2e4 c7c5 g1f3 d7d6", False),
    ("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1", "e1g1 e8c8", False),
    # A rook up, and the position before was there twice already.
    ("7k/8/8/8/8/8/r7/6K1 b - - 0 1", "a2b2 g1f1 b2a2 f1g1 a2b2 g1f1", False),
    ("bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9", "", True),
    ("4k3/8/8/8/8/8/8/RK5R w HA - 0 1", "b1h1 e8e7", True),
    ("kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1", "", False),
]


@pytest.fixture(scope="module")
def uci() -> Iterator[SimpleEngine]:
    engine = SimpleEngine.popen_uci([sys.executable, str(PROJECT / "uci_main.py")], timeout=120)
    engine.play(chess.Board(), Limit(depth=1))  # its messages about loading come before the first answer
    engine.configure({"Hash": 4, "UCI_ShowWDL": True})
    yield engine
    engine.quit()


def board_of(fen: str, moves: str, chess960: bool) -> chess.Board:
    board = chess.Board(fen, chess960=chess960)
    for move in moves.split():
        board.push_uci(move)
    return board


#: What depends on the clock. A slow search also reports its current move and the windows that fail.
TIMED = ("time", "nps", "currmove", "currmovenumber", "lowerbound", "upperbound", "string")


def untimed(info: chess.engine.InfoDict) -> dict[str, Any]:
    """What does not depend on the clock."""
    return {name: value for name, value in info.items() if name not in TIMED}


@pytest.mark.parametrize(("fen", "moves", "chess960"), POSITIONS)
def test_it_finds_the_same(engine: Engine, uci: SimpleEngine, fen: str, moves: str, chess960: bool) -> None:
    board = board_of(fen, moves, chess960)
    played, expected = (
        client.play(board, Limit(depth=6), game=object(), info=chess.engine.INFO_ALL) for client in (engine, uci)
    )
    assert (played.move, played.ponder) == (expected.move, expected.ponder)
    assert untimed(played.info) == untimed(expected.info)
    lines, expected_lines = (
        client.analyse(board, Limit(depth=4), game=object(), multipv=3) for client in (engine, uci)
    )
    assert [untimed(line) for line in lines] == [untimed(line) for line in expected_lines]
    assert len(lines) == min(3, board.legal_moves.count())


def test_it_searches_the_same_root_moves(engine: Engine, uci: SimpleEngine) -> None:
    board = chess.Board("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1")
    moves = [chess.Move.from_uci(text) for text in ("e1g1", "a1a2")]
    found, expected = (
        client.analyse(board, Limit(nodes=3000), game=object(), root_moves=moves, multipv=5) for client in (engine, uci)
    )
    assert [untimed(line) for line in found] == [untimed(line) for line in expected]
    assert {line["pv"][0] for line in found} == set(moves)


def test_every_report_is_the_same(engine: Engine, uci: SimpleEngine) -> None:
    board = chess.Board()
    reports = []
    for client in (engine, uci):
        with client.analysis(board, Limit(depth=7), game=object(), multipv=2) as analysis:
            found = [info for info in analysis if "pv" in info and not {"lowerbound", "upperbound"} & info.keys()]
            reports.append([untimed(info) for info in found])
            best = analysis.wait()
        assert best.move == analysis.info["pv"][0]
        assert best.ponder == analysis.info["pv"][1]
    assert reports[0] == reports[1]
    assert len(reports[0]) == 14


LIMITS = [
    Limit(time=0.25),
    Limit(depth=7, nodes=5000),
    Limit(nodes=1e6),  # type: ignore[arg-type]
    Limit(mate=3),
    Limit(white_clock=60, black_clock=30.5, white_inc=1, black_inc=0.5, remaining_moves=12),
    Limit(white_clock=-0.2, black_clock=0),
    Limit(remaining_moves=0, black_clock=2.0, depth=3),
]


@pytest.mark.parametrize("turn", chess.COLORS)
@pytest.mark.parametrize("limit", LIMITS, ids=repr)
def test_limits_are_those_that_chess_engine_sends(limit: Limit, turn: chess.Color) -> None:
    sent: list[str] = []

    class Silent(UciProtocol):
        def __init__(self) -> None:
            """Without a process, and so without an event loop."""

        def send_line(self, line: str) -> None:
            sent.append(line)

    Silent()._go(limit)
    Silent()._go(limit, ponder=True)
    plain, pondering = (parse_go(line.split()[1:])[0].limits(turn) for line in sent)
    assert limits_of(limit, turn) == plain
    assert limits_of(limit, turn, ponder=True) == pondering
    assert limits_of(None, turn).infinite
