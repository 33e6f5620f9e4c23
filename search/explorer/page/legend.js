// Keys and signs, explained.

export const KEYS = [
  ["n", "step"], ["b", "step back"], ["space", "run, pause"], ["c", "run to the next cut"], ["r", "reset"], ["e", "to the end"],
  ["← → ↑ ↓", "select sibling, parent, child"], ["Enter", "collapse or expand the selected node"],
  ["[  ]", "move it earlier or later among its siblings"], ["q", "mark it in the quiz"], ["+  −", "zoom"], ["0", "fit the whole tree"],
  ["f", "follow the search"], ["?", "this table"],
];

const SIGNS = [
  ['<polygon points="20,4 31,22 9,22" fill="var(--max)" stroke="var(--ink)"/>', "MAX moves (in chess: CUT, a cutoff is expected, orange)"],
  ['<polygon points="20,22 31,4 9,4" fill="var(--min)" stroke="var(--ink)"/>', "MIN moves (in chess: ALL, none is expected, blue)"],
  ['<rect x="11" y="4" width="18" height="18" fill="var(--leaf)" stroke="var(--ink)"/>', "leaf (in chess: quiescence)"],
  ['<polygon points="20,2 32,13 20,24 8,13" fill="var(--best)" stroke="var(--ink)"/>', "in chess: PV, an exact value is wanted"],
  ['<polygon points="20,4 31,22 9,22" fill="var(--paper)" stroke="var(--faint)"/>', "hollow: not reached yet"],
  ['<polygon points="20,4 31,22 9,22" fill="var(--paper)" stroke="var(--cut)" stroke-dasharray="4 3"/>', "dashed outline: cut off, never looked at"],
  ['<line x1="2" y1="13" x2="38" y2="13" stroke="var(--cut)" stroke-dasharray="5 4"/><path d="M16 4l6 18M21 4l6 18" stroke="var(--cut)" stroke-width="2"/>', "two strokes: here it was cut"],
  ['<line x1="2" y1="13" x2="38" y2="13" stroke="var(--path)" stroke-width="4"/>', "path to the current node, which has a ring"],
  ['<line x1="2" y1="13" x2="38" y2="13" stroke="var(--best)" stroke-width="4" stroke-dasharray="9 3"/>', "principal variation, at the end"],
  ['<circle cx="20" cy="13" r="10" fill="none" stroke="var(--chosen)" stroke-width="2" stroke-dasharray="3 3"/>', "selected"],
  ['<path d="M13 6l14 14M13 20l14 -14" stroke="var(--guess)" stroke-width="3"/>', "your guess in the quiz"],
  ['<text x="20" y="18" text-anchor="middle" font-size="11" fill="currentColor">3 … 7</text>', "below a node: alpha … beta (join and meet)"],
];

export function fillLegend(keys, legend, rows) {
  for (const [key, meaning] of rows) {
    const row = keys.insertRow();
    const cell = row.insertCell();
    for (const part of key.split("  ")) {
      const kbd = document.createElement("kbd");
      kbd.textContent = part;
      cell.append(kbd, " ");
    }
    const text = row.insertCell();
    text.textContent = meaning;
    text.style.textAlign = "left";
  }
  for (const [drawing, meaning] of SIGNS) {
    const item = document.createElement("li");
    item.innerHTML = `<svg viewBox="0 0 40 26" aria-hidden="true">${drawing}</svg>`;
    const text = document.createElement("span");
    text.textContent = meaning;
    item.append(text);
    legend.append(item);
  }
}
