"""Games of this Secateur against itself in one process, without UCI: `spsa` and `ablation` play them twice as fast.

With a limit on nodes or depth, `play_inside` gives the same moves and results as engines that speak UCI, because the
search then depends on nothing else. A test compares both.
"""

from __future__ import annotations

from functools import cache
from typing import Final

import chess

from bench.adjudication import Adjudicator, natural_end, open_tablebases
from bench.engines import SECATEUR, EngineSpec
from bench.game import GameTask
from bench.results import GameResult, MoveRecord
from search.limits import DEFAULT_HASH, Limits
from search.techniques import named, switched_off
from search.tunables import BY_NAME, defaults

#: The options that `play_inside` knows, besides the tunables, and the value of `Without` that names no technique.
_HASH: Final = "Hash"
_WITHOUT: Final = "Without"
_EMPTY: Final = "<empty>"

#: The least and the greatest size of the TT in MiB that `play_inside` accepts; UCI allows more.
_HASHES: Final = range(1, 1025)


def is_inside(task: GameTask) -> bool:
    """Returns whether `play_inside` can play a game: both engines must be this Secateur, at limits without time."""
    return all(map(_is_inside, (task.white, task.black)))


def _is_inside(spec: EngineSpec) -> bool:
    return (
        spec.command == (*SECATEUR, "--tuning")
        and spec.directory is None
        and not spec.restart
        and not spec.limit.is_timed
        and all(_is_known(name, value) for name, value in spec.options)
    )


def _is_known(name: str, value: str) -> bool:
    """Returns whether an option has a valid value. UCI engines report the others."""
    try:
        if name == _WITHOUT:
            return bool(_values(((name, value),)))
        number = int(value)
    except ValueError:
        return False
    if name == _HASH:
        return number in _HASHES
    return name in BY_NAME and BY_NAME[name].low <= number <= BY_NAME[name].high


def _values(options: tuple[tuple[str, str], ...]) -> dict[str, int]:
    """Returns the values of all tunables by name. Raises ValueError if `Without` names an unknown technique."""
    given = dict(options)
    without = given.get(_WITHOUT, _EMPTY)
    techniques = named(() if without == _EMPTY else without.split())
    return defaults() | {name: int(given[name]) for name in given if name in BY_NAME} | switched_off(techniques)


class _Player:
    """An engine: a searcher with the shipped network and the options of the game that it plays."""

    def __init__(self, hash_mebibytes: int) -> None:
        # Imported here, because these import the kernels.
        from eval.network.format import shipped_network
        from search.searcher import Game, Searcher

        self._searcher = Searcher(hash_mebibytes, network=shipped_network())
        self._game = Game
        self._limits = Limits()

    def begin(self, spec: EngineSpec) -> None:
        """Prepares a new game as `spec`."""
        for name, value in _values(spec.options).items():
            self._searcher.set_tunable(name, value)
        self._limits = Limits(nodes=spec.limit.nodes, depth=spec.limit.depth)
        self._searcher.new_game()

    def move(self, board: chess.Board) -> tuple[chess.Move, MoveRecord]:
        """Returns the move to play on `board`, in which there is a legal move, and its record."""
        found = self._searcher.search(self._game(board), self._limits)
        assert found.best is not None
        assert found.info is not None
        mate = found.info.mate
        centipawns = found.info.score if mate is None else None
        record = MoveRecord(found.best.uci(), found.seconds, found.info.depth, centipawns, mate, found.nodes)
        return found.best, record


@cache
def _player(name: str, hash_mebibytes: int) -> _Player:
    """Returns this process's player for one side, because a new TT and a new network take time."""
    return _Player(hash_mebibytes)


def play_inside(task: GameTask) -> GameResult:
    """Plays a game for which `is_inside` is true; returns its result, without moves or date."""
    board = task.opening.board()
    adjudicator = Adjudicator(task.adjudication, open_tablebases(task.adjudication.tablebases))
    players = {}
    for color, spec in ((chess.WHITE, task.white), (chess.BLACK, task.black)):
        players[color] = _player(spec.name, int(dict(spec.options).get(_HASH, DEFAULT_HASH)))
        players[color].begin(spec)
    verdict = natural_end(board)
    while verdict is None:
        move, record = players[board.turn].move(board)
        board.push(move)
        verdict = natural_end(board) or adjudicator.after_move(board, record)
    return GameResult(
        game=task.game,
        pair=task.pair,
        white=task.white.name,
        black=task.black.name,
        result=verdict.result,
        termination=verdict.termination,
        detail=verdict.detail,
        plies=len(board.move_stack),
        start_fen=task.opening.fen,
        final_fen=board.fen(),
        opening=task.opening.name,
    )
