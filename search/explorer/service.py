"""The functions that answer the page's requests. They map JSON values to JSON values and are independent of HTTP.

Each function in ANSWERS gets a job. Functions that take long report their progress to the job, and end early if the job
is stopped, usually by raising `StoppedError`.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast, get_args

from engine.files import quoted
from engine.version import address, version
from search.explorer.build import KERNELS
from search.explorer.chess_document import SWITCHES, Document, RecordingError
from search.explorer.document import build_document
from search.explorer.examples import EXAMPLES, RECORDINGS
from search.explorer.jobs import Job, StoppedError
from search.explorer.statements import STATEMENTS
from search.theory.algorithms import ALGORITHMS, AlgorithmError, Run, measured, run
from search.theory.counterexample import MOST_NODES
from search.theory.counterexample import counterexample as find_counterexample
from search.theory.generate import Arrangement, uniform_tree
from search.theory.lattice_search import NEED_DISTRIBUTIVITY, UnsoundRuleError
from search.theory.lattice_text import KINDS, make_lattice
from search.theory.lattices import Chain, Lattice, LatticeError
from search.theory.orders import ORDERS, Order, ordered_children
from search.theory.policy import PolicyError, priors_of
from search.theory.run_text import run_as_dot, run_as_text
from search.theory.tree_text import FORMATS, Format, read_tree, write_list
from search.theory.trees import CHANGES, MAX_BYTES, MAX_NODES, Children, Tree, TreeError, edited_tree

#: The largest limits of a chess search that the page may request.
MOST_CHESS_DEPTH: Final = 60
MOST_CHESS_NODES: Final = 10_000_000

_LONGEST_TITLE: Final = 200
#: The maximum number of moves of a game, and of names of techniques, in a request.
_MOST_TEXTS: Final = 2_000
_MOST_SEED: Final = 10**9

_ORDER_NAMES: Final[dict[str, str]] = {
    "given": "as given",
    "best": "best first",
    "worst": "worst first",
    "random": "random",
    "learned": "learned policy",
    "correlated": "correlated leaves",
    "ordered": "correlated leaves, good moves first",
    "hand": "by hand",
}


class RequestError(ValueError):
    """Raised if a request is invalid. `line` and `column` locate the error in the tree's text, or are 0."""

    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        self.line, self.column = line, column
        super().__init__(message)

    def as_json(self) -> dict[str, Any]:
        """Returns the error as the JSON object that the page expects: {"error", "line", "column"}."""
        return {"error": str(self), "line": self.line, "column": self.column}


#: A function that takes a request (a JSON value) and optionally a job, and returns the answer (a JSON object).
Answer = Callable[..., dict[str, Any]]
#: The functions that answer requests, by the name of the request.
ANSWERS: Final[dict[str, Answer]] = {}


def _answer(work: Callable[[object, Job], dict[str, Any]]) -> Answer:
    """Registers and returns a version of `work` that raises RequestError for errors in trees, lattices or positions."""

    @functools.wraps(work)
    def answer(body: object, job: Job | None = None) -> dict[str, Any]:
        try:
            return work(body, job or Job())
        except (TreeError, LatticeError) as error:
            raise RequestError(str(error), error.line, error.column) from None
        except (AlgorithmError, PolicyError, UnsoundRuleError, RecordingError) as error:
            raise RequestError(str(error)) from None

    ANSWERS[work.__name__] = answer
    return answer


def respond(name: str, body: object, job: Job) -> tuple[int, str]:
    """Answers the request `name` (a key of ANSWERS) and returns an HTTP status and the answer as JSON.

    The local server and the worker of the static site both call this function, so their answers are the same.
    """
    try:
        return 200, as_text(ANSWERS[name](body, job))
    except RequestError as error:
        return 400, as_text(error.as_json())
    except StoppedError:
        return 409, as_text({"error": "stopped", "stopped": True})


