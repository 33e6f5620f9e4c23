"""Reads, replaces and locks files that users name; expands their paths and formats their names for messages."""

from __future__ import annotations

import errno
import itertools
import os
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from math import isfinite
from pathlib import Path
from typing import IO, Any, Final, TypeVar

from engine.errors import CommandError
from engine.progress import say

T = TypeVar("T")

#: Messages quote at most this number of characters of a user's input.
QUOTE_LENGTH: Final = 160

#: Messages show a path in full if it has at most this number of characters.
PATH_LENGTH: Final = 200

#: The maximum nesting depth of JSON values.
NESTING: Final = 100

#: `Output` reads at most this number of bytes at the start of a file to find out whether Secateur wrote the file.
HEAD_LENGTH: Final = 1 << 12

#: The offset of the byte that is locked on Windows: beyond the end of most files, because a locked byte cannot be read.
_LOCKED_BYTE: Final = 0x7FFFFFFE

#: Error numbers from file systems without locks.
_NO_LOCKS: Final = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)

#: The names that messages use for irregular files, by the type bits of the file mode.
_KINDS: Final = {stat.S_IFDIR: "folder", stat.S_IFIFO: "pipe", stat.S_IFSOCK: "socket"}


class PathError(CommandError, ValueError):
    """Raised if a text is not a valid path; the message quotes the text."""


def user_path(text: str) -> Path:
    """Returns the path `text`, with `~` expanded. Raises PathError for a null character or an unknown home folder."""
    if "\0" in text:
        raise PathError(f"{shown(text)}: a path cannot contain a null character")
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        raise PathError(f"{shown(text)}: {error}") from None


def printable(text: str) -> str:
    r"""Returns `text` as one safe line for a terminal, with escapes such as `\x1b` for unprintable characters."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text)


def quoted(text: str) -> str:
    """Formats a user's text for a message: quoted, printable, and cut off after QUOTE_LENGTH characters."""
    if len(text) > QUOTE_LENGTH:
        return f"'{printable(text[:QUOTE_LENGTH])}...' ({len(text)} characters)"
    return f"'{printable(text)}'"


def shown(path: Path | str) -> str:
    """Formats a path for a message: printable, and shortened in the middle if longer than PATH_LENGTH characters."""
    text = str(path)
    if len(text) > PATH_LENGTH:
        half = PATH_LENGTH // 2
        return f"{printable(text[:half])}...{printable(text[-half:])} ({len(text)} characters)"
    return printable(text)


