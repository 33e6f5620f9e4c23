"""Missing memory, threads and files; long games and the fifty-move rule."""

from __future__ import annotations

import queue
import random
import threading
import time
from collections.abc import Callable

import chess
import psutil
import pytest

from engine.uci.options import memory_mebibytes
from tests.uci.conftest import Engine
from tests.uci.fuzz.wires import InProcess

# -- memory ------------------------------------------------------------------------------------------------------------


def test_a_table_beyond_memory_is_refused_and_the_old_one_kept(start: Callable[..., Engine]) -> None:
    resource = pytest.importorskip("resource", reason="limits are POSIX's")
    if not hasattr(resource, "prlimit"):
        pytest.skip("this system cannot limit a running process")

    def nodes(engine: Engine) -> int:
        engine.best("go depth 9")
        return int(engine.infos()[-1]["nodes"])

    engine, other = start(), start()
    for one in (engine, other):
        one.send("setoption name Hash value 64")
    first = nodes(engine)
    most = psutil.Process(engine.process.pid).memory_info().vms + (48 << 20)
    resource.prlimit(engine.process.pid, resource.RLIMIT_AS, (most, most))
    engine.send("setoption name Hash value 1024")
    engine.expect("info string not enough memory for Hash 1024: keeping the old TT")
    # It goes on like an engine whose Hash did not change.
    assert (nodes(other), nodes(other)) == (first, nodes(engine))
    # There is no memory for a second table of this size, so it is cleared by hand.
    engine.send("ucinewgame")
    assert nodes(engine) == first
    other.finish("quit")
    engine.finish("quit")


def test_the_largest_hash_on_offer_is_accepted_and_leaves_memory_to_the_rest(engine: Engine) -> None:
    engine.send("uci")
    most = int(engine.expect("option name Hash ").split()[-1])
    assert 16 <= most <= max(16, memory_mebibytes())
    engine.expect("uciok")
    engine.best(f"setoption name Hash value {most}", "ucinewgame", "go depth 3")
    assert not any("memory" in line for line in engine.said("setoption name Hash value 16"))


# -- threads -----------------------------------------------------------------------------------------------------------


def test_what_comes_right_behind_an_answer_finds_it_done() -> None:
    """The reader of an answer may be quicker than the thread that gave it."""
    heard: list[str] = []
    is_ready = threading.Event()

    def listen(line: str, now: float) -> None:
        heard.append(line)
        if line.startswith("bestmove"):
            # The thread that answers makes this call, before the answer is out.
            wire.send(b"d")
            wire.send(b"isready")
            time.sleep(0.1)
        elif line == "readyok":
            is_ready.set()

    wire = InProcess(listen)
    wire.send(b"go depth 1")
    assert is_ready.wait(60)
    wire.send(b"quit")
    assert wire.ended(30) is None
    assert "Legal moves: 20" in heard[: heard.index("readyok")]


def test_every_go_is_answered_when_no_thread_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: queue.SimpleQueue[str] = queue.SimpleQueue()
    said: list[str] = []

    def expect(begin: str) -> str:
        while not (line := heard.get(timeout=60)).startswith(begin):
            said.append(line)
        return line

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    wire = InProcess(lambda line, now: heard.put(line))
    wire.send(b"setoption name Threads value 2")
    wire.send(b"isready")
    expect("readyok")
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        wire.send(b"setoption name Threads value 8")
        assert "not enough system threads for Threads 8: using 2" in expect("info string")
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
    assert wire.ended(30) is None
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
    answers = [line for line in lines if not line.startswith(("id ", "option ", "info string "))]
    assert answers == ["uciok", "readyok", "bestmove 0000", "readyok"]
    assert "info string cannot load the engine: RuntimeError: can't start new thread" in lines


# -- files that options name ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["~nobody-of-that-name/x", "a\0b", "/", "/no/such/file"])
def test_paths_that_lead_nowhere_are_one_message_each(engine: Engine, path: str) -> None:
    named = [f"setoption name {name} value {path}" for name in ("SyzygyPath", "BookFile", "EvalFile", "Debug Log File")]
    said = engine.said("setoption name OwnBook value true", *named)
    for part in ("tablebases not used: ", "book not used: ", "network not used: ", "Debug Log File not used: "):
        assert sum(part in line for line in said) == 1, said
    assert len(said) == 4


# -- long games and the rules that end them ----------------------------------------------------------------------------


def long_game(plies: int) -> list[str]:
    """A game of random moves that goes on beyond all draws, without mate or stalemate."""
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
    # The whole game at once, then as a GUI sends it, then with moves taken back and played again.
    for count in (1197, 1198, 1199, 600, 1200):
        answer = engine.best(f"position startpos moves {' '.join(moves[:count])}", "go wtime 1000 btime 1000")
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
    best = engine.best(f"position fen {fen}", "go depth 8")
    assert chess.Move.from_uci(best) in chess.Board(fen).legal_moves
    assert engine.infos()[-1]["score"] == score


def test_a_pawn_move_is_found_when_the_count_runs_out(engine: Engine) -> None:
    """Only an immediate pawn move wins."""
    assert engine.best("position fen 8/8/8/8/8/1k6/7P/K6R w - - 99 120", "go depth 8") in ("h2h3", "h2h4")


def test_a_root_that_has_been_there_thrice_is_still_searched(engine: Engine) -> None:
    moves = " ".join(["h1g1 a8b8 g1h1 b8a8"] * 2)
    best = engine.best(f"position fen k7/8/8/8/8/8/5Q2/7K w - - 0 1 moves {moves}", "go depth 8")
    kind, score = engine.infos()[-1]["score"].split()
    # Won all the same, by a move that does not repeat.
    assert kind == "mate" or int(score) > 300
    assert best != "h1g1"
