// The recording of a chess search: one iteration's tree at a time, in the order in which its nodes were entered.

import {Moves, placementAfter} from "./position.js";
import {count, number as shown, state} from "./shared.js";
import {DocumentError, opened} from "./trace.js";

/** The reasons that count as cuts: each ends a node before all its moves are searched. */
const CUTS = new Set(["mate-distance", "table", "reverse-futility", "null-move", "probcut", "multi-cut",
  "cutoff", "stand-pat"]);
// The shapes and colours of MAX and MIN would mislead: the numbers are from the side to move.
const LOOKS = {PV: ["diamond", "best"], CUT: ["octagon", "stop"], ALL: ["house", "leaf"]};
const MOVE_SEARCHES = new Set(["move", "full-depth", "open-window"]);
// If a tree has more nodes than this, most nodes off the principal variation are collapsed at first.
const SHOWN_AT_ONCE = 400;

function demand(condition, message) {
  if (!condition) throw new DocumentError(`not a recording that this page can show: ${message}`);
}

/** The recording in a chess document. */
class Recording {
  constructor(document) {
    this.document = document;
    const {nodes} = document;
    this.count = nodes.parent.length;
    nodes.parent.forEach((parent, row) => demand(parent < row, `row ${row} has the parent ${parent}, which does not precede it`));
    const {moves, reasons, types, stages, searches, scores, position, pruned} = document;
    Object.assign(this, {columns: nodes, moves, reasons, types, stages, searches, scores, position});
    this.played = new Moves();
    // Chess960 castling rights have letters that the library does not know; castling needs no rights to be played.
    this.start = document.chess960 ? position.replace(/^(\S+ \S+) \S+/, "$1 -") : position;
    this.fens = new Map([[-1, this.start]]);
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

  /** Returns the position of a row (FEN); "" if it is unknown. */
  fen(row) {
    if (!this.fens.has(row)) {
      const before = this.fen(this.columns.parent[row]), move = this.move(row);
      this.fens.set(row, move ? this.played.play(before, move).fen : before);
    }
    return this.fens.get(row);
  }

  /** Returns a move (UCI) at a row in standard notation. */
  san(row, move) { return this.played.play(this.fen(row), move).san; }

  /** Returns the prior of the move that leads to a row, such as "44 %", or "" if there is none. */
  prior(row) { return typeof this.columns.prior?.[row] === "number" ? `${Math.round(this.columns.prior[row])} %` : ""; }

  /** Returns the move that leads to a row in standard notation; "" if the position is that of the row's parent. */
  name(row) { return this.move(row) && this.san(this.columns.parent[row], this.move(row)); }

  /** Returns the moves that lead to a row, as text; "" for the root. */
  path(row) {
    const path = [];
    for (; row >= 0; row = this.columns.parent[row]) if (this.move(row)) path.push(this.name(row));
    return path.reverse().join(" ");
  }

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
    this.pinned = -1;
  }

