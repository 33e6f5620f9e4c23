"""Random sessions, checked against the model. The model notices every kind of breach."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from bench import records
from tests.uci.fuzz import __main__ as command
from tests.uci.fuzz.grammar import scripts
from tests.uci.fuzz.model import BreachError, Model
from tests.uci.fuzz.play import FailedSessionError, Script, play, script_of
from tests.uci.fuzz.wires import OverPipes

#: `python -m tests.uci.fuzz --sessions 10000` runs many more.
SESSIONS = 200
PROCESSES = 6

at_random = settings(suppress_health_check=list(HealthCheck))


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raises limits on time, because other processes may use the machine."""
    monkeypatch.setattr("tests.uci.fuzz.play.ENDS", 20.0)
    monkeypatch.setattr("tests.uci.fuzz.model.SLACK", 15.0)


@pytest.mark.usefixtures("patient")
@settings(at_random, max_examples=SESSIONS)
@given(scripts())
def test_sessions_at_random(script: Script) -> None:
    play(script)


@pytest.mark.usefixtures("patient")
# Starting processes takes too long to look for the smallest session that goes wrong.
@settings(at_random, max_examples=PROCESSES, phases=[Phase.generate])
@given(scripts(processes=True))
def test_sessions_at_random_over_pipes(script: Script) -> None:
    play(script, OverPipes)


#: Some tables are damaged; the third state searches a position of theirs.
TABLES = "".join(f"> setoption name SyzygyPath value <syzygy:flipped:{seed}>\n" for seed in (0, 1))
STATES = (
    "> isready",
    "> go ponder wtime 60000 btime 60000",
    "> position fen 8/8/8/8/1k6/8/6PK/8 w - - 0 1\n> go infinite",
    "> setoption name Debug Log File value <log.txt:pipe:0>\n> go infinite\n> go infinite\n> d",
    "> bench 30",
    "> go perft 12",
    "> go infinite",
)
COMPILING = "! cache no kernels 0\n"


@pytest.mark.slow
@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize(
    ("setting", "state", "pause", "end"),
    [
        *(("", state, 1000, "> quit") for state in STATES),
        *(("", state, 1000, ".") for state in STATES[-2:]),
        *(("", state, 100, "> quit") for state in STATES[-2:]),
        *((COMPILING, state, 500, "> quit") for state in STATES[-2:]),
    ],
)
def test_the_engine_ends_at_once_in_every_state(setting: str, state: str, pause: int, end: str) -> None:
    """When it is loaded, at the end of input, while it loads, and while it compiles."""
    play(script_of(f"{setting}{TABLES}{state}\n~ {pause}\n{end}"), OverPipes)


# -- the script --------------------------------------------------------------------------------------------------------


def test_a_script_is_read_and_its_mistakes_are_named() -> None:
    steps = ("! AS 300", "> go \\xff", "~ 2.5", "= 30", "+", "+ ponder", ".")
    assert script_of("\n".join((*steps[:2], "# a comment", "", *steps[2:]))) == steps
    for wrong in ("> uci\n? 3", "> uci\n! AS 300", "> uci\n~ soon", "> uci\n+ pondering"):
        with pytest.raises(ValueError, match="line 2: "):
            script_of(wrong)


# -- the model: what it must notice ------------------------------------------------------------------------------------

LINE = "info depth 1 seldepth 1 multipv 1 score cp 5 nodes 20 nps 900 hashfull 0 tbhits 0 time 0 pv "
READY = ["> isready", "< readyok"]
GO = ["> go depth 1"]
BEST = ["< bestmove e2e4"]
STALEMATE = "> position fen 7k/5Q2/6K1/8/8/8/8/8 b - - 0 1"
CHESS960 = ["> setoption name UCI_Chess960 value true", "> position fen 4k3/8/8/8/8/8/8/4K2R w K - 0 1"]


def talk(*lines: str) -> None:
    """A conversation, a tenth of a second a line: what is sent begins with `>`, what comes with `<`."""
    model = Model()
    now = 0.0
    for line in lines:
        now += 0.1
        if line == ".":
            model.input_ended(now)
        elif line.startswith("> "):
            model.sent(line[2:].encode(), now)
        else:
            model.heard(line[2:], now)
    model.ended()


