// The selected node: its facts, its neighbours, whether it is collapsed, and its place among its siblings.

import {showBoard, showNodeCosts} from "./recording.js";
import {initialise, isApplied, showChoices} from "./searching.js";
import {$, first, isChess, make, position, state, tableRow} from "./shared.js";
import {seek} from "./stepping.js";

// The most plies that the user can choose to show.
const MOST_PLIES = 60;
// The most rows of the table of windows.
const MOST_WINDOWS = 12;

export function showNode() {
  const panel = first();
  if (!panel) return;
  const facts = panel.facts(panel.selected, Boolean(panel.trace?.document.lattice));
  $("node-title").textContent = panel.pinned >= 0 ? "Pinned node" : "Current node";
  $("unpin").hidden = panel.pinned < 0;
  $("node").replaceChildren(...facts.flatMap(([name, text]) => [make("dt", name), make("dd", text)]));
  showWindows(panel);
  const node = panel.selected, parent = panel.view.model.parent(node);
  const siblings = parent >= 0 ? panel.view.model.children(parent) : [];
  const reorders = !isChess() && state.request !== null;
  $("collapse").disabled = panel.view.model.children(node).length === 0;
  $("collapse").textContent = panel.view.collapsed.has(node) ? "Expand" : "Collapse";
  $("earlier").disabled = !reorders || siblings.indexOf(node) <= 0;
  $("later").disabled = !reorders || siblings.indexOf(node) < 0 || siblings.indexOf(node) === siblings.length - 1;
  for (const button of document.querySelectorAll("[data-edit]")) button.disabled = isChess() || state.request === null;
  $("edit").disabled = isChess() || state.request === null;
  if (isChess()) return showNodeCosts(panel);
  const isLeaf = panel.trace.leaf[node] !== null;
  document.querySelector("[data-edit=set]").disabled ||= !isLeaf;
  document.querySelector("[data-edit=remove]").disabled ||= node === 0;
}

/** Shows the windows along the path to the selected node. The middle of a long path is left out. */
function showWindows(panel) {
  const rows = panel.windows(panel.selected);
  const shown = rows.length > MOST_WINDOWS ? [...rows.slice(0, 2), null, ...rows.slice(3 - MOST_WINDOWS)] : rows;
  $("windows").tHead.replaceChildren(tableRow(["path", "alpha", "beta", "so far"], "th"));
  $("windows").tBodies[0].replaceChildren(...shown.map((row) => {
    if (row === null) return tableRow(["…", "", "", ""]);
    const line = tableRow(["", ...row.bounds]);
    line.cells[0].append(make("button", row.name, {type: "button", className: "link", onclick: () => selectNode(panel, row.node)}));
    line.classList.toggle("chosen", row.node === panel.selected);
    return line;
  }));
}

/** Pins a node; -1 unpins. */
export function selectNode(panel, node) {
  if (!panel) return;
  for (const one of state.panels) if (one === panel || !isChess()) one.select(Math.min(node, one.view.model.count - 1));
  if (isChess()) showBoard(panel, panel.selected);
  showNode();
}

/** Selects the parent ("up"), the first child ("down"), or the sibling on the "left" or "right" of the selected node. */
export function walk(direction) {
  const panel = first();
  if (!panel) return;
  const {model} = panel.view, node = panel.selected, parent = model.parent(node);
  let next = node;
  if (direction === "up") next = parent;
  else if (direction === "down") next = model.children(node)[0] ?? node;
  else if (parent >= 0) {
    const siblings = model.children(parent);
    next = siblings[siblings.indexOf(node) + (direction === "right" ? 1 : -1)] ?? node;
  }
  if (next < 0 || next === node) return;
  selectNode(panel, next);
  panel.view.reveal(next);
}

export function toggleSelected() {
  const panel = first();
  panel?.view.toggle(panel.selected);
  showNode();
}

export function fillCollapseDepth() {
  const {model, collapsed} = first().view, [one] = collapsed, only = one === undefined ? 0 : model.depth(one);
  // If the nodes that are collapsed are not just those at one depth, choosing "all" still expands them.
  let levels = 1, isWhole = true;
  for (let node = 0; node < model.count; node++) {
    const depth = model.depth(node);
    levels = Math.max(levels, depth + 1);
    if (collapsed.has(node) !== (depth === only && model.children(node).length > 0)) isWhole = false;
  }
  const options = ["all", ...Array.from({length: Math.min(levels, MOST_PLIES)}, (_, i) => String(i + 1))];
  const chosen = collapsed.size === 0 ? "all" : isWhole && only <= MOST_PLIES ? String(only) : "";
  $("collapse-depth").replaceChildren(...(chosen ? [] : [new Option("…", "")]), ...options.map((text) => new Option(text, text)));
  $("collapse-depth").value = chosen;
}

export function collapseBelow() {
  const depth = $("collapse-depth").value;
  if (!depth) return;
  state.panels.forEach((panel) => panel.view.collapseBelow(depth === "all" ? -1 : Number(depth)));
  showNode();
}

/** Returns whether nodes can be dragged. */
export const mayMove = () => $("order").value === "hand" && !isChess() && state.request !== null;

/** Moves a node to place number `index` (from 0) among its siblings, and searches again. */
export async function move(node, index) {
  const {trace} = state.trees.a;
  if (isChess() || !trace || state.request === null || node <= 0 || !isApplied()) return;
  const parent = trace.parent[node];
  const others = trace.children[parent].filter((child) => child !== node);
  const place = Math.max(0, Math.min(index, others.length));
  const children = [...others.slice(0, place), node, ...others.slice(place)];
  if (children.every((child, i) => child === trace.children[parent][i])) return;
  state.hand = {...state.hand, [parent]: children};
  $("order").value = "hand";
  showChoices();
  const now = position();
  await initialise();
  state.trees.a.selected = node;
  seek(Math.min(now, first().length));
}

/** Moves the selected node by `step` places among its siblings, and searches again. */
export function moveBy(step) {
  const panel = first();
  if (isChess() || !panel || panel.selected <= 0) return;
  const siblings = panel.trace.children[panel.trace.parent[panel.selected]];
  move(panel.selected, siblings.indexOf(panel.selected) + step);
}

/** Searches with the chosen order of children. "By hand" changes nothing until the user moves a node. */
export function chooseOrder() {
  showChoices();
  if ($("order").value === "hand") return;
  state.hand = {};
  state.base = {kind: $("order").value, seed: Number($("order-seed").value)};
  initialise();
}

export function chooseSeed() {
  state.base = {...state.base, seed: Number($("order-seed").value)};
  initialise();
}
