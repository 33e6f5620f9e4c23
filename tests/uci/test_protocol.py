"""The UCI protocol with a real process."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable
from pathlib import Path

import chess
import chess.engine
import pytest

from tests.uci.conftest import Engine

INFO = re.compile(
    r"info depth \d+ seldepth \d+ multipv 1 score (cp|mate) -?\d+ nodes \d+ nps \d+ hashfull \d+ tbhits \d+ time \d+"
    r" pv( [a-h][1-8][a-h][1-8][qrbn]?)+"
)


def test_uci_is_answered_without_kernels(start: Callable[..., Engine], tmp_path: Path) -> None:
    engine = start(SECATEUR_CACHE_DIR=str(tmp_path / "empty"))
    engine.send("uci")
    engine.expect("uciok")
    assert engine.lines[0].startswith("id name Secateur ")
    assert engine.lines[1].startswith("id author ")
    assert all(line.startswith(("id ", "option name ")) or line == "uciok" for line in engine.lines)
    engine.finish("quit")


def test_search_reports_and_answers(engine: Engine) -> None:
    engine.send("position startpos moves e2e4 e7e5", "go depth 6")
    best = engine.expect("bestmove")
    assert re.fullmatch(r"bestmove [a-h][1-8][a-h][1-8][qrbn]?( ponder [a-h][1-8][a-h][1-8][qrbn]?)?", best)
    # From three seconds on, which a busy machine may take, a search also reports its current move and bounds.
    reports = [info for info in engine.infos() if int(info["time"]) < 3000 or "bound" not in info["line"]]
    infos = [info["line"] for info in reports]
    assert len(infos) == 6
    assert all(INFO.fullmatch(line) for line in infos)


@pytest.mark.parametrize(
    "go",
    [
        "go nodes 2000",
        "go movetime 50",
        "go wtime 1000 btime 1000",
        "go btime 100",
        "go wtime 1 btime 1",
        "go wtime -20 btime -20",
        "go wtime 500 btime 500 movestogo 1",
        "go mate 1 movetime 100",
        "go depth 0",
        "go nodes 0",
    ],
)
def test_every_form_of_go_ends_in_a_move(engine: Engine, go: str) -> None:
    assert chess.Move.from_uci(engine.best(go)) in chess.Board().legal_moves


def test_search_moves_are_obeyed_and_wrong_ones_reported(engine: Engine) -> None:
    assert engine.best("go searchmoves h2h3 e2e5 depth 4") == "h2h3"
    assert engine.lines[0] == "info string go searchmoves: 'e2e5' is not a legal move"


@pytest.mark.parametrize(
    ("fen", "depth"),
    [
        ("7k/5K2/8/8/8/8/7P/6R1 w - - 0 1", 60),
        ("8/8/2R5/3k4/8/8/4K3/8 w - - 0 1", 27),  # the whole line to the mate: the ending is solved
    ],
)
def test_infinite_is_silent_until_stop(engine: Engine, fen: str, depth: int) -> None:
    engine.send(f"position fen {fen}", "go infinite")
    engine.expect(f"info depth {depth} ")
    assert not any(line.startswith("bestmove") for line in engine.said())
    engine.best("stop")


def test_commands_during_a_search_wait_for_its_end(engine: Engine) -> None:
    engine.said("go infinite", "position startpos moves d2d4", "setoption name Hash value 8", "d")
    engine.send("stop")
    engine.expect("bestmove")
    assert engine.expect("Fen: ").startswith("Fen: rnbqkbnr/pppppppp/8/8/3P4/8")
    assert not any(line.startswith("Fen") for line in engine.lines[:-1])


def test_a_stop_behind_waiting_commands_is_meant_for_the_last_search(engine: Engine) -> None:
    engine.send("go infinite")
    engine.expect("info depth 3")
    engine.send("go infinite", "setoption name Threads value 2", "stop")
    for _ in range(2):
        engine.expect("bestmove")


def test_an_explosive_position_keeps_its_time(engine: Engine) -> None:
    """With so many queens, one quiescence search of the first move would take seconds."""
    engine.best("position fen 1QqQqQq1/r6Q/Q6q/q6Q/B2q4/q6Q/k6K/1qQ1QqRb w - - 0 1", "go movetime 200")
    assert all(int(info["time"]) < 3000 for info in engine.infos())
    engine.send("go infinite")
    engine.said()
    engine.best("stop", timeout=10)


def test_perft_prints_as_stockfish_does(engine: Engine) -> None:
    engine.send("position startpos", "go perft 3")
    assert engine.expect("Nodes searched") == "Nodes searched: 8902"
    rows = [line for line in engine.lines if re.fullmatch(r"[a-h][1-8][a-h][1-8]: \d+", line)]
    assert len(rows) == 20
    assert engine.lines[-2] == ""
    assert engine.said("go perft 0") == ["info string perft depth must be 1 to 32 (got 0)"]
    engine.send("go perft 9", "stop")
    assert engine.expect("info string") == "info string perft was stopped"


def test_a_long_count_says_every_two_seconds_that_it_goes_on(engine: Engine) -> None:
    engine.send("go perft 12")
    assert "perft: " in engine.expect("info string perft")
    engine.send("stop")
    engine.expect("info string perft was stopped")


def test_display_evaluation_and_benchmark(engine: Engine) -> None:
    engine.send("d")
    engine.expect("Key: 463B96181691FC9C")
    engine.expect("Legal moves: 20")
    engine.send("eval")
    engine.expect("Material     |")
    assert engine.expect("Evaluation +").endswith("pawns from White's view")
    engine.send("bench 2")
    while not (line := engine.expect("")).endswith("nps"):
        pass
    assert re.fullmatch(r"\d+ nodes \d+ nps", line)


def test_no_legal_move_is_the_null_move(engine: Engine) -> None:
    for fen, score in [("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", "cp 0"), ("R5k1/5ppp/8/8/8/8/8/6K1 b - - 0 1", "mate 0")]:
        assert engine.best(f"position fen {fen}", "go depth 4") == "0000"
        assert f"info depth 0 score {score}" in engine.lines


# -- storms ------------------------------------------------------------------------------------------------------------


def test_a_storm_of_searches_and_stops_answers_each(engine: Engine) -> None:
    count = 150
    lines = []
    for number in range(count):
        lines += ["go infinite", "stop"] if number % 3 else ["go ponder wtime 50 btime 50", "ponderhit", "isready"]
    engine.send(*lines, "isready", "stop")
    for _ in range(count):
        engine.expect("bestmove")
    engine.send("d")
    engine.expect("Legal moves: 20")
    assert engine.lines.count("readyok") == count // 3 + 1
    assert not any(line.startswith(("info string", "bestmove 0000")) for line in engine.lines)


def test_stops_at_every_moment_of_a_search(engine: Engine) -> None:
    rng = random.Random(3)
    for number in range(60):
        engine.send(f"setoption name Threads value {1 + number % 3}", "go infinite")
        time.sleep(rng.choice((0, 0.0001, 0.001, 0.005)))
        engine.best("stop")


# -- clocks ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 2])
def test_a_clock_that_has_run_out_is_answered_at_once(engine: Engine, threads: int) -> None:
    engine.send(f"setoption name Threads value {threads}")
    for clock in ("wtime 1", "wtime 1 winc 1", "wtime 5 movestogo 1", "wtime 10 movestogo 40", "wtime 30"):
        # Of several, because others may use the machine.
        times = []
        for _ in range(5):
            assert chess.Move.from_uci(engine.best(f"go {clock}")) in chess.Board().legal_moves
            times.append(int(engine.infos()[-1]["time"]))
        assert min(times) < 50


def test_the_overhead_is_kept_back(engine: Engine) -> None:
    times = []
    for _ in range(3):
        engine.best("setoption name Move Overhead value 300", "ucinewgame", "go movetime 500")
        times.append(int(engine.infos()[-1]["time"]))
    assert min(times) < 400


def test_a_game_whose_clocks_run_down_to_a_millisecond(engine: Engine) -> None:
    board = chess.Board()
    clocks = [200.0, 200.0]
    for _ in range(30):
        moves = " ".join(move.uci() for move in board.move_stack)
        white, black = (max(1, int(clock)) for clock in clocks)
        began = time.perf_counter()
        board.push_uci(engine.best(f"position startpos moves {moves}", f"go wtime {white} btime {black}"))
        clocks[1 if board.turn else 0] -= 20 + 1000 * (time.perf_counter() - began)
    assert max(clocks) < 1


# -- pondering ---------------------------------------------------------------------------------------------------------


def is_held(engine: Engine, go: str) -> bool:
    """Whether a ponder search gives no answer, though it has searched for a while."""
    engine.lines.clear()
    engine.send(go)
    engine.expect("info depth 1 ")
    time.sleep(0.3)
    return not any(line.startswith("bestmove") for line in engine.said())


def test_a_hit_after_short_pondering_goes_on_thinking(engine: Engine) -> None:
    engine.send("position startpos", "go ponder movetime 400")
    engine.expect("info depth 1 ")
    began = time.perf_counter()
    engine.best("ponderhit")
    assert time.perf_counter() - began > 0.2


@pytest.mark.parametrize("limit", ["depth 2", "nodes 100", "mate 1", "movetime 20", "wtime 100 btime 100"])
@pytest.mark.parametrize("end", ["ponderhit", "stop"])
def test_a_ponder_search_keeps_its_answer(engine: Engine, limit: str, end: str) -> None:
    engine.send("position fen 7k/5K2/8/8/8/8/8/6R1 w - - 0 1")
    assert is_held(engine, f"go ponder {limit}")
    engine.best(end)


@pytest.mark.parametrize("go", ["go infinite", "go ponder infinite"])
def test_a_hit_does_not_end_an_infinite_search(engine: Engine, go: str) -> None:
    assert is_held(engine, f"{go}\nponderhit")
    engine.best("stop")


# -- threads -----------------------------------------------------------------------------------------------------------


def test_one_thread_after_a_new_game_searches_as_in_a_fresh_process(engine: Engine) -> None:
    def nodes() -> list[str]:
        engine.best("ucinewgame", "position startpos moves e2e4", "go depth 8")
        return [info["nodes"] for info in engine.infos()]

    first = nodes()
    engine.best("setoption name Threads value 3", "position startpos moves d2d4", "go movetime 100")
    engine.send("setoption name Threads value 1")
    assert nodes() == first
