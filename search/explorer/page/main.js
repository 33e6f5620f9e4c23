// The page: what its controls do, and what it shows beside the tree.

import * as api from "./api.js";
import {ChessPanel} from "./chess.js";
import {countChart} from "./charts.js";
import {$, fill, number, tableRow} from "./dom.js";
import {dot, download, indented} from "./exporting.js";
import {fillLegend, KEYS} from "./legend.js";
import {Panel} from "./panel.js";
import {Player} from "./player.js";
import {judge, verdict} from "./quiz.js";
import {showBoard, showRecording} from "./recording.js";
import {pack, unpack} from "./share.js";
import {showStatistics} from "./statistics.js";
import {kindOf} from "./trace.js";

const MOST_PATH = 60;

/** What is shown. `panels` are those that step together; `request` is what made the tree, null for imported ones. */
const state = {panels: [], request: null, second: false, base: {kind: "given", seed: 1}, hand: {}, follow: true, quiz: null, turn: 0, problem: null,
  busy: 0, examples: [], algorithms: [], lattices: []};

const handlers = (letter) => ({
  select: (node) => selectNode(panelOf(letter), node),
  toggled: () => showNode(),
  moved: (node, index) => move(node, index),
  isMarking: () => state.quiz !== null && !state.quiz.checked,
  mayMove: () => $("order").value === "hand" && !isChess() && state.request !== null,
});
const treePanels = {a: new Panel("a", handlers("a")), b: new Panel("b", handlers("b"))};
const chessPanel = new ChessPanel(treePanels.a.canvas, treePanels.a.caption, {}, treePanels.a.view);
const player = new Player((events) => advance(events), (playing) => {
  $("play").querySelector("path").setAttribute("d", playing ? "M5 3v14M14 3v14" : "M5 3l12 7-12 7z");
  $("play").setAttribute("aria-label", playing ? "Pause" : "Run");
});

const isChess = () => state.panels[0] === chessPanel;
const panelOf = (letter) => (letter === "a" ? state.panels[0] : state.panels[1]) ?? state.panels[0];
const first = () => state.panels[0];

// ------------------------------------------------------------------------------------------------------------
// Messages
// ------------------------------------------------------------------------------------------------------------

function say(text) {
  $("message").hidden = !text;
  $("message").textContent = text;
}

function complain(error) {
  console.warn(error);
  const place = error.line ? `line ${error.line}${error.column ? `, column ${error.column}` : ""}: ` : "";
  say(error.message.startsWith("line ") ? error.message : place + error.message);
  // Who is typing elsewhere by now keeps the cursor.
  const free = [document.body, $("tree-text"), $("initialise")].includes(document.activeElement);
  if (error.line && error.isText && free) markPlace(error.line, error.column);
}

/** Puts the cursor where the text is wrong. */
function markPlace(line, column) {
  openTab("text");
  const area = $("tree-text");
  const lines = area.value.split("\n").slice(0, line - 1);
  const index = lines.reduce((sum, text) => sum + text.length + 1, 0) + Math.max(0, (column || 1) - 1);
  area.focus({preventScroll: true});
  area.setSelectionRange(index, Math.min(index + 1, area.value.length));
}

async function busily(work) {
  state.busy++;
  document.body.setAttribute("aria-busy", "true");
  try {
    say("");
    return await work();
  } catch (error) {
    complain(error);
    return undefined;
  } finally {
    if (--state.busy === 0) document.body.removeAttribute("aria-busy");
  }
}

// ------------------------------------------------------------------------------------------------------------
// Making a search
// ------------------------------------------------------------------------------------------------------------

function request(algorithm = $("algorithm").value) {
  const lattice = latticeInUse(algorithm);
  return {
    text: $("tree-text").value,
    format: $("format").value || null,
    algorithm,
    lattice,
    order: {...state.base, hand: state.hand},
    title: state.title ?? "",
  };
}

const algorithmOf = (key) => state.algorithms.find((algorithm) => algorithm.key === key);

function latticeInUse(algorithm) {
  if (!algorithmOf(algorithm)?.lattice) return $("lattice").value === "chain" ? null : {kind: $("lattice").value, spec: $("lattice-spec").value};
  return {kind: $("lattice").value, spec: $("lattice-spec").value};
}