@pytest.mark.parametrize(
    "lines",
    [
        [*READY, *GO, f"< {LINE}e2e4", *BEST],
        ["> go infinite", f"< {LINE}e2e4 e7e5", *READY, "> stop", "< bestmove e2e4 ponder e7e5"],
        ["> go ponder", f"< {LINE}e2e4", "> ponderhit", *BEST],
        ["> go", "> position startpos moves e2e4", *GO, f"< {LINE}e2e4", *BEST, f"< {LINE}e7e5", "< bestmove e7e5"],
        [STALEMATE, "> go", "< info depth 0 score cp 0", "< bestmove 0000"],
        ["> go infinite", "> d", *READY, "> quit"],
        ["> joho", "> isready", "< info string unknown command 'joho'", "< readyok"],
        ["> go", f"< {LINE}e2e4", ".", *BEST],
        ["> setoption name Skill Level value 3", *GO, f"< {LINE}e2e4", "< bestmove d2d4"],
        [*CHESS960, *GO, f"< {LINE}e1h1", "< bestmove e1h1"],
    ],
)
def test_what_is_right_passes(lines: list[str]) -> None:
    talk(*lines)


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (["> isready"], "ended without an answer to 'readyok'"),
        (["> joho"], "ended without an answer to 'message'"),
        (["> position startpos moves e2e5"], "ended without an answer to 'message'"),
        ([*READY, "< readyok"], "nobody asked for 'readyok'"),
        (["< id name Secateur"], "nobody asked for"),
        ([*GO, "< Traceback (most recent call last):"], "Traceback"),
        (["> position startpos", "< info string internal error: x"], "internal error"),
        (["> isready", "< \x1b[2J"], "terminals obey"),
        (["> go infinite", f"< {LINE}e2e4", *BEST], "an answer before its time"),
        (["> go ponder infinite", "> ponderhit", f"< {LINE}e2e4", *BEST], "an answer before its time"),
        ([*GO, f"< {LINE}e2e4", *BEST, *BEST], "nobody asked for 'bestmove e2e4'"),
        ([*GO, f"< {LINE}e2e4"], "without an answer to 'go depth 1'"),
        ([*GO, *BEST], "an answer without a line"),
        ([*GO, f"< {LINE}e2e4", "< bestmove d2d4"], "after a line with e2e4"),
        ([*GO, f"< {LINE}e2e5"], "a line that begins with e2e5"),
        ([*GO, f"< {LINE}e2e4 e7e5 e1g1"], "'e1g1', move 3"),
        ([*GO, f"< {LINE}e2e4", "< bestmove e2e4 ponder e2e4"], "ponder e2e4"),
        ([*GO, f"< {LINE}e2e4", "< bestmove e2e4 "], "'bestmove e2e4 '"),
        ([*GO, f"< {LINE}e2e4".replace("depth 1 seldepth 1", "depth 2 seldepth 2")], "depth 2"),
        ([*GO, f"< {LINE}e2e4".replace("multipv 1", "multipv 2")], "line 2 of 1"),
        ([*GO, f"< {LINE}e2e4".replace("time 0", "time 150")], "time 150"),
        ([*GO, f"< {LINE}e2e4 e7e5".replace("cp 5", "mate 1")], "mate 1 in a line of 2 plies"),
        ([*GO, f"< {LINE}e2e4".replace("cp 5", "cp 5 wdl 1 2 3")], "not with UCI_ShowWDL"),
        (["> go nodes 10", f"< {LINE}e2e4"], "20 nodes of 10"),
        (["> go searchmoves a2a3", f"< {LINE}e2e4"], "begins with e2e4"),
        (["> go movetime 10", f"< {LINE}e2e4", *READY * 20, *BEST], "late"),
        (["> go", f"< {LINE}e2e4", "> stop", *READY * 20, *BEST], "late"),
        (["> go perft 1", "< a2a3: 1", "< ", "< Nodes searched: 1"], "does not list the moves"),
        (["> go perft 1", "< info string perft was stopped"], "stopped' by nobody"),
        (["> position startpos moves e2e4", "> d", "< Fen: x", "< Legal moves: 20"], "'d' does not show 'Fen: rnbq"),
        (["> d", *GO, f"< {LINE}e2e4"], "before the answer to 'd'"),
        ([STALEMATE, "> go", "< info depth 0 score mate 0"], "score mate 0"),
        ([*CHESS960, *GO, f"< {LINE}e1g1"], "begins with e1g1"),
    ],
)
def test_every_breach_is_noticed(lines: list[str], problem: str) -> None:
    with pytest.raises(BreachError, match=problem):
        talk(*lines)


