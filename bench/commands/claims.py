"""`secateur claims`: counts the leaves that minimax and several forms of alpha-beta evaluate."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import chess

from bench import markdown
from engine.arguments import Parser, command
from engine.progress import Steps
from search.theory.alphabeta import alpha_beta
from search.theory.connect_four import START as NO_STONES
from search.theory.connect_four import ConnectFour
from search.theory.counting import effective_branching, fewest_leaves, minimal_leaves
from search.theory.deepening import deepen
from search.theory.enhanced import Memory, enhanced
from search.theory.games import SearchGame
from search.theory.generate import game_tree, uniform_tree
from search.theory.horizon import Counted, DepthLimited, Limited
from search.theory.ordering import ByGuess, History, Killers, Ordering
from search.theory.orders import Order, ordered_children
from search.theory.plain_chess import PlainChess
from search.theory.pvs import principal_variation_search
from search.theory.table import Table
from search.theory.tictactoe import START as EMPTY
from search.theory.tictactoe import TicTacToe
from search.theory.trees import Tree, TreeGame

#: A middlegame with captures for both sides.
MIDDLEGAME: Final = "r1bq1rk1/pp2bppp/2n1pn2/2pp4/3P1B2/2PBPN2/PP1N1PPP/R2QK2R w KQ - 0 8"

#: The name of the row with Knuth and Moore's minimum number of leaves.
BOUND: Final = "bound of Knuth and Moore (uniform trees)"

#: The leaf counts of this many shuffled move orders are averaged.
SHUFFLES: Final = 5

#: Half the width of aspiration windows, in units of the game's evaluation (about half a pawn in chess).
_WIDTH: Final = 50

#: A row: the name of a technique, and a function that counts the leaves that a search with the technique evaluates.
Row = tuple[str, Callable[[], float]]


@command("secateur claims")
def main(arguments: list[str]) -> int:
    """Counts the leaves, prints the table and returns the exit status."""
    parser = Parser(
        prog="secateur claims",
        description="Counts the leaves that searches evaluate in uniform trees, tic-tac-toe, Connect Four and chess: "
        "minimax, alpha-beta in several orders, and alpha-beta with a TT, move ordering and iterative deepening. All "
        "searches are in plain Python and take a few minutes. The counts are the same on every machine.",
    )
    parser.add_argument("--quick", action="store_true", help="search only a small uniform tree")
    parser.add_quiet()
    options = parser.parse_args(arguments)
    with Steps("building trees", options.quiet) as steps:
        chosen = [uniform_subject(3, 5)] if options.quick else subjects()
        columns = [measure(subject, steps.show) for subject in chosen]
    print(table(columns))
    return 0


@dataclass(frozen=True, slots=True)
class Subject:
    """A search problem: its name, a game, the position at the root, and the depth in plies."""

    name: str
    game: SearchGame[Any, Any]
    position: Any
    depth: int


#: A column: the name and depth of a subject, and the number of leaves by technique. Minimax comes first.
Column = tuple[str, dict[str, float]]


def subjects() -> list[Subject]:
    """Returns the subjects of the table in docs/explorer.md, one for each column."""
    return [
        uniform_subject(4, 8),
        Subject("tic-tac-toe", TicTacToe(), EMPTY, 9),
        Subject("Connect Four", ConnectFour(), NO_STONES, 6),
        Subject("chess, first position", PlainChess(), chess.Board(), 4),
        Subject("chess, a middlegame", PlainChess(), chess.Board(MIDDLEGAME), 3),
    ]


def uniform_subject(branching: int, depth: int) -> Subject:
    """Returns a subject with a uniform tree of the given branching factor and depth and with random leaf values."""
    return Subject(f"uniform, b = {branching}", TreeGame(uniform_tree(branching, depth, "random", 1)), 0, depth)


def measure(subject: Subject, show: Callable[[str], None] = lambda _: None) -> Column:
    """Returns the subject's column, with the techniques in the table's order. Calls `show` with each step's name."""
    show(f"{subject.name}: storing the tree")
    tree = game_tree(subject.game, subject.position, subject.depth, most_nodes=2_000_000)
    leaves = {}
    for technique, count in (*_orders(tree, subject.depth), *_techniques(subject)):
        show(f"{subject.name}: {technique}")
        leaves[technique] = count()
    return f"{subject.name}, d = {subject.depth}", leaves


