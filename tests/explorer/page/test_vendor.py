"""The vendored files are those of the list."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[3] / "search" / "explorer" / "page"
VENDOR = PAGE / "vendor"


def test_every_vendored_file_has_the_hash_in_the_list() -> None:
    listed = dict(re.findall(r"^\| (\S+) \| `([0-9a-f]{64})` \|$", (VENDOR / "README.md").read_text("utf-8"), re.M))
    present = {
        path.relative_to(VENDOR).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in VENDOR.rglob("*")
        if path.is_file() and path.name != "README.md"
    }
    assert present == listed


def test_every_package_comes_with_its_licence() -> None:
    for folder in VENDOR.iterdir():
        if folder.is_dir():
            assert (folder / "LICENSE").is_file(), folder.name


def test_the_page_loads_nothing_from_elsewhere() -> None:
    for path in PAGE.iterdir():
        if path.suffix in (".html", ".js", ".css"):
            text = path.read_text("utf-8").replace("http://www.w3.org/", "")
            assert not re.search(r"https?://|//cdn|@import\s+url", text), path.name
