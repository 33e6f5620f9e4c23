// Starts the page: makes its parts, connects its controls, and shows its first tree.

import {ChessPanel} from "./chess.js";
import {toggleCode} from "./code.js";
import {copyFrom, exportAs, importFile, open, openRecording, restore, share} from "./files.js";
import {editSelected, mayEdit, redo, setEditing, showUndo, tapNode, undo} from "./edit.js";
import {fillLegend} from "./legend.js";
import {isStatic, startPython} from "./local.js";
import {chooseOrder, chooseSeed, collapseBelow, mayMove, move, moveBy, selectNode, showNode, toggleSelected, walk} from "./node.js";
import {Panel} from "./panel.js";
import {fillStatements} from "./statements.js";
import {checkQuiz, startQuiz, toggleGuess} from "./quiz.js";
import {countCosts, countNodeCosts, showRecording} from "./recording.js";
import {chooseExample, chooseIteration, choosePosition, generate, initialise, knownPositions, measure, openTab, retype, searchChess, setTree, showChoices, watchFail, ORDER} from "./searching.js";
import {ask, busily, complain, stop} from "./server.js";
import {$, fill, first, isChess, isGuessing, number, PLAIN, state} from "./shared.js";
import {countChart, showOutline} from "./statistics.js";
import {jump, nextCut, pause, player, run, seek, setFollow, stepBack, stepOn, toTheEnd} from "./stepping.js";

const ZOOM = 1.3;

// The actions of keys, and of buttons that name a key in `data-key`.
const ACTIONS = {
  n: stepOn, b: stepBack, " ": () => (player.playing ? pause() : run()), c: nextCut, r: () => jump(0), e: toTheEnd,
  "+": () => first()?.view.zoom(ZOOM), "=": () => first()?.view.zoom(ZOOM), "-": () => first()?.view.zoom(1 / ZOOM),
  0: () => state.panels.forEach((panel) => panel.view.fit()), f: () => setFollow(!state.follow),
  ArrowUp: () => walk("up"), ArrowDown: () => walk("down"), ArrowLeft: () => walk("left"), ArrowRight: () => walk("right"),
  Enter: toggleSelected, "[": () => moveBy(-1), "]": () => moveBy(1), q: () => toggleGuess(first()?.selected ?? 0),
  Escape: () => { $("exports").open = false; stop(); }, "?": showHelp, i: () => setEditing(!state.isEditing), k: () => toggleCode(), a: () => editSelected("add"), v: () => editSelected("set"),
  Delete: () => first()?.pinned > 0 && editSelected("remove"),
};
// Keys that would reveal the answers to the quiz.
const STEPPING = new Set(["n", "b", " ", "c", "e"]);

function showHelp() {
  pause();
  $("help-dialog").showModal();
}

