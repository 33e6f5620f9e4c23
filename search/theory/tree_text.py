"""Trees as text: nested lists, indented lines, or JSON.

Nested list    [[3 12 8] [2 4 6] root:[14 5 2]]   commas or spaces separate items; `name:` before an item labels it;
               `MIN` before the whole list means that MIN moves at the root
Indented       MAX d=2 a=-inf b=+inf v=3          one line per node, children indented more than their parent; `name:`
                 MIN d=1                          before a node labels it; remarks after a node are ignored:
                   3 a=-inf b=+inf                remaining depth, window, value, or text in parentheses. A node whose
                                                  children are missing has the value v=, or, if it was (pruned), the
                                                  bound that it reached: b= for MAX, a= for MIN
JSON           {"mover": "max", "tree": [[3, 12, 8], {"label": "root", "children": [{"value": 2}]}]}

In the first two formats, a leaf's value is a string in double quotes, or a word. A word may contain spaces only within
parentheses or braces, as in `(1, 0)` and `{a, b}`. The algorithm reads the value as a number or as an element of a
lattice. JSON can nest at most `engine.files.NESTING` levels deep; deeper trees need another format.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

from engine.files import parse_json
from search.theory.trees import MAX_BYTES, NOWHERE, Expansion, Place, Tree, TreeError, grown_tree, shortened

Format = Literal["list", "indented", "json"]

FORMATS: Final[tuple[Format, ...]] = ("list", "indented", "json")

#: A node that was read: its label, its place, and its content (a leaf's text, or an inner node's children).
_Read: TypeAlias = "Expansion[_Read]"

#: The words for the side to move in nested lists and indented text; True means MAX.
_MOVERS: Final = {"MAX": True, "MIN": False}

# Within () or {}, a word may also contain spaces, commas, colons and quotes. Brackets may nest once, as in `(1,{a,b})`.
_INNER: Final = r"\([^({\n)]*+\)|\{[^({\n}]*+\}"
_GROUP: Final = rf"\((?:[^({{\n)]|{_INNER})*+\)|\{{(?:[^({{\n}}]|{_INNER})*+\}}"
_WORD: Final = rf'(?:[^\s,:"(){{}}\[\]]|{_GROUP})++'
_STRING: Final = r'"(?:[^"\\\n]|\\.)*+"'
_ITEM: Final = rf"(?:{_STRING}|{_WORD})"

_TOKEN: Final = re.compile(rf"(?P<label>{_ITEM}):|(?P<item>{_ITEM})|(?P<bracket>[\[\]])|[\s,]++")

# Patterns for guessing the format: the beginning of a nested list, a mover and a leaf on one line, and a string.
_LIST: Final = re.compile(rf"\s*(?:(?:MAX|MIN)(?![^\s\[])\s*)?(?:{_ITEM}:\s*)?\[")
_ONLY_LEAF: Final = re.compile(rf"\s*(?:MAX|MIN)[^\S\n]+(?:{_ITEM}:[^\S\n]*)?(?P<leaf>{_ITEM})\s*")
_TO_QUOTE: Final = re.compile(r'"(?:[^"\\\n]|\\.)*+("?)')


def read_tree(text: str, form: Format | None = None) -> Tree:
    """Returns the tree that `text` describes. If `form` is None, guesses the format from the text.

    Raises `TreeError` if the text is invalid or too large. The message names the line and column if they are known.
    """
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > MAX_BYTES:
        raise TreeError(f"the text of a tree must have at most {MAX_BYTES:,} bytes (got {size:,})")
    if not text.strip():
        raise TreeError("the text contains no tree", (1, 1))
    reader = {"list": _read_list, "indented": _read_indented, "json": _read_json}[form or guess_format(text)]
    return reader(text)


def guess_format(text: str) -> Format:
    """Returns the format that a text seems to use, even if the text is invalid.

    Braces enclose objects in JSON and sets in the other formats. An object begins with a quoted name and a colon. An
    empty object is not a node, so `{}` is the empty set. A text that begins with a brace and a quoted name is JSON even
    if the colon is missing, unless a comma or a closing brace follows the name. A nested list begins with `[`, possibly
    after MAX, MIN or a label, or consists of MAX or MIN and a leaf on one line.
    """
    # The text after an unclosed quote is not scanned again, because that would take quadratic time.
    bare = _TO_QUOTE.sub(lambda match: '""' if match[1] else match[0], text)
    if re.match(r'\s*\{\s*"(?!"\s*[,}])', bare) or re.match(r'\s*[\[{].*\{\s*""\s*:', bare, re.DOTALL):
        return "json"
    only_leaf = _ONLY_LEAF.fullmatch(text)
    if _LIST.match(text) or (only_leaf is not None and "=" not in only_leaf["leaf"]):
        return "list"
    return "indented"


def write_list(tree: Tree) -> str:
    """Returns the tree as a nested list on one line, in the form that `read_tree` accepts."""
    parts: list[str] = [] if tree.root_is_max else ["MIN "]
    open_nodes: list[int] = []
    for node, leaf in enumerate(tree.leaf):
        while open_nodes and open_nodes[-1] != tree.parent[node]:
            open_nodes.pop()
            parts.append("]")
        if node and parts[-1] != "[":
            parts.append(" ")
        if tree.label[node]:
            parts.append(f"{_quoted(tree.label[node])}:")
        if leaf is None:
            open_nodes.append(node)
            parts.append("[")
        else:
            parts.append(_quoted(leaf))
    return "".join(parts) + "]" * len(open_nodes)


def write_indented(tree: Tree, remarks: dict[int, str] | None = None) -> str:
    """Returns the tree as indented text; `remarks` maps nodes to remarks in the form that `read_tree` accepts."""
    lines = []
    for node, leaf in enumerate(tree.leaf):
        depth = tree.depth[node]
        label = f"{_quoted(tree.label[node])}: " if tree.label[node] else ""
        kind = f"{'MAX' if tree.is_max(node) else 'MIN'} d={tree.height - depth}" if leaf is None else _quoted(leaf)
        remark = f" {remarks[node]}" if remarks and node in remarks else ""
        lines.append(f"{'  ' * depth}{label}{kind}{remark}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """Returns `text` as one item of a nested list or indented text, in quotes if necessary."""
    is_word = re.fullmatch(_WORD, text) is not None and text not in _MOVERS
    return text if is_word else json.dumps(text, ensure_ascii=False)


def _unquoted(word: str, place: Place) -> str:
    if not word.startswith('"'):
        return word
    try:
        return str(json.loads(word, strict=False))
    except ValueError:
        raise TreeError(
            f"{shortened(word)} is not a valid string: it contains an unknown escape sequence", place
        ) from None


def _token(text: str, index: int, place: Place) -> re.Match[str]:
    """Returns the token that begins at `index`. Raises `TreeError` if there is none."""
    token = _TOKEN.match(text, index)
    if token is None:
        character = text[index]
        unclosed = " or not closed on its line" if character in '({"' else ""
        raise TreeError(f"'{shortened(character)}' is unexpected here{unclosed}", place)
    return token


def _grown(roots: list[_Read], root_is_max: bool, printed: Mapping[int, str] = MappingProxyType({})) -> Tree:
    if not roots:
        raise TreeError("the text contains no tree", (1, 1))

    def expand(node: _Read) -> Expansion[_Read]:
        label, place, content = node
        return label, place, content or printed.get(id(content), "") or content

    return grown_tree(roots[0], expand, root_is_max=root_is_max)


class _Lines:
    """The lines of a text, used to find the line and column of an index."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def place(self, index: int) -> Place:
        """Returns the line and column of the character at `index`, both from 1."""
        line = bisect_right(self._starts, index)
        return line, index - self._starts[line - 1] + 1


