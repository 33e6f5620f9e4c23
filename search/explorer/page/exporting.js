// A trace as text: indented and DOT. The Python twins, which read the former again, are in `search.explorer.exports`.

import {DONE, OPEN, UNSEEN} from "./trace.js";

const OPENING = {"(": ")", "{": "}"};

/** Whether the text is one word of the tree formats, so that it needs no quotes (`search.theory.tree_text`). */
function isWord(text, alsoForbidden) {
  if (text === "" || text === "MAX" || text === "MIN" || text.endsWith(":")) return false;
  if ([...text].some((sign) => alsoForbidden.includes(sign)) || text.startsWith('"')) return false;
  const closing = [];
  for (const sign of text) {
    if (sign in OPENING) closing.push(OPENING[sign]);
    else if (closing.length && sign === closing.at(-1)) closing.pop();
    else if (!closing.length && (/\s/u.test(sign) || ',[])}":'.includes(sign))) return false;
    else if (sign === "\n") return false;
  }
  return closing.length === 0;
}

const word = (text, alsoForbidden = "") => (isWord(text, alsoForbidden) ? text : JSON.stringify(text));

/** What stands behind a node: its window and value as far as the search has come, or that it was not looked at. */
function remark(trace, replay, node) {
  const status = replay.status(node);
  if (replay.skipped(node)) return "(pruned)";
  if (status === UNSEEN) return "(not reached)";
  const parts = [];
  if (replay.alpha(node)) parts.push(`a=${replay.alpha(node)}`, `b=${replay.beta(node)}`);
  if (replay.value(node) && trace.leaf[node] === null) parts.push(`v=${replay.value(node)}`);
  if (status === OPEN) parts.push("(open)");
  return parts.join(" ");
}

/** One line a node, children below their parent: `MAX d=2 a=3 b=+∞ v=5`. It can be read as a tree again. */
export function indented(trace, replay) {
  const lines = [];
  for (let node = 0; node < trace.nodes; node++) {
    const label = trace.label[node] ? `${word(trace.label[node], ":")}: ` : "";
    const kind = trace.leaf[node] !== null ? word(trace.leaf[node])
      : `${trace.isMax(node) ? "MAX" : "MIN"} d=${trace.height - trace.depth[node]}`;
    const behind = remark(trace, replay, node);
    lines.push("  ".repeat(trace.depth[node]) + label + kind + (behind ? ` ${behind}` : ""));
  }
  return lines.join("\n") + "\n";
}

/** The tree for Graphviz: dashed is what was cut off. */
export function dot(trace, replay) {
  const lines = ["digraph tree {", "  node [fontname=sans];", "  edge [arrowhead=none];"];
  for (let node = 0; node < trace.nodes; node++) {
    const reached = replay.status(node) === DONE || replay.status(node) === OPEN;
    const value = reached && trace.leaf[node] === null ? replay.value(node) : "";
    const text = [trace.label[node], trace.leaf[node], value].filter(Boolean).join("\n");
    const shape = trace.leaf[node] !== null ? "box" : trace.isMax(node) ? "triangle" : "invtriangle";
    const skipped = replay.skipped(node);
    lines.push(`  n${node} [shape=${shape}, label=${JSON.stringify(text)}${skipped ? ", style=dashed" : ""}];`);
    if (node) lines.push(`  n${trace.parent[node]} -> n${node}${skipped ? " [style=dashed]" : ""};`);
  }
  return [...lines, "}"].join("\n") + "\n";
}

/** Lets the user keep a text or a blob as a file. */
export function download(name, type, content) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], {type}));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
