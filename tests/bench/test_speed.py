"""The figures of `secateur speed`: ratios of speeds that are known beforehand, and stops, which take but a moment."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import chess
import pytest

from bench import ahead_of_time, pipeline_speed, speed
from bench.comparison import Measured, cells, compare
from bench.engines import EngineSpec
from bench.speed import (
    KIWIPETE,
    PERFT_POSITIONS,
    EngineError,
    Row,
    bench_speed,
    perft_seconds,
    search_speedup,
    stop_milliseconds,
    two_thread_speedup,
)
from search.info import Result
from search.limits import Limits
from search.searcher import Game
from search.warmup import load_kernels

# -- threads -----------------------------------------------------------------------------------------------------


def test_two_threads_are_compared_with_one_over_all_positions(monkeypatch: pytest.MonkeyPatch) -> None:
    # (nodes, seconds) of each search by number of threads: 1000 nodes a second on one, 2000 on two.
    known = {1: [(1000, 1.0), (3000, 3.0)], 2: [(5000, 2.0), (1000, 1.0)]}
    log: list[tuple[object, ...]] = []

    class KnownSearcher:
        def __init__(self, threads: int, network: object) -> None:
            self.threads = threads
            self.searches = iter(known[threads])

        def new_game(self) -> None:
            log.append(("new game", self.threads))

        def search(self, game: Game, limits: Limits) -> Result:
            log.append(("search", self.threads, game.board.fen(), limits))
            nodes, seconds = next(self.searches)
            return Result(None, None, None, nodes, seconds)

        def close(self) -> None:
            log.append(("close", self.threads))

    monkeypatch.setattr("search.searcher.Searcher", KnownSearcher)
    fens = (chess.STARTING_FEN, KIWIPETE)
    assert search_speedup(fens, milliseconds=7) == 2.0
    turns = [
        entry
        for fen in fens
        for threads in (1, 2)
        for entry in (("new game", threads), ("search", threads, fen, Limits(move_time=7)))
    ]
    assert log == [*turns, ("close", 1), ("close", 2)]


def test_two_threads_are_compared_with_one_at_perft_by_the_best_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    # Seconds of each turn by number of threads.
    turns = {1: [8.0, 6.0, 7.0, 6.5, 9.0], 2: [5.0, 4.0, 3.0, 4.5, 4.0]}
    clock = SimpleNamespace(now=100.0)
    counted: list[tuple[str, int, int]] = []

    def count_by_move(board: chess.Board, depth: int, threads: int) -> None:
        turn = len(counted) // (2 * len(PERFT_POSITIONS))
        counted.append((board.fen(), depth, threads))
        clock.now += turns[threads][turn] / len(PERFT_POSITIONS)

    monkeypatch.setattr(speed, "time", SimpleNamespace(perf_counter=lambda: clock.now))
    monkeypatch.setattr("search.perft.count_by_move", count_by_move)
    assert two_thread_speedup() == pytest.approx(6.0 / 3.0)
    assert counted == [(fen, depth, threads) for threads in (1, 2) for fen, depth, _ in PERFT_POSITIONS] * 5


# -- other engines -----------------------------------------------------------------------------------------------


class KnownConversation:
    """An engine whose perfts last so many seconds, one after the other, and whose other answers take a long time."""

    def __init__(self, name: str, seconds: list[float], excess: int = 0) -> None:
        self.name = name
        self.seconds = iter(seconds)
        self.excess = excess
        self.position = ""

    def ask(self, command: str, answer: str) -> tuple[str, float]:
        if command.startswith("position fen "):
            self.position = command.removeprefix("position fen ").partition("\n")[0]
        for fen, depth, count in PERFT_POSITIONS:
            if self.position == fen and command == f"go perft {depth}":
                return f"Nodes searched: {count + self.excess}", next(self.seconds)
        return answer, 1000.0

    def __enter__(self) -> KnownConversation:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def test_perft_is_compared_round_by_round(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {
        tuple(speed.SECATEUR): KnownConversation("ours", [2.0, 2.0, 1.0, 2.0]),
        ("rival",): KnownConversation("theirs", [6.0, 6.0, 4.0, 8.0]),
    }
    monkeypatch.setattr(speed, "Conversation", lambda command: known[tuple(command)])
    row = speed._compare_perft("rival", 2, lambda _: None)
    assert row.values == (12.0 / 4.0, 12.0 / 3.0)


def test_a_wrong_count_is_no_figure() -> None:
    message = "theirs: perft 6 of .* is 119060324, not 119060325"
    with pytest.raises(EngineError, match=message):
        perft_seconds(KnownConversation("theirs", [1.0, 1.0], excess=1))  # type: ignore[arg-type]


#: What the two engines print at the end of `bench`: Secateur on stdout, Stockfish on stderr.
OURS = "print('1 of 2\\n4321 nodes 500000 nps')"
THEIRS = "import sys; print('Nodes searched  : 4321\\nNodes/second    : 250000', file=sys.stderr)"


@pytest.mark.parametrize(("script", "expected"), [(OURS, 500_000), (THEIRS, 250_000)])
def test_the_speed_of_bench_is_read_in_either_form(script: str, expected: float) -> None:
    asked = "import sys; assert sys.argv[1:] == ['bench']; "
    assert bench_speed([sys.executable, "-c", asked + script]) == expected


@pytest.mark.parametrize("script", ["print('4321 nodes')", "print('fast nps')", "print('Nodes/second : many')"])
def test_a_bench_without_a_speed_is_told(script: str) -> None:
    with pytest.raises(EngineError, match="bench: no nodes per second in its output"):
        bench_speed([sys.executable, "-c", script])


@pytest.mark.skipif(os.name != "posix", reason="the rival is a shell script")
def test_bench_is_compared_by_its_speeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rival = tmp_path / "rival"
    rival.write_text("#!/bin/sh\necho 'Nodes/second    : 250000' >&2\n", encoding="ascii")
    rival.chmod(0o755)
    ours = "import sys; print('9 nodes', {'bench': 500000, 'bench --classical': 750000}[' '.join(sys.argv[1:])], 'nps')"
    monkeypatch.setattr(speed, "SECATEUR", [sys.executable, "-c", ours])
    rows = speed._compare_bench(str(rival), 2, lambda _: None)
    assert [row.values for row in rows] == [(2.0, 2.0), (3.0, 3.0)]
    assert [row.must for row in rows] == [0.8, 1.5]


def known_engine(name: str, nodes: int, milliseconds: int) -> EngineSpec:
    script = Path(__file__).with_name("speed_engine.py")
    return EngineSpec(name, (sys.executable, str(script), "--nodes", str(nodes), "--time", str(milliseconds)))


def test_engines_are_compared_by_the_nodes_and_times_they_tell() -> None:
    table = compare([known_engine("A", 2000, 4), known_engine("B", 9000, 6)], 2, ("search",))
    assert [row.problems for row in table] == [[], []]
    assert table[0].search == pytest.approx([500_000] * 2)
    assert table[1].search == pytest.approx([1_500_000] * 2)
    assert [cells(row, table[0], ("search",)) for row in table] == [["1.00x"], ["3.00x (3.00 - 3.00)"]]


def test_ratios_say_how_many_times_as_fast() -> None:
    """Of nodes per second the greater is the faster, of seconds the smaller; rounds that one has not are left out."""
    reference = Measured("A", perft=[8.0, 6.0], search=[100.0, 300.0], depth=[1.0])
    other = Measured("B", perft=[2.0, 4.0], search=[400.0, 450.0])
    assert other.ratios(reference, "perft") == (4.0, 1.5)
    assert other.ratios(reference, "search") == (4.0, 1.5)
    assert other.ratios(reference, "depth") == ()
    assert cells(other, reference, ("perft", "depth")) == ["2.75x (1.50 - 4.00)", "-"]


# -- the table ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "verdict"), [((1.0, 9.0, 5.0), "aim"), ((3.0, 4.9, 4.9), "must"), ((2.9, 2.9, 9.0), "MISSED")]
)
def test_the_median_decides_what_is_reached(values: tuple[float, ...], verdict: str) -> None:
    assert Row("", "x", values, must=3, aim=5).verdict() == verdict


@pytest.mark.parametrize(
    ("values", "verdict"), [((9.0, 1.0, 0.5), "aim"), ((1.1, 3.0, 9.0), "must"), ((3.1, 3.1, 1.0), "MISSED")]
)
def test_of_seconds_less_is_better(values: tuple[float, ...], verdict: str) -> None:
    assert Row("", " s", values, must=3, aim=1, lower_is_better=True).verdict() == verdict


# -- stops -------------------------------------------------------------------------------------------------------


def test_stops_are_timed() -> None:
    load_kernels()
    times = stop_milliseconds(count=24)
    assert len(times) == 24
    assert all(0 < milliseconds < 2000 for milliseconds in times)
    # A few milliseconds on a quiet machine; tests may share theirs.
    assert sorted(times)[12] < 100


@pytest.mark.parametrize("compiles", [True, False])
def test_what_numba_compiles_is_measured_where_it_is(monkeypatch: pytest.MonkeyPatch, compiles: bool) -> None:
    measured = {"two_thread_speedup": 2.0, "search_speedup": 2.0, "stop_milliseconds": [1.0, 3.0]}
    by_numba = {"seconds_to": 0.1, "compile_seconds": 30.0, "resident_mebibytes": 200.0}
    for name, figure in (measured | by_numba).items():
        monkeypatch.setattr(speed, name, lambda *_, figure=figure: figure)
    monkeypatch.setattr(speed, "has_numba", lambda: compiles)
    monkeypatch.setattr(pipeline_speed, "measure_pipeline", lambda *_: ([], []))
    monkeypatch.setattr(ahead_of_time, "measure_ahead_of_time", lambda *_: ([], []))
    report = speed.measure(None, rounds=1)
    values = {row.name: row.median for row in report.rows if "over" not in row.name}
    expected = {
        "`uciok` after start, empty cache": 0.1,
        "`readyok` after start, warm cache": 0.1,
        "`stop` to `bestmove`, worst of 1000, two threads": 3.0,
        "compile everything once": 30.0,
        "resident memory at Hash 16": 200.0,
    }
    assert values == (expected if compiles else {name: expected[name] for name in expected if "stop" in name})
    assert any("Numba is not installed" in remark for remark in report.remarks) != compiles


def test_the_stand_alone_program_starts_without_an_interpreter(run_python: Callable[..., str]) -> None:
    script = "import sys; sys.frozen = {}; from bench.engines import SECATEUR; print(SECATEUR[1:])"
    assert run_python(script.format(True)) == "[]\n"
    assert run_python(script.format(False)).endswith("uci_main.py']\n")
