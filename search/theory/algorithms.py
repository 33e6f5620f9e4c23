"""The algorithms of this package by key, and `run`, which records the events of an algorithm's search of a tree."""

from __future__ import annotations

import sys
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import CodeType
from typing import Any, Final

from search.theory.alphabeta import alpha_beta, fail_hard, maximum, minimum
from search.theory.aspiration import aspirate
from search.theory.counting import fewest_leaves, minimal_leaves
from search.theory.deepening import deepen
from search.theory.enhanced import Memory, enhanced
from search.theory.events import Event
from search.theory.horizon import Counted
from search.theory.lattice_search import (
    Rule,
    check_sound,
    deep,
    fold,
    naive,
    searched,
    shallow,
    strong,
    weak,
)
from search.theory.lattices import Chain, Lattice
from search.theory.minimax import minimax
from search.theory.negamax import negamax
from search.theory.ordering import ByGuess, History, Killers, Ordering
from search.theory.pvs import principal_variation_search
from search.theory.recorder import Recorder, View
from search.theory.table import Table
from search.theory.trees import Children, Tree, TreeGame, shortened
from search.theory.watch import UNWATCHED, Watcher

#: The maximum number of events in a run. A search that restarts many times could produce too many to read.
MAX_EVENTS: Final = 2_000_000


class AlgorithmError(ValueError):
    """Raised if an algorithm is unknown or does not support the lattice."""


@dataclass(frozen=True, slots=True)
class _Task:
    """The arguments of the algorithms for numbers. `game` is played on a tree, and `plies` is the tree's height."""

    game: TreeGame
    plies: int
    #: The distance from the expected value to each end of the first aspiration window.
    width: int
    watch: Watcher[int, int]

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
    """An algorithm that searches a tree and reports each step to a watcher."""

    key: str
    name: str
    #: A sentence or two on how this algorithm differs from the others.
    summary: str
    #: Exactly one of `search` (for numbers) and `rule` (a pruning rule for lattices) is set.
    search: Callable[[_Task], int] | None = None
    rule: Rule | None = None
    view: View = "mover"
    #: Why this algorithm may value more leaves than alpha-beta; "" if it should not.
    loses: str = ""

    @property
    def in_lattice(self) -> bool:
        """Whether the algorithm searches trees of lattice elements. If so, its rule may be unsound in some lattices."""
        return self.rule is not None


_TOO_SHALLOW: Final = (
    "The shallow searches cost more here than they save. If leaves are independent, a shallow search says little about "
    "which move is best. Generate a tree with correlated leaves, as in games."
)

_OF_NUMBERS: Final = (
    Algorithm(
        "minimax",
        "Minimax",
        "The definition: MAX takes the largest value, and MIN takes the smallest. Every node is visited.",
        lambda task: minimax(task.game, 0, task.watch),
        view="root",
    ),
    Algorithm(
        "negamax",
        "Negamax",
        "Minimax as one function: every value is from the mover's point of view and changes sign at each ply.",
        lambda task: negamax(task.game, 0, task.watch),
    ),
    Algorithm(
        "two-sided",
        "Alpha-beta",
        "Skips nodes that cannot change the root's value. MAX and MIN have a function each: press Code to read them.",
        lambda task: (maximum if task.game.root_is_max else minimum)(task.game, 0, watch=task.watch),
        view="max",
    ),
    Algorithm(
        "fail-hard",
        "Alpha-beta, fail-hard",
        "Alpha-beta as one function for both sides. It never returns a value outside the window.",
        lambda task: fail_hard(task.game, 0, watch=task.watch),
    ),
    Algorithm(
        "alpha-beta",
        "Alpha-beta, fail-soft",
        "Skips the same nodes as fail-hard, but can return a tighter bound if the value lies outside the window.",
        lambda task: alpha_beta(task.game, 0, watch=task.watch),
    ),
    Algorithm(
        "pvs",
        "Principal variation search",
        "Assumes that the first move is best, and only tests whether another move beats it.",
        lambda task: principal_variation_search(task.game, 0, watch=task.watch),
        loses="A move that passes the test is searched twice. In trees with good moves first, few moves do.",
    ),
    Algorithm(
        "aspiration",
        "Alpha-beta with an aspiration window",
        "Starts with a narrow window around the expected value. If the value lies outside, widens the window.",
        _Task.aspired,
        loses="The expected value, the average of all leaves, lies far from the value here, so it starts again. "
        "If leaves are independent, their average says little about the value.",
    ),
    Algorithm(
        "table",
        "Alpha-beta with a transposition table",
        "Stores its results; equal subtrees with the same side to move count as the same position.",
        lambda task: task.enhanced(table=True),
    ),
    Algorithm(
        "guess",
        "Alpha-beta ordered by guesses",
        "Searches the most promising moves first: here, those with the best average of the leaves below them.",
        lambda task: task.enhanced(ByGuess(task.game)),
    ),
    Algorithm(
        "killers",
        "Alpha-beta with killer moves",
        "First tries moves that caused cutoffs at the same ply. Here, a move is the number of a child.",
        lambda task: task.enhanced(Killers()),
    ),
    Algorithm(
        "history",
        "Alpha-beta with the history heuristic",
        "First tries moves that often caused cutoffs anywhere in the tree. Here, a move is the number of a child.",
        lambda task: task.enhanced(History()),
    ),
    Algorithm(
        "deepening",
        "Iterative deepening",
        "Searches to depth 1, 2, 3 and so on with a table; each search improves the move order of the next.",
        lambda task: task.deepened(),
        loses=_TOO_SHALLOW,
    ),
    Algorithm(
        "engine",
        "All together",
        "Iterative deepening with aspiration windows, a table, killers and history, as in chess engines.",
        lambda task: task.deepened(Killers(), History(), width=task.width),
        loses=_TOO_SHALLOW,
    ),
)