def count_of(count: int, noun: str) -> str:
    """Formats a number of things for a message: `1 game`, `2 games`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def reason(error: Exception) -> str:
    """Returns the system's description of an error, without number and path, or else the error's text or type."""
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def open_regular(path: Path | str, mode: str = "rb", **options: Any) -> IO[Any]:
    """Opens a regular file as `open` does. Raises OSError if that fails or `path` is another kind of file."""
    flags = {"r": 0, "w": os.O_CREAT, "a": os.O_CREAT | os.O_APPEND, "x": os.O_CREAT | os.O_EXCL}[mode[0]]
    flags |= os.O_RDWR if "+" in mode else os.O_RDONLY if mode[0] == "r" else os.O_WRONLY
    flags |= getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    # With O_NONBLOCK, opening a pipe without a reader for writing fails immediately with ENXIO.
    flags |= getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
    try:
        descriptor = os.open(path, flags, 0o666)
    except OSError as error:
        if error.errno in (errno.ENXIO, errno.EISDIR):
            _refuse_irregular(path, os.stat(path).st_mode)  # noqa: PTH116 - a path may be a string
        raise
    try:
        _refuse_irregular(path, os.fstat(descriptor).st_mode)
        if mode[0] == "w":
            os.ftruncate(descriptor, 0)
        if hasattr(os, "O_NONBLOCK"):  # on Windows, only pipes have this mode
            os.set_blocking(descriptor, True)
        return os.fdopen(descriptor, mode.replace("x", "w"), **options)
    except BaseException:
        os.close(descriptor)
        raise


def _refuse_irregular(path: Path | str, mode: int) -> None:
    """Raises OSError unless `mode` is the mode of a regular file."""
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "device")
        raise OSError(errno.EINVAL, f"is a {kind}, not a file", str(path))


#: Files are read in parts of this many bytes.
_PART: Final = 1 << 20


def read_bytes(path: Path | str, limit: int) -> bytes:
    """Reads a whole regular file. Raises OSError if that fails or the file has more than `limit` bytes."""
    parts: list[bytes] = []
    size = 0
    with open_regular(path) as file:
        # In small parts, because `read` allocates all the memory that it may need.
        while size <= limit and (part := file.read(min(_PART, limit + 1 - size))):
            parts.append(part)
            size += len(part)
    if size > limit:
        most = f"{limit >> 20} MiB" if limit >= 1 << 20 else f"{limit} bytes"
        raise OSError(errno.EFBIG, f"is larger than {most}", str(path))
    return b"".join(parts)


def read_text(path: Path | str, limit: int) -> str:
    """Reads a UTF-8 file as `read_bytes` does. Drops a BOM, keeps line ends; raises OSError for invalid UTF-8, too."""
    try:
        return read_bytes(path, limit).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise OSError(errno.EILSEQ, f"is not UTF-8 text (byte {error.start})", str(path)) from None


def parse_json(text: str | bytes, with_paths: bool = False) -> Any:
    """Parses JSON; returns a value that can be written as JSON again.

    Raises json.JSONDecodeError for a syntax error. Raises ValueError for values nested deeper than NESTING, for numbers
    that are NaN, infinite or too large for a float, for escaped lone surrogates, and for bytes that cannot be decoded.
    `with_paths` allows the lone surrogates that Python puts into paths for bytes that are not UTF-8.
    """
    import json

    def real(digits: str) -> float:
        value = float(digits)
        if not isfinite(value):
            raise ValueError(f"the number {quoted(digits)} is infinite, NaN or too large")
        return value

    def whole(digits: str) -> int:
        real(digits)
        return int(digits)

    try:
        value = json.loads(text, parse_int=whole, parse_float=real, parse_constant=real)
    except RecursionError:
        raise ValueError("the JSON values are nested too deeply") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"is not UTF-8 text (byte {error.start})") from None
    level: list[Any] = [[value]]
    for _ in range(NESTING + 1):
        contents = (container.values() if isinstance(container, dict) else container for container in level)
        items = (item for content in contents for item in content)
        level = [item for item in items if isinstance(item, dict | list)]
    if level:
        raise ValueError(f"the JSON values are nested more than {NESTING} levels deep")
    if ("\\ud" if isinstance(text, str) else b"\\ud") in text.lower():  # type: ignore[operator]
        try:
            json.dumps(value, ensure_ascii=False).encode(errors="surrogateescape" if with_paths else "strict")
        except UnicodeEncodeError:
            raise ValueError("a string contains a lone surrogate (half of a character)") from None
    return value


def built(kind: Any, value: Any, name: str) -> Any:
    """Converts a JSON value to the type `kind`, such as a dataclass. Raises TypeError if a type or a field is wrong."""
    from dataclasses import is_dataclass
    from types import UnionType
    from typing import get_args, get_origin, get_type_hints

    origin, parts = get_origin(kind) or kind, get_args(kind)
    if is_dataclass(kind) and isinstance(value, dict):
        return origin(**{key: built(get_type_hints(kind).get(key, Any), item, key) for key, item in value.items()})
    if origin in (list, tuple) and isinstance(value, list):
        return origin(built(parts[0], item, name) for item in value)
    allowed = parts if origin is UnionType else (origin,)
    if kind is Any or type(value) in allowed or (type(value) is int and float in allowed):
        return value
    raise TypeError(f"{name} has the wrong type: {quoted(str(value))}")


def replace_file(
    path: Path, data: bytes | str, look: Callable[[], None] | None = None, like: Path | None = None
) -> os.stat_result:
    """Replaces a file's contents atomically: after a failure, the file has all its old or all its new contents.

    Text is written as UTF-8. The file gets the permissions of `like` (default: its own) and, if the system allows it,
    the owner and group. If `path` is a symbolic link, the file that it points to is replaced. `look` is called just
    before the replacement; if `look` raises OSError, the old contents remain. Returns an `os.stat_result` that
    identifies the new file. Raises an OSError that names `path`.
    """
    target = Path(os.path.realpath(path))
    umask = os.umask(0o077)
    os.umask(umask)
    mode, owner, group = 0o666 & ~umask, -1, -1
    try:
        with suppress(FileNotFoundError):
            old = (like or target).stat()
            mode, owner, group = old.st_mode, old.st_uid, old.st_gid
            _refuse_irregular(path, mode)
        descriptor, scratch = _scratch_beside(target)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data.encode("utf-8") if isinstance(data, str) else data)
                file.flush()
                if sys.platform != "win32":
                    for ids in ((-1, group), (owner, -1)):  # a user may be allowed to set the group, but not the owner
                        with suppress(OSError):
                            os.fchown(file.fileno(), *ids)
                    os.fchmod(file.fileno(), stat.S_IMODE(mode))
                os.fsync(file.fileno())
                status = os.fstat(file.fileno())
            if look is not None:
                look()
            _move(scratch, target)
            return status
        except BaseException:
            with suppress(OSError):  # the folder may not allow deletion
                scratch.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise OSError(error.errno, reason(error), str(path)) from None


def _scratch_beside(target: Path) -> tuple[int, Path]:
    descriptor, name = tempfile.mkstemp(prefix=".secateur.", suffix=".tmp", dir=target.parent)
    return descriptor, Path(name)


class Output:
    """A file that a command writes, perhaps hours after the constructor checked it. No foreign file is overwritten.

    The file must be new, empty, or written by Secateur. `is_own` judges from the first HEAD_LENGTH bytes whether
    Secateur wrote the file; messages call such a file a `kind`. The constructor raises OSError for any other file, or
    if the file or its folder is not writable.

    `size` is the file's size in bytes when it was last checked or written. If `keep` is a number below `size`, the next
    `append` atomically replaces the file with its first `keep` bytes and the new record. `append` sets `keep` to None.
    It first copies the dropped bytes to an unused name beside the file, such as `games-old.pgn`, and says so on stderr.
    """

    def __init__(self, path: Path, is_own: Callable[[bytes], bool], kind: str) -> None:
        self.path = path
        self.keep: int | None = None
        self.size = 0
        self._has_old = False
        self._is_own, self._kind = is_own, kind
        self._status: os.stat_result | None = None
        self._content: Any = None
        target = Path(os.path.realpath(path))
        if not target.parent.is_dir():
            raise FileNotFoundError(errno.ENOENT, "its folder does not exist", str(path))
        with suppress(FileNotFoundError):
            with open_regular(path) as file:
                head = file.read(HEAD_LENGTH)
                if head and not is_own(head):
                    problem = f"already exists and is not a {kind}; it is left unchanged"
                    raise FileExistsError(errno.EEXIST, problem, str(path))
                self._remember(file)
            try:
                open_regular(path, "r+b").close()  # more reliable than the permissions: the file may be append-only
            except PermissionError:
                raise PermissionError(errno.EACCES, "is write-protected", str(path)) from None
        try:
            descriptor, scratch = _scratch_beside(target)
            os.close(descriptor)
            scratch.unlink()
        except OSError as error:
            problem = f"cannot write to {shown(target.parent)}: {reason(error)}"
            raise OSError(error.errno, problem, str(path)) from None

    @classmethod
    def at(cls, path: Path | Output, is_own: Callable[[bytes], bool], kind: str) -> Output:
        """Returns `path` itself if it is an `Output`, else a new `Output`. Raises OSError as the constructor does."""
        return path if isinstance(path, Output) else cls(path, is_own, kind)

    def beside(self, ending: str = "") -> Output:
        """Returns an `Output` for an unused name in the same folder: `games-2.pgn`, `games-3.pgn`, ... Raises OSError.

        With the ending `-old`, for example, the names are `games-old.pgn`, `games-old-2.pgn`, ...
        """
        endings = itertools.chain([ending] if ending else [], (f"{ending}-{number}" for number in itertools.count(2)))
        names = (self.path.with_stem(self.path.stem[:60] + text) for text in endings)
        return Output(next(name for name in names if not os.path.lexists(name)), self._is_own, self._kind)

    @property
    def digest(self) -> str:
        """The SHA-256 of the contents when they were last checked or written; "" if the file is empty or missing."""
        return self._content.hexdigest() if self.size else ""

    def replace(self, data: bytes | str, keep_old: bool = False) -> None:
        """Replaces the file's contents atomically; text is written as UTF-8. With `keep_old`, a copy stays beside it.

        If this fails, tries to save `data` in another file and raises the OSError from `saved_beside`.
        """
        try:
            if keep_old:
                self._keep_old(0)
            self._status = replace_file(self.path, data, self._look)
        except OSError as error:
            raise self.saved_beside(data, error) from None
        written = data.encode("utf-8") if isinstance(data, str) else data
        self.size, self._content = len(written), _sha256(written)

    def saved_beside(self, data: bytes | str, error: OSError) -> OSError:
        """Saves `data` in a file from `beside`. Returns an OSError that names that file, or `error` if saving fails."""
        try:
            other = self.beside()
            replace_file(other.path, data, other._look)
        except OSError:
            return error
        return OSError(error.errno, f"{reason(error)}; its new contents are in {shown(other.path)}", str(self.path))

    def append(self, data: bytes) -> None:
        """Appends a whole record and flushes it to disk. Appends nothing if it raises OSError."""
        if self.size:
            self.path.stat()  # raises if the file is gone: a new file must not begin with a later record
        if self.keep is not None and self.keep < self.size:
            self._keep_old(self.keep)
            with open_regular(self.path) as file:
                data = file.read(self.keep) + data
            self._status = replace_file(self.path, data, self._look)
            self.size, self._content, self.keep = len(data), _sha256(data), None
            return
        with open_regular(self.path, "a+b", buffering=0) as file:
            self._check(file, whole=self.keep is not None)
            self.keep = None
            if not self.size or os.fstat(file.fileno()).st_size != self.size:
                self._remember(file)
            try:
                rest = memoryview(data)
                while rest:
                    rest = rest[file.write(rest) :]
                os.fsync(file.fileno())
            except BaseException:  # including Ctrl-C
                if os.fstat(file.fileno()).st_size > self.size:
                    file.truncate(self.size)
                raise
            self.size += len(data)
            self._content.update(data)

    def _keep_old(self, begin: int) -> None:
        """Copies the bytes from `begin` on to an unused name, such as `games-old.pgn`, and says so, but only once.

        Raises OSError if the copy cannot be written or if the file changed since it was checked or written.
        """
        self._look()
        if self._has_old or begin >= self.size:
            return
        with suppress(FileNotFoundError), open_regular(self.path) as file:
            file.seek(begin)
            old = self.beside("-old")
            replace_file(old.path, file.read(), old._look, like=self.path)
            self._has_old = True
            what = "the dropped end is" if begin else "the old contents are"
            say(f"note: {shown(self.path)}: {what} in {shown(old.path)}")

    def _remember(self, file: IO[bytes]) -> None:
        self._status, self._content = os.fstat(file.fileno()), _sha256(file)
        self.size = file.tell()

    def _look(self) -> None:
        """Raises OSError unless the path names the same unchanged file, an empty file or no file."""
        with suppress(FileNotFoundError), open_regular(self.path) as file:
            if os.fstat(file.fileno()).st_size:
                self._check(file, whole=True)

    def _check(self, file: IO[bytes], whole: bool) -> None:
        """Raises FileExistsError if `file` is another, non-empty file or changed in size or (if `whole`) in content."""
        status = os.fstat(file.fileno())
        if status.st_size and (self._status is None or not os.path.samestat(self._status, status)):
            problem = "the file was replaced by another file"
        elif status.st_size != self.size or (whole and self.size and _sha256(file).digest() != self._content.digest()):
            problem = "the file was changed by another program"
        else:
            return
        raise FileExistsError(errno.EEXIST, f"{problem}; it is left unchanged", str(self.path))


def _sha256(source: IO[bytes] | bytes) -> Any:
    import hashlib

    if isinstance(source, bytes):
        return hashlib.sha256(source)
    source.seek(0)
    return hashlib.file_digest(source, "sha256")  # type: ignore[arg-type]


#: The files that this process has locked, by real path.
_locked_files: Final[dict[Path, IO[Any]]] = {}


@contextmanager
def locked(path: Path, remove: bool = False) -> Iterator[None]:
    """Locks a file during the `with` block; the system also releases the lock when the process ends.

    The block may write the file; `replace_file` passes the lock to the new file. A missing file is created. With
    `remove`, such a new file is removed at the end if it is still empty. On file systems without locks, nothing is
    locked. Raises BlockingIOError if the file is locked already, or another OSError.
    """
    target = Path(os.path.realpath(path))
    _locked_files[target], is_new = _open_locked(target, path)
    try:
        yield
    finally:
        with _locked_files.pop(target) as file, suppress(OSError):
            if remove and is_new and leads_to(target, file) and not os.fstat(file.fileno()).st_size:
                if sys.platform == "win32":
                    file.close()  # Windows does not delete an open file
                target.unlink()


def check_lock(path: Path) -> None:
    """Raises OSError unless this process has locked the file that `path` now names."""
    file = _locked_files.get(Path(os.path.realpath(path)))
    if file is None or not leads_to(path, file):
        raise OSError(errno.EBUSY, "the folder or its lock was moved or replaced; nothing more is written", str(path))


def _open_locked(target: Path, path: Path) -> tuple[IO[Any], bool]:
    while True:
        is_new = not target.exists()
        file = open_regular(target, "a+b")
        try:
            _lock(file, path)
            if leads_to(target, file):
                return file, is_new
        except BaseException:
            file.close()
            raise
        file.close()  # the previous holder of the lock removed or replaced the file after we opened it


def _move(scratch: Path, target: Path) -> None:
    """Moves the file `scratch` to `target`. If this process has locked the old target, locks the new one."""
    old = _locked_files.get(target)
    if sys.platform == "win32":
        if old is not None:
            old.close()  # Windows can neither move nor replace an open file
        try:
            _patiently(lambda: scratch.replace(target))
        finally:
            if old is not None:
                _locked_files[target], _ = _patiently(lambda: _open_locked(target, target))
        return
    if old is None:
        scratch.replace(target)
        return
    new = open_regular(scratch, "a+b")
    try:
        _lock(new, target)
        scratch.replace(target)
    except BaseException:
        new.close()
        raise
    _locked_files[target] = new
    old.close()


def _patiently(work: Callable[[], T]) -> T:
    """Calls `work`, for a second again and again if another program, such as a virus scanner, has the file open."""
    for _ in range(100):
        with suppress(PermissionError, BlockingIOError):
            return work()
        time.sleep(0.01)
    return work()


def _lock(file: IO[Any], path: Path) -> None:
    try:
        if sys.platform == "win32":
            import msvcrt

            file.seek(_LOCKED_BYTE)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _NO_LOCKS:
            return  # some network file systems do not support locks: continue without one
        raise BlockingIOError(errno.EAGAIN, "is in use by another process", str(path)) from None


def leads_to(path: Path, file: IO[Any]) -> bool:
    """Returns whether `path` still names the open `file`; False if the path does not exist. Raises other OSErrors."""
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False