def as_text(value: object) -> str:
    """Returns a JSON value as compact text."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


# --------------------------------------------------------------------------------------------------------------
# Requests
# --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Asked:
    """A requested search of a tree."""

    tree: Tree
    algorithm: str
    lattice: Lattice[Any] | None
    order: Order
    seed: int
    #: The children, in their new order, of each node whose children were reordered by hand.
    hand: dict[int, tuple[int, ...]]
    #: Whether a rule may run that can be wrong in the lattice.
    force: bool
    #: The request, in a form that can be sent again.
    request: dict[str, Any]

    def children(self) -> Children:
        """Returns the children of each node in the order in which the search visits them."""
        children = ordered_children(self.tree, self.order, self.seed)
        if not self.hand:
            return children
        return [self.hand.get(node, tuple(siblings)) for node, siblings in enumerate(children)]

    def order_name(self) -> str:
        """Returns the name of the children's order as the page shows it, such as "random, seed 1"."""
        if self.hand:
            return _ORDER_NAMES["hand"]
        return f"random, seed {self.seed}" if self.order == "random" else _ORDER_NAMES[self.order]

    def run(self, job: Job) -> Run:
        """Runs the search. Raises `StoppedError` if the job is stopped, and the errors of `algorithms.run`."""
        job.go_on(f"searching {_count(len(self.tree), 'node')}, {self.order_name()}")
        return run(
            self.tree, self.algorithm, children=self.children(), lattice=self.lattice, force=self.force, check=job.check
        )


def _ask(body: object) -> _Asked:
    """Returns the requested search. Raises TreeError for errors in the tree's text, RequestError for other errors."""
    fields = _fields(body, ("text", "format", "algorithm", "lattice", "order", "title", "force"))
    text, form = _text(fields, "text", most=None), _format(fields)
    algorithm = _text(fields, "algorithm")
    choice, lattice = _lattice(fields.get("lattice"))
    order = _fields(fields.get("order", {}), ("kind", "seed", "hand"))
    kind = order.get("kind", "given")
    if kind not in ORDERS:
        raise RequestError(f'the "kind" of the order must be one of {", ".join(ORDERS)}')
    seed = _whole(order, "seed", 0, _MOST_SEED, default=0)
    title = _text(fields, "title", default="")
    force = fields.get("force", False) is True
    tree = read_tree(text, form)
    hand = _hand(order.get("hand", {}), tree)
    request: dict[str, Any] = {
        "text": text,
        "format": form,
        "algorithm": algorithm,
        "lattice": choice,
        "order": {"kind": kind, "seed": seed, "hand": {str(node): list(children) for node, children in hand.items()}},
        "title": title,
    }
    if force:
        request["force"] = True
    return _Asked(tree, algorithm, lattice, cast("Order", kind), seed, hand, force, request)


def _count(count: int, one: str, many: str = "") -> str:
    """Returns a count and what it counts, such as "1 node"."""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def _fields(value: object, names: Sequence[str]) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise RequestError(f"expected an object with the fields {', '.join(names)}")
    for name in value:
        if name not in names:
            raise RequestError(f"unknown field {quoted(str(name))}; expected {', '.join(names)}")
    return value


def _text(fields: Mapping[str, Any], name: str, default: str | None = None, most: int | None = _LONGEST_TITLE) -> str:
    value = fields.get(name, default)
    if not isinstance(value, str):
        raise RequestError(f'"{name}" must be a string')
    if most is not None and len(value) > most:
        raise RequestError(f'"{name}" is longer than {most} characters')
    return value


def _format(fields: Mapping[str, Any]) -> Format | None:
    form = fields.get("format")
    if form not in (None, *FORMATS):
        raise RequestError(f'"format" must be null or one of {", ".join(FORMATS)}')
    return cast("Format | None", form)


def _whole(fields: Mapping[str, Any], name: str, low: int, high: int, default: int | None = None) -> int:
    value = fields.get(name, default)
    if type(value) is not int or not low <= value <= high:
        raise RequestError(f'"{name}" must be a whole number from {low:,} to {high:,}')
    return value


