"""Random FENs, good and bad, and a comparison of the engine's verdicts with python-chess's."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from typing import Final

import chess

from engine.uci.parse import parse_position
from engine.uci.positions import PositionKeeper
from search.perft import Counter
from tests.uci.fuzz.model import BreachError, judged

#: Longest message about a FEN, however long that is.
LONGEST_MESSAGE: Final = 400

#: Unusual positions: castling, en passant, promotions, few men, many queens, clocks at their edges, finished games.
ODD: Final = (
    chess.STARTING_FEN,
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
    "rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8",
    "r2q1rk1/pP1p2pp/Q4n2/bbp1p3/Np6/1B3NBn/pPPP1PPP/R3K2R b KQ - 0 1",
    "8/8/8/2k5/3Pp3/8/8/4K3 b - d3 0 1",
    "8/8/8/K1pP3r/8/8/8/7k w - c6 0 2",
    "R6R/3Q4/1Q4Q1/4Q3/2Q4Q/Q4Q2/pp1Q4/kBNN1KB1 w - - 0 1",
    "1QqQqQq1/r6Q/Q6q/q6Q/B2q4/q6Q/k6K/1qQ1QqRb w - - 0 1",
    "7k/5K2/8/8/8/8/8/6R1 w - - 99 80",
    "7k/8/8/8/8/8/8/KR6 w - - 100 90",
    "8/8/4k3/8/8/3NK3/8/8 w - - 0 1",
    "8/8/8/8/8/4k3/8/4K2R w K - 0 1",
    "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1",
    "R5k1/5ppp/8/8/8/8/8/6K1 b - - 0 1",
    "8/P7/8/8/8/8/p6k/K7 w - - 0 1",
    "kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1",
    "4k3/8/8/8/8/8/4q3/4K3 w - - 0 1",
    "k7/8/8/3q4/8/8/3Q4/K7 w - - 149 200",
)

#: The same with king and rooks in other places, for UCI_Chess960.
ODD_960: Final = (
    "bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9",
    "4k3/8/8/8/8/8/8/RK5R w HA - 0 1",
    "rk5r/8/8/8/8/8/8/RK5R b HAha - 0 1",
    "4k3/8/8/8/8/8/8/4KR1R w F - 0 1",
    "r1k1r2q/p1ppp1pp/8/8/8/8/P1PPP1PP/R1K1R2Q w KQkq - 0 1",
    "1r2k1r1/8/8/8/8/8/8/1R2K1R1 w GBgb - 0 1",
)

_PIECES: Final = "PNBRQKpnbrqk"
_LETTERS: Final = _PIECES + "12345678/ wbKQkqABCHabch-0129~xX.,;\u2654"
_CASTLING: Final = ("-", "KQkq", "Kq", "HAha", "GBgb", "KQkqK", "kK", "F", "", "AHah", "QKqk", "X", "--")
_TARGETS: Final = ("-", "e3", "d6", "a6", "h3", "e4", "e9", "i3", "", "c6", "f3", "ee3", "E3")
_COUNTS: Final = ("0", "1", "99", "100", "149", "300", "-1", "x", "1.5", "99999999999999999999999", "", "+3", "007")
#: By number (the board is 0): what may replace a field of a FEN.
_FIELDS: Final = {1: ("w", "b", "w", "b", "W", "x", "white", "-"), 2: _CASTLING, 3: _TARGETS, 4: _COUNTS, 5: _COUNTS}


def scattered(rng: random.Random) -> str:
    """A FEN with pieces on random squares, usually with two kings; it may be illegal."""
    board = chess.Board(None)
    squares = rng.sample(range(64), rng.choice((2, 3, 4, 6, 10, 20, 32)))
    kings = [chess.Piece(chess.KING, chess.WHITE), chess.Piece(chess.KING, chess.BLACK)]
    for index, square in enumerate(squares):
        piece = chess.Piece.from_symbol(rng.choice("PPPNBRQpppnbrq" if rng.random() < 0.98 else "Kk"))
        if index < 2 and rng.random() < 0.98:
            piece = kings[index]
        elif piece.piece_type == chess.PAWN and chess.square_rank(square) in (0, 7) and rng.random() < 0.97:
            continue
        board.set_piece_at(square, piece)
    fields = [board.board_fen(), rng.choice("wb"), "-", "-", str(rng.randrange(120)), str(rng.randrange(1, 200))]
    if rng.random() < 0.3:
        fields[2] = rng.choice(_CASTLING) or "-"
    if rng.random() < 0.3:
        fields[3] = rng.choice(chess.SQUARE_NAMES[16:24] + chess.SQUARE_NAMES[40:48])
    return " ".join(fields)


def few(rng: random.Random) -> str:
    """A legal position with three men, which the smallest tablebases have."""
    board = chess.Board(None)
    while not board.is_valid():
        board = chess.Board(None)
        men = [chess.Piece.from_symbol(letter) for letter in ("K", "k", rng.choice("QRBNPqrbnp"))]
        board.set_piece_map(dict(zip(rng.sample(range(64), 3), men, strict=True)))
        board.turn = rng.choice(chess.COLORS)
    return board.fen()


def played(rng: random.Random, chess960: bool = False) -> Iterator[str]:
    """The FENs of one game of random moves, to its end or 150 plies; in Chess960 from any start position."""
    board = chess.Board.from_chess960_pos(rng.randrange(960)) if chess960 else chess.Board()
    for _ in range(150):
        shredder = chess960 and rng.random() < 0.5
        yield board.fen(shredder=shredder, en_passant=rng.choice(("legal", "fen", "xfen")))
        moves = list(board.legal_moves)
        if not moves:
            return
        board.push(rng.choice(moves))


def mutated(rng: random.Random, fen: str) -> str:
    """A FEN with one to three things changed."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        fen = rng.choice((_letter, _letter, _field, _field, _piece, _order))(rng, fen)
    return fen


