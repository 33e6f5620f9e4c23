// A trace as text: indented and DOT. The Python twin of the former, for finished searches, is `search.theory.run_text`.

import {OPEN} from "./trace.js";

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

/** Whether a node was cut off and never visited, as far as the search has come. */
const pruned = (trace, replay, node) =>
  replay.entered(node) < 0 && (replay.skipped(node) || replay.index === trace.length);

/** What stands behind a node: its window and value as far as the search has come, or that it was not looked at. */
function remark(trace, replay, node) {
  const entered = replay.entered(node), {events} = trace;
  if (entered < 0) return pruned(trace, replay, node) ? "(pruned)" : "(not reached)";
  const parts = [];
  if (events.alpha[entered] >= 0) parts.push(`a=${trace.text(events.alpha[entered])}`, `b=${trace.text(events.beta[entered])}`);
  if (replay.value(node)) parts.push(`v=${replay.value(node)}`);
  const cut = replay.own(node);
  if (cut >= 0 && trace.kind(cut) === "cut") {
    const reason = trace.reasons[events.reason[cut]].key;
    parts.push(`(cut after ${replay.returned(node)} of ${trace.children[node].length}: ${reason})`);
  }
  if (replay.status(node) === OPEN) parts.push("(open)");
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
    const dashed = pruned(trace, replay, node);
    const value = trace.leaf[node] === null && replay.value(node) ? `v=${replay.value(node)}` : dashed ? "(pruned)" : "";
    const text = [trace.label[node], trace.leaf[node], value].filter(Boolean).join("\n");
    const shape = trace.leaf[node] !== null ? "box" : trace.isMax(node) ? "triangle" : "invtriangle";
    lines.push(`  n${node} [shape=${shape}, label=${JSON.stringify(text)}${dashed ? ", style=dashed" : ""}];`);
    if (node) lines.push(`  n${trace.parent[node]} -> n${node}${dashed ? " [style=dashed]" : ""};`);
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
