"""Threads, clocks and pondering, spoken to the real process."""

import time

import chess
import pytest

from tests.uci.conftest import Engine


def is_silent(engine: Engine, seconds: float) -> bool:
    """Whether no `bestmove` comes for that long."""
    time.sleep(seconds)
    engine.send("isready")
    engine.expect("readyok", timeout=2)
    return not any(line.startswith("bestmove") for line in engine.lines)


def answer(engine: Engine, timeout: float) -> tuple[chess.Move, float]:
    """The move that is answered, and the seconds until it came."""
    began = time.perf_counter()
    move = engine.expect("bestmove", timeout=timeout).split()[1]
    return chess.Move.from_uci(move), time.perf_counter() - began


# -- pondering -----------------------------------------------------------------------------------------------------


def test_pondering_goes_on_beyond_the_clock_until_stop(engine: Engine) -> None:
    engine.send("position startpos moves e2e4 e7e5", "go ponder wtime 100 btime 100")
    assert is_silent(engine, 0.4)
    engine.send("stop")
    move, seconds = answer(engine, timeout=2)
    assert seconds < 0.5
    assert move.uci()[0] in "abcdefgh"


def test_a_hit_after_long_pondering_is_answered_at_once(engine: Engine) -> None:
    engine.send("position startpos moves e2e4 e7e5", "go ponder wtime 3000 btime 3000")
    assert is_silent(engine, 0.6)  # far more than a move may take of three seconds
    engine.send("ponderhit")
    assert answer(engine, timeout=2)[1] < 0.3


def test_a_hit_after_short_pondering_goes_on_thinking(engine: Engine) -> None:
    engine.send("position startpos moves e2e4 e7e5", "go ponder wtime 60000 btime 60000")
    assert is_silent(engine, 0.1)
    engine.send("ponderhit")
    assert is_silent(engine, 0.1)
    seconds = answer(engine, timeout=20)[1]
    assert seconds < 8


def test_an_ordered_time_begins_with_the_hit(engine: Engine) -> None:
    engine.send("position startpos", "go ponder movetime 400")
    assert is_silent(engine, 0.6)
    engine.send("ponderhit")
    assert 0.2 < answer(engine, timeout=5)[1] < 1


@pytest.mark.parametrize("limit", ["depth 2", "nodes 100", "mate 1", "movetime 20"])
def test_a_ponder_search_that_is_done_keeps_its_answer(engine: Engine, limit: str) -> None:
    engine.send("position fen 7k/5K2/8/8/8/8/8/6R1 w - - 0 1", f"go ponder {limit}")
    assert is_silent(engine, 0.15)
    engine.send("ponderhit")
    answer(engine, timeout=2)


def test_a_hit_right_behind_go_is_not_lost(engine: Engine) -> None:
    for _ in range(10):
        engine.send("position startpos", "go ponder wtime 1000 btime 1000", "ponderhit")
        assert answer(engine, timeout=2)[1] < 1


def test_a_hit_without_pondering_changes_nothing(engine: Engine) -> None:
    engine.send("position startpos", "go infinite", "ponderhit")
    assert is_silent(engine, 0.1)
    engine.send("stop")
    answer(engine, timeout=2)


def test_an_infinite_ponder_search_waits_for_stop(engine: Engine) -> None:
    engine.send("position startpos", "go ponder infinite", "ponderhit")
    assert is_silent(engine, 0.1)
    engine.send("stop")
    answer(engine, timeout=2)


def test_a_new_go_ends_the_pondering(engine: Engine) -> None:
    engine.send("position startpos", "go ponder wtime 100 btime 100", "position startpos moves d2d4", "go depth 2")
    assert answer(engine, timeout=2)[0] in chess.Board().legal_moves
    board = chess.Board()
    board.push_uci("d2d4")
    assert answer(engine, timeout=2)[0] in board.legal_moves


