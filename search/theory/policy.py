"""Learned move ordering: a small policy that rates moves without a search.

The logit of a move is a sum of weights. In games in which lines of stones win, each line through the square that the
move fills has a weight, and so has each line through the square that the move makes playable for the opponent. The
weight of a line depends only on its stones. `chess_policy` says what counts in chess. The softmax of the logits gives
the prior of each move: the policy's estimate of the probability that the move is best. A search tries moves with
higher logits first, so a policy is an `Ordering`. Unlike killers and history, it is learned before the search, from
searches of other positions: `bench.policies` does that and writes the weights to `FILE`.
"""

from __future__ import annotations

import functools
import json
import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, Generic, Protocol, TypeAlias

from engine.errors import CommandError
from engine.files import parse_json, read_text, reason, shown
from search.theory.connect_four import ConnectFour
from search.theory.games import Move, Position, SearchGame
from search.theory.tictactoe import TicTacToe
from search.theory.trees import Tree

#: The stones of the side to move and of the other side, as bits.
Stones: TypeAlias = tuple[int, int]

#: The weights of the shipped policies, with a record of their training.
FILE: Final = Path(__file__).with_name("policies.json")

#: The first fields of the file.
HEAD: Final[dict[str, Any]] = {"format": "secateur policies", "version": 1}

#: Weights are whole numbers, in units of 1 / SCALE of a logit.
SCALE: Final = 100

#: The two groups of weights: for the square that a move fills, and for the square that it makes playable.
GROUPS: Final = ("filled", "playable")

#: The pieces of chess, in python-chess's order.
PIECES: Final = ("pawn", "knight", "bishop", "rook", "queen", "king")

#: The weights of chess: what the exchange on the target square does for the mover's material; the steps from the target
#: square to the nearest edge; the captured piece; and a check.
CHESS_GROUPS: Final = {
    "exchange": [f"{piece} {result}" for piece in PIECES for result in ("loses", "keeps", "wins")],
    "target": [f"{piece} {steps}" for piece in PIECES for steps in range(4)],
    "captured": [f"{piece} takes {victim}" for victim in PIECES[:-1] for piece in PIECES],
    "check": list(PIECES),
}

_MOST_BYTES: Final = 100_000
_MOST_WEIGHT: Final = 1_000_000


class PolicyError(CommandError, ValueError):
    """Raised if the file of the policies is unusable; the message is one line and names the file."""


class LineGame(SearchGame[Stones, int], Protocol):
    """A game in which each move puts a stone on a square, and `length` stones on one of the `lines` win."""

    @property
    def lines(self) -> Sequence[int]:
        """All lines, as sets of bits."""
        ...

    @property
    def length(self) -> int:
        """The number of squares of a line."""
        ...

    def squares(self, position: Stones, move: int) -> tuple[int, int]:
        """Returns the square that a move fills and the square that it makes playable (0 if none), as bits."""
        ...

    def name(self, move: int) -> str:
        """Returns the name of a move."""
        ...

    def read(self, text: str) -> Stones:
        """Returns the position that `text` describes. Raises ValueError if there is no such position."""
        ...


def patterns(length: int) -> list[str]:
    """Returns the kinds of lines: only own stones (0 to length - 1), only the opponent's (1 to length - 1), or both."""
    return [*(f"own {count}" for count in range(length)), *(f"other {count}" for count in range(1, length)), "both"]


class LineFeatures:
    """What the policy of a game with lines sees of a move: the patterns of the lines through two squares."""

    def __init__(self, game: LineGame) -> None:
        self._game = game
        self._kinds = 2 * game.length
        through = defaultdict(list)
        for line in game.lines:
            for square in range(line.bit_length()):
                if line >> square & 1:
                    through[1 << square].append(line)
        self._through = dict(through)

    def __call__(self, position: Stones, move: int) -> list[int]:
        """Returns the index of the weight of each line through the filled square and through the playable square."""
        mine, theirs = position
        filled, playable = self._game.squares(position, move)
        found = [self._kind(line & mine, line & theirs) for line in self._through.get(filled, ())]
        mine |= filled
        return found + [
            self._kinds + self._kind(line & mine, line & theirs) for line in self._through.get(playable, ())
        ]

    def _kind(self, own: int, other: int) -> int:
        """Returns the index in `patterns` of a line with these stones."""
        if own and other:
            return self._kinds - 1
        return own.bit_count() if not other else self._game.length - 1 + other.bit_count()


class Policy(Generic[Position, Move]):
    """An ordering by learned weights. `features` returns the indices of the weights that count for a move."""

    def __init__(
        self,
        game: SearchGame[Position, Move],
        features: Callable[[Position, Move], Sequence[int]],
        weights: Sequence[int],
    ) -> None:
        self._game, self.features, self._weights = game, features, weights

    def rank(self, position: Position, move: Move, ply: int) -> int:
        """Returns the logit of a move times SCALE."""
        return sum(self._weights[feature] for feature in self.features(position, move))

    def learn(self, position: Position, move: Move, ply: int, depth: int) -> None:
        """Does nothing: the weights were learned before the search."""

    def priors(self, position: Position) -> dict[Move, float]:
        """Returns the prior of each move: the softmax of the logits."""
        logits = {move: self.rank(position, move, 0) / SCALE for move in self._game.moves(position)}
        most = max(logits.values(), default=0.0)
        shares = {move: math.exp(logit - most) for move, logit in logits.items()}
        return {move: share / sum(shares.values()) for move, share in shares.items()}


