"""Faults: what the system does to the engine, storms of commands, and positions and clocks at their edges."""

from __future__ import annotations

import os
import queue
import random
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import chess
import pytest

from search.limits import Limits
from search.searcher import Game, Searcher
from tests.uci.conftest import ENGINE, Engine
from tests.uci.fuzz.wires import InProcess

posix_only = pytest.mark.skipif(os.name != "posix", reason="signals and limits are POSIX's")
needs_full_disk = pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")

#: As many moves as a game can lead to, and as many as were found for sixteen pieces.
MOST_MOVES = "R6R/3Q4/1Q4Q1/4Q3/2Q4Q/Q4Q2/pp1Q4/kBNN1KB1 w - - 0 1"
MORE_MOVES = "Q3QQ2/2Q4Q/4Q3/1Q4Q1/3Q4/Q4Q2/rrQ4Q/k1K1QQ2 w - - 0 1"


def last_infos(engine: Engine) -> list[str]:
    """The info lines with moves of the last depth that was told."""
    lines = [line for line in engine.lines if line.startswith("info depth") and " pv " in line]
    return [line for line in lines if line.split()[2] == lines[-1].split()[2]]


def nodes_of(engine: Engine, go: str) -> int:
    """The nodes that a search takes in the end."""
    engine.lines.clear()
    engine.send(go)
    engine.expect("bestmove", timeout=60)
    return int(last_infos(engine)[-1].split(" nodes ")[1].split()[0])


# -- signals and streams -----------------------------------------------------------------------------------------------


def searching(start: Callable[..., Engine]) -> Engine:
    """An engine in the middle of a search."""
    engine = start()
    engine.send("setoption name MultiPV value 4", "go infinite")
    engine.expect("info depth 3 ")
    return engine


@posix_only
def test_ctrl_c_ends_the_engine_quietly(start: Callable[..., Engine]) -> None:
    # A shell that runs the tests in the background has the signal ignored, and children inherit that.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        engine = searching(start)
    finally:
        signal.signal(signal.SIGINT, before)
    engine.process.send_signal(signal.SIGINT)
    engine.finish(timeout=5)


@posix_only
@pytest.mark.parametrize("name", ["SIGTERM", "SIGKILL"])
def test_a_killed_engine_is_gone_at_once(start: Callable[..., Engine], name: str) -> None:
    number = signal.Signals[name]
    engine = searching(start)
    engine.process.send_signal(number)
    assert engine.process.wait(5) == -number
    assert engine.stderr() == ""


@posix_only
def test_a_signal_of_a_broken_pipe_is_not_the_end(start: Callable[..., Engine]) -> None:
    engine = searching(start)
    engine.process.send_signal(signal.SIGPIPE)
    engine.send("isready", "stop")
    engine.expect("readyok", timeout=5)
    engine.expect("bestmove", timeout=5)
    engine.send("quit")
    engine.finish()


