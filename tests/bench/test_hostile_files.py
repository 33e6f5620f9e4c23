"""Files that users name may be pipes, devices, endless, damaged or full of terminal escapes: every reader says so."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import os
import re
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from bench import openings, records
from bench.description import DescriptionError, MatchDescription, read_toml
from bench.openings import BookError, load_openings
from bench.pairs import StateFile
from bench.pgn import _END, _TAG, read_games
from bench.runners.external import _FINISHED, _LONGEST_LINE
from bench.suites import load_suite, parse_problem
from bench.timecontrol import TimeControl
from bench.uci import _REFUSAL
from engine.uci.book import Book
from eval.build import _check_source, _choice_of_text
from eval.network.format import read_network
from eval.training.shards import is_empty, read_shard
from search.explorer.command import read_file
from search.explorer.positions import read_board
from search.theory.lattice_text import make_lattice
from search.theory.tree_text import read_tree

ROOT = Path(__file__).resolve().parents[2]
START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -"
ESCAPE = "\x1b[31m"

READERS: dict[str, Callable[[Path], object]] = {
    "book of openings": load_openings,
    "suite": lambda path: load_suite(path, []),
    "games": lambda path: list(read_games(path)),
    "match description": read_toml,
    "state of a run": lambda path: StateFile(path, "spsa"),
    "opening book": Book,
    "evaluation": lambda path: _check_source(_choice_of_text(str(path))),
    "network": read_network,
    "shard": read_shard,
    "unfinished shard": lambda path: is_empty(path, 0, {}),
    "file of the explorer": read_file,
}


def unreadable(kind: str, folder: Path) -> Path:
    path = folder / "thing"
    if kind == "pipe":
        if not hasattr(os, "mkfifo"):
            pytest.skip("this system has no named pipes")
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero")
    return path


@pytest.mark.parametrize("kind", ["pipe", "folder", "device"])
@pytest.mark.parametrize("reader", READERS)
def test_only_regular_files_are_read(reader: str, kind: str, tmp_path: Path) -> None:
    path = unreadable(kind, tmp_path)
    with pytest.raises((ValueError, OSError), match=f"is a {kind}, not a file") as caught:
        READERS[reader](path)
    assert str(path) in str(caught.value)


BOOK = f'{START} id "start";\n'.encode() * 2000


def zipped(data: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("book.epd", data)
    return buffer.getvalue()


COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    ".epd.gz": gzip.compress,
    ".epd.bz2": bz2.compress,
    ".zip": zipped,
}


@pytest.mark.parametrize("ending", COMPRESSORS)
def test_a_damaged_compressed_book_is_refused_wherever_the_damage_is(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"book{ending}"
    whole = COMPRESSORS[ending](BOOK)
    refusals = []
    for place in range(0, len(whole), max(1, len(whole) // 60)):
        for data in (whole[:place], whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :]):
            path.write_bytes(data)
            try:
                load_openings(path, count=1)
            except BookError as error:
                refusals.append(str(error))
    assert len(refusals) > 60
    assert all(re.fullmatch(rf"{re.escape(str(path))}: .+", refusal) for refusal in refusals)


@pytest.mark.parametrize("ending", COMPRESSORS)
def test_a_decompression_bomb_is_refused(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / f"bomb{ending}"
    path.write_bytes(COMPRESSORS[ending](bytes(3 << 20)))
    monkeypatch.setattr(openings, "MOST_BYTES", 2 << 20)
    with pytest.raises(BookError, match="larger than 2 MiB after decompression"):
        load_openings(path)
    monkeypatch.setattr(openings, "MOST_BYTES", 20)
    with pytest.raises(BookError, match="larger than 20 bytes"):
        load_openings(path)


@pytest.mark.parametrize("variant", ["Crazyhouse", "Chess960", "Martian"])
def test_games_of_other_variants_are_left_out(variant: str, tmp_path: Path) -> None:
    path = tmp_path / "book.pgn"
    game = '[Event "?"]\n[Variant "{}"]\n\n1. e4 e5 *\n\n'
    path.write_text(game.format(variant) + game.format("Standard") + game.format("From Position"))
    problems: list[str] = []
    assert len(load_openings(path, problems=problems)) == 2
    (problem,) = problems
    assert problem.startswith(f"{path}:1: ")
    assert variant.lower() in problem.lower()


#: Characters of a hostile line: a pattern that takes quadratic time takes minutes.
LONG = 30_000

#: What such a line is made of. Each of them stopped some pattern.
HOSTILE = [*' \t9a"[{(', '\\"', "a;", "a ;", "a=", "a.", "a=1 ", "[ ", "{ ", "* ", "1/", "1.", "M1", "9/", " x", " x "]
HOSTILE += ['"]', " vs ", "[%emt 1:", "n=", "bm e4;", "bm e4 ", "c0 "]

PARSERS: dict[str, Callable[[str], object]] = {
    "suite": lambda text: parse_problem(f"{START} {text}"),
    "suite, behind an operation": lambda text: parse_problem(f"{START} bm{text}"),
    "grades": lambda text: parse_problem(f'{START} bm e4; c0 "{text}'),
    "tags": lambda text: _TAG.fullmatch(text),
    "tag's value": lambda text: _TAG.fullmatch(f'[White "{text}'),
    "results": _END.search,
    "runner's output": lambda text: _FINISHED.fullmatch(f"Finished game 1 ({text}"[:_LONGEST_LINE]),
    "engine's refusal": lambda text: _REFUSAL.match(f"info string network {text}"),
    "time control": TimeControl.parse,
    "clock": lambda text: TimeControl.parse(f"1{text}"),
    "tree": read_tree,
    "list": lambda text: read_tree(f"[{text}", "list"),
    "JSON": lambda text: read_tree(f"[{text}", "json"),
    "indented tree": lambda text: read_tree(f"MAX\n {text}", "indented"),
    "lattice": lambda text: [make_lattice(kind, text) for kind in ("product", "finite", "intervals")],
    "position": read_board,
    "move of a game": lambda text: read_board('[Event "?"]\n\n1. e4 e5 *', text),
}


@pytest.mark.parametrize("parser", PARSERS)
def test_hostile_lines_take_no_more_than_their_time(parser: str) -> None:
    parse = PARSERS[parser]
    began = time.process_time()
    for unit in HOSTILE:
        text = unit * (LONG // len(unit))
        for line in (text, f"{text}!", f'"{text}'):
            with contextlib.suppress(ValueError):
                parse(line)
            # All lines together take seconds of the processor; one in a quadratic pattern takes more than this.
            assert time.process_time() - began < 30, line[:20]


@pytest.mark.parametrize(
    "text",
    [
        "event = " + "[" * 10_000,
        "event = " + "{a=" * 10_000,
        "a." * 3_000 + "a = 1",
        "rounds = " + "9" * 5_000,
        "rounds = 1" + "0" * 30,
        "hang_seconds = nan",
        "time_margin = 1e999",
        "concurrency = 100000000000",
        "adjudication.max_moves = -1",
        "adjudication.draw = {from_move = 1, moves = -4, score = 5}",
        "book = {file = 'book.epd', plies = -3}",
    ],
)
def test_descriptions_that_make_no_sense_are_refused_in_one_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "match.toml"
    engines = "".join(f'[[engines]]\nname = "{name}"\ncommand = "true"\n' for name in "ab")
    path.write_text(f"{text}\n{engines}")
    with pytest.raises(DescriptionError) as caught:
        MatchDescription(**read_toml(path))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


BAD_JSON = ("[" * 100_000, '{"a":' * 100_000, "NaN", '{"a": 1e999}', "9" * 5000, "[" * 500 + "]" * 500)


@pytest.mark.parametrize("text", BAD_JSON, ids=lambda text: text[:6])
def test_json_that_is_none_is_refused_in_one_line(text: str, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    (ledger / "suites").mkdir(parents=True)
    (ledger / "a.json").write_text(text)
    with pytest.raises(records.LedgerError, match=r"a\.json"):
        records.load(ledger)
    (ledger / "suites" / "a.json").write_text(text)
    with pytest.raises(records.LedgerError, match=r"a\.json"):
        records.load_suites(ledger)
    run = tmp_path / "run"
    run.write_text(text + "\n")
    with pytest.raises(ValueError, match="run: already exists and is not a state of `secateur spsa`"):
        StateFile(run, "spsa")
    with pytest.raises(ValueError, match="run:1"):
        StateFile(run, "spsa", write=False)
    trace = tmp_path / "trace.json"
    trace.write_text(f'{{"format": "secateur trace", "version": 1, "kind": "chess", "x": {text}}}')
    with pytest.raises(ValueError, match="damaged trace"):
        read_file(trace)


def test_names_from_files_hold_no_terminal_escapes(tmp_path: Path) -> None:
    suite, games, book = tmp_path / "a.epd", tmp_path / "a.pgn", tmp_path / "book.epd"
    suite.write_text(f'{START} bm e4; id "{ESCAPE}";\n{START} bm {ESCAPE}e5;\n{START} {ESCAPE};\n')
    problems: list[str] = []
    (problem,) = load_suite(suite, problems)
    book.write_text(f'{START} id "{ESCAPE}";\n{ESCAPE} w - - 0 1\n')
    (opening,) = load_openings(book, problems=problems)
    name = "x" * 10_000
    games.write_text(
        f'[White "{ESCAPE}[red]"]\n[Black "{name}"]\n[Result "1-0"]\n\n1. e4 1-0\n\n'
        f'[White "A"]\n[Result "{ESCAPE}"]\n\n1. e4 1-0\n\n[{ESCAPE}\n\n1. e4 1-0\n'
        f'[White "A"]\n[Result "1-0"]\n\n1. {ESCAPE}e5 1-0\n\n'
    )
    (game,) = read_games(games, problems)
    assert len(problems) == 6
    texts = [problem.name, opening.name, game.white, game.black, *problems]
    assert all(text.isprintable() and len(text) < 400 for text in texts), texts