def test_a_game_with_pondering_stays_in_step(engine: Engine) -> None:
    """Ten moves against itself, every second reply foreseen."""
    engine.send("setoption name Ponder value true", "setoption name Threads value 2")
    moves: list[str] = []
    for number in range(10):
        engine.send(f"position startpos moves {' '.join(moves)}", "go wtime 500 btime 500 winc 10 binc 10")
        words = engine.expect("bestmove", timeout=5).split()
        moves.append(words[1])
        if len(words) < 4:
            continue
        engine.send(f"position startpos moves {' '.join([*moves, words[3]])}")
        engine.send("go ponder wtime 500 btime 500 winc 10 binc 10")
        time.sleep(0.03)
        if number % 2:
            engine.send("ponderhit")
            moves.append(words[3])
            moves.append(engine.expect("bestmove", timeout=2).split()[1])
        else:
            engine.send("stop")
            engine.expect("bestmove", timeout=2)
    board = chess.Board()
    for move in moves:
        board.push_uci(move)


# -- clocks --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "clock", ["wtime 1", "wtime 1 winc 1", "wtime 5 movestogo 1", "wtime 10 movestogo 40", "wtime 30", "movetime 1"]
)
@pytest.mark.parametrize("threads", [1, 2])
def test_a_clock_that_has_run_out_is_answered_at_once(engine: Engine, clock: str, threads: int) -> None:
    engine.send(f"setoption name Threads value {threads}", "position startpos")
    times = []
    for _ in range(5):
        engine.send(f"go {clock}")
        move, seconds = answer(engine, timeout=2)
        assert move in chess.Board().legal_moves
        times.append(seconds)
    assert min(times) < 0.05


def test_the_overhead_is_kept_back(engine: Engine) -> None:
    engine.send("setoption name Move Overhead value 300", "position startpos", "go movetime 500")
    seconds = answer(engine, timeout=2)[1]
    assert 0.15 < seconds < 0.45


def test_the_time_that_a_go_waits_belongs_to_it(engine: Engine) -> None:
    """The clock runs since the command was sent, not since the search could begin."""
    engine.send("position startpos", "go movetime 300", "isready")
    engine.expect("bestmove")
    last = [line for line in engine.lines if line.startswith("info depth")][-1]
    assert int(last.split(" time ")[1].split()[0]) <= 300


# -- threads -------------------------------------------------------------------------------------------------------


def test_two_threads_count_their_nodes_together(engine: Engine) -> None:
    engine.send("setoption name Threads value 2", "position startpos", "go nodes 50000")
    engine.expect("bestmove")
    nodes = [int(line.split(" nodes ")[1].split()[0]) for line in engine.lines if " nodes " in line]
    assert max(nodes) <= 50_000
    assert nodes == sorted(nodes)


def test_two_threads_stop_at_once(engine: Engine) -> None:
    engine.send("setoption name Threads value 2")
    times = []
    for _ in range(15):
        engine.send("position startpos", "go infinite")
        engine.expect("info depth 6")
        engine.send("stop")
        times.append(answer(engine, timeout=2)[1])
    assert sorted(times)[len(times) // 2] < 0.05  # a few milliseconds on a quiet machine


def test_threads_can_be_changed_at_any_time(engine: Engine) -> None:
    engine.send("position startpos")
    for threads in (2, 4, 3, 1, 2):
        # During a search the change waits for its end, as that of any option.
        engine.send("go infinite", f"setoption name Threads value {threads}", "stop")
        answer(engine, timeout=2)
        engine.send("go depth 7")
        answer(engine, timeout=20)
    assert not any(line.startswith("info string") for line in engine.lines)


def test_what_waits_behind_a_waiting_search_does_not_hide_its_stop(engine: Engine) -> None:
    engine.send("go infinite")
    engine.expect("info depth 3")
    engine.send("go infinite", "setoption name Threads value 2", "stop")
    answer(engine, timeout=2)
    answer(engine, timeout=2)
    engine.send("go infinite")
    engine.expect("info depth 3")
    engine.send("go infinite", "go depth 2")
    for _ in range(3):
        answer(engine, timeout=2)


def test_one_thread_after_a_new_game_searches_as_in_a_fresh_process(engine: Engine) -> None:
    def nodes() -> list[str]:
        engine.lines.clear()
        engine.send("ucinewgame", "position startpos moves e2e4", "go depth 9")
        engine.expect("bestmove")
        infos = [line.split() for line in engine.lines if line.startswith("info depth")]
        return [words[words.index("nodes") + 1] for words in infos]

    first = nodes()
    engine.send("setoption name Threads value 3", "position startpos moves d2d4", "go movetime 200")
    engine.expect("bestmove")
    engine.send("setoption name Threads value 1")
    assert nodes() == first
