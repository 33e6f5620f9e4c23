"""Entry point: the UCI loop without arguments, otherwise a subcommand.

Nothing heavy is imported here or on the way to the UCI loop: `uci` is answered before NumPy, Numba or python-chess
are. Each subcommand lives in a module with a `main(arguments) -> exit status`, imported when it is called.
"""

from __future__ import annotations

import os
import sys


def _end_in_one_line(kind: Any, error: Any, trace: Any) -> None:
    """Ends the process on a Ctrl-C that nothing has caught, as while modules are imported, without a traceback."""
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
        return
    if sys.stderr is not None:
        sys.stderr.write("secateur: interrupted\n")
        sys.stderr.flush()
    os._exit(1)


if __name__ == "__main__":
    # Before anything else is imported.
    sys.excepthook = _end_in_one_line

from importlib import import_module  # noqa: E402 - see above
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

# In the checkout the packages lie beside this file, and `secateur` in the second folder. The installed file belongs to
# a package and needs neither.
if not __package__:
    _HERE = Path(__file__).resolve().parent
    sys.path[:0] = [path for path in (str(_HERE), str(_HERE / "engine" / "checkout")) if path not in sys.path]

from engine.errors import FAILED, OK, USAGE, CommandError, UsageError  # noqa: E402 - see above

#: Subcommand: (module with its `main`, one line of help, extra that has its requirements).
COMMANDS: dict[str, tuple[str, str, str | None]] = {
    "bench": ("bench.commands.benchmark", "search fixed positions to a fixed depth; prints the node count", None),
    "perft": ("bench.commands.perft", "count the move sequences from a position", None),
    "warmup": ("bench.commands.warmup", "compile every kernel into the cache", None),
    "kernels": ("bench.commands.kernels", "compile the kernels ahead of time, for any processor; list them", None),
    "speed": ("bench.commands.speed", "perft and search speed side by side with other engines", None),
    "match": ("bench.commands.match", "play a match: cutechess-cli, fastchess or built in", "lab"),
    "sprt": ("bench.commands.sprt", "play a match until it is decided, or evaluate a PGN file", "lab"),
    "tourney": ("bench.commands.tourney", "play a gauntlet or a round robin, and rate the engines", "lab"),
    "epd": ("bench.commands.epd", "test suites for any UCI engine: best moves, graded moves, mates", "lab"),
    "book": ("bench.commands.book", "generate balanced or unbalanced openings with an engine", "lab"),
    "genfens": ("bench.commands.genfens", "random openings for OpenBench's data generation", None),
    "rate": ("bench.commands.rate", "rate the players of PGN files", "lab"),
    "calibrate": ("bench.commands.calibrate", "measure how strong the levels of UCI_Elo are", "lab"),
    "spsa": ("bench.commands.spsa", "tune the numbers of the search by games", "lab"),
    "worth": ("bench.commands.worth", "measure by games what techniques of the search are worth", "lab"),
    "datagen": ("eval.training.commands.datagen", "make training data by self-play, and look at it", None),
    "texel": ("eval.training.commands.texel", "tune the classical evaluation on self-play games", None),
    "train": ("eval.training.commands.train", "train a network on self-play games", None),
    "net": ("eval.training.commands.net", "show network files: architecture, origin, checksum", None),
    "explore": ("search.explorer.command", "see alpha-beta prune, on a local page: toy trees and real searches", None),
    "wdl": ("eval.training.commands.wdl", "fit what scores say of results to self-play games", "lab"),
    "claims": ("bench.commands.claims", "count what pruning, a table and ordering save", None),
    "ledger": ("bench.commands.ledger", "the tests from which every quoted Elo comes", "lab"),
}

#: Commands with kernels of their own, which no library has: Numba compiles all of them.
COMPILED_HERE: frozenset[str] = frozenset(("datagen", "texel", "train", "wdl"))

#: Starts a tuning build: what `spsa` plays with, not a player's engine.
TUNING_FLAG = "--tuning"

#: In front of all else: names a custom evaluation, for this process and those that it starts.
EVALUATION_FLAG = "--evaluation"


def _usage() -> str:
    from engine.arguments import EXIT_STATUS

    rows = "\n".join(f"  {name:<10} {summary}" for name, (_, summary, _) in COMMANDS.items())
    return (
        "usage: secateur                  the UCI loop on stdin and stdout\n"
        "       secateur --tuning         the same, with every number of the search as an option\n"
        "       secateur COMMAND [...]    one of the commands below; each has --help\n"
        "       secateur --evaluation FILE.py[:FUNCTION] [...]\n"
        "                                 any of these with an evaluation of your own\n"
        "       secateur --version\n\n"
        f"commands:\n{rows}\n\n{EXIT_STATUS}"
    )


def _choose_evaluation(arguments: list[str]) -> list[str]:
    """Makes what `--evaluation` in front of the arguments names this process's choice, or what the environment names.

    Returns the other arguments. Raises EvaluationError and UsageError.
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
    """Which kernels this machine plays with: compiled ahead of time, or here by Numba."""
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
        return "; ".join((*remarks, "no Numba to compile kernels"))


def _unknown(name: str) -> str:
    """What is said of a command that there is not."""
    from difflib import get_close_matches

    from engine.files import quoted

    near = get_close_matches(name, COMMANDS, n=1, cutoff=0.5)
    meant = f"; did you mean '{near[0]}'?" if near else ""
    return f"there is no command {quoted(name)}{meant}{'' if near else ';'} 'secateur --help' lists all of them"


def _run(name: str, arguments: list[str]) -> int:
    """Runs a command; returns its exit status."""
    module_name, _, extra = COMMANDS[name]
    from engine.arguments import reported
    from engine.compiler.library import JIT, KERNELS_VARIABLE

    if name in COMPILED_HERE:
        os.environ[KERNELS_VARIABLE] = JIT

    def work() -> int:
        status: int = import_module(module_name).main(arguments)
        if sys.stdout is not None:
            sys.stdout.flush()
        return status

    try:
        return reported(f"secateur {name}", work, extra)
    except BrokenPipeError:
        # The reader of our output went away, as `head` does.
        return FAILED
    finally:
        _drop_what_cannot_be_written()


def _drop_what_cannot_be_written() -> None:
    """Python writes what is left of stdout once more at its end, and would complain again."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main(arguments: list[str] | None = None) -> int:
    """Runs the UCI loop or a subcommand; returns the exit status (0 done, 1 failed, 2 wrong usage)."""
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

        # The session says what it compiles, as UCI.
        compiling.silence()
        return run(with_evaluation(version()), tuning=bool(arguments))
    # OpenBench's client hands over a command and its words as one argument.
    name, *rest = [*arguments[0].split(), *arguments[1:]] or [""]
    if name in ("-h", "--help", "help"):
        print(_usage())
        return OK
    if name in ("-V", "--version"):
        try:
            print(f"{with_evaluation(full_name())}, {kernels()}")
        except CommandError as error:  # a variable that names nobody's folder
            print(f"secateur: {error}", file=sys.stderr)
            return error.status
        return OK
    if name in COMMANDS:
        return _run(name, rest)
    print(f"secateur: {_unknown(name)}", file=sys.stderr)
    return USAGE


if __name__ == "__main__":
    sys.exit(main())
