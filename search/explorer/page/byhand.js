// Children in an order of one's own.

import {showChoices} from "./choices.js";
import {$} from "./dom.js";
import {initialise} from "./searching.js";
import {first, isChess, position, state} from "./state.js";
import {seek} from "./stepping.js";

/** Whether nodes can be dragged. */
export const mayMove = () => $("order").value === "hand" && !isChess() && state.request !== null;

/** Puts a node at another place among its siblings, and has the search done anew. */
export async function move(node, index) {
  const {trace} = state.trees.a;
  if (isChess() || !trace || state.request === null || node <= 0) return;
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

/** Moves the selected node by so many places. */
export function moveBy(step) {
  const panel = first();
  if (isChess() || !panel || panel.selected <= 0) return;
  const siblings = panel.trace.children[panel.trace.parent[panel.selected]];
  move(panel.selected, siblings.indexOf(panel.selected) + step);
}

/** Children in the order that is chosen; by hand they stay as they are until one is moved. */
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
