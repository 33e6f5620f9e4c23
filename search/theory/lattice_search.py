"""Alpha-beta in lattices: six rules that say when to skip the remaining children of a node.

Let v be the value of the node so far. Alpha is the join of the values so far of all MAX nodes above, and beta is the
meet of the values so far of all MIN nodes above. The table says when each rule cuts at a MIN node. At MAX nodes,
everything is mirrored.

naive          never: every node is searched, with meet at MIN and join at MAX
shallow        v <= the parent's value: MAX gains nothing by coming here                sound in any lattice
deep           v <= the value of some single MAX node above                             needs distributivity
weak           v <= alpha: all MAX nodes above together                                 needs distributivity
strong         (v meet beta) <= alpha: only the part that MIN allows higher up counts   needs distributivity
fold           the root's value, computed from the path alone, would stay the same if   needs distributivity
               the bottom replaced v

`shallow` and `deep` are from Ginsberg and Jaffray ("Alpha-beta pruning under partial orders", in: More Games of No
Chance, 2001), who show that deep pruning needs distributivity.

`fold` states the idea behind `strong`: cut if the node can no longer change the root's value. The root's value never
falls if the node's value rises. So if v and the bottom give the root the same value, every value between them does,
too. The test costs a walk up the path after every child. In a distributive lattice, the root's value is
x join (beta meet v), where x does not depend on v. It is the same for v and for the bottom if and only if
(beta meet v) <= x. By distributivity, this is equivalent to (beta meet v) <= alpha, the condition of `strong`. So
`strong` cuts as often as `fold`, and costs only one operation more than `weak`. (In other lattices, `strong` can cut
more often than `fold`, and can be wrong more often.)

The definition of `fold` does not need distributivity, so `fold` seems correct in any lattice. But `fold` only shows
that the node cannot change the root while the nodes above keep their current values. In a distributive lattice that is
enough, because from then on alpha only rises and beta only falls. In other lattices, a later child of a node above can
make the cut wrong. Take [a [[c 1] b]] in N5, with MAX to move. After c, the root's value would be a join c, which is 1.
The next leaf, 1, would not change that, so `fold` skips it. But MIN's other child is b. Since b meet c is 0 and b meet
1 is b, the root's value is a with the cut and b without it.

In a chain, `deep`, `weak`, `strong` and `fold` are all equivalent to alpha-beta. In lattices that are not distributive,
only `naive` and `shallow` are always correct, so `lattice_value` refuses the other rules there by default. The tests
show examples in which those rules fail.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeAlias

from search.theory.lattices import Element, Lattice
from search.theory.trees import Children, Tree
from search.theory.watch import UNWATCHED, Watcher


@dataclass(slots=True)
class Step(Generic[Element]):
    """A node on the path from the root to the current node."""

    node: int
    is_max: bool
    #: The combined value of the children searched so far; initially the bottom for MAX and the top for MIN.
    value: Element
    #: The join of the values so far of all MAX nodes above, and the meet of the values so far of all MIN nodes above.
    alpha: Element
    beta: Element


Path: TypeAlias = Sequence[Step[Element]]

#: A function that returns whether the search may skip the remaining children of the last node of a path.
Rule: TypeAlias = Callable[[Lattice[Any], Path[Any]], bool]


def naive(lattice: Lattice[Element], path: Path[Element]) -> bool:
    """Returns False: this rule never cuts."""
    return False


def shallow(lattice: Lattice[Element], path: Path[Element]) -> bool:
    """Returns whether the parent's value alone allows a cut."""
    return len(path) > 1 and _is_beaten(lattice, path[-1], path[-2].value)


def deep(lattice: Lattice[Element], path: Path[Element]) -> bool:
    """Returns whether the value of a single opposing node above allows a cut."""
    return _beater(lattice, path) is not None


def weak(lattice: Lattice[Element], path: Path[Element]) -> bool:
    """Returns whether the values of all opposing nodes above together allow a cut."""
    node = path[-1]
    return _is_beaten(lattice, node, node.beta if node.is_max else node.alpha)


def strong(lattice: Lattice[Element], path: Path[Element]) -> bool:
    """Returns whether `weak` would allow a cut if the node's value were combined with alpha or beta.

    The combination is the join of the value and alpha at a MAX node, and the meet of the value and beta at a MIN node.
    """
    node = path[-1]
    if node.is_max:
        return lattice.is_below(node.beta, lattice.join(node.value, node.alpha))
    return lattice.is_below(lattice.meet(node.value, node.beta), node.alpha)


def fold(lattice: Lattice[Element], path: Path[Element]) -> bool:
    """Returns whether the root's value stays the same if the node's value becomes the top (MAX) or bottom (MIN)."""
    node = path[-1]
    extreme = lattice.top if node.is_max else lattice.bottom
    return _root_value(lattice, path, node.value) == _root_value(lattice, path, extreme)


#: The rules that can be wrong in a lattice that is not distributive.
NEED_DISTRIBUTIVITY: Final[frozenset[Rule]] = frozenset({deep, weak, strong, fold})


