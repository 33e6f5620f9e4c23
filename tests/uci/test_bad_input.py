"""Bad input: one message that says what was wrong, the last good position kept, and life goes on."""

import random
import subprocess
import sys
from types import SimpleNamespace

import chess
import pytest

from engine.uci.equipment import Equipment
from engine.uci.options import OptionValues, memory_mebibytes
from tests.uci.conftest import Engine

GOOD = "position startpos moves d2d4 d7d5"
GOOD_FEN = "rnbqkbnr/ppp1pppp/8/3p4/3P4/8/PPP1PPPP/RNBQKBNR w KQkq - 0 2"


def complaint(engine: Engine, *lines: str) -> str:
    """Sends lines after a good position; returns the one message they cause. The position must be unharmed."""
    engine.send(GOOD, "isready")
    engine.expect("readyok")
    engine.lines.clear()
    engine.send(*lines, "isready")
    engine.expect("readyok")
    messages = engine.lines[:-1]
    assert len(messages) == 1, messages
    assert messages[0].startswith("info string ")
    engine.send("d")
    assert engine.expect("Fen: ") == f"Fen: {GOOD_FEN}"
    engine.expect("Legal moves")
    return messages[0]


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("position fen 8/8/8/8/8/8/8/8 w - - 0 1", "illegal position: no white king, no black king"),
        ("position fen k7/8/8/8/8/8/8/8 w - - 0 1", "no white king"),
        ("position fen kk5K/8/8/8/8/8/8/8 w - - 0 1", "too many kings"),
        ("position fen k7/8/8/8/8/8/8/K6P w - - 0 1", "pawns on backrank"),
        ("position fen k7/8/8/8/8/8/8/K6R/8 w - - 0 1", "expected 8 rows"),
        ("position fen k7/8/8/8/8/8/8/K6X w - - 0 1", "bad FEN"),
        ("position fen k7/8/8/8/8/8/8/K6R q - - 0 1", "expected 'w' or 'b'"),
        ("position fen k7/8/8/8/8/8/8/K6R w KQkqX - 0 1", "castling"),
        ("position fen k7/8/8/8/8/8/8/K6R w - e9 0 1", "en passant"),
        ("position fen k7/8/8/8/8/8/8/K6R w - - x 1", "half"),
        ("position fen kR6/8/8/8/8/8/8/K7 w - - 0 1", "opposite check"),
        ("position fen hello", "bad FEN 'hello'"),
        ("position", "needs 'startpos' or 'fen'"),
        ("position fen", "FEN is missing"),
        ("position endpos", "not 'endpos'"),
        ("position startpos e2e4", "'moves' expected"),
        ("position startpos moves e2e4 e7e5 e4e5", "illegal move 'e4e5' (number 3"),
        ("position startpos moves e2e4 banana", "illegal move 'banana' (number 2"),
        ("position startpos moves 0000", "illegal move '0000'"),
        (GOOD + " e1e3", "illegal move 'e1e3' (number 3"),
        ("joho", "unknown command 'joho'"),
        ("Uci", "unknown command 'Uci'"),
        ("setoption name Contempt value 3", "no option 'Contempt'"),
        ("setoption name Hash value 0", "Hash takes 1 to"),
        ("setoption name Hash value 99999999999999999999", "Hash takes 1 to"),
        ("setoption name Hash value lots", "whole number"),
        ("setoption name Hash", "Hash needs a value"),
        ("setoption name Threads value 0", "Threads takes 1 to"),
        ("setoption", "needs 'name'"),
        ("setoption name", "needs 'name'"),
        ("go perft x", "whole number expected"),
        ("go movetime -5", "go movetime: -5 is less than 1, 1 is used"),
        ("go depth 0", "go depth: 0 is less than 1, 1 is used"),
        ("setoption name MultiPV value 0", "MultiPV takes 1 to 256"),
        ("setoption name SyzygyPath value /no/such/folder", "endgame tables not used: /no/such/folder: No such file"),
        ("setoption name Debug Log File value /no/such/folder/log", "Debug Log File not used: '/no/such/folder/log'"),
        ("debug maybe", "debug takes on or off, not 'maybe'"),
        ("bench 0", "bench takes a depth of 1 to 127, not '0'"),
        ("bench deep", "not 'deep'"),
        ("position fen QQQQQQnk/Q5pp/Q6Q/Q6Q/Q6Q/Q6Q/Q6Q/KQQQQQQQ w - - 0 1", "too many white pieces"),
    ],
)
def test_one_message_and_the_position_kept(engine: Engine, line: str, part: str) -> None:
    if line.startswith("go"):
        engine.send(GOOD, line)
        assert part in engine.expect("info string")
        engine.send("stop")
        engine.expect("bestmove")
    else:
        assert part in complaint(engine, line)


def test_rights_without_rooks_are_reported_and_left_out(engine: Engine) -> None:
    engine.send("position fen 4k3/8/8/8/8/8/8/4K3 w KQ - 0 1")
    assert "castling rights that do not fit" in engine.expect("info string")
    engine.send("go depth 3")
    engine.expect("bestmove")


def test_an_en_passant_square_without_a_pawn_is_left_out(engine: Engine) -> None:
    engine.send("position fen 4k3/8/8/3P4/8/8/8/4K3 w - e6 0 1")
    assert "en passant square that does not fit" in engine.expect("info string")
    engine.send("go perft 1")
    assert engine.expect("Nodes searched") == "Nodes searched: 6"
    assert "d5e6: 1" not in engine.lines


