"""The rows of `secateur speed`: ratios of known speeds, and short measurements of Secateur itself."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from chess import STARTING_FEN as START

from bench.commands import speed
from bench.commands.speed import (
    SEARCH_POSITIONS,
    bench_speed,
    cells,
    compare,
    compilation_of,
    depth_speed,
    measure,
    perft_speed,
)
from bench.conversation import OURS, EngineError, started
from bench.engines import EngineSpec

ENGINE = Path(__file__).with_name("table_engine.py")


@pytest.fixture
def known_engine(tmp_path: Path) -> Callable[..., EngineSpec]:
    """Makes an engine that says that it has searched so many nodes in so many milliseconds, and counted so much."""

    def make(name: str, nodes: int = 1, milliseconds: int = 1, count: int = 400) -> EngineSpec:
        answer = [f"Nodes searched: {count}", "info depth 1 nodes 20 time 1"]
        answer += [f"info depth 2 nodes {nodes} time {milliseconds}", "bestmove a1a2"]
        table = tmp_path / f"{name}.json"
        table.write_text(json.dumps({" ".join(fen.split()[:4]): answer for fen in (START, *SEARCH_POSITIONS)}))
        return EngineSpec(name, (sys.executable, str(ENGINE), str(table)))

    return make


def quiet(text: str) -> None:
    """Shows no progress."""


def test_engines_are_compared_by_the_nodes_and_times_they_tell(
    monkeypatch: pytest.MonkeyPatch, known_engine: Callable[..., EngineSpec]
) -> None:
    monkeypatch.setattr(speed, "OURS", known_engine("A", 2000, 4))
    rows, failures = compare([known_engine("B", 9000, 6)], ["search"], 2, 1, quiet)
    assert failures == []
    ((name, _, values),) = rows
    assert name == "search nodes per second, over B"
    assert values == pytest.approx([1 / 3] * 2)


def test_ratios_are_those_of_a_round_and_failures_leave_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"Secateur": [6.0, 8.0], "B": [2.0, 4.0], "C": [1.0]}

    def next_speed(spec: EngineSpec, movetime: int) -> float:
        if not known[spec.name]:
            raise EngineError("C has ended")
        return known[spec.name].pop(0)

    monkeypatch.setitem(speed.COMPARISONS, "search", ("nps", next_speed))
    rows, failures = compare([EngineSpec("B", ("b",)), EngineSpec("C", ("c",))], ["search"], 2, 1, quiet)
    assert rows == [("nps, over B", "x", (3.0, 2.0))]
    assert failures == ["search: C has ended"]
    assert cells(rows[0]) == ("nps, over B", "2.50x", "2.00x - 3.00x")


def test_a_wrong_count_of_perft_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, known_engine: Callable[..., EngineSpec]
) -> None:
    monkeypatch.setattr(speed, "PERFT_POSITIONS", ((START, 2, 400),))
    assert perft_speed(known_engine("right"), 1) > 0
    with pytest.raises(EngineError, match=r"wrong: perft 2 of .* must be 400 \(got 401\)"):
        perft_speed(known_engine("wrong", count=401), 1)


def program(script: str) -> EngineSpec:
    return EngineSpec("E", (sys.executable, "-c", script))


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("print('1 of 2\\n4321 nodes 500000 nps')", 500_000),  # as Secateur prints it
        ("import sys; print('Nodes/second    : 250000', file=sys.stderr)", 250_000),  # as Stockfish does
    ],
)
def test_the_speed_of_bench_is_read_in_either_form(script: str, expected: float) -> None:
    assert bench_speed(program(f"import sys; assert sys.argv[1:] == ['bench']; {script}"), 1) == expected


def test_the_time_to_a_depth(tmp_path: Path) -> None:
    script = tmp_path / "engine.py"
    script.write_text(
        "import time\n"
        "for line in map(str.strip, iter(input, 'quit')):\n"
        "    if line == 'uci': print('uciok', flush=True)\n"
        "    if line == 'isready': print('readyok', flush=True)\n"
        "    if line == 'go depth 16':\n"
        "        time.sleep(0.05)\n"
        "        print('bestmove a1a2', flush=True)\n"
    )
    assert 1 < depth_speed(EngineSpec("E", (sys.executable, str(script))), 1) < 20


def test_engines_say_how_they_were_compiled(tmp_path: Path) -> None:
    script = tmp_path / "engine.py"
    script.write_text(
        "for line in map(str.strip, iter(input, 'quit')):\n"
        "    if line == 'uci': print('uciok', flush=True)\n"
        "    if line == 'isready': print('readyok', flush=True)\n"
        "    if line == 'compiler': print('Compiled by g++ 12\\nCompilation settings include:  SSE2\\nand more')\n"
    )
    found = compilation_of(EngineSpec("S", (sys.executable, str(script))))
    assert found == "Compiled by g++ 12; Compilation settings include: SSE2"
    assert compilation_of(OURS).startswith("Compiled ")


def test_an_engine_that_ends_or_does_not_answer_is_named(known_engine: Callable[..., EngineSpec]) -> None:
    with pytest.raises(EngineError, match=r"E did not answer 'uci' with 'uciok' in . s; its last line: 'broken'"):
        perft_speed(program("import sys; sys.exit('broken')"), 1)
    with started(known_engine("B")) as engine:
        engine.heard = ["something"]
        with pytest.raises(EngineError, match=r"did not answer 'd' with 'x' in . s; its last line: 'something'"):
            engine.ask("d", "x", 0.1)


def test_the_command_prints_the_table(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], known_engine: Callable[..., EngineSpec]
) -> None:
    monkeypatch.setattr(speed, "OURS", known_engine("A", 2000, 4))
    program, *rest = known_engine("B", 9000, 6).command
    words = ["--engine", f"cmd={program}", *(f"arg={word}" for word in rest), "name=B"]
    effort = ["--measure", "search", "--rounds", "1", "--quiet"]
    assert speed.main([*words, *effort, "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row == {"name": "search nodes per second, over B", "unit": "x", "values": [pytest.approx(1 / 3)]}
    assert speed.main([*words, *effort]) == 0
    table, _, remarks = capsys.readouterr().out.partition("\n\n")
    assert table.endswith("\n| search nodes per second, over B | 0.33x |  |")
    assert remarks == "- A: does not say how it was compiled\n- B: does not say how it was compiled\n"
    assert speed.main(["--engine", f"cmd={sys.executable}", "arg=-c", "arg=raise SystemExit", "name=C", *effort]) == 1
    assert "secateur speed: search: C did not answer 'uci'" in capsys.readouterr().err
    assert speed.main(["--engine", f"cmd={sys.executable}", "name=C", "nodes=5", *effort]) == 2
    assert "engine C: the measurements set limits and restarts themselves" in capsys.readouterr().err


def test_the_start_is_measured() -> None:
    rows, _ = measure([], ["start"], 1)
    assert [name for name, _, _ in rows] == ["`uciok` after start", "`readyok` after start"]
    (uciok,), (readyok,) = (values for _, _, values in rows)
    assert 0 < uciok < readyok < 300


def test_the_stand_alone_program_starts_without_an_interpreter(run_python: Callable[..., str]) -> None:
    script = "import sys; sys.frozen = {}; from bench.engines import SECATEUR; print(SECATEUR[1:])"
    assert run_python(script.format(True)) == "[]\n"
    assert run_python(script.format(False)).endswith("uci_main.py']\n")
    assert OURS.name == "Secateur"