def _texts(fields: Mapping[str, Any], name: str) -> list[str]:
    value = fields.get(name, [])
    if not isinstance(value, list) or len(value) > _MOST_TEXTS or not all(isinstance(text, str) for text in value):
        raise RequestError(f'"{name}" must be a list of at most {_MOST_TEXTS:,} strings')
    return value


def _lattice(value: object) -> tuple[dict[str, str] | None, Lattice[Any] | None]:
    """Returns the {"kind", "spec"} of a request and its lattice, or (None, None) for numbers. Raises RequestError."""
    if value is None:
        return None, None
    fields = _fields(value, ("kind", "spec"))
    kind, spec = _text(fields, "kind"), _text(fields, "spec", default="", most=10_000)
    try:
        return {"kind": kind, "spec": spec}, make_lattice(kind, spec)
    except LatticeError as error:
        # The error's place is in the lattice's description, not in the tree's text.
        raise RequestError(f"lattice: {error}") from None


def _hand(value: object, tree: Tree) -> dict[int, tuple[int, ...]]:
    """Checks the field "hand" of a request, and returns the new order of the children of each reordered node.

    Raises RequestError unless every order belongs to a node of the tree and contains each child of the node once.
    """
    if not isinstance(value, dict):
        raise RequestError('"hand" must be an object that maps nodes to lists of their children')
    hand: dict[int, tuple[int, ...]] = {}
    for key, children in value.items():
        node = int(key) if isinstance(key, str) and key.isdecimal() and len(key) < 9 else -1
        if not 0 <= node < len(tree):
            raise RequestError(f'"hand" names the node {quoted(str(key))}, which is not in the tree')
        # A bool or a float can equal an int, but is not a node's number.
        are_numbers = isinstance(children, list) and all(type(child) is int for child in children)
        if not are_numbers or sorted(children) != sorted(tree.children[node]):
            raise RequestError(f"the new order of the children of node {node} must contain each child exactly once")
        hand[node] = tuple(children)
    return hand


# --------------------------------------------------------------------------------------------------------------
# Trees
# --------------------------------------------------------------------------------------------------------------


def catalogue() -> dict[str, Any]:
    """Returns the engine's version, the address of the public page ("" if unknown), and what the page offers."""
    return {
        "version": version(),
        "address": address("Explorer"),
        "techniques": list(SWITCHES),
        "algorithms": [
            {
                "key": algorithm.key,
                "name": algorithm.name,
                "note": algorithm.summary,
                "loses": algorithm.loses,
                "lattice": algorithm.in_lattice,
                "can_fail": algorithm.rule in NEED_DISTRIBUTIVITY,
                "group": "In lattices" if algorithm.in_lattice else "With numbers",
            }
            for algorithm in ALGORITHMS.values()
        ],
        "lattices": [{"key": kind, "name": kind, "note": note} for kind, (note, _) in KINDS.items()],
        "examples": [
            {"key": example.key, "name": example.name, "group": example.group, "note": example.note}
            for example in EXAMPLES.values()
        ],
        "statements": [
            {"key": key, "text": statement.text, "source": statement.source, "tree": statement.tree}
            for key, statement in STATEMENTS.items()
        ],
        "recordings": [{"key": key, "name": name} for key, name in RECORDINGS.items()],
    }


@_answer
def example(body: object, job: Job) -> dict[str, Any]:
    """Returns the tree of the requested example as text, and the settings of its search."""
    key = _text(_fields(body, ("key",)), "key")
    if key not in EXAMPLES:
        raise RequestError(f"unknown example {quoted(key)}")
    chosen = EXAMPLES[key]
    lattice = None if chosen.lattice is None else {"kind": chosen.lattice[0], "spec": chosen.lattice[1]}
    settings = {"algorithm": chosen.algorithm, "order": chosen.order, "rival": chosen.rival}
    return {"text": chosen.text(), "title": chosen.name, "lattice": lattice} | settings


