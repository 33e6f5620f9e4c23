// A trace document and its replay: the state of the search after any number of events.

export const UNSEEN = 0, OPEN = 1, DONE = 2, SKIPPED = 3;
export const STATUS_NAMES = ["not reached", "being searched", "done", "cut off"];

const FORMAT = "secateur trace";
const VERSION = 1;
const EVENT_COLUMNS = ["kind", "node", "alpha", "beta", "value", "reason", "other"];

export class DocumentError extends Error {}

function demand(condition, message) {
  if (!condition) throw new DocumentError(`not a trace that this page can show: ${message}`);
}

/** Checks a parsed JSON value and returns its kind, "tree" or "chess"; throws DocumentError. */
export function kindOf(document) {
  demand(document !== null && typeof document === "object" && !Array.isArray(document), "it is not a JSON object");
  demand(document.format === FORMAT, `"format" is not "${FORMAT}"`);
  demand(document.version === VERSION, `"version" is ${JSON.stringify(document.version)}, not ${VERSION}`);
  demand(document.kind === "tree" || document.kind === "chess", `"kind" is neither "tree" nor "chess"`);
  return document.kind;
}

/** Returns `new Kind(document)`, where Kind is Trace or Recording. Throws DocumentError if the document is damaged. */
export function opened(Kind, document) {
  try {
    return new Kind(document);
  } catch (error) {
    throw error instanceof DocumentError ? error : new DocumentError(`damaged document: ${error.message}`);
  }
}

/** A tree document as typed arrays. A replay does not modify it. */
export class Trace {
  constructor(document) {
    this.document = document;
    const {tree, events, texts, kinds, reasons} = document;
    const n = this.nodes = tree.parent.length;
    this.parent = Int32Array.from(tree.parent);
    this.depth = new Int32Array(n);
    this.size = new Int32Array(n).fill(1);
    this.children = Array.from({length: n}, () => []);
    for (let node = 0; node < n; node++) {
      const parent = this.parent[node];
      demand(parent < node, `node ${node} has the parent ${parent}, which does not precede it`);
      if (node === 0) continue;
      this.depth[node] = this.depth[parent] + 1;
      this.children[parent].push(node);
    }
    for (let node = n - 1; node > 0; node--) this.size[this.parent[node]] += this.size[node];
    this.height = this.depth.reduce((a, b) => Math.max(a, b), 0);
    this.rootIsMax = tree.mover === "max";
    this.leaf = tree.leaf;
    this.label = Array.isArray(tree.label) ? tree.label.map((text) => String(text ?? "")) : [];
    this.priors = tree.prior ?? [];
    this.texts = texts;
    this.reasons = reasons;
    this.kinds = kinds;
    this.sentences = document.sentences ?? {};
    this.length = events.kind.length;
    this.events = {};
    for (const name of EVENT_COLUMNS) this.events[name] = Int32Array.from(events[name]);
    this.statistics = document.statistics;
    this.line = Int32Array.from(document.result.line);
    // Documents of earlier versions have no code.
    const {code} = document;
    const isWhole = code?.places?.length === this.length && code.places.every((place) => code.functions[code.spans[place][0]]);
    this.code = isWhole ? code : null;
    if (document.order) this.#reorder(document.order);
  }

