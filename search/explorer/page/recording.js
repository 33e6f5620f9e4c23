// The panels beside the tree of a recorded chess search: board, iterations, statistics and node counts.

import {busily, search} from "./server.js";
import {$, isChess, make, number, state, tableRow, times} from "./shared.js";
import {clear, iterationChart} from "./statistics.js";
import {BORDER_TYPE, Chessboard} from "./vendor/cm-chessboard/src/Chessboard.js";

/** Shows the iterations, reasons and statistics of a recording; `choose(i)` shows another iteration. */
export function showRecording(panel, choose) {
  const {recording} = panel;
  const {statistics = {}} = recording.document;
  const buttons = recording.iterations.map((iteration, i) => {
    const state = {ariaLabel: `Iteration of depth ${iteration.depth}`, ariaPressed: String(i === panel.number)};
    return make("button", iteration.depth, {type: "button", onclick: () => choose(i), ...state});
  });
  $("iterations").replaceChildren(...buttons);
  const trees = new Map((statistics.trees ?? []).map((row) => [row.depth, row]));
  const growth = new Map((statistics.iterations ?? []).map((row) => [row.depth, row]));
  const rows = recording.document.iterations.map((iteration) => ({...growth.get(iteration.depth), ...trees.get(iteration.depth),
    depth: iteration.depth, nodes: iteration.nodes, score: iteration.score}));
  const large = (value) => (value > 0 ? Number(value).toLocaleString("en", {notation: value >= 1e4 ? "compact" : "standard", ...(value >= 1e4 ? {maximumSignificantDigits: 3} : {maximumFractionDigits: 0})}) : "–");
  $("iteration-table").tHead.replaceChildren(tableRow(["d", "score", "nodes", "EBF", "minimax", "minimal"], "th"));
  $("iteration-table").tBodies[0].replaceChildren(...rows.map((row) =>
    tableRow([row.depth, row.score, number(row.nodes), row.branching ? Number(row.branching.toPrecision(3)) : "–", large(row.minimax), large(row.minimal)])));
  iterationChart($("iteration-chart"), rows);
  showPruned(recording);
  const share = statistics.first_move?.share, last = rows.findLast((row) => row.minimal) ?? {};
  const facts = [
    ["engine", recording.document.engine ?? "–"],
    ["evaluation", recording.document.evaluation ?? "–"],
    ["first move best", share === null || share === undefined ? "–" : `${(100 * share).toFixed(1)} %`],
    ["effective branching factor", last.branching?.toFixed(2) ?? "–"],
    ["minimax would visit", large(last.minimax)],
    ["minimal tree", large(last.minimal)],
    ["nodes searched", number(recording.document.iterations.reduce((sum, iteration) => sum + iteration.nodes, 0))],
    ["visits recorded", number(recording.count)],
  ];
  $("statistics").tHead.replaceChildren();
  $("statistics").tBodies[0].replaceChildren(...facts.map((row) => tableRow(row)));
  $("bound").textContent = "";
  $("result").textContent = "";
  clear($("chart"));
}

/** Shows nodes ended, moves skipped and visits saved by each reason and, if counted, nodes without its technique. */
function showPruned(recording) {
  const {statistics = {}, costs} = recording.document;
  const texts = new Map(recording.reasons.map((reason) => [reason.key, reason.text]));
  const counted = new Map((costs?.without ?? []).map((row) => [row.reason, row.nodes]));
  $("pruned-table").tHead.replaceChildren(tableRow(["reason", "ended", "skipped", "saved"], "th"));
  $("pruned-table").tBodies[0].replaceChildren(...(statistics.reasons ?? []).flatMap((row) => {
    const without = counted.has(row.key) ? `without it ${times(counted.get(row.key), costs.nodes)} nodes` : "";
    // A count is better than an estimate.
    const saved = counted.has(row.key) ? number(counted.get(row.key) - costs.nodes) : `≈ ${number(row.saved)}`;
    return [tableRow([row.key, number(row.ended), number(row.skipped), saved]), meaning(texts.get(row.key) ?? "", without)];
  }));
  $("count-costs").disabled = !recording.iterations.some((iteration) => iteration.complete);
  $("costs-note").textContent = costs
    ? `Without it: a search to depth ${costs.depth} without the technique. The unchanged search takes ${number(costs.nodes)} nodes.` : "";
  $("pruned-note").textContent = statistics.costs ?? "";
}

/** Returns a row that spans the whole table and explains the row above it. */
function meaning(text, without) {
  const row = tableRow([text]);
  row.className = "meaning";
  row.cells[0].colSpan = 4;
  if (without) {
    row.cells[0].append(text ? "; " : "", make("strong", without));
  }
  return row;
}

