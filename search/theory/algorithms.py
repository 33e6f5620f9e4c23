"""Every algorithm of this package by its name; runs it on any tree and records it."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from search.theory.alphabeta import alpha_beta, fail_hard
from search.theory.aspiration import aspirate
from search.theory.counting import fewest_leaves, minimal_leaves
from search.theory.deepening import deepen
from search.theory.enhanced import Memory, enhanced
from search.theory.events import Event
from search.theory.lattice_search import Rule, deep, fold, lattice_value, naive, shallow, strong, weak
from search.theory.lattices import Chain, Lattice
from search.theory.minimax import minimax
from search.theory.negamax import negamax
from search.theory.ordering import ByGuess, History, Killers, Ordering
from search.theory.pvs import principal_variation_search
from search.theory.recorder import Recorder, View
from search.theory.table import Table
from search.theory.trees import Children, Tree, TreeGame, shortened

#: The most events of one run: a search that restarts many times can make more than a reader needs.
MAX_EVENTS: Final = 2_000_000


class AlgorithmError(ValueError):
    """An algorithm that does not fit its input; one line says why."""


@dataclass(frozen=True, slots=True)
class _Task:
    """A tree of numbers, ready to be searched."""

    game: TreeGame
    plies: int
    #: The distance from the expected value to either side of an aspiration window.
    width: int
    watch: Recorder

    def enhanced(self, *orderings: Ordering[int, int], table: bool = False) -> int:
        memory: Memory[int, int] = Memory(Table() if table else None, orderings)
        return enhanced(self.game, 0, self.plies, memory, watch=self.watch)

    def aspired(self) -> int:
        def search(alpha: int, beta: int) -> int:
            return alpha_beta(self.game, 0, alpha, beta, self.watch)

        return aspirate(search, self.game.guess(0), self.width, 0, self.watch)

    def deepened(self, *orderings: Ordering[int, int], width: int | None = None) -> int:
        memory: Memory[int, int] = Memory(Table(), orderings)
        *_, value = deepen(self.game, 0, max(self.plies, 1), memory, width, self.watch)
        return value


@dataclass(frozen=True, slots=True)
class Algorithm:
    """A search that a watcher can follow."""

    key: str
    name: str
    #: One sentence: how it differs from the others.
    summary: str
    #: One of these two: a search of numbers, or a rule for any lattice.
    search: Callable[[_Task], int] | None = None
    rule: Rule | None = None
    view: View = "mover"

    @property
    def in_lattice(self) -> bool:
        """Whether it works in any lattice (and whether the rule is sound there)."""
        return self.rule is not None


_OF_NUMBERS: Final = (
    Algorithm(
        "minimax",
        "Minimax",
        "The definition: MAX takes the largest, MIN the smallest, and everything is visited.",
        lambda task: minimax(task.game, 0, task.watch),
        view="root",
    ),
    Algorithm(
        "negamax",
        "Negamax",
        "Minimax as one function: every value is the mover's, and changes its sign from ply to ply.",
        lambda task: negamax(task.game, 0, task.watch),
    ),
    Algorithm(
        "fail-hard",
        "Alpha-beta, fail-hard",
        "Leaves out what cannot change the root's value; values never leave the window.",
        lambda task: fail_hard(task.game, 0, watch=task.watch),
    ),
    Algorithm(
        "alpha-beta",
        "Alpha-beta, fail-soft",
        "Leaves out what cannot change the root's value, and says of a value outside the window how far outside it is.",
        lambda task: alpha_beta(task.game, 0, watch=task.watch),
    ),
    Algorithm(
        "pvs",
        "Principal variation search",
        "Takes the first move for the best, and only asks of the others whether that is wrong.",
        lambda task: principal_variation_search(task.game, 0, watch=task.watch),
    ),
    Algorithm(
        "aspiration",
        "Alpha-beta with an aspiration window",
        "Starts with a narrow window around the value that is expected, and widens it when that was wrong.",
        _Task.aspired,
    ),
    Algorithm(
        "table",
        "Alpha-beta with a transposition table",
        "Remembers what it found out; equal subtrees with the same side to move are the same position.",
        lambda task: task.enhanced(table=True),
    ),
    Algorithm(
        "guess",
        "Alpha-beta ordered by guesses",
        "Looks at moves first that seem good: here, by the average of the leaves below them.",
        lambda task: task.enhanced(ByGuess(task.game)),
    ),
    Algorithm(
        "killers",
        "Alpha-beta with killer moves",
        "Tries first what cut off a sibling: here, the child with the same number.",
        lambda task: task.enhanced(Killers()),
    ),
    Algorithm(
        "history",
        "Alpha-beta with the history heuristic",
        "Tries first what cut often, anywhere in the tree: here, children by their number.",
        lambda task: task.enhanced(History()),
    ),
    Algorithm(
        "deepening",
        "Iterative deepening",
        "Searches to depth 1, 2, 3 and so on with a table, each search ordered by the one before.",
        lambda task: task.deepened(),
    ),
    Algorithm(
        "engine",
        "All together",
        "Iterative deepening with aspiration windows, table, killers and history, as engines do it.",
        lambda task: task.deepened(Killers(), History(), width=task.width),
    ),
)

_RULES: Final = (
    (naive, "naive", "Join at MAX, meet at MIN, everything visited."),
    (
        shallow,
        "shallow pruning",
        "Compares a node with its parent alone (Ginsberg and Jaffray). Sound in every lattice.",
    ),
    (
        deep,
        "deep pruning",
        "Compares a node with each single node above (Ginsberg and Jaffray). Needs distributivity.",
    ),
    (weak, "weak rule", "Compares a node with all that the other side has above, together. Needs distributivity."),
    (
        strong,
        "strong rule",
        "Counts only what the own side above leaves of the value, in one operation. Needs distributivity.",
    ),
    (
        fold,
        "strong rule by definition",
        "Computes the root from the path twice: with the value, and with its extreme. Needs distributivity.",
    ),
)

#: Every algorithm by its key, in the order in which to learn them.
ALGORITHMS: Final[dict[str, Algorithm]] = {algorithm.key: algorithm for algorithm in _OF_NUMBERS} | {
    f"lattice-{rule.__name__}": Algorithm(f"lattice-{rule.__name__}", f"Lattice, {name}", summary, rule=rule)
    for rule, name, summary in _RULES
}


@dataclass(frozen=True, slots=True)
class Statistics:
    """The cost of a run, and the least and greatest possible costs."""

    #: Visits of nodes, and the visits that valued a leaf; repeated visits count each time.
    visited: int
    evaluated: int
    #: Nodes never visited.
    pruned: int
    cuts: int
    table_hits: int
    #: Nodes and leaves of the tree: what minimax visits and values.
    nodes: int
    leaves: int
    #: The fewest leaves for a search without a table, see `search.theory.counting`; None in lattices.
    fewest_leaves: int | None
    #: Branching, depth and Knuth and Moore's bound if the tree is uniform.
    uniform: tuple[int, int, int] | None


@dataclass(frozen=True, slots=True)
class Run:
    """The run of an algorithm on a tree."""

    algorithm: Algorithm
    tree: Tree
    #: The order in which children were visited.
    children: Children
    #: The lattice of values and bounds; `Chain` for numbers. `lattice.format` writes them.
    lattice: Lattice[Any]
    #: The root's value, from MAX's view.
    value: Any
    events: list[Event]
    #: The principal variation, from the root on, see `Recorder.line`.
    line: list[int]
    statistics: Statistics


def run(
    tree: Tree,
    key: str,
    *,
    children: Children | None = None,
    lattice: Lattice[Any] | None = None,
    force: bool = False,
    check: Callable[[], None] | None = None,
) -> Run:
    """Runs the algorithm `key` on `tree`, at any depth that a tree may have, and records its events.

    `children` is the order of visiting (see `search.theory.orders`); None is the tree's own. Without `lattice`, leaves
    are whole numbers. Raises `AlgorithmError` for an unknown key or a lattice that the algorithm does not support;
    `TreeError` for a leaf that is no value, or a run of more than MAX_EVENTS events; and `UnsoundRuleError`, unless
    `force` is set, for a rule that may give a wrong value in this lattice. `check` is called every few events, and an
    exception from it ends the run.
    """
    algorithm = ALGORITHMS.get(key)
    if algorithm is None:
        raise AlgorithmError(f"there is no algorithm '{shortened(key)}': choose from {', '.join(ALGORITHMS)}")
    values = Chain() if lattice is None else lattice
    order = tree.children if children is None else children
    view: View = "max" if algorithm.in_lattice else algorithm.view
    recorder = Recorder(tree, order, view, most_events=MAX_EVENTS, check=check)
    value: Any
    # The algorithms recurse once a ply. Such calls take none of the thread's stack, so the limit may stay raised.
    sys.setrecursionlimit(max(sys.getrecursionlimit(), tree.height + 1000))
    if algorithm.rule is not None:
        value = lattice_value(values, tree, algorithm.rule, recorder, children=order, force=force)
    else:
        value = _search_numbers(algorithm, tree, values, order, recorder)
    statistics = _statistics(tree, values, recorder)
    return Run(algorithm, tree, order, values, value, recorder.events, recorder.line(), statistics)


def _search_numbers(
    algorithm: Algorithm, tree: Tree, lattice: Lattice[Any], order: Children, recorder: Recorder
) -> int:
    """The root's value from MAX's view."""
    if not isinstance(lattice, Chain):
        raise AlgorithmError(
            f"{algorithm.name} compares numbers: in a lattice of another kind, choose one for lattices"
        )
    leaves = [value for value in tree.values(lattice.parse) if value is not None]
    width = (max(leaves) - min(leaves)) // 8 + 1
    assert algorithm.search is not None
    value = algorithm.search(_Task(TreeGame(tree, order), tree.height, width, recorder))
    return value if tree.root_is_max else -value


def _statistics(tree: Tree, lattice: Lattice[Any], recorder: Recorder) -> Statistics:
    kinds = Counter(event.kind for event in recorder.events)
    uniform = tree.uniform()
    return Statistics(
        visited=kinds["enter"],
        evaluated=kinds["leaf"],
        pruned=len(tree) - len({event.node for event in recorder.events if event.kind == "enter"}),
        cuts=kinds["cut"],
        table_hits=recorder.table_hits,
        nodes=len(tree),
        leaves=len(tree.leaves),
        fewest_leaves=fewest_leaves(tree) if isinstance(lattice, Chain) else None,
        uniform=None if uniform is None else (*uniform, minimal_leaves(*uniform)),
    )
