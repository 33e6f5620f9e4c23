"""The documentation builds without a warning, its links lead somewhere, and its tables are those of the code."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from engine.uci.options import ABOUT, OPTIONS, Option
from tests.conftest import PROJECT
from uci_main import COMMANDS

DOCS = PROJECT / "docs"
PAGES = (PROJECT / "README.md", PROJECT / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md")))

#: Options whose range depends on the machine.
MACHINE_RANGES = {"Hash": "1 to 3/4 of the memory", "Threads": "1 to the cores, at least 8"}


def text_of(page: Path) -> str:
    """The text of a page without its code blocks."""
    return re.sub(r"^(```+).*?^\1$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def table(page: str, name: str) -> list[list[str]]:
    """The rows of the table between the markers of that name, cell by cell."""
    text = (DOCS / page).read_text(encoding="utf-8")
    lines = text.split(f"<!-- {name}: begin -->")[1].split(f"<!-- {name}: end -->")[0].strip().splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def anchors(page: Path) -> set[str]:
    """What links to the headings of a page: lower case, no punctuation, a hyphen for each blank."""
    headings = re.findall(r"^#+ (.+)$", text_of(page), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_it_builds_without_a_warning(tmp_path: Path) -> None:
    for package in ("sphinx", "myst_parser", "furo"):
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed: requirements/docs.txt has it")
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-W", "--keep-going", "-n", "-q"]
    command += ["-d", str(tmp_path / "doctrees"), str(DOCS), str(tmp_path / "html")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert "Elo" in (tmp_path / "html" / "strength.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", text_of(page)):
        path, _, name = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.is_relative_to(PROJECT), target
        assert file.exists(), target
        assert not name or name in anchors(file), target


def test_every_page_is_reached_from_the_readme_and_the_index() -> None:
    readme = text_of(PROJECT / "README.md")
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    for page in DOCS.glob("*.md"):
        if page.stem not in ("index", "ledger"):
            assert f"](docs/{page.name})" in readme
        assert page.stem == "index" or f"\n{page.stem}\n" in index


def expected_cells(option: Option) -> list[str]:
    default = {"None": "", ABOUT: "(a sentence)"}.get(str(option.default), str(option.default))
    default = default.lower() if option.kind == "check" else default.replace("<empty>", "`<empty>`")
    bounds = f"{option.low} to {option.high}" if option.kind == "spin" else ""
    return [f"`{option.name}`", option.kind, default, MACHINE_RANGES.get(option.name, bounds)]


def test_every_option_is_in_the_table_as_it_is_declared() -> None:
    rows = table("options.md", "options")
    assert sorted(row[:4] for row in rows) == sorted(map(expected_cells, OPTIONS))
    assert all(row[4] for row in rows)


def test_every_command_is_in_the_table_with_its_extra() -> None:
    extras = {re.split(r"[ `]+", row[0])[2]: row[2].strip("`") for row in table("commands.md", "commands")}
    assert extras == {name: extra or "" for name, (*_, extra) in COMMANDS.items()}


def test_every_file_that_a_page_names_exists() -> None:
    for page in PAGES:
        for name in re.findall(r"`((?:engine|eval|search|bench|tests)/[\w/.]+)`", text_of(page)):
            assert "/ID." in name or (PROJECT / name).exists(), f"{page.name}: {name}"


def test_the_readme_is_short_and_quotes_the_tables() -> None:
    readme = (PROJECT / "README.md").read_text(encoding="utf-8")
    assert len(readme.splitlines()) <= 200
    headings = set(re.findall(r"^## (.+)$", readme, re.MULTILINE))
    assert {"Install", "Play in a GUI", "Use it from Python", "See it prune", "Measure it", "Documentation"} <= headings
    pages = {path.name for path in DOCS.glob("*.md")} - {"index.md", "ledger.md"}
    assert not [name for name in sorted(pages) if f"docs/{name}" not in readme]
    speeds = re.findall(r"\d+\.\d+x", readme)
    assert speeds
    assert set(speeds) <= {row[1] for row in table("strength.md", "speed")}
    ratings = {row[0]: f"{row[1]} {row[2]}" for row in table("strength.md", "ladder")}
    assert f"rated {ratings['Secateur']} " in " ".join(readme.split())
