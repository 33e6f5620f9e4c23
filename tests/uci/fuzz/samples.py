"""Good files of every kind that a command opens. The command that writes a kind makes it at its first use."""

from __future__ import annotations

import atexit
import bz2
import functools
import gzip
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

import chess
import chess.polyglot

from engine.compiler.cache_folder import CACHE_VARIABLE
from engine.compiler.launcher import write_launcher
from tests.conftest import PROJECT
from tests.uci.fuzz import hostile

SECATEUR: Final = (sys.executable, str(PROJECT / "uci_main.py"))
_FAKES: Final = PROJECT / "tests" / "bench"

#: Abbreviations in command lines.
WORDS: Final = {
    "players": f"--engine cmd={sys.executable} arg={_FAKES / 'fake_engine.py'} name=A --engine cmd={sys.executable} "
    f"arg={_FAKES / 'fake_engine.py'} name=B --each depth=1 --runner builtin",
    "brief": "--max-moves 4 --quiet",
    "tiny": "--hidden 32 --superbatches 1 --superbatch-size 256 --batch-size 256 --validation 0.2 --threads 1 --quiet",
    "python": sys.executable,
    "secateur": str(PROJECT / "uci_main.py"),
    "fake": str(_FAKES / "fake_engine.py"),
    "data": "--nodes 20 --hard-nodes 60 --workers 1 --max-plies 60",
    "spsa": "--only aspiration_window --tc depth=1 --max-moves 4 --quiet",
    "quick": "--tc depth=1 --max-moves 4 --quiet",
}

_DESCRIPTION: Final = f"""rounds = 1
tc = "depth=1"
runner = "builtin"
[adjudication]
max_moves = 4
[[engines]]
name = "A"
command = ["{sys.executable}", "{_FAKES / "fake_engine.py"}"]
[[engines]]
name = "B"
command = ["{sys.executable}", "{_FAKES / "fake_engine.py"}", "--seed", "2"]
"""
_SUITE: Final = b"""1k1r4/pp1b1R2/3q2pp/4p3/2B5/4Q3/PPP2B2/2K5 b - - bm Qd1+; id "BK.01";
3r1k2/4npp1/1ppr3p/p6P/P2PPPP1/1NR5/5K2/2R5 w - - bm d5; id "BK.02";
"""


