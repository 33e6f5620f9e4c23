"""The layout of the classical evaluation's weights: the name, meaning and indices of each group of weights.

All weights are in one vector, so the evaluation and its breakdown can describe a term by an index and a count. A
weight is a pair of integers: one for the middlegame, one for the endgame. The unit is centipawns, except for the
weights of `King attack`, which are in units of danger (see `eval.terms.king`). `eval.values` contains the values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from eval.values import VALUES

#: The rows of the printed breakdown. The weights of row DANGER are in units of danger instead of centipawns.
ROWS: Final = (
    "Material",
    "Squares",
    "Mobility",
    "Pawns",
    "Passed pawns",
    "Pieces",
    "Shelter",
    "King attack",
    "Threats",
    "Endings",
    "Tempo",
)
DANGER: Final = ROWS.index("King attack")


@dataclass(frozen=True)
class Group:
    """A group of `size` related weights that begins at index `first`. The breakdown shows it in the row ROWS[row]."""

    name: str
    first: int
    size: int
    row: int
    meaning: str


GROUPS: Final[list[Group]] = []


def _group(name: str, size: int, row: str, meaning: str) -> int:
    first = GROUPS[-1].first + GROUPS[-1].size if GROUPS else 0
    GROUPS.append(Group(name, first, size, ROWS.index(row), meaning))
    return first


# Semicolons separate different weights. Squares and ranks (1 to 8) are seen from the owner's side.
MATERIAL = _group("MATERIAL", 5, "Material", "a pawn; a knight; a bishop; a rook; a queen")
BISHOP_PAIR = _group("BISHOP_PAIR", 1, "Material", "two bishops or more")
PER_PAWN = _group("PER_PAWN", 3, "Material", "own pawns minus five, for each knight; each bishop; each rook")

PAWN_SQUARES = _group("PAWN_SQUARES", 64, "Squares", "a pawn on a square")
KNIGHT_SQUARES = _group("KNIGHT_SQUARES", 64, "Squares", "a knight on a square")
BISHOP_SQUARES = _group("BISHOP_SQUARES", 64, "Squares", "a bishop on a square")
ROOK_SQUARES = _group("ROOK_SQUARES", 64, "Squares", "a rook on a square")
QUEEN_SQUARES = _group("QUEEN_SQUARES", 64, "Squares", "a queen on a square")
KING_SQUARES = _group("KING_SQUARES", 64, "Squares", "the king on a square")

KNIGHT_MOBILITY = _group("KNIGHT_MOBILITY", 9, "Mobility", "a knight, by the number of useful squares that it attacks")
BISHOP_MOBILITY = _group("BISHOP_MOBILITY", 14, "Mobility", "a bishop, by the same number")
ROOK_MOBILITY = _group("ROOK_MOBILITY", 15, "Mobility", "a rook, by the same number")
QUEEN_MOBILITY = _group("QUEEN_MOBILITY", 28, "Mobility", "a queen, by the same number")

DOUBLED = _group("DOUBLED", 2, "Pawns", "a pawn with an own pawn ahead of it on its file; directly ahead of it")
ISOLATED = _group("ISOLATED", 2, "Pawns", "a pawn without own pawns on neighbour files: opposed; unopposed")
BACKWARD = _group("BACKWARD", 2, "Pawns", "a pawn behind its neighbours, unable to advance safely: opposed; unopposed")
PHALANX = _group("PHALANX", 8, "Pawns", "a pawn with an own pawn beside it, by rank")
SUPPORTED = _group("SUPPORTED", 8, "Pawns", "a pawn that an own pawn defends, by rank")
CANDIDATE = _group("CANDIDATE", 8, "Pawns", "an unopposed pawn with at least as many helpers as sentries, by rank")

PASSED = _group("PASSED", 8, "Passed pawns", "a passed pawn, by rank")
PASSED_OWN_KING = _group("PASSED_OWN_KING", 8, "Passed pawns", "each step from its own king to the pawn's next square")
PASSED_ENEMY_KING = _group("PASSED_ENEMY_KING", 8, "Passed pawns", "the same for the enemy king")
PASSED_BLOCKED = _group("PASSED_BLOCKED", 8, "Passed pawns", "the next square is occupied")
PASSED_FREE_STEP = _group("PASSED_FREE_STEP", 8, "Passed pawns", "the next square is empty and not attacked")
PASSED_FREE_PATH = _group("PASSED_FREE_PATH", 8, "Passed pawns", "every square ahead is empty and not attacked")
PASSED_HELPED = _group("PASSED_HELPED", 8, "Passed pawns", "its own side defends the next square")
PASSED_ROOK = _group("PASSED_ROOK", 2, "Passed pawns", "a rook or queen behind the pawn: of its own side; of the enemy")
UNSTOPPABLE = _group("UNSTOPPABLE", 1, "Passed pawns", "a king without pieces cannot catch the pawn")

OUTPOST = _group("OUTPOST", 2, "Pieces", "on rank 4 to 6, defended by a pawn, safe from enemy pawns: knight; bishop")
OUTPOST_REACHABLE = _group("OUTPOST_REACHABLE", 1, "Pieces", "a knight that can move to such a square")
BEHIND_PAWN = _group("BEHIND_PAWN", 1, "Pieces", "a minor piece right behind a pawn")
KING_DISTANCE = _group("KING_DISTANCE", 2, "Pieces", "each step from the king to a knight; a bishop of its side")
BISHOP_PAWNS = _group("BISHOP_PAWNS", 2, "Pieces", "an own pawn on the bishop's colour; one blocked on files c to f")
BISHOP_CENTER = _group("BISHOP_CENTER", 1, "Pieces", "a bishop that attacks two or more centre squares")
ROOK_FILE = _group("ROOK_FILE", 2, "Pieces", "a rook on a half-open file; on an open file")
ROOK_SEVENTH = _group("ROOK_SEVENTH", 1, "Pieces", "a rook on rank 7 with enemy pawns there or their king on rank 8")
CASTLING_RIGHTS = _group("CASTLING_RIGHTS", 1, "Pieces", "a rook that may still castle")

SHELTER = _group(
    "SHELTER", 32, "Shelter", "a file near the king, by its distance to the edge and the rank of the king's own pawn"
)
STORM = _group("STORM", 32, "Shelter", "the same with the enemy pawn's rank")
STORM_BLOCKED = _group("STORM_BLOCKED", 8, "Shelter", "instead of STORM if an own pawn blocks the enemy pawn, by rank")
PAWN_DISTANCE = _group("PAWN_DISTANCE", 1, "Shelter", "each step between the king and the nearest own pawn")
PAWNLESS_WING = _group("PAWNLESS_WING", 1, "Shelter", "a king on a wing without pawns")

ATTACKER = _group("ATTACKER", 4, "King attack", "an attack on the king's zone by a knight; a bishop; a rook; a queen")
RING_ATTACK = _group("RING_ATTACK", 1, "King attack", "each attack of an attacker on the ring: squares beside the king")
RING_WEAK = _group("RING_WEAK", 1, "King attack", "an attacked ring square that only the king defends")
SAFE_CHECK = _group("SAFE_CHECK", 8, "King attack", "safe checks by each type of piece, knight to queen: one; several")
UNSAFE_CHECK = _group("UNSAFE_CHECK", 1, "King attack", "a square from which a piece can give an unsafe check")
NO_QUEEN = _group("NO_QUEEN", 1, "King attack", "the attacker has no queen")
FLANK_ATTACK = _group("FLANK_ATTACK", 2, "King attack", "an attacked square of the king's flank; one attacked twice")
FLANK_DEFENCE = _group("FLANK_DEFENCE", 1, "King attack", "a square of the king's flank that is defended")
OPEN_FILE = _group("OPEN_FILE", 2, "King attack", "a file near the king without the defender's pawns; without pawns")
KNIGHT_DEFENDER = _group("KNIGHT_DEFENDER", 1, "King attack", "the defender has a knight that guards a ring square")
ATTACK_BASE = _group("ATTACK_BASE", 1, "King attack", "an attack with enough attackers to count")

# An attacked piece or pawn is weak if no pawn defends it, and if it has at most one defender or at least two attackers.
PAWN_THREAT = _group("PAWN_THREAT", 3, "Threats", "a pawn attacks a minor piece; a rook; a queen")
MINOR_THREAT = _group("MINOR_THREAT", 5, "Threats", "a minor piece attacks a weak pawn or any piece, by type")
ROOK_THREAT = _group("ROOK_THREAT", 5, "Threats", "a rook attacks a weak pawn, minor or rook, or a queen, by type")
KING_THREAT = _group("KING_THREAT", 1, "Threats", "the king attacks a weak piece or pawn")
HANGING = _group("HANGING", 1, "Threats", "an attacked, undefended piece or pawn, or a weak piece attacked twice")
PUSH_THREAT = _group("PUSH_THREAT", 1, "Threats", "a piece that a pawn would attack after a safe push")
QUEEN_THREAT = _group("QUEEN_THREAT", 2, "Threats", "a safe square for attacking the queen with a knight; a slider")
RESTRICTED = _group("RESTRICTED", 1, "Threats", "a square that both sides attack and the enemy defends weakly")

MOP_UP_EDGE = _group("MOP_UP_EDGE", 4, "Endings", "the bare king, by its distance to the edge")
MOP_UP_KINGS = _group("MOP_UP_KINGS", 1, "Endings", "each step between the kings, if one is bare")
MOP_UP_CORNER = _group("MOP_UP_CORNER", 1, "Endings", "bare king's steps to the nearer corner of the bishop's colour")

TEMPO = _group("TEMPO", 1, "Tempo", "the right to move")

COUNT: Final = GROUPS[-1].first + GROUPS[-1].size


def _values() -> npt.NDArray[np.int64]:
    """Returns the values in `eval.values` as int64[COUNT][2]. Raises ValueError if their names or sizes are wrong."""
    if set(VALUES) != {group.name for group in GROUPS}:
        raise ValueError(
            f"eval.values: missing or unknown names: {sorted(set(VALUES) ^ {group.name for group in GROUPS})}"
        )
    values = np.zeros((COUNT, 2), np.int64)
    for group in GROUPS:
        for phase, text in enumerate(VALUES[group.name]):
            numbers = np.array(text.split(), np.int64)
            if len(numbers) != group.size:
                raise ValueError(f"eval.values: {group.name} must have {group.size} numbers (got {len(numbers)})")
            # Square tables are written as White sees the board, rank 8 first.
            if group.size == 64:
                numbers = numbers.reshape(8, 8)[::-1].ravel()
            values[group.first : group.first + group.size, phase] = numbers
    return values


#: int64[COUNT][2]: [weight][middlegame, endgame].
WEIGHTS: Final = _values()
#: int64[COUNT]: each weight as one number with the middlegame value in its upper half, so one addition adds both.
PACKED: Final = (WEIGHTS[:, 0] << 32) + WEIGHTS[:, 1]
