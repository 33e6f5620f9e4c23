"""What analysts and GUIs ask for beyond a move: several lines, mates, chances, reports of long searches, the log."""

import re
import time
from collections.abc import Callable
from pathlib import Path

import chess
import chess.engine
import pytest

from tests.uci.conftest import ENGINE, Engine

KIWIPETE = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"
MOVE = r"[a-h][1-8][a-h][1-8][qrbn]?"


def infos(engine: Engine) -> list[dict[str, str]]:
    """The info lines with a line of moves, as words by name."""
    found = []
    for line in engine.lines:
        if line.startswith("info depth") and " pv " in line:
            words = line.removeprefix("info ").split()
            at = words.index("pv")
            named = {name: words[words.index(name) + 1] for name in ("depth", "seldepth", "multipv", "nodes", "time")}
            named["score"] = " ".join(words[words.index("score") + 1 : words.index("score") + 3])
            named["pv"] = " ".join(words[at + 1 :])
            named["line"] = line
            found.append(named)
    return found


def spoken(engine: Engine, *lines: str) -> list[str]:
    """What the engine says to these lines before it is ready."""
    engine.lines.clear()
    engine.send(*lines, "isready")
    engine.expect("readyok")
    return engine.lines[:-1]


# -- several lines -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 2])
def test_every_legal_move_can_have_its_line(engine: Engine, threads: int) -> None:
    engine.send(f"setoption name Threads value {threads}", "setoption name MultiPV value 256")
    engine.send(f"position fen {KIWIPETE}", "go depth 4")
    best = engine.expect("bestmove").split()[1]
    last = [info for info in infos(engine) if info["depth"] == "4"]
    board = chess.Board(KIWIPETE)
    assert [int(info["multipv"]) for info in last] == list(range(1, 49))
    assert {info["pv"].split()[0] for info in last} == {move.uci() for move in board.legal_moves}
    assert last[0]["pv"].split()[0] == best


def test_search_moves_with_lines_in_any_place(engine: Engine) -> None:
    engine.send("setoption name MultiPV value 4", "position startpos")
    for go in ("go searchmoves e2e4 a2a3 depth 4", "go depth 4 searchmoves a2a3 e2e4"):
        engine.lines.clear()
        engine.send(go)
        engine.expect("bestmove")
        last = [info for info in infos(engine) if info["depth"] == "4"]
        assert [info["multipv"] for info in last] == ["1", "2"]
        assert {info["pv"].split()[0] for info in last} == {"e2e4", "a2a3"}


def test_the_number_of_lines_changes_between_searches(engine: Engine) -> None:
    engine.send("position startpos")
    for lines in (3, 1, 2):
        engine.lines.clear()
        engine.send(f"setoption name MultiPV value {lines}", "go depth 5")
        engine.expect("bestmove")
        assert max(int(info["multipv"]) for info in infos(engine)) == lines


def test_python_chess_understands_the_lines() -> None:
    board = chess.Board(KIWIPETE)
    with chess.engine.SimpleEngine.popen_uci(ENGINE, timeout=60) as client:
        found = client.analyse(board, chess.engine.Limit(depth=6), multipv=5)
        scores = [info["score"].relative for info in found]
        assert len(found) == 5
        assert scores == sorted(scores, reverse=True)
        client.configure({"UCI_ShowWDL": True})
        info = client.analyse(board, chess.engine.Limit(depth=6))
        assert sum(info["wdl"].relative) == 1000


# -- mates -------------------------------------------------------------------------------------------------------------


def test_go_mate_answers_also_where_there_is_none(engine: Engine) -> None:
    engine.send("position fen kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1", "go mate 2")
    assert engine.expect("bestmove", timeout=20).startswith("bestmove a1a6")
    assert infos(engine)[-1]["score"] == "mate 2"
    engine.lines.clear()
    engine.send("position startpos", "go mate 1")
    engine.expect("bestmove", timeout=30)
    assert "info string no mate in 1 was found" in engine.lines


