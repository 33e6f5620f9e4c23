"""Runs every command that opens a file on hostile files: it must lose nothing and end properly.

A `Victim` is a command with a place for a file. A `Case` puts a file of some kind there, in a folder with files that
the command must not touch, runs the command, and checks all files and the output.
"""

from __future__ import annotations

import os
import random
import re
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unicodedata
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from engine.compiler.cache_folder import CACHE_VARIABLE
from engine.compiler.launcher import STANDING_VARIABLE
from engine.compiler.library import FOLDER_VARIABLE
from tests.conftest import PROJECT
from tests.uci.fuzz import hostile, samples
from tests.uci.fuzz.model import BreachError

#: Seconds that a command may take; others may use the machine.
LIMIT: Final = 120.0
#: Seconds that a process which the command has started may outlive it.
LINGERS: Final = 5.0
#: The longest line of a message, in characters.
LONGEST: Final = 400
#: Limits on memory and disk: a file without end must not fill the machine.
MEMORY, DISK = 3 << 30, 1 << 30

# What a command may do to the file.
#: Reads it.
READS: Final = "reads"
#: Replaces it if the command wrote it.
REPLACES: Final = "replaces"
#: Writes it if it is empty.
FILLS: Final = "fills"
#: Appends to its own.
GROWS: Final = "grows"
#: Anything, because of --overwrite or because it is a cache.
OWNS: Final = "owns"


@dataclass(frozen=True)
class Victim:
    """A command line (see `samples.expanded`), the good file that it takes, and what it may do to that.

    `variable` is an environment variable that names the file. A line that begins with `>` is for the UCI session, one
    that begins with `python` or `launcher` for those. `kinds`: with others it would take too long.
    """

    line: str
    sample: str
    role: str = READS
    variable: str | None = None
    kinds: tuple[str, ...] = hostile.KINDS

    def __str__(self) -> str:
        return f"{self.variable} {self.line}" if self.variable else self.line


_CLIENT: Final = (
    "import sys; from chess import Board; from chess.engine import EngineError, Limit; from engine import Engine;"
    "from eval.build import EvaluationError\n"
    "try:\n  with Engine({sys.argv[1]: sys.argv[2]}) as engine: engine.play(Board(), Limit(depth=1))\n"
    "except (EngineError, EvaluationError) as error: sys.exit(f'secateur client: {error}')"
)

_GAMES: Final = "{players} {brief}"

