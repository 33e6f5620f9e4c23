"""What pruning, a table and ordering save: leaves that each search values, counted, beside b^d and its square root.

Nothing here depends on the machine or on chance: the same leaves are counted everywhere, every time.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import chess

from search.theory.alphabeta import alpha_beta
from search.theory.connect_four import START as NO_STONES
from search.theory.connect_four import ConnectFour
from search.theory.counting import effective_branching, fewest_leaves, minimal_leaves
from search.theory.deepening import deepen
from search.theory.enhanced import Memory, enhanced
from search.theory.games import SearchGame
from search.theory.generate import game_tree, uniform_tree
from search.theory.horizon import Counted, CountedSearch, DepthLimited, Limited
from search.theory.lattice_search import LatticeTree, Rule, deep, lattice_value, naive, shallow, strong, weak
from search.theory.lattice_text import make_lattice
from search.theory.lattices import Product
from search.theory.ordering import ByGuess, History, Killers, Ordering
from search.theory.orders import ordered_children
from search.theory.plain_chess import PlainChess
from search.theory.pvs import principal_variation_search
from search.theory.table import Table
from search.theory.tictactoe import START as EMPTY
from search.theory.tictactoe import TicTacToe
from search.theory.trees import Children, Tree, TreeGame
from search.theory.watch import Watcher

#: Where README has the table.
BEGIN: Final = "<!-- claims: begin -->"
END: Final = "<!-- claims: end -->"

#: A middlegame with captures and checks to be had on both sides.
MIDDLEGAME: Final = "r1bq1rk1/pp2bppp/2n1pn2/2pp4/3P1B2/2PBPN2/PP1N1PPP/R2QK2R w KQ - 0 8"

#: Shuffled orders of which the mean is taken.
SHUFFLES: Final = 5

#: Half the width of aspiration windows, in units of the game's guesses: about half a pawn in chess.
_WIDTH: Final = 50

#: Nodes of a game's tree that is laid out to find its best order.
_MOST_NODES: Final = 2_000_000


@dataclass(frozen=True, slots=True)
class Subject:
    """A game that is searched from a position to a depth."""

    name: str
    game: SearchGame[Any, Any]
    position: Any
    depth: int


@dataclass(frozen=True, slots=True)
class Column:
    """What every search values in one subject: (technique, leaves), the first of them minimax."""

    name: str
    depth: int
    leaves: tuple[tuple[str, float], ...]

    def share(self, technique: str) -> float:
        """Leaves as a share of minimax's."""
        found = dict(self.leaves)
        return found[technique] / self.leaves[0][1]


def subjects() -> list[Subject]:
    """What README's table is about."""
    return [
        uniform_subject(4, 8),
        Subject("tic-tac-toe", TicTacToe(), EMPTY, 9),
        Subject("Connect Four", ConnectFour(), NO_STONES, 6),
        Subject("chess, first position", PlainChess(), chess.Board(), 4),
        Subject("chess, a middlegame", PlainChess(), chess.Board(MIDDLEGAME), 3),
    ]


def uniform_subject(branching: int, depth: int, seed: int = 1) -> Subject:
    """A uniform tree with leaves spread at random."""
    return Subject(f"uniform, b = {branching}", TreeGame(uniform_tree(branching, depth, "random", seed)), 0, depth)


def measure(subject: Subject, progress: Callable[[str], None] = lambda _: None) -> Column:
    """Counts for every technique, in the order of the table. `progress` is told what is counted next."""
    progress(f"{subject.name}: laying out the tree")
    tree = game_tree(subject.game, subject.position, subject.depth, most_nodes=_MOST_NODES)
    counts: list[tuple[str, float]] = [("minimax, b^d", len(tree.leaves))]
    for technique, count in _orders(tree):
        counts.append((technique, count()))
        progress(f"{subject.name}: {technique}: {counts[-1][1]:,.0f}")
    counts.append(("bound of Knuth and Moore", _bound(len(tree.leaves), subject.depth)))
    for technique, count in _techniques(subject):
        counts.append((technique, count()))
        progress(f"{subject.name}: {technique}: {counts[-1][1]:,.0f}")
    return Column(f"{subject.name}, d = {subject.depth}", subject.depth, tuple(counts))


