"""Games against engines that misbehave in every way."""

from pathlib import Path

import chess
import psutil
import pytest

from bench import uci
from bench.adjudication import Adjudication
from bench.engines import SECATEUR, EngineSpec
from bench.game import GameTask, check_engine, play_task
from bench.openings import Opening
from bench.results import GameResult, MoveRecord, Termination
from bench.timecontrol import TimeControl
from tests.bench.fakes import fake

pytestmark = pytest.mark.usefixtures("engines_closed")


def play(*faulty: str, limit: str = "nodes=100", **task: object) -> GameResult:
    return play_task(GameTask(4, 2, fake("Good"), fake("Bad", *faulty, limit=limit), **task))  # type: ignore[arg-type]


def test_plays_a_game_by_the_rules() -> None:
    opening = Opening(moves=("e2e4", "c7c5"), name="Sicilian")
    result = play("--seed", "2", opening=opening, adjudication=Adjudication(max_moves=30))
    assert result.is_finished
    assert result.faulty_engine is None
    assert (result.game, result.pair, result.white, result.black) == (4, 2, "Good", "Bad")
    assert [move.uci for move in result.moves[:2]] == ["e2e4", "c7c5"]
    assert [move.book for move in result.moves[:3]] == [True, True, False]
    assert (result.moves[2].depth, result.moves[2].nodes) == (12, 100)
    board = chess.Board()
    for move in result.moves:
        board.push_uci(move.uci)
    assert board.fen() == result.final_fen
    assert result.plies == len(result.moves)


@pytest.mark.parametrize("plies", [30, 31])
@pytest.mark.parametrize("turn", ["w", "b"])
def test_a_game_knows_the_time_of_each_side(plies: int, turn: str) -> None:
    """The side not to move made the last move, no matter who began or how many book moves came first."""
    moves = tuple(MoveRecord("a2a3", 2.0 if (plies - number) % 2 else 0.5) for number in range(plies))
    fen = f"8/8/8/8/8/8/8/8 {turn} - - 0 1"
    game = GameResult(0, 0, "White", "Black", "1/2-1/2", final_fen=fen, moves=moves)
    last, other = ("Black", "White") if turn == "w" else ("White", "Black")
    assert game.seconds == {last: 2.0 * (plies - plies // 2), other: 0.5 * (plies // 2)}
    assert GameResult(0, 0, "White", "Black", "*").seconds == {"White": 0, "Black": 0}


@pytest.mark.parametrize(
    ("fault", "termination", "words"),
    [
        ("crash", Termination.CRASH, "exit code: 42); its last line on stderr: fake: Segmentation fault (not really)"),
        ("illegal", Termination.ILLEGAL_MOVE, "illegal uci: 'e1e5' in "),
        ("garbage", Termination.ILLEGAL_MOVE, "p@$$w0rd"),
        ("null", Termination.ILLEGAL_MOVE, "gave no move"),
        ("exit", Termination.NOT_STARTED, "its last line on stderr: fake: cannot find my network"),
    ],
)
def test_a_fault_loses_and_is_named(fault: str, termination: Termination, words: str) -> None:
    result = play("--fault", fault)
    assert (result.result, result.termination, result.faulty_engine) == ("1-0", termination, "Bad")
    assert result.detail.startswith("Bad ")
    assert words in result.detail
    assert "\n" not in result.detail
    assert result.fault == f"game 5 (Good - Bad): {result.detail}"


def test_a_hanging_engine_loses_and_its_process_is_ended() -> None:
    result = play("--fault", "hang", hang_seconds=0.5)
    assert (result.result, result.termination) == ("1-0", Termination.HANG)
    assert result.detail == "Bad gave no move within 0.5 s"
    assert not [child for child in psutil.Process().children() if "hang" in child.cmdline()]


@pytest.mark.parametrize("fault", ["flood", "endless"])
def test_a_flood_of_output_is_a_hang(fault: str) -> None:
    assert play("--fault", fault, hang_seconds=0.3).termination == Termination.HANG


def test_a_score_without_measure_is_cut() -> None:
    result = play("--score", "9" * 400, adjudication=Adjudication(max_moves=1))
    assert result.moves[1].centipawns == uci.SCORE_LIMIT


def test_an_engine_that_goes_on_without_its_network_loses(tmp_path: Path) -> None:
    """On a slow machine it is ready before it has read the file, and says what is wrong with it only later."""
    spec = EngineSpec(
        "one", tuple(SECATEUR), TimeControl.parse("nodes=10"), options=(("EvalFile", str(tmp_path / "none.snet")),)
    )
    result = play_task(GameTask(0, 0, spec, fake("Good"), hang_seconds=300.0))
    assert (result.result, result.termination) == ("0-1", Termination.NOT_STARTED)
    assert result.detail.startswith("one refused its options: network not used: ")
    assert result.detail.endswith("No such file or directory")


def test_an_engine_that_does_not_know_a_technique_plays_no_game() -> None:
    """Without that, a mistyped name would measure nothing, and say so nowhere."""
    spec = EngineSpec(
        "one", (*SECATEUR, "--tuning"), TimeControl.parse("nodes=10"), options=(("Without", "null-moove"),)
    )
    result = play_task(GameTask(0, 0, spec, fake("Good"), hang_seconds=300.0))
    assert (result.result, result.termination) == ("0-1", Termination.NOT_STARTED)
    assert result.detail.startswith("one refused its options: unknown technique 'null-moove'; the techniques are")


READY = "read a; echo uciok; read b"


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("exec sleep 60", "did not answer 'uci' with 'uciok' within 1 s; it printed nothing"),
        (
            "echo 'usage: chess FILE'; exec sleep 60",
            "did not answer 'uci' with 'uciok' within 1 s; its last line on stdout: usage: chess FILE",
        ),
        (
            "printf 'no \033[1mboard' >&2; exec sleep 60",
            "did not answer 'uci' with 'uciok' within 1 s; its last line on stderr: no \\x1b[1mboard",
        ),
        ("echo broken >&2; exit 3", "exited during start-up (exit status 3); its last line on stderr: broken"),
        (
            f"{READY}; exec sleep 60",
            "did not answer 'isready' with 'readyok' within 1 s; its last line on stdout: uciok",
        ),
        (
            f"{READY}; while sleep 0.1; do echo compiling; done",
            "did not answer 'isready' with 'readyok' within 2 s; its last line on stdout: compiling",
        ),
        # It is slow, but prints something meanwhile.
        (f"{READY}; for i in 1 2 3 4; do sleep 0.6; echo compiling; done; echo readyok; read c", None),
    ],
)
def test_an_engine_that_does_not_start_is_reported(
    script: str, problem: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uci, "UCIOK_SECONDS", 1.0 if problem and "'uciok'" in problem else 60.0)
    monkeypatch.setattr(uci, "READY_SECONDS", 1.0 if problem else 2.0)
    monkeypatch.setattr(uci, "START_SECONDS", 2.0 if problem else 60.0)
    spec = EngineSpec("one", ("/bin/sh", "-c", script), TimeControl.parse("nodes=10"))
    assert check_engine(spec) == (None if problem is None else f"engine one {problem}")