class UnsoundRuleError(ValueError):
    """Raised if a rule can give wrong values in a lattice; `triple` names elements that violate distributivity."""

    def __init__(self, rule: str, triple: tuple[str, str, str]) -> None:
        self.triple = triple
        a, b, c = triple
        super().__init__(
            f"the rule '{rule}' requires a distributive lattice, but here "
            f"{a} meet ({b} join {c}) is not ({a} meet {b}) join ({a} meet {c})"
        )


def lattice_value(
    lattice: Lattice[Element],
    tree: Tree,
    rule: Rule = naive,
    watch: Watcher[int, Element] = UNWATCHED,
    *,
    children: Children | None = None,
    force: bool = False,
) -> Element:
    """Returns the root's value from MAX's point of view, without visiting the nodes that `rule` cuts.

    `children` is the visiting order, by default the tree's own. The watcher gets all values from MAX's point of view.
    Raises `TreeError` if a leaf is not an element of the lattice, and `UnsoundRuleError` if the rule may be wrong in
    this lattice. If `force` is set, the rule is used anyway, and the value may be wrong.
    """
    if not force:
        check_sound(rule, lattice)
    return searched(lattice, tree, tree.values(lattice.parse), rule, watch, children)


def check_sound(rule: Rule, lattice: Lattice[Element]) -> None:
    """Raises `UnsoundRuleError` if the rule may be wrong in this lattice."""
    triple = lattice.violation() if rule in NEED_DISTRIBUTIVITY else None
    if triple is not None:
        a, b, c = map(lattice.format, triple)
        raise UnsoundRuleError(rule.__name__, (a, b, c))


def searched(
    lattice: Lattice[Element],
    tree: Tree,
    elements: Sequence[Element | None],
    rule: Rule,
    watch: Watcher[int, Element] = UNWATCHED,
    children: Children | None = None,
) -> Element:
    """Returns the same as `lattice_value` with `force`; `elements` contains each leaf's value, and None for others."""
    ordered = tree.children if children is None else children
    path: list[Step[Element]] = []

    def search(number: int) -> Element:
        alpha, beta = _bounds_below(lattice, path)
        is_max = tree.is_max(number)
        node = Step(number, is_max, lattice.bottom if is_max else lattice.top, alpha, beta)
        watch.enter(number, alpha, beta)
        path.append(node)
        for child in ordered[number]:
            value = search(child)
            node.value = lattice.join(node.value, value) if is_max else lattice.meet(node.value, value)
            watch.back(number, child, node.value, *_bounds_below(lattice, path))
            if rule(lattice, path):
                watch.cut(number, *justification(lattice, path))
                break
        path.pop()
        element = elements[number]
        if element is not None:
            node.value = element
            watch.leaf(number, element)
        watch.leave(number, node.value)
        return node.value

    return search(0)


def _bounds_below(lattice: Lattice[Element], path: Path[Element]) -> tuple[Element, Element]:
    """Returns alpha and beta for a child of the path's last node, or for the root if the path is empty."""
    if not path:
        return lattice.bottom, lattice.top
    node = path[-1]
    if node.is_max:
        return lattice.join(node.alpha, node.value), node.beta
    return node.alpha, lattice.meet(node.beta, node.value)


def justification(lattice: Lattice[Element], path: Path[Element]) -> tuple[str, int | None]:
    """Returns the simplest reason for a cut at the path's last node, and the node above whose value causes the cut.

    The reason is a key of `search.theory.events.REASONS`, or "" if no rule allows a cut. The node is None if no node's
    value alone causes the cut.
    """
    is_max = path[-1].is_max
    name = "beta" if is_max else "alpha"
    above = _beater(lattice, path)
    if above is not None:
        return f"{name}-{'parent' if above == len(path) - 2 else 'single'}", path[above].node
    if weak(lattice, path):
        return ("beta-meet" if is_max else "alpha-join"), None
    # In any lattice, `strong` allows every cut that `fold` allows.
    return (f"{name}-strong" if strong(lattice, path) else ""), None


def _is_beaten(lattice: Lattice[Element], node: Step[Element], other: Element) -> bool:
    """Returns whether `node` offers the opponent nothing better than the value `other`, available elsewhere."""
    return lattice.is_below(other, node.value) if node.is_max else lattice.is_below(node.value, other)


def _beater(lattice: Lattice[Element], path: Path[Element]) -> int | None:
    """Returns the index of the nearest node in `path` whose value alone allows a cut at the last node, or None."""
    for index in range(len(path) - 2, -1, -2):  # the opponent moves at every second node
        if _is_beaten(lattice, path[-1], path[index].value):
            return index
    return None


def _root_value(lattice: Lattice[Element], path: Path[Element], value: Element) -> Element:
    """Returns the value that the root would have if the last node had `value` and were searched no further."""
    for node in reversed(path[:-1]):
        value = lattice.join(node.value, value) if node.is_max else lattice.meet(node.value, value)
    return value
