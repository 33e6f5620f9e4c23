"""Alpha-beta in lattices: five rules for when the rest of a node cannot matter, from cautious to sharp.

Write v for the value so far of the node, alpha for the join of what all MAX nodes above it have so far, beta for the
meet of all MIN nodes above. Here at a MIN node; at MAX nodes everything is mirrored.

naive          never: the definition, meet at MIN and join at MAX
shallow        v <= what the parent has: MAX gains nothing by coming here               sound in any lattice
deep           v <= what some single MAX node above has                                 needs distributivity
weak           v <= alpha: all MAX nodes above together                                 needs distributivity
strong         (v meet beta) <= alpha: only what MIN lets through higher up counts      needs distributivity
fold           the root, computed from the path alone, is the same with v as with       needs distributivity
               the bottom in place of v

`shallow` and `deep` are those of Ginsberg and Jaffray ("Alpha-beta pruning under partial orders", in: More Games of No
Chance, 2001), who show that deep pruning needs distributivity.

`fold` is what `strong` means. What the path gives the root rises if the node's value does; so if the node's value and
its extreme give the root the same, so does all that lies between. It costs a walk up the path after every child. In a
distributive lattice all these joins and meets can be sorted into one: the root gets alpha join (beta meet v), but for
things that do not depend on v. This is the same for v and for the bottom if and only if (beta meet v) <= alpha, and
that is `strong`: as sharp as `fold` for one operation more than `weak`. (In other lattices `strong` is sharper still,
and wrong more often.)

`fold` looks as if it were right in any lattice, since no law is used to compute it. It is not: it only says that the
node cannot change the root as long as the nodes above keep their values so far. In a distributive lattice that is
enough, for alpha only rises from then on and beta only sinks. In others a later child can bring the difference back. In
N5, MAX to move, take [a [[c 1] b]]: once c is seen, the root gets a join c = 1, and the next leaf, 1, would not change
that. But then MIN's b comes, and of c it leaves 0, of 1 it leaves b: the root is a or b.

On chains `deep`, `weak`, `strong` and `fold` are all alpha-beta.

In lattices that are not distributive, only `naive` and `shallow` are sure to be right, so the others are refused there;
the tests show how they fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar

from search.theory.lattices import Element, Lattice
from search.theory.trees import Children, Tree, TreeError
from search.theory.watch import UNWATCHED, Watcher

Position = TypeVar("Position")
Move = TypeVar("Move")
ElementOut = TypeVar("ElementOut", covariant=True)


class LatticeGame(Protocol[Position, Move, ElementOut]):
    """A game whose ends are worth an element of a lattice to MAX."""

    def moves(self, position: Position) -> Iterable[Move]:
        """None where the game ends."""
        ...

    def apply(self, position: Position, move: Move) -> Position:
        """The position after one of its moves."""
        ...

    def value(self, position: Position) -> ElementOut:
        """What a position without moves is worth to MAX."""
        ...

    def is_max(self, position: Position) -> bool:
        """Whether MAX is to move; the players move in turn."""
        ...


@dataclass(slots=True)
class Step(Generic[Position, Element]):
    """A node on the path from the root to where the search is."""

    position: Position
    is_max: bool
    #: What it is worth by the children seen so far: the bottom for MAX and the top for MIN at first.
    value: Element
    #: Join of the values so far of all MAX nodes above, meet of those of all MIN nodes above.
    alpha: Element
    beta: Element


Path: TypeAlias = Sequence[Step[Any, Element]]

#: Whether the rest of the last node of a path may be left out.
Rule: TypeAlias = Callable[[Lattice[Any], Path[Any]], bool]


def naive(lattice: Lattice[Element], path: Path[Element]) -> bool:
    """Never."""
    return False


def shallow(lattice: Lattice[Element], path: Path[Element]) -> bool:
    """Against the parent alone."""
    return len(path) > 1 and _is_beaten(lattice, path[-1], path[-2].value)


def deep(lattice: Lattice[Element], path: Path[Element]) -> bool:
    """Against any single node above that belongs to the other side."""
    return _beater(lattice, path) is not None


def weak(lattice: Lattice[Element], path: Path[Element]) -> bool:
    """Against all nodes above that belong to the other side, together."""
    node = path[-1]
    return _is_beaten(lattice, node, node.beta if node.is_max else node.alpha)


def strong(lattice: Lattice[Element], path: Path[Element]) -> bool:
    """The same, counting only what the nodes of the own side leave of the value."""
    node = path[-1]
    if node.is_max:
        return lattice.is_below(node.beta, lattice.join(node.value, node.alpha))
    return lattice.is_below(lattice.meet(node.value, node.beta), node.alpha)


def fold(lattice: Lattice[Element], path: Path[Element]) -> bool:
    """Whether the root would be worth the same if the node went all the way from its value to its extreme."""
    node = path[-1]
    extreme = lattice.top if node.is_max else lattice.bottom
    return _root_value(lattice, path, node.value) == _root_value(lattice, path, extreme)


#: The rules that can be wrong in a lattice that is not distributive.
NEED_DISTRIBUTIVITY: Final[frozenset[Rule]] = frozenset({deep, weak, strong, fold})


class UnsoundRuleError(ValueError):
    """A rule that can give wrong values in this lattice; the message and `triple` (as texts) prove that it may."""

    def __init__(self, rule: str, triple: tuple[str, str, str]) -> None:
        self.triple = triple
        a, b, c = triple
        super().__init__(
            f"the rule '{rule}' needs a distributive lattice, and this one is not: "
            f"{a} meet ({b} join {c}) is not ({a} meet {b}) join ({a} meet {c})"
        )


def check_rule(lattice: Lattice[Any], rule: Rule) -> None:
    """Raises `UnsoundRuleError` if the rule may be wrong in this lattice."""
    if rule in NEED_DISTRIBUTIVITY:
        triple = lattice.violation()
        if triple is not None:
            a, b, c = map(lattice.format, triple)
            raise UnsoundRuleError(rule.__name__, (a, b, c))


def lattice_value(
    lattice: Lattice[Element],
    game: LatticeGame[Position, Move, Element],
    position: Position,
    rule: Rule = naive,
    watch: Watcher[Position, Element] = UNWATCHED,
    *,
    force: bool = False,
) -> Element:
    """What `position` is worth to MAX, visiting only what `rule` leaves.

    The watcher is told everything from MAX's view. Raises `UnsoundRuleError`; with `force` the rule is used all the
    same, and the value may be wrong.
    """
    if not force:
        check_rule(lattice, rule)
    return _search(lattice, game, position, rule, [], watch)


def _search(
    lattice: Lattice[Element],
    game: LatticeGame[Position, Move, Element],
    position: Position,
    rule: Rule,
    path: list[Step[Position, Element]],
    watch: Watcher[Position, Element],
) -> Element:
    alpha, beta = _bounds_below(lattice, path)
    is_max = game.is_max(position)
    node = Step(position, is_max, lattice.bottom if is_max else lattice.top, alpha, beta)
    watch.enter(position, alpha, beta)
    path.append(node)
    is_leaf = True
    for move in game.moves(position):
        is_leaf = False
        child = game.apply(position, move)
        value = _search(lattice, game, child, rule, path, watch)
        node.value = lattice.join(node.value, value) if is_max else lattice.meet(node.value, value)
        watch.back(position, child, node.value, *_bounds_below(lattice, path))
        if rule(lattice, path):
            watch.cut(position, *justification(lattice, path))
            break
    path.pop()
    if is_leaf:
        node.value = game.value(position)
        watch.leaf(position, node.value)
    watch.leave(position, node.value)
    return node.value


def _bounds_below(lattice: Lattice[Element], path: Path[Element]) -> tuple[Element, Element]:
    """Alpha and beta of a child of the path's last node."""
    if not path:
        return lattice.bottom, lattice.top
    node = path[-1]
    if node.is_max:
        return lattice.join(node.alpha, node.value), node.beta
    return node.alpha, lattice.meet(node.beta, node.value)