@posix_only
def test_a_reader_that_goes_away_in_the_middle_of_a_search_ends_it() -> None:
    reading, writing = os.pipe()
    process = subprocess.Popen(ENGINE, stdin=subprocess.PIPE, stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    assert process.stdin is not None
    assert process.stderr is not None
    process.stdin.write(b"setoption name MultiPV value 8\ngo infinite\n")
    process.stdin.flush()
    heard = b""
    while b"info depth 3 " not in heard:
        data = os.read(reading, 4096)
        assert data, "it ended by itself"
        heard += data
    os.close(reading)
    assert process.wait(20) == 1
    assert process.stderr.read() == b""
    process.stdin.close()
    process.stderr.close()


@needs_full_disk
def test_output_onto_a_full_disk_ends_the_engine() -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(ENGINE, input=b"uci\n", stdout=full, stderr=subprocess.PIPE, timeout=20, check=False)
    assert (done.returncode, done.stderr) == (1, b"")


@needs_full_disk
def test_a_log_on_a_full_disk_costs_the_log_only(start: Callable[..., Engine], tmp_path: Path) -> None:
    engine = start()
    engine.send("setoption name Debug Log File value /dev/full", "isready", "go depth 3")
    engine.expect("bestmove")
    log = tmp_path / "log"
    engine.send(f"setoption name Debug Log File value {log}", "isready")
    engine.expect("readyok")
    engine.send("quit")
    engine.finish()
    assert "<< readyok" in log.read_text(encoding="utf-8")


# -- memory ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def leave_memory() -> Callable[[Engine, int], None]:
    """Lets a running engine have so many MiB of address space more."""
    resource = pytest.importorskip("resource", reason="limits are POSIX's")
    if not hasattr(resource, "prlimit"):
        pytest.skip("this system cannot limit a running process")

    def limit(engine: Engine, mebibytes: int) -> None:
        status = Path(f"/proc/{engine.process.pid}/status").read_text(encoding="ascii")
        (size,) = (int(line.split()[1]) for line in status.splitlines() if line.startswith("VmSize:"))
        most = (size << 10) + (mebibytes << 20)
        resource.prlimit(engine.process.pid, resource.RLIMIT_AS, (most, most))

    return limit


def test_a_table_beyond_memory_is_refused_and_the_old_one_kept(
    start: Callable[..., Engine], leave_memory: Callable[[Engine, int], None]
) -> None:
    engine = start()
    engine.send("setoption name Hash value 64")
    first = nodes_of(engine, "go depth 9")
    leave_memory(engine, 48)
    engine.send("setoption name Hash value 1024")
    engine.expect("info string not enough memory for Hash 1024: the old table is kept", timeout=10)
    # What it holds makes the same search short.
    assert nodes_of(engine, "go depth 9") < 0.8 * first
    # There is no memory for a second table of this size, so it is cleared by hand.
    engine.send("ucinewgame")
    assert nodes_of(engine, "go depth 9") == first
    engine.send("quit")
    engine.finish()


def test_threads_and_a_benchmark_beyond_memory_are_refused(
    start: Callable[..., Engine], leave_memory: Callable[[Engine, int], None]
) -> None:
    engine = start()
    nodes_of(engine, "go depth 5")
    leave_memory(engine, 12)
    engine.send("bench 1")
    engine.expect("info string not enough memory for 'bench 1'", timeout=10)
    engine.send("setoption name Threads value 8")
    engine.expect("info string not enough ", timeout=10)
    engine.send("go depth 6")
    engine.expect("bestmove", timeout=30)
    engine.send("quit")
    engine.finish()


# -- files that options name ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["~nobody-of-that-name/x", "a\0b", "/", "/no/such/file"])
def test_paths_that_lead_nowhere_are_one_message_each_before_and_after_loading(
    start: Callable[..., Engine], path: str
) -> None:
    engine = start()
    named = [f"setoption name {name} value {path}" for name in ("SyzygyPath", "BookFile", "EvalFile", "Debug Log File")]
    for _ in range(2):
        engine.lines.clear()
        engine.send("setoption name OwnBook value true", *named, "go depth 2", "isready")
        engine.expect("bestmove", timeout=60)
        engine.send("isready")
        engine.expect("readyok")
        said = [line for line in engine.lines if line.startswith("info string")]
        for part in ("endgame tables not used: ", "book not used: ", "network not used: ", "Debug Log File not used: "):
            assert sum(part in line for line in said) == 1, said
        assert not any("internal error" in line for line in said)
        engine.send("setoption name BookFile value <empty>")
    engine.send("quit")
    engine.finish()


# -- storms ------------------------------------------------------------------------------------------------------------


def test_a_storm_of_searches_and_stops_answers_each(engine: Engine) -> None:
    count = 300
    lines = []
    for number in range(count):
        lines += ["go infinite", "stop"] if number % 3 else ["go ponder wtime 50 btime 50", "ponderhit", "isready"]
    engine.send(*lines, "isready", "stop")
    for _ in range(count):
        engine.expect("bestmove", timeout=10)
    engine.send("d")
    engine.expect("Legal moves: 20")
    assert sum(line == "readyok" for line in engine.lines) == count // 3 + 1
    assert not any(line.startswith(("info string", "bestmove 0000")) for line in engine.lines)


def test_stops_at_every_moment_of_a_search(engine: Engine) -> None:
    rng = random.Random(3)
    for number in range(150):
        engine.send(f"setoption name Threads value {1 + number % 3}", "go infinite")
        time.sleep(rng.choice((0, 0.0001, 0.001, 0.005)))
        engine.send("stop")
        engine.expect("bestmove", timeout=3)
    assert sum(line.startswith("bestmove") for line in engine.lines) == 150


def test_engines_that_are_killed_at_any_moment_harm_no_other() -> None:
    """All on one cache, at once, while they start; what comes after finds it whole."""
    rng = random.Random(8)
    pipe = subprocess.PIPE
    for _ in range(2):
        engines = [subprocess.Popen(ENGINE, stdin=pipe, stdout=pipe, stderr=pipe) for _ in range(4)]
        for engine in engines:
            assert engine.stdin is not None
            engine.stdin.write(b"uci\nisready\ngo infinite\n")
            engine.stdin.flush()
        for engine in engines:
            time.sleep(rng.random() / 4)
            engine.kill()
        for engine in engines:
            assert engine.communicate()[1] == b""
    done = subprocess.run(ENGINE, input=b"isready\ngo depth 3\n", capture_output=True, timeout=60, check=True)
    assert done.stdout.splitlines()[-1].startswith(b"bestmove ")
    assert b"compiled" not in done.stdout


def test_what_comes_right_behind_an_answer_finds_it_done() -> None:
    """The reader of an answer may be quicker than the thread that gave it."""
    heard: list[str] = []
    is_ready = threading.Event()

    def listen(line: str, now: float) -> None:
        heard.append(line)
        if line.startswith("bestmove"):
            # It is still on its way: this call is made by the thread that answers.
            wire.send(b"d")
            wire.send(b"isready")
            time.sleep(0.1)
        elif line == "readyok":
            is_ready.set()

    wire = InProcess(listen)
    wire.send(b"go depth 1")
    assert is_ready.wait(20)
    wire.send(b"quit")
    assert wire.ended(5) is None
    assert "Legal moves: 20" in heard[: heard.index("readyok")]


def test_every_go_is_answered_when_no_thread_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: queue.SimpleQueue[str] = queue.SimpleQueue()
    said: list[str] = []

    def expect(begin: str) -> str:
        while not (line := heard.get(timeout=60)).startswith(begin):
            said.append(line)
        return line

    wire = InProcess(lambda line, now: heard.put(line))
    wire.send(b"setoption name Threads value 2")
    wire.send(b"isready")
    expect("readyok")

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        wire.send(b"setoption name Threads value 8")
        assert "not enough threads to be had for Threads 8: 2 used" in expect("info string")
        for go in (b"depth 4", b"movetime 100", b"wtime 1000 btime 1000", b"depth 3 movetime 50"):
            wire.send(b"go " + go)
            assert chess.Move.from_uci(expect("bestmove").split()[1]) in chess.Board().legal_moves
        wire.send(b"go infinite")
        wire.send(b"stop")
        expect("bestmove")
        wire.send(b"go perft 3")
        assert expect("Nodes searched") == "Nodes searched: 8902"
        wire.send(b"isready")
        expect("readyok")
    wire.send(b"quit")
    assert wire.ended(10) is None
    assert not any("internal error" in line for line in said)


def test_without_a_thread_to_load_with_the_conversation_goes_on(run_python: Callable[..., str]) -> None:
    script = """
import threading
start = threading.Thread.start
def refuse(thread):
    if thread.name == "loader":
        raise RuntimeError("can't start new thread")
    start(thread)
threading.Thread.start = refuse
from engine.uci.loop import run
run("without a loader")
"""
    lines = run_python(script, stdin="uci\nisready\ngo depth 3\nd\nisready\nquit\n").splitlines()
    assert [line for line in lines if not line.startswith(("id ", "option ", "info string "))] == [
        "uciok",
        "readyok",
        "bestmove 0000",
        "readyok",
    ]
    assert "info string the engine cannot be loaded: RuntimeError: can't start new thread" in lines


def test_without_any_thread_a_search_has_one_iteration(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine that gives none when the engine is loaded, either."""
    searcher = Searcher(1)

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    game = Game(chess.Board())
    timed = searcher.search(game, Limits(move_time=1000))
    assert timed.best in game.board.legal_moves
    assert timed.info is not None
    assert timed.info.depth == 1
    deep = searcher.search(game, Limits(depth=4), on_progress=lambda progress: None)
    assert deep.info is not None
    assert deep.info.depth == 4


# -- clocks ------------------------------------------------------------------------------------------------------------


def test_a_game_whose_clocks_run_down_to_a_millisecond(engine: Engine) -> None:
    board = chess.Board()
    clocks = [400.0, 400.0]
    for _ in range(60):
        moves = " ".join(move.uci() for move in board.move_stack)
        white, black = (max(1, int(clock)) for clock in clocks)
        engine.send(f"position startpos moves {moves}", f"go wtime {white} btime {black}")
        began = time.perf_counter()
        move = engine.expect("bestmove", timeout=5).split()[1]
        clocks[0 if board.turn else 1] -= 20 + 1000 * (time.perf_counter() - began)
        board.push_uci(move)
        if board.is_game_over(claim_draw=True):
            board = chess.Board()
    assert max(clocks) < 1


@pytest.mark.parametrize("go", [f"go movetime {'9' * 18}", f"go wtime {'9' * 16} btime {'9' * 16} winc {'9' * 16}"])
def test_times_beyond_all_measure_can_be_stopped_and_clocks_go_on(engine: Engine, go: str) -> None:
    engine.send(go)
    time.sleep(0.1)
    engine.send("stop")
    engine.expect("bestmove", timeout=3)
    engine.send("go movetime 50")
    engine.expect("bestmove", timeout=3)


# -- long games and the rules that end them ----------------------------------------------------------------------------


def long_game(plies: int) -> list[str]:
    """A game of random moves that goes on, whoever could claim a draw: never mate or stalemate."""
    rng = random.Random(1)
    board = chess.Board()
    while board.ply() < plies:
        moves = list(board.legal_moves)
        rng.shuffle(moves)
        for move in moves:
            board.push(move)
            if any(board.legal_moves):
                break
            board.pop()
        else:
            board.pop()
    return [move.uci() for move in board.move_stack]


def test_a_game_of_six_hundred_moves(engine: Engine) -> None:
    moves = long_game(1200)
    # The whole game at once, then as a GUI sends it, then taken back and told anew.
    for count in (1192, *range(1193, 1201), 600, 1200):
        engine.send(f"position startpos moves {' '.join(moves[:count])}", "go wtime 1000 btime 1000")
        began = time.perf_counter()
        answer = engine.expect("bestmove", timeout=10).split()[1]
        assert time.perf_counter() - began < 1
        board = chess.Board()
        for text in moves[:count]:
            board.push_uci(text)
        assert chess.Move.from_uci(answer) in board.legal_moves
        engine.send("d")
        assert engine.expect("Fen: ") == f"Fen: {board.fen()}"


LADDER = "7k/8/5K2/8/8/8/8/6R1 w - - {} 90"  # Kf7, Kh7, Rh1 mate


@pytest.mark.parametrize(
    ("fen", "score"),
    [
        (LADDER.format(97), "mate 2"),  # mate on the hundredth ply comes before the draw
        (LADDER.format(98), "cp 0"),  # drawn before the mate
        (LADDER.format(99), "cp 0"),
        ("7k/5K2/8/8/8/8/8/6R1 w - - 99 90", "mate 1"),
        ("7k/5K2/8/8/8/8/8/6R1 w - - 100 90", "mate 1"),  # nobody has claimed it yet
        ("7k/5K2/8/8/8/8/P7/6R1 w - - 99 90", "mate 1"),
    ],
)
def test_the_fifty_move_rule_at_its_edge(engine: Engine, fen: str, score: str) -> None:
    engine.send(f"position fen {fen}", "go depth 8")
    best = engine.expect("bestmove").split()[1]
    assert chess.Move.from_uci(best) in chess.Board(fen).legal_moves
    assert f" score {score} " in last_infos(engine)[-1]


def test_a_pawn_move_is_found_when_the_count_runs_out(engine: Engine) -> None:
    """Won, but only for who moves the pawn now."""
    engine.send("position fen 8/8/8/8/8/1k6/7P/K6R w - - 99 120", "go depth 8")
    assert engine.expect("bestmove").split()[1] in ("h2h3", "h2h4")


#: Twice there and back: the position has been there three times.
TWICE = "h1g1 a8b8 g1h1 b8a8 h1g1 a8b8 g1h1 b8a8"


@pytest.mark.parametrize("moves", [TWICE, f"{TWICE} h1g1 a8b8 g1h1 b8a8"])
def test_a_root_that_has_been_there_thrice_is_still_searched(engine: Engine, moves: str) -> None:
    engine.send(f"position fen k7/8/8/8/8/8/5Q2/7K w - - 0 1 moves {moves}", "go depth 8")
    best = engine.expect("bestmove").split()[1]
    info = last_infos(engine)[-1]
    # Won all the same: by something that has not been there twice.
    assert " score mate " in info or int(info.split(" cp ")[1].split()[0]) > 300
    assert best != "h1g1"


# -- many moves --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fen", "count", "lines"), [(MOST_MOVES, 218, 218), (MOST_MOVES, 218, 256), (MORE_MOVES, 240, 256)]
)
@pytest.mark.parametrize("threads", [1, 2])
def test_every_one_of_so_many_moves_has_its_line(
    engine: Engine, fen: str, count: int, lines: int, threads: int
) -> None:
    engine.send(f"setoption name Threads value {threads}", f"setoption name MultiPV value {lines}")
    engine.send(f"position fen {fen}", "go depth 2")
    best = engine.expect("bestmove", timeout=30).split()[1]
    infos = last_infos(engine)
    firsts = [line.split(" pv ")[1].split()[0] for line in infos]
    assert len(infos) == count
    assert set(firsts) == {move.uci() for move in chess.Board(fen).legal_moves}
    assert best == firsts[0]


def test_many_lines_are_stopped_in_the_middle(engine: Engine) -> None:
    engine.send("setoption name MultiPV value 256", f"position fen {MOST_MOVES}", "go infinite")
    time.sleep(0.3)
    engine.send("stop")
    engine.expect("bestmove", timeout=3)
