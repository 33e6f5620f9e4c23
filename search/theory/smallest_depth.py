"""From a minimum that stops early to alpha-beta, one small step at a time.

Trees here are nested sequences: a leaf is a number, an inner node the sequence of its children. Each step is complete
and can be run; the tests do so and count what each step looks at.

Steps 1 and 2 ask for the depth of the leaf nearest to the root. Steps 3 and 4 see that the trick in it belongs to any
running minimum or maximum. Steps 5 to 7 let the two alternate, step 8 makes one function of two.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

#: A leaf's number, or the children of an inner node (at least one).
Nested: TypeAlias = "int | Sequence[Nested]"

INFINITE: Final = 1 << 30


# Step 1. The smallest depth of a leaf: look everywhere, keep the minimum.
def smallest_depth(node: Nested, depth: int = 0) -> int:
    """The depth of the leaf nearest to the root; the root's is 0. Visits everything."""
    if isinstance(node, int):
        return depth
    smallest = INFINITE
    for child in node:
        smallest = min(smallest, smallest_depth(child, depth + 1))
    return smallest


# Step 2. Tell the children what is already known. Whoever is as deep as the nearest leaf so far can only find leaves
# that are no nearer, so it gives up at once. There are two parts to it, and all that follows has both: the knowledge
# that is passed down, and the test that stops the work.
def smallest_depth_stopping(node: Nested, so_far: int = INFINITE, depth: int = 0) -> int:
    """As `smallest_depth`, if that is below `so_far`; otherwise some number that is not below `so_far`."""
    if isinstance(node, int) or depth >= so_far:
        return depth
    smallest = INFINITE
    for child in node:
        smallest = min(smallest, smallest_depth_stopping(child, min(so_far, smallest), depth + 1))
    return smallest


# Step 3. Stop a running maximum. Forget depths: take the maximum of some numbers for someone who stops caring once it
# reaches a ceiling. A running maximum never falls, so when it touches the ceiling the rest may remain unseen.
def maximum_below(numbers: Sequence[int], ceiling: int) -> int:
    """The largest number if all lie below `ceiling`, otherwise the first that does not."""
    largest = -INFINITE
    for number in numbers:
        largest = max(largest, number)
        if largest >= ceiling:
            break
    return largest


# Step 4. The mirror image: a running minimum never rises, so it may stop at a floor.
def minimum_above(numbers: Sequence[int], floor: int) -> int:
    """The smallest number if all lie above `floor`, otherwise the first that does not."""
    smallest = INFINITE
    for number in numbers:
        smallest = min(smallest, number)
        if smallest <= floor:
            break
    return smallest


# Step 5. Who would give a floor? Someone who takes the maximum of several minima. While it works on the second minimum
# it holds the first already: a minimum that has sunk to that can no longer raise the maximum. So the running maximum of
# one level is the floor of the level below, and it gets tighter with each row.
def maximum_of_minima(rows: Sequence[Sequence[int]]) -> int:
    """The largest of the rows' smallest numbers."""
    largest = -INFINITE
    for row in rows:
        largest = max(largest, minimum_above(row, largest))
    return largest


# Step 6. Let it alternate down a whole tree. MAX hands its running maximum to MIN as a floor, MIN its running minimum
# to MAX as a ceiling. Each node only knows what its parent holds: shallow pruning.
def shallow_max(node: Nested, ceiling: int = INFINITE) -> int:
    """Minimax's value of `node`, MAX to move, if it is below `ceiling`; otherwise a number from `ceiling` up."""
    if isinstance(node, int):
        return node
    largest = -INFINITE
    for child in node:
        largest = max(largest, shallow_min(child, largest))
        if largest >= ceiling:
            break
    return largest


def shallow_min(node: Nested, floor: int = -INFINITE) -> int:
    """Minimax's value of `node`, MIN to move, if it is above `floor`; otherwise a number from `floor` down."""
    if isinstance(node, int):
        return node
    smallest = INFINITE
    for child in node:
        smallest = min(smallest, shallow_max(child, smallest))
        if smallest <= floor:
            break
    return smallest


# Step 7. Do not forget what was known further up. MAX's grandparent is MAX, too, and may hold more than MAX itself does
# by now; what does not beat that is of no use to it, for it would not come here. So both limits go down together, and
# each level tightens its own: deep pruning. By their usual names the floor is alpha and the ceiling is beta.
def max_value(node: Nested, alpha: int = -INFINITE, beta: int = INFINITE) -> int:
    """Minimax's value of `node`, MAX to move, if it lies between `alpha` and `beta`; otherwise a bound on that side."""
    if isinstance(node, int):
        return node
    largest = -INFINITE
    for child in node:
        largest = max(largest, min_value(child, alpha, beta))
        if largest >= beta:
            break
        alpha = max(alpha, largest)
    return largest


def min_value(node: Nested, alpha: int = -INFINITE, beta: int = INFINITE) -> int:
    """The mirror image of `max_value`: MIN to move."""
    if isinstance(node, int):
        return node
    smallest = INFINITE
    for child in node:
        smallest = min(smallest, max_value(child, alpha, beta))
        if smallest <= alpha:
            break
        beta = min(beta, smallest)
    return smallest


# Step 8. One function instead of two. min(a, b) = -max(-a, -b): seen from the side to move, MIN does what MAX does,
# with signs changed and the two limits swapped. On any game, with its reasons told to a watcher, this is
# `search.theory.alphabeta.alpha_beta`.
def value_to_mover(node: Nested, sign: int = 1, alpha: int = -INFINITE, beta: int = INFINITE) -> int:
    """The value of `node` to the side to move: MAX for `sign` 1, MIN for -1. `alpha` and `beta` are that side's."""
    if isinstance(node, int):
        return sign * node
    best = -INFINITE
    for child in node:
        best = max(best, -value_to_mover(child, -sign, -beta, -alpha))
        if best >= beta:
            break
        alpha = max(alpha, best)
    return best
