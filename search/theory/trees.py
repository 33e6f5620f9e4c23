"""Explicit trees: games that are small enough to draw."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, TypeAlias, TypeVar

from engine.files import printable

#: Limits of a tree: bytes of its text, plies from the root to a leaf, nodes.
MAX_BYTES: Final = 1_000_000
MAX_DEPTH: Final = 2000
MAX_NODES: Final = 200_000

#: The children of every node, in some order.
Children: TypeAlias = Sequence[Sequence[int]]

Element = TypeVar("Element")

#: Line and column in a text, from 1.
Place: TypeAlias = tuple[int, int]


class TreeError(ValueError):
    """An invalid tree; one line says what is wrong. `line` and `column` (from 1) say where, 0 for nowhere."""

    def __init__(self, message: str, place: Place = (0, 0)) -> None:
        self.line, self.column = place
        super().__init__(f"line {self.line}, column {self.column}: {message}" if self.line else message)


@dataclass(frozen=True)
class Tree:
    """A tree whose nodes are numbered in preorder: 0 is the root, and every subtree is a range of numbers.

    MAX and MIN move in turn. `leaf` holds the text of a leaf's value, from MAX's view, and None at inner nodes, which
    have at least one child; `label` a name or "". `places` says where in a text each node came from, if from one.
    """

    parent: tuple[int, ...]
    children: tuple[tuple[int, ...], ...]
    leaf: tuple[str | None, ...]
    label: tuple[str, ...]
    root_is_max: bool = True
    places: tuple[Place, ...] = field(default=(), repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.parent)

    @cached_property
    def depth(self) -> tuple[int, ...]:
        """Plies from the root, for every node."""
        depths = [0]
        for parent in self.parent[1:]:
            depths.append(depths[parent] + 1)
        return tuple(depths)

    @cached_property
    def height(self) -> int:
        """Plies from the root to the deepest leaf."""
        return max(self.depth)

    @cached_property
    def leaves(self) -> tuple[int, ...]:
        """The leaves, in order."""
        return tuple(node for node, text in enumerate(self.leaf) if text is not None)

    def is_max(self, node: int) -> bool:
        """Whether MAX is to move at a node, or would be if it is a leaf."""
        return (self.depth[node] % 2 == 0) == self.root_is_max

    def name(self, node: int) -> str:
        """The label of a node, or its number."""
        return self.label[node] or f"#{node}"

    def place(self, node: int) -> Place:
        """Where in its text a node stands; (0, 0) if it comes from no text."""
        return self.places[node] if self.places else (0, 0)

    def integers(self) -> tuple[int | None, ...]:
        """The leaves' values as whole numbers, None at inner nodes. Raises `TreeError` at the first other leaf."""
        return tuple(None if text is None else self._integer(node, text) for node, text in enumerate(self.leaf))

    def _integer(self, node: int, text: str) -> int:
        if re.fullmatch(r"[-+]?[0-9]{1,18}", text) is None:
            raise TreeError(f"the leaf '{shortened(text)}' is no whole number", self.place(node))
        value = int(text)
        if abs(value) > MAX_VALUE:
            raise TreeError(f"the leaf {shortened(text)} is beyond {MAX_VALUE}", self.place(node))
        return value

    def uniform(self) -> tuple[int, int] | None:
        """(branching, depth) if all inner nodes have equally many children and all leaves equal depth, else None."""
        counts = {len(children) for children in self.children if children}
        depths = {self.depth[leaf] for leaf in self.leaves}
        return (max(counts, default=0), self.height) if len(counts) <= 1 and len(depths) == 1 else None


#: The largest absolute value of a leaf: guesses and small sums stay below INFINITE.
MAX_VALUE: Final = 1_000_000_000


def shortened(text: str, most: int = 40) -> str:
    """A text for a message: one printable line of at most `most` characters."""
    text = printable(" ".join(text.split()))
    return text if len(text) <= most else f"{text[: most - 3]}..."


class TreeBuilder:
    """Makes a tree node by node, in preorder; raises `TreeError` as soon as it gets too large or too deep."""

    def __init__(self, *, most_nodes: int = MAX_NODES) -> None:
        self._most_nodes = most_nodes
        self._parent: list[int] = []
        self._children: list[list[int]] = []
        self._leaf: list[str | None] = []
        self._label: list[str] = []
        self._places: list[Place] = []
        self._path: list[int] = []

    @property
    def is_complete(self) -> bool:
        """Whether there is a root, and every node that was opened is closed."""
        return bool(self._parent) and not self._path

    @property
    def path(self) -> Sequence[int]:
        """The open nodes, from the root on."""
        return self._path

    def open(self, label: str = "", place: Place = (0, 0)) -> int:
        """Adds an inner node and enters it; returns its number."""
        node = self._add(None, label, place)
        self._path.append(node)
        return node

    def add_leaf(self, text: str, label: str = "", place: Place = (0, 0)) -> int:
        """Adds a leaf; returns its number."""
        return self._add(text, label, place)

    def close(self) -> None:
        """Returns to the parent. Raises `TreeError` if the node has no children."""
        node = self._path.pop()
        if not self._children[node]:
            raise TreeError("a node without children has to be a leaf with a value", self._places[node])

    def build(self, *, root_is_max: bool = True) -> Tree:
        """The tree. Call it only when the builder `is_complete`."""
        return Tree(
            tuple(self._parent),
            tuple(map(tuple, self._children)),
            tuple(self._leaf),
            tuple(self._label),
            root_is_max,
            tuple(self._places) if any(line for line, _ in self._places) else (),
        )

    def _add(self, leaf: str | None, label: str, place: Place) -> int:
        node = len(self._parent)
        if node >= self._most_nodes:
            raise TreeError(f"a tree has at most {self._most_nodes:,} nodes", place)
        if node and not self._path:
            raise TreeError("there is more after the end of the tree", place)
        if len(self._path) > MAX_DEPTH:
            raise TreeError(f"a tree is at most {MAX_DEPTH} plies deep", place)
        if self._path:
            self._children[self._path[-1]].append(node)
        self._parent.append(self._path[-1] if self._path else -1)
        self._children.append([])
        self._leaf.append(leaf)
        self._label.append(label)
        self._places.append(place)
        return node


