"""Explicit trees, whose nodes are all stored in memory, and the game of moving from node to node in such a tree."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, TypeAlias, TypeVar

from engine.files import printable

#: The limits of a tree: bytes of its text, plies from the root to a leaf, and nodes.
MAX_BYTES: Final = 1_000_000
MAX_DEPTH: Final = 2000
MAX_NODES: Final = 200_000

#: For every node, the sequence of its children in visiting order.
Children: TypeAlias = Sequence[Sequence[int]]

Node = TypeVar("Node")
Value = TypeVar("Value")

#: A line and a column in a text, both from 1; NOWHERE if the place is unknown or the tree was not read from a text.
Place: TypeAlias = tuple[int, int]
NOWHERE: Final[Place] = (0, 0)

#: A node's label and place, and either the text of its value (for a leaf) or its children (for an inner node).
Expansion: TypeAlias = tuple[str, Place, str | list[Node]]

#: A number: an integer, or a decimal fraction with at most six digits after the point.
_NUMBER: Final = re.compile(r"[-+]?[0-9]{1,18}(?:\.[0-9]{1,6})?")

#: The largest absolute value of a leaf. It is less than INFINITE, so averages of leaves are less than INFINITE, too.
MAX_VALUE: Final = 1_000_000_000


class PlacedError(ValueError):
    """Raised if a text is invalid. The message is one line; `line` and `column` count from 1 and are 0 if unknown."""

    def __init__(self, message: str, place: Place = NOWHERE) -> None:
        self.line, self.column = place
        super().__init__(f"line {self.line}, column {self.column}: {message}" if self.line else message)


class TreeError(PlacedError):
    """Raised if a tree is invalid or too large, or if a recorded search takes too many steps."""


@dataclass(frozen=True)
class Tree:
    """A tree whose nodes are numbered in preorder: 0 is the root, and the nodes of a subtree have consecutive numbers.

    MAX and MIN move in turn. Tuples are indexed by node. `parent` is -1 for the root. `leaf` is the text of a leaf's
    value, from MAX's point of view, and None for an inner node, which has at least one child. `label` is "" if a node
    has no label. `places` contains each node's place in the text that the tree was read from, if known.
    """

    parent: tuple[int, ...]
    children: tuple[tuple[int, ...], ...]
    leaf: tuple[str | None, ...]
    label: tuple[str, ...]
    root_is_max: bool
    places: tuple[Place, ...] = field(repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.parent)

    @property
    def postorder(self) -> range:
        """All nodes, with children before their parents: the preorder numbers in reverse."""
        return range(len(self) - 1, -1, -1)

    @cached_property
    def depth(self) -> tuple[int, ...]:
        """The number of plies from the root to each node."""
        depths = [0]
        for parent in self.parent[1:]:
            depths.append(depths[parent] + 1)
        return tuple(depths)

    @cached_property
    def height(self) -> int:
        """The number of plies from the root to the deepest leaf."""
        return max(self.depth)

    @cached_property
    def leaves(self) -> tuple[int, ...]:
        """The leaves, in preorder."""
        return tuple(node for node, text in enumerate(self.leaf) if text is not None)

    def is_max(self, node: int) -> bool:
        """Returns whether MAX is to move at a node, or would be to move if the node were not a leaf."""
        return (self.depth[node] % 2 == 0) == self.root_is_max

    def name(self, node: int) -> str:
        """Returns the label of a node, or, if it has none, its number (such as `#7`) or "root"."""
        return self.label[node] or (f"#{node}" if node else "root")

    def values(self, parse: Callable[[str], Value]) -> list[Value | None]:
        """Returns each leaf's parsed value, and None for each inner node. Raises `TreeError` if a leaf is invalid."""
        values: list[Value | None] = []
        for text, place in zip(self.leaf, self.places, strict=True):
            try:
                values.append(None if text is None else parse(text))
            except ValueError as error:
                raise TreeError(f"the leaf {error}", place) from None
        return values

    @cached_property
    def decimals(self) -> int:
        """The largest number of digits after the decimal point in a leaf, if the leaves are numbers."""
        return max((len(text.partition(".")[2]) for text in self.leaf if text and _NUMBER.fullmatch(text)), default=0)

    def integers(self) -> list[int | None]:
        """Returns each leaf's number times 10**decimals, and None for each inner node.

        Raises `TreeError` if a leaf is not a number. The searches compare integers only: a null window has no others.
        """
        return self.values(lambda text: integer(text, self.decimals))

    def uniform(self) -> tuple[int, int] | None:
        """Returns the branching factor and the depth of the leaves, or None if one of them varies within the tree."""
        counts = {len(children) for children in self.children if children}
        depths = {self.depth[leaf] for leaf in self.leaves}
        return (max(counts, default=0), self.height) if len(counts) <= 1 and len(depths) == 1 else None


