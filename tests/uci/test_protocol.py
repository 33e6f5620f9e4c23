"""The protocol, spoken to the real process."""

import re
import time
from collections.abc import Callable
from pathlib import Path

import chess
import chess.engine
import pytest

from tests.uci.conftest import ENGINE, Engine

INFO = re.compile(
    r"info depth \d+ seldepth \d+ multipv 1 score (cp|mate) -?\d+ nodes \d+ nps \d+ hashfull \d+ tbhits \d+ time \d+"
    r" pv( [a-h][1-8][a-h][1-8][qrbn]?)+"
)


def test_uci_answers_before_anything_heavy_is_imported(start: Callable[..., Engine], tmp_path: Path) -> None:
    began = time.perf_counter()
    engine = start(SECATEUR_CACHE_DIR=str(tmp_path / "empty"))
    engine.send("uci")
    engine.expect("uciok", timeout=5)
    assert time.perf_counter() - began < 1.0
    assert engine.lines[0].startswith("id name Secateur ")
    assert engine.lines[1].startswith("id author ")
    assert all(line.startswith(("id ", "option name ")) or line == "uciok" for line in engine.lines)
    engine.send("quit")
    engine.finish()


def test_quit_ends_a_compilation(start: Callable[..., Engine], tmp_path: Path) -> None:
    engine = start(SECATEUR_CACHE_DIR=str(tmp_path / "empty"))
    engine.send("uci", "isready")
    engine.expect("uciok")
    time.sleep(2)  # in the middle of compiling
    engine.send("quit")
    began = time.perf_counter()
    engine.finish(timeout=30)
    assert time.perf_counter() - began < 10  # 2 s on an idle machine
    assert not any(line.startswith("bestmove") for line in engine.lines)


@pytest.mark.slow
def test_two_that_compile_on_one_empty_cache_report_it_and_end_ready(
    start: Callable[..., Engine], tmp_path: Path
) -> None:
    cache = str(tmp_path / "empty")
    engines = [start(SECATEUR_CACHE_DIR=cache) for _ in range(2)]
    for engine in engines:
        engine.send("isready", "go depth 3")
    for engine in engines:
        engine.expect("readyok", timeout=14)  # CuteChess waits 15 seconds
        engine.expect("info string compiling", timeout=120)
    for engine in engines:
        engine.expect("bestmove", timeout=600)
        assert any("kernels compiled in" in line for line in engine.lines)
        engine.send("quit")
        engine.finish()
    again = start(SECATEUR_CACHE_DIR=cache)
    began = time.perf_counter()
    again.send("isready")
    again.expect("readyok")
    assert time.perf_counter() - began < 10
    assert not any("kernels compiled in" in line for line in again.lines)


def test_search_reports_and_answers(engine: Engine) -> None:
    engine.send("position startpos moves e2e4 e7e5", "go depth 6")
    best = engine.expect("bestmove")
    assert re.fullmatch(r"bestmove [a-h][1-8][a-h][1-8][qrbn]?( ponder [a-h][1-8][a-h][1-8][qrbn]?)?", best)
    infos = [line for line in engine.lines if line.startswith("info depth")]
    assert len(infos) == 6
    assert all(INFO.fullmatch(line) for line in infos)


@pytest.mark.parametrize(
    "go",
    [
        "go depth 3",
        "go nodes 2000",
        "go movetime 50",
        "go wtime 1000 btime 1000",
        "go wtime 300 btime 300 winc 10 binc 10",
        "go wtime 100",
        "go btime 100",
        "go wtime 1 btime 1",
        "go wtime -20 btime -20",
        "go wtime 500 btime 500 movestogo 1",
        "go searchmoves a2a3 depth 3",
        "go mate 1 movetime 100",
        "go depth 0",
        "go nodes 0",
        "go movetime 0",
    ],
)
def test_every_form_of_go_ends_in_a_move(engine: Engine, go: str) -> None:
    began = time.perf_counter()
    engine.send("position startpos", go)
    best = engine.expect("bestmove", timeout=5)
    assert chess.Move.from_uci(best.split()[1]) in chess.Board().legal_moves
    assert time.perf_counter() - began < 2


def test_search_moves_are_obeyed_and_wrong_ones_reported(engine: Engine) -> None:
    engine.send("go searchmoves h2h3 e2e5 depth 4")
    assert engine.expect("info string") == "info string go searchmoves: 'e2e5' is not legal here"
    assert engine.expect("bestmove").startswith("bestmove h2h3")


def test_nodes_are_exact(engine: Engine) -> None:
    engine.send("go nodes 30000")
    engine.expect("bestmove")
    nodes = [int(line.split(" nodes ")[1].split()[0]) for line in engine.lines if " nodes " in line]
    assert max(nodes) <= 30_000


def test_infinite_is_silent_until_stop(engine: Engine) -> None:
    engine.send("position fen 7k/5K2/8/8/8/8/8/6R1 w - - 0 1", "go infinite")
    time.sleep(0.5)  # a mate in one is searched to the end at once
    engine.send("isready")
    engine.expect("readyok", timeout=1)
    assert not any(line.startswith("bestmove") for line in engine.lines)
    engine.send("stop")
    engine.expect("bestmove", timeout=1)


