"""Applies the options to the loaded engine: TT, threads, network, strength, tablebases, opening book."""

from __future__ import annotations

import random
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Protocol

from engine.files import quoted, user_path
from engine.uci.options import TUNABLE_OPTIONS, WITHOUT, OptionValues
from eval.build import chosen_evaluation
from search.limits import DEFAULT_HASH, Limits
from search.strength import Level, wanted_level

if TYPE_CHECKING:
    from engine.uci import backend as backend_module

TUNABLE_NAMES: Final = frozenset(option.name for option in TUNABLE_OPTIONS)


class Listener(Protocol):
    """Receives the equipment's messages: `engine.uci.output.Output`, or another object with these methods."""

    def info(self, message: str) -> None:
        """Takes a remark on what was done."""

    def problem(self, message: str) -> None:
        """Takes a report of what could not be done; the engine goes on without it."""


class Equipment:
    """The searcher and the position, set up by the options; reports what cannot be had and goes on without it.

    Options may be applied only while nothing searches.
    """

    def __init__(self, backend: Any, options: OptionValues, output: Listener) -> None:
        self.backend = backend
        self._options = options
        self._output = output
        self.positions: backend_module.PositionKeeper = backend.PositionKeeper()
        #: The network that `EvalFile` names or that comes with the engine, used while `UseNNUE` is true.
        self._network: Any = None
        self._tables: Any = None
        self._book: backend_module.Book | None = None
        self._rng = random.Random()
        self.searcher = self._new_searcher()
        self._apply_tables()
        self._apply_book()

    def _new_searcher(self) -> backend_module.Searcher:
        """A searcher with the TT and threads that the options ask for, or as close to them as memory allows."""
        searcher = self._with_table(self._options.number("Hash"))
        with suppress(RuntimeError):  # a search works without them
            searcher.reserve_threads()
        self._read_network("")
        if file := self._options.text("EvalFile"):
            self._read_network(file)
        self._set_network(searcher)
        self.tune(searcher)
        self._set_threads(searcher)
        return searcher

    def _with_table(self, mebibytes: int) -> backend_module.Searcher:
        """A searcher with a TT of `mebibytes` MiB, or a smaller one. Raises MemoryError if even 1 MiB does not fit."""
        try:
            searcher: backend_module.Searcher = self.backend.Searcher(mebibytes)
            return searcher
        except MemoryError:
            smaller = DEFAULT_HASH if mebibytes > DEFAULT_HASH else 1
            if mebibytes <= smaller:
                raise
        self._output.problem(f"not enough memory for Hash {mebibytes}: {smaller} is used")
        return self._with_table(smaller)

    def apply(self, name: str) -> None:
        """Applies the new value of the option `name`."""
        if name == "Hash":
            self._apply_hash()
        elif name == "Threads":
            self._set_threads(self.searcher)
        elif name == "Clear Hash":
            self.searcher.new_game()
        elif name in ("UseNNUE", "EvalFile"):
            if name == "EvalFile":
                self._read_network(self._options.text("EvalFile"))
            self._set_network(self.searcher)
        elif name == "SyzygyPath":
            self._apply_tables()
        elif name in ("SyzygyProbeLimit", "Syzygy50MoveRule"):
            self._set_table_rules()
        elif name in ("OwnBook", "BookFile"):
            self._apply_book()
        elif name in TUNABLE_NAMES:
            self.searcher.set_tunable(name, self._options.tunables()[name])
        elif name == WITHOUT:
            self.tune(self.searcher)

    def tune(self, searcher: backend_module.Searcher) -> None:
        """Sets the tunable numbers of `searcher` from the options; does nothing unless this is a tuning build."""
        for name, value in self._options.tunables().items():
            searcher.set_tunable(name, value)

    def close(self) -> None:
        """Ends the searcher's threads and closes the files. Nothing may search."""
        self.searcher.close()
        for file in (self._tables, self._book):
            if file is not None:
                file.close()
        self._tables = self._book = None

    def _apply_hash(self) -> None:
        mebibytes = self._options.number("Hash")
        try:
            self.searcher.resize(mebibytes)
        except MemoryError:
            self._output.problem(f"not enough memory for Hash {mebibytes}: the old table is kept")

    def _set_threads(self, searcher: backend_module.Searcher) -> None:
        threads = self._options.number("Threads")
        try:
            searcher.resize_threads(threads)
        except (MemoryError, RuntimeError) as error:
            reason = "memory" if isinstance(error, MemoryError) else "threads to be had"
            self._output.problem(f"not enough {reason} for Threads {threads}: {searcher.threads} used")

    def level(self, limits: Limits) -> Level | None:
        """The level to play at; None is full strength.

        Analysis always gets full strength: a search that lasts until it is stopped, a search for a mate, and every
        search in `UCI_AnalyseMode`.
        """
        options = self._options
        if limits.infinite or limits.mate is not None or options.flag("UCI_AnalyseMode"):
            return None
        elo, skill = options.number("UCI_Elo"), options.number("Skill Level")
        return wanted_level(options.flag("UCI_LimitStrength"), elo, skill)

    # -- files -------------------------------------------------------------------------------------------------

    def _read_network(self, file: str) -> None:
        """Reads the network in `file`, or for "" the one that comes with the engine.

        An unusable file is reported and the current network kept.
        """
        custom = chosen_evaluation()
        if file and custom is not None:
            self._output.problem(f"network {quoted(file)} not used: {custom.name} evaluates")
            return
        try:
            self._network = self.backend.read_network(user_path(file)) if file else self.backend.shipped_network()
        except ValueError as error:
            self._output.problem(f"network not used: {error}")
            return
        if file:
            self._output.info(f"network {quoted(file)}: {self._network.describe()}")

    def _set_network(self, searcher: backend_module.Searcher) -> None:
        searcher.set_network(self._network if self._options.flag("UseNNUE") else None)

    def _apply_tables(self) -> None:
        """Opens the tablebases that `SyzygyPath` lists, and closes the old ones."""
        if self._tables is not None:
            self.searcher.set_tables(None)
            self._tables.close()
            self._tables = None
        path = self._options.text("SyzygyPath")
        if not path:
            return
        self._tables, count, problems = self.backend.open_tables(path)
        for problem in problems:
            self._output.problem(f"endgame tables not used: {problem}")
        if self._tables is not None:
            self._output.info(f"endgame tables: {count} files, up to {self._tables.pieces} men")
            self._set_table_rules()

    def _set_table_rules(self) -> None:
        if self._tables is not None:
            self._tables.limit = self._options.number("SyzygyProbeLimit")
            self._tables.fifty_moves = self._options.flag("Syzygy50MoveRule")
            self.searcher.set_tables(self._tables)

    def _apply_book(self) -> None:
        """Opens the book that `BookFile` names if `OwnBook` is true, and closes the old one."""
        if self._book is not None:
            self._book.close()
            self._book = None
        file = self._options.text("BookFile")
        if not file or not self._options.flag("OwnBook"):
            return
        try:
            self._book = self.backend.Book(user_path(file))
        except ValueError as error:
            self._output.problem(f"book not used: {error}")
            return
        self._output.info(f"book {quoted(file)}: {len(self._book)} moves")

    def book_move(self, game: Any, limits: Limits) -> Any:
        """The book's move for a game that is played; None outside the book and for analysis."""
        options = self._options
        is_analysis = limits.is_analysis() or options.flag("UCI_AnalyseMode") or options.number("MultiPV") > 1
        if self._book is None or is_analysis:
            return None
        return self._book.choose(game.board, options.flag("Best Book Move"), self._rng)
