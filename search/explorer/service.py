"""What the page may ask for, checked and answered: JSON values in, JSON values out. Knows nothing of HTTP.

An answer that may take a while is given a job: it tells it how far it is, and raises `StoppedError` once it is stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast, get_args

from engine.files import quoted
from engine.version import version
from search.explorer.chess_document import SWITCHES
from search.explorer.document import Document, build_document
from search.explorer.examples import EXAMPLES
from search.explorer.jobs import UNWATCHED, Job
from search.explorer.loading import KERNELS
from search.theory.algorithms import ALGORITHMS, AlgorithmError, Run, run
from search.theory.generate import Arrangement, uniform_tree
from search.theory.lattice_search import UnsoundRuleError
from search.theory.lattice_text import KINDS, make_lattice
from search.theory.lattices import Lattice, LatticeError
from search.theory.orders import ORDERS, Order, ordered_children
from search.theory.tree_text import FORMATS, Format, read_tree, write_list
from search.theory.trees import MAX_BYTES, MAX_NODES, Children, Tree, TreeError

#: A tree with more nodes is not searched again and again just to compare orders.
MOST_NODES_FOR_ORDERS: Final = 6_000

#: Limits of a chess search that is asked for on the page.
MOST_CHESS_DEPTH: Final = 60
MOST_CHESS_NODES: Final = 10_000_000

_LONGEST_TITLE: Final = 200
#: Moves of a game, or names of techniques.
_MOST_TEXTS: Final = 2_000
_MOST_SEED: Final = 10**9

_ORDER_NAMES: Final[dict[str, str]] = {
    "given": "as given",
    "best": "best first",
    "worst": "worst first",
    "random": "random",
    "hand": "by hand",
}


class RequestError(ValueError):
    """A request that cannot be answered; one line says why. `line` and `column` of the tree's text, 0 for nowhere."""

    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        self.line, self.column = line, column
        super().__init__(message)

    def as_json(self) -> dict[str, Any]:
        """What the page is told."""
        return {"error": str(self), "line": self.line, "column": self.column}


# --------------------------------------------------------------------------------------------------------------
# Requests
# --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Asked:
    """A requested search."""

    tree: Tree
    algorithm: str
    lattice_choice: dict[str, str] | None
    lattice: Lattice[Any] | None
    order: Order
    seed: int
    #: Children of some nodes as ordered by hand.
    hand: dict[int, tuple[int, ...]]
    title: str

    def children(self) -> Children:
        """The order of visiting."""
        children = ordered_children(self.tree, self.order, self.seed)
        if not self.hand:
            return children
        return [self.hand.get(node, tuple(siblings)) for node, siblings in enumerate(children)]

    def order_name(self) -> str:
        """The name of the order."""
        if self.hand:
            return _ORDER_NAMES["hand"]
        return f"random, seed {self.seed}" if self.order == "random" else _ORDER_NAMES[self.order]


def _ask(body: object) -> tuple[_Asked, dict[str, Any]]:
    """The search that a request describes, and the request in a form that can be sent again."""
    fields = _fields(body, ("text", "format", "algorithm", "lattice", "order", "title"))
    text = _text(fields, "text", most=None)
    form = fields.get("format")
    if form is not None and form not in FORMATS:
        raise RequestError(f'"format" is null or one of {", ".join(FORMATS)}')
    algorithm = _text(fields, "algorithm")
    choice = _lattice_choice(fields.get("lattice"))
    order = _fields(fields.get("order", {}), ("kind", "seed", "hand"))
    kind = order.get("kind", "given")
    if kind not in ORDERS:
        raise RequestError(f"an order is one of {', '.join(ORDERS)}")
    seed = _whole(order, "seed", 0, _MOST_SEED, default=0)
    title = _text(fields, "title", default="")
    tree = _translated(lambda: read_tree(text, cast("Format | None", form)))
    lattice = None if choice is None else _lattice(choice)
    hand = _hand(order.get("hand", {}), tree)
    asked = _Asked(tree, algorithm, choice, lattice, cast("Order", kind), seed, hand, title or _describe(tree))
    by_hand = {str(node): list(children) for node, children in hand.items()}
    return asked, {
        "text": text,
        "format": form,
        "algorithm": algorithm,
        "lattice": choice,
        "order": {"kind": kind, "seed": seed, "hand": by_hand},
        "title": title,
    }


def _fields(value: object, names: Sequence[str]) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise RequestError(f"expected an object with {', '.join(names)}")
    for name in value:
        if name not in names:
            raise RequestError(f"there is no field {quoted(str(name))} here, only {', '.join(names)}")
    return value


def _text(fields: Mapping[str, Any], name: str, default: str | None = None, most: int | None = _LONGEST_TITLE) -> str:
    value = fields.get(name, default)
    if not isinstance(value, str):
        raise RequestError(f'"{name}" is a text')
    if most is not None and len(value) > most:
        raise RequestError(f'"{name}" has at most {most} characters')
    return value


def _whole(fields: Mapping[str, Any], name: str, low: int, high: int, default: int | None = None) -> int:
    value = fields.get(name, default)
    if type(value) is not int or not low <= value <= high:
        raise RequestError(f'"{name}" is a whole number from {low:,} to {high:,}')
    return value


