"""What analysts and GUIs ask for: several lines, mates, chances to win, reports of long searches, the log."""

from __future__ import annotations

import re
from pathlib import Path

import chess
import pytest

from tests.uci.conftest import Engine

KIWIPETE = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"
MOVE = r"[a-h][1-8][a-h][1-8][qrbn]?"


# -- several lines -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fen", "count", "threads"),
    [
        (KIWIPETE, 48, 1),
        # As many moves as a game can lead to, and as many as were found for sixteen pieces.
        ("R6R/3Q4/1Q4Q1/4Q3/2Q4Q/Q4Q2/pp1Q4/kBNN1KB1 w - - 0 1", 218, 2),
        ("Q3QQ2/2Q4Q/4Q3/1Q4Q1/3Q4/Q4Q2/rrQ4Q/k1K1QQ2 w - - 0 1", 240, 1),
    ],
)
def test_every_legal_move_can_have_its_line(engine: Engine, fen: str, count: int, threads: int) -> None:
    engine.send(f"setoption name Threads value {threads}", "setoption name MultiPV value 256")
    best = engine.best(f"position fen {fen}", "go depth 2")
    last = [info for info in engine.infos() if info["depth"] == "2"]
    firsts = [info["pv"].split()[0] for info in last]
    assert [int(info["multipv"]) for info in last] == list(range(1, count + 1))
    assert set(firsts) == {move.uci() for move in chess.Board(fen).legal_moves}
    assert firsts[0] == best


# -- mates -------------------------------------------------------------------------------------------------------------


def test_go_mate_answers_also_where_there_is_none(engine: Engine) -> None:
    engine.best("position startpos", "go mate 1")
    assert "info string no mate in 1 was found up to depth 1" in engine.lines


@pytest.mark.parametrize("more", [0, 3])
@pytest.mark.parametrize(
    ("fen", "mate", "first"),
    [
        # Quiet keys and sacrifices, which a search that prunes may well leave out.
        ("kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1", 2, "a1a6"),
        ("r1bq2r1/b4pk1/p1pp1p2/1p2pP2/1P2P1PB/3P4/1PPQ2P1/R3K2R w - - 0 1", 2, "d2h6"),
        ("6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1", 1, "d1d8"),
    ],
)
def test_a_near_mate_is_found_for_certain(engine: Engine, fen: str, mate: int, first: str, more: int) -> None:
    assert engine.best(f"position fen {fen}", f"go mate {mate + more}") == first
    assert engine.infos()[-1]["score"] == f"mate {mate}"


# -- chances -----------------------------------------------------------------------------------------------------------


def test_chances_are_shown_on_demand(engine: Engine) -> None:
    engine.best("position startpos", "go depth 5")
    assert not any(" wdl " in line for line in engine.lines)
    engine.best("setoption name UCI_ShowWDL value true", "go depth 5")
    shown = [re.search(r"score cp -?\d+ wdl (\d+) (\d+) (\d+) nodes", line) for line in engine.lines if " wdl " in line]
    assert shown
    for match in shown:
        assert match is not None
        assert sum(map(int, match.groups())) == 1000
    engine.best("position fen 7k/8/5K2/8/8/8/8/6Q1 w - - 0 1", "go depth 5")
    assert any("score mate 1 wdl 1000 0 0 nodes" in line for line in engine.lines)


# -- long searches -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_long_search_reports_its_moves_and_bounds(engine: Engine) -> None:
    engine.send(f"position fen {KIWIPETE}", "go infinite")
    line = ""
    while "currmove" not in line:
        line = engine.expect("info depth")
    form = rf"info depth \d+ currmove {MOVE} currmovenumber \d+ nodes \d+ nps \d+ hashfull \d+ tbhits 0 time (\d+)"
    found = re.fullmatch(form, line)
    assert found is not None
    assert int(found[1]) >= 3000
    assert not any("bound" in line for line in engine.lines if int(line.split(" time ")[1].split()[0]) < 3000)
    engine.send("stop")
    engine.expect("bestmove")
    bounds = [line for line in engine.lines if "bound" in line]
    assert all(re.search(rf"score (cp|mate) -?\d+ (lower|upper)bound nodes .* pv {MOVE}", line) for line in bounds)
    assert engine.said() == [], "nothing comes behind the answer"


# -- beyond the protocol -----------------------------------------------------------------------------------------------


def test_debug_says_more(engine: Engine) -> None:
    engine.best("debug on", "position startpos", "go wtime 1000 btime 1000")
    assert any(
        re.fullmatch(r"info string debug: time planned: about \d+ ms, at most \d+ ms", line) for line in engine.lines
    )
    engine.best("debug off", "go depth 2")
    assert not any("debug" in line for line in engine.lines)


def test_flip_changes_places(engine: Engine) -> None:
    engine.send("position fen r3k3/8/8/8/8/8/4P3/4K2R w Kq - 0 1", "flip", "d")
    assert engine.expect("Fen: ") == "Fen: 4k2r/4p3/8/8/8/8/8/R3K3 b Qk - 0 1"
    engine.expect("Legal moves")
    assert engine.best("go depth 2")[1] in "78"
    # The position that was sent is not what is on the board any more.
    engine.send("position fen r3k3/8/8/8/8/8/4P3/4K2R w Kq - 0 1 moves e2e4", "d")
    assert engine.expect("Fen: ").startswith("Fen: r3k3/8/8/8/4P3/8/8/4K2R b Kq")


def test_what_the_engine_says_of_itself(engine: Engine) -> None:
    assert any(line.startswith("Compiled by Numba ") for line in engine.said("compiler"))
    said = engine.said("help")
    assert len(said) > 10
    known = {"uci", "isready", "go", "position", "flip", "eval", "bench", "compiler", "d"}
    assert known <= {line.split()[0] for line in said if line.startswith("  ")}
    assert engine.said("register later", "register name Stefan code 4359874324") == []


# -- the log -----------------------------------------------------------------------------------------------------------

STAMP = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} "


@pytest.mark.parametrize("end", ["kept\n", "cut shö"])
def test_the_log_holds_the_conversation(engine: Engine, tmp_path: Path, end: str) -> None:
    file = tmp_path / "a log.txt"
    earlier = f"2026-01-31 12:00:00.000 >> {end}"
    file.write_text(earlier, encoding="utf-8", newline="")
    engine.said(f"setoption name Debug Log File value {file}")
    best = engine.best("position startpos", "go depth 3")
    engine.said("setoption name Debug Log File value <empty>")
    engine.said("d")
    text = file.read_bytes().decode()
    first = earlier if earlier.endswith("\n") else f"{earlier}\n"
    assert text.startswith(first)
    lines = text.removeprefix(first).splitlines()
    assert all(re.match(f"{STAMP}(<<|>>) ", line) for line in lines)
    said = [line.split(" ", 2)[2] for line in lines]
    (answer,) = (index for index, line in enumerate(said) if line.startswith(f"<< bestmove {best}"))
    assert said.index(">> go depth 3") < answer
    assert not any("Fen: " in line for line in said)


@pytest.mark.parametrize("text", ["my thesis\n", "2026-01-31 12:00:00.000 a diary"])
def test_another_file_is_no_log(engine: Engine, tmp_path: Path, text: str) -> None:
    file = tmp_path / "thesis.txt"
    file.write_text(text, encoding="latin-1")
    said = engine.said(f"setoption name Debug Log File value {file}")
    reason = "already exists and is not a log; it was not changed"
    assert said == [f"info string Debug Log File not used: '{file}': {reason}"]
    assert file.read_text(encoding="latin-1") == text
