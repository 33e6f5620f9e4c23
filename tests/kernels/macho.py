"""Reads a Mach-O library: its load commands, the symbols that it exports, and its signature."""

from __future__ import annotations

import hashlib
import struct
from pathlib import Path
from typing import Any

LC_SYMTAB, LC_LOAD_DYLIB, LC_ID_DYLIB, LC_CODE_SIGNATURE, LC_BUILD_VERSION = 0x02, 0x0C, 0x0D, 0x1D, 0x32
CPUS = {0x0100000C: "arm64", 0x01000007: "x86_64"}


def text_at(data: bytes, start: int) -> str:
    return data[start : data.index(b"\0", start)].decode()


def read(path: Path) -> dict[str, Any]:
    """The machine, the oldest macOS, the libraries that it needs, its name, its symbols, and the signed pages.

    Fails if a signed page differs from its hash.
    """
    data = path.read_bytes()
    magic, cpu, _, kind, count = struct.unpack_from("<IiIII", data)
    assert (magic, kind) == (0xFEEDFACF, 6), "not a dynamic library of 64 bits"
    found: dict[str, Any] = {"machine": CPUS[cpu], "needs": [], "symbols": set(), "pages": 0}
    place = 32
    for _ in range(count):
        command, size = struct.unpack_from("<II", data, place)
        words = (
            struct.unpack_from("<IIII", data, place + 8) if size >= 24 else struct.unpack_from("<II", data, place + 8)
        )
        if command == LC_LOAD_DYLIB:
            found["needs"].append(text_at(data, place + words[0]))
        elif command == LC_ID_DYLIB:
            found["name"] = text_at(data, place + words[0])
        elif command == LC_BUILD_VERSION:
            found["oldest"] = (words[1] >> 16, words[1] >> 8 & 255)
        elif command == LC_SYMTAB:
            symbols, number, strings, _ = words
            for entry in range(number):
                name, flags, section = struct.unpack_from("<IBB", data, symbols + 16 * entry)
                if section and flags & 1:
                    found["symbols"].add(text_at(data, strings + name))
        elif command == LC_CODE_SIGNATURE:
            found["pages"] = signed_pages(data, words[0])
        place += size
    return found


def signed_pages(data: bytes, start: int) -> int:
    """The number of pages that the signature at `start` covers; fails if a page differs from its hash."""
    _, _, blobs = struct.unpack_from(">III", data, start)
    for blob in range(blobs):
        kind, offset = struct.unpack_from(">II", data, start + 12 + 8 * blob)
        if kind == 0:  # the code directory
            place = start + offset
            _, _, _, _, hashes, _, _, count, limit, size, method, _, shift = struct.unpack_from(">9I4B", data, place)
            assert (size, method) == (32, 2), "not SHA-256"
            for page in range(count):
                content = data[page << shift : min((page + 1) << shift, limit)]
                expected = data[place + hashes + 32 * page : place + hashes + 32 * (page + 1)]
                assert hashlib.sha256(content).digest() == expected, f"page {page} differs from its hash"
            return int(count)
    return 0
