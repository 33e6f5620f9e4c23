// What the page shows of a recorded chess search beside its tree.

import {iterationChart} from "./charts.js";
import {$, number, tableRow, times} from "./dom.js";
import {BORDER_TYPE, Chessboard} from "./vendor/cm-chessboard/src/Chessboard.js";

/** Iterations, reasons and statistics of a recording; `choose(i)` shows another iteration. */
export function showRecording(panel, choose) {
  const {recording} = panel;
  const {statistics = {}} = recording.document;
  const buttons = recording.iterations.map((iteration, i) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = iteration.depth;
    button.setAttribute("aria-label", `Iteration of depth ${iteration.depth}`);
    button.setAttribute("aria-pressed", String(i === panel.number));
    button.addEventListener("click", () => choose(i));
    return button;
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
  const share = statistics.first_move_best;
  const facts = [
    ["searched by", recording.document.engine ?? "–"],
    ["evaluation", recording.document.evaluation ?? "–"],
    ["first move best", share === null || share === undefined ? "–" : `${(100 * share).toFixed(1)} %`],
    ["effective branching factor", statistics.branching?.toFixed(2) ?? "–"],
    ["minimax would visit", large(statistics.minimax_estimate)],
    ["minimal tree", large(statistics.minimal_tree)],
    ["nodes searched", number(recording.document.iterations.reduce((sum, iteration) => sum + iteration.nodes, 0))],
    ["visits recorded", number(recording.count)],
  ];
  $("statistics").tHead.replaceChildren();
  $("statistics").tBodies[0].replaceChildren(...facts.map((row) => tableRow(row)));
  $("bound").textContent = "";
  $("result").textContent = "";
  $("chart").replaceChildren();
}

/** What every reason ended, left out and saved; and what the search takes without it, where that was counted. */
export function showPruned(recording) {
  const {statistics = {}, costs} = recording.document;
  const texts = new Map(recording.reasons.map((reason) => [reason.key, reason.text]));
  const counted = new Map((costs?.without ?? []).map((row) => [row.reason, row.nodes]));
  $("pruned-table").tHead.replaceChildren(tableRow(["reason", "ended", "skipped", "saved"], "th"));
  $("pruned-table").tBodies[0].replaceChildren(...(statistics.reasons ?? []).flatMap((row) => {
    const without = counted.has(row.key) ? `without it ${times(counted.get(row.key), costs.nodes)} nodes` : "";
    return [tableRow([row.key, number(row.ended), number(row.skipped), number(row.saved)]), meaning(texts.get(row.key) ?? "", without)];
  }));
  $("count-costs").disabled = !recording.iterations.some((iteration) => iteration.complete);
  $("costs-note").textContent = costs
    ? `Without it: the same search to depth ${costs.depth}, which takes ${number(costs.nodes)} nodes as it is.` : "";
  $("pruned-note").textContent = statistics.costs ?? "";
}

/** A row below another one, over its whole width. */
function meaning(text, without) {
  const row = tableRow([text]);
  row.className = "meaning";
  row.cells[0].colSpan = 4;
  if (without) {
    const count = document.createElement("strong");
    count.textContent = without;
    row.cells[0].append(text ? "; " : "", count);
  }
  return row;
}

let board = null;

/** The position at a node of a recording, with its last move. */
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
  // The side that the search was for sits below.
  const side = panel.recording.position.split(" ")[1] === "b" ? "b" : "w";
  if (board.getOrientation() !== side && !board.boardTurning) board.setOrientation(side);
  $("board").dataset.placement = placement;
  $("board-line").textContent = panel.facts(node)[0][1];
  for (const square of $("board").querySelectorAll("rect.square")) {
    const name = square.getAttribute("data-square");
    square.classList.toggle("move-from", Boolean(last) && name === last.slice(0, 2));
    square.classList.toggle("move-to", Boolean(last) && name === last.slice(2, 4));
  }
}
