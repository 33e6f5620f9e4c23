// Statistics of trees as a table, and charts by uPlot (a classic script, hence global).

import {$, algorithmOf, count, first, isChess, make, number, tableRow} from "./shared.js";
import {STATUS_NAMES} from "./trace.js";

const ROWS = [["visited", "nodes visited"], ["evaluated", "leaves valued"], ["pruned", "nodes pruned"], ["cuts", "cuts"],
  ["table_hits", "table hits"]];

/** Shows counts of one or two searches (now and in all) and of minimax, and the leaves of the minimal tree. */
export function showStatistics(panels) {
  const two = panels.length > 1;
  const head = ["count"];
  panels.forEach((_, i) => head.push(two ? `${"AB"[i]} now` : "now"));
  panels.forEach((_, i) => head.push(two ? `${"AB"[i]} in all` : "in all"));
  head.push("minimax");
  const minimax = (name) => ({visited: "minimax_visited", evaluated: "minimax_evaluated"})[name];
  const rows = ROWS.map(([name, label]) => {
    // Visits and leaves also as a share of those of minimax.
    const all = minimax(name) ? panels[0].trace.statistics[minimax(name)] : 0;
    const share = (value) => number(value) + (all ? ` (${(100 * value / all).toFixed(value === all ? 0 : 1)}\u00a0%)` : "");
    const cells = [label, ...panels.map((panel) => number(panel.replay.counter(name))),
      ...panels.map((panel) => share(panel.trace.statistics[name])),
      minimax(name) ? number(panels[0].trace.statistics[minimax(name)]) : "0"];
    const row = tableRow(cells);
    for (let i = 1 + panels.length; i < 1 + 2 * panels.length; i++) row.cells[i].classList.add("spoils");
    row.dataset.name = name;
    return row;
  });
  $("statistics").tHead.replaceChildren(tableRow(head, "th"));
  const measured = panels.map((panel) => panel.measured);
  if (measured.every(Boolean)) {
    rows.push(tableRow(["time", ...panels.map(() => ""), ...measured.map(({seconds}) => `${(1000 * seconds).toPrecision(3)} ms`), ""]));
    rows.push(tableRow(["memory", ...panels.map(() => ""), ...measured.map(({bytes}) => `${(bytes / 1024).toPrecision(3)} KiB`), ""]));
  }
  $("statistics").tBodies[0].replaceChildren(...rows);
  const {statistics, document: shown} = panels[0].trace;
  const parts = [];
  if (statistics.minimal_leaves >= 0) parts.push(`Without a transposition table, every search must value at least ${count(statistics.minimal_leaves, "leaf", "leaves")}.`);
  const {uniform} = statistics;
  if (uniform?.depth) {
    const {branching: b, depth: d, bound} = uniform;
    parts.push(`Knuth and Moore: ${b}^${Math.ceil(d / 2)} + ${b}^${Math.floor(d / 2)} − 1 = ${number(bound)} of ${b}^${d} = ${number(statistics.leaves)}.`);
  }
  const {plain, evaluated} = statistics, loses = algorithmOf(shown.algorithm)?.loses;
  if (Number.isInteger(plain)) {
    parts.push(`Alpha-beta alone values ${count(plain, "leaf", "leaves")}, this algorithm ${number(evaluated)}.` +
      (evaluated > plain && loses ? ` ${loses}` : ""));
  }
  $("bound").textContent = parts.join(" ");
  $("result").textContent = panels[0].index === panels[0].length
    ? `Value at the root: ${shown.result.value}${two ? ` (B: ${panels[1].trace.document.result.value})` : ""}` : "";
}

// Larger trees are not described in words: nobody would listen to so many.
const MOST_OUTLINED = 500;

/** Describes the tree at this moment as a list, for those who cannot see the drawing, if the user has opened the list. */
export function showOutline() {
  const panel = first();
  if (!$("outline-box").open || !panel?.trace || isChess()) return;
  const {trace, replay} = panel, items = [];
  if (trace.nodes > MOST_OUTLINED) return $("outline").replaceChildren(make("li", `The tree has ${number(trace.nodes)} nodes, too many for a list.`));
  for (let node = 0; node < trace.nodes; node++) {
    const leaf = trace.leaf[node], value = replay.words(node), alpha = replay.alpha(node);
    const kind = leaf !== null ? `leaf ${leaf}` : trace.isMax(node) ? "MAX" : "MIN";
    const skipped = replay.skipped(node), known = !skipped && leaf === null && value ? `, value ${value}` : "";
    const window = !skipped && alpha && leaf === null ? `, window ${alpha} to ${replay.beta(node)}` : "";
    const status = skipped ? "cut off" : STATUS_NAMES[replay.status(node)];
    const item = make("li", `${trace.name(node)}: ${kind}${known}${window}, ${status}`, {ariaCurrent: String(node === panel.current && replay.index > 0)});
    items.push(item);
    if (node === 0) continue;
    const above = items[trace.parent[node]];
    (above.querySelector("ul") ?? above.appendChild(make("ul"))).append(item);
  }
  $("outline").replaceChildren(items[0]);
}

