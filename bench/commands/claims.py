"""`secateur claims`: counts the leaves that minimax and several forms of alpha-beta evaluate."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import chess

from bench import markdown
from engine.arguments import Parser, command
from engine.files import Output
from engine.progress import Steps
from search.theory.alphabeta import alpha_beta
from search.theory.connect_four import START as NO_STONES
from search.theory.connect_four import ConnectFour
from search.theory.counting import effective_branching, fewest_leaves, fewest_leaves_to_depth, minimal_leaves
from search.theory.deepening import deepen
from search.theory.enhanced import Memory, enhanced
from search.theory.games import SearchGame
from search.theory.generate import game_tree, uniform_tree
from search.theory.horizon import Counted, DepthLimited, Limited
from search.theory.ordering import ByGuess, History, Killers, Ordering, Shuffled
from search.theory.orders import Order, ordered_children
from search.theory.plain_chess import PlainChess
from search.theory.policy import FILE, shipped
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

#: The rows of the orders, by their names in the table of orders. The first is the worst order to expect by chance.
ORDERS: Final = {
    "random": f"alpha-beta, shuffled (mean of {SHUFFLES})",
    "as the game gives them": "alpha-beta, the game's order",
    "killers": "+ killers",
    "history": "+ history",
    "table and iterative deepening": "+ table and iterative deepening, all depths",
    "static evaluation": "+ order by static evaluation",
    "learned policy": "+ order by a learned policy",
    "best": "alpha-beta, best first",
}

#: A row: the name of a technique, and a function that counts the leaves that a search with the technique evaluates.
Row = tuple[str, Callable[[], float]]


@command("secateur claims")
def main(arguments: list[str]) -> int:
    """Counts the leaves, prints the table and returns the exit status."""
    parser = Parser(
        prog="secateur claims",
        description="Counts the leaves that searches evaluate in uniform trees, tic-tac-toe, Connect Four and chess: "
        "minimax, alpha-beta in several orders, and alpha-beta with a TT, move ordering and iterative deepening. A "
        "second table says how far each order of moves goes from random to best order. All searches are in plain "
        "Python and take several minutes. The counts are the same on every machine.",
    )
    parser.add_argument("--quick", action="store_true", help="search only a small uniform tree")
    parser.add_quiet()
    parser.add_argument(
        "--train-policies",
        type=Path,
        metavar="FILE.json",
        help=f"instead, train the policies of tic-tac-toe, Connect Four and chess; {FILE.name} in search/theory ships",
    )
    parser.add_argument(
        "--plot", type=Path, metavar="FILE.png|svg", help="draw the leaves of each order (Connect Four)"
    )
    options = parser.parse_args(arguments)
    if options.train_policies is not None:
        if options.quick or options.plot is not None:
            parser.error("--train-policies counts no leaves, so pass neither --quick nor --plot")
        return _train(options.train_policies, options.quiet)
    if options.plot is not None:
        from bench.plots import check_path

        options.plot = check_path(options.plot, "orders")
    with Steps("building trees", options.quiet) as steps:
        chosen = [uniform_subject(3, 5)] if options.quick else subjects()
        columns = [measure(subject, steps.show) for subject in chosen]
        deep = [Subject("small Connect Four", ConnectFour(4, 4, 3), NO_STONES, 4)] if options.quick else deep_subjects()
        ordered = [*columns[1:], *(measure_orders(subject, steps.show) for subject in deep)]
        if not options.quick:
            ordered.append(measure_positions(steps.show))
    print(table(columns), "", orders_table(ordered), sep="\n")
    if options.plot is not None:
        plot_orders(ordered[len(columns) - 1], options.plot)
    return 0


def _train(path: Path, quiet: bool) -> int:
    """Trains the policies, writes them to a file, and prints how good they are on the test positions."""
    from bench.policies import write

    with Steps("training policies", quiet) as steps:
        entries = write(path, steps.show)
    for name, entry in entries.items():
        record = entry["record"]
        print(
            f"{name}: loss {record['loss']:.3f} (equal priors {record['loss_of_equal_priors']:.3f}), best move first "
            f"{100 * record['hits']:.1f} % (random {100 * record['hits_of_random_moves']:.1f} %), "
            f"{record['test_positions']} test positions"
        )
    return 0


@dataclass(frozen=True, slots=True)
class Subject:
    """A search problem: its name, a game, the position at the root, and the depth in plies."""

    name: str
    game: SearchGame[Any, Any]
    position: Any
    depth: int
    #: The game's name in `search.theory.policy.WEIGHTS`; "" if it has no policy.
    policy: str = ""


#: A column: the name and depth of a subject, and the number of leaves by technique. Minimax comes first.
Column = tuple[str, dict[str, float]]


def subjects() -> list[Subject]:
    """Returns the subjects of the table in docs/explorer.md, one for each column."""
    return [
        uniform_subject(4, 8),
        Subject("tic-tac-toe", TicTacToe(), EMPTY, 9, "tic-tac-toe"),
        Subject("Connect Four", ConnectFour(), NO_STONES, 6, "connect-four"),
        Subject("chess, first position", PlainChess(), chess.Board(), 4, "chess"),
        Subject("chess, a middlegame", PlainChess(), chess.Board(MIDDLEGAME), 3, "chess"),
    ]


def uniform_subject(branching: int, depth: int) -> Subject:
    """Returns a subject with a uniform tree of the given branching factor and depth and with random leaf values."""
    return Subject(f"uniform, b = {branching}", TreeGame(uniform_tree(branching, depth, "random", 1)), 0, depth)


def deep_subjects() -> list[Subject]:
    """Returns the subjects of the table of orders whose trees are too large to store."""
    return [Subject("Connect Four", ConnectFour(), NO_STONES, 8, "connect-four")]


def measure_orders(subject: Subject, show: Callable[[str], None] = lambda _: None) -> Column:
    """Returns the rows in ORDERS of the subject's column, without storing the tree."""
    game, position, depth = subject.game, subject.position, subject.depth

    def shuffled(seed: int) -> int:
        counted = Counted(game)
        enhanced(counted, position, depth, Memory(None, [Shuffled(seed)]))
        return counted.leaves

    def best() -> int:
        value = enhanced(game, position, depth, Memory(Table(), [ByGuess(game)]))
        return fewest_leaves_to_depth(game, position, depth, value)

    rows = dict(_techniques(subject)) | {
        ORDERS["random"]: lambda: statistics.fmean(map(shuffled, range(SHUFFLES))),
        ORDERS["best"]: best,
    }
    leaves = {}
    for technique in ORDERS.values():
        show(f"{subject.name}: {technique}")
        leaves[technique] = rows[technique]()
    return f"{subject.name}, d = {subject.depth}", leaves