def tree_from_columns(
    parent: Sequence[int], leaf: Sequence[str | None], label: Sequence[str] | None = None, *, root_is_max: bool = True
) -> Tree:
    """The tree with these columns, nodes in preorder. Raises `TreeError` if they form no tree."""
    count = len(parent)
    label = [""] * count if label is None else label
    if len(leaf) != count or len(label) != count:
        raise TreeError(f"columns of different lengths: {count} parents, {len(leaf)} leaves, {len(label)} labels")
    builder = TreeBuilder()
    for node in range(count):
        while builder.path and builder.path[-1] != parent[node]:
            builder.close()
        if parent[node] != (builder.path[-1] if builder.path else -1):
            raise TreeError(f"node {node} cannot have the parent {parent[node]}: nodes come in preorder")
        text = leaf[node]
        if text is None:
            builder.open(label[node])
        else:
            builder.add_leaf(text, label[node])
    while builder.path:
        builder.close()
    if not builder.is_complete:
        raise TreeError("a tree has at least one node")
    return builder.build(root_is_max=root_is_max)


def postorder(tree: Tree) -> Iterator[int]:
    """All nodes, children before their parents: preorder numbers backwards."""
    return iter(range(len(tree) - 1, -1, -1))


def minimax_values(tree: Tree, leaf_values: Sequence[int | None]) -> list[int]:
    """Every node's value by definition, from MAX's view."""
    values = [0] * len(tree)
    for node in postorder(tree):
        leaf = leaf_values[node]
        if leaf is not None:
            values[node] = leaf
        else:
            best = max if tree.is_max(node) else min
            values[node] = best(values[child] for child in tree.children[node])
    return values


class TreeGame:
    """A tree with numbers at its leaves as a game (`SearchGame`): positions are nodes, moves are numbers of children.

    `children` is the order of the moves, the tree's own if None; a move has the same number in any order. The guess is
    the average of the leaves below a position: it stands for an evaluation, fairly good and sometimes wrong. A
    position's key stands for its whole subtree, so equal subtrees with the same side to move are the same position.
    """

    def __init__(self, tree: Tree, children: Children | None = None) -> None:
        self._tree = tree
        self._values = tree.integers()
        self._number = [0] * len(tree)
        for siblings in tree.children:
            for number, child in enumerate(siblings):
                self._number[child] = number
        self._moves = [
            [self._number[child] for child in ordered] for ordered in (tree.children if children is None else children)
        ]

    def moves(self, position: int) -> Sequence[int]:
        """The numbers of the children, from 0."""
        return self._moves[position]

    def apply(self, position: int, move: int) -> int:
        """The child with this number."""
        return self._tree.children[position][move]

    def value(self, position: int) -> int:
        """The leaf's value to the side that would move there."""
        value = self._values[position]
        assert value is not None
        return value if self._tree.is_max(position) else -value

    def key(self, position: int) -> int:
        """One number for all nodes with an equal subtree."""
        return self._twins[position]

    def guess(self, position: int) -> int:
        """The average of the leaves below, rounded towards 0."""
        total, count = self._sums[position]
        average = abs(total) // count * (1 if total >= 0 else -1)
        return average if self._tree.is_max(position) else -average

    @cached_property
    def _twins(self) -> list[int]:
        tree = self._tree
        twins = [0] * len(tree)
        known: dict[tuple[bool, int | None, tuple[int, ...]], int] = {}
        for node in postorder(tree):
            below = tuple(twins[child] for child in tree.children[node])
            twins[node] = known.setdefault((tree.is_max(node), self._values[node], below), node)
        return twins

    @cached_property
    def _sums(self) -> list[tuple[int, int]]:
        sums = [(0, 0)] * len(self._tree)
        for node in postorder(self._tree):
            value = self._values[node]
            total, count = sums[node] if value is None else (value, 1)
            sums[node] = total, count
            parent = self._tree.parent[node]
            if parent >= 0:
                sums[parent] = sums[parent][0] + total, sums[parent][1] + count
        return sums
