// One tree with its search: the document, its replay and the drawing.

import {count, isGuessing} from "./shared.js";
import {describe, DONE, OPEN, Replay, opened, SKIPPED, STATUS_NAMES, Trace} from "./trace.js";
import {TreeView} from "./view.js";

const SIGN_WIDTH = 6.4;

/** The shape of a tree for layout and drawing. */
class TreeModel {
  constructor(trace) {
    this.trace = trace;
    this.count = trace.nodes;
    this.root = 0;
    const longest = trace.texts.reduce((most, text) => Math.max(most, text.length), 2);
    this.inner = Math.min(190, Math.max(44, (2 * Math.min(longest, 14) + 3) * SIGN_WIDTH));
  }

  children(node) { return this.trace.children[node]; }
  parent(node) { return this.trace.parent[node]; }
  depth(node) { return this.trace.depth[node]; }
  width(node) {
    const leaf = this.trace.leaf[node];
    const text = Math.max(leaf === null ? 0 : leaf.length, this.trace.title(node).length);
    return leaf === null ? Math.max(this.inner, text * SIGN_WIDTH) : Math.max(36, text * 8 + 12);
  }
}

export class Panel {
  constructor(letter, handlers) {
    this.canvas = document.getElementById(`tree-${letter}`);
    this.caption = document.getElementById(`caption-${letter}`);
    this.view = new TreeView(this.canvas, handlers);
    this.pinned = -1;
    this.guesses = null;
    this.trace = null;
  }

  /** The node that the page describes: the one that the user has pinned, or else the current one. */
  get selected() { return this.pinned >= 0 ? this.pinned : Math.max(0, this.current); }
  set selected(node) { this.pinned = node; }

  /** Shows a tree document from its beginning, with `title` ("A: ") before its texts. If it is damaged, throws DocumentError and changes nothing. */
  load(document, title = "") {
    const trace = opened(Trace, document);
    const samePlaces = this.view.model === this.model && this.trace?.nodes === trace.nodes && this.trace?.document.title === document.title &&
      this.trace.children.every((children, node) => children.every((child, i) => child === trace.children[node][i]));
    this.trace = trace;
    this.title = title;
    this.measured = null;
    this.replay = new Replay(trace);
    this.model = new TreeModel(trace);
    if (!samePlaces || this.pinned >= trace.nodes) this.pinned = -1;
    this.line = new Set(trace.line);
    this.onPath = new Set();
    const order = ["", "as given", undefined].includes(document.order_name) ? "" : `, ${document.order_name}`;
    this.caption.textContent = `${this.title}${document.algorithm_name}${order}`;
    this.view.show(this.model, (node) => this.look(node), samePlaces);
  }

  get length() { return this.trace?.length ?? 0; }
  get index() { return this.replay?.index ?? 0; }
  get current() { return this.replay?.current ?? 0; }

  seek(index) {
    this.replay.seek(index);
    const done = this.index === 0 || this.index === this.length;
    this.onPath = new Set(done ? [] : this.trace.path(this.current));
    this.view.draw();
  }

  nextCut(index) { return this.trace.nextCut(index); }

  describe() {
    const text = this.index === 0 ? this.#beginning() : describe(this.trace, this.index - 1);
    return `${this.title}${text}${this.index > 0 && this.index === this.length ? this.#ending() : ""}`;
  }

  #ending() {
    const {trace} = this, move = trace.line[1];
    return ` The search is over: no more cuts follow.${move > 0 ? ` ${trace.isMax(0) ? "MAX" : "MIN"} should move to ${trace.spoken(move)}.` : ""}`;
  }

  #beginning() {
    const {nodes, statistics: {leaves}, document} = this.trace;
    const size = `${count(nodes, "node")}, ${count(leaves, "leaf", "leaves")}`;
    const sides = document.lattice ? "MAX takes the join of its children's values, MIN the meet."
      : "MAX wants the largest value, MIN the smallest.";
    if (isGuessing()) return `${size}. ${sides}`;
    const cut = this.nextCut(0) < Infinity ? "the scissors (c) run to the first cut" : "this search cuts nothing";
    return `${size}, none visited yet. ${sides} Step (n) visits the first node; ${cut}.`;
  }

  /** Pins a node and shows it; -1 unpins. */
  select(node) {
    this.pinned = node;
    if (node >= 0) this.view.expandTo(node);
    this.view.draw();
  }

  /** Returns {node, name, bounds: [alpha, beta, value so far]} for each node from the root to `node`, at this moment. */
  windows(node) {
    const {trace, replay} = this;
    return trace.path(node).map((at) => {
      const bounds = replay.skipped(at) ? ["", "", ""] : [replay.alpha(at), replay.beta(at), replay.value(at)];
      return {node: at, name: trace.name(at), bounds: bounds.map((text) => text || "–")};
    });
  }

  look(node) {
    const {trace, replay} = this;
    const status = replay.status(node), leaf = trace.leaf[node];
    const reached = status === OPEN || status === DONE;
    const skipped = status === SKIPPED || (!reached && replay.skipped(node));
    const alpha = reached && leaf === null ? replay.alpha(node) : "";
    return {
      shape: leaf !== null ? "square" : trace.isMax(node) ? "up" : "down",
      tint: leaf !== null ? "leaf" : trace.isMax(node) ? "max" : "min",
      value: leaf ?? (reached ? replay.sign(node) : ""),
      window: alpha ? `${alpha} … ${replay.beta(node)}` : "",
      label: trace.title(node),
      reached,
      skipped,
      cut: status === SKIPPED,
      onPath: this.onPath.has(node),
      onLine: replay.index === trace.length && this.line.has(node),
      current: replay.index > 0 && node === replay.current,
      chosen: node === this.pinned,
      guessed: this.guesses?.has(node) ?? false,
      note: this.view.collapsed.has(node) ? `+${trace.size[node] - 1}` : "",
    };
  }

  /** Returns facts about a node as [name, text] pairs. */
  facts(node, inLattice) {
    const {trace, replay} = this;
    const kind = trace.leaf[node] !== null ? "leaf" : trace.isMax(node) ? "MAX" : "MIN";
    const skipped = replay.skipped(node);
    const cutOff = replay.visited(node) ? "cut off in the latest visit" : "cut off, never visited";
    const status = skipped ? cutOff : STATUS_NAMES[replay.status(node)];
    const facts = [
      ["node", `${trace.name(node)} (${kind})`],
      ["depth", `${trace.depth[node]} of ${trace.height}`],
      [inLattice ? "alpha (join)" : "alpha", skipped ? "–" : replay.alpha(node) || "–"],
      [inLattice ? "beta (meet)" : "beta", skipped ? "–" : replay.beta(node) || "–"],
      ["value", (skipped ? "" : replay.words(node)) || trace.leaf[node] || "–"],
      ["state", status],
      ["below", count(trace.size[node] - 1, "node")],
    ];
    if (trace.prior(node)) facts.splice(2, 0, ["prior", trace.prior(node)]);
    const event = this.#reasonOf(node);
    if (event >= 0) facts.push(["why", describe(trace, event)]);
    return facts;
  }

  /** Returns the index of the event that explains why the node was skipped or ended early, or -1 if there is none. */
  #reasonOf(node) {
    for (let at = node; at >= 0; at = this.trace.parent[at]) {
      if (this.replay.above(at) >= 0) return this.replay.above(at);
      if (this.replay.status(at) === DONE || this.replay.status(at) === OPEN) return this.replay.own(at);
    }
    return -1;
  }
}