  /** Sorts children into the order in which they are visited; `order` is a preorder of all nodes. */
  #reorder(order) {
    const rank = new Int32Array(this.nodes).fill(-1);
    order.forEach((node, index) => {
      rank[node] = index;
    });
    for (const children of this.children) children.sort((a, b) => rank[a] - rank[b]);
  }

  isMax(node) {
    return (this.depth[node] % 2 === 0) === this.rootIsMax;
  }

  kind(index) {
    return this.kinds[this.events.kind[index]];
  }

  text(index) {
    return index < 0 ? "" : this.texts[index];
  }

  name(node) {
    return this.label[node] || (node ? `#${node}` : "root");
  }

  /** Returns the prior of the move that leads to a node, such as "44 %", or "" if there is none. */
  prior(node) { return typeof this.priors[node] === "number" ? `${Math.round(this.priors[node])} %` : ""; }

  /** Returns the name of a node with its prior, as it is drawn. */
  title(node) { return `${this.name(node)} ${this.prior(node)}`.trim(); }

  /** Returns the name of a node in a sentence, where a bare number would look like a value. */
  spoken(node) { return this.name(node).replace(/^#(?=\d+$)/, "node #"); }

  /** Returns the nodes from the root to `node`. */
  path(node) {
    const path = [];
    for (; node >= 0; node = this.parent[node]) path.push(node);
    return path.reverse();
  }

  /** Returns the index after the first cut at or after `index`, or Infinity if there is none. */
  nextCut(index) {
    while (index < this.length && this.kind(index) !== "cut") index++;
    return index < this.length ? index + 1 : Infinity;
  }
}

// The state of each node: the cells of node v begin at v * FIELDS.
const STATUS = 0, ALPHA = 1, BETA = 2, VALUE = 3, ENTERED = 4, ANSWERED = 5, OWN = 6, ABOVE = 7, SKIPPED_WITH = 8, BOUND = 9, FIELDS = 10;
// What BOUND says of the value of a node.
const SIGNS = ["", "≈", "≥", "≤"], WORDS = ["", "about ", "at least ", "at most "], ESTIMATE = 1, LOWER = 2, UPPER = 3;
// The state of the whole search, in the cells after those of the nodes.
const COUNTERS = ["visited", "evaluated", "pruned", "cuts", "table_hits", "current"];

/** The state of a search after its first `index` events. The state depends only on `index`.
 *
 * All state is in one array of cells. For each cell that an event changes, a journal stores the cell's index and old
 * content, so that stepping back restores the state exactly.
 */
export class Replay {
  constructor(trace) {
    this.trace = trace;
    const n = trace.nodes;
    this.base = n * FIELDS;
    this.cells = new Int32Array(this.base + COUNTERS.length);
    for (let node = 0; node < n; node++) {
      const cell = node * FIELDS;
      for (const field of [ALPHA, BETA, VALUE, ENTERED, OWN, ABOVE, SKIPPED_WITH]) this.cells[cell + field] = -1;
    }
    this.cells[this.base + COUNTERS.indexOf("current")] = -1;
    this.journal = new Int32Array(1 << 16);
    this.written = 0;
    this.starts = new Int32Array(trace.length + 1);
    this.index = 0;
  }

  status(node) { return this.cells[node * FIELDS + STATUS]; }
  alpha(node) { return this.trace.text(this.cells[node * FIELDS + ALPHA]); }
  beta(node) { return this.trace.text(this.cells[node * FIELDS + BETA]); }
  value(node) { return this.trace.text(this.cells[node * FIELDS + VALUE]); }
  /** Returns the value as the drawing shows it, such as "≥7" after a cut, or "≈7" at the horizon of a shallow search. */
  sign(node) { return this.value(node) && SIGNS[this.cells[node * FIELDS + BOUND]] + this.value(node); }
  /** Returns the value in words, such as "at least 7". */
  words(node) { return this.value(node) && WORDS[this.cells[node * FIELDS + BOUND]] + this.value(node); }
  /** Returns the index of the event at which the latest visit of the node cut or used the table, or -1. */
  own(node) { return this.cells[node * FIELDS + OWN]; }
  /** Returns the index of the event at the parent that caused the node to be skipped, or -1. */
  above(node) { return this.status(node) === SKIPPED ? this.cells[node * FIELDS + ABOVE] : -1; }
  counter(name) { return this.cells[this.base + COUNTERS.indexOf(name)]; }
  get current() { return this.counter("current"); }

  /** Returns whether a visit of the node has begun. */
  visited(node) { return this.cells[node * FIELDS + ENTERED] >= 0; }

  /** Returns whether a node was not reached because it or an ancestor was cut off. */
  skipped(node) {
    if (this.status(node) !== UNSEEN) return this.status(node) === SKIPPED;
    for (let at = this.trace.parent[node]; at >= 0; at = this.trace.parent[at]) {
      if (this.status(at) !== UNSEEN) return this.status(at) === SKIPPED;
    }
    return false;
  }

  seek(index) {
    index = Math.max(0, Math.min(index, this.trace.length));
    while (this.index < index) this.#forward();
    while (this.index > index) this.#back();
  }

  #set(cell, value) {
    const old = this.cells[cell];
    if (old === value) return;
    if (this.written + 2 > this.journal.length) {
      const longer = new Int32Array(this.journal.length * 2);
      longer.set(this.journal);
      this.journal = longer;
    }
    this.journal[this.written++] = cell;
    this.journal[this.written++] = old;
    this.cells[cell] = value;
  }

  #count(name, amount = 1) {
    const cell = this.base + COUNTERS.indexOf(name);
    this.#set(cell, this.cells[cell] + amount);
  }

  #back() {
    const start = this.starts[--this.index];
    while (this.written > start) {
      this.written -= 2;
      this.cells[this.journal[this.written]] = this.journal[this.written + 1];
    }
  }

  #forward() {
    const {trace, cells} = this;
    const {events} = trace;
    const i = this.index;
    this.starts[i] = this.written;
    const node = events.node[i], cell = node * FIELDS;
    const kind = trace.kind(i);
    if (events.alpha[i] >= 0) this.#set(cell + ALPHA, events.alpha[i]);
    if (events.beta[i] >= 0) this.#set(cell + BETA, events.beta[i]);
    if (kind === "enter") {
      this.#enter(node, cell, i);
    } else if (kind === "leaf") {
      this.#count("evaluated");
      this.#set(cell + VALUE, events.value[i]);
      this.#set(cell + STATUS, DONE);
      // A reason means that the value is only an estimate.
      this.#set(cell + BOUND, events.reason[i] ? ESTIMATE : 0);
    } else if (kind === "update" || kind === "keep") {
      this.#set(cell + VALUE, events.value[i]);
    } else if (kind === "cut") {
      this.#count("cuts");
      this.#set(cell + OWN, i);
      if (!trace.document.lattice) this.#set(cell + BOUND, trace.isMax(node) ? LOWER : UPPER);
      this.#skip(node, i);
    } else if (kind === "table") {
      if (trace.reasons[events.reason[i]]?.key !== "table-move") {
        this.#set(cell + OWN, i);
        this.#count("table_hits");
        this.#set(cell + ANSWERED, 1);
        this.#set(cell + VALUE, events.value[i]);
      }
    } else if (kind === "leave") {
      this.#set(cell + VALUE, events.value[i]);
      this.#set(cell + BOUND, {lower: LOWER, upper: UPPER}[trace.reasons[events.reason[i]]?.key] ?? 0);
      this.#set(cell + STATUS, DONE);
      if (cells[cell + ANSWERED]) this.#skip(node, cells[cell + OWN]);
    }
    this.#set(this.base + COUNTERS.indexOf("current"), node);
    this.index++;
  }

  #enter(node, cell, i) {
    const {cells} = this;
    this.#count("visited");
    // An earlier search may have skipped this node and the nodes below it. They may be visited now.
    const end = this.status(node) === SKIPPED ? node + this.trace.size[node] : node;
    for (let below = node; below < end; below++) if (cells[below * FIELDS + SKIPPED_WITH] === node) this.#cover(below, -1);
    this.#set(cell + ENTERED, i);
    this.#set(cell + STATUS, OPEN);
    this.#set(cell + ANSWERED, 0);
    this.#set(cell + OWN, -1);
    this.#set(cell + VALUE, -1);
    this.#set(cell + BOUND, 0);
  }

  /** Marks as skipped, by event `i`, the children that this visit of `node` has not entered. */
  #skip(node, i) {
    const {trace, cells} = this;
    const since = cells[node * FIELDS + ENTERED];
    for (const child of trace.children[node]) {
      const cell = child * FIELDS;
      if (cells[cell + ENTERED] > since) continue;
      this.#set(cell + STATUS, SKIPPED);
      this.#set(cell + ABOVE, i);
      for (let below = child; below < child + trace.size[child]; below++) {
        // Count only nodes that no search has reached and no other cut has counted.
        if (cells[below * FIELDS + ENTERED] < 0 && cells[below * FIELDS + SKIPPED_WITH] < 0) this.#cover(below, child);
      }
    }
  }

  /** Counts a node as skipped with the branch whose top is `top`. If `top` is -1, no longer counts the node as skipped. */
  #cover(node, top) {
    this.#set(node * FIELDS + SKIPPED_WITH, top);
    this.#count("pruned", top < 0 ? -1 : 1);
  }
}

/** Returns one or two sentences about event `index` of a trace. The document contains the sentences, so that every
 * program shows the same ones; the Python counterpart is in `tests/explorer/page/reference.py`. */
export function describe(trace, index) {
  const {events} = trace;
  const other = events.other[index], kind = trace.kind(index);
  const reason = trace.reasons[events.reason[index]];
  const windowed = kind === "enter" && events.alpha[index] >= 0;
  const template = reason?.key ? reason.text : trace.sentences[windowed ? "enter-window" : kind] ?? kind;
  const fields = {
    node: trace.spoken(events.node[index]),
    other: other >= 0 ? trace.spoken(other) : "",
    alpha: trace.text(events.alpha[index]),
    beta: trace.text(events.beta[index]),
    value: trace.text(events.value[index]),
  };
  return template.replace(/\{(\w+)\}/g, (whole, name) => fields[name] ?? whole).replace(/^node #|(?<=\. )node #/g, "Node #");
}
