"""Writes `eval/values.py`: the weights' values as text that people can read and compare."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from engine.files import Output
from eval import weights

VALUES_FILE: Final = Path(weights.__file__).with_name("values.py")

_HEAD: Final = '''\
"""The values of the evaluation's weights, written by `secateur texel`; `eval.weights` says what each is for.

Middlegame first, then endgame. Square tables are seen as White sees the board, rank 8 first. Groups by rank begin with
the owner's first rank.
"""

from __future__ import annotations

from typing import Final

'''


def _block(numbers: npt.NDArray[np.int64]) -> list[str]:
    """The source lines of one phase of a group: a string literal, in the shape of a board for square tables."""
    if len(numbers) != 64:
        return [f'        "{" ".join(map(str, numbers))}",']
    rows = [" ".join(f"{number:4d}" for number in row) for row in numbers.reshape(8, 8)[::-1]]
    return ['        """', *(f"        {row}" for row in rows), '        """,']


def values_source(values: npt.NDArray[np.int64]) -> str:
    """The text of `eval/values.py` for int64[COUNT][2] values."""
    lines = ["VALUES: Final[dict[str, tuple[str, str]]] = {"]
    for group in weights.GROUPS:
        part = values[group.first : group.first + group.size]
        lines += [f'    "{group.name}": (', *_block(part[:, 0]), *_block(part[:, 1]), "    ),"]
    return _HEAD + "\n".join([*lines, "}"]) + "\n"


def values_output(path: Path | Output) -> Output:
    """The file to write values to. Raises OSError when another kind of file exists there."""
    return Output.at(path, _has_values, "file of the evaluation's values")


def write_values(path: Path | Output, values: npt.NDArray[np.int64]) -> None:
    """Writes int64[COUNT][2] values as a complete file, which replaces an older one. Raises OSError."""
    values_output(path).replace(values_source(values))


def _has_values(head: bytes) -> bool:
    return head.startswith(_HEAD.encode()[:60])
