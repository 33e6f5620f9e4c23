"""Every algorithm of this package by its name; runs it on any tree and records it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from search.theory import lattice_search
from search.theory.alphabeta import alpha_beta, fail_hard
from search.theory.aspiration import aspirate
from search.theory.counting import fewest_leaves, minimal_leaves
from search.theory.deep import with_deep_stack
from search.theory.deepening import deepen
from search.theory.enhanced import Memory, enhanced
from search.theory.events import Event
from search.theory.lattice_search import LatticeTree, Rule, lattice_value
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
class Settings:
    """The parameters of some algorithms."""

    #: The centre of the first aspiration window, from MAX's view; None for the guess at the root.
    expected: int | None = None
    #: The distance from there to either side; None for an eighth of the range of the leaves.
    width: int | None = None


@dataclass(frozen=True, slots=True)
class _Task:
    """A tree of numbers, ready to be searched."""

    game: TreeGame
    plies: int
    expected: int
    width: int
    watch: Recorder

    def enhanced(self, *orderings: Ordering[int, int], table: bool = False) -> int:
        memory: Memory[int, int] = Memory(Table() if table else None, orderings)
        return enhanced(self.game, 0, self.plies, memory, watch=self.watch)

    def aspired(self) -> int:
        def search(alpha: int, beta: int) -> int:
            return alpha_beta(self.game, 0, alpha, beta, self.watch)

        return aspirate(search, self.expected, self.width, 0, self.watch)

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
    view: View
    #: One of these two: a search of numbers, or a rule for any lattice.
    search: Callable[[_Task], int] | None = None
    rule: Rule | None = None

    @property
    def in_lattice(self) -> bool:
        """Whether it works in any lattice (and whether the rule is sound there)."""
        return self.rule is not None


_ALL: Final = (
    Algorithm(
        "minimax",
        "Minimax",
        "The definition: MAX takes the largest, MIN the smallest, and everything is visited.",
        "root",
        lambda task: minimax(task.game, 0, task.watch),
    ),
    Algorithm(
        "negamax",
        "Negamax",
        "Minimax as one function: every value is the mover's, and changes its sign from ply to ply.",
        "mover",
        lambda task: negamax(task.game, 0, task.watch),
    ),
    Algorithm(
        "fail-hard",
        "Alpha-beta, fail-hard",
        "Leaves out what cannot change the root's value; values never leave the window.",
        "mover",
        lambda task: fail_hard(task.game, 0, watch=task.watch),
    ),
    Algorithm(
        "alpha-beta",
        "Alpha-beta, fail-soft",
        "Leaves out what cannot change the root's value, and says of a value outside the window how far outside it is.",
        "mover",
        lambda task: alpha_beta(task.game, 0, watch=task.watch),
    ),
    Algorithm(
        "pvs",
        "Principal variation search",
        "Takes the first move for the best, and only asks of the others whether that is wrong.",
        "mover",
        lambda task: principal_variation_search(task.game, 0, watch=task.watch),
    ),
    Algorithm(
        "aspiration",
        "Alpha-beta with an aspiration window",
        "Starts with a narrow window around the value that is expected, and widens it when that was wrong.",
        "mover",
        _Task.aspired,
    ),
    Algorithm(
        "table",
        "Alpha-beta with a transposition table",
        "Remembers what it found out; equal subtrees with the same side to move are the same position.",
        "mover",
        lambda task: task.enhanced(table=True),
    ),
    Algorithm(
        "guess",
        "Alpha-beta ordered by guesses",
        "Looks at moves first that seem good: here, by the average of the leaves below them.",
        "mover",
        lambda task: task.enhanced(ByGuess(task.game)),
    ),
    Algorithm(
        "killers",
        "Alpha-beta with killer moves",
        "Tries first what cut off a sibling: here, the child with the same number.",
        "mover",
        lambda task: task.enhanced(Killers()),
    ),
    Algorithm(
        "history",
        "Alpha-beta with the history heuristic",
        "Tries first what cut often, anywhere in the tree: here, children by their number.",
        "mover",
        lambda task: task.enhanced(History()),
    ),
    Algorithm(
        "deepening",
        "Iterative deepening",
        "Searches to depth 1, 2, 3 and so on with a table, each search ordered by the one before.",
        "mover",
        lambda task: task.deepened(),
    ),
    Algorithm(
        "engine",
        "All together",
        "Iterative deepening with aspiration windows, table, killers and history, as engines do it.",
        "mover",
        lambda task: task.deepened(Killers(), History(), width=task.width),
    ),
    Algorithm(
        "lattice-naive",
        "Lattice, naive",
        "Join at MAX, meet at MIN, everything visited.",
        "max",
        rule=lattice_search.naive,
    ),
    Algorithm(
        "lattice-shallow",
        "Lattice, shallow pruning",
        "Compares a node with its parent alone (Ginsberg and Jaffray). Sound in every lattice.",
        "max",
        rule=lattice_search.shallow,
    ),
    Algorithm(
        "lattice-deep",
        "Lattice, deep pruning",
        "Compares a node with each single node above (Ginsberg and Jaffray). Needs distributivity.",
        "max",
        rule=lattice_search.deep,
    ),
    Algorithm(
        "lattice-weak",
        "Lattice, weak rule",
        "Compares a node with all that the other side has above, together. Needs distributivity.",
        "max",
        rule=lattice_search.weak,
    ),
    Algorithm(
        "lattice-strong",
        "Lattice, strong rule",
        "Counts only what the own side above leaves of the value, in one operation. Needs distributivity.",
        "max",
        rule=lattice_search.strong,
    ),
    Algorithm(
        "lattice-fold",
        "Lattice, strong rule by definition",
        "Computes the root from the path twice: with the value, and with its extreme. Needs distributivity.",
        "max",
        rule=lattice_search.fold,
    ),
)

#: Every algorithm by its key, in the order in which to learn them.
ALGORITHMS: Final[dict[str, Algorithm]] = {algorithm.key: algorithm for algorithm in _ALL}


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

    def visited(self) -> frozenset[int]:
        """The nodes that were visited."""
        return frozenset(event.node for event in self.events if event.kind == "enter")


def run(
    tree: Tree,
    key: str,
    *,
    children: Children | None = None,
    lattice: Lattice[Any] | None = None,
    settings: Settings = Settings(),
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
    recorder = Recorder(
        tree, order, algorithm.view, in_lattice=algorithm.in_lattice, most_events=MAX_EVENTS, check=check
    )
    value: Any
    if algorithm.rule is not None:
        rule, game = algorithm.rule, LatticeTree(tree, values, order)
        value = with_deep_stack(lambda: lattice_value(values, game, 0, rule, recorder, force=force), tree.height)
    else:
        if not isinstance(values, Chain):
            raise AlgorithmError(
                f"{algorithm.name} compares numbers: in a lattice of another kind, choose one for lattices"
            )
        value = _search_numbers(algorithm, tree, values, order, settings, recorder)
    return Run(
        algorithm, tree, order, values, value, recorder.events, recorder.line(), _statistics(tree, values, recorder)
    )


def _search_numbers(
    algorithm: Algorithm, tree: Tree, chain: Chain, order: Children, settings: Settings, recorder: Recorder
) -> int:
    """The root's value from MAX's view."""
    lattice_search.leaf_elements(tree, chain)
    game = TreeGame(tree, order)
    leaves = [value for value in tree.integers() if value is not None]
    width = settings.width if settings.width is not None else (max(leaves) - min(leaves)) // 8 + 1
    sign = 1 if tree.root_is_max else -1
    # The expected value is given from MAX's view, like every value that is shown.
    expected = game.guess(0) if settings.expected is None else sign * settings.expected
    if width < 1:
        raise AlgorithmError(f"the width of an aspiration window is at least 1, not {width}")
    task = _Task(game, tree.height, expected, width, recorder)
    search = algorithm.search
    assert search is not None
    return sign * with_deep_stack(lambda: search(task), tree.height)


def _statistics(tree: Tree, lattice: Lattice[Any], recorder: Recorder) -> Statistics:
    kinds = {"enter": 0, "leaf": 0, "cut": 0}
    for event in recorder.events:
        if event.kind in kinds:
            kinds[event.kind] += 1
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
