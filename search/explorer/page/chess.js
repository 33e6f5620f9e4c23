// The recording of a chess search: one iteration's tree at a time, in the order in which its nodes were entered.

import {DocumentError, opened} from "./trace.js";
import {Position} from "./vendor/cm-chessboard/src/model/Position.js";

/** The reasons that count as cuts: each ends a node before all its moves are searched. */
const CUTS = new Set(["mate-distance", "table", "razoring", "reverse-futility", "null-move", "probcut", "multi-cut",
  "cutoff", "stand-pat"]);
const LOOKS = {PV: ["diamond", "best"], CUT: ["up", "min"], ALL: ["down", "max"]};
const MOVE_SEARCHES = new Set(["move", "full-depth", "open-window"]);
// How a null move is written in recordings, and how the page shows it.
const NULL_MOVE = "0000", PASS = "pass";
// If a tree has more nodes than this, most nodes off the principal variation are collapsed at first.
const SHOWN_AT_ONCE = 400;

function demand(condition, message) {
  if (!condition) throw new DocumentError(`not a recording that this page can show: ${message}`);
}

/** Returns a move as the page shows it: UCI notation, or a word for a null move. */
function shownMove(move) { return move === NULL_MOVE ? PASS : move; }

/** The recording in a chess document. */
class Recording {
  constructor(document) {
    this.document = document;
    const {nodes} = document;
    this.count = nodes.parent.length;
    nodes.parent.forEach((parent, row) => demand(parent < row, `row ${row} has the parent ${parent}, which does not precede it`));
    const {moves, reasons, types, stages, searches, scores, position, pruned} = document;
    Object.assign(this, {columns: nodes, moves, reasons, types, stages, searches, scores, position});
    this.prunedOf = new Map();
    pruned.node.forEach((node, i) => {
      if (!this.prunedOf.has(node)) this.prunedOf.set(node, []);
      this.prunedOf.get(node).push([moves[pruned.move[i]] ?? "?", reasons[pruned.reason[i]]?.key ?? "?"]);
    });
    this.iterations = document.iterations.filter((iteration) => iteration.first_node >= 0 && iteration.last_node < this.count);
    demand(this.iterations.length > 0, "no iteration has nodes");
    this.#measure();
  }

  /** Counts the rows in the subtree of each row, and adds up the visits of searched moves by their parent's depth. */
  #measure() {
    const {parent, depth} = this.columns;
    this.size = new Int32Array(this.count).fill(1);
    for (let row = this.count - 1; row >= 0; row--) if (parent[row] >= 0) this.size[parent[row]] += this.size[row];
    this.sums = new Map();
    for (let row = 0; row < this.count; row++) {
      const search = this.searches[this.columns.search[row]]?.key ?? "move";
      if (parent[row] < 0 || !MOVE_SEARCHES.has(search)) continue;
      const key = this.#kind(parent[row], depth[parent[row]]);
      const sum = this.sums.get(key) ?? [0, 0];
      sum[0] += this.size[row];
      sum[1] += search === "move" ? 1 : 0;
      this.sums.set(key, sum);
    }
  }

  #kind(row, depth) { return `${this.columns.quiescence[row] ? "q" : ""}${depth}`; }

  /** Returns the mean visits per searched move at this row's depth or the next lower depth with such moves, or 1. */
  costOfMove(row) {
    for (let depth = this.columns.depth[row]; depth >= 0; depth--) {
      const sum = this.sums.get(this.#kind(row, depth));
      if (sum && sum[1]) return sum[0] / sum[1];
    }
    return 1;
  }

  move(row) { return this.columns.move[row] >= 0 ? this.moves[this.columns.move[row]] : ""; }
  end(row) { return this.reasons[this.columns.end[row]] ?? {key: "?", text: "unknown"}; }
  type(row) { return this.types[this.columns.type[row]]?.key ?? "PV"; }

  /** Returns the moves from the root to a row. A repeated search of a position adds no move. */
  line(row) {
    const line = [];
    for (; row >= 0; row = this.columns.parent[row]) if (this.move(row)) line.push(this.move(row));
    return line.reverse();
  }

  /** Returns the moves that lead to a row, as text; "" for the root. */
  path(row) { return this.line(row).map(shownMove).join(" "); }

  score(value) {
    if (value === null || value === undefined) return "–";
    const {infinite, mate, mate_bound: bound} = this.scores;
    if (Math.abs(value) >= infinite) return value > 0 ? "+∞" : "-∞";
    if (value >= bound) return `#${Math.floor((mate - value + 1) / 2)}`;
    if (value <= -bound) return `#-${Math.floor((mate + value) / 2)}`;
    return `${value < 0 ? "" : "+"}${(value / 100).toFixed(2)}`;
  }
}