function onKey(event) {
  const isText = event.target.matches?.("textarea, select, input:not([type=range])");
  if (document.querySelector("dialog[open]")) return;
  // With Shift or Caps Lock, the key is a capital letter.
  const key = event.key?.toLowerCase();
  if ((event.ctrlKey || event.metaKey) && !isText && (key === "z" || key === "y")) {
    event.preventDefault();
    (key === "y" || event.shiftKey ? redo : undo)();
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const target = event.target;
  const isTyping = isText && event.key !== "Escape";
  // Buttons, summaries and links handle these keys themselves, and sliders and boxes that scroll handle the arrows.
  const isPressing = (target.matches?.("button, summary") && (event.key === " " || event.key === "Enter")) ||
    (target.matches?.("a[href]") && event.key === "Enter") ||
    (target.matches?.("input[type=range], .scroll, #listing") && event.key.startsWith("Arrow"));
  const action = ACTIONS[event.key];
  if (isTyping || isPressing || !action) return;
  if (isGuessing() && STEPPING.has(event.key)) return;
  event.preventDefault();
  action();
}

function makeParts() {
  const handlers = (number) => ({
    select: (node) => {
      const panel = state.panels[number] ?? first();
      if (state.isEditing && panel === first() && mayEdit()) return tapNode(node);
      if (panel === first() && node >= 0) toggleGuess(node);
      selectNode(panel, node);
    },
    toggled: showNode,
    moved: move,
    isMarking: () => isGuessing() || state.isEditing,
    mayMove,
  });
  state.trees = {a: new Panel("a", handlers(0)), b: new Panel("b", handlers(1))};
  state.chess = new ChessPanel(state.trees.a.canvas, state.trees.a.caption, state.trees.a.view);
}

/** Hides the words for newcomers, also at later visits. */
function hideWelcome() {
  $("welcome").hidden = true;
  store("secateur-welcomed", "yes");
}

function setSpeed() {
  player.speed = Math.round(10 ** (Number($("speed").value) / 10) * 10) / 10;
  $("speed-value").textContent = `${player.speed >= 100 ? number(Math.round(player.speed)) : player.speed} per second`;
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  store("secateur-theme", theme);
  for (const panel of state.panels) panel.view.draw();
  if (isChess()) showRecording(state.chess, chooseIteration);
  else if (state.panels.length) countChart($("chart"), state.panels);
}

function store(name, value) {
  try {
    localStorage.setItem(name, value);
  } catch {
    // Without storage the choice lasts as long as the page.
  }
}

function stored(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

function connect() {
  const on = (id, type, action) => $(id).addEventListener(type, action);
  const each = (name, action) => {
    for (const button of document.querySelectorAll(`[data-${name}]`)) button.addEventListener("click", () => action(button.dataset[name]));
  };
  each("key", (key) => ACTIONS[key]());
  on("show-cut", "click", nextCut);
  on("welcome-close", "click", hideWelcome);
  on("outline-box", "toggle", showOutline);
  each("edit", editSelected);
  on("undo", "click", undo);
  on("redo", "click", redo);
  on("unpin", "click", () => selectNode(first(), -1));
  each("export", exportAs);
  for (const button of document.querySelectorAll("[data-copy]")) button.addEventListener("click", () => copyFrom(button.dataset.copy, button));
  each("tab", openTab);
  const clicks = {generate, initialise, share, "chess-search": searchChess, "count-costs": countCosts, "watch-fail": watchFail, measure,
    "check-statements": () => { pause(); $("statements-dialog").showModal(); },
    "count-node-costs": countNodeCosts, "quiz-start": startQuiz, "quiz-check": checkQuiz};
  for (const [id, action] of Object.entries(clicks)) on(id, "click", action);
  on("known", "change", () => choosePosition($("known").value));
  on("recorded", "change", () => openRecording($("recorded").value));
  on("example", "change", () => chooseExample($("example").value));
  on("tree-text", "input", retype);
  for (const id of ["algorithm", "compare", "lattice", "lattice-spec", "format", "force"]) on(id, "change", () => { showChoices(); initialise(); });
  on("order", "change", chooseOrder);
  on("order-seed", "change", chooseSeed);
  on("speed", "input", setSpeed);
  on("position", "input", () => jump(Number($("position").value)));
  on("collapse-depth", "change", collapseBelow);
  on("import", "change", () => importFile($("import").files[0]).then(() => { $("import").value = ""; }));
  on("theme", "click", () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
  document.addEventListener("keydown", onKey);
  document.addEventListener("click", ({target}) => { if (!$("exports").contains(target)) $("exports").open = false; });
  window.addEventListener("hashchange", restore);
}

/** Starts Python before the user needs it, and keeps the files of the static site for the next visit. */
async function keep() {
  startPython();
  // Some pages, for example in frames of other sites, may not keep files.
  await navigator.serviceWorker?.register("service-worker.js").catch(() => {});
}

async function start() {
  makeParts();
  setTheme(stored("secateur-theme") ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
  connect();
  setSpeed();
  setFollow(true);
  showUndo();
  $("welcome").hidden = stored("secateur-welcomed") !== null;
  fillLegend();
  await busily(async () => {
    const catalogue = await ask("catalogue");
    const {address, examples, recordings, statements, algorithms, lattices, techniques} = catalogue;
    Object.assign(state, {address, examples, algorithms, lattices, techniques});
    $("version").textContent = catalogue.version;
    fill($("example"), examples);
    fillStatements(statements);
    fill($("recorded"), recordings, [new Option("choose …", "")]);
    fill($("algorithm"), algorithms);
    const orders = [...$("order").options].filter(({value}) => value !== "hand");
    const rivals = orders.map(({value, text}) => ({key: ORDER + value, name: text, group: "Another order of children"}));
    fill($("compare"), [...algorithms, ...rivals], [new Option("nothing", "")]);
    fill($("lattice"), lattices);
    $("algorithm").value = PLAIN;
    showChoices();
    if (!isStatic) fill($("known"), await knownPositions(), [new Option("choose …", "")]);
    if (await restore()) return;
    const {document: opened, tree} = await ask("document");
    if (opened) open(opened);
    else if (tree) {
      setTree(tree.text, tree.title);
      openTab("text");
      await initialise();
    } else await chooseExample(examples[0].key);
  });
  // Show the error of a damaged address again, because loading another tree has cleared it.
  if (state.problem) complain(state.problem);
  document.body.dataset.ready = "yes";
  if (isStatic) await keep();
}

// The console and the tests use this.
window.secateur = {state, seek, player, run, pause};
start();
