"""The exit statuses, and the errors that end a command."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar, Final

#: The exit statuses of commands.
OK: Final = 0
FAILED: Final = 1
USAGE: Final = 2


class CommandError(Exception):
    """Raised if a command fails. Users see its one-line message, without a traceback; `status` is the exit status."""

    status: ClassVar[int] = FAILED


class UsageError(CommandError):
    """Raised if the arguments of a command are invalid."""

    status: ClassVar[int] = USAGE


class MissingError(CommandError):
    """Raised if a file, program or package is missing or unusable. The exit status is always FAILED."""


@contextmanager
def arguments_are_judged() -> Iterator[None]:
    """Raises UsageError in place of a ValueError or CommandError from the `with` block, but passes on MissingError."""
    try:
        yield
    except MissingError:
        raise
    except (CommandError, ValueError) as error:
        raise UsageError(str(error)) from None
