"""The entry point: runs the UCI loop or a command, or prints the help or the version.

So that the UCI loop answers `uci` at once, this module does not import NumPy, Numba or python-chess. Each command is a
module with a function `main(arguments) -> exit status`. The module is imported only if the command runs.
"""

from __future__ import annotations

import os
import sys


def _end_in_one_line(kind: Any, error: Any, trace: Any) -> None:
    """Ends the process with one line on stderr after an uncaught Ctrl-C; prints other exceptions as Python does."""
    cause = error
    # Of a Ctrl-C while NumPy's C code imports `datetime`, only an ImportError with this text is left.
    while not isinstance(cause, KeyboardInterrupt) and "PyCapsule_Import could not import module" not in str(cause):
        cause = cause.__cause__ or cause.__context__
        if cause is None:
            sys.__excepthook__(kind, error, trace)
            return
    if sys.stderr is not None:
        sys.stderr.write("secateur: interrupted\n")
        sys.stderr.flush()
    os._exit(1)


if __name__ == "__main__":
    # Set this before the other imports, so that Ctrl-C during them prints only one line, too.
    sys.excepthook = _end_in_one_line

from collections.abc import Callable  # noqa: E402 - see above
from importlib import import_module  # noqa: E402
from io import TextIOWrapper  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

# In the checkout, the packages are beside this file, and `secateur` is in engine/checkout. The installed file
# belongs to a package and needs neither folder on the path.
if not __package__:
    _HERE = Path(__file__).resolve().parent
    sys.path[:0] = [path for path in (str(_HERE), str(_HERE / "engine" / "checkout")) if path not in sys.path]

from engine.errors import FAILED, OK, USAGE, CommandError, UsageError  # noqa: E402 - see above

#: The name and the help text of each group of commands.
GROUPS: dict[str, str] = {
    "engine": "set up the engine",
    "measure": "count nodes, compare speed and run test suites",
    "lab": "play, test and tune with games",
    "training": "make self-play data and networks",
    "learn": "see how alpha-beta prunes",
}

#: For each command: its group, the module that contains its `main`, its help text, and any extra that it needs.
COMMANDS: dict[str, tuple[str, str, str, str | None]] = {
    "warmup": ("engine", "bench.commands.warmup", "compile and cache the kernels needed for play", None),
    "kernels": ("engine", "bench.commands.kernels", "compile libraries of kernels; list the libraries", None),
    "bench": ("measure", "bench.commands.benchmark", "search fixed positions to a fixed depth; count the nodes", None),
    "perft": ("measure", "bench.commands.perft", "count the move sequences from a position", None),
    "speed": ("measure", "bench.commands.speed", "compare the speed with that of other engines", None),
    "epd": ("measure", "bench.commands.epd", "run test suites: best moves, graded moves, mates", "lab"),
    "match": ("lab", "bench.commands.match", "play a match between two engines", "lab"),
    "sprt": ("lab", "bench.commands.sprt", "play until a sequential test decides, or test a PGN file", "lab"),
    "tourney": ("lab", "bench.commands.tourney", "play a gauntlet or a round robin and rate the engines", "lab"),
    "rate": ("lab", "bench.commands.rate", "rate the players of PGN files", "lab"),
    "spsa": ("lab", "bench.commands.spsa", "tune search parameters by playing games", "lab"),
    "ablation": ("lab", "bench.commands.ablation", "measure the Elo gain of each search technique", "lab"),
    "ledger": ("lab", "bench.commands.ledger", "show the test behind every quoted Elo figure", "lab"),
    "genfens": ("lab", "bench.commands.genfens", "generate random openings for OpenBench", None),
    "datagen": ("training", "eval.training.commands.datagen", "make and inspect self-play data", None),
    "train": ("training", "eval.training.commands.train", "train a network on self-play games", None),
    "net": ("training", "eval.training.commands.net", "show network files: architecture, origin, checksum", None),
    "wdl": ("training", "eval.training.commands.wdl", "fit win, draw and loss chances to self-play games", "training"),
    "explore": ("learn", "search.explorer.command", "step through small trees and searches in a browser", "explore"),
    "claims": ("learn", "bench.commands.claims", "count the leaves that pruning, the TT and move ordering save", None),
}

#: Commands with kernels that no library contains: Numba compiles all kernels of these commands.
COMPILED_HERE: frozenset[str] = frozenset(("datagen", "train", "wdl"))

#: Starts the UCI loop with all search parameters as options, for the games of `spsa`.
TUNING_FLAG = "--tuning"

#: As the first argument, chooses a custom evaluation for this process and its children.
EVALUATION_FLAG = "--evaluation"

#: Options that may stand in place of a command. EVALUATION_FLAG may also precede a command.
FLAGS: tuple[str, ...] = ("--help", "--version", TUNING_FLAG, EVALUATION_FLAG)


def _usage() -> str:
    """Returns the help: the ways to start, a line for each group of commands, and the exit statuses."""
    from engine.arguments import EXIT_STATUS

    groups = "\n".join(f"  {group:<9} {what}: {', '.join(_members(group))}" for group, what in GROUPS.items())
    return (
        "usage: secateur                  run the UCI loop on stdin and stdout\n"
        "       secateur --tuning         run the UCI loop with all search parameters as options\n"
        "       secateur COMMAND [...]    run a command\n"
        "       secateur --evaluation FILE.py[:FUNCTION] [...]\n"
        "                                 do any of the above with your own evaluation\n"
        "       secateur --version        print the version, the evaluation and the kernels in use\n\n"
        f"commands ('secateur help GROUP' describes a group, 'secateur COMMAND --help' a command):\n{groups}\n\n"
        f"{EXIT_STATUS}"
    )