const POINTS = 400;

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

function axes(below, left) {
  const ink = colour("ink"), grid = {stroke: colour("line"), width: 1};
  const short = (_, values) => values.map((value) => {
    if (value === null) return "";
    const size = Math.abs(value);
    return size >= 1e6 ? `${+(value / 1e6).toPrecision(3)}M` : size >= 1e3 ? `${+(value / 1e3).toPrecision(3)}k` : `${+value.toPrecision(3)}`;
  });
  const common = {stroke: ink, grid, values: short, labelSize: 16, labelFont: "12px sans-serif"};
  return [{...common, label: below, size: 30}, {...common, label: left, size: 44}];
}

function width(element) {
  return Math.max(200, Math.floor(element.getBoundingClientRect().width));
}

/** Removes the former chart of an element, which listens to the window. */
export function clear(element) {
  element.chart?.destroy();
  element.chart = null;
  element.replaceChildren();
}

/** Draws the leaves valued after each event and, as constants, the leaves of minimax and of the minimal tree. */
export function countChart(element, panels) {
  clear(element);
  const traces = panels.map((panel) => panel.trace);
  const longest = Math.max(...traces.map((trace) => trace.length), 1);
  const stride = Math.max(1, Math.ceil(longest / POINTS));
  const x = [];
  for (let event = 0; event <= longest; event += stride) x.push(event);
  if (x.at(-1) !== longest) x.push(longest);
  const data = [x], series = [{label: "events"}];
  const styles = [["accent", []], ["path", [6, 3]]];
  traces.forEach((trace, number) => {
    const leaf = trace.kinds.indexOf("leaf");
    const line = [];
    let seen = 0, at = 0;
    for (const event of x) {
      while (at < Math.min(event, trace.length)) seen += trace.events.kind[at++] === leaf ? 1 : 0;
      line.push(event <= trace.length + stride ? seen : null);
    }
    data.push(line);
    series.push({label: traces.length > 1 ? `${"AB"[number]}: leaves` : "leaves", stroke: colour(styles[number][0]), width: 2, dash: styles[number][1], points: {show: false}});
  });
  const {statistics} = traces[0];
  for (const [label, value, stroke] of [["minimax", statistics.minimax_evaluated, "cut"], ["smallest proof", statistics.minimal_leaves, "best"]]) {
    if (value < 0) continue;
    data.push(x.map(() => value));
    series.push({label, stroke: colour(stroke), width: 1.5, dash: [3, 4], points: {show: false}});
  }
  return element.chart = new uPlot({width: width(element), height: 170, axes: axes("events", "leaves valued"), series, scales: {x: {time: false}}, cursor: {show: false}, legend: {live: false}}, data, element);
}

/** Draws the nodes of each iteration and the estimates for minimax and the minimal tree, on a logarithmic scale. */
export function iterationChart(element, rows) {
  clear(element);
  if (rows.length < 2) return null;
  const column = (name) => rows.map((row) => (row[name] > 0 ? row[name] : null));
  const series = [{label: "depth"}];
  const data = [rows.map((row) => row.depth)];
  for (const [name, label, stroke, dash] of [["nodes", "searched", "accent", []], ["minimax", "minimax", "cut", [3, 4]],
    ["minimal", "minimal tree", "best", [8, 3]]]) {
    if (!rows.some((row) => row[name] > 0)) continue;
    data.push(column(name));
    series.push({label, stroke: colour(stroke), width: 2, dash});
  }
  const [below, left] = axes("depth", "nodes");
  // Every third power of ten has a label.
  const powers = (_, splits) => splits.map((value) => (Math.round(Math.log10(value) * 1e6) % 3e6 === 0 ? value : null));
  return element.chart = new uPlot({width: width(element), height: 190, series, cursor: {show: false}, legend: {live: false},
    axes: [{...below, incrs: [1, 2, 5, 10]}, {...left, filter: powers, grid: {...left.grid, filter: powers}, ticks: {filter: powers},
      values: (_, values) => values.map((value) => (value === null ? "" : `1e${Math.round(Math.log10(value))}`))}],
    scales: {x: {time: false}, y: {distr: 3}}}, data, element);
}