/** Reads the controls, has the search done and shows it from its beginning. */
async function initialise() {
  player.stop();
  const turn = ++state.turn;
  return busily(async () => {
    const one = request();
    const rival = $("compare").value;
    let documents;
    try {
      documents = await Promise.all([api.trace(one), ...(rival ? [api.trace(request(rival))] : [])]);
    } catch (error) {
      if (turn !== state.turn) return;
      error.isText = true;
      throw error;
    }
    // What was asked for since then is what is wanted now.
    if (turn !== state.turn) return;
    show(documents, {...one, compare: rival});
    await showOrders(one, turn);
  });
}

/** Shows one or two documents of trees, or one of chess. */
function show(documents, made) {
  state.turn += made && !made.chess ? 0 : 1;
  stopQuiz();
  if (kindOf(documents[0]) === "chess") {
    chessPanel.load(documents[0]);
    state.panels = [chessPanel];
  } else {
    // Both are checked before anything changes.
    documents.forEach((document, i) => treePanels["ab"[i]].load(document));
    state.panels = documents.map((_, i) => treePanels["ab"[i]]);
  }
  state.request = made;
  document.body.classList.toggle("is-chess", isChess());
  $("figure-b").hidden = state.panels.length < 2;
  $("explanation-b").hidden = state.panels.length < 2;
  $("title").textContent = documents[0].title || (isChess() ? documents[0].position ?? documents[0].fen : "");
  $("position").max = Math.max(...state.panels.map((panel) => panel.length));
  fillCollapseDepth();
  if (isChess()) {
    openTab("chess");
    if (!made) $("chess-position").value = chessPanel.recording.position;
    showRecording(chessPanel, chooseIteration);
  } else {
    if (!$("panel-chess").hidden) openTab("example");
    if (!made) $("orders").tBodies[0].replaceChildren();
    countChart($("chart"), state.panels);
  }
  seek(0);
}

async function chooseExample(key) {
  const chosen = state.examples.find((example) => example.key === key);
  if (!chosen) return;
  $("example-note").textContent = chosen.note;
  await busily(async () => {
    const example = await api.example(key);
    // Sets in braces could be taken for JSON.
    setTree(example.text, example.lattice ? example.format : "", example.title);
    if (example.lattice) {
      $("lattice").value = example.lattice.kind;
      $("lattice-spec").value = example.lattice.spec;
    } else {
      $("lattice").value = "chain";
      $("lattice-spec").value = "";
    }
    const lattice = algorithmOf($("algorithm").value).lattice;
    if (example.algorithm) $("algorithm").value = example.algorithm;
    else if (lattice) $("algorithm").value = "alpha-beta";
    if (example.lattice || lattice) $("compare").value = "";
    showChoices();
    await initialise();
  });
}

/** Another tree: what was ordered by hand is forgotten. */
function setTree(text, format, title) {
  $("tree-text").value = text;
  $("format").value = format;
  state.title = title;
  state.hand = {};
  if ($("order").value === "hand") $("order").value = state.base.kind;
}

async function generate() {
  await busily(async () => {
    const settings = {branching: Number($("branching").value), depth: Number($("plies").value),
      arrangement: $("arrangement").value, seed: Number($("seed").value)};
    const made = await api.generate(settings);
    setTree(made.text, "", made.title);
    if (algorithmOf($("algorithm").value).lattice) $("algorithm").value = "alpha-beta";
    $("lattice").value = "chain";
    $("lattice-spec").value = "";
    showChoices();
    await initialise();
  });
}

async function searchChess() {
  player.stop();
  await busily(async () => {
    const made = {position: $("chess-position").value, depth: Number($("chess-depth").value), nodes: Number($("chess-nodes").value)};
    show([await api.chess(made)], {chess: made});
  });
}

/** How many leaves and nodes each order costs; empty where the tree is too large to try them all. */
async function showOrders(asked, turn) {
  const body = $("orders").tBodies[0];
  const {rows} = await api.orders(asked);
  if (turn !== state.turn) return;
  body.replaceChildren(...rows.map((row) => {
    const cells = [row.name, row.evaluated === null ? "–" : number(row.evaluated), row.visited === null ? "–" : number(row.visited)];
    const line = tableRow(cells);
    line.classList.toggle("chosen", row.chosen);
    line.dataset.order = row.key;
    return line;
  }));
  $("orders-box").hidden = rows.length === 0;
}

