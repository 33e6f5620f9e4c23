// The controls that say what is searched, and how: what they are set to, and which of them are shown.

import {$} from "./dom.js";
import {algorithmOf, state} from "./state.js";

const TABS = ["example", "text", "uniform", "chess"];

export function openTab(name) {
  for (const tab of TABS) {
    $(`tab-${tab}`).setAttribute("aria-selected", String(tab === name));
    $(`panel-${tab}`).hidden = tab !== name;
  }
  $("initialise").hidden = name === "chess";
}

export function connectTabs() {
  for (const tab of TABS) $(`tab-${tab}`).addEventListener("click", () => openTab(tab));
}

/** Shows what belongs to the chosen algorithm, lattice and order, and hides what does not. */
export function showChoices() {
  const algorithm = algorithmOf($("algorithm").value);
  $("algorithm-note").textContent = algorithm?.note ?? "";
  $("lattice-note").textContent = state.lattices.find((lattice) => lattice.key === $("lattice").value)?.note ?? "";
  $("lattice-row").hidden = $("lattice-note").hidden = !algorithm?.lattice && $("lattice").value === "chain";
  $("order-seed-label").hidden = $("order").value !== "random";
}

/** What the controls ask for, as a request of the server. */
export function request(algorithm = $("algorithm").value) {
  return {
    text: $("tree-text").value,
    format: $("format").value || null,
    algorithm,
    lattice: latticeInUse(algorithm),
    order: {...state.base, hand: state.hand},
    title: state.title,
  };
}

function latticeInUse(algorithm) {
  const isPlain = !algorithmOf(algorithm)?.lattice && $("lattice").value === "chain";
  return isPlain ? null : {kind: $("lattice").value, spec: $("lattice-spec").value};
}

/** Sets the controls to a request; the inverse. */
export function setRequest(made) {
  $("tree-text").value = made.text;
  $("format").value = made.format ?? "";
  $("algorithm").value = made.algorithm;
  setLattice(made.lattice);
  $("compare").value = made.compare ?? "";
  state.title = made.title ?? "";
  state.base = {kind: made.order?.kind ?? "given", seed: made.order?.seed ?? 1};
  state.hand = made.order?.hand ?? {};
  $("order-seed").value = state.base.seed;
  $("order").value = Object.keys(state.hand).length ? "hand" : state.base.kind;
  showChoices();
}

export function setLattice(lattice) {
  $("lattice").value = lattice?.kind ?? "chain";
  $("lattice-spec").value = lattice?.spec ?? "";
}

/** Another tree: what was ordered by hand is forgotten. */
export function setTree(text, title) {
  $("tree-text").value = text;
  $("format").value = "";
  state.title = title;
  state.hand = {};
  if ($("order").value === "hand") $("order").value = state.base.kind;
}

/** What the controls ask Secateur to search. */
export const chessRequest = () => ({position: $("chess-position").value, after: $("chess-after").value.trim() || null,
  depth: Number($("chess-depth").value), nodes: Number($("chess-nodes").value)});

export function setChessRequest(made) {
  $("chess-position").value = made.position ?? "";
  $("chess-after").value = made.after ?? "";
  $("chess-depth").value = made.depth;
  $("chess-nodes").value = made.nodes;
}

/** Puts the cursor where the text is wrong, unless somebody is typing elsewhere by now. */
export function markPlace(line, column) {
  if (![document.body, $("tree-text"), $("initialise")].includes(document.activeElement)) return;
  openTab("text");
  const area = $("tree-text");
  const lines = area.value.split("\n").slice(0, line - 1);
  const index = lines.reduce((sum, text) => sum + text.length + 1, 0) + Math.max(0, (column || 1) - 1);
  area.focus({preventScroll: true});
  area.setSelectionRange(index, Math.min(index + 1, area.value.length));
}
