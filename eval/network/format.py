"""The format of network files, which contain the weights, the architecture, the provenance and a checksum.

    magic             b"SECATNET"
    version           uint32
    header's length   uint32
    header            JSON, UTF-8: {"architecture": {...}, "provenance": {...}}
    padding           zeros up to a multiple of 64 from the start of the file
    features          int16[FEATURES][hidden]
    bias              int16[hidden]
    output            int16[buckets][own, opponent's][hidden]
    output bias       int32[buckets]
    threats           int8[THREATS][hidden], only if the architecture has "threats": true
    policy rows       int8[POLICY_ROWS][hidden], and
    policy bias       int32[POLICY_CLASSES] in units of 1 / LOGIT, both only if the architecture has "policy": true
    checksum          SHA-256 of everything before it, 32 bytes

Numbers are little-endian. `eval.network.layout` explains the arrays; the architecture in the header must fit that
layout. The provenance has no fixed fields: the trainer writes data, seed, date and licence there.
"""

from __future__ import annotations

import functools
import hashlib
import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from engine.errors import CommandError
from engine.files import Output, parse_json, read_bytes, reason, shown
from eval.network.layout import (
    BLOCK,
    BUCKETS,
    FEATURES,
    LOGIT,
    MAX_HIDDEN,
    MOST_PIECES,
    OUTPUT_LIMIT,
    POLICY_BLOCK,
    POLICY_CLASSES,
    POLICY_ROWS,
    QA,
    QB,
    SCALE,
    THREATS,
    new_network,
)

MAGIC: Final = b"SECATNET"
VERSION: Final = 2

#: The name of the feature set that `eval.kernels.features` computes.
FEATURE_SET: Final = "mirrored-768"
ACTIVATION: Final = "screlu"

#: The largest absolute value of a policy's bias, a logit of 1000: far more than training reaches, and far less than the
#: move picker can pack.
POLICY_BIAS_LIMIT: Final = 1000 * LOGIT

#: The largest number of centipawns for an output of 1 that a file may contain.
MAX_SCALE: Final = 10_000

#: The file of the network that comes with the engine.
SHIPPED: Final = Path(__file__).parent / "default.snet"

_HEAD: Final = struct.Struct("<8sII")
_ALIGNMENT: Final = 64
_CHECKSUM_BYTES: Final = 32

_INT16: Final = np.iinfo(np.int16)


class NetworkError(CommandError, ValueError):
    """Raised if a network cannot be used; the message says in one line what is wrong."""