  /** The node that the page describes: the one that the user has pinned, or else the current one. */
  get selected() { return this.pinned >= 0 ? this.pinned : this.current; }
  set selected(node) { this.pinned = node; }

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
    this.pinned = -1;
    // The nodes that are collapsed, except while the current node is below them.
    this.unfolded = new Set();
    this.#order();
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
      if (!this.line.has(node) && this.model.children(node).length && this.model.depth(node) > 1) this.view.collapsed.add(node);
    }
    this.view.arrange();
  }

  /** Makes the steps: a node begins (the node) and ends (its complement); a node without children does both at once. */
  #order() {
    const {model} = this, open = [], steps = [];
    this.begins = new Int32Array(model.count);
    this.ends = new Int32Array(model.count).fill(1 << 30);
    const close = () => {
      const node = open.pop();
      this.ends[node] = steps.push(~node) - 1;
    };
    for (let node = model.offset; node < model.count; node++) {
      while (open.length && open.at(-1) !== model.parent(node)) close();
      this.begins[node] = steps.push(node) - 1;
      if (model.children(node).length) open.push(node);
      else this.ends[node] = this.begins[node];
    }
    while (open.length) close();
    this.steps = Int32Array.from(steps);
  }

  /** Returns whether a node has begun or ended. */
  begun(node) { return this.begins[node] < this.index; }
  ended(node) { return this.ends[node] < this.index; }

  /** Returns {best, alpha} of a node at this moment: the best value of the moves searched so far, and alpha with it. */
  now(node) {
    const {recording, model} = this, row = model.row(node), {columns} = recording, below = model.children(node);
    const key = (child) => recording.searches[columns.search[model.row(child)]]?.key;
    // In quiescence, a side that is not in check may also stand pat.
    let best = columns.quiescence[row] ? columns.estimate?.[row] ?? columns.eval[row] : null;
    below.forEach((child, i) => {
      const next = below[i + 1], value = columns.value[model.row(child)];
      const isRepeated = next !== undefined && key(next) !== "move" && MOVE_SEARCHES.has(key(next)) && recording.move(model.row(next)) === recording.move(model.row(child));
      if (this.ended(child) && MOVE_SEARCHES.has(key(child)) && !isRepeated && value !== null) best = Math.max(best ?? -value, -value);
    });
    return {best, alpha: Math.max(columns.alpha[row], best ?? columns.alpha[row])};
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

  get length() { return this.steps?.length ?? 0; }
  get current() {
    const step = this.index > 0 ? this.steps[this.index - 1] : 0;
    return this.index > 0 ? (step < 0 ? ~step : step) : this.model.offset;
  }

  seek(index) {
    this.index = Math.max(0, Math.min(index, this.length));
    this.onPath = new Set();
    if (this.index > 0 && this.index < this.length) {
      for (let node = this.current; node >= 0; node = this.model.parent(node)) this.onPath.add(node);
    }
    if (state.follow) this.#unfold();
    let shown = this.current;
    while (shown > 0 && !this.view.layout.placed[shown]) shown = this.model.parent(shown);
    this.shownCurrent = shown;
    this.view.draw();
  }

  /** Expands the nodes above the current one, and collapses those that an earlier step expanded. */
  #unfold() {
    const {collapsed} = this.view, {unfolded} = this, before = collapsed.size;
    let changed = false;
    for (const node of unfolded) {
      if (this.onPath.has(node) && node !== this.current) continue;
      unfolded.delete(node);
      collapsed.add(node);
      changed = true;
    }
    for (const node of this.onPath) {
      if (node === this.current || !collapsed.delete(node)) continue;
      unfolded.add(node);
      changed = true;
    }
    if (changed || collapsed.size !== before) this.view.rearrange(this.current);
  }

  nextCut(index) {
    for (; index < this.length; index++) {
      const step = this.steps[index], node = step < 0 ? ~step : step;
      if (this.ends[node] === index && CUTS.has(this.recording.end(this.model.row(node)).key)) return index + 1;
    }
    return Infinity;
  }

  /** Pins a node and shows it; -1 unpins. */
  select(node) {
    this.pinned = node;
    if (node >= 0) this.view.expandTo(node);
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
    return this.recording.name(row) || (this.recording.columns.parent[row] < 0 ? "root" : "again");
  }

  look(node) {
    const {recording, model} = this;
    if (node < model.offset) {
      return {shape: "square", tint: "leaf", value: "", window: "", label: this.name(node), reached: true,
        onPath: this.onPath.has(node), onLine: true, chosen: node === this.pinned, note: ""};
    }
    const row = model.row(node), columns = recording.columns;
    const [shape, tint] = LOOKS[recording.type(row)] ?? LOOKS.PV;
    const reached = this.begun(node), finished = this.ended(node);
    const notes = [];
    if (finished && columns.moves_pruned[row]) notes.push(`✂${columns.moves_pruned[row]}`);
    if (this.view.collapsed.has(node)) notes.push(`+${recording.size[row] - 1}`);
    return {
      shape: columns.quiescence[row] ? "square" : shape,
      tint: columns.quiescence[row] ? "leaf" : tint,
      value: finished ? recording.score(columns.value[row]) : "",
      window: reached ? `${recording.score(finished ? columns.alpha[row] : this.now(node).alpha)} … ${recording.score(columns.beta[row])}` : "",
      label: `${this.name(node)} ${recording.prior(row)}`.trim(),
      reached,
      skipped: false,
      cut: false,
      onPath: this.onPath.has(node),
      onLine: this.index === this.length && this.line.has(node),
      current: this.index > 0 && node === this.shownCurrent,
      chosen: node === this.pinned,
      note: notes.join(" "),
    };
  }

  describe() {
    if (this.index === 0) {
      return `The search to depth ${this.iteration.depth}, before its first visit; ${shown(this.model.rows)} visits are recorded. ` +
        "Step (n) visits positions in the order in which Secateur did; the scissors (c) run to the next cut.";
    }
    const step = this.steps[this.index - 1], node = step < 0 ? ~step : step;
    const parts = [step >= 0 ? this.#beginning(node) : "", this.ends[node] === this.index - 1 ? this.#ending(node) : ""];
    if (this.index === this.length) {
      const line = this.recording.path(this.model.row([...this.line].at(-1)));
      parts.push(`The search to depth ${this.iteration.depth} is over: no more cuts follow.${line && ` Best play: ${line}.`}`);
    }
    return `${this.recording.path(this.model.row(node)) || "The root"}: ${parts.filter(Boolean).join(" ")}`;
  }

  /** Returns what is known when a node begins. */
  #beginning(node) {
    const {recording} = this, row = this.model.row(node), columns = recording.columns;
    const again = recording.searches[columns.search[row]], expected = recording.types[columns.type[row]]?.text ?? "";
    return `${columns.quiescence[row] ? "quiescence" : `depth ${columns.depth[row]}`}, window ` +
      `${recording.score(columns.alpha[row])} to ${recording.score(columns.beta[row])}, ${recording.type(row)} (${expected})` +
      `${again && again.key !== "move" && again.key !== "window" ? `; ${again.text}` : ""}.`;
  }

  /** Returns how a node ended. */
  #ending(node) {
    const {recording} = this, row = this.model.row(node), {cutter, value} = recording.columns, end = recording.end(row);
    const move = cutter[row] > 0 && end.key === "cutoff" ? ` It was move number ${cutter[row]}.` : "";
    return `Result ${recording.score(value[row])}: ${end.text}.${move}`;
  }

  /** Returns facts about a node at this moment as [name, text] pairs. */
  facts(node) {
    if (node < this.model.offset) return [["node", this.name(node)]];
    const {recording} = this, row = this.model.row(node), columns = recording.columns;
    const line = ["line", recording.path(row) || "root"];
    if (!this.begun(node)) return [line, ["state", "not reached yet"]];
    const ended = this.ended(node), {best, alpha} = this.now(node);
    const facts = [
      line,
      ["state", ended ? "done" : "being searched"],
      ["type", `${recording.type(row)}${columns.quiescence[row] ? ", quiescence" : ""}`],
      ["depth", `${columns.depth[row]} (ply ${columns.ply[row]})`],
      ["alpha", recording.score(ended ? columns.alpha[row] : alpha)],
      ["beta", recording.score(columns.beta[row])],
      ["evaluation", recording.score(columns.eval[row])],
      [ended ? "value" : "best so far", recording.score(ended ? columns.value[row] : best)],
      ["reduction", `${columns.reduction[row]}`],
      ["extension", `${columns.extension[row]}`],
      ["stage", recording.stages[columns.stage[row]]?.text ?? "–"],
      ...(recording.prior(row) ? [["prior", recording.prior(row)]] : []),
    ];
    if (!ended) return facts;
    facts.push(["ended", `${recording.end(row).key}: ${recording.end(row).text}`],
      ["moves", `${columns.moves_searched[row]} searched, ${columns.moves_pruned[row]} skipped`],
      ["below", count(recording.size[row] - 1, "visit")]);
    const byReason = new Map();
    for (const [move, reason] of recording.prunedOf.get(row) ?? []) byReason.set(reason, [...(byReason.get(reason) ?? []), recording.san(row, move)]);
    for (const [reason, moves] of byReason) facts.push([reason, moves.join(" ")]);
    if (columns.moves_pruned[row] > 0) {
      const cost = columns.moves_pruned[row] * recording.costOfMove(row);
      facts.push(["saved", `about ${shown(Math.round(cost))} visits, estimated from the moves searched at this depth`]);
    }
    return facts;
  }

  /** Returns {node, name, bounds: [alpha, beta, value so far]} for each node from the root to `node`, at this moment. */
  windows(node) {
    const {recording} = this, {alpha, beta, value} = recording.columns;
    return this.path(node).filter((at) => at >= this.model.offset).map((at) => {
      const row = this.model.row(at), ended = this.ended(at), now = this.begun(at) ? this.now(at) : null;
      const bounds = now ? [ended ? alpha[row] : now.alpha, beta[row], ended ? value[row] : now.best] : [null, null, null];
      return {node: at, name: this.name(at), bounds: bounds.map((score) => recording.score(score))};
    });
  }

  /** Returns {placement, last}: the first field of the FEN at a node, and the move that led there ("" at the root). */
  board(node) {
    const line = node < this.model.offset ? [] : this.recording.line(this.model.row(node));
    return {placement: placementAfter(this.recording.position, line), last: line.at(-1) ?? ""};
  }
}