def _lattice_choice(value: object) -> dict[str, str] | None:
    if value is None:
        return None
    fields = _fields(value, ("kind", "spec"))
    return {"kind": _text(fields, "kind"), "spec": _text(fields, "spec", default="", most=10_000)}


def _lattice(choice: dict[str, str]) -> Lattice[Any]:
    try:
        return make_lattice(choice["kind"], choice["spec"])
    except LatticeError as error:
        # The place is one in the lattice's description, not in the tree's text.
        raise RequestError(f"lattice: {error}") from None


def _hand(value: object, tree: Tree) -> dict[int, tuple[int, ...]]:
    """Children by node, each a permutation of the node's children."""
    if not isinstance(value, dict):
        raise RequestError('"hand" is an object: node to children')
    hand: dict[int, tuple[int, ...]] = {}
    for key, children in value.items():
        node = int(key) if isinstance(key, str) and key.isdecimal() and len(key) < 9 else -1
        if not 0 <= node < len(tree):
            raise RequestError(f"this tree has no node {quoted(str(key))} to order by hand")
        # A bool or a float can equal an int, but is no node's number.
        are_numbers = isinstance(children, list) and all(type(child) is int for child in children)
        if not are_numbers or sorted(children) != sorted(tree.children[node]):
            raise RequestError(f"the order by hand of node {node} does not name each of its children once")
        hand[node] = tuple(children)
    return hand


def _translated(work: Callable[[], Any]) -> Any:
    """What `work` returns; what is wrong with trees, lattices and algorithms becomes a `RequestError`."""
    try:
        return work()
    except (TreeError, LatticeError) as error:
        raise RequestError(str(error), error.line, error.column) from None
    except (AlgorithmError, UnsoundRuleError) as error:
        raise RequestError(str(error)) from None


def _describe(tree: Tree) -> str:
    return f"{len(tree):,} nodes, {len(tree.leaves):,} leaves, {tree.height} plies"


# --------------------------------------------------------------------------------------------------------------
# Answers
# --------------------------------------------------------------------------------------------------------------


def catalogue() -> dict[str, Any]:
    """The available choices."""
    return {
        "version": version(),
        "techniques": list(SWITCHES),
        "algorithms": [
            {
                "key": algorithm.key,
                "name": algorithm.name,
                "note": algorithm.summary,
                "lattice": algorithm.in_lattice,
                "group": "In lattices" if algorithm.in_lattice else "With numbers",
            }
            for algorithm in ALGORITHMS.values()
        ],
        "lattices": [{"key": kind, "name": kind, "note": note} for kind, (note, _) in KINDS.items()],
        "examples": [
            {"key": example.key, "name": example.name, "group": example.group, "note": example.note}
            for example in EXAMPLES.values()
        ],
    }


def example(body: object, job: Job = UNWATCHED) -> dict[str, Any]:
    """The tree of an example as text, and the settings of its search."""
    key = _text(_fields(body, ("key",)), "key")
    if key not in EXAMPLES:
        raise RequestError(f"there is no example {quoted(key)}")
    chosen = EXAMPLES[key]
    lattice = None if chosen.lattice is None else {"kind": chosen.lattice[0], "spec": chosen.lattice[1]}
    return {
        "text": chosen.text(),
        "title": chosen.name,
        "algorithm": chosen.algorithm,
        "lattice": lattice,
    }


def generate(body: object, job: Job = UNWATCHED) -> dict[str, Any]:
    """A uniform tree as text."""
    fields = _fields(body, ("branching", "depth", "arrangement", "seed"))
    branching = _whole(fields, "branching", 1, MAX_NODES)
    depth = _whole(fields, "depth", 0, 2000)
    seed = _whole(fields, "seed", 0, _MOST_SEED, default=0)
    arrangement = fields.get("arrangement", "random")
    if arrangement not in get_args(Arrangement):
        raise RequestError(f'"arrangement" is one of {", ".join(get_args(Arrangement))}')
    tree = _translated(lambda: uniform_tree(branching, depth, arrangement, seed))
    title = f"{branching} children, {depth} plies, {_ORDER_NAMES[arrangement]}, seed {seed}"
    return {"text": write_list(tree), "title": title}


def trace(body: object, job: Job = UNWATCHED) -> Document:
    """The document of the requested search."""
    asked, again = _ask(body)
    done = _run(asked, job)
    job.check()
    return build_document(
        done,
        title=asked.title,
        lattice=asked.lattice_choice,
        order_name=asked.order_name(),
        request=again,
    )


def run_of(body: object) -> Run:
    """The requested search."""
    return _run(_ask(body)[0], UNWATCHED)


def orders(body: object, job: Job = UNWATCHED) -> dict[str, Any]:
    """What the search costs in every order; no rows for a tree that is too large to try them all."""
    asked, _ = _ask(body)
    job.check()
    if len(asked.tree) > MOST_NODES_FOR_ORDERS:
        return {"rows": []}
    rows = []
    for order in ORDERS:
        plain = replace(asked, order=order, hand={})
        rows.append(_order_row(plain, order, job, chosen=order == asked.order and not asked.hand))
    if asked.hand:
        rows.append(_order_row(asked, "hand", job, chosen=True))
    return {"rows": rows}


