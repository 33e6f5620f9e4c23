"""The network file: what is written is read, and whatever else is refused with what was expected and found."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eval.network.format import (
    SHIPPED,
    Network,
    NetworkError,
    encode_network,
    network_digest,
    read_network,
    shipped_network,
    write_network,
)
from eval.network.layout import BUCKETS, THREATS
from tests.eval.networks import random_network

ARRAYS = ("features", "bias", "output", "output_bias")


@pytest.mark.parametrize("hidden", [32, 128, 512])
@pytest.mark.parametrize(("buckets", "threats"), list(itertools.product(BUCKETS, (False, True))))
def test_what_is_written_is_read(hidden: int, buckets: int, threats: bool, tmp_path: Path) -> None:
    network = replace(random_network(3, hidden, buckets, threats), scale=370)
    write_network(tmp_path / "a.snet", network)
    found = read_network(tmp_path / "a.snet")
    for name in ARRAYS:
        assert np.array_equal(getattr(found, name), getattr(network, name)), name
        assert getattr(found, name).dtype == getattr(network, name).dtype
    assert found.architecture() == network.architecture()
    assert (*found.shape(), found.scale) == (hidden, buckets, threats, 370)
    assert found.provenance == network.provenance == {"data": "noise", "seed": 3}
    assert [path.name for path in tmp_path.iterdir()] == ["a.snet"]


def test_the_layout_is_the_documented_one() -> None:
    network = random_network(4, 64, 1)
    data = encode_network(network)
    magic, version, length = struct.unpack_from("<8sII", data)
    assert (magic, version) == (b"SECATNET", 2)
    header = json.loads(data[16 : 16 + length])
    assert header["architecture"] == {
        "features": "mirrored-768",
        "hidden": 64,
        "activation": "screlu",
        "buckets": 1,
        "qa": 511,
        "qb": 8192,
        "scale": 400,
    }
    begin = -(-(16 + length) // 64) * 64
    assert not any(data[16 + length : begin])
    first_row = np.frombuffer(data, "<i2", 64, begin)
    assert np.array_equal(first_row, network.features[0])
    assert len(data) == begin + 2 * 64 * (768 + 1 + 2) + 4 + 32
    assert data[-32:] == hashlib.sha256(data[:-32]).digest()


def test_a_digest_is_of_the_numbers_and_not_of_the_origin() -> None:
    network = random_network(1)
    other_bias = network.output_bias.copy()
    other_bias[0] += 1
    digest = network_digest(encode_network(network))
    assert re.fullmatch("[0-9a-f]{64}", digest)
    assert network_digest(encode_network(replace(network, provenance={"date": "another"}))) == digest
    assert network_digest(encode_network(replace(network, output_bias=other_bias))) != digest
    assert network_digest(encode_network(replace(network, scale=network.scale + 1))) != digest
    assert network_digest(b"") == ""


def sealed(data: bytes) -> bytes:
    """With a checksum that fits."""
    return data[:-32] + hashlib.sha256(data[:-32]).digest()


def with_architecture(data: bytes, **changes: Any) -> bytes:
    """With another header of the same length, and a checksum that fits."""
    (length,) = struct.unpack_from("<I", data, 12)
    header = json.loads(data[16 : 16 + length])
    header["architecture"] |= changes
    text = json.dumps(header).encode()
    assert len(text) <= length
    return sealed(data[:16] + text.ljust(length) + data[16 + length :])


DAMAGE: list[tuple[str, Callable[[bytes], bytes], str]] = [
    ("empty", lambda data: b"", "begins with b'', expected b'SECATNET'"),
    ("another file", lambda data: b"\x89PNG\r\n\x1a\n" + data, "not a network file"),
    ("cut in the head", lambda data: data[:12], "cut short: 12 bytes"),
    ("newer", lambda data: data[:8] + b"\3" + data[9:], "version 3, expected 2"),
    ("cut in the header", lambda data: data[:40], "the file has only 40"),
    ("header too long", lambda data: data[:12] + b"\xff\xff\xff\xff" + data[16:], "should have 4294967295 bytes"),
    ("no JSON", lambda data: sealed(data[:16] + b"!" + data[17:]), "must be JSON with architecture and provenance"),
    ("cut short", lambda data: data[:-1000], "cut short: "),
    ("too long", lambda data: data + b"\0", "too long: "),
    ("one bit", lambda data: data[:3000] + bytes([data[3000] ^ 1]) + data[3001:], "damaged: its SHA-256 is "),
    ("other features", lambda data: with_architecture(data, features="halfkp"), "expected 'mirrored-768'"),
    ("other activation", lambda data: with_architecture(data, activation="relu"), "'relu', expected 'screlu'"),
    ("other units", lambda data: with_architecture(data, qa=127), "qa is 127, expected 511"),
    ("other width", lambda data: with_architecture(data, hidden=64), "cut short"),
    ("great width", lambda data: with_architecture(data, hidden=1056), "hidden is 1056"),
    ("truth for a number", lambda data: with_architecture(data, buckets=True), "buckets is True, expected 1 or 8"),
    ("other buckets", lambda data: with_architecture(data, buckets=4), "buckets is 4"),
    ("a number for threats", lambda data: with_architecture(data, threats=1), "threats is 1, expected true or false"),
    ("rows for threats", lambda data: with_architecture(data, threats=True), "cut short"),
    ("no scale", lambda data: with_architecture(data, scale=0), "scale is 0"),
]


@pytest.mark.parametrize(("damage", "message"), [row[1:] for row in DAMAGE], ids=[row[0] for row in DAMAGE])
def test_what_is_not_whole_is_refused(damage: Callable[[bytes], bytes], message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.snet"
    path.write_bytes(damage(encode_network(random_network())))
    with pytest.raises(NetworkError) as caught:
        read_network(path)
    text = str(caught.value)
    assert message in text
    assert text.startswith(f"{path}: ")
    assert "\n" not in text


def test_weights_that_could_overflow_are_refused() -> None:
    network = random_network()
    output = network.output.copy()
    output[0, 0, 0] = -16385
    with pytest.raises(NetworkError, match="the largest absolute output weight is 16385, expected at most 16384"):
        replace(network, output=output)
    features = network.features.copy()
    features[:, 3] = -1100
    with pytest.raises(NetworkError, match="an accumulator may reach -3"):
        replace(network, features=features)
    features[:, 3] = 0
    features[:64, 3] = 1020  # one piece type on all squares: 32 of them fit
    assert replace(network, features=features, bias=np.full(32, 127, np.int16)).hidden == 32
    with pytest.raises(NetworkError, match="an accumulator may reach 32768, expected -32768 to 32767"):
        replace(network, features=features, bias=np.full(32, 128, np.int16))


def test_rows_of_threats_could_overflow() -> None:
    network = random_network(threats=True)
    features, threats = np.zeros_like(network.features), np.zeros((THREATS, 32), np.int8)
    features[:64, 3] = 900
    # The row of a hanging piece is added to the piece's own: 32 * (900 + 120) and the bias.
    threats[:64, 3] = 120
    assert replace(network, features=features, threats=threats, bias=np.full(32, 127, np.int16)).has_threats
    with pytest.raises(NetworkError, match="an accumulator may reach 32768, expected -32768 to 32767"):
        replace(network, features=features, threats=threats, bias=np.full(32, 128, np.int16))
    # A check of each kind adds the largest of its rows.
    threats[768 : 768 + 2 * 64, 3] = 100
    assert replace(network, features=features, threats=threats, bias=np.full(32, -73, np.int16)).has_threats
    with pytest.raises(NetworkError, match="an accumulator may reach 32768, expected -32768 to 32767"):
        replace(network, features=features, threats=threats, bias=np.full(32, -72, np.int16))
    # A row that lowers the sum counts only below.
    features[:64, 3], threats[:64, 3], threats[768:, 3] = -950, -120, 0
    with pytest.raises(NetworkError, match="an accumulator may reach -34112, expected -32768 to 32767"):
        replace(network, features=features, threats=threats, bias=np.full(32, 128, np.int16))


def test_the_description_names_the_architecture() -> None:
    assert random_network(1, 64, 1).describe() == "(768 -> 64)x2 -> 1, 1 output layer"
    network = random_network(1, 32, 8, threats=True)
    assert network.describe() == "(768 + 1280 threats -> 32)x2 -> 1, 8 output layers"
    assert network.architecture()["threats"] is True


def test_arrays_of_another_shape_are_refused() -> None:
    network = random_network()
    with pytest.raises(NetworkError, match=r"features is int16\[767, 32\], expected int16\[768, 32\]"):
        replace(network, features=network.features[1:])
    with pytest.raises(NetworkError, match=r"threats is int8\[768, 32\], expected int8\[1280, 32\]"):
        replace(network, threats=np.zeros((768, 32), np.int8))
    with pytest.raises(NetworkError, match="output is int32"):
        replace(network, output=network.output.astype(np.int32))


def test_the_shipped_network_is_whole() -> None:
    network = shipped_network()
    assert (network is not None) == SHIPPED.exists()
    if network is not None:
        assert SHIPPED.stat().st_size < 3 << 20
        assert network.provenance["licence"] == "GPL-3.0-or-later"
        assert isinstance(network, Network)
