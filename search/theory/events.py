"""The events of a search and their reasons, in words.

Every bound and value of an event is from MAX's view, whichever side is to move, so displays negate nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

#: Every kind of event, and its sentence. `update`, `keep`: `value` is now certain at `node`, `other` is the finished
#: child. `cut`: `other` is the ancestor whose value causes the cut. `iteration`: `value` is the depth.
KINDS: Final[dict[str, str]] = {
    "enter": "Visit {node}.",
    "leaf": "{node} is worth {value}.",
    "update": "{other} makes it {value} at {node}.",
    "keep": "{other} changes nothing at {node}.",
    "cut": "The rest of {node} is not visited.",
    "table": "The table knows {node}.",
    "leave": "{node} is done: {value}.",
    "iteration": "Search again from {node}, now to depth {value}.",
    "window": "Search {node} with the window {alpha} to {beta}.",
}

#: Every reason, and its sentence.
REASONS: Final[dict[str, str]] = {
    # Cuts at a MIN node: its value can only fall, and MAX does better elsewhere.
    "alpha-shallow": "MIN can already hold {node} to {value}, but one step up, at {other}, MAX has {alpha} for certain "
    "and will not come here: the rest cannot matter.",
    "alpha-deep": "MIN can already hold {node} to {value}, but further up, at {other}, MAX has {alpha} for certain and "
    "will not let it come to this: the rest cannot matter.",
    "alpha-window": "MIN can already hold {node} to {value}, and the search was asked for values above {alpha} only: "
    "that it fails low is all there is to know.",
    "alpha-scout": "MIN can already hold {node} to {value}, and the question was only whether it is more than {alpha}: "
    "it is not.",
    # Cuts at a MAX node: its value can only rise, and MIN does better elsewhere.
    "beta-shallow": "MAX can already get {value} at {node}, but one step up, at {other}, MIN holds MAX to {beta} and "
    "will not come here: the rest cannot matter.",
    "beta-deep": "MAX can already get {value} at {node}, but further up, at {other}, MIN holds MAX to {beta} and will "
    "not let it come to this: the rest cannot matter.",
    "beta-window": "MAX can already get {value} at {node}, and the search was asked for values below {beta} only: that "
    "it fails high is all there is to know.",
    "beta-scout": "MAX can already get {value} at {node}, and the question was only whether it is less than {beta}: it "
    "is not.",
    # Cuts in lattices: by the value of the parent or another single node above, or only by several together.
    "alpha-parent": "MIN can already hold {node} to {value}, and one step up, at {other}, MAX has no less than that "
    "for certain: the rest cannot matter.",
    "beta-parent": "MAX can already get {value} at {node}, and one step up, at {other}, MIN holds MAX to no more than "
    "that: the rest cannot matter.",
    "alpha-single": "MIN can already hold {node} to {value}, and further up, at {other}, MAX has no less than that for "
    "certain: the rest cannot matter.",
    "beta-single": "MAX can already get {value} at {node}, and further up, at {other}, MIN holds MAX to no more than "
    "that: the rest cannot matter.",
    "alpha-join": "MIN can already hold {node} to {value}, which is no more than {alpha}, all that MAX has for certain "
    "at the nodes above, joined.",
    "beta-meet": "MAX can already get {value} at {node}, which is no less than {beta}, all that MIN holds MAX to at "
    "the nodes above, met.",
    "alpha-strong": "{node} is down to {value}. What MIN leaves of that at the nodes above (their values meet in "
    "{beta} with this one), MAX has for certain there ({alpha}): the root cannot change.",
    "beta-strong": "{node} is up to {value}. With what MAX has for certain at the nodes above (joined with this one: "
    "{alpha}) it is all that MIN will allow there ({beta}): the root cannot change.",
    # Answers of the transposition table.
    "table-exact": "The table knows that {node} is worth {value}.",
    "table-lower": "The table knows that {node} is worth at least {value}, and that is enough for the window {alpha} "
    "to {beta}.",
    "table-upper": "The table knows that {node} is worth at most {value}, and that is enough for the window {alpha} to "
    "{beta}.",
    "table-move": "The table cannot answer for {node}, but it knows which move was best before: that one comes first.",
    # The meaning of a finished node's value.
    "exact": "{node} is worth {value}.",
    "lower": "{node} is worth at least {value}.",
    "upper": "{node} is worth at most {value}.",
    "sufficient": "{node} is left with {value}. Visiting what was cut might change that, but not the root's value.",
    # Searches that are repeated, or started with another window.
    "fail-low": "The value lies below the window. Search {node} again, from {alpha} to {beta}.",
    "fail-high": "The value lies above the window. Search {node} again, from {alpha} to {beta}.",
    "null-window": "First only ask whether {node} is worth changing the plan: the window {alpha} to {beta} holds no "
    "value between.",
    "re-search": "It is. Search {node} again for its value, from {alpha} to {beta}.",
}


@dataclass(frozen=True, slots=True)
class Event:
    """One step of a search at a node of a tree.

    `node` and `other` are indices of `search.theory.trees.Tree`; `other` is -1 for none. `alpha`, `beta` and `value`
    are numbers or elements of a lattice, from MAX's view, or None. `alpha` and `beta` are the window at the node after
    this event.
    """

    kind: str
    node: int
    alpha: Any = None
    beta: Any = None
    value: Any = None
    reason: str = ""
    other: int = -1


def explain(event: Event, name: Callable[[int], str], show: Callable[[Any], str]) -> str:
    """The event as one or two sentences; `name` names nodes and `show` writes values."""

    def text(value: Any) -> str:
        return "" if value is None else show(value)

    template = REASONS[event.reason] if event.reason else KINDS[event.kind]
    if event.kind == "enter" and event.alpha is not None:
        template = "Visit {node} with the window {alpha} to {beta}."
    return template.format(
        node=name(event.node),
        other=name(event.other) if event.other >= 0 else "",
        alpha=text(event.alpha),
        beta=text(event.beta),
        # An iteration's value is a number of plies, whatever the type of the other values.
        value=str(event.value) if event.kind == "iteration" else text(event.value),
    )
