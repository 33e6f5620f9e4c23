// The page: makes its parts, connects its controls, and shows what it was opened with.

import * as api from "./api.js";
import {chooseOrder, chooseSeed, mayMove, move, moveBy} from "./byhand.js";
import {countChart} from "./charts.js";
import {ChessPanel} from "./chess.js";
import {connectTabs, openTab, setTree, showChoices} from "./choices.js";
import {countCosts, countNodeCosts} from "./costs.js";
import {$, fill, number} from "./dom.js";
import {collapseBelow, selectNode, showNode, toggleSelected} from "./facts.js";
import {copyAddress, exportAs, importFile, open, restore, share} from "./files.js";
import {ACTIONS, onKey} from "./keys.js";
import {fillLegend} from "./legend.js";
import {Panel} from "./panel.js";
import {Player} from "./player.js";
import {checkQuiz, startQuiz, toggleGuess} from "./quiz.js";
import {showRecording} from "./recording.js";
import {chooseExample, chooseIteration, generate, initialise, searchChess} from "./searching.js";
import {first, isChess, isGuessing, state} from "./state.js";
import {advance, jump, nextCut, seek, setFollow, stepBack, stepOn} from "./stepping.js";
import {busily, complain, stop} from "./work.js";

function makeParts() {
  const handlers = (number) => ({
    select: (node) => {
      const panel = state.panels[number] ?? first();
      if (panel === first()) toggleGuess(node);
      selectNode(panel, node);
    },
    toggled: showNode,
    moved: move,
    isMarking: isGuessing,
    mayMove,
  });
  state.trees = {a: new Panel("a", handlers(0)), b: new Panel("b", handlers(1))};
  state.chess = new ChessPanel(state.trees.a.canvas, state.trees.a.caption, state.trees.a.view);
  state.player = new Player(advance, (isPlaying) => {
    $("play").querySelector("path").setAttribute("d", isPlaying ? "M5 3v14M14 3v14" : "M5 3l12 7-12 7z");
    $("play").setAttribute("aria-label", isPlaying ? "Pause" : "Run");
  });
}

function setSpeed() {
  const {player} = state;
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
  if (isChess()) showRecording(state.chess, chooseIteration);
  else if (state.panels.length) countChart($("chart"), state.panels);
}

function savedTheme() {
  try {
    return localStorage.getItem("secateur-theme");
  } catch {
    return null;
  }
}

function connect() {
  const on = (id, type, action) => $(id).addEventListener(type, action);
  connectTabs();
  on("example", "change", () => chooseExample($("example").value));
  on("generate", "click", generate);
  on("chess-search", "click", searchChess);
  on("stop", "click", stop);
  on("tree-text", "input", () => { state.hand = {}; state.title = ""; });
  on("initialise", "click", initialise);
  for (const id of ["algorithm", "compare", "lattice", "lattice-spec", "format"]) on(id, "change", () => { showChoices(); initialise(); });
  on("order", "change", chooseOrder);
  on("order-seed", "change", chooseSeed);
  on("reset", "click", ACTIONS.r);
  on("back", "click", stepBack);
  on("play", "click", () => state.player.toggle());
  on("step", "click", stepOn);
  on("next-cut", "click", nextCut);
  on("end", "click", ACTIONS.e);
  on("speed", "input", setSpeed);
  on("position", "input", () => jump(Number($("position").value)));
  on("zoom-in", "click", ACTIONS["+"]);
  on("zoom-out", "click", ACTIONS["-"]);
  on("fit", "click", ACTIONS[0]);
  on("follow", "click", ACTIONS.f);
  on("collapse", "click", toggleSelected);
  on("earlier", "click", () => moveBy(-1));
  on("later", "click", () => moveBy(1));
  on("collapse-depth", "change", collapseBelow);
  on("count-costs", "click", countCosts);
  on("count-node-costs", "click", countNodeCosts);
  on("quiz-start", "click", startQuiz);
  on("quiz-check", "click", checkQuiz);
  on("share", "click", share);
  on("share-copy", "click", copyAddress);
  for (const button of document.querySelectorAll("[data-export]")) button.addEventListener("click", () => exportAs(button.dataset.export));
  on("import", "change", () => importFile($("import").files[0]).then(() => { $("import").value = ""; }));
  on("theme", "click", () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
  on("help", "click", ACTIONS["?"]);
  document.addEventListener("keydown", onKey);
  window.addEventListener("hashchange", restore);
}

async function start() {
  makeParts();
  setTheme(savedTheme() ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
  connect();
  setSpeed();
  setFollow(true);
  fillLegend();
  await busily(async () => {
    const catalogue = await api.catalogue();
    const {examples, algorithms, lattices, techniques} = catalogue;
    Object.assign(state, {examples, algorithms, lattices, techniques});
    $("version").textContent = catalogue.version;
    fill($("example"), examples);
    fill($("algorithm"), algorithms);
    fill($("compare"), algorithms, [new Option("nothing", "")]);
    fill($("lattice"), lattices);
    $("algorithm").value = "alpha-beta";
    showChoices();
    if (await restore()) return;
    const {document: opened, tree} = await api.opened();
    if (opened) open(opened);
    else if (tree) {
      setTree(tree.text, tree.title);
      openTab("text");
      await initialise();
    } else await chooseExample(examples[0].key);
  });
  // What was shown instead must not hide that the address was of no use.
  if (state.problem) complain(state.problem);
  document.body.dataset.ready = "yes";
}

// For the console and for tests.
window.secateur = {state, seek, get player() { return state.player; }};
start();
