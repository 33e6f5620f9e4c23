// The code of the search: the lines that the current event comes from, and the values of their variables.

import {$, first, isChess, make, state} from "./shared.js";

// The variables whose values are known. `node.value` stands for the value so far in the search of lattices.
const VARIABLES = /(?<![\w.])(?:node\.|entry\.)?(?:alpha|beta|best|certain|floor|value)\b(?!\(| is )/g;

// The code that is listed, the elements of its lines by function, and those of the lines that are marked.
let listed = null, rows = [], marked = [];

export function toggleCode(isWanted = !state.isCodeShown) {
  state.isCodeShown = isWanted;
  $("show-code").setAttribute("aria-expanded", String(state.isCodeShown));
  showCode();
}

/** Shows the code of the first search at this moment, if the user wants to see it. */
export function showCode() {
  const panel = first(), code = isChess() ? null : panel?.trace?.code;
  $("figure-code").hidden = !state.isCodeShown || !code;
  if ($("figure-code").hidden) return;
  if (listed !== code) list(code);
  const at = panel.index - 1;
  for (const row of marked) row.classList.remove("running");
  marked = [];
  if (at < 0) return $("derivation").replaceChildren("Step (n) to see which lines run.");
  const [index, from, to] = code.spans[code.places[at]];
  marked = rows[index].slice(from, to + 1);
  for (const row of marked) row.classList.add("running");
  const box = $("listing"), top = marked[0].offsetTop, end = marked.at(-1).offsetTop + marked.at(-1).offsetHeight;
  if (top < box.scrollTop || end > box.scrollTop + box.clientHeight) box.scrollTop = top - box.clientHeight / 3;
  const {lines} = code.functions[index];
  const isMin = code.view === "mover" && !panel.trace.isMax(frameOf(panel.trace, at));
  const texts = derivation(panel.trace, at, code.view, lines, lines.slice(from, to + 1));
  if (isMin && texts.length) texts.push("MIN sees every value with the opposite sign.");
  $("derivation").replaceChildren(texts.join("\n") || " ");
}

function list(code) {
  listed = code;
  rows = code.functions.map(({lines}) => lines.map((line) => make("code", `${line}\n`)));
  $("caption-code").textContent = [...new Set(code.functions.map(({file}) => file.split("/").at(-1)))].join(", ");
  $("listing").replaceChildren(...rows.map((lines) => {
    const block = make("pre");
    block.append(...lines);
    return block;
  }));
}

/** Returns the node in whose visit an event happens. A search announces the window of a child before it visits the child. */
function frameOf(trace, at) {
  const node = trace.events.node[at], reason = trace.reasons[trace.events.reason[at]]?.key;
  return reason === "null-window" || reason === "re-search" ? trace.parent[node] : node;
}

const negated = (text) => (!text || Number(text) === 0 ? text
  : text.startsWith("-") ? text.slice(1).replace("∞", "+∞") : `-${text.replace("+", "")}`);

/** Returns the values of the variables before and after event `at`, as {before, after}. */
function variables(trace, at, view, lines) {
  const {events} = trace, frame = frameOf(trace, at), kind = trace.kind(at);
  const isNegated = view === "mover" ? !trace.isMax(frame) : view === "root" && !trace.rootIsMax;
  const seen = (text) => (isNegated ? negated(text) : text);
  // A search has a running alpha beside the one of its window, or changes the window itself.
  const hasFloor = lines.some((line) => /\b(floor|certain) = /.test(line));
  const isBack = kind === "update" || kind === "keep";
  let start = at, previous = -1;
  for (; start > 0 && (events.node[start] !== frame || trace.kind(start) !== "enter"); start--) {
    if (previous < 0 && start < at && events.node[start] === frame) previous = start;
  }
  if (previous < 0 && start < at) previous = start;
  const values = (event, result) => {
    const ends = (index) => (isNegated ? [events.beta[index], events.alpha[index]] : [events.alpha[index], events.beta[index]])
      .map((code) => seen(trace.text(code)));
    const [floor, beta] = ends(event), [entered] = ends(start);
    return {alpha: hasFloor ? entered : floor, beta, floor, certain: kind === "leaf" && event === at ? result : floor, best: result, "node.value": result, "entry.value": result};
  };
  // The value so far before the first child, if the search has one.
  const none = view === "max" ? trace.text(trace.isMax(frame) ? events.alpha[0] : events.beta[0]) : "";
  const isInside = kind === "window" && frame !== events.node[at];
  const sofar = (event) => seen(trace.text(events.value[event])) || none;
  const before = previous < 0 ? {} : values(previous, sofar(previous));
  const after = isInside ? {...before} : values(at, sofar(at));
  if (isBack || isInside) before.value = after.value = seen(trace.text(events.value[at - 1]));
  else if (kind === "leave") after.value = after.best;
  return {before, after};
}

/** Returns the lines `chosen` of the function `lines` with values in place of variables. */
function derivation(trace, at, view, lines, chosen) {
  const kind = trace.kind(at);
  if (kind === "iteration") return [];
  const {before, after} = variables(trace, at, view, lines);
  const known = kind === "cut" || kind === "leave" || kind === "table" ? {...after} : {...before};
  const filled = (text) => text.replace(VARIABLES, (name, place) => {
    const value = known[name] || name;
    if (text[place - 1] !== "-") return value;
    return value.startsWith("-") ? `(${value})` : value.replace("+", "");
  });
  return chosen.flatMap((line) => {
    const text = line.trim();
    if (text.startsWith("#")) return [];
    if (text.startsWith("def ")) return after.alpha ? [`alpha = ${after.alpha}, beta = ${after.beta}`] : [];
    const [, target, right] = text.match(/^([\w.]+) = (.*)$/) ?? [];
    if (target) {
      const result = kind === "window" && target === "value" ? "" : after[target] ?? "", found = filled(right);
      known[target] = result;
      if (!result) return found === right ? [] : [`${target} = ${found}`];
      return [found === result || found === right ? `${target} = ${result}` : `${target} = ${found} = ${result}`];
    }
    const found = filled(text);
    if (text.startsWith("if ")) return [`${found.slice(0, -1)}  →  ${kind === "keep" ? "no" : "yes"}`];
    return found === text ? [] : [found];
  });
}