#: Everything that opens a file; tests/uci/test_files.py checks that no option is missing.
VICTIMS: Final = (
    *(Victim(f"match {_GAMES} --book <>", name) for name in ("book.epd", "games.pgn", "games.pgn.gz", "games.zip")),
    Victim(f"match {_GAMES} --book <>", "games.pgn.bz2"),
    Victim("match <> --quiet", "match.toml"),
    Victim(f"match {_GAMES} --pgn <>", "games.pgn", FILLS),
    Victim(f"match {_GAMES} --rounds 3 --pgn <> --resume", "unfinished.pgn", GROWS),
    Victim(f"match {_GAMES} --rounds 3 --pgn <> --resume", "games.pgn", GROWS),
    Victim(f"match {_GAMES} --pgn <> --overwrite", "games.pgn", OWNS),
    Victim(f"match {_GAMES} --tb <>", "syzygy"),
    Victim(f"match {_GAMES} --plot <>", "plot.png", REPLACES),
    Victim("match --each depth=1 --runner builtin {brief} --engine cmd=<> name=A --engine cmd=<> name=B", "launcher"),
    Victim(f"tourney {_GAMES} --book <>", "book.epd"),
    Victim("tourney <> --quiet", "match.toml"),
    Victim(f"tourney {_GAMES} --rounds 3 --pgn <> --resume", "unfinished.pgn", GROWS),
    Victim(f"tourney {_GAMES} --tb <>", "syzygy"),
    Victim("sprt <>", "games.pgn"),
    Victim("sprt <> --quiet", "match.toml"),
    Victim("sprt <games.pgn> --plot <>", "plot.png", REPLACES),
    Victim(f"sprt {_GAMES} --rounds 3 --pgn <> --resume", "unfinished.pgn", GROWS),
    Victim(f"sprt {_GAMES} --rounds 2 --book <>", "book.epd"),
    Victim(f"sprt {_GAMES} --rounds 2 --tb <>", "syzygy"),
    Victim("rate <>", "games.pgn"),
    Victim("rate <games.pgn> <>", "games.pgn"),
    Victim("epd <> --depth 1", "suite.epd"),
    *(Victim("genfens 2 seed 1 book <> --nodes 20", name) for name in ("book.epd", "games.pgn")),
    Victim("spsa {spsa} --state <> --iterations 2", "spsa.jsonl"),
    Victim("spsa {spsa} --state <> --resume --iterations 2", "spsa.jsonl", GROWS),
    Victim("spsa --state <> --show", "spsa.jsonl"),
    Victim("spsa --state <spsa.jsonl> --show --plot <>", "plot.png", REPLACES),
    Victim("spsa {spsa} --state new.jsonl --iterations 1 --book <>", "book.epd"),
    Victim("spsa {spsa} --state new.jsonl --iterations 1 --tb <>", "syzygy"),
    Victim("ablation futility {quick} --games 4 --state <>", "ablation.jsonl", GROWS),
    Victim("ablation futility {quick} --games 2 --book <>", "book.epd"),
    Victim("ablation futility {quick} --games 2 --tb <>", "syzygy"),
    Victim("datagen <> {data} --games 32", "shards", GROWS),
    Victim("datagen new {data} --games 16 --network <>", "network.snet"),
    Victim("datagen stats <>", "shards"),
    Victim("datagen verify <>", "shards"),
    Victim("datagen archive <> --output new", "shards"),
    Victim("datagen archive <shards> --output <>", "archive", GROWS),
    Victim("datagen restore <> --output new", "archive"),
    Victim("datagen restore <archive> --output <>", "shards"),
    Victim("wdl <>", "shards"),
    Victim("train <> --output new.snet {tiny}", "shards"),
    Victim("train <shards> --weight <>=0.5 --output new.snet {tiny}", "shards"),
    Victim("train <shards> --output <> {tiny}", "network.snet", REPLACES),
    Victim("train --output new.snet --checkpoint <> --resume --quiet", "run", REPLACES),
    Victim("train <shards> --output new.snet --checkpoint <> --overwrite {tiny}", "run", REPLACES),
    Victim("train <shards> --output new.snet --start <> {tiny}", "network.snet"),
    Victim("train <shards> --output new.snet {tiny} --plot <>", "plot.png", REPLACES),
    Victim("net <>", "network.snet"),
    Victim("claims --train-policies <> --quiet", "policies.json", REPLACES),
    Victim("claims --quick --quiet --plot <>", "plot.png", REPLACES),
    Victim("net <network.snet> --data <>", "shards"),
    *(Victim("explore <> --text", name) for name in ("record.json", "record.json.gz", "tree.txt")),
    Victim("explore --depth 1 --overwrite --record <>", "record.json", REPLACES),
    Victim("explore --depth 1 --overwrite --record <>", "record.json.gz", REPLACES),
    Victim("explore --depth 1 --record new.json --pgn <>", "games.pgn"),
    Victim("perft --depth 2", "cache", OWNS, CACHE_VARIABLE),
    Victim("perft --depth 2", "empty", READS, FOLDER_VARIABLE),
    Victim("kernels list", "empty", READS, FOLDER_VARIABLE),
    Victim("--evaluation <> --version", "evaluation.py"),
    Victim("--version", "evaluation.py", READS, "SECATEUR_EVALUATION"),
    Victim("launcher <>", "launcher", REPLACES),
    Victim("launcher --standing new", "empty", GROWS, STANDING_VARIABLE),
    Victim("python EvalFile <>", "network.snet"),
    Victim("python BookFile <>", "book.bin"),
    Victim("python SyzygyPath <>", "syzygy"),
    Victim("> EvalFile", "network.snet"),
    Victim("> BookFile", "book.bin"),
    Victim("> SyzygyPath", "syzygy"),
    Victim("> Debug Log File", "log.txt", GROWS),
)

#: A UCI session: the first position is in the tablebases, the second in the book.
_SESSION: Final = """setoption name OwnBook value true
setoption name {option} value {place}
isready
position fen 8/8/8/8/1k6/8/6PK/8 w - - 0 1
go depth 1
position startpos
go wtime 1000 btime 1000
isready
"""

#: Old folders of a user, with names like those that some commands give to theirs.
_GUESTS: Final = ("buckets", "source-material", "environment-club", "my-favourite-trips!", "shard-000009.part")


@dataclass(frozen=True)
class Case:
    """A victim, a kind of file, and the seed of the random choices."""

    victim: Victim
    kind: str
    seed: int

    def __str__(self) -> str:
        return f"{self.victim} ({self.victim.sample}), {self.kind}, {self.seed}"

    def run(self) -> None:
        """Runs it. Raises BreachError."""
        with tempfile.TemporaryDirectory(prefix="secateur-files-") as name:
            _Box(Path(name), self).run()


def first_cases(number: int, seed: int) -> list[Case]:
    """So many cases: all victims in turn, each with its kinds in turn, in an order of the seed."""
    rng = random.Random(seed)
    victims = rng.sample(VICTIMS, len(VICTIMS))
    orders = [rng.sample(victim.kinds, len(victim.kinds)) for victim in victims]
    found = []
    for index in range(number):
        turn, place = divmod(index, len(victims))
        kinds = orders[place]
        found.append(Case(victims[place], kinds[turn % len(kinds)], seed * 1_000_003 + turn))
    return found