@pytest.mark.parametrize(
    ("fen", "mate", "first"),
    [
        # Quiet keys and sacrifices, which a search that prunes may well leave out.
        ("kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1", 2, "a1a6"),
        ("r1bq2r1/b4pk1/p1pp1p2/1p2pP2/1P2P1PB/3P4/1PPQ2P1/R3K2R w - - 0 1", 2, "d2h6"),
        ("6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1", 1, "d1d8"),
    ],
)
def test_a_near_mate_is_found_for_certain(engine: Engine, fen: str, mate: int, first: str) -> None:
    engine.send(f"position fen {fen}", f"go mate {mate}")
    assert engine.expect("bestmove", timeout=20).startswith(f"bestmove {first}")
    assert infos(engine)[-1]["score"] == f"mate {mate}"


def test_infinite_mate_search_waits_for_stop(engine: Engine) -> None:
    engine.send("position startpos", "go infinite mate 1")
    time.sleep(0.3)
    assert not any(line.startswith("bestmove") for line in spoken(engine))
    engine.send("stop")
    engine.expect("bestmove", timeout=2)


# -- chances -----------------------------------------------------------------------------------------------------------


def test_chances_are_shown_on_demand(engine: Engine) -> None:
    engine.send("position startpos", "go depth 5")
    engine.expect("bestmove")
    assert not any(" wdl " in line for line in engine.lines)
    engine.send("setoption name UCI_ShowWDL value true", "go depth 5")
    engine.expect("bestmove")
    shown = [re.search(r"score cp -?\d+ wdl (\d+) (\d+) (\d+) nodes", line) for line in engine.lines if " wdl " in line]
    assert shown
    for match in shown:
        assert match is not None
        assert sum(map(int, match.groups())) == 1000
    engine.lines.clear()
    engine.send("position fen 7k/8/5K2/8/8/8/8/6Q1 w - - 0 1", "go depth 5")
    engine.expect("bestmove")
    assert any("score mate 1 wdl 1000 0 0 nodes" in line for line in engine.lines)


# -- long searches -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_long_search_reports_its_moves_and_bounds(engine: Engine) -> None:
    engine.send(f"position fen {KIWIPETE}", "go infinite")
    time.sleep(2.5)
    early = spoken(engine)
    assert not any("currmove" in line or "bound" in line for line in early)
    time.sleep(5)
    engine.send("stop")
    engine.expect("bestmove", timeout=2)
    at = engine.lines.index
    reports = [line for line in engine.lines if "currmove" in line]
    assert reports
    form = rf"info depth \d+ currmove {MOVE} currmovenumber \d+ nodes \d+ nps \d+ hashfull \d+ tbhits 0 time \d+"
    assert all(re.fullmatch(form, line) for line in reports)
    assert int(reports[0].split(" time ")[1]) >= 3000
    # In the conversation they stand before the answer, and none comes behind it.
    assert all(at(line) < at(engine.lines[-1]) for line in reports)
    assert spoken(engine) == []
    for line in engine.lines:
        if "bound" in line:
            assert re.search(rf"score (cp|mate) -?\d+ (lower|upper)bound nodes .* pv {MOVE}", line)


def test_short_searches_do_not(engine: Engine) -> None:
    engine.send("position startpos", "go movetime 500")
    engine.expect("bestmove")
    assert not any("currmove" in line or "bound" in line for line in engine.lines)


# -- beyond the protocol -----------------------------------------------------------------------------------------------


def test_debug_says_more(engine: Engine) -> None:
    engine.send("debug on", "position startpos", "go wtime 1000 btime 1000")
    engine.expect("bestmove")
    assert any(
        re.fullmatch(r"info string debug: time planned: about \d+ ms, at most \d+ ms", line) for line in engine.lines
    )
    engine.lines.clear()
    engine.send("debug off", "go depth 2")
    engine.expect("bestmove")
    assert not any("debug" in line for line in engine.lines)