// ------------------------------------------------------------------------------------------------------------
// Stepping
// ------------------------------------------------------------------------------------------------------------

const position = () => Math.max(0, ...state.panels.map((panel) => panel.index));

function seek(index) {
  for (const panel of state.panels) panel.seek(Math.min(index, panel.length));
  refresh();
}

function advance(events) {
  for (const panel of state.panels) panel.seek(Math.min(panel.index + events, panel.length));
  refresh();
  return state.panels.some((panel) => panel.index < panel.length);
}

function stepBack() {
  player.stop();
  const now = position();
  for (const panel of state.panels) if (panel.index === now) panel.seek(panel.index - 1);
  refresh();
}

function stepOn() {
  player.stop();
  advance(1);
}

function nextCut() {
  player.stop();
  for (const panel of state.panels) panel.seek(panel.nextCut());
  refresh();
}

function refresh() {
  const panel = first();
  if (!panel) return;
  $("position").value = position();
  $("count").textContent = state.panels.map((one) => `${number(one.index)} of ${number(one.length)}`).join(" | ");
  $("explanation").textContent = panel.describe();
  if (state.panels[1]) $("explanation-b").textContent = `B: ${state.panels[1].describe()}`;
  showPath();
  if (isChess()) showBoard(chessPanel, panel.index > 0 ? panel.current : panel.selected);
  else showStatistics(state.panels);
  showNode();
  if (state.follow && panel.index > 0) for (const one of state.panels) one.view.reveal(one.current);
}

function showPath() {
  const panel = first();
  const path = panel.index === 0 ? [] : isChess() ? panel.path(panel.current) : panel.trace.path(panel.current);
  const names = isChess() ? panel : panel.trace;
  const shown = path.length > MOST_PATH ? [...path.slice(0, 3), -1, ...path.slice(3 - MOST_PATH)] : path;
  $("path").replaceChildren(...shown.flatMap((node, i) => {
    const part = node < 0 ? document.createTextNode("…") : pathButton(node, names.name(node));
    return i ? [document.createTextNode(" › "), part] : [part];
  }));
}

function pathButton(node, name) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = name;
  button.addEventListener("click", () => selectNode(first(), node));
  return button;
}

// ------------------------------------------------------------------------------------------------------------
// Facts
// ------------------------------------------------------------------------------------------------------------

function showNode() {
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
}

function selectNode(panel, node) {
  if (!panel) return;
  if (state.quiz && !state.quiz.checked && panel === first()) toggleGuess(node);
  for (const one of state.panels) if (one === panel || !isChess()) one.select(Math.min(node, one.view.model.count - 1));
  if (isChess()) showBoard(chessPanel, node);
  showNode();
}

function fillCollapseDepth() {
  const levels = first().view.layout.levels;
  const options = ["all", ...Array.from({length: Math.min(levels, 60)}, (_, i) => String(i + 1))];
  $("collapse-depth").replaceChildren(...options.map((text) => new Option(text, text)));
}

// ------------------------------------------------------------------------------------------------------------
// Order by hand
// ------------------------------------------------------------------------------------------------------------

/** Puts a node at another place among its siblings, and has the search done anew. */
async function move(node, index) {
  const trace = treePanels.a.trace;
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
  treePanels.a.selected = node;
  seek(Math.min(now, first().length));
}

function moveBy(step) {
  const panel = first();
  if (isChess() || !panel || panel.selected <= 0) return;
  const siblings = panel.trace.children[panel.trace.parent[panel.selected]];
  move(panel.selected, siblings.indexOf(panel.selected) + step);
}

// ------------------------------------------------------------------------------------------------------------
// Quiz
// ------------------------------------------------------------------------------------------------------------

function startQuiz() {
  if (isChess() || !first()) return;
  player.stop();
  seek(0);
  state.quiz = {checked: false};
  first().guesses = new Set();
  document.body.classList.add("is-quizzing");
  $("quiz-check").disabled = false;
  $("quiz-start").textContent = "Start again";
  $("quiz-score").textContent = "Mark the branches that will be cut.";
  setStepping(false);
  first().view.draw();
}

function toggleGuess(node) {
  if (!state.quiz || state.quiz.checked || node <= 0) return;
  const {guesses} = first();
  if (!guesses.delete(node)) guesses.add(node);
  $("quiz-score").textContent = `${guesses.size} marked.`;
  first().view.draw();
}

