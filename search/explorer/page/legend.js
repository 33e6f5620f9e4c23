// Explanations of keys, symbols and terms.

import {$, make} from "./shared.js";

const KEYS = [
  ["n", "step"], ["b", "step back"], ["space", "run, pause"], ["c", "run to the next cut"], ["r", "reset"], ["e", "to the end"],
  ["← → ↑ ↓", "select sibling, parent, child"], ["Enter", "collapse or expand the selected node"],
  ["[  ]", "move the selected node earlier or later among its siblings"], ["q", "mark the selected node in the quiz"], ["+  −", "zoom"], ["0", "fit the whole tree"],
  ["f", "follow the search"], ["k", "show the code that runs"], ["i", "edit the tree: tap a triangle to add a leaf, or a leaf to change its value"], ["a", "add a child to the selected node"],
  ["v", "change the value of the selected leaf"], ["Del", "remove the pinned node"], ["Ctrl+Z  Ctrl+Y", "undo, redo"], ["Esc", "stop a search"], ["?", "show this table"],
];

const triangle = (up, fill, stroke = "var(--ink)", more = "") =>
  `<polygon points="${up ? "20,4 31,22 9,22" : "20,22 31,4 9,4"}" fill="var(--${fill})" stroke="${stroke}" ${more}/>`;
const SQUARE = '<rect x="11" y="4" width="18" height="18" fill="var(--leaf)" stroke="var(--ink)"/>';

const TREE_SIGNS = [
  [triangle(true, "max"), "MAX is to move"],
  [triangle(false, "min"), "MIN is to move"],
  [SQUARE, "leaf, with its value"],
  [triangle(true, "paper", "var(--cut)", 'stroke-dasharray="4 3"'), "dashed outline: cut off"],
  ['<line x1="2" y1="13" x2="38" y2="13" stroke="var(--cut)" stroke-dasharray="5 4"/><path d="M16 4l6 18M21 4l6 18" stroke="var(--cut)" stroke-width="2"/>', "two strokes: the search cut here"],
  ['<path d="M13 6l14 14M13 20l14 -14" stroke="var(--guess)" stroke-width="3"/>', "your guess in the quiz"],
  ['<text x="20" y="18" text-anchor="middle" font-size="11" fill="currentColor">3 … 7</text>', "below a node: alpha … beta (in lattices, join and meet)"],
];
const CHESS_SIGNS = [
  ['<polygon points="20,2 32,13 20,24 8,13" fill="var(--best)" stroke="var(--ink)"/>', "PV: an exact value is wanted"],
  ['<polygon points="10,9 16,3 24,3 30,9 30,17 24,23 16,23 10,17" fill="var(--stop)" stroke="var(--ink)"/>', "CUT: a cutoff is expected"],
  ['<polygon points="20,2 30,11 30,22 10,22 10,11" fill="var(--leaf)" stroke="var(--ink)"/>', "ALL: no move is expected to beat alpha"],
  [SQUARE, "quiescence: captures, promotions, a few checks, and evasions of check"],
  ['<text x="20" y="18" text-anchor="middle" font-size="11" fill="var(--chosen)">✂12</text>', "number of moves skipped here"],
  ['<text x="20" y="18" text-anchor="middle" font-size="9" fill="currentColor">0.1…0.3</text>', "below a node: alpha … beta, in pawns, seen by the side to move"],
];
const COMMON_SIGNS = [
  [triangle(true, "paper", "var(--faint)"), "hollow: not reached yet"],
  ['<line x1="2" y1="13" x2="38" y2="13" stroke="var(--path)" stroke-width="4"/>', "path to the current node, which is circled"],
  ['<line x1="2" y1="13" x2="38" y2="13" stroke="var(--best)" stroke-width="4" stroke-dasharray="9 3"/>', "principal variation, shown at the end"],
  ['<circle cx="20" cy="13" r="10" fill="none" stroke="var(--chosen)" stroke-width="2" stroke-dasharray="3 3"/>', "selected"],
];

const WORDS = [
  ["ply", "a move of one side: one level of the tree"],
  ["minimax", "MAX takes the child with the largest value, MIN the child with the smallest, from the leaves up to the root. Minimax visits every node."],
  ["window", "the interval from alpha to beta: only values inside it can still change the value of the root"],
  ["cut", "The value so far has reached the other side's bound. That side will avoid this node, so the node's other children cannot matter."],
  ["principal variation", "best play by both sides"],
];
const TREE_WORDS = [
  ["alpha", "the value that MAX is sure of, here or at a node above"],
  ["beta", "the value to which MIN can limit MAX, here or at a node above"],
  ["≥7, ≤3", "worth at least 7, at most 3: the search stopped before it knew the exact value, and did not need it"],
  ["visited", "a node that the search reached; a node that is visited twice counts twice"],
  ["valued", "a leaf whose value the search needed; alpha-beta skips many leaves"],
  ["prior", "how likely a policy, learned from other positions, thinks that a move is the best one, before any search"],
  ["table hit", "a visit that needed no search, because the table contained a usable value from an earlier search of the position"],
  ["join, meet", "in a lattice, the least element that is at least both values, and the greatest that is at most both. For numbers, they are max and min."],
];
const CHESS_WORDS = [
  ["alpha, beta", "All numbers are from the side to move: alpha is what it is sure of, beta what the opponent can limit it to. One ply further, the two change places and signs."],
  ["prior", "how likely the engine's policy, which learned from its own games, thinks that a quiet move is the best one, before any search"],
  ["+0.50, #3", "half a pawn ahead; mate in 3 moves"],
  ["fail high, fail low", "a value of at least beta, which causes a cutoff; a value of at most alpha"],
  ["quiescence, stand pat", "a search of captures, promotions and a few checks. The side to move may stop there (stand pat) and take the evaluation as its value."],
  ["null move, futility", "Skip what the evaluation already decides: a side so far ahead that it could pass, or so far behind that no quiet move helps."],
  ["SEE", "static exchange evaluation: the material that a series of captures on one square wins or loses"],
  ["EBF", "effective branching factor: as many moves at each node would give a tree of as many nodes"],
  ["saved", "the nodes that a technique saved. A negative number means that the search without it took fewer nodes here."],
  ["depth", "the number of plies still to be searched"],
  ["reduction, extension", "the number of plies by which a move is searched less or more deeply than others"],
  ["move number 1", "the first move searched at a node; the better the order, the more often this move cuts"],
  ["minimal tree", "the smallest tree that a search without selectivity must visit to prove the value"],
  ["visit", "one search of a position. A position that is searched again, with another depth or window, is one node with several visits."],
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
