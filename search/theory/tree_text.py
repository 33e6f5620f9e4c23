"""Trees as text: nested lists, JSON, indented lines; DOT for output only.

Nested list    [[3 12 8] [2 4 6] root:[14 5 2]]   commas or spaces; `name:` before an item labels it; `MIN` in front of
               the whole thing lets MIN move at the root
Indented       MAX d=2 a=-inf b=+inf v=3          a line a node, children further in than their parent; `name:` in
                 MIN d=1                          front labels it; what follows the node's kind or value is for
                   3 a=-inf b=+inf                reading only: depth left, window, value, remarks in parentheses
JSON           {"mover": "max", "tree": [[3, 12, 8], {"label": "root", "children": [{"value": 2}]}]}

A leaf's value is a word without spaces, except within brackets like `{a, b}` and `(1, 0)`, or a string in double
quotes. The algorithm decides its meaning: a whole number, or an element of a lattice.
"""

from __future__ import annotations

import json
import re
from typing import Final, Literal

from search.theory.json_text import Item, Lines, read_json
from search.theory.trees import MAX_BYTES, Place, Tree, TreeBuilder, TreeError, shortened

Format = Literal["list", "indented", "json"]

FORMATS: Final[tuple[Format, ...]] = ("list", "indented", "json")

#: The side to move at the root, in every format.
_MOVERS: Final = {"MAX": True, "MIN": False}

_JSON_FORMAT: Final = "secateur tree"

_OPENING: Final = {"(": ")", "{": "}"}

#: A string in double quotes, and any number of spaces.
_STRING: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_TO_QUOTE: Final = re.compile(r'"(?:[^"\\\n]|\\.)*+("?)')
_SPACES: Final = re.compile(r"\s*")

_UNCLOSED: Final = "a bracket or a quote in this word is not closed on its line"


def read_tree(text: str, form: Format | None = None) -> Tree:
    """The tree that a text describes. Raises `TreeError`, which names line and column.

    Without a format, the beginning of the text decides.
    """
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > MAX_BYTES:
        raise TreeError(f"a tree's text has at most {MAX_BYTES:,} bytes, this has {size:,}")
    if not text.strip():
        raise TreeError("there is no tree", (1, 1))
    reader = {"list": _read_list, "indented": _read_indented, "json": _read_json}[form or guess_format(text)]
    return reader(text)


def guess_format(text: str) -> Format:
    """The format that a text seems to use, so that error messages fit that format.

    Braces are objects in JSON, sets in the other formats. An object begins with a name in quotes and a colon; an empty
    one is no node, so `{}` is the empty set. A text that begins with a brace and a quote is JSON also where the colon
    is missing, unless a comma or the closing brace stands in its place. A nested list begins with `[`, or with a mover
    or a label in front of that; or it is a mover and a leaf on one line.
    """
    # The text after an unclosed quote is not scanned again, because that would take quadratic time.
    bare = _TO_QUOTE.sub(lambda match: '""' if match[1] else match[0], text)
    if re.match(r'\s*\{\s*"(?!"\s*[,}])', bare) or re.match(r'\s*[\[{].*\{\s*""\s*:', bare, re.DOTALL):
        return "json"
    word, index = _next_word(text, 0)
    mover_end = index + len(word) if word in _MOVERS else 0
    word, index = _next_word(text, mover_end)
    if word.endswith(":") and len(word) > 1:
        word, index = _next_word(text, index + len(word))
    is_only_leaf = mover_end and word and "=" not in word and not text[index + len(word) :].strip()
    is_on_one_line = "\n" not in text[mover_end:index]
    return "list" if text[index : index + 1] == "[" or (is_only_leaf and is_on_one_line) else "indented"


def _next_word(text: str, index: int) -> tuple[str, int]:
    """The first word after the spaces at `index` ("" where none begins), and its index."""
    space = _SPACES.match(text, index)
    assert space is not None
    start = space.end()
    return text[start : max(_word_end(text, start), start)], start


def write_list(tree: Tree) -> str:
    """The tree as a nested list, on one line."""
    parts: list[str] = [] if tree.root_is_max else ["MIN "]
    open_nodes: list[int] = []
    for node, leaf in enumerate(tree.leaf):
        closed = _close(tree, open_nodes, node)
        parts.append("]" * closed + (" " if node and (closed or parts[-1] != "[") else ""))
        if tree.label[node]:
            parts.append(f"{_quoted(tree.label[node])}:")
        if leaf is None:
            open_nodes.append(node)
            parts.append("[")
        else:
            parts.append(_quoted(leaf))
    return "".join(parts) + "]" * len(open_nodes)