/** The rows of one iteration as a tree. If the root was searched several times, an extra node joins these searches. */
class IterationModel {
  constructor(recording, iteration) {
    this.first = iteration.first_node;
    this.rows = iteration.last_node - iteration.first_node + 1;
    let roots = 0;
    for (let row = this.first; row <= iteration.last_node; row++) if (recording.columns.parent[row] < 0) roots++;
    this.offset = roots > 1 ? 1 : 0;
    this.count = this.rows + this.offset;
    this.root = 0;
    this.above = new Int32Array(this.count).fill(-1);
    this.depths = new Int32Array(this.count);
    this.below = Array.from({length: this.count}, () => []);
    for (let node = this.offset; node < this.count; node++) {
      const parent = recording.columns.parent[this.row(node)];
      const up = parent >= this.first ? this.node(parent) : this.offset ? 0 : -1;
      if (up < 0) continue;
      this.above[node] = up;
      this.depths[node] = this.depths[up] + 1;
      this.below[up].push(node);
    }
  }

  row(node) { return node - this.offset + this.first; }
  node(row) { return row - this.first + this.offset; }
  children(node) { return this.below[node]; }
  parent(node) { return this.above[node]; }
  depth(node) { return this.depths[node]; }
  width() { return 84; }
}

export class ChessPanel {
  /** `canvas`, `caption` and `view` are shared with the panel of a tree. */
  constructor(canvas, caption, view) {
    this.canvas = canvas;
    this.caption = caption;
    this.view = view;
    this.selected = 0;
  }

  load(document) {
    this.recording = opened(Recording, document);
    this.choose(this.recording.iterations.length - 1);
  }

  /** Shows recorded iteration number `number` (from 0), from its beginning. */
  choose(number) {
    const {recording} = this;
    this.number = number;
    this.iteration = recording.iterations[number];
    this.model = new IterationModel(recording, this.iteration);
    this.index = 0;
    this.selected = this.model.offset;
    this.onPath = new Set();
    this.line = this.#principal();
    const remarks = [...(this.iteration.complete === false ? ["stopped before it was complete"] : []),
      ...(recording.document.truncated ? ["the recording is full: some nodes are missing"] : [])];
    this.caption.textContent = `${recording.document.engine ?? "Recording"}: depth ${this.iteration.depth}, ${this.iteration.score}` +
      (remarks.length ? ` (${remarks.join("; ")})` : "");
    this.view.show(this.model, (node) => this.look(node));
    if (this.model.count > SHOWN_AT_ONCE) this.#collapse();
    this.view.fit();
  }

