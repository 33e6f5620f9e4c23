"""`Engine` with several threads: commands at once, interruptions, pondering, and closing."""

from __future__ import annotations

import _thread
import gc
import random
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import chess
import chess.engine
import pytest
from chess.engine import EngineTerminatedError, Limit

from engine import Engine
from engine.client.analysis import Analysis

#: Seconds that are enough for anything that takes milliseconds on a quiet machine.
SOON = 60.0


def test_a_command_ends_an_analysis(engine: Engine) -> None:
    analysis = engine.analysis(chess.Board())
    analysis.get()
    assert engine.play(chess.Board(), Limit(depth=2)).move
    assert analysis.wait().move
    second = engine.analysis(chess.Board())
    analysis.stop()  # the old one has nothing to stop any more
    for info in second:
        if info.get("depth", 0) >= 6:
            break
    engine.configure({"Clear Hash": None})
    assert not second.would_block()


def test_commands_of_many_threads_at_random(engine: Engine) -> None:
    def live(seed: int) -> None:
        rng = random.Random(seed)
        for _ in range(12):
            board = chess.Board()
            for _ in range(rng.randrange(12)):
                board.push(rng.choice(list(board.legal_moves)))
            command = rng.randrange(5)
            moves: list[chess.Move | None] = []
            if command == 0:
                moves.append(engine.play(board, Limit(time=0.01), ponder=True).move)
            elif command == 1:
                lines = engine.analyse(board, Limit(depth=4), multipv=3)
                assert {line["depth"] for line in lines} == {4}, "no search was cut short"
                moves += [line["pv"][0] for line in lines]
            elif command == 2:
                with engine.analysis(board) as analysis:
                    analysis.next()
                moves.append(analysis.wait().move)
            elif command == 3:
                engine.configure({"Threads": rng.randrange(1, 3)})
            else:
                with pytest.raises(ValueError, match="no white king"):
                    engine.play(chess.Board(None), Limit(depth=1))
            assert set(moves) <= set(board.legal_moves)

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(live, seed) for seed in range(4)]:
            done.result(SOON)
    engine.configure({"Threads": 1})


def test_a_search_may_be_looked_at_while_it_runs(engine: Engine) -> None:
    with engine.analysis(chess.Board(), multipv=2) as analysis:
        while analysis.info.get("depth", 0) < 4 or len(analysis.multipv) < 2:
            time.sleep(0.001)
        assert "running" in repr(analysis)
        analysis.info.pop("depth")  # from a copy
        assert "depth" in analysis.info
    analysis.wait()
    while analysis.next() is not None:
        pass
    assert analysis.empty()
    with pytest.raises(chess.engine.AnalysisComplete):
        analysis.get()
    assert "finished" in repr(analysis)


def test_time_limits_are_kept(engine: Engine) -> None:
    start = time.perf_counter()
    engine.play(chess.Board(), Limit(time=0.3))
    assert 0.28 < time.perf_counter() - start < SOON


def test_ctrl_c_ends_a_search_and_no_more(engine: Engine) -> None:
    def interrupt() -> None:
        while engine._runner._current is None:
            time.sleep(0.01)
        _thread.interrupt_main()

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        engine.play(chess.Board(), Limit(depth=90))
    assert engine.play(chess.Board(), Limit(depth=2)).move


def test_an_error_of_the_search_reaches_who_waits(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: Any, **keywords: Any) -> None:
        raise MemoryError("no more")

    with monkeypatch.context() as patched:
        patched.setattr(engine._searcher, "search", fail)
        with pytest.raises(MemoryError, match="no more"):
            engine.play(chess.Board(), Limit(depth=2))
    assert engine.play(chess.Board(), Limit(depth=2)).move


# -- pondering --


def ponder(engine: Engine, board: chess.Board, limit: Limit) -> tuple[chess.Move, Analysis]:
    """Plays and begins to ponder; pushes the move and returns the expected reply and the search in the background."""
    played = engine.play(board, limit, ponder=True)
    while played.ponder is None:  # where others use the processor, a short search may not see a reply
        played = engine.play(board, limit, ponder=True)
    assert played.move is not None
    assert engine._pondered is not None
    board.push(played.move)
    return played.ponder, engine._pondered[1]


def test_the_expected_reply_gets_the_pondered_answer(engine: Engine) -> None:
    board, limit = chess.Board(), Limit(depth=8)
    expected, pondered = ponder(engine, board, limit)
    board.push(expected)
    pondered.wait()
    again = engine.play(board, limit, info=chess.engine.INFO_ALL)
    assert again.info == pondered.info
    assert again.move == pondered.wait().move
    assert engine._pondered is None


def test_pondering_on_the_clock_ends_after_the_reply(engine: Engine) -> None:
    board, limit = chess.Board(), Limit(white_clock=2, black_clock=2)
    expected, pondered = ponder(engine, board, limit)
    board.push(expected)
    time.sleep(0.2)
    assert not pondered._is_over
    assert engine.play(board, limit).move in set(board.legal_moves)
    assert pondered._is_over


@pytest.mark.parametrize("what", ["another reply", "another game", "an option"])
def test_another_reply_begins_anew(engine: Engine, what: str) -> None:
    board, limit = chess.Board(), Limit(white_clock=5, black_clock=5)
    expected, pondered = ponder(engine, board, limit)
    keywords: dict[str, Any] = {}
    if what == "another reply":
        board.push(next(move for move in board.legal_moves if move != expected))
    else:
        board.push(expected)
        if what == "another game":
            keywords["game"] = object()
        else:
            engine.configure({"Clear Hash": None})
    played = engine.play(board, Limit(depth=3), info=chess.engine.INFO_ALL, **keywords)
    assert pondered._is_over
    assert played.info["depth"] == 3
    assert played.move in set(board.legal_moves)


# -- the end --


def test_a_closed_engine_says_so() -> None:
    engine = Engine({"Hash": 1})
    analysis = engine.analysis(chess.Board())
    engine.close()
    assert analysis.wait().move
    engine.quit()
    assert "closed" in repr(engine)
    for command in (
        lambda: engine.play(chess.Board(), Limit(depth=1)),
        lambda: engine.analysis(chess.Board()),
        lambda: engine.configure({"Hash": 1}),
    ):
        with pytest.raises(EngineTerminatedError, match="closed"):
            command()


def test_an_engine_that_nobody_holds_ends_its_threads() -> None:
    engine = Engine({"Hash": 1, "Threads": 2})
    board = chess.Board()
    engine.play(board, Limit(time=30, depth=3), ponder=True)
    thread, gone = engine._runner._thread, weakref.ref(engine)
    del engine
    gc.collect()
    assert gone() is None
    thread.join(SOON)
    assert not thread.is_alive()


def test_a_program_ends_though_its_engine_thinks(run_python: Callable[..., str]) -> None:
    script = """
import chess
from engine import Engine
engine = Engine()
analysis = engine.analysis(chess.Board())
print(analysis.get()["depth"])
"""
    assert run_python(script) == "1\n"
