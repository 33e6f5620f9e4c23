"""`net`: network files described, and evaluations compared on games; the errors against sums made by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import uci_main
from eval.training.commands import net


def test_net_shows_what_a_file_is(trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert uci_main.main(["net", str(trained)]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{trained}: (768 -> 32)x2 -> 1, 8 output layers\n")
    for words in ("SHA-256    ", '"licence": "GPL-3.0-or-later"', '"seed": 1', "QA 511, QB 8192, scale "):
        assert words in out
    assert net.main([str(trained), "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    assert told["architecture"]["hidden"] == 32
    assert told["bytes"] == trained.stat().st_size

    damaged = tmp_path / "damaged.snet"
    data = bytearray(trained.read_bytes())
    data[-1000] ^= 1
    damaged.write_bytes(data)
    assert net.main([str(damaged), str(trained)]) == 1
    out, err = capsys.readouterr()
    assert err.startswith(f"secateur net: {damaged}: ")
    assert len(err.splitlines()) == 1
    assert out.startswith(str(trained))