def shortened(text: str, most: int = 40) -> str:
    """Returns `text` as one printable line of at most `most` characters, for use in a message."""
    text = printable(" ".join(text.split()))
    return text if len(text) <= most else f"{text[: most - 3]}..."


def integer(text: str, decimals: int = 0) -> int:
    """Returns the number in `text` times 10**decimals.

    Raises ValueError if `text` is not a number, has more decimals, or the result exceeds MAX_VALUE in absolute value.
    """
    if _NUMBER.fullmatch(text) is None:
        raise ValueError(f"'{shortened(text)}' is not a number")
    whole, _, fraction = text.partition(".")
    if len(fraction) > decimals:
        raise ValueError(f"'{shortened(text)}' is not an integer")
    value = int(whole + fraction.ljust(decimals, "0"))
    if abs(value) > MAX_VALUE:
        most = MAX_VALUE // 10**decimals
        raise ValueError(f"{text} is outside the range {-most}..{most}")
    return value


def grown_tree(
    root: Node,
    expand: Callable[[Node], Expansion[Node]],
    *,
    root_is_max: bool = True,
    most_nodes: int = MAX_NODES,
) -> Tree:
    """Returns the tree with this root, and calls `expand` for each node in preorder.

    `expand` returns a node's label, its place in a text, and either the text of a leaf or a list of children. Raises
    `TreeError` if the tree has more than `most_nodes` nodes or MAX_DEPTH plies, or if a list of children is empty.
    """
    parents: list[int] = []
    children: list[list[int]] = []
    leaves: list[str | None] = []
    labels: list[str] = []
    places: list[Place] = []
    # The nodes that remain to be added, with their parents and plies; the last is added first.
    pending = [(root, -1, 0)]
    while pending:
        node, parent, ply = pending.pop()
        label, place, content = expand(node)
        number = len(parents)
        if number >= most_nodes:
            raise TreeError(f"the tree has more than {most_nodes:,} nodes", place)
        if ply > MAX_DEPTH:
            raise TreeError(f"the tree is more than {MAX_DEPTH} plies deep", place)
        if not content and not isinstance(content, str):
            raise TreeError("a node without children must have a value", place)
        if parent >= 0:
            children[parent].append(number)
        parents.append(parent)
        children.append([])
        leaves.append(content if isinstance(content, str) else None)
        labels.append(label)
        places.append(place)
        if not isinstance(content, str):
            pending += [(child, number, ply + 1) for child in reversed(content)]
    return Tree(tuple(parents), tuple(map(tuple, children)), tuple(leaves), tuple(labels), root_is_max, tuple(places))


#: The changes that `edited_tree` can make.
CHANGES: Final = ("add", "set", "name", "remove")