# -- the player and the command ----------------------------------------------------------------------------------------


class Deaf:
    """An engine that says nothing, and ends when it is told to."""

    def __init__(self, listener: Callable[[str, float], None]) -> None:
        self.listener = listener
        self.heard: list[bytes] = []

    def send(self, line: bytes) -> None:
        self.heard.append(line)

    def close_input(self) -> None:
        pass

    def ended(self, seconds: float) -> str | None:
        return None if b"quit" in self.heard else "exit status 1"


class Liar(Deaf):
    """One that answers every search with the same move."""

    def send(self, line: bytes) -> None:
        super().send(line)
        if line.startswith(b"go"):
            for text in (LINE + "e2e4", "bestmove e2e4"):
                self.listener(text, time.perf_counter())


def test_a_hang_and_a_bad_end_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.uci.fuzz.play.HANGS", 0.2)
    monkeypatch.setattr("tests.uci.fuzz.play.BETWEEN_STOPS", 0.2)
    with pytest.raises(FailedSessionError, match=r"no answer for 0\.2 s to 'go infinite'") as found:
        play(("> go infinite", "= 1"), Deaf)
    assert found.value.script == ("> go infinite", "= 1")
    with pytest.raises(FailedSessionError, match="exit status 1"):
        play((".",), Deaf)


def test_what_goes_wrong_can_be_replayed() -> None:
    with pytest.raises(FailedSessionError, match="begins with e2e4") as found:
        play(("> go depth 1", "= 5", "+", "> go depth 1", "= 5", "> quit"), Liar)
    script = found.value.script
    assert "> position startpos moves e2e4" in script
    with pytest.raises(FailedSessionError, match="begins with e2e4"):
        play(script, Liar)
    play(script)


def test_the_command_plays_replays_and_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(records, "LEDGER", tmp_path / "ledger")
    arguments = ["--seed", "5", "--sessions", "3", "--pipes", "1", "--ledger", "goal-fuzz", "--commit", "abc"]
    assert command.main(arguments) == 0
    assert "sessions 4 of 4" in capsys.readouterr().err
    assert command.main(["--fens", "40", "--ledger", "goal-fens"]) == 0
    assert command.main(["--games", "1", "--seed", "2", "--ledger", "goal-strict"]) == 0
    found = records.load_suites(tmp_path / "ledger")
    record = found["goal-fuzz"]
    assert (record.positions, record.solved, record.commits) == (4, {"Secateur": 4}, ("abc",))
    assert (found["goal-fens"].positions, found["goal-strict"].positions) == (40, 1)
    capsys.readouterr()
    with monkeypatch.context() as patch:
        patch.setattr(command, "InProcess", Liar)
        patch.setattr("tests.uci.fuzz.play.HANGS", 0.1)
        patch.setattr("tests.uci.fuzz.play.BETWEEN_STOPS", 0.1)
        assert command.main(["--sessions", "20", "--ledger", "goal-other"]) == 1
        saved = tmp_path / "failed.txt"
        saved.write_text(capsys.readouterr().out.split("the script:\n")[1].split("\n\n")[0], encoding="utf-8")
        assert command.main(["--replay", str(saved)]) == 1
    assert "goal-other" not in records.load_suites(tmp_path / "ledger")
    assert command.main(["--replay", str(saved)]) == 0
    saved.write_text("?", encoding="utf-8")
    assert command.main(["--replay", str(saved)]) == 1
    with pytest.raises(SystemExit, match="2"):
        command.main(["--sessions", "-1"])