# --------------------------------------------------------------------------------------------------------------
# The file
# --------------------------------------------------------------------------------------------------------------

#: The games of lines with a policy.
GAMES: Final[dict[str, LineGame]] = {"tic-tac-toe": TicTacToe(), "connect-four": ConnectFour()}


#: The names of the weights of each policy, by group.
WEIGHTS: Final[dict[str, dict[str, list[str]]]] = {
    **{name: dict.fromkeys(GROUPS, patterns(game.length)) for name, game in GAMES.items()},
    "chess": CHESS_GROUPS,
}


def policy_of(name: str, weights: Sequence[int]) -> Policy[Any, Any]:
    """Returns the policy of a game in `WEIGHTS` with these weights, in the order of `WEIGHTS`."""
    if name in GAMES:
        return Policy(GAMES[name], LineFeatures(GAMES[name]), weights)
    # Browsers have no python-chess.
    from search.theory.chess_policy import chess_features
    from search.theory.plain_chess import PlainChess

    return Policy(PlainChess(), chess_features, weights)


@functools.cache
def shipped(name: str) -> Policy[Any, Any]:
    """Returns the policy in `FILE` for a game in `WEIGHTS`. Raises `PolicyError` if the file is unusable."""
    entry = read_policies(FILE)[name]
    return policy_of(name, [weight for group in WEIGHTS[name] for weight in entry[group].values()])


def read_policies(path: Path) -> dict[str, dict[str, Any]]:
    """Returns the entries of a file by game, each with its weights and "record". Raises `PolicyError` otherwise."""
    try:
        return checked_policies(parse_json(read_text(path, _MOST_BYTES)))
    except OSError as error:
        raise PolicyError(f"{shown(path)}: {reason(error)}") from None
    except json.JSONDecodeError as error:
        raise PolicyError(f"{shown(path)}: line {error.lineno}: not valid JSON: {error.msg}") from None
    except ValueError as error:
        raise PolicyError(f"{shown(path)}: {error}") from None


def checked_policies(value: Any) -> dict[str, dict[str, Any]]:
    """Returns the entries by game of a parsed file. Raises ValueError if a game or a weight is missing or invalid."""
    if not isinstance(value, dict) or any(value.get(key) != expected for key, expected in HEAD.items()):
        raise ValueError(f"this is not a file of policies: expected {json.dumps(HEAD)[1:-1]}")
    entries: Any = value.get("policies")
    for name, groups in WEIGHTS.items():
        entry = entries.get(name) if isinstance(entries, dict) else None
        for group, kinds in groups.items():
            weights = entry.get(group) if isinstance(entry, dict) else None
            if not isinstance(weights, dict) or list(weights) != kinds:
                raise ValueError(f'the policy "{name}" must have the weights "{group}": {", ".join(kinds)}')
            for kind, weight in weights.items():
                if type(weight) is not int or abs(weight) > _MOST_WEIGHT:
                    raise ValueError(f'the weight "{kind}" of "{group}" of "{name}" must be a whole number')
    return dict(entries)


# --------------------------------------------------------------------------------------------------------------
# Trees of these games
# --------------------------------------------------------------------------------------------------------------


def named_position(text: str) -> tuple[str, Stones]:
    """Returns the game and the position that a text names: `tic-tac-toe XX./OO./...` or `connect-four dde`.

    Connect Four is described by the columns of its first moves. Raises ValueError if the text is invalid.
    """
    name, _, place = text.partition(" ")
    if name not in GAMES:
        raise ValueError(f"'{text}' does not begin with {' or '.join(GAMES)}")
    return name, GAMES[name].read(place)


def priors_of(tree: Tree) -> list[float | None] | None:
    """Returns each node's prior among the moves of its parent, or None if the root's label does not name a position.

    The entry of the root is None, and so is that of a node whose label is not the name of a move, and of nodes below.
    """
    try:
        name, root = named_position(tree.label[0])
    except ValueError:
        return None
    game, policy = GAMES[name], shipped(name)
    positions: list[Stones | None] = [root] + [None] * (len(tree) - 1)
    found: list[float | None] = [None] * len(tree)
    known: dict[Stones, dict[str, tuple[int, float]]] = {}
    for node, children in enumerate(tree.children):
        position = positions[node]
        if position is None or not children:
            continue
        if position not in known:
            known[position] = {game.name(move): (move, prior) for move, prior in policy.priors(position).items()}
        for child in children:
            if tree.label[child] in known[position]:
                move, found[child] = known[position][tree.label[child]]
                positions[child] = game.apply(position, move)
    return found
