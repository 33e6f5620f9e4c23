"""The events of a search and their reasons, in words.

The bounds and the values of nodes are from MAX's point of view, so displays need not change a sign.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

#: The sentence for each kind of event. For `update` and `keep`, `value` is now certain at `node`, and `other` is the
#: finished child. A `leaf` also ends the visit. For `cut`, `other` is the ancestor that causes the cut, if any. For
#: `iteration`, `value` is a depth.
KINDS: Final[dict[str, str]] = {
    "enter": "Visit {node}.",
    "leaf": "{node} is worth {value}.",
    "update": "{other} changes the value of {node} to {value}.",
    "keep": "{other} does not change the value of {node}.",
    "cut": "The remaining children of {node} are skipped.",
    "table": "The table has an entry for {node}.",
    "leave": "The search of {node} ends with the value {value}.",
    "iteration": "Search again from {node}, now to depth {value}.",
    "window": "Search {node} with the window {alpha} to {beta}.",
}

#: The sentence for each reason.
REASONS: Final[dict[str, str]] = {
    # Cuts at a MIN node: its value can only fall, and MAX does at least as well elsewhere.
    "alpha-shallow": "MIN can limit {node} to {value}, but one step up, at {other}, MAX is already sure of {alpha} and "
    "will avoid {node}. The remaining children cannot matter.",
    "alpha-deep": "MIN can limit {node} to {value}, but further up, at {other}, MAX is already sure of {alpha} and "
    "will avoid {node}. The remaining children cannot matter.",
    "alpha-window": "MIN can limit {node} to {value}, which is not above {alpha}, the lower end of the search window. "
    "{node} fails low, so the remaining children cannot matter.",
    "alpha-scout": "MIN can limit {node} to {value}, and the null window only tests whether {node} is worth more than "
    "{alpha}. It is not.",
    # Cuts at a MAX node: its value can only rise, and MIN does at least as well elsewhere.
    "beta-shallow": "MAX can get {value} at {node}, but one step up, at {other}, MIN can already limit MAX to {beta} "
    "and will avoid {node}. The remaining children cannot matter.",
    "beta-deep": "MAX can get {value} at {node}, but further up, at {other}, MIN can already limit MAX to {beta} and "
    "will avoid {node}. The remaining children cannot matter.",
    "beta-window": "MAX can get {value} at {node}, which is not below {beta}, the upper end of the search window. "
    "{node} fails high, so the remaining children cannot matter.",
    "beta-scout": "MAX can get {value} at {node}, and the null window only tests whether {node} is worth less than "
    "{beta}. It is not.",
    # Cuts in lattices: by the value of the parent, of another single node above, or of several nodes together. All but
    # the first can be wrong in a lattice that is not distributive.
    "alpha-parent": "MIN can limit {node} to {value}, but one step up, at {other}, MAX is already sure of at least "
    "this value. The remaining children cannot matter.",
    "beta-parent": "MAX can get {value} at {node}, but one step up, at {other}, MIN can already limit MAX to at most "
    "this value. The remaining children cannot matter.",
    "alpha-single": "MIN can limit {node} to {value}, but further up, at {other}, MAX is already sure of at least this "
    "value. By this rule, the remaining children cannot matter.",
    "beta-single": "MAX can get {value} at {node}, but further up, at {other}, MIN can already limit MAX to at most "
    "this value. By this rule, the remaining children cannot matter.",
    # A side without values above leaves the bound at the end of the lattice.
    "alpha-join": "MIN can limit {node} to {value}. MAX is already sure of {alpha} at the nodes above (their join; the "
    "least element if MAX has no value yet), which is at least as much.",
    "beta-meet": "MAX can get {value} at {node}. MIN can already limit MAX to {beta} at the nodes above (their meet; "
    "the greatest element if MIN has no value yet), which is at most as much.",
    "alpha-strong": "{node} is worth at most {value}. The meet of this value and MIN's values at the nodes above, if "
    "any, is {beta}. That is at most {alpha}, the join of MAX's values there (the least element if MAX has none). By "
    "this rule, the root's value cannot change.",
    "beta-strong": "{node} is worth at least {value}. The join of this value and MAX's values at the nodes above, if "
    "any, is {alpha}. That is at least {beta}, the meet of MIN's values there (the greatest element if MIN has none). "
    "By this rule, the root's value cannot change.",
    # Answers of the transposition table.
    "table-exact": "According to the table, {node} is worth {value}.",
    "table-lower": "According to the table, {node} is worth at least {value}, which is enough for the window {alpha} "
    "to {beta}.",
    "table-upper": "According to the table, {node} is worth at most {value}, which is enough for the window {alpha} to "
    "{beta}.",
    "table-move": "The table has no usable value for {node}, but it has the best move of an earlier search. That move "
    "is searched first.",
    "estimate": "The search of this depth ends at {node}. It estimates {value}: the average of the leaves below.",
    # The meaning of a finished node's value.
    "exact": "{node} is worth {value}.",
    "lower": "{node} is worth at least {value}.",
    "upper": "{node} is worth at most {value}.",
    "sufficient": "The search of {node} ends with {value}. Skipped nodes could change this value, but by this rule not "
    "the root's.",
    # Searches that are repeated, or started with another window.
    "fail-low": "The value lies below the window. Search {node} again with the window {alpha} to {beta}.",
    "fail-high": "The value lies above the window. Search {node} again with the window {alpha} to {beta}.",
    "null-window": "First test with the null window {alpha} to {beta} whether {node} beats the best move so far, here "
    "or above.",
    "re-search": "{node} beats the best move so far. Search it again for its value, with the window {alpha} to {beta}.",
}


@dataclass(frozen=True, slots=True)
class Event:
    """One step of a search at a node of a tree.

    `kind` is a key of KINDS. `reason` is a key of REASONS, or "". `node` and `other` are node numbers of a
    `search.theory.trees.Tree`; an `other` of -1 means no node. `alpha`, `beta` and `value` are numbers or elements of a
    lattice, from MAX's point of view, or None if unused. `alpha` and `beta` are the window at `node` after this event.
    """

    kind: str
    node: int
    alpha: Any = None
    beta: Any = None
    value: Any = None
    reason: str = ""
    other: int = -1