def test_very_long_lines(engine: Engine) -> None:
    message = complaint(engine, "x" * 100_000)
    assert "(100000 characters)" in message
    assert len(message) < 300
    message = complaint(engine, "position startpos moves " + "e2e4 " * 20_000)
    assert "illegal move 'e2e4' (number 2" in message
    assert len(message) < 300


def test_bytes_that_are_not_text(engine: Engine) -> None:
    engine.send_bytes(b"\xff\xfe\x00\x80 isready\n\x00\n\r\n\xc3(\n")
    engine.send("isready")
    engine.expect("readyok")
    assert len([line for line in engine.lines if line.startswith("info string unknown command")]) == 3


def test_carriage_returns_and_odd_spacing(engine: Engine) -> None:
    engine.send_bytes(b"  position   startpos \t moves  e2e4 \r\n go   depth  2 \r\n")
    assert engine.expect("bestmove").split()[1][1] in "78"


def test_random_lines_never_stop_the_conversation(engine: Engine) -> None:
    rng = random.Random(7)
    words = "position startpos fen moves e2e4 e7e5 go depth 1 nodes 5 setoption name Hash value 2 isready d".split()
    words += ["", "-1", "99999999999", "w", "KQkq", chess.STARTING_FEN, "\u2654", "searchmoves", "wtime", "perft"]
    for _ in range(300):
        line = " ".join(rng.choice(words) for _ in range(rng.randint(0, 6)))
        if line.split()[:1] == ["go"] or "perft" in line:
            line += " nodes 100 movetime 10"
            line = line.replace("perft", "")
        engine.send(line)
    engine.send("stop", "isready")
    engine.expect("readyok", timeout=30)
    assert not any("internal error" in line or "Traceback" in line for line in engine.lines)
    engine.send("stop", "ucinewgame", "position startpos", "go depth 1", "d")
    engine.expect("Legal moves: 20", timeout=30)


def test_commands_before_isready(start) -> None:
    engine = start()
    engine.send("go depth 2")
    assert engine.expect("bestmove").split()[1] != "0000"
    engine.send("quit")
    engine.finish()


# -- what the system does not give ------------------------------------------------------------------------------------


class Spy:
    """Output and backend for an `Equipment` whose searcher is replaced."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.sizes: list[int] = []
        self.options = OptionValues()

    def info(self, message: str) -> None:
        self.said.append(message)

    problem = info

    def equip(self) -> Equipment:
        return Equipment(self, self.options, self)  # type: ignore[arg-type]

    def PositionKeeper(self) -> None:
        return None

    def shipped_network(self) -> None:
        return None

    def Searcher(self, mebibytes: int) -> object:
        self.sizes.append(mebibytes)
        if mebibytes > 1000:
            raise MemoryError
        return SimpleNamespace(
            reserve_threads=lambda: None, resize_threads=lambda threads: None, set_network=lambda network: None
        )


def test_too_little_memory_keeps_the_table() -> None:
    """The largest Hash on offer is all of the memory, so it may be had; the message is tested on the equipment."""

    def resize(mebibytes: int) -> None:
        raise MemoryError

    spy = Spy()
    equipment = spy.equip()
    equipment.searcher = SimpleNamespace(resize=resize)  # type: ignore[assignment]
    equipment.apply(spy.options.set("Hash", "1024"))
    assert spy.said == ["not enough memory for Hash 1024: the old table is kept"]


def test_a_hash_beyond_memory_before_loading_falls_back() -> None:
    spy = Spy()
    spy.options.set("Hash", "2000")
    spy.equip()
    assert spy.sizes == [2000, 16]
    assert spy.said == ["not enough memory for Hash 2000: 16 is used"]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MemoryError(), "not enough memory for Threads 8: 3 used"),
        (RuntimeError("can't start new thread"), "not enough threads to be had for Threads 8: 3 used"),
    ],
)
def test_too_many_threads_for_the_system_are_reported(error: Exception, said: str) -> None:
    def resize_threads(threads: int) -> None:
        raise error

    spy = Spy()
    equipment = spy.equip()
    equipment.searcher = SimpleNamespace(threads=3, resize_threads=resize_threads)  # type: ignore[assignment]
    equipment.apply(spy.options.set("Threads", "8"))
    assert spy.said == [said]


def test_the_largest_hash_on_offer_is_accepted_and_leaves_memory_to_the_rest(engine: Engine) -> None:
    engine.send("uci")
    declared = engine.expect("option name Hash ")
    most = int(declared.split()[-1])
    assert 16 <= most <= max(16, memory_mebibytes())
    engine.expect("uciok")
    engine.lines.clear()
    engine.send(f"setoption name Hash value {most}", "ucinewgame", "go depth 3")
    engine.expect("bestmove")
    engine.send("setoption name Hash value 16", "isready")
    engine.expect("readyok")
    assert not [line for line in engine.lines if "memory" in line]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limits")
def test_hash_is_within_the_process_s_own_limit() -> None:
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))\n"
        "from engine.uci.options import memory_mebibytes, most_hash; print(memory_mebibytes(), most_hash())"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120).stdout
    memory, most = map(int, said.split())
    assert memory <= 1024
    assert most <= memory * 3 // 4
