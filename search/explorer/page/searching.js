// Having a search done, of a tree or of chess, and showing it from its beginning.

import * as api from "./api.js";
import {chessRequest, markPlace, openTab, request, setChessRequest, setLattice, setTree, showChoices} from "./choices.js";
import {countChart} from "./charts.js";
import {$, number, tableRow} from "./dom.js";
import {fillCollapseDepth} from "./facts.js";
import {stopQuiz} from "./quiz.js";
import {showRecording} from "./recording.js";
import {algorithmOf, isChess, state} from "./state.js";
import {seek} from "./stepping.js";
import {kindOf} from "./trace.js";
import {busily, isStopping, say} from "./work.js";

/** Reads the controls, has the search done and shows it from its beginning. */
export async function initialise() {
  const turn = newTurn(), one = request(), focus = document.activeElement;
  // Who goes to the text meanwhile, or changes it, keeps the cursor.
  const mark = (line, column) => {
    if (document.activeElement === focus && $("tree-text").value === one.text) markPlace(line, column);
  };
  return busily(async () => {
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
  }, mark);
}

/** What was asked for before is not wanted any more; gives a number by which a later turn can be told. */
export function newTurn() {
  state.player.stop();
  api.stopAll(true);
  return ++state.turn;
}

/** Shows one or two documents of trees, or one of chess. `made` is what they were asked for with, null if nobody knows. */
export function show(documents, made) {
  stopQuiz();
  if (kindOf(documents[0]) === "chess") {
    state.chess.load(documents[0]);
    state.panels = [state.chess];
  } else {
    // Both are checked before anything changes.
    documents.forEach((document, i) => state.trees["ab"[i]].load(document));
    state.panels = documents.map((_, i) => state.trees["ab"[i]]);
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
    if (!made) setChessRequest({...chessRequest(), position: state.chess.recording.position, after: null});
    showRecording(state.chess, chooseIteration);
  } else {
    if (!$("panel-chess").hidden) openTab("example");
    if (!made) $("orders").tBodies[0].replaceChildren();
    countChart($("chart"), state.panels);
  }
  seek(0);
}

export async function chooseExample(key) {
  const chosen = state.examples.find((example) => example.key === key);
  if (!chosen) return;
  const turn = newTurn();
  $("example-note").textContent = chosen.note;
  await busily(async () => {
    const example = await api.example(key);
    if (turn !== state.turn) return;
    setTree(example.text, example.title);
    setLattice(example.lattice);
    const isLattice = algorithmOf($("algorithm").value).lattice;
    if (example.algorithm) $("algorithm").value = example.algorithm;
    else if (isLattice) $("algorithm").value = "alpha-beta";
    if (example.lattice || isLattice) $("compare").value = "";
    showChoices();
    await initialise();
  });
}

export async function generate() {
  const turn = newTurn();
  await busily(async () => {
    const settings = {branching: Number($("branching").value), depth: Number($("plies").value),
      arrangement: $("arrangement").value, seed: Number($("seed").value)};
    const made = await api.generate(settings);
    if (turn !== state.turn) return;
    setTree(made.text, made.title);
    if (algorithmOf($("algorithm").value).lattice) $("algorithm").value = "alpha-beta";
    setLattice(null);
    showChoices();
    await initialise();
  });
}

export async function searchChess() {
  const turn = newTurn();
  await busily(async () => {
    const made = chessRequest();
    const document = await api.chess(made);
    if (turn !== state.turn) return;
    show([document], {chess: made});
    if (isStopping()) say(`Stopped: what was searched by then is shown, ${number(state.chess.recording.count)} visits.`);
  });
}

/** Shows another iteration of the recording. */
export function chooseIteration(i) {
  state.player.stop();
  state.chess.choose(i);
  $("position").max = state.chess.length;
  [...$("iterations").children].forEach((button, at) => button.setAttribute("aria-pressed", String(at === i)));
  fillCollapseDepth();
  seek(0);
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