@functools.cache
def folder() -> Path:
    """The folder of this process's samples, removed when the process ends."""
    made = Path(tempfile.mkdtemp(prefix="secateur-samples-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def environment(home: Path, scratch: Path) -> dict[str, str]:
    """The variables of a command under test: its own home and scratch folder, the kernels of all."""
    kernels = os.environ.get(CACHE_VARIABLE) or Path("~/.cache/secateur/kernels").expanduser()
    plots = folder() / "matplotlib"
    own = {"HOME": home, "TMPDIR": scratch, CACHE_VARIABLE: kernels, "MPLCONFIGDIR": plots}
    return {
        **os.environ,
        **{name: str(path) for name, path in own.items()},
        "SECATEUR_KERNELS": "jit",
        "COLUMNS": "100",
    }


def expanded(line: str, place: Path | str, good: Callable[[str], Path]) -> list[str]:
    """The words of a command: `{name}` is one of WORDS, `<>` the place, `<name>` a good file's path."""
    words = line.format(**WORDS).split()
    return [
        re.sub("<(.*?)>", lambda found: str(good(found[1]) if found[1] else place), word, count=1) for word in words
    ]


def _made(line: str) -> Callable[[Path], object]:
    """Makes a sample by a command, in which `<>` is its path, and `<name>` another sample."""

    def make(place: Path) -> None:
        done = subprocess.run(
            [*SECATEUR, *expanded(line, place, sample)],
            cwd=place.parent,
            env=environment(place.parent, place.parent),
            capture_output=True,
            check=False,
        )
        # Status 1 means that the few games were not enough for every figure.
        assert done.returncode in (0, 1), done.stderr.decode()
        assert place.exists(), done.stderr.decode()

    return make


def _written(data: bytes) -> Callable[[Path], object]:
    return lambda place: place.write_bytes(data)


def _packed(name: str, pack: Callable[[bytes], bytes]) -> Callable[[Path], object]:
    return lambda place: place.write_bytes(pack(sample(name).read_bytes()))


def _polyglot() -> bytes:
    board = chess.Board()
    key = chess.polyglot.zobrist_hash(board)
    moves = [chess.Move.from_uci(text) for text in ("e2e4", "d2d4", "g1f3")]
    return b"".join(struct.pack(">QHHI", key, move.to_square | move.from_square << 6, 9, 0) for move in moves)


def _copied(path: str) -> Callable[[Path], object]:
    source = PROJECT / path
    return lambda place: (shutil.copytree if source.is_dir() else shutil.copyfile)(source, place)


def _cache(place: Path) -> None:
    """The compiled kernels of this build."""
    from engine.compiler.jit import CACHE_FOLDER  # it loads Numba

    assert CACHE_FOLDER is not None
    place.mkdir(mode=0o700)
    shutil.copytree(CACHE_FOLDER, place / CACHE_FOLDER.name)


_MAKERS: Final[dict[str, Callable[[Path], object]]] = {
    "games.pgn": _made("match {players} {brief} --rounds 3 --pgn <>"),
    "unfinished.pgn": _packed("games.pgn", lambda games: games[: games.rindex(b"[Event ")]),
    "games.pgn.gz": _packed("games.pgn", gzip.compress),
    "games.pgn.bz2": _packed("games.pgn", bz2.compress),
    "games.zip": _packed("games.pgn", hostile.zipped),
    "book.epd": _written(b"".join((PROJECT / "bench/books/balanced.epd").read_bytes().splitlines(keepends=True)[:12])),
    "suite.epd": _written(_SUITE),
    "book.bin": _written(_polyglot()),
    "match.toml": _written(_DESCRIPTION.encode()),
    "network.snet": _copied("eval/network/default.snet"),
    "strength.md": _copied("docs/strength.md"),
    "syzygy": _copied("tests/data/syzygy"),
    "tree.txt": _written(b"((3,12,8),(2,4,6),(14,5,2))\n"),
    "evaluation.py": _written(b"def evaluate(position):\n    return int(position['halfmoves'])\n"),
    "log.txt": _written(b"12:00:00 > uci\n12:00:00 < uciok\n"),
    "launcher": lambda place: write_launcher(place),
    "policies.json": _copied("search/theory/policies.json"),
    "plot.png": _made("sprt <games.pgn> --plot <>"),
    "shards": _made("datagen <> {data} --games 16"),
    "archive": _made("datagen archive <shards> --output <>"),
    "run": _made("train <shards> --output network.snet --checkpoint <> {tiny}"),
    "record.json": _made("explore --record <> --depth 1"),
    "record.json.gz": _packed("record.json", gzip.compress),
    "spsa.jsonl": _made("spsa {spsa} --state <> --iterations 2"),
    "ablation.jsonl": _made("ablation futility {quick} --state <> --games 2"),
    "cache": _cache,
    "empty": lambda place: place.mkdir(),
}

#: Cheap samples of many formats, which stand for the files of other commands.
OTHERS: Final = (
    *("games.pgn", "games.zip", "book.epd", "book.bin", "match.toml", "network.snet", "strength.md"),
    *("tree.txt", "evaluation.py", "log.txt"),
)


def hostile_file(kind: str, place: Path, name: str, data: bytes, precious: Path, rng: random.Random) -> Path:
    """Makes a hostile file of `data`, which are the sample `name` or one of its files; where it is."""
    others = tuple(sample(other).read_bytes() for other in OTHERS if other[-4:] != name[-4:])
    return hostile.make(kind, hostile.Scene(place, data, others, precious, rng))


@functools.cache
def standing_file(name: str, kind: str, seed: int) -> Path:
    """A hostile file of the sample `name`, or a folder with one among good ones; it stays."""
    rng = random.Random(f"{name} {kind} {seed}")
    whole, precious = sample(name), folder() / "precious.txt"
    precious.write_bytes(hostile.NOTES)
    place = spot = Path(tempfile.mkdtemp(dir=folder())) / name
    if not whole.is_dir():
        return hostile_file(kind, place, name, whole.read_bytes(), precious, rng)
    shutil.copytree(whole, place)
    place.chmod(0o700)
    for spot in rng.sample(sorted(path for path in place.rglob("*") if path.is_file()), 3):
        data = spot.read_bytes()
        spot.unlink()
        hostile_file(kind, spot, name, data, precious, rng)
    return place


@functools.cache
def sample(name: str) -> Path:
    """A good file or folder of that name, in a folder of its own."""
    place = folder() / name.replace(".", "-") / name
    place.parent.mkdir(parents=True)
    _MAKERS[name](place)
    return place