@_answer
def generate(body: object, job: Job) -> dict[str, Any]:
    """Returns a uniform tree with the requested properties as text, and a title for the tree."""
    fields = _fields(body, ("branching", "depth", "arrangement", "seed"))
    branching = _whole(fields, "branching", 1, MAX_NODES)
    depth = _whole(fields, "depth", 0, 2000)
    seed = _whole(fields, "seed", 0, _MOST_SEED, default=0)
    arrangement = fields.get("arrangement", "random")
    if arrangement not in get_args(Arrangement):
        raise RequestError(f'"arrangement" must be one of {", ".join(get_args(Arrangement))}')
    tree = uniform_tree(branching, depth, arrangement, seed)
    size = f"{_count(branching, 'child', 'children')}, {_count(depth, 'ply', 'plies')}"
    title = f"{size}, {_ORDER_NAMES[arrangement]}, seed {seed}"
    return {"text": write_list(tree), "title": title}


def _has_zero(lattice: Lattice[Any]) -> bool:
    try:
        return isinstance(lattice, Chain) and lattice.parse("0") is not None
    except ValueError:
        return False


@_answer
def edit(body: object, job: Job) -> dict[str, Any]:
    """Returns the text of a tree after one change (see `edited_tree`), and the number of the node that changed.

    Without a "value", a new leaf gets 0, or the bottom of the lattice if it is no chain with 0.
    """
    fields = _fields(body, ("text", "format", "lattice", "node", "change", "value"))
    tree = read_tree(_text(fields, "text", most=None), _format(fields))
    if fields.get("change") not in CHANGES:
        raise RequestError(f'"change" must be one of {", ".join(CHANGES)}')
    _, lattice = _lattice(fields.get("lattice"))
    usual = "0" if lattice is None or _has_zero(lattice) else lattice.format(lattice.bottom)
    value = _text(fields, "value", default=usual).strip()
    if fields.get("change") == "set":
        values = lattice or Chain()
        if isinstance(values, Chain):
            values = values.with_decimals(len(value.partition(".")[2]))
        try:
            values.parse(value)
        except ValueError as error:
            raise RequestError(str(error)) from None
    node = _whole(fields, "node", 0, len(tree) - 1)
    changed, number = edited_tree(tree, node, _text(fields, "change"), value)
    return {"text": write_list(changed), "node": number}


@_answer
def counterexample(body: object, job: Job) -> dict[str, Any]:
    """Returns the smallest tree that a rule gets wrong in a lattice, as text, with the rule's and the true value."""
    fields = _fields(body, ("lattice", "algorithm"))
    algorithm = ALGORITHMS.get(_text(fields, "algorithm"))
    _, lattice = _lattice(fields.get("lattice"))
    if algorithm is None or algorithm.rule is None or lattice is None:
        raise RequestError("choose a lattice and a lattice algorithm")
    if algorithm.rule not in NEED_DISTRIBUTIVITY:
        raise RequestError(f"{algorithm.name}: this rule is right in every lattice, so choose another one")
    if lattice.violation() is None:
        raise RequestError("this lattice is distributive, so no rule fails in it: choose M3 or N5")
    found = find_counterexample(lattice, algorithm.rule, job.go_on)
    if found is None:
        raise RequestError(f"{algorithm.name}: no tree with up to {MOST_NODES} nodes is valued wrongly")
    tree, value, true = found
    return {"text": write_list(tree), "value": lattice.format(value), "true": lattice.format(true)}


@_answer
def trace(body: object, job: Job) -> Document:
    """Runs the requested search of a tree, and returns its document."""
    asked = _ask(body)
    done = _run(asked, job)
    job.check()
    tree = asked.tree
    parts = (len(tree), "node"), (len(tree.leaves), "leaf", "leaves"), (tree.height, "ply", "plies")
    # In a distributive lattice, every rule is right.
    if asked.lattice is None or asked.lattice.violation() is None:
        asked.request.pop("force", None)
    return build_document(
        done,
        title=asked.request["title"] or ", ".join(_count(*part) for part in parts),
        lattice=asked.request["lattice"],
        order_name=asked.order_name(),
        request=asked.request,
        priors=priors_of(tree) if asked.order == "learned" else None,
    )


