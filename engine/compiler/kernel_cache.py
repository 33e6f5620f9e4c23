"""A cache of compiled kernels. Hashes of whatever the machine code depends on name its folder and files.

Of the sources, Numba's own cache checks only the file of the cached function, so it can run stale machine code after an
edit to a callee in another file. It also does not verify its files, so a flipped bit can crash every start. Here, a
file begins with a checksum of its folder's name, its own name and the machine code. If a file is unusable, its kernel
is compiled again and the file is replaced if possible.
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

#: Errors from saving kernels, one line each.
save_errors: list[str] = []


@functools.cache
def _folder_stamp(folder: Path) -> str:
    """Returns a hash of the sources in `folder`; "" if the name of the cache folder already covers these sources."""
    if any(folder == PROJECT_ROOT / name for name in KERNEL_FOLDERS):
        return ""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


class KernelCache:
    """The cached machine code of one kernel, with one file for each signature. Numba replaces an unusable file."""

    def __init__(self, function: Callable[..., Any], folder: Path) -> None:
        #: Numba shows the folder in its statistics.
        self.cache_path = str(folder)
        code = function.__code__
        stamp = _folder_stamp(Path(code.co_filename).resolve().parent)
        self._kernel = (function.__module__, function.__qualname__, code.co_firstlineno, code.co_code, stamp)

    def _file(self, signature: Any) -> Path:
        # Numba types with equal names are equal, and the `repr` of a type is its name.
        digest = hashlib.blake2b(repr((self._kernel, signature)).encode(), digest_size=16)
        return Path(self.cache_path, f"{digest.hexdigest()}.nbc")

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Returns the cached CompileResult for a signature; None if the kernel's file is missing or unusable."""
        try:
            path = self._file(signature)
            body = unsealed(path, read_bytes(path, LARGEST_KERNEL))
            return None if body is None else numba_hooks.from_bytes(body, target_context)
        except Exception:  # such as an unreadable file, or a folder at this path
            return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Saves the result of a compilation for the next start; if that fails, appends the error to `save_errors`."""
        try:
            path = self._file(signature)
            if path.is_symlink():
                raise OSError(errno.EEXIST, "is a symbolic link; it is left unchanged", str(path))
            replace_file(path, sealed(path, numba_hooks.to_bytes(result)))
        except Exception as error:
            save_errors.append(f"{type(error).__name__}: {error}")