class _Box:
    """A folder with a hostile file, a command to run there, and files that the command must not touch."""

    def __init__(self, folder: Path, case: Case) -> None:
        self.case = case
        self.victim = case.victim
        self._rng = random.Random(case.seed)
        self._folder = folder / "box"
        self._home, self._scratch = folder / "home", folder / "scratch"
        for made in (self._folder / "work", self._folder / "keep", self._home, self._scratch):
            made.mkdir(parents=True)
        precious = self._folder / "keep" / "precious.txt"
        precious.write_bytes(hostile.NOTES * 3)
        (self._folder / "work" / "photo.png").write_bytes(hostile.picture(30))
        self._place = self._folder / "work" / self.victim.sample
        #: The hostile file itself, inside the place if that is a folder.
        self._spot = self._place
        whole = samples.sample(self.victim.sample)
        if whole.is_dir():
            self._fill(whole, precious)
        else:
            self._spot = self._place = self._hostile(self._place, whole.read_bytes(), precious)

    def _hostile(self, place: Path, sample: bytes, precious: Path) -> Path:
        return samples.hostile_file(self.case.kind, place, self.victim.sample, sample, precious, self._rng)

    def _fill(self, whole: Path, precious: Path) -> None:
        """Puts something else where a folder is wanted, or a folder with a hostile file among good ones."""
        if self._rng.random() < 0.3:
            self._spot = self._place = self._hostile(self._place, b"", precious)
            return
        shutil.copytree(whole, self._place)
        self._place.chmod(0o700)
        for name in _GUESTS:
            guest = self._place / name
            guest.mkdir()
            (guest / "diary.txt").write_bytes(hostile.NOTES)
            os.utime(guest, (1e9, 1e9))
        files = sorted(path for path in whole.rglob("*") if path.is_file())
        chosen = self._rng.choice(files).relative_to(whole) if files else Path("kernels.so")
        spot = self._place / chosen
        data = spot.read_bytes() if spot.exists() else b""
        spot.unlink(missing_ok=True)
        self._spot = self._hostile(spot, data, precious)

    # -- running ---------------------------------------------------------------------------------------------------

    def _command(self) -> tuple[list[str], bytes]:
        """The command line, and its input."""
        victim = self.victim
        if victim.line.startswith(">"):
            # A newline would end the line in the middle of the name.
            text = _SESSION.format(option=victim.line[2:], place=str(self._place).replace("\n", "?"))
            return [*samples.SECATEUR], text.encode("utf-8", "surrogateescape")
        words = samples.expanded(victim.line, self._place, self._good)
        if words[0] == "python":
            return [sys.executable, "-c", _CLIENT, *words[1:]], b""
        if words[0] == "launcher":
            # Another Python, because the launcher copies the environment of this one.
            program = getattr(sys, "_base_executable", sys.executable)
            return [program, "-m", "engine.compiler.launcher", *words[1:]], b""
        return [*samples.SECATEUR, *words], b""

    def _good(self, name: str) -> Path:
        """A good file for the command, a copy."""
        whole, copy = samples.sample(name), self._folder / "good" / name
        if not copy.exists():
            copy.parent.mkdir(exist_ok=True)
            (shutil.copytree if whole.is_dir() else shutil.copyfile)(whole, copy)
        return copy

    def run(self) -> None:
        """Runs the command, and looks at what it did. Raises BreachError."""
        command, spoken = self._command()
        environment = samples.environment(self._home, self._scratch) | {"PYTHONPATH": str(PROJECT)}
        if self.victim.variable is not None:
            environment[self.victim.variable] = str(self._place)
            environment.pop("SECATEUR_KERNELS")
        if self.victim.variable == CACHE_VARIABLE:
            # The fallback where the cache folder is unusable.
            shutil.copytree(samples.sample("cache"), self._scratch / f"secateur-kernels-{os.getuid()}")
        before = _snapshot(self._folder)
        began = time.monotonic()
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self._folder / "work",
            env=environment,
            start_new_session=True,
            preexec_fn=_limited,
        )
        try:
            output, errors = process.communicate(spoken, timeout=LIMIT)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, errors = process.communicate()
            self._fail(f"hung: it went on for {time.monotonic() - began:.0f} s", output, errors)
        left = _living(process.pid)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        try:
            _expect(not left, f"left a process: {left}")
            self._judge(process.returncode, output, errors, before)
        except BreachError as error:
            self._fail(str(error), output, errors)

    def _fail(self, problem: str, output: bytes, errors: bytes) -> None:
        command = " ".join(map(ascii, self._command()[0][-12:]))
        said = "".join(f"\n    {line[:300]!r}" for line in (output[-600:] + errors[-900:]).splitlines()[-8:])
        raise BreachError(f"{self.case}: {problem}\n    {command}{said}") from None

    # -- what it owes ----------------------------------------------------------------------------------------------

    def _judge(self, status: int, output: bytes, errors: bytes, before: dict[Path, object]) -> None:
        self._check_files(before, _snapshot(self._folder))
        text = errors.decode("utf-8", "surrogateescape")
        _expect(b"Traceback" not in errors + output, "a traceback")
        _expect(b"[Errno" not in errors + output, "a number of the system's")
        for name, data in (("stdout", output.decode("utf-8", "surrogateescape")), ("stderr", text)):
            wild = sorted({ascii(c) for c in data if c != "\n" and unicodedata.category(c) in ("Cc", "Cs")})
            _expect(not wild, f"characters that terminals obey on {name}: {' '.join(wild)}")
        _expect(status in (0, 1, 2), f"exit status {status}")
        longest = max(map(len, text.split("\n")))
        _expect(longest <= LONGEST, f"a line of {longest} characters on stderr")
        if self.victim.line.startswith(">"):
            _expect(status == 0 and not errors, "no quiet end")
            lines = output.decode("utf-8", "replace").split("\n")
            _expect(lines.count("readyok") == 2, "no 'readyok'")
            _expect(sum(line.startswith("bestmove ") for line in lines) == 2, "no 'bestmove'")
            longest = max(len(line) for line in lines if not line.startswith("info depth"))
            _expect(longest <= LONGEST, f"a line of {longest} characters")
        elif status and (errors or not output):  # a report of what there is on stdout may say enough
            _expect("usage:" not in text, "a dump of the usage")
            _expect(re.search(r"^secateur( [a-z]+)*: \S", text, re.MULTILINE) is not None, "no 'secateur COMMAND: '")

    def _check_files(self, before: dict[Path, object], after: dict[Path, object]) -> None:
        for path, old in before.items():
            new = after.get(path)
            where = path.relative_to(self._folder)
            if path == self._spot:
                self._check_spot(old, new)
            elif not self._is_own(path) and old != new:
                raise BreachError(f"{'lost' if new is None else 'changed'}: {where}")

    def _is_own(self, path: Path) -> bool:
        """Whether the command may change this file as it likes."""
        if self.victim.role == READS or not path.is_relative_to(self._place):
            return False
        return (samples.sample(self.victim.sample) / path.relative_to(self._place)).exists()

    def _check_spot(self, old: object, new: object) -> None:
        """Checks the hostile file itself."""
        role, kind = self.victim.role, self.case.kind
        if old == new or (role == OWNS and (self._spot != self._place or self.victim.variable is None)):
            return
        _expect(new is not None, "lost: the file itself")
        if not isinstance(old, bytes) or not isinstance(new, bytes):
            raise BreachError("a file became something else, or the reverse")
        _expect(role != READS, "changed: what it should read")
        _expect(role != FILLS or not old, "changed: what is not empty")
        is_like_own = kind == "picture" and self.victim.sample == "plot.png"
        _expect(kind not in hostile.FOREIGN or is_like_own, "changed: somebody's file")
        if role == GROWS:
            kept = old
            if kind == "cut":
                unit = next((unit for unit in _UNITS if unit in old), b"")
                kept = old[: old.rfind(unit)] if unit else b""
            _expect(new.startswith(kept), "changed: what was there before")


#: The beginnings of records.
_UNITS: Final = (b"[Event ", b"\n{", b"BLCK")


def _expect(fact: bool, otherwise: str) -> None:
    if not fact:
        raise BreachError(otherwise)


def _limited() -> None:
    """Limits memory and disk of the new process, because a file may be endless."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (DISK, DISK))


def _snapshot(folder: Path) -> dict[Path, object]:
    """Everything below a folder: the bytes of files, where links lead, and what the rest is."""
    found: dict[Path, object] = {}
    for path in folder.rglob("*"):
        mode = path.lstat().st_mode
        if stat.S_ISREG(mode):
            found[path] = path.read_bytes()
        else:
            found[path] = f"a link to {path.readlink()}" if stat.S_ISLNK(mode) else f"of type {stat.S_IFMT(mode):o}"
    return found


def _living(group: int) -> str:
    """The names of processes of the group that have not ended soon."""
    deadline = time.monotonic() + LINGERS
    while True:
        names = []
        for process in psutil.process_iter():
            with suppress(psutil.Error, ProcessLookupError):
                if os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE:
                    names.append(str(process.name()))
        if not names or time.monotonic() > deadline:
            return ", ".join(names)
        time.sleep(0.1)