@dataclass(frozen=True)
class Network:
    """A quantised network and its provenance. Raises NetworkError unless the kernels can evaluate it exactly.

    `features` is int16[FEATURES, hidden], `bias` int16[hidden], `output` int16[buckets, 2, hidden], `output_bias`
    int32[buckets]; `scale` is the number of centipawns for an output of 1. `threats` is int8[THREATS, hidden], or None
    if the network has no rows for threats. `policy_rows` is int8[POLICY_ROWS, hidden] and `policy_bias`
    int32[POLICY_CLASSES]; both are None if the network has no policy.
    """

    features: npt.NDArray[np.int16]
    bias: npt.NDArray[np.int16]
    output: npt.NDArray[np.int16]
    output_bias: npt.NDArray[np.int32]
    scale: int = SCALE
    provenance: Mapping[str, Any] = field(default_factory=dict)
    threats: npt.NDArray[np.int8] | None = None
    policy_rows: npt.NDArray[np.int8] | None = None
    policy_bias: npt.NDArray[np.int32] | None = None

    def __post_init__(self) -> None:
        if (self.policy_rows is None) != (self.policy_bias is None):
            raise NetworkError("a policy needs both rows and biases")
        _check_architecture(self.architecture())
        for name, (dtype, shape) in _arrays(self.architecture()).items():
            array = getattr(self, name)
            if array.dtype != dtype.newbyteorder("=") or array.shape != shape:
                raise NetworkError(f"{name} is {array.dtype}{list(array.shape)}, expected {dtype.name}{list(shape)}")
        _check_ranges(self)

    @property
    def hidden(self) -> int:
        """The length of an accumulator."""
        return int(self.bias.shape[0])

    @property
    def buckets(self) -> int:
        """The number of output layers."""
        return int(self.output_bias.shape[0])

    @property
    def has_threats(self) -> bool:
        """True if the network has rows for threats."""
        return self.threats is not None

    def all_rows(self) -> npt.NDArray[np.int16]:
        """Returns the rows of features and then those of threats, if there are any, int16[n, hidden]."""
        return self.features if self.threats is None else np.concatenate([self.features, self.threats])

    def shape(self) -> tuple[int, int, bool]:
        """Returns `hidden`, `buckets` and `has_threats`."""
        return self.hidden, self.buckets, self.has_threats

    @property
    def has_policy(self) -> bool:
        """True if the network also rates moves."""
        return self.policy_rows is not None

    def architecture(self) -> dict[str, Any]:
        """Returns the architecture as the header contains it."""
        return {
            "features": FEATURE_SET,
            "hidden": self.hidden,
            "activation": ACTIVATION,
            "buckets": self.buckets,
            **({"threats": True} if self.has_threats else {}),
            "qa": QA,
            "qb": QB,
            "scale": self.scale,
            **({"policy": True} if self.has_policy else {}),
        }

    def describe(self) -> str:
        """Returns a short description of the architecture, such as `(768 -> 256)x2 -> 1, 8 output layers`."""
        layers = "1 output layer" if self.buckets == 1 else f"{self.buckets} output layers"
        inputs = f"{FEATURES} + {THREATS} threats" if self.has_threats else str(FEATURES)
        return f"({inputs} -> {self.hidden})x2 -> 1, {layers}{', with a policy' if self.has_policy else ''}"

    def digest(self) -> str:
        """Returns the hexadecimal SHA-256 of the architecture and the weights; the provenance does not count."""
        digest = hashlib.sha256(json.dumps(self.architecture(), sort_keys=True).encode())
        for name, (dtype, _) in _arrays(self.architecture()).items():
            digest.update(np.ascontiguousarray(getattr(self, name), dtype).tobytes())
        return digest.hexdigest()

    def record(self, with_policy: bool = False) -> Any:
        """Returns the network as a NETWORK record for the kernels, without its policy unless `with_policy` is true."""
        record = new_network()
        record["features"][: self.features.size] = self.features.reshape(-1)
        record["bias"][: self.hidden] = self.bias
        if self.threats is not None:
            record["threats"][: self.threats.size] = self.threats.reshape(-1)
        record["output"][: self.output.size] = self.output.reshape(-1)
        record["output_bias"][: self.buckets] = self.output_bias
        record["hidden"] = self.hidden
        record["buckets"] = self.buckets
        record["has_threats"] = self.has_threats
        record["scale"] = self.scale
        if with_policy and self.policy_rows is not None:
            record["policy_rows"][: self.policy_rows.size] = self.policy_rows.reshape(-1)
            record["policy_bias"] = self.policy_bias
            record["has_policy"] = 1
        return record


def _arrays(architecture: Mapping[str, Any]) -> dict[str, tuple[np.dtype[Any], tuple[int, ...]]]:
    """Returns the dtype and shape of each array by the array's name, in the order of the file."""
    short, integer = np.dtype("<i2"), np.dtype("<i4")
    hidden, buckets = architecture["hidden"], architecture["buckets"]
    arrays: dict[str, tuple[np.dtype[Any], tuple[int, ...]]] = {
        "features": (short, (FEATURES, hidden)),
        "bias": (short, (hidden,)),
        "output": (short, (buckets, 2, hidden)),
        "output_bias": (integer, (buckets,)),
    }
    if architecture.get("threats"):
        arrays["threats"] = (np.dtype("i1"), (THREATS, hidden))
    if architecture.get("policy"):
        arrays["policy_rows"] = (np.dtype("i1"), (POLICY_ROWS, hidden))
        arrays["policy_bias"] = (integer, (POLICY_CLASSES,))
    return arrays


