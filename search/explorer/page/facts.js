// The selected node: what is known of it, walking to another one, collapsing.

import {showNodeCosts} from "./costs.js";
import {$} from "./dom.js";
import {showBoard} from "./recording.js";
import {first, isChess, state} from "./state.js";

// Plies that the choice of plies to show goes up to.
const MOST_PLIES = 60;

export function showNode() {
  const panel = first();
  if (!panel) return;
  const facts = panel.facts(panel.selected, Boolean(panel.trace?.document.lattice));
  $("node").replaceChildren(...facts.flatMap(([name, text]) => {
    const dt = document.createElement("dt"), dd = document.createElement("dd");
    dt.textContent = name;
    dd.textContent = text;
    return [dt, dd];
  }));
  const node = panel.selected, parent = panel.view.model.parent(node);
  const siblings = parent >= 0 ? panel.view.model.children(parent) : [];
  const reorders = !isChess() && state.request !== null;
  $("collapse").disabled = panel.view.model.children(node).length === 0;
  $("collapse").textContent = panel.view.collapsed.has(node) ? "Expand" : "Collapse";
  $("earlier").disabled = !reorders || siblings.indexOf(node) <= 0;
  $("later").disabled = !reorders || siblings.indexOf(node) < 0 || siblings.indexOf(node) === siblings.length - 1;
  if (isChess()) showNodeCosts(panel);
}

export function selectNode(panel, node) {
  if (!panel) return;
  for (const one of state.panels) if (one === panel || !isChess()) one.select(Math.min(node, one.view.model.count - 1));
  if (isChess()) showBoard(panel, node);
  showNode();
}

/** Selects a neighbour of the selected node: "up", "down", "left" or "right". */
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
  const levels = first().view.layout.levels;
  const options = ["all", ...Array.from({length: Math.min(levels, MOST_PLIES)}, (_, i) => String(i + 1))];
  $("collapse-depth").replaceChildren(...options.map((text) => new Option(text, text)));
}

export function collapseBelow() {
  const depth = $("collapse-depth").value;
  state.panels.forEach((panel) => panel.view.collapseBelow(depth === "all" ? -1 : Number(depth)));
  showNode();
}