function checkQuiz() {
  if (!state.quiz || state.quiz.checked) return;
  state.quiz.checked = true;
  document.body.classList.remove("is-quizzing");
  setStepping(true);
  seek(Number($("position").max));
  $("quiz-check").disabled = true;
  $("quiz-score").textContent = verdict(judge(first().trace, first().replay, first().guesses));
}

function stopQuiz() {
  state.quiz = null;
  treePanels.a.guesses = null;
  document.body.classList.remove("is-quizzing");
  $("quiz-check").disabled = true;
  $("quiz-start").textContent = "Start";
  $("quiz-score").textContent = "";
  setStepping(true);
}

function setStepping(allowed) {
  for (const id of ["back", "play", "step", "next-cut", "end", "position"]) $(id).disabled = !allowed;
}

// ------------------------------------------------------------------------------------------------------------
// Chess
// ------------------------------------------------------------------------------------------------------------

function chooseIteration(i) {
  player.stop();
  chessPanel.choose(i);
  $("position").max = chessPanel.length;
  [...$("iterations").children].forEach((button, at) => button.setAttribute("aria-pressed", String(at === i)));
  fillCollapseDepth();
  seek(0);
}

// ------------------------------------------------------------------------------------------------------------
// Share, export, import
// ------------------------------------------------------------------------------------------------------------

async function share() {
  if (!state.request) return say("An imported search has no address: export it as JSON instead.");
  const fragment = await pack({request: state.request, event: position(), selected: first().selected});
  if (!fragment) return say("This tree is too large for an address: export it as JSON instead.");
  history.replaceState(null, "", fragment);
  $("share-address").value = location.href;
  $("share-dialog").showModal();
  $("share-address").select();
}

async function restore() {
  let shared;
  try {
    shared = await unpack(location.hash);
  } catch (error) {
    state.problem = error;
    complain(error);
    return false;
  }
  const made = shared?.request;
  if (!made) return false;
  if (made.chess) {
    $("chess-position").value = made.chess.position ?? "";
    $("chess-depth").value = made.chess.depth;
    $("chess-nodes").value = made.chess.nodes;
    openTab("chess");
    await searchChess();
  } else {
    await apply(made);
  }
  if (!first() || state.request === null) return false;
  seek(Math.min(shared.event ?? 0, Number($("position").max)));
  selectNode(first(), Math.min(shared.selected ?? 0, first().view.model.count - 1));
  return true;
}

/** Sets the controls to a request, and initialises. */
async function apply(made) {
  $("tree-text").value = made.text;
  $("format").value = made.format ?? "";
  $("algorithm").value = made.algorithm;
  $("lattice").value = made.lattice?.kind ?? "chain";
  $("lattice-spec").value = made.lattice?.spec ?? "";
  $("compare").value = made.compare ?? "";
  state.title = made.title ?? "";
  state.base = {kind: made.order.kind, seed: made.order.seed};
  state.hand = made.order.hand ?? {};
  $("order-seed").value = made.order.seed;
  $("order").value = Object.keys(state.hand).length ? "hand" : made.order.kind;
  openTab("text");
  showChoices();
  await initialise();
}

async function exportAs(kind) {
  const panel = first();
  if (!panel) return;
  $("exports").open = false;
  const name = isChess() ? "chess-search" : "search";
  await busily(async () => {
    if (kind === "svg") download(`${name}.svg`, "image/svg+xml", panel.view.svg());
    else if (kind === "png") download(`${name}.png`, "image/png", await panel.view.png());
    else if (kind === "json") {
      download(`${name}.json`, "application/json", JSON.stringify(isChess() ? panel.recording.document : panel.trace.document));
    } else if (isChess()) {
      throw new Error("of a chess search there are SVG, PNG and JSON; secateur explore FILE --text prints it");
    } else if (kind === "dot") download(`${name}.dot`, "text/vnd.graphviz", dot(panel.trace, panel.replay));
    else download(`${name}.txt`, "text/plain", indented(panel.trace, panel.replay));
  });
}