def justification(lattice: Lattice[Element], path: Sequence[Step[Position, Element]]) -> tuple[str, Position | None]:
    """The simplest reason why the rest of the last node may be left out, and the node that is enough for it.

    The reason is a key of `search.theory.events.REASONS`; "" if there is none.
    """
    is_max = path[-1].is_max
    name = "beta" if is_max else "alpha"
    above = _beater(lattice, path)
    if above is not None:
        return f"{name}-{'parent' if above == len(path) - 2 else 'single'}", path[above].position
    if weak(lattice, path):
        return ("beta-meet" if is_max else "alpha-join"), None
    # Where `fold` holds, `strong` does in any lattice.
    return (f"{name}-strong" if strong(lattice, path) else ""), None


def _is_beaten(lattice: Lattice[Element], node: Step[Any, Element], other: Element) -> bool:
    """Whether the node can only become worse for the side that has `other` elsewhere than what it has there."""
    return lattice.is_below(other, node.value) if node.is_max else lattice.is_below(node.value, other)


def _beater(lattice: Lattice[Element], path: Path[Element]) -> int | None:
    """The nearest node above, as an index of the path, that alone makes the last node useless."""
    for index in range(len(path) - 2, -1, -2):  # every second one belongs to the other side
        if _is_beaten(lattice, path[-1], path[index].value):
            return index
    return None


def _root_value(lattice: Lattice[Element], path: Path[Element], value: Element) -> Element:
    """What the root would be worth by what is known on the path, if its last node were worth `value`."""
    for node in reversed(path[:-1]):
        value = lattice.join(node.value, value) if node.is_max else lattice.meet(node.value, value)
    return value


class LatticeTree:
    """An explicit tree whose leaves are elements of a lattice as a `LatticeGame`; positions and moves are nodes.

    `children` is the order in which they are visited, the tree's own if None. Raises `TreeError` at the first leaf that
    is no element.
    """

    def __init__(self, tree: Tree, lattice: Lattice[Any], children: Children | None = None) -> None:
        self._tree = tree
        self._children = tree.children if children is None else children
        self._values = leaf_elements(tree, lattice)

    def moves(self, position: int) -> Sequence[int]:
        """The children."""
        return self._children[position]

    def apply(self, position: int, move: int) -> int:
        """The child itself."""
        return move

    def value(self, position: int) -> Any:
        """The leaf's element."""
        return self._values[position]

    def is_max(self, position: int) -> bool:
        """Whether MAX is to move, or would be."""
        return self._tree.is_max(position)


def leaf_elements(tree: Tree, lattice: Lattice[Element]) -> list[Element | None]:
    """The leaves' elements, None at inner nodes. Raises `TreeError` at the first leaf that is none."""
    elements: list[Element | None] = []
    for node, text in enumerate(tree.leaf):
        try:
            elements.append(None if text is None else lattice.parse(text))
        except ValueError as error:
            raise TreeError(f"the leaf {error}", tree.place(node)) from None
    return elements