def write_json(tree: Tree) -> str:
    """The tree as JSON on one line, with numbers for leaves that are whole numbers."""
    parts = [f'{{"format": "{_JSON_FORMAT}", "version": 1, "mover": "{"max" if tree.root_is_max else "min"}", "tree": ']
    open_nodes: list[int] = []

    def ending(node: int) -> str:
        return "]}" if tree.label[node] else "]"

    for node, leaf in enumerate(tree.leaf):
        while open_nodes and open_nodes[-1] != tree.parent[node]:
            parts.append(ending(open_nodes.pop()))
        if node and tree.children[tree.parent[node]][0] != node:
            parts.append(", ")
        label = f'{{"label": {json.dumps(tree.label[node])}, ' if tree.label[node] else ""
        if leaf is None:
            open_nodes.append(node)
            parts.append(f'{label}"children": [' if label else "[")
        else:
            value = leaf if re.fullmatch(r"-?(0|[1-9]\d*)", leaf) else json.dumps(leaf)
            parts.append(f'{label}"value": {value}}}' if label else value)
    while open_nodes:
        parts.append(ending(open_nodes.pop()))
    return "".join(parts) + "}"


def write_indented(tree: Tree, remarks: dict[int, str] | None = None) -> str:
    """The tree as one line a node; `remarks` follow their nodes and must have the module's form of a remark."""
    lines = []
    for node, leaf in enumerate(tree.leaf):
        depth = tree.depth[node]
        label = f"{_quoted(tree.label[node])}: " if tree.label[node] else ""
        kind = f"{'MAX' if tree.is_max(node) else 'MIN'} d={tree.height - depth}" if leaf is None else _quoted(leaf)
        remark = f" {remarks[node]}" if remarks and node in remarks else ""
        lines.append(f"{'  ' * depth}{label}{kind}{remark}")
    return "\n".join(lines) + "\n"


def write_dot(tree: Tree, dashed: frozenset[int] = frozenset(), remarks: dict[int, str] | None = None) -> str:
    """The tree for Graphviz: MAX points up, MIN down; `dashed` nodes were not visited."""
    lines = ["digraph tree {", "  node [fontname=sans];", "  edge [arrowhead=none];"]
    for node, leaf in enumerate(tree.leaf):
        text = [part for part in (tree.label[node], leaf or "", (remarks or {}).get(node, "")) if part]
        shape = "box" if leaf is not None else "triangle" if tree.is_max(node) else "invtriangle"
        style = ", style=dashed" if node in dashed else ""
        quoted = json.dumps("\n".join(text), ensure_ascii=False)
        lines.append(f"  n{node} [shape={shape}, label={quoted}{style}];")
        if node:
            lines.append(f"  n{tree.parent[node]} -> n{node}{' [style=dashed]' if node in dashed else ''};")
    return "\n".join([*lines, "}"]) + "\n"


def _close(tree: Tree, open_nodes: list[int], node: int) -> int:
    """Removes the nodes that end before `node` from `open_nodes`; returns their number."""
    closed = 0
    while open_nodes and open_nodes[-1] != tree.parent[node]:
        open_nodes.pop()
        closed += 1
    return closed


def _quoted(text: str) -> str:
    """The text as one word of the formats, in quotes if necessary."""
    is_word = text and _word_end(text, 0) == len(text) and not text.startswith('"') and not text.endswith(":")
    return text if is_word and text not in _MOVERS else json.dumps(text, ensure_ascii=False)


def _word_end(text: str, start: int) -> int:
    """The end of the word that begins at `start`; `start` if none begins, -1 if a bracket or quote is not closed.

    A word may contain anything within (), {} or double quotes, and ends after a colon.
    """
    closing: list[str] = []
    index = start
    if text[start : start + 1] == '"':
        quoted = _STRING.match(text, start)
        if quoted is None:
            return -1
        index = quoted.end()
        return index + 1 if text[index : index + 1] == ":" else index
    while index < len(text):
        character = text[index]
        if character in _OPENING:
            closing.append(_OPENING[character])
        elif closing and character == closing[-1]:
            closing.pop()
        elif not closing and (character.isspace() or character in ',[])}"'):
            break
        elif character == "\n":
            return -1
        elif character == ":" and not closing:
            index += 1
            break
        index += 1
    return -1 if closing else index


def _unquoted(word: str, place: Place) -> str:
    if not word.startswith('"'):
        return word
    try:
        return str(json.loads(word, strict=False))
    except ValueError:
        raise TreeError(
            f"{shortened(word)} is no string: a backslash stands before a quote, n, t or another", place
        ) from (None)


def _read_list(text: str) -> Tree:
    lines, builder = Lines(text), TreeBuilder()
    root_is_max, label, index = True, "", 0
    while index < len(text):
        character, place = text[index], lines.place(index)
        if character.isspace() or character == ",":
            index += 1
        elif character == "[":
            builder.open(label, place)
            label, index = "", index + 1
        elif character == "]":
            if label:
                raise TreeError(f"nothing follows the label '{shortened(label)}'", place)
            if not builder.path:
                raise TreeError("there is no '[' for this ']'", place)
            builder.close()
            index += 1
        else:
            end = _word_end(text, index)
            if end <= index:
                raise TreeError(_UNCLOSED if end < 0 else f"'{character}' is out of place", place)
            word, index = text[index:end], end
            if word in _MOVERS and not builder.path and not builder.is_complete:
                root_is_max = _MOVERS[word]
            elif word.endswith(":") and len(word) > 1:
                label = _unquoted(word[:-1], place)
            else:
                builder.add_leaf(_unquoted(word, place), label, place)
                label = ""
    if builder.path:
        raise TreeError(f"the text ends and {len(builder.path)} '[' are still open", lines.place(len(text)))
    if label:
        raise TreeError(f"nothing follows the label '{shortened(label)}'", lines.place(len(text)))
    if not builder.is_complete:
        raise TreeError("there is no tree", (1, 1))
    return builder.build(root_is_max=root_is_max)