def _check_architecture(found: Mapping[str, Any]) -> None:
    """Raises NetworkError unless the kernels support the architecture `found`."""
    for name, expected in (("features", FEATURE_SET), ("activation", ACTIVATION), ("qa", QA), ("qb", QB)):
        if found.get(name) != expected:
            raise NetworkError(f"{name} is {shown(repr(found.get(name)))}, expected {expected!r}")
    hidden, buckets, scale = found.get("hidden"), found.get("buckets"), found.get("scale")
    if type(hidden) is not int or not BLOCK <= hidden <= MAX_HIDDEN or hidden % BLOCK:
        raise NetworkError(f"hidden is {shown(repr(hidden))}, expected a multiple of {BLOCK} up to {MAX_HIDDEN}")
    if type(buckets) is not int or buckets not in BUCKETS:
        raise NetworkError(f"buckets is {shown(repr(buckets))}, expected {' or '.join(map(str, BUCKETS))}")
    if type(scale) is not int or not 1 <= scale <= MAX_SCALE:
        raise NetworkError(f"scale is {shown(repr(scale))}, expected 1 to {MAX_SCALE}")
    for name in ("threats", "policy"):
        if type(found.get(name, False)) is not bool:
            raise NetworkError(f"{name} is {shown(repr(found[name]))}, expected true or false")
    if found.get("policy") and hidden % POLICY_BLOCK:
        raise NetworkError(f"hidden is {hidden}, expected a multiple of {POLICY_BLOCK} for a network with a policy")


def _check_ranges(network: Network) -> None:
    """Raises NetworkError if the network's weights could overflow the kernels' integers."""
    largest = int(np.abs(network.output.astype(np.int32)).max())
    if largest > OUTPUT_LIMIT:
        raise NetworkError(f"the largest absolute output weight is {largest}, expected at most {OUTPUT_LIMIT}")
    # A sum is at most its bias, plus the 32 largest of 64 numbers (each square's largest weight, with that of a hanging
    # piece), plus the largest weight of each kind of check.
    pieces = network.features.astype(np.int64).reshape(-1, 64, network.hidden)
    threats = np.zeros_like(pieces) if network.threats is None else network.threats.reshape(-1, 64, network.hidden)
    hanging, checks = threats[: len(pieces)], threats[len(pieces) :]
    by_square = np.concatenate([pieces, pieces + hanging])
    bias = network.bias.astype(np.int64)
    for sign in (1, -1):
        best = np.sort(np.maximum((sign * by_square).max(axis=0), 0), axis=0)[-MOST_PIECES:]
        checked = np.maximum((sign * checks.astype(np.int64)).max(axis=1), 0)
        extreme = sign * int((best.sum(axis=0) + checked.sum(axis=0) + sign * bias).max())
        if not _INT16.min <= extreme <= _INT16.max:
            raise NetworkError(f"an accumulator may reach {extreme}, expected {_INT16.min} to {_INT16.max}")
    if network.policy_bias is not None:
        most = int(np.abs(network.policy_bias.astype(np.int64)).max())
        if most > POLICY_BIAS_LIMIT:
            raise NetworkError(
                f"the largest absolute bias of the policy is {most}, expected at most {POLICY_BIAS_LIMIT}"
            )


def encode_network(network: Network) -> bytes:
    """Returns the bytes of the network's file."""
    header = json.dumps(
        {"architecture": network.architecture(), "provenance": dict(network.provenance)}, ensure_ascii=False, indent=1
    ).encode()
    parts = [_HEAD.pack(MAGIC, VERSION, len(header)), header]
    parts.append(bytes(-(len(parts[0]) + len(header)) % _ALIGNMENT))
    for name, (dtype, _) in _arrays(network.architecture()).items():
        parts.append(np.ascontiguousarray(getattr(network, name), dtype).tobytes())
    body = b"".join(parts)
    return body + hashlib.sha256(body).digest()


