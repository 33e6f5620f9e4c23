import argparse
from pathlib import Path

import pytest

from bench.adjudication import DrawRule, ResignRule
from bench.description import Book, DescriptionError, MatchDescription, add_arguments, from_arguments

TOML = """\
rounds = 50
concurrency = 2
tc = "10+0.1"
time_margin = 20

[book]
file = "book.epd"
order = "random"

[adjudication]
resign = {moves = 3, score = 400, both_sides = true}
max_moves = 200

[[engines]]
name = "new"
command = "python 'my engine.py' --fast"
options = {Hash = 32, Ponder = false}

[[engines]]
name = "old"
command = ["python", "old engine.py"]
tc = "nodes=5000"
[engines.options]
Hash = 16
"""


def parse(*arguments: str) -> MatchDescription:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return from_arguments(parser.parse_args(arguments))


@pytest.fixture
def toml(tmp_path: Path) -> Path:
    path = tmp_path / "match.toml"
    path.write_text(TOML, encoding="utf-8")
    return path


def test_a_default_of_rounds_applies_only_if_nothing_sets_it(tmp_path: Path) -> None:
    parser = argparse.ArgumentParser()
    add_arguments(parser, rounds=9)
    engines = ["--engine", "cmd=a", "--engine", "cmd=b"]
    path = tmp_path / "match.toml"
    for text, expected in ((TOML, 50), (TOML.replace("rounds = 50", ""), 9)):
        path.write_text(text, encoding="utf-8")
        assert from_arguments(parser.parse_args([str(path)]), rounds=9).rounds == expected
    assert from_arguments(parser.parse_args(engines), rounds=9).rounds == 9
    assert from_arguments(parser.parse_args([*engines, "--rounds", "4"]), rounds=9).rounds == 4
    assert "(default 9)" in parser.format_help()


def test_reads_a_file(toml: Path) -> None:
    match = parse(str(toml))
    new, old = match.engines
    assert (match.rounds, match.concurrency, match.time_margin) == (50, 2, 0.02)
    assert match.book is not None
    assert match.book.order == "random"
    assert match.adjudication.resign == ResignRule(3, 400, True)
    assert new.command == ("python", "my engine.py", "--fast")
    assert new.options == (("Hash", "32"), ("Ponder", "false"))
    assert str(new.limit) == "10+0.1"
    assert old.options == (("Hash", "16"),)
    assert old.limit.nodes == 5000


def test_the_command_line_overrides_the_file(toml: Path) -> None:
    match = parse(str(toml), "--rounds", "7", "--seed", "5", "--draw", "40,8,10", "--time-margin", "50")
    assert match.rounds == 7
    assert match.book is not None
    assert (match.book.file, match.book.order, match.book.seed) == ("book.epd", "random", 5)
    assert parse(str(toml), "--book", "other.epd").book == Book("other.epd", "random")
    assert match.adjudication.draw == DrawRule(40, 8, 10)
    assert match.adjudication.max_moves == 200
    assert match.time_margin == 0.05


def test_describes_a_match_on_the_command_line_alone() -> None:
    match = parse(
        *("--engine", "cmd=python a.py", "name=A", "arg=x y", "option.Move Overhead=5"),
        *("--engine", "python", "name=B", "nodes=9"),
        *("--each", "tc=5+0.1", "option.Hash=4"),
    )
    first, second = match.engines
    assert first.command == ("python", "a.py", "x y")
    assert dict(first.options) == {"Hash": "4", "Move Overhead": "5"}
    assert str(first.limit) == "5+0.1"
    assert str(second.limit) == "nodes=9"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("rounds = 50", "rounds = = 50", "Invalid value (at line 1, column 10)"),
        ("rounds = 50", "rounds = true", "rounds must be a whole number, not True"),
        ("rounds = 50", "round = 50", "round is not a known key; known keys: "),
        ("rounds = 50", "resume = true", "resume is not a known key"),
        ('file = "book.epd"\n', "", "book needs the key 'file'"),
        ("max_moves = 200", 'max_moves = "x"', "adjudication.max_moves must be a whole number, not 'x'"),
        ('tc = "nodes=5000"', 'tc = "nodes=no"', "engines[2]: engine old: 'nodes=no' is not a time control"),
        ("[[engines]]\nname", "[[engines]]\nnmae", "engines[1].nmae is not a known key"),
        ("options = {Hash = 32, Ponder = false}", "options = 3", "engines[1].options must be a table, not 3"),
        ("rounds = 50", 'pgn = "a\\u0000b"', "pgn contains a null character"),
        ('"old engine.py"]', '"a\\u0000b"]', "engines[2].command contains a null character"),
    ],
)
def test_names_file_and_key(toml: Path, old: str, new: str, message: str) -> None:
    assert old in TOML
    toml.write_text(TOML.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(DescriptionError) as caught:
        parse(str(toml))
    assert str(caught.value).startswith(f"{toml}: {message}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("rounds = 50", "rounds = 0", "rounds must be at least 1 (got 0)"),
        ("rounds = 50", "hang_seconds = nan", "hang_seconds must be at least 0.1 (got nan)"),
        ("moves = 3", "moves = 0", "adjudication.resign.moves must be at least 1 (got 0)"),
        ('order = "random"', 'order = "any"', "book.order must be one of sequential, random (got 'any')"),
        ('name = "old"', 'name = "new"', "two engines are called new"),
        ("max_moves = 200", 'tablebases = "~/no tables"', f"tablebases {Path.home()}/no tables: No such file"),
    ],
)
def test_refuses_what_makes_no_sense(toml: Path, old: str, new: str, message: str) -> None:
    toml.write_text(TOML.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(DescriptionError) as caught:
        parse(str(toml))
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no engines"),
        (["--engine", "cmd=a", "name=A"], "two engines"),
        (["--engine", "cmd=a", "--engine", "cmd=b", "colour=red"], "colour=red"),
        (["--engine", "cmd=a", "--engine", "cmd=b", "tc=soon"], "'soon' is not a time control"),
        (["--engine", "cmd=a", "--engine", "cmd=b", "--resign", "3"], "--resign 3: expected 2 whole numbers"),
        (["--engine", "cmd=a", "--engine", "cmd=b", "--seed", "3"], "--seed needs --book"),
        (["--engine", "cmd=a", "--engine", "cmd=b", "--resume"], "resume needs pgn"),
        (["--engine", "cmd=a", "--engine", "cmd=b", "restart=true"], "restart=true: expected on or off"),
        (["--engine", "cmd=a", "--engine", "cmd=b", "--tb", "no tables"], "tablebases no tables: No such file"),
        (["missing.toml"], "missing.toml: No such file"),
    ],
)
def test_refuses_a_senseless_command_line(arguments: list[str], message: str) -> None:
    with pytest.raises(DescriptionError, match=message):
        parse(*arguments)


def test_the_fingerprint_ignores_what_does_not_change_a_game(toml: Path) -> None:
    match = parse(str(toml))
    assert match.fingerprint() == parse(str(toml), "--rounds", "9", "--concurrency", "1").fingerprint()
    assert match.fingerprint() != parse(str(toml), "--max-moves", "9").fingerprint()