def _letter(rng: random.Random, fen: str) -> str:
    at = rng.randrange(len(fen) + 1)
    letter = rng.choice(_LETTERS)
    return rng.choice((fen[:at] + letter + fen[at:], fen[:at] + letter + fen[at + 1 :], fen[:at] + fen[at + 1 :]))


def _field(rng: random.Random, fen: str) -> str:
    fields = fen.split(" ")
    at = rng.randrange(1, 6)
    fields[at : at + 1] = [rng.choice(_FIELDS[at])]
    return " ".join(fields)


def _piece(rng: random.Random, fen: str) -> str:
    """Adds or removes pieces, and writes the board correctly."""
    board_fen, _, rest = fen.partition(" ")
    try:
        board = chess.Board(f"{board_fen} w - - 0 1")
    except ValueError:
        return fen
    for _ in range(rng.choice((1, 1, 2, 8))):
        piece = chess.Piece.from_symbol(rng.choice(_PIECES)) if rng.random() < 0.8 else None
        board.set_piece_at(rng.randrange(64), piece)
    return f"{board.board_fen()} {rest}"


def _order(rng: random.Random, fen: str) -> str:
    """Drops or doubles a field, or swaps two."""
    fields = fen.split(" ")
    at, other = rng.randrange(len(fields)), rng.randrange(len(fields))
    way = rng.randrange(4)
    if way == 0:
        return " ".join(fields[:at])
    if way == 1:
        return " ".join([*fields[:at], fields[at], *fields[at:]])
    fields[at], fields[other] = fields[other], fields[at]
    return " ".join(fields)


def fens(seed: int) -> Iterator[tuple[str, bool]]:
    """Endless FENs, and whether each is for Chess960: from games, with random pieces, and with mistakes."""
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
    """Gives a FEN to the engine; whether it accepts it. Raises BreachError for a wrong verdict or a wrong position.

    A good one must be on the board then, with the legal moves that python-chess finds; a bad one must be refused with
    the reason, and leave the position as it was.
    """
    expected = judged(fen, chess960)
    before = keeper.game, keeper.game.board.fen()
    try:
        keeper.set(parse_position(["fen", *fen.split()]), chess960)
    except ValueError as error:
        if expected is not None:
            raise BreachError(f"a good FEN was refused: {fen!r}: {error}") from None
        found = re.fullmatch(
            r"(bad FEN '.*'(?: \(\d+ characters\))?|illegal position|position fen): (.{5,})", str(error)
        )
        if found is None or len(str(error)) > LONGEST_MESSAGE:
            raise BreachError(f"{fen!r} is refused without a reason, or at length: {error}") from None
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
