"""From a minimum that stops early to alpha-beta, one small step at a time.

Trees here are nested sequences: a leaf is a number, and an inner node is the sequence of its children. Each step is a
working program, which may call earlier steps.

Steps 1 and 2 find the depth of the leaf nearest to the root. Steps 3 and 4 show that the method of step 2 works for any
running minimum or maximum. Steps 5 to 7 alternate minima and maxima; step 8 merges the functions of step 7 into one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

#: A leaf's number, or the children of an inner node (at least one).
Nested: TypeAlias = "int | Sequence[Nested]"

INFINITE: Final = 1 << 30


# Step 1. Find the smallest depth of a leaf: visit every node and keep the minimum.
def smallest_depth(node: Nested, depth: int = 0) -> int:
    """Returns the depth of the leaf nearest to `node`, by visiting every node. `depth` is the depth of `node`."""
    if isinstance(node, int):
        return depth
    smallest = INFINITE
    for child in node:
        smallest = min(smallest, smallest_depth(child, depth + 1))
    return smallest


# Step 2. Pass the smallest depth found so far to the children. Below a node that is at least as deep, no leaf is nearer
# to the root, so the visit to such a node ends at once. This step and all later steps have two parts: a bound that is
# passed down, and a test that ends the work early.
def smallest_depth_stopping(node: Nested, so_far: int = INFINITE, depth: int = 0) -> int:
    """Returns `smallest_depth(node, depth)` if it is less than `so_far`, otherwise a number >= `so_far`."""
    if isinstance(node, int) or depth >= so_far:
        return depth
    smallest = INFINITE
    for child in node:
        smallest = min(smallest, smallest_depth_stopping(child, min(so_far, smallest), depth + 1))
    return smallest


# Step 3. Stop a running maximum. Suppose that a caller needs the maximum of some numbers only if it is below a ceiling.
# A running maximum never falls, so the remaining numbers can be skipped as soon as it reaches the ceiling.
def maximum_below(numbers: Sequence[int], ceiling: int) -> int:
    """Returns the largest number if all are below `ceiling`, otherwise the first number that is at least `ceiling`."""
    largest = -INFINITE
    for number in numbers:
        largest = max(largest, number)
        if largest >= ceiling:
            break
    return largest


# Step 4. Stop a running minimum. It never rises, so the remaining numbers can be skipped as soon as it reaches a floor.
def minimum_above(numbers: Sequence[int], floor: int) -> int:
    """Returns the smallest number if all are above `floor`, otherwise the first number that is at most `floor`."""
    smallest = INFINITE
    for number in numbers:
        smallest = min(smallest, number)
        if smallest <= floor:
            break
    return smallest


# Step 5. Compute the maximum of the minima of several rows. Once the running minimum of a row has fallen to the largest
# minimum of the earlier rows, this row cannot raise that maximum. So the running maximum serves as the floor for the
# next row. This floor can only rise from row to row.
def maximum_of_minima(rows: Sequence[Sequence[int]]) -> int:
    """Returns the maximum of the minima of the rows."""
    largest = -INFINITE
    for row in rows:
        largest = max(largest, minimum_above(row, largest))
    return largest


# Step 6. Alternate maxima and minima down a tree. MAX passes its running maximum to MIN as a floor; MIN passes its
# running minimum to MAX as a ceiling. Each node knows only its parent's running value. This is called shallow pruning.
def shallow_max(node: Nested, ceiling: int = INFINITE) -> int:
    """Returns the minimax value of `node`, with MAX to move, or a lower bound on it that is >= `ceiling`."""
    if isinstance(node, int):
        return node
    largest = -INFINITE
    for child in node:
        largest = max(largest, shallow_min(child, largest))
        if largest >= ceiling:
            break
    return largest


def shallow_min(node: Nested, floor: int = -INFINITE) -> int:
    """Returns the minimax value of `node`, with MIN to move, or an upper bound on it that is <= `floor`."""
    if isinstance(node, int):
        return node
    smallest = INFINITE
    for child in node:
        smallest = min(smallest, shallow_max(child, smallest))
        if smallest <= floor:
            break
    return smallest


# Step 7. Keep the bounds from further up. A MAX node's grandparent is a MAX node, too. A value that does not exceed the
# grandparent's running maximum is useless, because the grandparent would not choose this line. So both bounds are
# passed down, and each level tightens one of them. This is deep pruning. The floor is called alpha, the ceiling beta.
def max_value(node: Nested, alpha: int = -INFINITE, beta: int = INFINITE) -> int:
    """Returns the minimax value of `node`, with MAX to move, if it lies between `alpha` and `beta`.

    Otherwise returns an upper bound on the value that is <= `alpha`, or a lower bound that is >= `beta`.
    """
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
    """Returns the minimax value of `node`, with MIN to move, or a bound on it, as `max_value` does with MAX to move."""
    if isinstance(node, int):
        return node
    smallest = INFINITE
    for child in node:
        smallest = min(smallest, max_value(child, alpha, beta))
        if smallest <= alpha:
            break
        beta = min(beta, smallest)
    return smallest


# Step 8. Merge the two functions. min(a, b) = -max(-a, -b): from the point of view of the side to move, MIN does the
# same as MAX, with signs changed and the two bounds swapped. `search.theory.alphabeta.alpha_beta` is this function for
# any game, with a watcher that it calls at each step.
def value_to_mover(node: Nested, sign: int = 1, alpha: int = -INFINITE, beta: int = INFINITE) -> int:
    """Returns the same as `max_value` (`sign` 1) or `min_value` (`sign` -1), but with values from the mover's view."""
    if isinstance(node, int):
        return sign * node
    best = -INFINITE
    for child in node:
        best = max(best, -value_to_mover(child, -sign, -beta, -alpha))
        if best >= beta:
            break
        alpha = max(alpha, best)
    return best