def _members(group: str) -> list[str]:
    """Returns the names of the commands of a group."""
    return [name for name, command in COMMANDS.items() if command[0] == group]


def _help(words: list[str]) -> int:
    """Prints help for the group or command `words[0]`, or general help if `words` is empty; returns the status."""
    if not words:
        return _printed(_usage())
    if words[0] in COMMANDS:
        return _run(words[0], ["--help"])
    if words[0] in GROUPS:
        rows = [f"  {name:<8} {COMMANDS[name][2]}" for name in _members(words[0])]
        return _printed("\n".join([f"{GROUPS[words[0]]}:", *rows]))
    return _unknown(words[0])


def _printed(text: str) -> int:
    """Prints `text`; returns OK."""
    print(text)
    return OK


def _choose_evaluation(arguments: list[str]) -> list[str]:
    """Chooses the evaluation that a leading `--evaluation` or else `SECATEUR_EVALUATION` names, if either is given.

    Returns the other arguments. Raises EvaluationError if the evaluation is unusable, and UsageError if no name follows
    `--evaluation`.
    """
    from eval.build import VARIABLE, choose_evaluation

    text = os.environ.get(VARIABLE)
    if arguments and arguments[0].split("=")[0] == EVALUATION_FLAG:
        flag, *rest = [*arguments[0].split("=", 1), *arguments[1:]]
        if not rest or not rest[0]:
            raise UsageError(f"{flag} needs FILE.py or FILE.py:FUNCTION")
        text, *arguments = rest
    if text:
        choose_evaluation(text)
    return arguments


def kernels() -> str:
    """Returns a phrase that says how the kernels in use are compiled and, if Numba compiles them, why."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed_version

    from engine.compiler.library import choose

    library, remarks = choose()
    if library is not None:
        return f"kernels compiled ahead of time for {library.level.name} by {library.description.compiler}"
    try:
        why = f" ({'; '.join(remarks)})" if remarks else ""
        return f"kernels compiled here by Numba {installed_version('numba')}{why}"
    except PackageNotFoundError:
        return "; ".join((*remarks, "Numba is not installed"))


def _unknown(name: str) -> int:
    """Reports an unknown command, group or option on stderr; returns USAGE."""
    from difflib import get_close_matches

    from engine.files import quoted

    kind = "option" if name.startswith("-") else "command"
    near = get_close_matches(name, (*COMMANDS, *FLAGS), n=1, cutoff=0.6)
    meant = f"; did you mean '{near[0]}'?" if near else ";"
    print(f"secateur: unknown {kind} {quoted(name)}{meant} see 'secateur --help'", file=sys.stderr)
    return USAGE


def _run(name: str, arguments: list[str]) -> int:
    """Runs a command; returns its exit status, or FAILED if the reader of stdout has closed it."""
    _, module_name, _, extra = COMMANDS[name]
    from engine.compiler.library import JIT, KERNELS_VARIABLE

    if name in COMPILED_HERE:
        os.environ[KERNELS_VARIABLE] = JIT
    return _written(f"secateur {name}", lambda: import_module(module_name).main(arguments), extra)


def _written(prog: str, work: Callable[[], int], extra: str | None = None) -> int:
    """Calls `work` as `reported` does and flushes stdout. Returns FAILED if the reader of stdout has closed it."""
    from engine.arguments import reported

    def flushed() -> int:
        status = work()
        if sys.stdout is not None:
            sys.stdout.flush()
        return status

    try:
        return reported(prog, flushed, extra)
    except BrokenPipeError:
        # The reader of stdout has closed it, as `head` does.
        return FAILED
    finally:
        _discard_unwritable()


def _discard_unwritable() -> None:
    """Flushes stdout. If that fails, discards the data, so that Python does not retry and complain on exit."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _escape_what_cannot_be_encoded() -> None:
    """Makes stdout and stderr escape characters that they cannot encode, such as those of a non-UTF-8 file name."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def main(arguments: list[str] | None = None) -> int:
    """Runs the UCI loop, a command or an option, as `arguments` (None: `sys.argv[1:]`) say; returns the exit status."""
    _escape_what_cannot_be_encoded()
    from engine.version import full_name, version
    from eval.build import with_evaluation

    try:
        arguments = _choose_evaluation(sys.argv[1:] if arguments is None else arguments)
    except CommandError as error:
        print(f"secateur: {error}", file=sys.stderr)
        return error.status
    if arguments in ([], [TUNING_FLAG]):
        from engine.compiler import compiling
        from engine.uci.loop import run

        # The session reports compilation as UCI info strings.
        compiling.silence()
        return run(with_evaluation(version()), tuning=bool(arguments))
    if arguments[0] == TUNING_FLAG:
        print(f"secateur: {TUNING_FLAG} starts the UCI loop and cannot precede a command", file=sys.stderr)
        return USAGE
    # OpenBench's client passes a command and its arguments as one argument.
    name, *rest = [*arguments[0].split(), *arguments[1:]] or [""]
    if name in ("-h", "--help", "help"):
        return _written("secateur", lambda: _help(rest))
    if name in ("-V", "--version"):
        return _written("secateur", lambda: _printed(f"{with_evaluation(full_name())}, {kernels()}"))
    if name in COMMANDS:
        return _run(name, rest)
    return _unknown(name)


if __name__ == "__main__":
    sys.exit(main())
