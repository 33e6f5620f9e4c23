"""The archive: exact round trips, its size, and the refusal of damaged files."""

from __future__ import annotations

import json
import os
import shutil
import signal
import threading
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.compiler.jit import INTERPRETED
from engine.memory import allocate
from eval.training.archive import MANIFEST, archive_runs, read_manifest, restore_runs
from eval.training.commands import datagen
from eval.training.generation import generate
from eval.training.kernels.archiving import CANCELLED, decode_games, encode_games
from eval.training.kernels.coding import CODER, code_bit, code_number, finish_coder, slot_of, start_coder
from eval.training.kernels.records import GAME
from eval.training.samples import samples
from eval.training.shards import (
    ARCHIVE,
    ShardError,
    ShardWriter,
    decode_archive,
    encode_archive,
    encode_block,
    find_shards,
    only_writer,
    read_shard,
)
from tests.training.conftest import QUICK, Record

compiled_only = pytest.mark.skipif(INTERPRETED, reason="too slow")


def joined(records: list[Record]) -> tuple[Any, Any]:
    games = allocate(GAME, len(records))
    games[:] = np.concatenate([record.game for record in records])
    return games, np.concatenate([record.plies for record in records])


def no_report(done: int, count: int) -> None:
    pass


@pytest.fixture(scope="module")
def archived(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive of the folder `made`; not to be changed."""
    archive = tmp_path_factory.mktemp("archived")
    archive_runs([made], archive, "7fc62b7", no_report)
    return archive


# --- the coder -------------------------------------------------------------------------------------------------------


def coded(coder: Any, data: Any, decodes: int, bits: list[int]) -> list[int]:
    """Codes bits in three contexts, and a number after each."""
    start_coder(coder, data, decodes)
    found = []
    for index, bit in enumerate(bits):
        for context in range(3):
            coder["slots"][context] = slot_of(context, index % (5 + context))
        found.append(int(code_bit(coder, data, 0, 3, bit)))
        found.append(int(code_number(coder, data, 9, 5, 31 * bit)))
    if not decodes:
        finish_coder(coder, data)
    return found


def test_a_decoder_returns_the_bits_and_predictable_bits_take_little_space() -> None:
    rng = np.random.default_rng(1)
    likely = [int(index % 5 == 0) for index in range(600)]
    random = rng.integers(2, size=600).tolist()
    sizes = []
    for bits in (likely, random):
        coder, data = allocate(CODER, 1)[0], np.zeros(4000, np.uint8)
        told = coded(coder, data, 0, bits)
        used = int(coder["used"])
        assert told[::2] == bits
        assert coded(coder, data[:used].copy(), 1, [0] * len(bits)) == told
        sizes.append(used)
    # The numbers take at most a bit each in both cases.
    assert sizes[0] < 30 + 60
    assert 600 / 8 <= sizes[1] < 2 * 600 / 8 + 60


# --- games -----------------------------------------------------------------------------------------------------------


def test_games_of_all_variants_come_back_exactly(records: list[Record]) -> None:
    games, plies = joined(records[::16] if INTERPRETED else records)
    code = encode_games(games, plies)
    assert code is not None
    again = decode_games(code, len(games), len(plies))
    assert again is not None
    assert (again[0].tobytes(), again[1].tobytes()) == (games.tobytes(), plies.tobytes())


@compiled_only
def test_any_score_comes_back_exactly(records: list[Record]) -> None:
    games, plies = joined(records[:8])
    extremes = [-32_768, 32_767, 0, 1, -1, 32_000, -32_000, 255, -256]
    plies["score"] = [extremes[index % len(extremes)] for index in range(len(plies))]
    code = encode_games(games, plies)
    assert code is not None
    again = decode_games(code, len(games), len(plies))
    assert again is not None
    assert again[1].tobytes() == plies.tobytes()


@compiled_only
def test_other_code_never_reads_or_writes_beyond_its_arrays(records: list[Record]) -> None:
    """A wrong code gives other games or none."""
    games, plies = joined(records[:8])
    code = encode_games(games, plies)
    assert code is not None
    rng = np.random.default_rng(1)
    for _ in range(200):
        wrong = bytearray(code)
        for place in rng.integers(len(code), size=3).tolist():
            wrong[place] ^= int(rng.integers(1, 256))
        decode_games(bytes(wrong), len(games), len(plies))
    assert decode_games(code[:50], len(games), len(plies)) is None
    assert decode_games(code, len(games), len(plies) + 1) is None
    assert decode_games(b"", 1, 1) is None


def test_games_that_are_not_of_chess_have_no_code(records: list[Record]) -> None:
    games, plies = joined(records[:1])
    assert encode_games(games, plies[:-1]) is None
    illegal = plies.copy()
    illegal["move"][-1] = 1 << 6
    assert encode_games(games, illegal) is None
    games[0]["start"]["occupied"] = 1
    assert encode_games(games, plies) is None


# --- shards ----------------------------------------------------------------------------------------------------------


@compiled_only
def test_an_archived_shard_is_read_like_the_shard(made: Path, archived: Path) -> None:
    (path,) = find_shards(archived / made.name)
    (original,) = find_shards(made)
    assert decode_archive(path, path.read_bytes()) == original.read_bytes()
    found, expected = read_shard(path), read_shard(original)
    assert (found.number, found.settings, found.blocks) == (expected.number, expected.settings, expected.blocks)
    assert found.games.tobytes() == expected.games.tobytes()
    both = zip(samples([archived / made.name]), samples([made]), strict=True)
    assert all(one.tobytes() == other.tobytes() for one, other in both)
    # So few games teach the model little; the documentation states the size of large shards.
    assert path.stat().st_size < 0.5 * original.stat().st_size


@compiled_only
def test_every_damage_is_noticed(made: Path, archived: Path, tmp_path: Path) -> None:
    data = next((archived / made.name).iterdir()).read_bytes()
    path = tmp_path / "shard-000000.archive"
    for place in [*range(ARCHIVE.itemsize), *range(ARCHIVE.itemsize, len(data), len(data) // 40)]:
        path.write_bytes(data[:place] + bytes([data[place] ^ 64]) + data[place + 1 :])
        with pytest.raises(ShardError, match=r"shard-000000\.archive: (is|has) "):
            read_shard(path)
    for size in (0, 5, ARCHIVE.itemsize - 1, ARCHIVE.itemsize, 300, len(data) - 1):
        path.write_bytes(data[:size])
        with pytest.raises(ShardError, match=r"shard-000000\.archive: is "):
            read_shard(path)


def test_an_archive_without_games_is_corrupt(made: Path, archived: Path, tmp_path: Path) -> None:
    data = bytearray(next((archived / made.name).iterdir()).read_bytes())
    head = np.frombuffer(data, ARCHIVE, 1)
    head["block_games"], head["positions"] = 0, 0
    head["crc"] = zlib.crc32(data[16:])
    path = tmp_path / "shard-000000.archive"
    path.write_bytes(data)
    with pytest.raises(ShardError, match="is corrupt: its counts"):
        read_shard(path)


@compiled_only
def test_a_run_may_have_any_name(made: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(made, tmp_path / os.fsdecode(b"games \xff")))
    archive_runs([folder], tmp_path / "archive", None, no_report)
    (run,) = restore_runs(tmp_path / "archive", tmp_path / "back", no_report)
    assert run == folder.name


@compiled_only
def test_blocks_of_different_sizes_cannot_be_archived(records: list[Record], tmp_path: Path) -> None:
    with closing(ShardWriter(tmp_path, 0, {})) as writer:
        for number, part in enumerate((records[:3], records[3:5])):
            writer.append(encode_block(number, *joined(part)))
        path = writer.finish()
    with pytest.raises(ShardError, match="cannot be archived: its blocks must have the same number of games"):
        encode_archive(path)


@compiled_only
def test_a_shard_beside_its_archive_counts_once(made: Path, archived: Path, tmp_path: Path) -> None:
    for folder in (made, archived / made.name):
        for path in folder.glob("shard-*"):
            shutil.copy(path, tmp_path)
    assert [path.name for path in find_shards(tmp_path)] == ["shard-000000.games"]


def test_no_games_are_added_to_archived_shards(tmp_path: Path) -> None:
    (tmp_path / "shard-000000.archive").touch()
    with pytest.raises(ShardError, match="contains archived shards; restore them, or use another folder"):
        generate(tmp_path, QUICK, games=16)


# --- archives --------------------------------------------------------------------------------------------------------


@compiled_only
def test_the_command_archives_and_restores(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    archive, back = tmp_path / "archive", tmp_path / "back"
    arguments = ["archive", str(made), "--output", str(archive), "--commit", "7fc62b7", "--quiet"]
    assert datagen.main(arguments) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"{archive / made.name}: 1 shards, 64 games, ")
    before = {path: path.stat().st_mtime_ns for path in (archive / made.name).iterdir()}
    assert datagen.main([*arguments, "--json"]) == 0
    assert {path: path.stat().st_mtime_ns for path in (archive / made.name).iterdir()} == before
    counts = json.loads(capsys.readouterr().out)[made.name]
    shard = read_shard(made / "shard-000000.games")
    assert (counts["shards"], counts["games"], counts["positions"]) == (1, 64, shard.positions)
    run = read_manifest(archive)[made.name]
    assert (run.settings, run.commit) == (shard.settings, "7fc62b7")
    for _ in range(2):
        assert datagen.main(["restore", str(archive), "--output", str(back), "--quiet"]) == 0
        restored = back / made.name / "shard-000000.games"
        assert restored.read_bytes() == (made / "shard-000000.games").read_bytes()
    assert datagen.main(["verify", str(archive / made.name), "--quiet"]) == 0


@compiled_only
def test_an_edited_manifest_is_not_replaced(made: Path, archived: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(archived, tmp_path / "archive"))
    path = copy / MANIFEST
    edited = path.read_text(encoding="utf-8").replace('"runs": {', '"runs": {\n  "notes": "mine",', 1)
    for text in (edited, path.read_text(encoding="utf-8").rstrip("\n")):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(ShardError, match=r"manifest\.json: (was edited|is damaged)"):
            archive_runs([made], copy, None, lambda done, count: None)
        assert path.read_text(encoding="utf-8") == text


def test_restoring_checks_the_manifest(made: Path, archived: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(archived, copy)
    path = copy / made.name / "shard-000000.archive"
    data = path.read_bytes()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(ShardError, match="differs from the manifest: wrong SHA-256"):
        restore_runs(copy, tmp_path / "back", no_report)
    path.unlink()
    with pytest.raises(FileNotFoundError):
        restore_runs(copy, tmp_path / "back", no_report)
    manifest = (copy / MANIFEST).read_text(encoding="utf-8")
    (copy / MANIFEST).write_text(manifest.replace("shard-000000", "../shard-000000"), encoding="utf-8")
    with pytest.raises(ShardError, match=r"manifest\.json: is damaged: .* is no name of an archived shard"):
        restore_runs(copy, tmp_path / "back", no_report)
    texts = ["", "{}", '{"runs": []}', *(f'{{"runs": {{"{name}": {{}}}}}}' for name in ("a", "..", "../a", "a\\u0000"))]
    texts += [manifest.replace('"games": 64', f'"games": {wrong}') for wrong in ("null", '"x"')]
    texts += [manifest.replace("shard-000000", "shard\\u0000"), manifest.replace('"7fc62b7"', "1")]
    for text in texts:
        (copy / MANIFEST).write_text(text, encoding="utf-8")
        with pytest.raises(ShardError, match=r"manifest\.json: is damaged: "):
            read_manifest(copy)


@compiled_only
@pytest.mark.usefixtures("in_process")
def test_verify_compares_an_archive_with_its_manifest(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    archive, other = tmp_path / "archive", tmp_path / "other"
    generate(other, QUICK, games=16)
    archive_runs([made, other], archive, None, no_report)
    run = archive / made.name
    whole = run / "shard-000000.archive"

    def verify(path: Path | str) -> tuple[int, str, list[str]]:
        status = datagen.main(["verify", str(path), "--quiet"])
        out, err = capsys.readouterr()
        return status, out, err.replace("secateur datagen: ", "").splitlines()

    monkeypatch.chdir(run)
    for path, games in ((archive, 80), (run, 64), (".", 64), ("..", 80)):
        status, out, problems = verify(path)
        assert (status, problems) == (0, [])
        assert f"sound shard{'s' if games == 80 else ''}: {games} games, " in out
    assert datagen.main(["stats", str(archive), "--quiet", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["games"] == 80
    # The archive of other games, sound in itself, is in the place of the one that the manifest lists.
    kept = whole.read_bytes()
    shutil.copy(archive / "other" / whole.name, whole)
    for path in (archive, run):
        assert verify(path)[::2] == (1, [f"{whole}: differs from the manifest: wrong SHA-256"])
    assert datagen.main(["verify", str(archive), "--quiet", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["sound"], len(found["problems"])) == (1, 1)
    whole.unlink()
    whole.mkdir()
    status, out, problems = verify(archive)
    assert (status, len(problems)) == (1, 1)
    assert problems[0].startswith(f"{whole}: cannot be read: ")
    assert out.startswith("1 sound shard, 1 problem: 16 games, ")
    whole.rmdir()
    # A file in a folder that the manifest does not list, and a run that is elsewhere.
    strange = archive / "strange" / whole.name
    strange.parent.mkdir()
    strange.write_bytes(kept)
    (archive / "other").rename(tmp_path / "moved")
    (archive / "other").symlink_to(tmp_path / "moved")
    problems = [f"{whole}: is in manifest.json, but missing", f"{strange}: is not in manifest.json"]
    assert verify(archive)[::2] == (1, problems)
    assert verify(archive / "other")[::2] == (0, [])
    for path in (run, strange.parent):
        assert verify(path)[::2] == (1, [problem for problem in problems if str(path) in problem])
    # A run whose folder is gone.
    (archive / "other").unlink()
    problems.insert(1, f"{archive / 'other' / whole.name}: is in manifest.json, but missing")
    assert sorted(verify(archive)[2]) == sorted(problems)


@compiled_only
def test_a_folder_with_games_is_no_archive(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = Path(shutil.copytree(made, tmp_path / "data" / "run"))
    (tmp_path / "data" / MANIFEST).write_text("something else")
    assert datagen.main(["verify", str(data), "--quiet"]) == 0
    assert datagen.main(["verify", str(tmp_path / "data"), "--quiet"]) == 1
    assert f"{tmp_path / 'data' / MANIFEST}: is damaged: " in capsys.readouterr().err
    (tmp_path / "data" / MANIFEST).write_text('{"runs": {}}')
    assert datagen.main(["verify", str(tmp_path / "data"), "--quiet"]) == 1
    assert capsys.readouterr().err == f"secateur datagen verify: {tmp_path / 'data'}: contains no runs\n"


@compiled_only
def test_an_archive_follows_a_run_that_has_grown(
    made: Path, archived: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shorter, archive = tmp_path / made.name, tmp_path / "archive"
    shorter.mkdir()
    shard = read_shard(made / "shard-000000.games")
    plies = shard.plies[int(shard.first[0]) : int(shard.first[15]) + int(shard.games[15]["plies"])]
    with closing(ShardWriter(shorter, 0, shard.settings)) as writer:
        writer.append(encode_block(0, shard.games[:16], plies))
        path = writer.finish()
    assert archive_runs([shorter], archive, None, no_report)[made.name].totals[0] == 16
    shutil.copy(made / "shard-000000.games", path)
    short = shutil.copytree(archive, tmp_path / "short")
    assert archive_runs([shorter], archive, "7fc62b7", no_report)[made.name].totals[0] == 64
    assert (archive / MANIFEST).read_bytes() == (archived / MANIFEST).read_bytes()
    with pytest.raises(ShardError, match=r"has the commit 7fc62b7 in manifest\.json, not 1234567$"):
        archive_runs([shorter], archive, "1234567", no_report)
    restore_runs(short, tmp_path, no_report)
    assert path.read_bytes() == (made / "shard-000000.games").read_bytes()
    assert "has more games than its archive; it is left unchanged" in capsys.readouterr().err


@compiled_only
def test_a_file_that_cannot_be_archived_stops_no_other(made: Path, archived: Path, tmp_path: Path) -> None:
    folders, archive = [Path(shutil.copytree(made, tmp_path / name)) for name in "ab"], tmp_path / "archive"
    (archive / "a").mkdir(parents=True)
    (archive / "a" / "shard-000000.archive").write_bytes(b"SECARCHV, but damaged")
    with pytest.raises(ShardError, match=r"^[^;]*/a/[^;]*; move or remove it, and the same command writes it anew$"):
        archive_runs(folders, archive, None, no_report)
    assert [len(run.shards) for run in read_manifest(archive).values()] == [0, 1]


def test_an_interruption_ends_the_coding(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders, archive = [Path(shutil.copytree(made, tmp_path / name)) for name in "ab"], tmp_path / "archive"
    began = threading.Event()

    def encode(path: Path) -> bytes:
        if path.parent.name == "a":
            assert began.wait(60)
            return b"SECARCHV"
        began.set()
        assert CANCELLED.wait(60)
        decode_games(b"", 1, 1)  # raises CancelledError
        return b"SECARCHV"

    monkeypatch.setattr("eval.training.archive.encode_archive", encode)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    with pytest.raises(KeyboardInterrupt):
        archive_runs(folders, archive, None, lambda done, count: signal.raise_signal(signal.SIGINT))
    assert sorted(path.name for path in archive.rglob("*.*")) == [MANIFEST, "shard-000000.archive"]
    assert not CANCELLED.is_set()


def test_nothing_is_written_into_another_archive(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = tmp_path / "archive"

    def encode(path: Path) -> bytes:
        archive.rename(tmp_path / "moved")
        (archive / made.name).mkdir(parents=True)
        return b"SECARCHV"

    monkeypatch.setattr("eval.training.archive.encode_archive", encode)
    with pytest.raises(OSError, match="was moved or replaced"):
        archive_runs([made], archive, None, no_report)
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "lock"]


@compiled_only
def test_a_folder_with_a_writer_or_an_unfinished_shard_is_not_restored_into(
    made: Path, archived: Path, tmp_path: Path
) -> None:
    folder = tmp_path / made.name
    folder.mkdir()
    with only_writer(folder, "anything"), pytest.raises(ShardError, match="is making or restoring games there"):
        restore_runs(archived, tmp_path, no_report)
    (folder / "shard-000000.part").touch()
    with pytest.raises(ShardError, match=r"000\.part: is the same shard, unfinished; finish it "):
        restore_runs(archived, tmp_path, no_report)
    assert [path.name for path in folder.iterdir()] == ["shard-000000.part"]
    (folder / "shard-000000.part").unlink()
    restore_runs(archived, tmp_path, no_report)
    shutil.copy(folder / "shard-000000.games", folder / "shard-000000-2.games")
    assert [path.name for path in find_shards(folder)] == ["shard-000000.games"]


@compiled_only
def test_nothing_is_replaced(made: Path, archived: Path, tmp_path: Path) -> None:
    """Neither another run's files nor a user's."""
    (shard,) = find_shards(made)
    other = tmp_path / made.name
    other.mkdir()
    with closing(ShardWriter(other, 0, read_shard(shard).settings)) as writer:
        data = shard.read_bytes()
        shard_records = read_shard(shard)
        games, first = shard_records.games[:16], int(shard_records.first[16])
        writer.append(encode_block(1, games, shard_records.plies[int(shard_records.first[0]) : first]))
        writer.finish()
    copy = tmp_path / "copy"
    shutil.copytree(archived, copy)
    with pytest.raises(ShardError, match="is the archive of another shard; it is not replaced"):
        archive_runs([other], copy, None, no_report)
    with pytest.raises(ShardError, match="is another shard; it is not replaced"):
        restore_runs(copy, tmp_path, no_report)
    notes = copy / made.name / "shard-000000.archive"
    notes.write_text("my notes", encoding="utf-8")
    with pytest.raises(ShardError, match="is not an archived shard"):
        archive_runs([made], copy, None, no_report)
    assert notes.read_text(encoding="utf-8") == "my notes"
    assert shard.read_bytes() == data


@pytest.mark.parametrize(
    ("arguments", "status", "line"),
    [
        ("archive", 2, "the following arguments are required: FOLDER, --output"),
        ("archive empty --output out", 1, "empty: contains no finished shards"),
        ("restore empty --output out", 1, "empty/manifest.json: No such file or directory"),
    ],
)
def test_errors_are_one_line(
    arguments: str,
    status: int,
    line: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    main: Callable[[list[str]], int] = datagen.main
    try:
        found: Any = main([*arguments.split(), "--quiet"] if "out" in arguments else arguments.split())
    except SystemExit as end:
        found = end.code
    assert found == status
    assert capsys.readouterr().err == f"secateur datagen {arguments.split()[0]}: {line}\n"