def test_time_is_kept_on_the_clock() -> None:
    result = play("--fault", "slow", limit="0.6+0.05")
    assert (result.result, result.termination) == ("1-0", Termination.TIME_FORFEIT)
    assert "exceeded its time by" in result.detail


def test_a_margin_forgives() -> None:
    rules = Adjudication(max_moves=6)
    result = play("--fault", "slow", limit="movetime=0.02", time_margin=20.0, adjudication=rules)
    assert result.termination == Termination.MAX_MOVES
    assert result.moves[5].seconds >= 0.99  # the third own move of the faulty engine


def test_an_engine_that_stalls_on_the_clock_is_a_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.game.GRACE_SECONDS", 0.2)
    assert play("--fault", "hang", limit="movetime=0.1", time_margin=0.2).termination == Termination.HANG


def test_lines_that_are_no_text_do_not_lose() -> None:
    result = play("--fault", "noise", adjudication=Adjudication(max_moves=10))
    assert result.termination == Termination.MAX_MOVES


def test_a_crashed_engine_is_started_again(tmp_path: Path) -> None:
    arguments = ("--fault", "crash", "--marker", str(tmp_path / "crashed"))
    rules = Adjudication(max_moves=5)
    assert play(*arguments, adjudication=rules).termination == Termination.CRASH
    assert play(*arguments, adjudication=rules).termination == Termination.MAX_MOVES


def test_engines_are_checked_beforehand() -> None:
    assert check_engine(fake("A", Hash="64", Style="Wild")) is None
    assert "does not support option Threads" in (check_engine(fake("A", Threads="2")) or "")
    assert "engine A refused its options" in (check_engine(fake("A", Hash="9999")) or "")
    missing = EngineSpec("X", ("/no/such/engine",))
    assert check_engine(missing) == "engine X cannot be started: there is no program '/no/such/engine'"