def _order_row(asked: _Asked, key: str, job: Job, *, chosen: bool) -> dict[str, Any]:
    row: dict[str, Any] = {"key": key, "name": asked.order_name(), "chosen": chosen, "evaluated": None, "visited": None}
    try:
        counts = _run_untranslated(asked, job).statistics
    except (TreeError, AlgorithmError, UnsoundRuleError):
        # Best and worst exist only for numbers.
        return row
    return row | {"evaluated": counts.evaluated, "visited": counts.visited}


def _run(asked: _Asked, job: Job) -> Run:
    def work() -> Run:
        try:
            return _run_untranslated(asked, job)
        except TreeError as error:
            if asked.lattice_choice is None:
                raise
            # Most likely the tree was changed, and the algorithm is still that of the tree before.
            hint = "if these are numbers, choose an algorithm with numbers"
            raise RequestError(f"{error}; {hint}", error.line, error.column) from None

    return cast("Run", _translated(work))


def _run_untranslated(asked: _Asked, job: Job) -> Run:
    job.go_on(f"searching {len(asked.tree):,} nodes, {asked.order_name()}")
    children = asked.children()
    return run(asked.tree, asked.algorithm, children=children, lattice=asked.lattice, check=job.check)


# --------------------------------------------------------------------------------------------------------------
# Chess
# --------------------------------------------------------------------------------------------------------------


def chess(body: object, job: Job = UNWATCHED) -> Document:
    """The recording of a chess search; needs the tracing build, see `search.explorer.build`.

    When the job is stopped during the search, the recording holds what was searched by then.
    """
    fields = _fields(body, ("position", "after", "depth", "nodes"))
    position = _text(fields, "position", default="", most=MAX_BYTES)
    after = fields.get("after")
    if after is not None and not isinstance(after, str):
        raise RequestError('"after" is a text like 23w')
    depth = _whole(fields, "depth", 1, MOST_CHESS_DEPTH)
    nodes = _whole(fields, "nodes", 1, MOST_CHESS_NODES)
    from search.explorer.positions import read_board

    # Before the kernels are loaded, because that may take about a minute.
    board = _translated_chess(lambda: read_board(position, after))
    _load_kernels(job)
    from search.explorer.recording import record
    from search.game import Game
    from search.limits import Limits

    def progress(reached: int, count: int) -> None:
        job.tell(f"depth {reached} is done, {count:,} nodes")

    def work() -> Document:
        job.tell("searching")
        limits = Limits(depth=depth, nodes=nodes)
        return record(Game(board), limits, on_iteration=progress, on_start=job.when_stopped)

    return cast("Document", _translated_chess(work))


def cost(body: object, job: Job = UNWATCHED) -> dict[str, Any]:
    """What the search of a position takes as it is and without single techniques; see `search.explorer.costs`."""
    fields = _fields(body, ("fen", "moves", "chess960", "depth", "classical", "without", "reasons"))
    fen = _text(fields, "fen")
    depth = _whole(fields, "depth", 1, MOST_CHESS_DEPTH)
    moves, without, reasons = (_texts(fields, name) for name in ("moves", "without", "reasons"))
    chess960, classical = (_flag(fields, name) for name in ("chess960", "classical"))
    for reason in (*reasons, *without):
        if reason not in SWITCHES:
            raise RequestError(f"{quoted(reason)} cannot be switched off; what can is {', '.join(SWITCHES)}")
    _load_kernels(job)
    from search.explorer.costs import Watch, costs_at
    from search.explorer.positions import replay

    def work() -> dict[str, Any]:
        watch = Watch(on_step=job.go_on, on_start=job.when_stopped, check=job.check)
        game = replay(fen, moves, chess960=chess960)
        return costs_at(game, depth, reasons, classical=classical, without=without, watch=watch).as_json()

    return cast("dict[str, Any]", _translated_chess(work))


def _texts(fields: Mapping[str, Any], name: str) -> list[str]:
    value = fields.get(name, [])
    if not isinstance(value, list) or len(value) > _MOST_TEXTS or not all(isinstance(text, str) for text in value):
        raise RequestError(f'"{name}" is a list of at most {_MOST_TEXTS:,} texts')
    return value


def _flag(fields: Mapping[str, Any], name: str) -> bool:
    value = fields.get(name, False)
    if not isinstance(value, bool):
        raise RequestError(f'"{name}" is true or false')
    return value


def _load_kernels(job: Job) -> None:
    """Waits for the compiled kernels, which looking at trees does not need; a stopped job does not wait to the end."""
    KERNELS.wait(job.go_on, every=0.5)
    job.check()


def _translated_chess(work: Callable[[], Any]) -> Any:
    """What `work` returns; what is wrong with positions and limits becomes a `RequestError`."""
    from search.explorer.positions import PositionError
    from search.explorer.recording import RecordingError

    try:
        return work()
    except (PositionError, RecordingError) as error:
        raise RequestError(str(error)) from None