  /** Collapses all inner nodes that are off the principal variation and more than one level below the root. */
  #collapse() {
    for (let node = 0; node < this.model.count; node++) {
      const off = !this.line.has(node) && !this.line.has(this.model.parent(node));
      if (off && this.model.children(node).length) this.view.collapsed.add(node);
      else if (!this.line.has(node) && this.model.children(node).length && this.model.depth(node) > 1) this.view.collapsed.add(node);
    }
    this.view.arrange();
  }

  #principal() {
    const line = new Set();
    const roots = this.model.offset ? this.model.children(0) : [0];
    let node = roots.at(-1);
    if (this.model.offset) line.add(0);
    line.add(node);
    for (const move of this.iteration.line) {
      const next = this.model.children(node).filter((child) => this.recording.move(this.model.row(child)) === move).at(-1);
      if (next === undefined) break;
      line.add(next);
      node = next;
    }
    return line;
  }

  get length() { return this.model?.rows ?? 0; }
  get current() { return this.index > 0 ? this.index - 1 + this.model.offset : 0; }

  seek(index) {
    this.index = Math.max(0, Math.min(index, this.length));
    this.onPath = new Set();
    if (this.index > 0 && this.index < this.length) {
      for (let node = this.current; node >= 0; node = this.model.parent(node)) this.onPath.add(node);
    }
    let shown = this.current;
    while (shown > 0 && !this.view.layout.placed[shown]) shown = this.model.parent(shown);
    this.shownCurrent = shown;
    // Each step selects the current node, also if the user has selected another one.
    if (this.index > 0) this.selected = this.current;
    this.view.draw();
  }

  nextCut() {
    let index = this.index;
    while (index < this.length && !CUTS.has(this.recording.end(this.model.first + index).key)) index++;
    return Math.min(index + 1, this.length);
  }

  select(node) {
    this.selected = node;
    this.view.expandTo(node);
    this.view.draw();
  }

  path(node) {
    const path = [];
    for (; node >= 0; node = this.model.parent(node)) path.push(node);
    return path.reverse();
  }

  name(node) {
    if (node < this.model.offset) return `depth ${this.iteration.depth}`;
    const row = this.model.row(node);
    return shownMove(this.recording.move(row)) || (this.recording.columns.parent[row] < 0 ? "root" : "again");
  }

  look(node) {
    const {recording, model} = this;
    if (node < model.offset) {
      return {shape: "square", tint: "leaf", value: "", window: "", label: this.name(node), reached: true,
        onPath: this.onPath.has(node), onLine: true, chosen: node === this.selected, note: ""};
    }
    const row = model.row(node), columns = recording.columns;
    const [shape, tint] = LOOKS[recording.type(row)] ?? LOOKS.PV;
    const reached = node - model.offset < this.index;
    const finished = reached && node - model.offset + recording.size[row] <= this.index;
    const notes = [];
    if (reached && columns.moves_pruned[row]) notes.push(`✂${columns.moves_pruned[row]}`);
    if (this.view.collapsed.has(node)) notes.push(`+${recording.size[row] - 1}`);
    return {
      shape: columns.quiescence[row] ? "square" : shape,
      tint: columns.quiescence[row] ? "leaf" : tint,
      value: finished ? recording.score(columns.value[row]) : "",
      window: reached ? `${recording.score(columns.alpha[row])} … ${recording.score(columns.beta[row])}` : "",
      label: this.name(node),
      reached,
      skipped: false,
      cut: false,
      onPath: this.onPath.has(node),
      onLine: this.index === this.length && this.line.has(node),
      current: this.index > 0 && node === this.shownCurrent,
      chosen: node === this.selected,
      note: notes.join(" "),
    };
  }

  describe() {
    if (this.index === 0) {
      return `The search to depth ${this.iteration.depth}, before its first visit; ${this.length.toLocaleString("en")} visits are recorded. ` +
        "Step (n) visits positions in the order in which Secateur did; the scissors (c) run to the next cut.";
    }
    return this.sentence(this.current);
  }

  sentence(node) {
    if (node < this.model.offset) return "The root was searched with several windows.";
    const {recording} = this, row = this.model.row(node), columns = recording.columns;
    const line = recording.path(row) || "The root";
    const again = recording.searches[columns.search[row]];
    const cutter = columns.cutter[row] > 0 && recording.end(row).key === "cutoff" ? ` It was move number ${columns.cutter[row]}.` : "";
    const expected = recording.types[columns.type[row]]?.text ?? "";
    return `${line}: ${columns.quiescence[row] ? "quiescence" : `depth ${columns.depth[row]}`}, window ` +
      `${recording.score(columns.alpha[row])} to ${recording.score(columns.beta[row])}, ${recording.type(row)} (${expected})` +
      `${again && again.key !== "move" && again.key !== "window" ? `; ${again.text}` : ""}. ` +
      `Result ${recording.score(columns.value[row])}: ${recording.end(row).text}.${cutter}`;
  }

  facts(node) {
    if (node < this.model.offset) return [["node", this.name(node)]];
    const {recording} = this, row = this.model.row(node), columns = recording.columns;
    const pruned = recording.prunedOf.get(row) ?? [];
    const byReason = new Map();
    for (const [move, reason] of pruned) byReason.set(reason, [...(byReason.get(reason) ?? []), move]);
    const facts = [
      ["line", recording.path(row) || "root"],
      ["type", `${recording.type(row)}${columns.quiescence[row] ? ", quiescence" : ""}`],
      ["depth", `${columns.depth[row]} (ply ${columns.ply[row]})`],
      ["alpha", recording.score(columns.alpha[row])],
      ["beta", recording.score(columns.beta[row])],
      ["evaluation", recording.score(columns.eval[row])],
      ["value", recording.score(columns.value[row])],
      ["reduction", `${columns.reduction[row]}`],
      ["extension", `${columns.extension[row]}`],
      ["stage", recording.stages[columns.stage[row]]?.text ?? "–"],
      ["ended", `${recording.end(row).key}: ${recording.end(row).text}`],
      ["moves", `${columns.moves_searched[row]} searched, ${columns.moves_pruned[row]} skipped`],
      ["below", `${recording.size[row] - 1} visits`],
    ];
    for (const [reason, moves] of byReason) facts.push([reason, moves.join(" ")]);
    if (columns.moves_pruned[row] > 0) {
      const cost = columns.moves_pruned[row] * recording.costOfMove(row);
      facts.push(["saved", `about ${Math.round(cost).toLocaleString("en")} visits, estimated from the moves searched at this depth`]);
    }
    return facts;
  }

  /** Returns {placement, last}: the first field of the FEN at a node, and the move that led there ("" at the root). */
  board(node) {
    const line = node < this.model.offset ? [] : this.recording.line(this.model.row(node));
    return {placement: placementAfter(this.recording.position, line), last: line.at(-1) ?? ""};
  }
}