def measure_positions(show: Callable[[str], None] = lambda _: None, depth: int = 8) -> Column:
    """Returns a column with geometric means over random positions of Connect Four that training has not seen."""
    from bench.policies import counted_positions

    positions = counted_positions("connect-four")
    columns = [
        measure_orders(Subject(f"position {number}", ConnectFour(), position, depth, "connect-four"), show)[1]
        for number, position in enumerate(positions, start=1)
    ]
    means = {name: statistics.geometric_mean(column[name] for column in columns) for name in ORDERS.values()}
    return f"Connect Four, {len(positions)} positions, d = {depth}", means


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
        (
            "+ order by a learned policy",
            lambda: with_memory(Memory(None, [shipped(subject.policy)])) if subject.policy else math.nan,
        ),
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


def orders_table(columns: Sequence[Column]) -> str:
    """Returns a Markdown table of the leaf counts by order, each with the share of the way from random to best order.

    The share is the number of leaves saved, compared with random order, over the number that the best order saves.
    """

    def cell(found: dict[str, float], technique: str) -> str:
        leaves, random, best = found[technique], found[ORDERS["random"]], found[ORDERS["best"]]
        return "-" if math.isnan(leaves) else f"{leaves:,.0f} ({100 * (random - leaves) / (random - best):.0f} %)"

    rows = [(order, *(cell(found, technique) for _, found in columns)) for order, technique in ORDERS.items()]
    return markdown.table(("order of moves", *(name for name, _ in columns)), rows, range(1, len(columns) + 1))


def plot_orders(column: Column, output: Output) -> None:
    """Draws the leaves of each order as bars. Raises `PlotError`."""
    from bench.plots import new_figure, save_figure

    name, found = column
    counts = {order: found[technique] for order, technique in reversed(ORDERS.items())}
    figure, (axes,) = new_figure(1, 3.6)
    colours = ["#1f5f8b" if order == "learned policy" else "#9fc5e0" for order in counts]
    bars = axes.barh(list(counts), list(counts.values()), color=colours)
    axes.bar_label(bars, [f"{leaves:,.0f}" for leaves in counts.values()], padding=4)
    axes.set_xlim(0, 1.1 * max(counts.values()))
    axes.xaxis.set_visible(False)
    axes.spines[["top", "right", "bottom"]].set_visible(False)
    figure.suptitle(f"{name}: leaves that alpha-beta values, by order of moves")
    save_figure(figure, output, "orders")


def _reach(column: Column, technique: str) -> str:
    """Returns a technique's effective branching factor, and the depth that it reaches with minimax's leaves."""
    leaves, minimax = column[1][technique], next(iter(column[1].values()))
    depth = int(column[0].rpartition(" ")[2])
    return f"{effective_branching(leaves, depth):.2f}, {depth * math.log(minimax) / math.log(leaves):.1f}"