def _read_list(text: str) -> Tree:
    lines = _Lines(text)
    root_is_max, label, index = True, "", 0
    roots: list[_Read] = []
    open_lists = [roots]
    while index < len(text):
        place = lines.place(index)
        token = _token(text, index, place)
        index = token.end()
        item, bracket = token["item"], token["bracket"]
        if label and bracket == "]":
            raise TreeError(f"expected a node after the label '{shortened(label)}'", place)
        if token["label"]:
            label = _unquoted(token["label"], place)
        elif item in _MOVERS and open_lists == [[]]:
            root_is_max = _MOVERS[item]
        elif bracket == "]":
            if len(open_lists) == 1:
                raise TreeError("this ']' has no matching '['", place)
            open_lists.pop()
        elif item or bracket:
            if len(open_lists) == 1 and roots:
                raise TreeError("unexpected text after the end of the tree", place)
            children: list[_Read] = []
            open_lists[-1].append((label, place, _unquoted(item, place) if item else children))
            if bracket:
                open_lists.append(children)
            label = ""
    if len(open_lists) > 1:
        raise TreeError(f"expected {len(open_lists) - 1} more ']' before the end of the text", lines.place(len(text)))
    if label:
        raise TreeError(f"expected a node after the label '{shortened(label)}'", lines.place(len(text)))
    return _grown(roots, root_is_max)


@dataclass(slots=True)
class _Level:
    """An open node in indented text: its indentation, its children, and their indentation (None if there are none)."""

    margin: int
    children: list[_Read] = field(default_factory=list)
    inner: int | None = None


def _unfolded(text: str) -> str:
    """Returns printed nodes with one node on each line; if several share a line, d= gives the indentation."""
    nodes = re.findall(r"\b(?:MAX|MIN),?[^\S\n]+d=(\d{1,4})\b", text)
    if len(nodes) < 2 or len(nodes) <= text.strip().count("\n") + 1:
        return text

    def line(match: re.Match[str]) -> str:
        return "\n" + "  " * max(0, int(nodes[0]) - int(match[2])) + f"{match[1]} d={match[2]}"

    return re.sub(r"\s*\b(MAX|MIN),?\s+d=(\d{1,4})\b", line, text).lstrip("\n")