_RULES: Final = (
    (naive, "naive", "The definition: MAX takes the join, and MIN takes the meet. Every node is visited."),
    (
        shallow,
        "shallow pruning",
        "Compares a node with its parent only (Ginsberg and Jaffray). Sound in every lattice.",
    ),
    (
        deep,
        "deep pruning",
        "Compares a node with each opposing node above, one at a time (Ginsberg and Jaffray). Needs distributivity.",
    ),
    (weak, "weak rule", "Compares a node with all opposing nodes above, taken together. Needs distributivity."),
    (
        strong,
        "strong rule",
        "Like the weak rule, but first combines the value with alpha (MAX) or beta (MIN). Needs distributivity.",
    ),
    (
        fold,
        "strong rule by definition",
        "Cuts if the root's value is the same with the top (MAX) or bottom (MIN) at the node. Needs distributivity.",
    ),
)

#: The algorithms by key, in the order in which to learn them.
ALGORITHMS: Final[dict[str, Algorithm]] = {algorithm.key: algorithm for algorithm in _OF_NUMBERS} | {
    f"lattice-{rule.__name__}": Algorithm(f"lattice-{rule.__name__}", f"Lattice, {name}", summary, rule=rule)
    for rule, name, summary in _RULES
}


@dataclass(frozen=True, slots=True)
class Statistics:
    """The cost of a run, with the least possible cost and the cost of minimax for comparison."""

    #: The number of visits, and the number of visits that ended with a leaf's value or a guess. Revisits count.
    visited: int
    evaluated: int
    #: The number of nodes that were never visited.
    pruned: int
    cuts: int
    table_hits: int
    #: The number of nodes in the tree, including the leaves, and the number of leaves. Minimax visits every node.
    nodes: int
    leaves: int
    #: The fewest leaves that prove the root's value (see `search.theory.counting`); None for a search in a lattice.
    fewest_leaves: int | None
    #: The leaves that alpha-beta values in the same order, if the algorithm may value more; otherwise None.
    plain: int | None
    #: Branching factor, depth, and the result of `minimal_leaves` for them; None if the tree is not uniform, or for a
    #: search in a lattice.
    uniform: tuple[int, int, int] | None


