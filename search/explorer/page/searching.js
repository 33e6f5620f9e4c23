// The controls that describe a search, and the searches that they request.

import {forgetChanges, setEditing} from "./edit.js";
import {fillCollapseDepth} from "./node.js";
import {stopQuiz} from "./quiz.js";
import {showRecording} from "./recording.js";
import {abandon, busily, isStopping, say, search} from "./server.js";
import {$, algorithmOf, isChess, number, PLAIN, state} from "./shared.js";
import {countChart, showStatistics} from "./statistics.js";
import {pause, seek} from "./stepping.js";
import {kindOf} from "./trace.js";

/** Begins a choice of `compare` that is not another algorithm, but another order of children. */
export const ORDER = "order:";
const TABS = ["example", "text", "uniform", "chess"];

export function openTab(name) {
  for (const tab of TABS) {
    $(`tab-${tab}`).setAttribute("aria-selected", String(tab === name));
    $(`panel-${tab}`).hidden = tab !== name;
  }
  $("initialise").hidden = name === "chess" || name === "uniform";
}

/** Says whether the text was changed after it was searched. */
function showUnapplied() {
  $("unapplied").hidden = isChess() || !state.request || $("tree-text").value === state.request.text;
}

/** Returns whether the text is that of the tree shown. If not, says that it must be searched first. */
export function isApplied() {
  const isSame = !state.request || $("tree-text").value === state.request.text;
  if (!isSame) say("The text was changed: press Initialise first, because this change belongs to the tree that is shown.");
  return isSame;
}

/** The user has changed the text: it is another tree, and what was wrong may be right now. */
export function retype() {
  state.hand = {};
  state.title = "";
  showExample("");
  say("");
  showUnapplied();
}

/** Shows which example the text is; "" means none. */
function showExample(key) {
  $("example").value = key;
  $("example-note").textContent = state.examples.find((example) => example.key === key)?.note ?? "";
}

/** Shows the controls and notes of the chosen algorithm, lattice and order, and hides the others. */
export function showChoices() {
  const algorithm = algorithmOf($("algorithm").value);
  $("algorithm-note").textContent = algorithm?.note ?? "";
  $("lattice-note").textContent = state.lattices.find((lattice) => lattice.key === $("lattice").value)?.note ?? "";
  $("lattice-row").hidden = $("lattice-note").hidden = !algorithm?.lattice && $("lattice").value === "chain";
  $("unsound").hidden = !algorithm?.can_fail;
  $("order-seed-label").hidden = $("order").value !== "random" && $("compare").value !== `${ORDER}random`;
  $("order-note").hidden = $("order").value !== "learned" && $("compare").value !== `${ORDER}learned`;
}

/** Returns the request for the server that the controls describe. */
export function request(algorithm = $("algorithm").value) {
  return {
    text: $("tree-text").value,
    format: $("format").value || null,
    algorithm,
    lattice: latticeInUse(algorithm),
    order: {...state.base, hand: state.hand},
    title: state.title,
    ...($("force").checked && algorithmOf(algorithm)?.can_fail ? {force: true} : {}),
  };
}

/** Returns the request for a search like `one`, but with the algorithm or the order that `rival` names. */
const rivalOf = (one, rival) => rival.startsWith(ORDER) ? {...one, order: {...one.order, kind: rival.slice(ORDER.length), hand: {}}}
  : {...one, algorithm: rival, lattice: latticeInUse(rival)};

function latticeInUse(algorithm) {
  const isPlain = !algorithmOf(algorithm)?.lattice && $("lattice").value === "chain";
  return isPlain ? null : {kind: $("lattice").value, spec: $("lattice-spec").value};
}

