"""Random sessions: good and bad commands, and noise, at any moment of a search."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from hypothesis import strategies as st

from engine.uci.options import MOST_MOVES, OPTIONS, Option
from tests.uci.fuzz.fens import ODD, ODD_960, few, mutated, scattered
from tests.uci.fuzz.hostile import KINDS
from tests.uci.fuzz.play import Script, said

Draw = Callable[..., Any]

_TABLES: Final = Path(__file__).resolve().parents[2] / "data" / "syzygy"

#: Largest values of spin options whose own bound would cost memory or time.
_MODEST: Final = {"Hash": 32, "Threads": 4}
#: Files and folders for options that name some, few of them good; logs only where nothing can be written.
_NOWHERE: Final = ("<empty>", "", "/no/such/file", "/", "~nobody-of-that-name/x", "a\0b")
_PATHS: Final = (*_NOWHERE, str(_TABLES), str(_TABLES), __file__, ".")
_LOGS: Final = (*_NOWHERE, "/dev/full")
#: The good file for each of these options.
_SAMPLES: Final = {
    "EvalFile": "network.snet",
    "BookFile": "book.bin",
    "SyzygyPath": "syzygy",
    "Debug Log File": "log.txt",
}
#: Kinds of hostile file whose paths fit into a line, and the number of files of each kind.
_HOSTILE: Final = tuple(kind for kind in KINDS if kind != "newline in the name")
_SEEDS: Final = 4

#: What a process may lack: memory in MiB, open files, processes, and undamaged kernels.
_SETTINGS: Final = (
    # With less, the interpreter or a library ends the process.
    st.integers(200, 3000).map("! AS {}".format),
    st.integers(6, 40).map("! NOFILE {}".format),
    st.integers(2, 40).map("! NPROC {}".format),
    st.builds("! cache {} {}".format, st.sampled_from(_HOSTILE), st.integers(0, _SEEDS - 1)),
)

_TIMES: Final = ("1", "2", "5", "10", "30", "60", "1000", "60000", "3600000", "0", "-5", "9" * 16, "1" * 30)
_VALUES: Final = {
    "wtime": _TIMES,
    "btime": _TIMES,
    "winc": ("0", "1", "10", "1000", "-1", "1" * 20),
    "binc": ("0", "1", "10", "1000", "-1", "1" * 20),
    "movestogo": ("1", "2", "40", "0", "-1", "1000000"),
    "depth": ("1", "2", "3", "4", "6", "0", "127", "500", "-3"),
    "nodes": ("1", "2", "10", "100", "1000", "5000", "0", "-7", "1" * 25),
    "mate": ("1", "2", "3", "50", "0", "-2", "1" * 20),
    "movetime": ("1", "2", "5", "10", "20", "100", "0", "-1", "1" * 18),
}
#: Words that mean nothing behind `go`.
_NOISE: Final = ("fast", "Depth", "e2", "=", "\u2654", "go", "moves", "none")
_MOVES: Final = ("e2e4", "e7e5", "e1g1", "e8c8", "e1h1", "O-O", "0-0-0", "a7a8q", "a7a8", "0000", "e2e2", "P@e4", "xyz")

_OTHER_POSITIONS: Final = ("few", "scattered", "mutated", "nonsense")
_NO_POSITIONS: Final = ("", "fen", "startpos e2e4", "end", "fen moves e2e4", "fen 8 w", "moves e2e4")
_COUNTS: Final = ("perft 1", "perft 2", "perft 3", "perft 0", "perft x", "perft 33")

_SOUP: Final = (
    "position startpos fen moves e2e4 e7e5 go depth nodes setoption name Hash value isready d perft searchmoves wtime"
    " movetime infinite ponder MultiPV true 1 2 3 0 -1 w b KQkq - flip eval debug on uci mate 4k3/8/8/8/8/8/8/4K2R stop"
).split()


def _line(*words: str) -> str:
    return said(" ".join(word for word in words if word).encode("utf-8", "surrogateescape"))


@st.composite
def _position(draw: Draw) -> str:
    """A position, usually good: the start, an unusual one, random pieces, or a FEN with mistakes."""
    kind = draw(st.sampled_from(("start", "start", "start", "odd", "odd", "960", *_OTHER_POSITIONS)))
    if kind == "nonsense":
        return _line("position", draw(st.sampled_from(_NO_POSITIONS)))
    start = "startpos"
    if kind in ("odd", "960"):
        start = "fen " + draw(st.sampled_from(ODD if kind == "odd" else ODD_960))
    elif kind == "few":
        start = "fen " + few(random.Random(draw(st.integers(0, 1 << 32))))
    elif kind in ("scattered", "mutated"):
        rng = random.Random(draw(st.integers(0, 1 << 32)))
        start = "fen " + (scattered(rng) if kind == "scattered" else mutated(rng, rng.choice(ODD + ODD_960)))
    moves = [f"<{index}>" for index in draw(st.lists(st.integers(0, 250), max_size=12))]
    if draw(st.integers(0, 9)) == 0:
        moves.insert(draw(st.integers(0, len(moves))), draw(st.sampled_from(_MOVES)))
    if moves and draw(st.integers(0, 9)) == 0:
        moves[-1] = moves[-1].replace(">", "*>")
    return _line("position", start, *(["moves", *moves] if moves or draw(st.booleans()) else []))


@st.composite
def _go(draw: Draw) -> str:
    """A search, with limits of any kind and size."""
    words: list[str] = []
    for name in draw(st.lists(st.sampled_from(tuple(_VALUES)), max_size=3)):
        words += [name, draw(st.sampled_from(_VALUES[name]))]
    words += draw(st.sampled_from(([], [], [], [], ["infinite"], ["ponder"], ["ponder"], ["infinite", "ponder"])))
    if draw(st.integers(0, 5)) == 0:
        moves = draw(st.lists(st.integers(0, 250), max_size=4))
        words += ["searchmoves", *(f"<{index}>" for index in moves)]
        words += draw(st.sampled_from(([], [], ["e2e4"], ["h1h8"], ["e7e8q"])))
    if draw(st.integers(0, 9)) == 0:
        fault = draw(st.sampled_from((*_NOISE, "depth", "nodes x", "wtime 1e3", "movetime 0.5", "mate")))
        # Never between a name and its value.
        words = [*words, fault] if draw(st.booleans()) else [*fault.split(), *words]
    return _line("go", *words)


@st.composite
def _setoption(draw: Draw) -> str:
    """An option, usually with a good value; its name in any case."""
    option: Option = draw(st.sampled_from(OPTIONS))
    odd = option.name.replace(" ", "  ").lower()
    name = draw(st.sampled_from((option.name, option.name, option.name.upper(), odd)))
    fault = draw(st.integers(0, 19))
    if fault == 0:
        return _line("setoption", draw(st.sampled_from(("", "name", "Hash", "name value 3", "name Contempt value 1"))))
    if option.kind == "button":
        return _line("setoption name", name)
    if option.kind == "check":
        value = draw(st.sampled_from(("true", "false", "True", "FALSE", *(("yes", "") if fault < 3 else ()))))
    elif option.kind == "spin":
        low, high = option.low, min(option.high, _MODEST.get(option.name, option.high))
        value = str(draw(st.one_of(st.sampled_from((low, high)), st.integers(low, high))))
        if fault < 3:
            value = draw(st.sampled_from((str(low - 1), str(option.high + 1), "lots", "", "1.5", "9" * 30)))
    elif option.name in _SAMPLES and draw(st.booleans()):
        value = f"<{_SAMPLES[option.name]}:{draw(st.sampled_from(_HOSTILE))}:{draw(st.integers(0, _SEEDS - 1))}>"
    else:
        value = draw(st.sampled_from(_LOGS if option.name == "Debug Log File" else _PATHS))
    return _line("setoption  name", name, "value", value)


@st.composite
def _noise(draw: Draw) -> str:
    """Bytes, or words of the protocol in no order."""
    if draw(st.booleans()):
        return said(draw(st.binary(max_size=30)).replace(b"\n", b""))
    return _line(*draw(st.lists(st.sampled_from(_SOUP), max_size=7)))


@st.composite
def _turn(draw: Draw) -> list[str]:
    """A position and a search in it that ends in some way, as in a game or an analysis."""
    steps: list[str] = [draw(_position()), draw(_go()), *draw(_pause)]
    steps += draw(st.sampled_from(([], [], ["> stop"], ["> ponderhit"], ["> ponderhit", "> stop"])))
    return [*steps, draw(_settle)]


@st.composite
def _reply(draw: Draw) -> list[str]:
    """The game goes on with the answer."""
    return [draw(st.sampled_from(("+", "+ ponder"))), draw(_go()), *draw(_pause), draw(_settle)]


@st.composite
def _lines_at_once(draw: Draw) -> list[str]:
    """A search with up to as many lines as there are moves."""
    lines = draw(st.sampled_from((2, 3, 30, 218, MOST_MOVES)))
    return [_line("setoption name MultiPV value", str(lines)), draw(_position()), draw(_go()), draw(_settle)]


def _lines(*lines: str) -> st.SearchStrategy[list[str]]:
    return st.sampled_from([[_line(line)] for line in lines])


_pause: Final = st.sampled_from(([], [], ["~ 0.1"], ["~ 1"], ["~ 4"], ["~ 12"]))
_settle: Final = st.sampled_from(("= 0", "= 5", "= 5", "= 25"))

#: The parts of a session with their weights.
_PARTS: Final = (
    (6, _turn()),
    (3, _reply()),
    (1, _lines_at_once()),
    (2, _position().map(lambda step: [step])),
    (3, _go().map(lambda step: [step])),
    (5, _setoption().map(lambda step: [step])),
    (2, _noise().map(lambda step: [step])),
    (3, _lines("stop", "stop", "ponderhit", " stop \t", "stop now")),
    (3, _lines("isready", "isready", "uci", "uci\r", "  isready")),
    (2, _lines("ucinewgame", "ucinewgame", "setoption name Hash value 1")),
    (2, _lines("d", "d", "eval", "flip", "compiler", "help", "register later")),
    (1, _lines("debug on", "debug off", "debug", "debug maybe")),
    (1, _lines("bench 1", "bench x", *(f"go {count}" for count in _COUNTS))),
    (1, _lines("bench 30", "go perft 12")),
    (2, _pause),
    (2, _settle.map(lambda step: [step])),
)

_part: Final = st.sampled_from([part for weight, part in _PARTS for _ in range(weight)]).flatmap(lambda part: part)

#: How a session ends: usually with a last look at everything, sometimes in the middle of something.
_ENDINGS: Final = (
    ["= 5", "> d", "> isready", "= 5", "> quit"],
    ["= 5", "> d", "> isready", "= 5", "> quit"],
    ["= 5", "> d", "> isready", "= 5", "."],
    ["> quit"],
    ["."],
)


@st.composite
def scripts(draw: Draw, processes: bool = False) -> Script:
    """A whole session. Most set a small hash table first, so that they start quickly.

    Of `processes` of their own, every third lacks something.
    """
    steps: list[str] = []
    if processes and draw(st.integers(0, 2)) == 0:
        steps.append(draw(st.one_of(*_SETTINGS)))
    if draw(st.integers(0, 9)):
        steps.append("> setoption name Hash value 1")
    for part in draw(st.lists(_part, min_size=1, max_size=9)):
        steps += part
    return (*steps, *draw(st.sampled_from(_ENDINGS)))
