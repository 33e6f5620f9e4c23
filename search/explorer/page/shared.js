// The state of the page, and small helpers for its elements.

/** `panels` step together: one or two of `trees`, or `chess`. `request` is the request for the search shown, null if it is
 * unknown; `base` is the order of children, and `hand` maps each reordered node to its children in the new order. */
export const state = {
  panels: [], trees: {}, chess: null,
  request: null, title: "", base: {kind: "given", seed: 1}, hand: {},
  follow: true, isEditing: false, isCodeShown: false, quiz: null, problem: null,
  address: "", examples: [], algorithms: [], lattices: [], techniques: [],
};

/** The algorithm that the page chooses for numbers unless the user chooses another one. */
export const PLAIN = "two-sided";

export const first = () => state.panels[0];
export const isChess = () => state.panels.length > 0 && state.panels[0] === state.chess;
export const position = () => Math.max(0, ...state.panels.map((panel) => panel.index));
export const algorithmOf = (key) => state.algorithms.find((algorithm) => algorithm.key === key);
/** Returns whether the quiz is waiting for marks. */
export const isGuessing = () => state.quiz !== null && !state.quiz.checked;

export const $ = (id) => document.getElementById(id);
export const number = (value) => Number(value).toLocaleString("en");
/** Formats a count and what it counts. */
export const count = (value, one, many = `${one}s`) => `${number(value)} ${value === 1 ? one : many}`;
/** Formats a count and its ratio to the count `usual`. */
export const times = (count, usual) => `${number(count)} (×${(count / Math.max(usual, 1)).toFixed(2)})`;

/** Returns a new element with a text and other properties. */
export const make = (tag, textContent = "", properties = {}) =>
  Object.assign(document.createElement(tag), {textContent, ...properties});

/** Returns a table row with these texts. */
export function tableRow(cells, tag = "td") {
  const row = make("tr");
  row.append(...cells.map((text) => make(tag, text)));
  return row;
}

/** Fills a select with the options `before` and then with rows of {key, name, group}. */
export function fill(select, rows, before = []) {
  select.replaceChildren(...before);
  const groups = new Map([[undefined, select]]);
  for (const {key, name, group: label} of rows) {
    if (!groups.has(label)) groups.set(label, select.appendChild(make("optgroup", "", {label})));
    groups.get(label).append(new Option(name, key));
  }
}

/** Returns the bytes of a response or blob, uncompressed. Some servers uncompress files themselves. */
export async function unzipped(source) {
  const bytes = new Uint8Array(await source.arrayBuffer());
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes.buffer;
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}
