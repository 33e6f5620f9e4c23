// What single techniques of a recorded search save, counted: the server searches again without them.

import * as api from "./api.js";
import {$, number, tableRow, times} from "./dom.js";
import {showPruned} from "./recording.js";
import {isChess, state} from "./state.js";
import {busily} from "./work.js";

// What was counted for nodes, by recording and row.
const counted = new WeakMap();

const known = (recording) => {
  if (!counted.has(recording)) counted.set(recording, new Map());
  return counted.get(recording);
};

/** Asks for searches of the position behind `line` to `depth` plies: as it is, and without each of `reasons`. */
function ask(recording, line, depth, reasons) {
  const {fen, before = [], chess960 = false, evaluation, without = []} = recording.document;
  return api.cost({fen, moves: [...before, ...line], chess960, depth, classical: evaluation === "classical", without, reasons});
}

/** Counts what every technique saves in the whole search, and keeps it in the document. */
export async function countCosts() {
  if (!isChess()) return;
  const {recording} = state.chess, {document} = recording;
  await busily(async () => {
    const complete = document.iterations.filter((iteration) => iteration.complete);
    if (!complete.length) throw new Error("no depth was searched completely: there is nothing to compare with");
    const used = new Set((document.statistics?.reasons ?? []).map((row) => row.key));
    document.costs = await ask(recording, [], complete.at(-1).depth, state.techniques.filter((key) => used.has(key)));
    if (state.chess.recording === recording) showPruned(recording);
  });
}

/** Counts what the techniques save that left something out at the selected node. */
export async function countNodeCosts() {
  if (!isChess()) return;
  const panel = state.chess, {recording} = panel, node = panel.selected;
  const row = panel.model.row(node), reasons = techniquesAt(panel, node);
  await busily(async () => {
    known(recording).set(row, await ask(recording, recording.line(row), recording.columns.depth[row], reasons));
    if (state.chess.recording === recording) showNodeCosts(panel);
  });
}

/** The techniques that ended a node of the main search, or skipped moves there. */
function techniquesAt(panel, node) {
  if (node < panel.model.offset) return [];
  const {recording} = panel, row = panel.model.row(node);
  if (recording.columns.quiescence?.[row] || recording.columns.depth[row] < 1) return [];
  const found = new Set([recording.end(row).key, ...(recording.prunedOf.get(row) ?? []).map(([, reason]) => reason)]);
  return state.techniques.filter((key) => found.has(key));
}

/** Shows what was counted for the selected node, beside what it took in the recording; and whether there is something. */
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
    line("in this search", number(recording.columns.size?.[row] ?? recording.size[row]), recording.columns.value[row]),
    line("searched by itself", number(costs.nodes), costs.value),
    ...costs.without.map((one) => line(`and without ${one.reason}`, times(one.nodes, costs.nodes), one.value)));
}