@dataclass(frozen=True, slots=True)
class Run:
    """A recorded run of an algorithm on a tree."""

    algorithm: Algorithm
    tree: Tree
    #: The order of each node's children before move ordering.
    children: Children
    #: The lattice of the values and bounds (`Chain` for numbers); `lattice.format` converts them to text.
    lattice: Lattice[Any]
    #: The root's value, from MAX's point of view.
    value: Any
    events: list[Event]
    #: The places in the code that the events come from (see `Recorder`).
    places: list[int]
    lines: list[tuple[CodeType, int]]
    #: The principal variation, starting at the root (see `Recorder.line`).
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
    """Runs the algorithm `key` on `tree` and records the events of the search.

    `children` is the order of the children before move ordering (see `search.theory.orders`), by default the tree's
    own. Without `lattice`, values are numbers. Raises `AlgorithmError` if the key is unknown or the algorithm does not
    support the lattice, and `TreeError` if a leaf is invalid or the run has more than MAX_EVENTS events. Raises
    `UnsoundRuleError` if the rule may give a wrong value in the lattice, unless `force` is set. `check` is called every
    few events. If it raises an exception, the run ends. Permanently increases Python's recursion limit if needed.
    """
    algorithm = ALGORITHMS.get(key)
    if algorithm is None:
        raise AlgorithmError(f"unknown algorithm '{shortened(key)}': choose from {', '.join(ALGORITHMS)}")
    values = Chain() if lattice is None else lattice
    if isinstance(values, Chain):
        values = values.with_decimals(tree.decimals)
    order = tree.children if children is None else children
    view: View = "max" if algorithm.in_lattice else algorithm.view
    recorder = Recorder(
        *(tree, order, view),
        in_lattice=algorithm.in_lattice,
        in_chain=isinstance(values, Chain),
        most_events=MAX_EVENTS,
        check=check,
    )
    # The algorithms recurse once per ply. Python calls do not use the thread's C stack, so the limit may stay raised.
    sys.setrecursionlimit(max(sys.getrecursionlimit(), tree.height + 1000))
    value = _prepared(algorithm, tree, values, order, recorder, force)()
    plain = _plain(tree, order) if algorithm.loses else None
    statistics = _statistics(tree, values, recorder, plain)
    return Run(
        algorithm,
        tree,
        order,
        values,
        value,
        recorder.events,
        recorder.places,
        list(recorder.lines),
        recorder.line(),
        statistics,
    )


def _prepared(
    algorithm: Algorithm, tree: Tree, lattice: Lattice[Any], order: Children, watch: Watcher[int, Any], force: bool
) -> Callable[[], Any]:
    """Returns a function that runs an algorithm and returns the root's value; for the arguments and errors see `run`.

    The leaves have been read then, and the rule is known to be sound.
    """
    if algorithm.rule is not None:
        if not force:
            check_sound(algorithm.rule, lattice)
        return partial(searched, lattice, tree, tree.values(lattice.parse), algorithm.rule, watch, order)
    if not isinstance(lattice, Chain):
        raise AlgorithmError(f"{algorithm.name} compares numbers: choose a lattice algorithm for other values")
    leaves = [value for value in tree.values(lattice.parse) if value is not None]
    width = (max(leaves) - min(leaves)) // 8 + 1
    return partial(_search_numbers, algorithm, _Task(TreeGame(tree, order), tree.height, width, watch))


def _search_numbers(algorithm: Algorithm, task: _Task) -> int:
    """Runs an algorithm for numbers and returns the root's value from MAX's point of view."""
    assert algorithm.search is not None
    value = algorithm.search(task)
    return value if task.game.root_is_max or algorithm.view == "max" else -value


def measured(
    tree: Tree, key: str, *, children: Children | None = None, lattice: Lattice[Any] | None = None, force: bool = False
) -> tuple[float, int]:
    """Returns the processor seconds and the peak bytes of memory of a search without recording; see `run`.

    Reading the leaves and checking that a rule is sound do not count.
    """
    values = Chain().with_decimals(tree.decimals) if lattice is None else lattice
    order = tree.children if children is None else children
    algorithm = ALGORITHMS[key]
    sys.setrecursionlimit(max(sys.getrecursionlimit(), tree.height + 1000))

    search = _prepared(algorithm, tree, values, order, UNWATCHED, force)
    began = time.process_time()
    search()
    seconds = time.process_time() - began
    tracemalloc.start()
    try:
        search()
        return seconds, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _plain(tree: Tree, order: Children) -> int:
    """Returns the number of leaves that alpha-beta values."""
    counted = Counted(TreeGame(tree, order))
    alpha_beta(counted, 0)
    return counted.leaves


def _statistics(tree: Tree, lattice: Lattice[Any], recorder: Recorder, plain: int | None) -> Statistics:
    kinds = Counter(event.kind for event in recorder.events)
    # In a lattice, even a chain, a leaf with the greatest or least value ends the search at once.
    is_numbers = isinstance(lattice, Chain) and not recorder.in_lattice
    uniform = tree.uniform() if is_numbers else None
    fewest = fewest_leaves(tree, lattice.parse) if is_numbers else None
    return Statistics(
        visited=kinds["enter"],
        evaluated=kinds["leaf"],
        pruned=len(tree) - len({event.node for event in recorder.events if event.kind == "enter"}),
        cuts=kinds["cut"],
        table_hits=recorder.table_hits,
        nodes=len(tree),
        leaves=len(tree.leaves),
        fewest_leaves=fewest,
        plain=plain,
        uniform=None if uniform is None else (*uniform, minimal_leaves(*uniform)),
    )