/** Sets the controls to match a request. */
export function setRequest(made) {
  $("tree-text").value = made.text;
  $("format").value = made.format ?? "";
  showExample("");
  $("algorithm").value = made.algorithm;
  setLattice(made.lattice);
  $("compare").value = made.compare ?? "";
  $("force").checked = made.force === true;
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

/** Puts the text and title of another tree into the controls. Discards an order made by hand or for trees of games. */
export function setTree(text, title, example = "") {
  $("tree-text").value = text;
  showExample(example);
  $("format").value = "";
  state.title = title;
  state.hand = {};
  const isGame = /^"?(tic-tac-toe|connect-four)\b/.test(text);
  if (state.base.kind === "learned" && !isGame) state.base = {...state.base, kind: "given"};
  if ($("order").value === "hand" || !isGame) $("order").value = state.base.kind;
  if ($("compare").value === `${ORDER}learned` && !isGame) $("compare").value = "";
}

/** Chooses the order in which the tree is written. */
export function setGivenOrder() {
  state.base = {...state.base, kind: "given"};
  state.hand = {};
  $("order").value = "given";
}

/** Returns the request for a chess search that the controls describe. */
const chessRequest = () => ({position: $("chess-position").value, after: $("chess-after").value.trim() || null,
  depth: Number($("chess-depth").value), nodes: Number($("chess-nodes").value)});

export function setChessRequest(made) {
  $("chess-position").value = made.position ?? "";
  $("chess-after").value = made.after ?? "";
  $("chess-depth").value = made.depth;
  $("chess-nodes").value = made.nodes;
}

/** Returns the positions of `positions.epd` as rows of {key: FEN, name}, with the best moves in the name. */
export async function knownPositions() {
  const text = await (await fetch("positions.epd")).text();
  const rows = text.matchAll(/^(\S+ \S+ \S+ \S+) bm ([^;]+); id "([^"]+)";$/gm);
  return [...rows].map(([, fen, best, name]) => ({key: `${fen} 0 1`, name: `${name}: ${best}`}));
}

export function choosePosition(fen) {
  $("chess-position").value = fen;
  $("chess-after").value = "";
}

/** Puts the cursor at an error in the tree's text, unless another control has the focus. */
function markPlace(line, column) {
  if (![document.body, $("tree-text"), $("initialise")].includes(document.activeElement)) return;
  openTab("text");
  const area = $("tree-text");
  const lines = area.value.split("\n").slice(0, line - 1);
  const index = lines.reduce((sum, text) => sum + text.length + 1, 0) + Math.max(0, (column || 1) - 1);
  area.focus({preventScroll: true});
  area.setSelectionRange(index, Math.min(index + 1, area.value.length));
}

/** Requests the search that the controls describe, and shows it from its beginning. */
export async function initialise() {
  begin();
  const one = request(), focus = document.activeElement;
  // If the user has changed the focus or the text meanwhile, the cursor stays where it is.
  const mark = (line, column) => {
    if (document.activeElement === focus && $("tree-text").value === one.text) markPlace(line, column);
  };
  return busily(async () => {
    const rival = $("compare").value;
    let documents;
    try {
      documents = await Promise.all([search("trace", one), ...(rival ? [search("trace", rival.startsWith(ORDER) ? rivalOf(one, rival) : request(rival))] : [])]);
    } catch (error) {
      error.isText = true;
      throw error;
    }
    show(documents, {...one, compare: rival});
    if (documents.some(({request: {force}}) => force)) say("Warning: a rule that needs a distributive lattice may return a wrong value in this one.");
  }, mark);
}

/** Pauses the player and abandons all searches, so that another search can begin. */
export function begin() {
  pause();
  abandon();
}