/** Plays a legal move on a Position of the vendored library, which does not know the rules of chess. */
function play(board, move) {
  const from = move.slice(0, 2), to = move.slice(2, 4), piece = board.getPiece(from), taken = board.getPiece(to);
  if (!piece) return;
  const [colour, kind] = piece, files = to.charCodeAt(0) - from.charCodeAt(0), rank = from[1];
  board.movePiece(from, to);
  if (move[4]) board.setPiece(to, colour + move[4]);
  // A pawn that changes its file onto an empty square captures en passant.
  if (kind === "p" && files && !taken) board.setPiece(to[0] + rank, null);
  // Castling: in Chess960 the king takes its own rook; otherwise it moves two squares.
  if (kind === "k" && (taken === `${colour}r` || Math.abs(files) > 1)) {
    board.setPiece(to, null);
    if (!taken) board.setPiece((files > 0 ? "h" : "a") + rank, null);
    board.setPiece((files > 0 ? "g" : "c") + rank, piece);
    board.setPiece((files > 0 ? "f" : "d") + rank, `${colour}r`);
  }
}

/** Returns the first field of the FEN of the position after `moves` (UCI) from `fen`. */
function placementAfter(fen, moves) {
  const board = new Position(fen.split(" ")[0]);
  for (const move of moves) if (move !== NULL_MOVE) play(board, move);
  return board.getFen();
}
