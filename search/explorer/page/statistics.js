// The table of statistics of trees.

import {$, number, tableRow} from "./dom.js";

const ROWS = [["visited", "nodes visited"], ["evaluated", "leaves valued"], ["pruned", "nodes pruned"], ["cuts", "cuts"],
  ["table_hits", "table hits"]];

/** Counts now and in all of one search or two, beside minimax, and what no search can do without. */
export function showStatistics(panels) {
  const two = panels.length > 1;
  const head = [""];
  panels.forEach((_, i) => head.push(two ? `${"AB"[i]} now` : "now"));
  panels.forEach((_, i) => head.push(two ? `${"AB"[i]} in all` : "in all"));
  head.push("minimax");
  const minimax = (name) => ({visited: "minimax_visited", evaluated: "minimax_evaluated"})[name];
  const rows = ROWS.map(([name, label]) => {
    const cells = [label, ...panels.map((panel) => number(panel.replay.counter(name))),
      ...panels.map((panel) => number(panel.trace.statistics[name])),
      minimax(name) ? number(panels[0].trace.statistics[minimax(name)]) : "0"];
    const row = tableRow(cells);
    for (let i = 1 + panels.length; i < 1 + 2 * panels.length; i++) row.cells[i].classList.add("spoils");
    row.dataset.name = name;
    return row;
  });
  $("statistics").tHead.replaceChildren(tableRow(head, "th"));
  $("statistics").tBodies[0].replaceChildren(...rows);
  const {statistics, document: shown} = panels[0].trace;
  const parts = [];
  if (statistics.minimal_leaves >= 0) parts.push(`No search can do with fewer than ${number(statistics.minimal_leaves)} leaves here.`);
  const {uniform} = statistics;
  if (uniform) {
    const {branching: b, depth: d, bound} = uniform;
    parts.push(`Knuth and Moore: ${b}^${Math.ceil(d / 2)} + ${b}^${Math.floor(d / 2)} − 1 = ${number(bound)} of ${b}^${d} = ${number(statistics.leaves)}.`);
  }
  $("bound").textContent = parts.join(" ");
  $("result").textContent = panels[0].index === panels[0].length
    ? `Value at the root: ${shown.result.value}${two ? ` (B: ${panels[1].trace.document.result.value})` : ""}` : "";
}