def _read_indented(text: str) -> Tree:
    builder = TreeBuilder()
    root_is_max = True
    #: The indentation of each open node, and of its children (None until the first child).
    margins: list[int] = []
    inner: list[int | None] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        start = len(line) - len(line.lstrip())
        margin, place = len(line[:start].expandtabs(8)), (number, start + 1)
        while margins and margin <= margins[-1]:
            margins.pop()
            inner.pop()
            builder.close()
        if inner and inner[-1] not in (None, margin):
            raise TreeError("this line is not indented like the other children of its parent", place)
        if inner:
            inner[-1] = margin
        label, kind, where = _node_of_line(line, start, number)
        if kind in _MOVERS:
            is_max = (len(builder.path) % 2 == 0) == root_is_max
            if not builder.path and not builder.is_complete:
                root_is_max = _MOVERS[kind]
            elif _MOVERS[kind] != is_max:
                raise TreeError(f"{'MAX' if is_max else 'MIN'} is to move here, not {kind}", where)
            builder.open(label, place)
            margins.append(margin)
            inner.append(None)
        else:
            builder.add_leaf(_unquoted(kind, where), label, where)
    while builder.path:
        builder.close()
    return builder.build(root_is_max=root_is_max)


def _node_of_line(line: str, start: int, number: int) -> tuple[str, str, Place]:
    """Label, kind or value, and the place of the latter; the rest of the line is checked and dropped."""
    words: list[tuple[str, int]] = []
    index = start
    while index < len(line):
        if line[index].isspace() or line[index] == ",":
            index += 1
            continue
        end = _word_end(line, index)
        if end <= index:
            problem = _UNCLOSED if end < 0 else f"'{line[index]}' is out of place"
            raise TreeError(problem, (number, index + 1))
        words.append((line[index:end], index))
        index = end
    if not words:
        raise TreeError("a line with nothing but commas is no node", (number, start + 1))
    label = ""
    if words[0][0].endswith(":") and len(words[0][0]) > 1:
        label = _unquoted(words[0][0][:-1], (number, start + 1))
        del words[0]
        if not words:
            raise TreeError(f"nothing follows the label '{shortened(label)}'", (number, len(line) + 1))
    kind, where = words[0]
    for word, at in words[1:]:
        if not re.fullmatch(r"\w+=\S.*|\(.*\)", word):
            raise TreeError(f"'{shortened(word)}' is no remark like a=3 or (cut)", (number, at + 1))
    return label, kind, (number, where + 1)


def _read_json(text: str) -> Tree:
    document = read_json(text)
    root_is_max = True
    if isinstance(document.value, dict) and "tree" in document.value:
        fields = document.value
        for name, item in fields.items():
            if name not in ("format", "version", "mover", "tree", "lattice"):
                raise TreeError(f"a tree has no field '{shortened(name)}'", item.place)
        _expect(fields.get("format"), _JSON_FORMAT)
        _expect(fields.get("version"), 1)
        mover = fields.get("mover")
        if mover is not None:
            if mover.value not in ("max", "min"):
                raise TreeError('"mover" is "max" or "min"', mover.place)
            root_is_max = mover.value == "max"
        document = fields["tree"]
    builder = TreeBuilder()
    #: The items that remain to be added, last first; None closes a node.
    pending: list[Item | None] = [document]
    while pending:
        following = pending.pop()
        if following is None:
            builder.close()
            continue
        label, content = _json_node(following)
        if isinstance(content.value, list):
            builder.open(label, following.place)
            pending.append(None)
            pending += reversed(content.value)
        else:
            builder.add_leaf(str(content.value), label, content.place)
    return builder.build(root_is_max=root_is_max)


def _expect(item: Item | None, value: object) -> None:
    if item is not None and item.value != value:
        raise TreeError(f"this should be {json.dumps(value)}", item.place)


def _json_node(item: Item) -> tuple[str, Item]:
    """A node's label, and the item that holds its children or its value."""
    label, content = "", item
    if isinstance(item.value, dict):
        for name, part in item.value.items():
            if name == "label" and isinstance(part.value, str):
                label = part.value
            elif name not in ("label", "value", "children"):
                raise TreeError(f"a node has no field '{shortened(name)}'", part.place)
            elif name == "label":
                raise TreeError("a label is a string", part.place)
        parts = [item.value[name] for name in ("value", "children") if name in item.value]
        if len(parts) != 1:
            raise TreeError('a node has either "value" or "children"', item.place)
        content = parts[0]
        if isinstance(content.value, list) != ("children" in item.value):
            raise TreeError('"children" is a list, "value" a number or a string', content.place)
    if not isinstance(content.value, list | str | int) or isinstance(content.value, bool):
        raise TreeError("a node is a list of nodes, a whole number or a string", content.place)
    return label, content
