"""Damaged and foreign files: what users, other programs and crashes leave where a command expects its own file.

Each kind makes one from a good file, the *sample*. Those of FOREIGN are nothing that any command wrote, so no command
may change them; those of DAMAGED were a good file once; those of ODD are no regular files, or have names of their own.
"""

from __future__ import annotations

import bz2
import gzip
import io
import os
import random
import struct
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

#: Bytes that a bomb becomes.
BOMB: Final = 50 << 20

NOTES: Final = b"Shopping list\n\n- milk, 2 x\n- a present for Ada (she likes chess!)\n- 50% off {maybe} [later]\n"
#: Terminal escapes: clears the screen, sets the title, colours.
ESCAPES: Final = b"\x1b[2J\x1b]0;not the title\x07\x1b[31m\x08\r\xc2\x9b31m"
OTHERS_GAMES: Final = b"""[Event "Club championship"]
[White "Smith"]
[Black "Jones"]
[Result "1-0"]

1. e4 e5 2. Qh5 Nc6 3. Bc4 Nf6 4. Qxf7# 1-0

[Event "Club championship"]
[White "Jones"]
[Black "Smith"]
[Result "*"]

1. d4 d5 2. c4 {adjourned, the sealed move is in the safe"""


@dataclass(frozen=True)
class Scene:
    """Where a hostile file is wanted: its `place`, a good file's bytes, those of other commands, and a file to keep."""

    place: Path
    sample: bytes
    others: tuple[bytes, ...]
    precious: Path
    rng: random.Random

    def where(self, *wanted: bytes) -> int:
        """Somewhere in the sample, behind one of the wanted bytes if there is one."""
        behind = [at + 1 for at in range(len(self.sample)) if self.sample[at : at + 1] in wanted]
        return self.rng.choice(behind) if behind else self.rng.randint(0, len(self.sample))

    def with_inserted(self, data: bytes, at: int) -> bytes:
        """The sample with something in it."""
        return self.sample[:at] + data + self.sample[at:]


def picture(width: int = 40) -> bytes:
    """A small PNG in grey."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    rows = b"".join(b"\0" + bytes(range(width)) for _ in range(width))
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, width, 8, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def zipped(data: bytes) -> bytes:
    """An archive with one file."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("book.pgn", data)
    return packed.getvalue()


def bomb(suffix: str) -> bytes:
    """A small file that unpacks to a large one, packed as a name that ends so asks for."""
    content = (b"[Event ?]" if suffix == ".bz2" else b" ") * (BOMB // (9 if suffix == ".bz2" else 1))
    if suffix == ".bz2":
        return bz2.compress(content)
    return zipped(content) if suffix == ".zip" else gzip.compress(content, 1)


def flipped(scene: Scene) -> bytes:
    """The sample with some of its bits changed."""
    data = bytearray(scene.sample or b"\0")
    for _ in range(scene.rng.choice((1, 3, 30))):
        data[scene.rng.randrange(len(data))] ^= 1 << scene.rng.randrange(8)
    return bytes(data)


#: Contents that the command did not write.
FOREIGN: Final[dict[str, Callable[[Scene], bytes]]] = {
    "noise": lambda scene: scene.rng.randbytes(scene.rng.randint(1, 5000)),
    "notes": lambda scene: NOTES,
    "spreadsheet": lambda scene: b"name;elo;date\n" + b"Ada;1815;12.10.\n" * scene.rng.randint(1, 200),
    "picture": lambda scene: picture(),
    "another command's file": lambda scene: scene.rng.choice(
        [other for other in scene.others if other != scene.sample]
    ),
    "deep nesting": lambda scene: scene.rng.choice((b"[", b"(", b'{"a":', b"a = [")) * 100_000,
    "nuls": lambda scene: bytes(10_000),
    "one long line": lambda scene: b"a/b=c " * 400_000,
    "somebody's games": lambda scene: OTHERS_GAMES,
    "bomb": lambda scene: bomb(scene.place.suffix),
}

#: Contents that were good once. A command may drop only the last record of a cut file.
DAMAGED: Final[dict[str, Callable[[Scene], bytes]]] = {
    "empty": lambda scene: b"",
    "cut": lambda scene: scene.sample[: scene.rng.randrange(max(len(scene.sample), 1))],
    "flipped": flipped,
    "appended to": lambda scene: scene.sample + NOTES,
    "blanks": lambda scene: scene.with_inserted(b" " * 10_000, scene.where(b" ", b"\n", b"=", b":")),
    "crlf": lambda scene: scene.sample.replace(b"\n", b"\r\n"),
    "utf-16": lambda scene: scene.sample.decode("latin-1").encode("utf-16"),
    "escapes": lambda scene: scene.with_inserted(ESCAPES, scene.where(b'"', b" ", b"\n")),
    "whole": lambda scene: scene.sample,
}


def _named(name: str) -> Callable[[Scene], Path]:
    """Makes the whole sample under a name of its own, with the usual ending."""

    def make(scene: Scene) -> Path:
        place = scene.place.with_name(name[: 250 - len(scene.place.suffix)] + scene.place.suffix)
        place.write_bytes(scene.sample)
        return place

    return make


def _pipe(scene: Scene) -> Path:
    os.mkfifo(scene.place)
    return scene.place


def _link(target: str) -> Callable[[Scene], Path]:
    def make(scene: Scene) -> Path:
        scene.place.symlink_to(target.format(place=scene.place.name, precious=scene.precious))
        return scene.place

    return make


def _folder(scene: Scene) -> Path:
    scene.place.mkdir()
    (scene.place / "diary.txt").write_bytes(NOTES)
    return scene.place


#: No regular files, or strange names; each maker returns the path.
ODD: Final[dict[str, Callable[[Scene], Path]]] = {
    "pipe": _pipe,
    "device": _link("/dev/zero"),
    "full device": _link("/dev/full"),
    "folder": _folder,
    "dangling link": _link("nowhere/at/all"),
    "link loop": _link("{place}"),
    "link to a precious file": _link("{precious}"),
    "missing": lambda scene: scene.place.with_name("no such file" + scene.place.suffix),
    "below a file": lambda scene: scene.precious / "x",
    "nobody's home": lambda scene: Path("~nobody-of-that-name/x"),
    "too long a name": lambda scene: scene.place.with_name("n" * 300 + scene.place.suffix),
    "long name": _named("a long name " * 30),
    "newline in the name": _named("two\nlines"),
    "escape in the name": _named("\x1b[31mred\x07"),
    "name beyond ascii": _named("\u65b0\u3057\u3044 \u0442\u0443\u0440\u043d\u0438\u0440 \u265e"),
    "name like an option": _named("a=b c;d,e 'f' \"g\" $HOME %s {0}"),
}

KINDS: Final = (*FOREIGN, *DAMAGED, *ODD)


def make(kind: str, scene: Scene) -> Path:
    """Makes a file of a kind; where it is."""
    if kind in ODD:
        return ODD[kind](scene)
    scene.place.write_bytes((FOREIGN.get(kind) or DAMAGED[kind])(scene))
    return scene.place
