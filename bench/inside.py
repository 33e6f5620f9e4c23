"""Games of this Secateur against itself in one process, without UCI: `spsa` and `ablation` play more of them a minute.

With a limit on nodes or depth, `play_inside` gives the same moves and results as engines that speak UCI, because the
search then depends on nothing else. A test compares them.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import chess

from bench.adjudication import Adjudicator, natural_end, open_tablebases
from bench.engines import SECATEUR, EngineSpec
from bench.game import GameTask, result_of
from bench.results import GameResult, MoveRecord
from engine.uci.options import OPTIONS, TUNING_OPTIONS, OptionValues
from search.limits import Limits

if TYPE_CHECKING:
    from bench.timecontrol import TimeControl
    from search.searcher import Game, Searcher

_HASH: Final = "Hash"

#: The options that `play_inside` applies. Engines with other options speak UCI.
_OPTIONS: Final = (*(option for option in OPTIONS if option.name == _HASH), *TUNING_OPTIONS)


def is_inside(task: GameTask) -> bool:
    """Returns whether `play_inside` can play a game: both engines must be this Secateur, at limits without time."""
    return all(map(_is_inside, (task.white, task.black)))


def _is_inside(spec: EngineSpec) -> bool:
    try:
        _options(spec)
    except ValueError:  # UCI engines report it
        return False
    return (
        spec.command == (*SECATEUR, "--tuning")
        and spec.directory is None
        and not spec.restart
        and not spec.limit.is_timed
    )


def _options(spec: EngineSpec) -> OptionValues:
    """Returns the values of _OPTIONS for an engine. Raises ValueError if it has another option or an invalid value."""
    options = OptionValues(_OPTIONS)
    for name, value in spec.options:
        options.set(name, value)
    return options


class _Player:
    """The engine of one side: a searcher with the shipped network, and the limit of the game that it plays."""

    def __init__(self, searcher: Searcher) -> None:
        self._searcher = searcher
        self._limits = Limits()

    def begin(self, limit: TimeControl, options: OptionValues) -> None:
        """Prepares a new game at `limit` with `options`."""
        for name, value in options.tunables().items():
            self._searcher.set_tunable(name, value)
        self._limits = Limits(nodes=limit.nodes, depth=limit.depth)
        self._searcher.new_game()

    def move(self, game: Game) -> tuple[chess.Move, MoveRecord]:
        """Returns the move to play in `game`, in which there is a legal move, and its record."""
        found = self._searcher.search(game, self._limits)
        assert found.best is not None
        assert found.info is not None
        mate = found.info.mate
        centipawns = found.info.score if mate is None else None
        record = MoveRecord(found.best.uci(), found.seconds, found.info.depth, centipawns, mate, found.nodes)
        return found.best, record


class _Players(threading.local):
    """The players of a thread, by side and TT size in MiB. They are kept, because a new TT and network take time.

    A worker of a cluster may play games on several threads, and a searcher can play only one game at a time.
    """

    def __init__(self) -> None:
        self._players: dict[tuple[chess.Color, int], _Player] = {}

    def get(self, color: chess.Color, hash_mebibytes: int) -> _Player:
        """Returns this thread's player for a side."""
        from eval.network.format import shipped_network
        from search.searcher import Searcher

        key = (color, hash_mebibytes)
        if key not in self._players:
            self._players[key] = _Player(Searcher(hash_mebibytes, network=shipped_network()))
        return self._players[key]


_players: Final = _Players()


def play_inside(task: GameTask) -> GameResult:
    """Plays a game for which `is_inside` is true; returns its result without book moves and date."""
    from search.game import Game

    game = Game(task.opening.board())
    adjudicator = Adjudicator(task.adjudication, open_tablebases(task.adjudication.tablebases))
    players = {}
    for color, spec in ((chess.WHITE, task.white), (chess.BLACK, task.black)):
        options = _options(spec)
        players[color] = _players.get(color, options.number(_HASH))
        players[color].begin(spec.limit, options)
    records = []
    verdict = natural_end(game.board)
    while verdict is None:
        move, record = players[game.board.turn].move(game)
        records.append(record)
        game.push(move)
        verdict = natural_end(game.board) or adjudicator.after_move(game.board, record)
    return replace(result_of(task, game.board, verdict), moves=tuple(records))
