"""Statements that introductions to alpha-beta make, each with a function that checks it by a computation.

The page shows the source of these functions beside their results.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from types import ModuleType
from typing import Final

from search.theory import smallest_depth
from search.theory.algorithms import run
from search.theory.counterexample import counterexample
from search.theory.counting import effective_branching, minimal_leaves
from search.theory.finite_lattice import diamond
from search.theory.generate import uniform_tree
from search.theory.lattice_search import fold, strong
from search.theory.lattices import Sets, violating_triple
from search.theory.orders import Order, ordered_children
from search.theory.smallest_depth import maximum_of_minima, value_to_mover
from search.theory.tree_text import read_tree, write_list
from search.theory.trees import minimax_values

_CALCULATOR: Final = "[B:[D:3 E:5] C:[F:2 G:-1000]]"


def half_is_saved() -> str:
    """Counts the leaves that alpha-beta skips in the tree with the leaves 3, 5, 2 and -1000."""
    counts = run(read_tree(_CALCULATOR), "alpha-beta").statistics
    skipped = counts.leaves - counts.evaluated
    return f"No: {skipped} of {counts.leaves} leaves is skipped, which is {skipped / counts.leaves:.0%}."


def still_gets_two() -> str:
    """Computes the true values of the nodes above the skipped leaf."""
    tree = read_tree(_CALCULATOR)
    value = minimax_values(tree, tree.integers())[tree.label.index("C")]
    return f"No: with G = -1000, C is worth {value}. The cut is right because C is worth at most 2, and B is worth 3."


def eight_plies_of_chess() -> str:
    """Computes 30 to the power of 8."""
    return f"No: 30^8 = {30**8:,}, which is {30**8 / 1e9:.0f} billion."


def square_root() -> str:
    """Counts leaves in best order, and compares them with the square root of all leaves."""
    found = []
    for branching, depth in ((4, 8), (4, 7), (3, 8)):
        least, leaves = run(uniform_tree(branching, depth, "best"), "alpha-beta").statistics.evaluated, branching**depth
        assert least == minimal_leaves(branching, depth)
        found.append(f"{branching}^{depth}: {least} of {leaves:,} leaves, {least / math.sqrt(leaves):.2f} roots")
    return f"Nearly: {'; '.join(found)}. At even depth it is twice the square root, less one."


def worst_case() -> str:
    """Counts leaves in a tree made for the worst order, and in a random tree with every side's worst move first."""
    found = []
    for tree in uniform_tree(4, 6, "worst"), uniform_tree(4, 6, "random"):
        counts = run(tree, "alpha-beta", children=ordered_children(tree, "worst")).statistics
        found.append(f"{counts.evaluated:,} of {counts.leaves:,} leaves")
    return f"Yes, in some trees: {found[0]}. In a random tree with the worst moves first: {found[1]}."


def twice_as_deep() -> str:
    """Computes the depth that alpha-beta reaches with as many leaves as minimax, in best and in random order."""
    depth, found = 8, []
    tree = uniform_tree(4, depth, "random", 1)
    orders: tuple[Order, ...] = ("best", "random")
    for order in orders:
        leaves = run(tree, "alpha-beta", children=ordered_children(tree, order)).statistics.evaluated
        factor = effective_branching(leaves, depth)
        found.append(f"{depth * math.log(4) / math.log(factor):.1f} in {order} order (branching factor {factor:.2f})")
    return f"Only in the best order, and even then not quite. Instead of {depth} plies: {'; '.join(found)}."


def derivation() -> str:
    """Runs two steps of the derivation in `search.theory.smallest_depth` beside minimax."""
    rows = [[5, 6], [7, 4], [3, 2]]
    steps = maximum_of_minima(rows), value_to_mover(rows)
    return (
        f"Yes: minimax finds {max(map(min, rows))}, step 5 finds {steps[0]}, and step 8 (alpha-beta) finds {steps[1]}."
    )


def strong_is_always_sound() -> str:
    """Searches for the smallest tree that the strong rule gets wrong, also in its form as a fold of the path."""
    found = []
    for rule in (strong, fold):
        failing = counterexample(diamond(), rule)
        assert failing is not None
        tree, value, true = failing
        found.append(f"{rule.__name__}: {write_list(tree)} gives {value} instead of {true}")
    return f"No, not in M3: {'; '.join(found)}."


def sets_are_distributive() -> str:
    """Searches for a violation of the distributive law in the subsets of three worlds."""
    worlds = "abc"
    sets = [frozenset(chosen) for size in range(4) for chosen in combinations(worlds, size)]
    triple = violating_triple(Sets(worlds), sets)
    return f"Yes: none of the {len(sets) ** 3} triples of sets violates it." if triple is None else f"No: {triple}."


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement, the function that checks it, and a tree that shows it ("" if there is none)."""

    text: str
    check: Callable[[], str]
    tree: str = ""

    #: A module whose code belongs to the statement.
    module: ModuleType | None = None

    @property
    def source(self) -> str:
        """The source of the function and of the module."""
        sources = [inspect.getsource(part) for part in (self.check, self.module) if part is not None]
        return "\n\n".join(sources)


#: The statements by the names of their functions.
STATEMENTS: Final[dict[str, Statement]] = {
    statement.check.__name__: statement
    for statement in (
        Statement("The cut in a tree with four leaves saves half of the work.", half_is_saved, _CALCULATOR),
        Statement(
            "If the skipped leaf is worth -1000, the node above it is still worth 2.", still_gets_two, _CALCULATOR
        ),
        Statement("Eight plies of chess, with 30 moves each, are 650 trillion positions.", eight_plies_of_chess),
        Statement("With good ordering, alpha-beta looks at the square root of the positions.", square_root),
        Statement("In the worst order, alpha-beta looks at all positions.", worst_case),
        Statement("Alpha-beta searches twice as deep with the same work.", twice_as_deep),
        Statement(
            "A minimum that stops early leads to alpha-beta, step by step.",
            derivation,
            "[[5 6] [7 4] [3 2]]",
            smallest_depth,
        ),
        Statement("The strong rule for lattices needs no distributivity.", strong_is_always_sound),
        Statement(
            "The values of games with several possible worlds form a distributive lattice.", sets_are_distributive
        ),
    )
}
