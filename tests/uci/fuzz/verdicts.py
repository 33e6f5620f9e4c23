"""What the engine takes for a position and what it refuses, against python-chess's verdict."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from typing import Final

import chess

from engine.uci.parse import parse_position
from engine.uci.positions import PositionKeeper
from search.perft import Counter
from tests.uci.fuzz.fens import ODD, ODD_960, mutated, played, scattered
from tests.uci.fuzz.model import TOLERATED, judged
from tests.uci.fuzz.searches import BreachError

#: Longest message about a FEN, however long that is.
LONGEST_MESSAGE: Final = 400


def fens(seed: int) -> Iterator[tuple[str, bool]]:
    """FENs without end, and whether each is for Chess960: of games, of scattered pieces, and with something wrong."""
    rng = random.Random(seed)
    yield from ((fen, fen in ODD_960) for fen in ODD + ODD_960)
    while True:
        chess960 = rng.random() < 0.4
        for fen in list(played(rng, chess960))[:: rng.randrange(5, 40)]:
            yield fen, chess960
            yield mutated(rng, fen), rng.random() < 0.4
        for _ in range(5):
            yield scattered(rng), chess960
            yield mutated(rng, rng.choice(ODD + ODD_960)), rng.random() < 0.4


def check(keeper: PositionKeeper, fen: str, chess960: bool) -> bool:
    """Gives a FEN to the engine; whether it took it. Raises BreachError when it should not have, or not so.

    A good one must be on the board then, with the legal moves that python-chess finds; a bad one must be refused with
    the reason, and leave the position as it was.
    """
    expected = judged(fen, chess960)
    before = keeper.game, keeper.game.board.fen()
    try:
        keeper.set(parse_position(["fen", *fen.split()]), chess960)
    except ValueError as error:
        _check_refusal(fen, chess960, expected, str(error))
        if (keeper.game, keeper.game.board.fen()) != before:
            raise BreachError(f"a refused FEN changed the position: {fen!r}") from None
        return False
    board = keeper.game.board
    if expected is None:
        raise BreachError(f"a bad FEN was taken: {fen!r}")
    if board.fen() != expected.fen():
        raise BreachError(f"{fen!r} became {board.fen()}, not {expected.fen()}")
    counts = Counter(board, 1).run()
    if counts is None or set(counts) != set(expected.legal_moves) or set(counts.values()) - {1}:
        raise BreachError(f"{fen!r}: legal moves are not {[move.uci() for move in expected.legal_moves]}")
    return True


def _check_refusal(fen: str, chess960: bool, expected: chess.Board | None, message: str) -> None:
    if expected is not None:
        raise BreachError(f"a good FEN was refused: {fen!r}: {message}") from None
    found = re.fullmatch(r"(bad FEN '.*'(?: \(\d+ characters\))?|position fen): (.{5,})", message)
    if found is None or len(message) > LONGEST_MESSAGE:
        raise BreachError(f"{fen!r} is refused without a reason, or at length: {message}") from None
    try:
        board = chess.Board(fen, chess960=chess960)
    except ValueError as error:
        if fen.split() and not str(error).startswith(found[2]):
            raise BreachError(f"{fen!r}: the reason is not '{found[2]}' but {error}") from None
        return
    board.promoted = chess.BB_EMPTY
    wrong = board.status() & ~TOLERATED
    words = [(flag.name or "").lower().replace("_", " ") for flag in chess.Status if flag and flag & wrong]
    if not all(word in found[2] for word in words):
        raise BreachError(f"{fen!r}: '{found[2]}' does not say {', '.join(words)}") from None