@_answer
def check(body: object, job: Job) -> dict[str, Any]:
    """Checks the requested statement (see STATEMENTS) by its computation, and returns the result in words."""
    key = _text(_fields(body, ("key",)), "key")
    if key not in STATEMENTS:
        raise RequestError(f"unknown statement {quoted(key)}")
    job.go_on("computing")
    return {"finding": STATEMENTS[key].check()}


@_answer
def measure(body: object, job: Job) -> dict[str, Any]:
    """Runs the requested search without recording, and returns its processor time ("seconds") and memory ("bytes")."""
    asked = _ask(body)
    job.go_on("measuring")
    if asked.algorithm not in ALGORITHMS:
        raise RequestError(f"unknown algorithm {quoted(asked.algorithm)}")
    seconds, size = measured(
        asked.tree, asked.algorithm, children=asked.children(), lattice=asked.lattice, force=asked.force
    )
    return {"seconds": seconds, "bytes": size}


@_answer
def export(body: object, job: Job) -> dict[str, Any]:
    """Runs the requested search, and returns the run as indented text ("text") and as a Graphviz drawing ("dot")."""
    done = _run(_ask(body), job)
    return {"text": run_as_text(done), "dot": run_as_dot(done)}


def _run(asked: _Asked, job: Job) -> Run:
    try:
        return asked.run(job)
    except TreeError as error:
        if asked.lattice is None:
            raise
        # Most likely the user has changed the tree but not the algorithm.
        hint = "if the leaves are numbers, choose an algorithm for numbers"
        raise RequestError(f"{error}; {hint}", error.line, error.column) from None


# --------------------------------------------------------------------------------------------------------------
# Chess
# --------------------------------------------------------------------------------------------------------------


@_answer
def chess(body: object, job: Job) -> Document:
    """Searches a position and returns the recording. Needs the tracing build (see `search.explorer.build`).

    If the job is stopped during the search, the recording contains the visits up to that point.
    """
    fields = _fields(body, ("position", "after", "depth", "nodes"))
    position = _text(fields, "position", default="", most=MAX_BYTES)
    after = fields.get("after")
    if after is not None and not isinstance(after, str):
        raise RequestError('"after" must be null or a string that names a move, such as "23w"')
    depth = _whole(fields, "depth", 1, MOST_CHESS_DEPTH)
    nodes = _whole(fields, "nodes", 1, MOST_CHESS_NODES)
    _need_kernels()
    from search.explorer.positions import read_board

    # The position is checked first, because loading the kernels may take half a minute.
    board = read_board(position, after)
    load_kernels(job)
    from search.explorer.recording import record
    from search.game import Game
    from search.limits import Limits

    job.tell("searching")
    return record(Game(board), Limits(depth=depth, nodes=nodes), job=job)


@_answer
def cost(body: object, job: Job) -> dict[str, Any]:
    """Returns the node counts of `costs_at` for the requested position, depth and techniques."""
    fields = _fields(body, ("fen", "moves", "chess960", "depth", "classical", "without", "reasons"))
    fen = _text(fields, "fen")
    depth = _whole(fields, "depth", 1, MOST_CHESS_DEPTH)
    moves, without, reasons = (_texts(fields, name) for name in ("moves", "without", "reasons"))
    chess960, classical = (bool(fields.get(name)) for name in ("chess960", "classical"))
    for reason in (*reasons, *without):
        if reason not in SWITCHES:
            raise RequestError(f"{quoted(reason)} cannot be switched off; expected one of {', '.join(SWITCHES)}")
    _need_kernels()
    load_kernels(job)
    from search.explorer.costs import costs_at
    from search.explorer.positions import replay

    game = replay(fen, moves, chess960=chess960)
    return costs_at(game, depth, reasons, job, classical=classical, without=without)


def _need_kernels() -> None:
    if sys.platform == "emscripten":
        raise RequestError("a browser cannot run the engine: chess searches need the program `secateur explore`")


def load_kernels(job: Job) -> None:
    """Waits until the kernels, which only chess needs, are loaded. Raises `StoppedError` if the job is stopped."""
    KERNELS.wait(job, every=0.5)
    job.check()