def test_flip_changes_places(engine: Engine) -> None:
    engine.send("position fen r3k3/8/8/8/8/8/4P3/4K2R w Kq - 0 1", "flip", "d")
    assert engine.expect("Fen: ") == "Fen: 4k2r/4p3/8/8/8/8/8/R3K3 b Qk - 0 1"
    engine.expect("Legal moves")
    engine.send("go depth 2")
    assert engine.expect("bestmove").split()[1][1] in "78"
    # The position that was sent is not what is on the board any more.
    engine.send("position fen r3k3/8/8/8/8/8/4P3/4K2R w Kq - 0 1 moves e2e4", "d")
    assert engine.expect("Fen: ").startswith("Fen: r3k3/8/8/8/4P3/8/8/4K2R b Kq")


def test_what_the_engine_says_of_itself(engine: Engine) -> None:
    assert any(line.startswith("Compiled by Numba ") for line in spoken(engine, "compiler"))
    said = spoken(engine, "help")
    assert len(said) > 10
    known = {"uci", "isready", "go", "position", "flip", "eval", "bench", "compiler", "d"}
    assert known <= {line.split()[0] for line in said if line.startswith("  ")}
    assert spoken(engine, "register later", "register name Stefan code 4359874324") == []
    engine.send("uci")
    engine.expect("uciok")
    about = next(line for line in engine.lines if "UCI_EngineAbout" in line)
    assert "type string default Secateur" in about
    assert spoken(engine, "setoption name UCI_EngineAbout value something") == []


# -- the log -----------------------------------------------------------------------------------------------------------


def test_the_log_holds_the_conversation(start: Callable[..., Engine], tmp_path: Path) -> None:
    file = tmp_path / "a log.txt"
    file.write_text("2026-01-31 12:00:00.000 >> kept\n", encoding="utf-8")
    engine = start()
    engine.send(f"setoption name Debug Log File value {file}", "isready")
    engine.expect("readyok")
    engine.send("position startpos", "go depth 3")
    best = engine.expect("bestmove")
    engine.send("setoption name Debug Log File value <empty>", "isready")
    engine.expect("readyok")
    engine.send("d", "quit")
    engine.finish()
    lines = file.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "2026-01-31 12:00:00.000 >> kept"
    stamped = [re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} (<<|>>) (.*)", line) for line in lines[1:]]
    said = [match.groups() for match in stamped if match is not None]
    assert len(said) == len(stamped)
    assert (">>", "go depth 3") in said
    assert ("<<", best) in said
    assert said.index((">>", "go depth 3")) < said.index(("<<", best))
    assert not any("Fen: " in text for _, text in said)


@pytest.mark.parametrize("end", ["cut sh", "cut shö", "whole\n", "whole\r\n"])
def test_a_log_that_was_cut_short_begins_a_new_line(start: Callable[..., Engine], tmp_path: Path, end: str) -> None:
    file = tmp_path / "log.txt"
    earlier = f"2026-01-31 12:00:00.000 >> {end}"
    file.write_text(earlier, encoding="utf-8", newline="")
    engine = start()
    engine.send(f"setoption name Debug Log File value {file}", "isready")
    engine.expect("readyok")
    engine.send("d", "quit")
    engine.finish()
    text = file.read_bytes().decode()
    first = earlier if earlier.endswith("\n") else f"{earlier}\n"
    assert text.startswith(first)
    assert re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} (<<|>>) ", text.removeprefix(first))


def test_a_log_that_cannot_be_written_is_one_message(engine: Engine, tmp_path: Path) -> None:
    said = spoken(engine, f"setoption name Debug Log File value {tmp_path}")
    assert said == [f"info string Debug Log File not used: '{tmp_path}': is a folder, not a file"]


@pytest.mark.parametrize("text", ["my thesis\n", "2026-01-31 12:00:00.000 a diary", "no line\xff"])
def test_a_file_of_somebody_else_is_no_log(engine: Engine, tmp_path: Path, text: str) -> None:
    file = tmp_path / "thesis.txt"
    file.write_text(text, encoding="latin-1")
    said = spoken(engine, f"setoption name Debug Log File value {file}")
    reason = "is there already and is no log; it is left as it is"
    assert said == [f"info string Debug Log File not used: '{file}': {reason}"]
    assert file.read_text(encoding="latin-1") == text
