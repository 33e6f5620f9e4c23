"""The results of games (`GameResult`) and of matches (`MatchResult`).

All runners and the PGN reader use these classes. Their instances are plain data, which can be sent to other machines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

#: The points for White, by the result of a finished game.
WHITE_POINTS: Final[dict[str, float]] = {"1-0": 1.0, "1/2-1/2": 0.5, "0-1": 0.0}


class Termination(StrEnum):
    """The reason why a game ended. The values are written to the PGN file."""

    CHECKMATE = "checkmate"
    STALEMATE = "stalemate"
    REPETITION = "threefold repetition"
    FIFTY_MOVES = "fifty-move rule"
    MATERIAL = "insufficient material"
    RESIGN_RULE = "resign adjudication"
    DRAW_RULE = "draw adjudication"
    TABLEBASE = "tablebase adjudication"
    MAX_MOVES = "move limit"
    TIME_FORFEIT = "time forfeit"
    ILLEGAL_MOVE = "illegal move"
    CRASH = "engine crash"
    HANG = "engine hang"
    NOT_STARTED = "engine did not start"
    OTHER = "other"


#: Terminations by an engine's fault: the engine loses the game, the fault is reported, and the exit status is 1.
FAULTS: Final = frozenset(
    {
        Termination.TIME_FORFEIT,
        Termination.ILLEGAL_MOVE,
        Termination.CRASH,
        Termination.HANG,
        Termination.NOT_STARTED,
    }
)


@dataclass(frozen=True, slots=True)
class MoveRecord:
    """A move of an engine or of a book, with the mover's score (centipawns or moves to mate), time, depth and nodes."""

    uci: str
    seconds: float = 0.0
    depth: int | None = None
    centipawns: int | None = None
    mate: int | None = None
    nodes: int | None = None
    book: bool = False


@dataclass(frozen=True, slots=True)
class GameResult:
    """The result of a game.

    `game` counts from 0 in the order of the schedule. The two games that play an opening with colours swapped have the
    same `pair`. Only the built-in runner sets `final_fen`, `plies` and `moves`. `plies` and `moves` include book moves.
    """

    game: int
    pair: int
    white: str
    black: str
    result: str
    termination: Termination = Termination.OTHER
    detail: str = ""
    plies: int | None = None
    start_fen: str | None = None
    final_fen: str | None = None
    opening: str = ""
    moves: tuple[MoveRecord, ...] = field(default=(), repr=False)
    date: str = ""

    @property
    def white_points(self) -> float:
        """The points for White: 1, 0.5 or 0. Raises KeyError for an unfinished game ("*")."""
        return WHITE_POINTS[self.result]

    @property
    def is_finished(self) -> bool:
        """True if the result is not "*". Only finished games count."""
        return self.result in WHITE_POINTS

    @property
    def faulty_engine(self) -> str | None:
        """The engine that lost by a fault (a termination in FAULTS); None if the game did not end by a fault."""
        if self.termination not in FAULTS or self.result not in ("1-0", "0-1"):
            return None
        return self.black if self.result == "1-0" else self.white

    @property
    def title(self) -> str:
        """The name of this game in messages."""
        return f"game {self.game + 1} ({self.white} - {self.black})"

    @property
    def fault(self) -> str | None:
        """A line that names the game, the faulty engine and the fault; None if the game did not end by a fault."""
        engine = self.faulty_engine
        if engine is None:
            return None
        detail = self.detail or str(self.termination)
        return f"{self.title}: {detail if detail.startswith(engine) else f'{engine}: {detail}'}"

    @property
    def seconds(self) -> dict[str, float]:
        """The seconds that each engine's `moves` took, by the engine's name; 0 if there are no moves."""
        mover, other = self.white, self.black
        if self.final_fen is not None and self.final_fen.split()[1] == "w":
            mover, other = other, mover
        last = {mover: self.moves[::-2], other: self.moves[-2::-2]}
        return {engine: sum(move.seconds for move in moves) for engine, moves in last.items()}

    def points(self, engine: str) -> float:
        """Returns the points of `engine`: 1, 0.5 or 0. Raises ValueError if `engine` did not play this game."""
        if engine == self.white:
            return self.white_points
        if engine == self.black:
            return 1.0 - self.white_points
        raise ValueError(f"{engine} did not play {self.title}")


@dataclass(slots=True)
class MatchResult:
    """The result of a match: its finished games, in the order of the schedule, and its problems.

    `games_planned` is the number of games in the schedule. `stopped_early` is True if the caller ended the match, and
    `interrupted` is True if Ctrl-C did so. `problems` has a line for each problem, such as an engine's fault, or a
    game that could not be played or saved. `notes` has remarks that do not make the match a failure.
    """

    engines: tuple[str, ...]
    games: list[GameResult] = field(default_factory=list)
    games_planned: int = 0
    stopped_early: bool = False
    interrupted: bool = False
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def exit_status(self) -> int:
        """The exit status: 0 if the match is complete or was stopped early, without problems or Ctrl-C; else 1."""
        complete = self.stopped_early or len(self.games) >= self.games_planned
        return 0 if complete and not self.problems and not self.interrupted else 1

    def to_json(self) -> dict[str, Any]:
        """Returns the result, without the moves of the games, as a dict for `--json`."""
        keys = ("game", "pair", "white", "black", "result", "termination", "detail", "plies", "final_fen")
        facts = ("games_planned", "stopped_early", "interrupted", "problems", "notes")
        return {
            "engines": {
                name: dict(zip(("wins", "draws", "losses"), win_draw_loss(self.games, name), strict=True))
                for name in self.engines
            },
            "games": [{key: getattr(game, key) for key in keys} for game in self.games],
            **{fact: getattr(self, fact) for fact in facts},
            "seconds": round(self.seconds, 3),
        }


def win_draw_loss(games: Iterable[GameResult], engine: str) -> tuple[int, int, int]:
    """Returns (wins, draws, losses) of `engine` in its finished games."""
    points = [game.points(engine) for game in games if game.is_finished and engine in (game.white, game.black)]
    return points.count(1.0), points.count(0.5), points.count(0.0)


def complete_pairs(games: Iterable[GameResult]) -> Iterator[tuple[GameResult, GameResult]]:
    """Yields each pair when its second finished game appears in `games`. The pair's lower-numbered game comes first."""
    first: dict[int, GameResult] = {}
    for game in games:
        if not game.is_finished:
            continue
        other = first.pop(game.pair, None)
        if other is None:
            first[game.pair] = game
        else:
            yield (other, game) if other.game < game.game else (game, other)
