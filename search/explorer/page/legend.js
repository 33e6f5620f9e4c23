// Keys, signs and words, explained.

import {$, make} from "./shared.js";

const KEYS = [
  ["n", "step"], ["b", "step back"], ["space", "run, pause"], ["c", "run to the next cut"], ["r", "reset"], ["e", "to the end"],
  ["← → ↑ ↓", "select sibling, parent, child"], ["Enter", "collapse or expand the selected node"],
  ["[  ]", "move it earlier or later among its siblings"], ["q", "mark it in the quiz"], ["+  −", "zoom"], ["0", "fit the whole tree"],
  ["f", "follow the search"], ["Esc", "stop what is being searched for the page"], ["?", "this table"],
];

const triangle = (up, fill, stroke = "var(--ink)", more = "") =>
  `<polygon points="${up ? "20,4 31,22 9,22" : "20,22 31,4 9,4"}" fill="var(--${fill})" stroke="${stroke}" ${more}/>`;
const SQUARE = '<rect x="11" y="4" width="18" height="18" fill="var(--leaf)" stroke="var(--ink)"/>';

const TREE_SIGNS = [
  [triangle(true, "max"), "MAX is to move"],
  [triangle(false, "min"), "MIN is to move"],
  [SQUARE, "leaf, with its value"],
  [triangle(true, "paper", "var(--cut)", 'stroke-dasharray="4 3"'), "dashed outline: cut off, never looked at"],
  ['<line x1="2" y1="13" x2="38" y2="13" stroke="var(--cut)" stroke-dasharray="5 4"/><path d="M16 4l6 18M21 4l6 18" stroke="var(--cut)" stroke-width="2"/>', "two strokes: here it was cut"],
  ['<path d="M13 6l14 14M13 20l14 -14" stroke="var(--guess)" stroke-width="3"/>', "your guess in the quiz"],
  ['<text x="20" y="18" text-anchor="middle" font-size="11" fill="currentColor">3 … 7</text>', "below a node: alpha … beta (in lattices join and meet)"],
];
const CHESS_SIGNS = [
  ['<polygon points="20,2 32,13 20,24 8,13" fill="var(--best)" stroke="var(--ink)"/>', "PV: an exact value is wanted"],
  [triangle(true, "min"), "CUT: a cutoff is expected"],
  [triangle(false, "max"), "ALL: no move is expected to beat alpha"],
  [SQUARE, "quiescence: only captures, and ways out of check"],
  ['<text x="20" y="18" text-anchor="middle" font-size="11" fill="var(--chosen)">✂12</text>', "so many moves were skipped here"],
  ['<text x="20" y="18" text-anchor="middle" font-size="9" fill="currentColor">0.1…0.3</text>', "below a node: alpha … beta, in pawns"],
];
const COMMON_SIGNS = [
  [triangle(true, "paper", "var(--faint)"), "hollow: not reached yet"],
  ['<line x1="2" y1="13" x2="38" y2="13" stroke="var(--path)" stroke-width="4"/>', "path to the current node, which has a ring"],
  ['<line x1="2" y1="13" x2="38" y2="13" stroke="var(--best)" stroke-width="4" stroke-dasharray="9 3"/>', "principal variation, at the end"],
  ['<circle cx="20" cy="13" r="10" fill="none" stroke="var(--chosen)" stroke-width="2" stroke-dasharray="3 3"/>', "selected"],
];

const WORDS = [
  ["minimax", "MAX takes the child of the largest value, MIN that of the smallest, leaf by leaf up to the root. It visits everything."],
  ["alpha", "what MAX already has for certain, here or at a node above"],
  ["beta", "what MIN can hold MAX to, here or at a node above"],
  ["window", "from alpha to beta: only values between them can still change the root"],
  ["cut", "a value so far has reached the other side's bound. That side will not come here, so the other children cannot matter."],
  ["principal variation", "best play by both sides"],
];
const TREE_WORDS = [
  ["visited", "a node that the search came to; each visit counts"],
  ["valued", "a leaf whose value the search looked at: what alpha-beta saves"],
  ["table hit", "a position that was met before, by another way, and whose answer was remembered"],
  ["join, meet", "in a lattice: the least that is no less than both, the greatest that is no more. They are max and min of numbers."],
];
const CHESS_WORDS = [
  ["ply, depth", "a ply is one side's move; depth is how many of them are still searched"],
  ["reduction, extension", "plies that a move is searched less, or more, than the others"],
  ["move number 1", "the first move searched at a node: the better the order, the more often it is the one that cuts"],
  ["minimal tree", "what a search must at least visit to be sure of the value"],
  ["visit", "a position may be searched again, with another depth or window: that is one node, and several visits"],
];

export function fillLegend() {
  for (const [key, meaning] of KEYS) {
    const row = $("keys").insertRow();
    row.insertCell().append(...key.split("  ").flatMap((part) => [make("kbd", part), " "]));
    row.append(make("td", meaning, {style: "text-align: left"}));
  }
  for (const [signs, className] of [[TREE_SIGNS, "tree-only"], [CHESS_SIGNS, "chess-only"], [COMMON_SIGNS, ""]]) {
    for (const [drawing, meaning] of signs) {
      const innerHTML = `<svg viewBox="0 0 40 26" aria-hidden="true">${drawing}</svg>`;
      $("legend").appendChild(make("li", "", {className, innerHTML})).append(make("span", meaning));
    }
  }
  for (const [words, className] of [[WORDS, ""], [TREE_WORDS, "tree-only"], [CHESS_WORDS, "chess-only"]]) {
    for (const [word, meaning] of words) $("words").append(make("dt", word, {className}), make("dd", meaning, {className}));
  }
}
