"""The files of compiled kernels, in a folder whose name depends on everything that could change the machine code.

Numba's own cache looks only at the file that holds the cached function, so an edit to a callee in another file leaves
stale machine code running. It also runs whatever it reads: a flipped bit is a crash at every start. Here each file
has a checksum over its contents and its purpose. One compilation replaces an unusable file.
"""

from __future__ import annotations

import errno
import functools
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine.compiler import numba_hooks
from engine.compiler.cache_folder import LARGEST_KERNEL, sealed, unsealed
from engine.compiler.sources import KERNEL_FOLDERS, PROJECT_ROOT
from engine.files import read_bytes, replace_file

#: The errors from saving kernels, one line each.
save_errors: list[str] = []


@functools.cache
def _folder_stamp(folder: Path) -> str:
    """A stamp for the version of a tool's kernels in `folder`; empty if the cache folder's name covers them already."""
    if any(folder == PROJECT_ROOT / name for name in KERNEL_FOLDERS):
        return ""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


class KernelCache:
    """The machine code of one kernel; a damaged file or a full disk costs a compilation, never a crash."""

    def __init__(self, function: Callable[..., Any], folder: Path) -> None:
        #: Numba shows the folder in its statistics.
        self.cache_path = str(folder)
        code = function.__code__
        stamp = _folder_stamp(Path(code.co_filename).resolve().parent)
        self._kernel = (function.__module__, function.__qualname__, code.co_firstlineno, code.co_code, stamp)

    def _file(self, signature: Any) -> Path:
        # Numba's types are equal if their names are, and their `repr` is their name.
        digest = hashlib.blake2b(repr((self._kernel, signature)).encode(), digest_size=16)
        return Path(self.cache_path, f"{digest.hexdigest()}.nbc")

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """The cached machine code for a signature; None when there is none, or it cannot be used."""
        try:
            path = self._file(signature)
            body = unsealed(path, read_bytes(path, LARGEST_KERNEL))
            return None if body is None else numba_hooks.from_bytes(body, target_context)
        except Exception:  # such as an unreadable file, or a folder in its place
            return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Saves machine code for the next start; notes a failure in `save_errors`."""
        try:
            path = self._file(signature)
            if path.is_symlink():
                raise OSError(errno.EEXIST, "is a symbolic link; it is left as it is", str(path))
            replace_file(path, sealed(path, numba_hooks.to_bytes(result)))
        except Exception as error:
            save_errors.append(f"{type(error).__name__}: {error}")