async function importFile(file) {
  if (!file) return;
  player.stop();
  await busily(async () => {
    const zipped = file.name.endsWith(".gz");
    const stream = zipped ? file.stream().pipeThrough(new DecompressionStream("gzip")) : file.stream();
    const text = await new Response(stream).text();
    let value = null;
    try {
      value = JSON.parse(text);
    } catch {
      // No JSON: a tree, perhaps, in one of the other formats.
    }
    if (value && typeof value === "object" && value.format === "secateur trace") {
      open(value);
    } else {
      setTree(text, "", file.name);
      openTab("text");
      await initialise();
    }
  });
}

/** Shows a document that was imported or that the page was started with. */
function open(value) {
  const made = value.request ?? null;
  show([value], null);
  if (made && typeof made.text === "string" && kindOf(value) === "tree") {
    $("tree-text").value = made.text;
    $("format").value = made.format ?? "";
    $("algorithm").value = made.algorithm;
    $("lattice").value = made.lattice?.kind ?? "chain";
    $("lattice-spec").value = made.lattice?.spec ?? "";
    state.title = made.title ?? "";
    state.base = {kind: made.order?.kind ?? "given", seed: made.order?.seed ?? 1};
    state.hand = made.order?.hand ?? {};
    $("order").value = Object.keys(state.hand).length ? "hand" : state.base.kind;
    $("compare").value = "";
    state.request = {...made, compare: ""};
    showChoices();
    showNode();
  }
}

// ------------------------------------------------------------------------------------------------------------
// Controls
// ------------------------------------------------------------------------------------------------------------

function openTab(name) {
  for (const tab of ["example", "text", "uniform", "chess"]) {
    $(`tab-${tab}`).setAttribute("aria-selected", String(tab === name));
    $(`panel-${tab}`).hidden = tab !== name;
  }
  $("initialise").hidden = name === "chess";
}

/** Shows what belongs to the chosen algorithm, lattice and order, and hides what does not. */
function showChoices() {
  const algorithm = algorithmOf($("algorithm").value);
  $("algorithm-note").textContent = algorithm?.note ?? "";
  $("lattice-note").textContent = state.lattices.find((lattice) => lattice.key === $("lattice").value)?.note ?? "";
  $("lattice-row").hidden = $("lattice-note").hidden = !algorithm?.lattice && $("lattice").value === "chain";
  $("order-seed-label").hidden = $("order").value !== "random";
}

function setSpeed() {
  player.speed = Math.round(10 ** (Number($("speed").value) / 10) * 10) / 10;
  $("speed-value").textContent = `${player.speed >= 100 ? number(Math.round(player.speed)) : player.speed} a second`;
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem("secateur-theme", theme);
  } catch {
    // Without storage the choice lasts as long as the page.
  }
  for (const panel of state.panels) panel.view.draw();
  if (state.panels.length && !isChess()) countChart($("chart"), state.panels);
  else if (state.panels.length) showRecording(chessPanel, chooseIteration);
}

function savedTheme() {
  try {
    return localStorage.getItem("secateur-theme");
  } catch {
    return null;
  }
}

function walk(direction) {
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
  const quiz = state.quiz;
  state.quiz = null;
  selectNode(panel, next);
  state.quiz = quiz;
  panel.view.reveal(next);
}

const ACTIONS = {
  n: stepOn, b: stepBack, " ": () => player.toggle(), c: nextCut,
  r: () => { player.stop(); seek(0); }, e: () => { player.stop(); seek(Number($("position").max)); },
  "+": () => first()?.view.zoom(1.3), "=": () => first()?.view.zoom(1.3), "-": () => first()?.view.zoom(1 / 1.3),
  0: () => state.panels.forEach((panel) => panel.view.fit()), f: () => setFollow(!state.follow),
  ArrowUp: () => walk("up"), ArrowDown: () => walk("down"), ArrowLeft: () => walk("left"), ArrowRight: () => walk("right"),
  Enter: () => toggleSelected(), "[": () => moveBy(-1), "]": () => moveBy(1),
  q: () => toggleGuess(first()?.selected ?? 0), "?": () => showHelp(),
};
const STEPPING = new Set(["n", "b", " ", "c", "e"]);

function toggleSelected() {
  const panel = first();
  panel?.view.toggle(panel.selected);
  showNode();
}

function setFollow(follow) {
  state.follow = follow;
  $("follow").setAttribute("aria-pressed", String(follow));
}