def _bound(leaves: int, depth: int) -> float:
    """The formula for the branching factor that a uniform tree with so many leaves would have."""
    branching = effective_branching(leaves, depth)
    if abs(branching - round(branching)) < 1e-9:
        return minimal_leaves(round(branching), depth)
    return branching ** math.ceil(depth / 2) + branching ** (depth // 2) - 1


def _orders(tree: Tree) -> Iterator[tuple[str, Callable[[], float]]]:
    """Alpha-beta on the tree in one order after the other."""
    yield "alpha-beta, worst first", lambda: _leaves_in_order(tree, ordered_children(tree, "worst"))
    yield (
        f"alpha-beta, shuffled (mean of {SHUFFLES})",
        lambda: statistics.fmean(
            _leaves_in_order(tree, ordered_children(tree, "random", seed)) for seed in range(SHUFFLES)
        ),
    )
    yield "alpha-beta, best first", lambda: _leaves_in_order(tree, ordered_children(tree, "best"))
    yield "smallest proof, no table", lambda: fewest_leaves(tree)


def _leaves_in_order(tree: Tree, children: Children) -> int:
    counted = Counted(TreeGame(tree, children))
    alpha_beta(counted, 0)
    return counted.leaves


def _techniques(subject: Subject) -> Iterator[tuple[str, Callable[[], float]]]:
    """Searches of the game in the order in which it gives its moves, with one addition each, then with all."""
    game, position, depth = subject.game, subject.position, subject.depth

    def plain(search: Callable[..., int]) -> int:
        counted = Counted(DepthLimited(game))
        search(counted, Limited(position, depth))
        return counted.leaves

    def with_memory(memory: Memory[Any, Any]) -> int:
        counted = CountedSearch(game)
        enhanced(counted, position, depth, memory)
        return counted.leaves

    def deepened(memory: Memory[Any, Any], width: int | None) -> int:
        counted = CountedSearch(game)
        for _ in deepen(counted, position, depth, memory, width):
            pass
        return counted.leaves

    yield "alpha-beta, the game's order", lambda: plain(alpha_beta)
    yield "+ principal variation search", lambda: plain(principal_variation_search)
    yield "+ transposition table", lambda: with_memory(Memory(Table()))
    yield "+ killers", lambda: with_memory(Memory(None, [Killers()]))
    yield "+ history", lambda: with_memory(Memory(None, [History()]))
    yield "+ order by guesses", lambda: with_memory(Memory(None, [ByGuess(game)]))
    yield "+ table and iterative deepening, all depths", lambda: deepened(Memory(Table()), None)
    everything: list[Ordering[Any, Any]] = [Killers(), History(), ByGuess(game)]
    yield "+ all of these and aspiration, all depths", lambda: deepened(Memory(Table(), everything), _WIDTH)


def markdown(columns: Sequence[Column]) -> str:
    """The table for README: leaves, and their share of minimax's."""
    lines = [
        "| leaves valued | " + " | ".join(column.name for column in columns) + " |",
        "|---|" + "---:|" * len(columns),
    ]
    for technique, _ in columns[0].leaves:
        cells = []
        for column in columns:
            leaves, share = dict(column.leaves)[technique], column.share(technique)
            cells.append(f"{leaves:,.0f}" if share == 1 else f"{leaves:,.0f} ({_percent(share)})")
        lines.append(f"| {technique} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %" if share < 1 else f"{100 * share:.0f} %"


#: Lattices of the second table, the uniform trees that are searched in them, and how many of these.
LATTICES: Final = ("0..1 x 0..1", "0..2 x 0..2", "0..1 x 0..1 x 0..1")
_LATTICE_TREE: Final = (3, 6)
LATTICE_TREES: Final = 40

#: Rules in the order of the table; the fold over the path visits what its closed form, the strong rule, visits.
_RULES: Final[tuple[Rule, ...]] = (naive, shallow, deep, weak, strong)


def lattice_shares(spec: str, trees: int = LATTICE_TREES) -> dict[str, float]:
    """Nodes that each rule visits in a product of chains, as a mean share of those of uniform random trees."""
    lattice = make_lattice("product", spec)
    factors = [(factor.bottom, factor.top) for factor in lattice.factors] if isinstance(lattice, Product) else []

    def leaf(generator: random.Random) -> str:
        return lattice.format(tuple(generator.randint(low, high) for low, high in factors))

    shares: dict[str, list[float]] = {rule.__name__: [] for rule in _RULES}
    for seed in range(trees):
        tree = uniform_tree(*_LATTICE_TREE, seed=seed, leaf=leaf)
        game = LatticeTree(tree, lattice)
        for rule in _RULES:
            visits = _Visits()
            lattice_value(lattice, game, 0, rule, visits)
            shares[rule.__name__].append(visits.count / len(tree))
    return {name: statistics.fmean(found) for name, found in shares.items()}


class _Visits(Watcher[int, Any]):
    """Counts nodes."""

    def __init__(self) -> None:
        self.count = 0

    def enter(self, position: int, alpha: Any = None, beta: Any = None) -> None:
        self.count += 1


def lattice_markdown(found: Mapping[str, Mapping[str, float]]) -> str:
    """The second table for README: what `lattice_shares` gives for each lattice."""
    branching, depth = _LATTICE_TREE
    lines = [
        f"| nodes visited in lattices, b = {branching}, d = {depth} | " + " | ".join(found) + " |",
        "|---|" + "---:|" * len(found),
    ]
    for rule in _RULES:
        cells = [f"{100 * shares[rule.__name__]:.1f} %" for shares in found.values()]
        lines.append(f"| {rule.__name__} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Curve:
    """Leaves by depth, from depth 1 on, of uniform trees of one branching factor."""

    name: str
    leaves: tuple[float, ...]


def curves(branching: int, depth: int) -> list[Curve]:
    """Minimax, alpha-beta in three orders and the formula, for depths 1 to `depth`."""
    shuffled: list[float] = []
    best: list[float] = []
    worst: list[float] = []
    for now in range(1, depth + 1):
        seeds = range(SHUFFLES)
        trees = [uniform_tree(branching, now, "random", seed) for seed in seeds]
        shuffled.append(statistics.fmean(_leaves_in_order(tree, tree.children) for tree in trees))
        for arrangement, found in (("best", best), ("worst", worst)):
            tree = uniform_tree(branching, now, arrangement)  # type: ignore[arg-type]
            found.append(_leaves_in_order(tree, tree.children))
    depths = range(1, depth + 1)
    return [
        Curve("minimax, b^d", tuple(branching**now for now in depths)),
        Curve("alpha-beta, worst order", tuple(worst)),
        Curve(f"alpha-beta, random order (mean of {SHUFFLES})", tuple(shuffled)),
        Curve("alpha-beta, best order", tuple(best)),
        Curve("bound of Knuth and Moore", tuple(minimal_leaves(branching, now) for now in depths)),
        Curve("square root of b^d", tuple(branching ** (now / 2) for now in depths)),
    ]
