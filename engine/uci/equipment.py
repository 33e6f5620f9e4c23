"""Applies the options to the loaded engine, such as those for the TT, the network and the opening book."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress

from engine.files import count_of, quoted, user_path
from engine.uci.book import Book, BookMove
from engine.uci.options import WITHOUT, OptionValues
from engine.uci.positions import PositionKeeper
from eval.build import chosen_evaluation
from eval.network.format import Network, read_network, shipped_network
from search.limits import DEFAULT_HASH, Limits
from search.searcher import Game, Searcher
from search.strength import Level, wanted_level
from search.tablebase import Tables, open_tables


class Equipment:
    """The searcher and the game, set up as the options request. An option that cannot be applied is reported."""

    def __init__(self, options: OptionValues, info: Callable[[str], None], problem: Callable[[str], None]) -> None:
        """Applies the options. Calls `info` with messages about loaded files, and `problem` with those about failures.

        Raises MemoryError if there is not even enough memory for a TT of 1 MiB.
        """
        self._options = options
        self._info = info
        self._problem = problem
        self.positions = PositionKeeper()
        #: The network that `EvalFile` names or that comes with the engine. It is used while `UseNNUE` is true.
        self._network: Network | None = None
        self._tables: Tables | None = None
        self._book: Book | None = None
        self._rng = random.Random()
        #: The searcher. Its TT and number of threads are as the options request, or smaller if resources are short.
        self.searcher = self._new_searcher(options.number("Hash"))
        with suppress(RuntimeError):  # a search can do without these threads
            self.searcher.reserve_threads()
        self._read_network("")
        if file := options.text("EvalFile"):
            self._read_network(file)
        self._set_network()
        self.tune(self.searcher)
        self._set_threads()
        self._apply_tables()
        self._apply_book()

    def _new_searcher(self, mebibytes: int) -> Searcher:
        """Returns a searcher with a TT of `mebibytes` MiB or less. Raises MemoryError if even 1 MiB does not fit."""
        try:
            return Searcher(mebibytes)
        except MemoryError:
            smaller = DEFAULT_HASH if mebibytes > DEFAULT_HASH else 1
            if mebibytes <= smaller:
                raise
        self._problem(f"not enough memory for Hash {mebibytes}: using {smaller}")
        return self._new_searcher(smaller)

    def apply(self, name: str) -> None:
        """Applies the new value of the option `name`; does nothing for an option that each search reads anew."""
        if name == "Hash":
            self._set_hash()
        elif name == "Threads":
            self._set_threads()
        elif name == "Clear Hash":
            self.searcher.new_game()
        elif name in ("UseNNUE", "UsePolicy", "EvalFile"):
            if name == "EvalFile":
                self._read_network(self._options.text("EvalFile"))
            self._set_network()
        elif name == "SyzygyPath":
            self._apply_tables()
        elif name in ("SyzygyProbeLimit", "Syzygy50MoveRule"):
            self._set_table_rules()
        elif name in ("OwnBook", "BookFile"):
            self._apply_book()
        elif name == WITHOUT or name in self._options.tunables():
            self.tune(self.searcher)

    def tune(self, searcher: Searcher) -> None:
        """Sets the search parameters of `searcher` from the options; does nothing unless this is a tuning build."""
        for name, value in self._options.tunables().items():
            searcher.set_tunable(name, value)

    def close(self) -> None:
        """Ends the searcher's threads and closes the tablebases and the book. No search may be running."""
        self.searcher.close()
        for file in (self._tables, self._book):
            if file is not None:
                file.close()
        self._tables = self._book = None

    def _set_hash(self) -> None:
        mebibytes = self._options.number("Hash")
        try:
            self.searcher.resize(mebibytes)
        except MemoryError:
            self._problem(f"not enough memory for Hash {mebibytes}: keeping the old TT")

    def _set_threads(self) -> None:
        threads = self._options.number("Threads")
        try:
            self.searcher.resize_threads(threads)
        except (MemoryError, RuntimeError) as error:
            reason = "memory" if isinstance(error, MemoryError) else "system threads"
            self._problem(f"not enough {reason} for Threads {threads}: using {self.searcher.threads}")

    def level(self, limits: Limits) -> Level | None:
        """Returns the level of play; None means full strength, which `infinite`, `mate` and UCI_AnalyseMode imply."""
        options = self._options
        if limits.infinite or limits.mate is not None or options.flag("UCI_AnalyseMode"):
            return None
        elo, skill = options.number("UCI_Elo"), options.number("Skill Level")
        return wanted_level(options.flag("UCI_LimitStrength"), elo, skill)

    # -- files -------------------------------------------------------------------------------------------------

    def _read_network(self, file: str) -> None:
        """Reads the network `file` ("": the built-in one). If it is unusable, reports why and keeps the old network."""
        custom = chosen_evaluation()
        if file and custom is not None:
            self._problem(f"network {quoted(file)} not used: the custom evaluation {custom.name} replaces it")
            return
        try:
            self._network = read_network(user_path(file)) if file else shipped_network()
        except ValueError as error:
            self._problem(f"network not used: {error}")
            return
        if file and self._network is not None:
            self._info(f"network {quoted(file)}: {self._network.describe()}")

    def _set_network(self) -> None:
        network = self._network if self._options.flag("UseNNUE") else None
        self.searcher.set_network(network, self._options.flag("UsePolicy"))
        if self._options.flag("UsePolicy") and not self.searcher.with_policy:
            self._info("UsePolicy has no effect: no network with a policy is in use")

    def _apply_tables(self) -> None:
        """Opens the tablebases that `SyzygyPath` lists, and closes the old ones."""
        if self._tables is not None:
            self.searcher.set_tables(None)
            self._tables.close()
            self._tables = None
        path = self._options.text("SyzygyPath")
        if not path:
            return
        self._tables, count, problems = open_tables(path)
        for problem in problems:
            self._problem(f"tablebases not used: {problem}")
        if self._tables is not None:
            self._info(f"tablebases: {count_of(count, 'file')}, up to {self._tables.pieces} men")
            self._set_table_rules()

    def _set_table_rules(self) -> None:
        if self._tables is not None:
            self._tables.limit = self._options.number("SyzygyProbeLimit")
            self._tables.fifty_moves = self._options.flag("Syzygy50MoveRule")
            self.searcher.set_tables(self._tables)

    def _apply_book(self) -> None:
        """Closes any open book. If `OwnBook` is true, opens the book that `BookFile` names."""
        if self._book is not None:
            self._book.close()
            self._book = None
        file = self._options.text("BookFile")
        if not file or not self._options.flag("OwnBook"):
            return
        try:
            self._book = Book(user_path(file))
        except ValueError as error:
            self._problem(f"book not used: {error}")
            return
        self._info(f"book {quoted(file)}: {count_of(len(self._book), 'move')}")

    def book_move(self, game: Game, limits: Limits) -> BookMove | None:
        """Returns a book move for `game`. Returns None if the book has none or if this is analysis."""
        options = self._options
        is_analysis = limits.is_analysis() or options.flag("UCI_AnalyseMode") or options.number("MultiPV") > 1
        if self._book is None or is_analysis:
            return None
        return self._book.choose(game.board, options.flag("Best Book Move"), self._rng)