def _orders(tree: Tree, depth: int) -> tuple[Row, ...]:
    """Returns the rows for minimax, for alpha-beta in several move orders, and for two minimum numbers of leaves."""

    def ordered(order: Order, seed: int = 0) -> int:
        counted = Counted(TreeGame(tree, ordered_children(tree, order, seed)))
        alpha_beta(counted, 0)
        return counted.leaves

    return (
        ("minimax, b^d", lambda: len(tree.leaves)),
        ("alpha-beta, every side's worst move first", lambda: ordered("worst")),
        (
            f"alpha-beta, shuffled (mean of {SHUFFLES})",
            lambda: statistics.fmean(ordered("random", seed) for seed in range(SHUFFLES)),
        ),
        ("alpha-beta, best first", lambda: ordered("best")),
        ("smallest proof, no table", lambda: fewest_leaves(tree)),
        # The bound holds only for uniform trees.
        (BOUND, lambda: math.nan if (shape := tree.uniform()) is None else minimal_leaves(*shape)),
    )


def _techniques(subject: Subject) -> tuple[Row, ...]:
    """Returns the rows for alpha-beta: alone, with one further technique, and with several further techniques."""
    game, position, depth = subject.game, subject.position, subject.depth

    def plain(search: Callable[..., int]) -> int:
        counted = Counted(DepthLimited(game))
        search(counted, Limited(position, depth))
        return counted.leaves

    def with_memory(memory: Memory[Any, Any]) -> int:
        counted = Counted(game)
        enhanced(counted, position, depth, memory)
        return counted.leaves

    def deepened(memory: Memory[Any, Any], width: int | None) -> int:
        counted = Counted(game)
        for _ in deepen(counted, position, depth, memory, width):
            pass
        return counted.leaves

    everything: list[Ordering[Any, Any]] = [Killers(), History(), ByGuess(game)]
    return (
        ("alpha-beta, the game's order", lambda: plain(alpha_beta)),
        ("+ principal variation search", lambda: plain(principal_variation_search)),
        ("+ transposition table", lambda: with_memory(Memory(Table()))),
        ("+ killers", lambda: with_memory(Memory(None, [Killers()]))),
        ("+ history", lambda: with_memory(Memory(None, [History()]))),
        ("+ order by static evaluation", lambda: with_memory(Memory(None, [ByGuess(game)]))),
        ("+ table and iterative deepening, all depths", lambda: deepened(Memory(Table()), None)),
        ("+ all of these and aspiration, all depths", lambda: deepened(Memory(Table(), everything), _WIDTH)),
    )


def table(columns: Sequence[Column]) -> str:
    """Returns a Markdown table of the leaf counts and of their shares of the minimax count."""

    def cell(column: Column, technique: str) -> str:
        leaves = column[1][technique]
        if math.isnan(leaves):
            return "-"
        share = leaves / next(iter(column[1].values()))
        percent = f"{100 * share:.3g}" if share < 1 else f"{100 * share:.0f}"
        return f"{leaves:,.0f}" if share == 1 else f"{leaves:,.0f} ({percent} %)"

    head = ("leaves valued", *(name for name, _ in columns))
    rows = [(technique, *(cell(column, technique) for column in columns)) for technique in columns[0][1]]
    for technique in ("alpha-beta, best first", f"alpha-beta, shuffled (mean of {SHUFFLES})"):
        rows.append((f"{technique}: branching, plies", *(_reach(column, technique) for column in columns)))
    return markdown.table(head, rows, range(1, len(head)))


def _reach(column: Column, technique: str) -> str:
    """Returns a technique's effective branching factor, and the depth that it reaches with minimax's leaves."""
    leaves, minimax = column[1][technique], next(iter(column[1].values()))
    depth = int(column[0].rpartition(" ")[2])
    return f"{effective_branching(leaves, depth):.2f}, {depth * math.log(minimax) / math.log(leaves):.1f}"