def edited_tree(tree: Tree, node: int, change: str, text: str = "") -> tuple[Tree, int]:
    """Returns a copy of a tree with one change at `node`, and the number of the node that was added or changed.

    `change` is "add" (a child with the value `text`; if `node` is a leaf, the child takes its value), "set" (the value
    of a leaf), "name" (the label) or "remove". If the last child is removed, its parent becomes a leaf with its value.
    Raises `TreeError` if the change is impossible.
    """
    children, leaf, label = [list(below) for below in tree.children], list(tree.leaf), list(tree.label)
    changed = node
    if change == "add":
        changed = len(children)
        children.append([])
        leaf.append(text if leaf[node] is None else leaf[node])
        label.append("")
        children[node].append(changed)
        leaf[node] = None
    elif change == "set" and leaf[node] is not None:
        leaf[node] = text
    elif change == "name":
        label[node] = text
    elif change == "remove" and node:
        changed = tree.parent[node]
        children[changed].remove(node)
        if not children[changed]:
            leaf[changed] = leaf[node] or text
    else:
        raise TreeError("only a leaf has a value" if change == "set" else "the root cannot be removed")
    numbers: dict[int, int] = {}

    def expand(old: int) -> Expansion[int]:
        numbers[old] = len(numbers)
        value = leaf[old]
        return label[old], NOWHERE, children[old] if value is None else value

    return grown_tree(0, expand, root_is_max=tree.root_is_max), numbers[changed]


def minimax_values(tree: Tree, leaf_values: Sequence[int | None]) -> list[int]:
    """Returns every node's minimax value, from MAX's point of view; `leaf_values` is the result of `Tree.integers`."""
    values = [0] * len(tree)
    for node in tree.postorder:
        leaf = leaf_values[node]
        if leaf is not None:
            values[node] = leaf
        else:
            best = max if tree.is_max(node) else min
            values[node] = best(values[child] for child in tree.children[node])
    return values


class TreeGame:
    """A tree with integers at its leaves, as a `SearchGame`: positions are nodes, and moves are numbers of children.

    `children` gives the order of the moves, by default the tree's own. It does not affect the numbers of the moves. The
    guess is the average of the leaves below a position. It is often close to the value, but sometimes misleading.
    Equal subtrees with the same side to move have the same key. Raises `TreeError` if a leaf is not an integer.
    """

    def __init__(self, tree: Tree, children: Children | None = None) -> None:
        self._tree = tree
        self.root_is_max = tree.root_is_max
        self._values = tree.integers()
        self._number = [0] * len(tree)
        for siblings in tree.children:
            for number, child in enumerate(siblings):
                self._number[child] = number
        self._moves = [
            [self._number[child] for child in ordered] for ordered in (tree.children if children is None else children)
        ]

    def moves(self, position: int) -> Sequence[int]:
        """Returns the numbers of the children of `position`, from 0, in the order given by `children`."""
        return self._moves[position]

    def apply(self, position: int, move: int) -> int:
        """Returns the child of `position` whose number is `move`."""
        return self._tree.children[position][move]

    def value(self, position: int) -> int:
        """Returns the leaf's value for the side that would be to move there."""
        value = self._values[position]
        assert value is not None
        return value if self._tree.is_max(position) else -value

    def key(self, position: int) -> int:
        """Returns a number that nodes share if and only if they have equal subtrees and the same side to move."""
        return self._twins[position]

    def guess(self, position: int) -> int:
        """Returns the average of the leaves below `position`, rounded towards 0, for the side to move."""
        total, count = self._sums[position]
        average = abs(total) // count * (1 if total >= 0 else -1)
        return average if self._tree.is_max(position) else -average

    @cached_property
    def _twins(self) -> list[int]:
        tree = self._tree
        twins = [0] * len(tree)
        known: dict[tuple[bool, int | None, tuple[int, ...]], int] = {}
        for node in tree.postorder:
            below = tuple(twins[child] for child in tree.children[node])
            twins[node] = known.setdefault((tree.is_max(node), self._values[node], below), node)
        return twins

    @cached_property
    def _sums(self) -> list[tuple[int, int]]:
        sums = [(0, 0)] * len(self._tree)
        for node in self._tree.postorder:
            value = self._values[node]
            total, count = sums[node] if value is None else (value, 1)
            sums[node] = total, count
            parent = self._tree.parent[node]
            if parent >= 0:
                sums[parent] = sums[parent][0] + total, sums[parent][1] + count
        return sums