def test_stop_is_obeyed_at_once(engine: Engine) -> None:
    worst = 0.0
    for _ in range(20):
        engine.send("position startpos", "go infinite")
        engine.expect("info depth 5")
        began = time.perf_counter()
        engine.send("stop")
        engine.expect("bestmove", timeout=2)
        worst = max(worst, time.perf_counter() - began)
    assert worst < 0.2  # 50 ms on a quiet machine; tests may share theirs


def test_stop_when_idle_changes_nothing(engine: Engine) -> None:
    engine.send("stop", "stop", "ponderhit", "isready")
    engine.expect("readyok")
    assert engine.lines == ["readyok"]


def test_commands_during_a_search_wait_for_its_end(engine: Engine) -> None:
    engine.send("go movetime 300", "position startpos moves d2d4", "setoption name Hash value 8", "d", "isready")
    engine.expect("readyok", timeout=0.25)
    engine.expect("bestmove")
    fen = engine.expect("Fen: ")
    assert fen.startswith("Fen: rnbqkbnr/pppppppp/8/8/3P4/8")


def test_go_during_a_search_answers_both(engine: Engine) -> None:
    engine.send("go infinite", "position startpos moves e2e4", "go depth 2")
    engine.expect("bestmove")
    second = engine.expect("bestmove")
    board = chess.Board()
    board.push_uci("e2e4")
    assert chess.Move.from_uci(second.split()[1]) in board.legal_moves


def test_a_stop_behind_a_waiting_go_is_meant_for_that(engine: Engine) -> None:
    engine.send("go infinite")
    engine.expect("info depth 3")
    engine.send("go infinite", "stop")
    engine.expect("bestmove", timeout=2)
    engine.expect("bestmove", timeout=2)


def test_an_explosive_position_keeps_its_time(engine: Engine) -> None:
    """Queens everywhere: one quiescence search of the first move would take seconds."""
    engine.send("position fen 1QqQqQq1/r6Q/Q6q/q6Q/B2q4/q6Q/k6K/1qQ1QqRb w - - 0 1", "go movetime 200")
    began = time.perf_counter()
    engine.expect("bestmove", timeout=5)
    assert time.perf_counter() - began < 1
    engine.send("go infinite")
    time.sleep(0.2)
    began = time.perf_counter()
    engine.send("stop")
    engine.expect("bestmove", timeout=5)
    assert time.perf_counter() - began < 0.5


def test_perft_prints_as_stockfish_does(engine: Engine) -> None:
    engine.send("position startpos", "go perft 3")
    assert engine.expect("Nodes searched") == "Nodes searched: 8902"
    rows = [line for line in engine.lines if re.fullmatch(r"[a-h][1-8][a-h][1-8]: \d+", line)]
    assert len(rows) == 20
    assert engine.lines[-2] == ""
    engine.send("go perft 0")
    assert engine.expect("info string") == "info string perft depth is 1 to 32, not 0"
    engine.send("go perft 9")
    time.sleep(0.2)
    engine.send("stop")
    assert engine.expect("info string", timeout=2) == "info string perft was stopped"


def test_display_and_evaluation(engine: Engine) -> None:
    engine.send("position startpos", "d")
    engine.expect("Key: 463B96181691FC9C")
    engine.expect("Legal moves: 20")
    engine.send("eval")
    engine.expect("Material     |")
    assert engine.expect("Evaluation +").endswith("pawns from White's view")


def test_bench_inside_the_session(engine: Engine) -> None:
    engine.send("bench 2")
    line = engine.expect("")
    while not line.endswith("nps"):
        line = engine.expect("")
    assert re.fullmatch(r"\d+ nodes \d+ nps", line)


def test_no_legal_move_is_the_null_move(engine: Engine) -> None:
    for fen, score in [("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", "cp 0"), ("R5k1/5ppp/8/8/8/8/8/6K1 b - - 0 1", "mate 0")]:
        engine.send(f"position fen {fen}", "go depth 4")
        assert engine.expect("bestmove") == "bestmove 0000"
        assert f"info depth 0 score {score}" in engine.lines


@pytest.mark.parametrize(
    "position",
    [
        "fen 7k/8/8/8/8/8/8/KR6 w - - 100 90",
        "startpos moves g1f3 g8f6 f3g1 f6g8 g1f3 g8f6 f3g1 f6g8",
        "fen 8/8/4k3/8/8/3NK3/8/8 w - - 0 1",
    ],
)
def test_drawn_roots_still_get_a_move(engine: Engine, position: str) -> None:
    engine.send(f"position {position}", "go depth 4")
    assert engine.expect("bestmove") != "bestmove 0000"


def test_chess960_castling_in_both_modes(engine: Engine) -> None:
    fen = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1"
    engine.send(f"position fen {fen}", "go searchmoves e1g1 depth 2")
    assert engine.expect("bestmove").startswith("bestmove e1g1")
    engine.send("setoption name UCI_Chess960 value true", f"position fen {fen} moves e1h1")
    engine.send("go searchmoves e8a8 depth 2")
    assert engine.expect("bestmove").startswith("bestmove e8a8")


def test_python_chess_plays_a_game(start: Callable[..., Engine]) -> None:
    board = chess.Board()
    with chess.engine.SimpleEngine.popen_uci(ENGINE, timeout=60) as client:
        while not board.is_game_over(claim_draw=True) and board.fullmove_number < 30:
            result = client.play(board, chess.engine.Limit(nodes=2000), info=chess.engine.INFO_ALL)
            assert result.move is not None
            assert result.info["score"] is not None
            board.push(result.move)
    assert board.fullmove_number >= 8
