"""The exit statuses, and the errors that end a command."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar, Final

#: Exit statuses of every command.
OK: Final = 0
FAILED: Final = 1
USAGE: Final = 2


class CommandError(Exception):
    """Raised if a command fails, with a one-line message: the base of all errors that users see without a traceback."""

    status: ClassVar[int] = FAILED


class UsageError(CommandError):
    """Raised if arguments are invalid."""

    status: ClassVar[int] = USAGE


class MissingError(CommandError):
    """Raised if a file, program or package is missing or unusable. The status is always 1."""


@contextmanager
def arguments_are_judged() -> Iterator[None]:
    """Converts any CommandError except MissingError, and any ValueError, in the block to UsageError."""
    try:
        yield
    except MissingError:
        raise
    except (CommandError, ValueError) as error:
        raise UsageError(str(error)) from None
