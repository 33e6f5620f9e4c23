"""Errors that end a command, and the exit statuses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar, Final

#: Exit statuses of every command.
OK: Final = 0
FAILED: Final = 1
USAGE: Final = 2


class CommandError(Exception):
    """Says in one line why a command fails: the base of all errors that users see without a traceback."""

    status: ClassVar[int] = FAILED


class UsageError(CommandError):
    """Arguments that make no sense."""

    status: ClassVar[int] = USAGE


class MissingError(CommandError):
    """A file, program or package that is missing or unusable: status 1, never 2."""


@contextmanager
def arguments_are_judged() -> Iterator[None]:
    """Turns CommandErrors, except MissingError, and ValueErrors in the block into `UsageError`."""
    try:
        yield
    except MissingError:
        raise
    except (CommandError, ValueError) as error:
        raise UsageError(str(error)) from None