def decode_network(data: bytes) -> Network:
    """Returns the network in the bytes of a file. Raises NetworkError if they are not a valid network file."""
    if data[: len(MAGIC)] != MAGIC:
        raise NetworkError(f"not a network file: it begins with {data[: len(MAGIC)]!r}, expected {MAGIC!r}")
    if len(data) < _HEAD.size:
        raise NetworkError(f"the file is cut short: {len(data)} bytes, expected more than {_HEAD.size}")
    _, version, length = _HEAD.unpack_from(data)
    if version != VERSION:
        raise NetworkError(f"the file has format version {version}, expected {VERSION}")
    begin = _HEAD.size + length
    if begin > len(data):
        raise NetworkError(f"the header should have {length} bytes, but the file has only {len(data)}")
    try:
        header = parse_json(data[_HEAD.size : begin])
        architecture, provenance = dict(header["architecture"]), dict(header["provenance"])
    except (ValueError, KeyError, TypeError) as error:
        raise NetworkError(f"the header must be JSON with architecture and provenance: {shown(str(error))}") from None
    _check_architecture(architecture)
    begin += -begin % _ALIGNMENT
    layout = _arrays(architecture)
    end = begin + sum(dtype.itemsize * int(np.prod(shape)) for dtype, shape in layout.values())
    if len(data) != end + _CHECKSUM_BYTES:
        wrong = "cut short" if len(data) < end + _CHECKSUM_BYTES else "too long"
        raise NetworkError(f"the file is {wrong}: {len(data)} bytes, expected {end + _CHECKSUM_BYTES}")
    found, expected = hashlib.sha256(data[:end]).hexdigest(), data[end:].hex()
    if found != expected:
        raise NetworkError(f"the file is damaged: its SHA-256 is {found[:16]}..., expected {expected[:16]}...")
    arrays: dict[str, Any] = {}
    for name, (dtype, shape) in layout.items():
        array = np.frombuffer(data, dtype, int(np.prod(shape)), begin).reshape(shape)
        arrays[name] = array.astype(dtype.newbyteorder("="))
        begin += array.nbytes
    return Network(**arrays, scale=architecture["scale"], provenance=provenance)


def network_output(path: Path | Output) -> Output:
    """Returns an Output for a network file. Raises OSError if the file cannot be written or is of another kind."""
    return Output.at(path, is_network, "network file")


def write_network(path: Path | Output, network: Network) -> None:
    """Writes a network file, or atomically replaces it and keeps the old one beside it.

    Raises OSError if this fails or `path` is another kind of file.
    """
    network_output(path).replace(encode_network(network), keep_old=True)


def is_network(head: bytes) -> bool:
    """Returns whether the first bytes of a file, `head`, mark it as a network file."""
    return head.startswith(MAGIC)


def network_digest(data: bytes) -> str:
    """Returns the digest of the network file `data`, or "" if `data` is empty. Raises NetworkError if it is invalid."""
    return decode_network(data).digest() if data else ""


def read_network(path: Path) -> Network:
    """Returns the network in a file. Raises NetworkError with the file's name if the file is unusable."""
    return read_network_file(path)[1]


def read_network_file(path: Path) -> tuple[bytes, Network]:
    """Returns the bytes of a network file and the network in them. Raises NetworkError like `read_network`."""
    try:
        data = read_bytes(path, 1 << 24)
        return data, decode_network(data)
    except OSError as error:
        raise NetworkError(f"{shown(path)}: {reason(error)}") from None
    except NetworkError as error:
        raise NetworkError(f"{shown(path)}: {error}") from None


@functools.cache
def shipped_network() -> Network | None:
    """Returns the network in SHIPPED, or None if that file is missing. Raises NetworkError if the file is unusable."""
    return read_network(SHIPPED) if SHIPPED.exists() else None
