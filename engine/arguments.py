"""What the commands share: the argument parser, the help on exit statuses and the one-line error messages."""

from __future__ import annotations

import argparse
import functools
import re
import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from importlib import util
from math import nan
from typing import Any, Final, NoReturn

from engine.compiler import compiling
from engine.errors import FAILED, USAGE, CommandError, MissingError
from engine.extras import remedy
from engine.files import count_of, printable, quoted, reason, shown

#: The end of every command's help.
EXIT_STATUS: Final = """\
exit status:
  0  the command succeeded
  1  it failed, wholly or in part: a file is missing or damaged or would be overwritten, a program or package is
     missing, an engine failed, or Ctrl-C ended it
  2  its arguments are invalid, and nothing was done
Each error is one line on stderr."""

#: Error messages are cut off after this number of characters, because they may quote arguments of any length.
ERROR_LENGTH: Final = 1000

#: A command prints at most this number of problems with a file or match; `--json` lists all of them.
PROBLEM_LINES: Final = 20

#: The largest absolute values of whole and real numbers that options accept.
MOST_WHOLE: Final = 2**63 - 1
MOST_REAL: Final = 1e12


class Parser(argparse.ArgumentParser):
    """A parser with one-line errors, exit statuses in its help, and a check for missing packages.

    `needs` names the packages that the command requires. `extra` names the extra of Secateur that installs them.
    """

    def __init__(
        self, *, epilog: str | None = None, needs: tuple[str, ...] = (), extra: str = "lab", **options: Any
    ) -> None:
        whole = "\n\n".join(part.strip("\n") for part in (epilog, EXIT_STATUS) if part)
        super().__init__(epilog=whole, formatter_class=_Formatter, **options)
        # Unlike `int` and `float`, these functions reject "1_0" as a whole number and "nan" as a real number.
        self.register("type", int, whole_number)
        self.register("type", float, finite_number)
        self._needs = needs
        self._extra = extra

    def add_quiet(self) -> None:
        """Adds `--quiet`, which turns off the progress display and the messages about compilation."""
        self.add_argument("--quiet", action="store_true", help="do not show progress")

    def parse_args(self, *arguments: Any, **options: Any) -> Any:
        """Parses the arguments. Exits for `--help` and usage errors. Raises MissingError if a package is missing."""
        found = super().parse_args(*arguments, **options)
        for package in self._needs:
            if util.find_spec(package) is None:
                raise MissingError(missing(package, self._extra))
        if getattr(found, "quiet", False):
            compiling.silence()
        return found

    def error(self, message: str) -> NoReturn:
        """Prints `message` as one line, with a suggestion for a misspelt option, and exits with status USAGE."""
        unknown = re.match(r"unrecognized arguments: (--[^\s=]+)", message)
        for option in get_close_matches(unknown[1], self._option_string_actions, 1) if unknown else ():
            message += f" (did you mean {option}?)"
        self.exit(USAGE, _line(self.prog, message))


def whole_number(text: str) -> int:
    """Converts `text` to an int. Raises ArgumentTypeError unless `text` is a whole number within +-MOST_WHOLE."""
    number = int(text) if re.fullmatch(r"\s*[-+]?[0-9]{1,20}\s*", text) else MOST_WHOLE + 1
    if abs(number) > MOST_WHOLE:
        raise argparse.ArgumentTypeError(f"expected a whole number, got {quoted(text)}")
    return number


def finite_number(text: str) -> float:
    """Converts `text` to a float. Raises ArgumentTypeError unless `text` is a number within +-MOST_REAL."""
    try:
        number = float(text)
    except ValueError:
        number = nan
    # NaN fails every comparison.
    if not abs(number) <= MOST_REAL:
        raise argparse.ArgumentTypeError(f"expected a number, got {quoted(text)}")
    return number


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """A help formatter that wraps a one-line description or epilog, and keeps the line breaks of longer ones."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if "\n" in text.strip():
            return super()._fill_text(text, width, indent)
        return argparse.HelpFormatter._fill_text(self, text, width, indent)


def missing(package: str, extra: str) -> str:
    """Returns a message that says that `package` is needed, and how to install its extra, `extra`."""
    return f"needs the package '{package}': {remedy(extra)}"


def _line(prog: str, message: str) -> str:
    text = printable(" ".join(message.splitlines()))
    if len(text) > ERROR_LENGTH:
        text = f"{text[:ERROR_LENGTH]}..."
    return f"{prog}: {text}\n"


def complain(prog: str, message: str) -> None:
    """Prints an error as one line on stderr."""
    sys.stderr.write(_line(prog, message))
    sys.stderr.flush()


def complain_about(prog: str, problems: Sequence[str]) -> None:
    """Prints each of the first PROBLEM_LINES problems as a line on stderr. If there are more, prints how many more."""
    for problem in problems[:PROBLEM_LINES]:
        complain(prog, problem)
    if len(problems) > PROBLEM_LINES:
        complain(prog, f"and {count_of(len(problems) - PROBLEM_LINES, 'more problem')}")


def reported(prog: str, work: Callable[[], int], extra: str | None = None) -> int:
    """Calls `work` and returns its exit status.

    If `work` raises an error that a user can cause, prints the error on one line. Returns the status of a CommandError,
    or FAILED for other such errors. `extra` names the extra that installs a missing package; if `extra` is None, a
    missing package is a bug. Passes on SystemExit, BrokenPipeError, and exceptions that only a bug can cause.
    """
    from engine.compiler.library import KernelsMissingError

    try:
        return work()
    except BrokenPipeError:
        raise
    except CommandError as error:
        complain(prog, str(error))
        return error.status
    except KernelsMissingError as error:
        complain(prog, str(error))
    except ModuleNotFoundError as error:
        package = (error.name or "").split(".")[0]
        if extra is None or not package or util.find_spec(package) is not None:
            raise
        complain(prog, missing(package, extra))
    except OSError as error:
        where = "" if error.filename is None else f"{shown(str(error.filename))}: "
        complain(prog, where + reason(error))
    except UnicodeDecodeError as error:
        complain(prog, f"a file is not UTF-8 text (byte {error.start} of the data read)")
    except MemoryError:
        complain(prog, "not enough memory")
    except KeyboardInterrupt:
        complain(prog, "interrupted")
    return FAILED


def command(prog: str) -> Callable[[Callable[[list[str]], int]], Callable[[list[str]], int]]:
    """Returns a decorator that makes a command's `main` handle errors as `reported` does."""

    def decorate(main: Callable[[list[str]], int]) -> Callable[[list[str]], int]:
        @functools.wraps(main)
        def guarded(arguments: list[str]) -> int:
            return reported(prog, lambda: main(arguments))

        return guarded

    return decorate