/** Shows one or two tree documents, or one chess document. `made` is the request that they answer, null if unknown. */
export function show(documents, made) {
  stopQuiz();
  // A value that was refused belongs to the former tree.
  document.querySelector(".node-input")?.remove();
  // The words for newcomers speak of numbers.
  if (documents[0].lattice) $("welcome").hidden = true;
  if (kindOf(documents[0]) === "chess") {
    state.chess.load(documents[0]);
    state.panels = [state.chess];
  } else {
    // `load` checks the documents before the rest of the page changes.
    documents.forEach((document, i) => state.trees["ab"[i]].load(document, documents.length > 1 ? ["A: ", "B: "][i] : ""));
    state.panels = documents.map((_, i) => state.trees["ab"[i]]);
  }
  if (state.request && made?.text !== state.request.text) forgetChanges(made?.text);
  state.request = made;
  if (isChess()) setEditing(false);
  $("recorded").value = made?.recording ?? "";
  document.body.classList.toggle("is-chess", isChess());
  showUnapplied();
  $("figure-b").hidden = state.panels.length < 2;
  $("explanation-b").hidden = state.panels.length < 2;
  $("title").textContent = documents[0].title || (isChess() ? documents[0].position ?? documents[0].fen : "");
  $("position").max = Math.max(...state.panels.map((panel) => panel.length));
  fillCollapseDepth();
  if (isChess()) {
    openTab("chess");
    if (!made) setChessRequest({...chessRequest(), position: state.chess.recording.position, after: null});
    showRecording(state.chess, chooseIteration);
  } else {
    if (!$("panel-chess").hidden) openTab("example");
    countChart($("chart"), state.panels);
  }
  seek(0);
  // On a phone, the user chooses a tree below the drawing.
  if ($("trees").getBoundingClientRect().top < 0) document.querySelector("main").scrollIntoView();
}

export async function chooseExample(key) {
  const chosen = state.examples.find((example) => example.key === key);
  if (!chosen) return;
  begin();
  await busily(async () => {
    const example = await search("example", {key});
    setTree(example.text, example.title, key);
    setLattice(example.lattice);
    const isLattice = algorithmOf($("algorithm").value)?.lattice;
    if (example.algorithm) $("algorithm").value = example.algorithm;
    else if (isLattice) $("algorithm").value = PLAIN;
    if (example.lattice || isLattice) $("compare").value = "";
    if (example.order) {
      state.base = {...state.base, kind: $("order").value = example.order};
      $("compare").value = ORDER + example.rival;
    }
    showChoices();
    await initialise();
  });
}

/** Measures time and memory of the searches that are shown. */
export async function measure() {
  if (isChess() || !state.request) return;
  await busily(async () => {
    for (const panel of state.panels) panel.measured = await search("measure", panel.trace.document.request);
    showStatistics(state.panels);
  });
}

/** Shows the smallest tree that the chosen rule gets wrong in the chosen lattice, beside the search of every node. */
export async function watchFail() {
  begin();
  await busily(async () => {
    const algorithm = $("algorithm").value;
    const found = await search("counterexample", {algorithm, lattice: latticeInUse(algorithm)});
    setTree(found.text, `${algorithmOf(algorithm).name} is wrong here: ${found.value} instead of ${found.true}`);
    $("force").checked = true;
    $("compare").value = "lattice-naive";
    setGivenOrder();
    showChoices();
    await initialise();
    if (state.request?.text === found.text) say(`Warning: this rule is not sound in this lattice. Here it returns ${found.value} (left), but the tree is worth ${found.true} (right).`);
  });
}

export async function generate() {
  begin();
  await busily(async () => {
    const settings = {branching: Number($("branching").value), depth: Number($("plies").value),
      arrangement: $("arrangement").value, seed: Number($("seed").value)};
    const made = await search("generate", settings);
    setTree(made.text, made.title);
    if (algorithmOf($("algorithm").value)?.lattice) $("algorithm").value = PLAIN;
    setLattice(null);
    showChoices();
    await initialise();
  });
}

export async function searchChess() {
  begin();
  await busily(async () => {
    const made = chessRequest();
    const document = await search("chess", made);
    show([document], {chess: made});
    if (made.position && made.position === $("known").value) $("title").textContent = $("known").selectedOptions[0].text;
    if (isStopping()) say(`Stopped. The page shows the search so far: ${number(state.chess.recording.count)} visits.`);
  });
}

/** Shows iteration number `i` of the recording, from 0. */
export function chooseIteration(i) {
  pause();
  state.chess.choose(i);
  $("position").max = state.chess.length;
  [...$("iterations").children].forEach((button, at) => button.setAttribute("aria-pressed", String(at === i)));
  fillCollapseDepth();
  seek(0);
}