def _printed_value(line: str, is_max: bool) -> str:
    """Returns the value of a printed node without children: its v=, or the bound at which it was cut; "" if unknown."""
    remarks = dict(re.findall(r"\b([abv])=([^\s,()]+)", line))
    return str(
        remarks.get("v") or (remarks.get("b" if is_max else "a", "") if re.search(r"\(.*prun", line, re.I) else "")
    )


def _read_indented(text: str) -> Tree:
    text = _unfolded(text)
    # The values of printed nodes whose children are not printed, by the identity of their lists of children.
    printed: dict[int, str] = {}
    root_is_max = True
    levels = [_Level(-1)]
    roots = levels[0].children
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        start = len(line) - len(line.lstrip())
        margin, place = len(line[:start].expandtabs(8)), (number, start + 1)
        while margin <= levels[-1].margin:
            levels.pop()
        if len(levels) == 1 and roots:
            raise TreeError("unexpected text after the end of the tree", place)
        if levels[-1].inner not in (None, margin):
            raise TreeError("this line is not indented like the other children of its parent", place)
        levels[-1].inner = margin
        label, kind, where = _node_of_line(line, start, number)
        if kind not in _MOVERS:
            levels[-1].children.append((label, where, _unquoted(kind, where)))
            continue
        if len(levels) == 1:
            root_is_max = _MOVERS[kind]
        is_max = (len(levels) % 2 == 1) == root_is_max
        if _MOVERS[kind] != is_max:
            raise TreeError(f"expected {'MAX' if is_max else 'MIN'} to move here, got {kind}", where)
        level = _Level(margin)
        levels[-1].children.append((label, place, level.children))
        levels.append(level)
        printed[id(level.children)] = _printed_value(line, is_max)
    return _grown(roots, root_is_max, printed)


def _node_of_line(line: str, start: int, number: int) -> tuple[str, str, Place]:
    """Returns a node's label (or ""), its word (MAX, MIN or a value), and the word's place, or raises `TreeError`."""
    label, kind, where, index = "", "", (number, start + 1), start
    while index < len(line):
        place = (number, index + 1)
        token = _token(line, index, place)
        index = token.end()
        word = token["item"]
        if token["label"] and not label and not kind:
            label = _unquoted(token["label"], place)
        elif word and not kind:
            kind, where = word, place
        elif token["bracket"]:
            raise TreeError(f"'{token['bracket']}' is unexpected here", place)
        elif token["label"] or (word and not re.fullmatch(r"\w+=\S.*|\(.*\)", word)):
            found = shortened(token.group())
            raise TreeError(f"unexpected '{found}': a node may be followed only by remarks like a=3 or (cut)", place)
    if not kind:
        found = f" after the label '{shortened(label)}'" if label else ", but the line contains only commas"
        raise TreeError(f"expected a node{found}", (number, len(line) + 1))
    return label, kind, where


def _read_json(text: str) -> Tree:
    try:
        node = parse_json(text)
    except json.JSONDecodeError as error:
        raise TreeError(f"not valid JSON: {error.msg}", (error.lineno, error.colno)) from None
    except ValueError as error:
        raise TreeError(f"not valid JSON: {error}") from None
    root_is_max = True
    if isinstance(node, dict) and "tree" in node:
        _check_fields(node, ("format", "version", "mover", "tree", "lattice"))
        mover = node.get("mover", "max")
        if mover not in ("max", "min"):
            raise TreeError('"mover" must be "max" or "min"')
        root_is_max, node = mover == "max", node["tree"]
    return grown_tree(node, _json_node, root_is_max=root_is_max)


def _json_node(node: Any) -> Expansion[Any]:
    """Returns the label, place and content of a node, given as a JSON value. Raises `TreeError` if it is invalid."""
    label, content = "", node
    if isinstance(node, dict):
        _check_fields(node, ("label", "value", "children"))
        label = node.get("label", "")
        if not isinstance(label, str):
            raise TreeError("a label must be a string")
        if ("value" in node) == ("children" in node):
            raise TreeError('a node must have either "value" or "children"')
        content = node.get("value", node.get("children"))
        if isinstance(content, list) != ("children" in node):
            raise TreeError('"children" must be a list, and "value" must be a number or a string')
    if isinstance(content, list):
        return label, NOWHERE, content
    if not isinstance(content, str | int | float) or isinstance(content, bool):
        raise TreeError("a node must be a list of nodes, a number or a string")
    return label, NOWHERE, str(content)


def _check_fields(node: dict[str, Any], names: Sequence[str]) -> None:
    for name in node:
        if name not in names:
            raise TreeError(f"unknown field '{shortened(name)}' in a tree or node")