function showHelp() {
  $("legend-box").open = true;
  $("legend-box").scrollIntoView({block: "nearest"});
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || $("share-dialog").open) return;
  const target = event.target;
  const typing = target.matches?.("textarea, select, input:not([type=range])");
  // Buttons and summaries have the space bar and Enter for themselves, sliders the arrows.
  const pressing = (target.matches?.("button, summary") && (event.key === " " || event.key === "Enter")) ||
    (target.matches?.("input[type=range]") && event.key.startsWith("Arrow"));
  const action = ACTIONS[event.key];
  if (typing || pressing || !action) return;
  if (state.quiz && !state.quiz.checked && STEPPING.has(event.key)) return;
  event.preventDefault();
  action();
}

function connect() {
  const on = (id, type, action) => $(id).addEventListener(type, action);
  for (const tab of ["example", "text", "uniform", "chess"]) on(`tab-${tab}`, "click", () => openTab(tab));
  on("example", "change", () => chooseExample($("example").value));
  on("generate", "click", generate);
  on("chess-search", "click", searchChess);
  on("tree-text", "input", () => { state.hand = {}; state.title = ""; });
  on("initialise", "click", initialise);
  for (const id of ["algorithm", "compare", "lattice", "lattice-spec", "format"]) on(id, "change", () => { showChoices(); initialise(); });
  on("order", "change", () => {
    showChoices();
    if ($("order").value === "hand") return;
    state.hand = {};
    state.base = {kind: $("order").value, seed: Number($("order-seed").value)};
    initialise();
  });
  on("order-seed", "change", () => {
    state.base = {...state.base, seed: Number($("order-seed").value)};
    initialise();
  });
  on("reset", "click", ACTIONS.r);
  on("back", "click", stepBack);
  on("play", "click", () => player.toggle());
  on("step", "click", stepOn);
  on("next-cut", "click", nextCut);
  on("end", "click", ACTIONS.e);
  on("speed", "input", setSpeed);
  on("position", "input", () => { player.stop(); seek(Number($("position").value)); });
  on("zoom-in", "click", ACTIONS["+"]);
  on("zoom-out", "click", ACTIONS["-"]);
  on("fit", "click", ACTIONS[0]);
  on("follow", "click", ACTIONS.f);
  on("collapse", "click", toggleSelected);
  on("earlier", "click", () => moveBy(-1));
  on("later", "click", () => moveBy(1));
  on("collapse-depth", "change", () => {
    const depth = $("collapse-depth").value;
    state.panels.forEach((panel) => panel.view.collapseBelow(depth === "all" ? -1 : Number(depth)));
    showNode();
  });
  on("quiz-start", "click", startQuiz);
  on("quiz-check", "click", checkQuiz);
  on("share", "click", share);
  on("share-copy", "click", () => navigator.clipboard?.writeText($("share-address").value));
  for (const button of document.querySelectorAll("[data-export]")) button.addEventListener("click", () => exportAs(button.dataset.export));
  on("import", "change", () => importFile($("import").files[0]).then(() => { $("import").value = ""; }));
  on("theme", "click", () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
  on("help", "click", showHelp);
  document.addEventListener("keydown", onKey);
  window.addEventListener("hashchange", restore);
}

async function start() {
  setTheme(savedTheme() ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
  connect();
  setSpeed();
  setFollow(true);
  fillLegend($("keys"), $("legend"), KEYS);
  await busily(async () => {
    const catalogue = await api.catalogue();
    Object.assign(state, {examples: catalogue.examples, algorithms: catalogue.algorithms, lattices: catalogue.lattices});
    fill($("example"), catalogue.examples);
    fill($("algorithm"), catalogue.algorithms);
    fill($("compare"), catalogue.algorithms, [new Option("nothing", "")]);
    fill($("lattice"), catalogue.lattices);
    $("algorithm").value = "alpha-beta";
    showChoices();
    if (await restore()) return;
    const {document: opened, tree} = await api.opened();
    if (opened) open(opened);
    else if (tree) {
      setTree(tree.text, "", tree.title);
      openTab("text");
      await initialise();
    } else await chooseExample(catalogue.examples[0].key);
  });
  // What was shown instead must not hide that the address was of no use.
  if (state.problem) complain(state.problem);
  document.body.dataset.ready = "yes";
}

// For the console and for tests.
window.secateur = {state, seek, player};
start();