let board = null;

/** Shows the position at a node of a recording, with its last move. */
export function showBoard(panel, node) {
  const {placement, last} = panel.board(node);
  if (!board) {
    board = new Chessboard($("board"), {
      position: placement,
      assetsUrl: "vendor/cm-chessboard/assets/",
      style: {borderType: BORDER_TYPE.none, showCoordinates: true, animationDuration: 0},
    });
  } else {
    board.setPosition(placement, false);
  }
  // The side to move at the root is at the bottom.
  const side = panel.recording.position.split(" ")[1] === "b" ? "b" : "w";
  if (board.getOrientation() !== side && !board.boardTurning) board.setOrientation(side);
  $("board").querySelector("svg")?.setAttribute("aria-label", `Position ${placement}`);
  $("board").dataset.placement = placement;
  $("board-line").textContent = panel.facts(node)[0][1];
  for (const square of $("board").querySelectorAll("rect.square")) {
    const name = square.getAttribute("data-square");
    square.classList.toggle("move-from", Boolean(last) && name === last.slice(0, 2));
    square.classList.toggle("move-to", Boolean(last) && name === last.slice(2, 4));
  }
}

// The answers that `countNodeCosts` received, by recording and row.
const counted = new WeakMap();

const known = (recording) => {
  if (!counted.has(recording)) counted.set(recording, new Map());
  return counted.get(recording);
};

/** Requests searches of the position after `line` to `depth` plies: unchanged, and without each of `reasons`. */
function ask(recording, line, depth, reasons) {
  const {fen, before = [], chess960 = false, evaluation, without = []} = recording.document;
  return search("cost", {fen, moves: [...before, ...line], chess960, depth, classical: evaluation === "classical", without, reasons});
}

/** Requests and stores node counts of the whole search: unchanged, and without each technique that pruned in turn. */
export async function countCosts() {
  if (!isChess()) return;
  const {recording} = state.chess, {document} = recording;
  await busily(async () => {
    const complete = document.iterations.filter((iteration) => iteration.complete);
    if (!complete.length) throw new Error("no iteration is complete, so there are no node counts to compare");
    const used = new Set((document.statistics?.reasons ?? []).map((row) => row.key));
    document.costs = await ask(recording, [], complete.at(-1).depth, state.techniques.filter((key) => used.has(key)));
    if (state.chess.recording === recording) showPruned(recording);
  });
}

/** Requests node counts for the selected node: unchanged, and without each technique that pruned there in turn. */
export async function countNodeCosts() {
  if (!isChess()) return;
  const panel = state.chess, {recording} = panel, node = panel.selected;
  const row = panel.model.row(node), reasons = techniquesAt(panel, node);
  await busily(async () => {
    known(recording).set(row, await ask(recording, recording.line(row), recording.columns.depth[row], reasons));
    if (state.chess.recording === recording) showNodeCosts(panel);
  });
}

/** Returns the techniques that ended a node of the main search or skipped moves there; none in quiescence. */
function techniquesAt(panel, node) {
  if (node < panel.model.offset) return [];
  const {recording} = panel, row = panel.model.row(node);
  if (recording.columns.quiescence[row] || recording.columns.depth[row] < 1) return [];
  const found = new Set([recording.end(row).key, ...(recording.prunedOf.get(row) ?? []).map(([, reason]) => reason)]);
  return state.techniques.filter((key) => found.has(key));
}

/** Shows the node counts for the selected node, if there are any, beside its visits in the recording. */
export function showNodeCosts(panel) {
  const reasons = techniquesAt(panel, panel.selected);
  $("count-node-costs").disabled = reasons.length === 0;
  const costs = panel.selected < panel.model.offset ? undefined : known(panel.recording).get(panel.model.row(panel.selected));
  $("node-costs").hidden = !costs;
  if (!costs) return;
  const {recording} = panel, row = panel.model.row(panel.selected);
  const line = (what, count, value) => tableRow([what, count, recording.score(value)]);
  $("node-costs").tHead.replaceChildren(tableRow([`to depth ${costs.depth}`, "nodes", "value"], "th"));
  $("node-costs").tBodies[0].replaceChildren(
    line("in this search", number(recording.columns.size[row]), recording.columns.value[row]),
    line("searched separately", number(costs.nodes), costs.value),
    ...costs.without.map((one) => line(`without ${one.reason}`, times(one.nodes, costs.nodes), one.value)));
}
