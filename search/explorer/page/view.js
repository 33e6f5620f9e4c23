// A tree on a canvas. Users can fit, pan and zoom it, select and collapse nodes, and reorder them by dragging.

import {CanvasSurface, drawTree, Layout, LEVEL, palette, SvgSurface} from "./draw.js";

const MARGIN = 46;
const MOST_ZOOM = 1.8;
// The least height of a level on the screen, in pixels, however deep the tree is.
const LEAST_LEVEL = 13;
// However low the browser's window is, its height does not make a fitted tree smaller than this scale.
const LEAST_FIT = 0.65;
// The scale at which a view that follows the search shows its current node.
const READABLE = 0.8;
const TAP_DISTANCE = 6, DOUBLE_TAP = 350;
// SVG drawings of larger trees show only what is on the screen.
const MOST_EXPORTED = 20000;

export class TreeView {
  /** `handlers` has select(node), toggled(), moved(node, index among its siblings), mayMove(), which returns whether nodes
   * can be dragged, and isMarking(), which returns whether a double tap counts as two taps. */
  constructor(canvas, handlers) {
    this.canvas = canvas;
    this.handlers = handlers;
    this.collapsed = new Set();
    this.pointers = new Map();
    this.model = null;
    this.drawn = 0;
    this.kx = 1;
    this.tx = this.ty = 0;
    new ResizeObserver(() => this.resize()).observe(canvas.parentElement);
    canvas.addEventListener("wheel", (event) => this.#wheel(event), {passive: false});
    for (const type of ["pointerdown", "pointermove", "pointerup", "pointercancel"]) {
      canvas.addEventListener(type, (event) => this.#pointer(event));
    }
    this.resize();
  }

  /** Shows another tree; `drawTree` describes `look(node)`. With `keep`, position, zoom and collapsed nodes stay the same. */
  show(model, look, keep = false) {
    this.model = model;
    this.look = look;
    if (!keep) this.collapsed = new Set();
    this.arrange();
    if (!keep) this.fit();
    this.draw();
  }

  arrange() {
    if (this.model) this.layout = new Layout(this.model, this.collapsed, this.layout);
  }

  resize() {
    const box = this.canvas.parentElement.getBoundingClientRect();
    const ratio = window.devicePixelRatio || 1;
    const width = Math.max(50, Math.floor(box.width)), height = Math.max(50, Math.floor(box.height));
    if (width === this.width && height === this.height && ratio === this.ratio) return;
    const first = this.width === undefined || this.fitted;
    Object.assign(this, {width, height, ratio});
    this.canvas.width = width * ratio;
    this.canvas.height = height * ratio;
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    if (first) this.fit();
    this.draw();
  }

  /** The largest vertical scale at which all levels are visible. */
  get fitting() {
    return (this.height - 2 * MARGIN - 14) / (Math.max(1, this.layout?.levels ?? 1) * LEVEL);
  }

  /** The vertical scale: the horizontal scale, adjusted to the height of the browser's window. */
  get ky() {
    const {fitting} = this;
    const least = this.isFollowing && this.kx >= READABLE ? 1.1 : LEAST_LEVEL / LEVEL;
    return Math.min(Math.max(this.kx, Math.min(fitting, 2), least), Math.max(1.1, Math.min(fitting, 2)));
  }

  /** The place of the root in a fitted view. */
  get top() { return Math.max(MARGIN, 42 * this.kx + 6); }

  fit() {
    if (!this.layout) return;
    this.fitted = true;
    this.isHeld = this.isFollowing = false;
    // In a low browser window a tree is drawn smaller, but its texts must stay readable.
    this.kx = Math.min(1.7, (this.width - 24) / Math.max(this.layout.width, 1), Math.max(this.fitting, LEAST_FIT));
    this.tx = (this.width - this.layout.width * this.kx) / 2 - this.layout.left[this.model.root] * this.kx;
    // Large texts need more room above the root.
    this.ty = this.top;
    this.draw();
  }

  zoom(factor, x = this.width / 2, y = this.height / 2) {
    if (!this.layout) return;
    this.fitted = false;
    this.isHeld = true;
    const before = this.ky, least = Math.min(1, this.width / Math.max(this.layout.width, 1)) / 2;
    const kx = Math.min(MOST_ZOOM, Math.max(least, this.kx * factor));
    this.tx = x - (x - this.tx) * (kx / this.kx);
    this.kx = kx;
    this.ty = y - (y - this.ty) * (this.ky / before);
    this.draw();
  }

  pan(dx, dy) {
    this.fitted = false;
    this.tx += dx;
    this.ty += dy;
    this.draw();
  }

  /** Moves the view so that a node is visible at a readable size. If the user has chosen a zoom, keeps that zoom. */
  follow(node) {
    if (!this.layout || node < 0) return;
    if (!this.isHeld && this.kx < READABLE) {
      this.fitted = false;
      this.isFollowing = true;
      this.kx = READABLE;
      this.tx = this.width / 2 - this.layout.x[node] * this.kx;
      this.ty = this.height / 2 - this.layout.y[node] * this.ky;
    }
    this.reveal(node);
  }

  /** Moves the view, if necessary, so that a node is visible, or its nearest ancestor that is not hidden. */
  reveal(node) {
    if (!this.layout || node < 0) return;
    while (node >= 0 && !this.layout.placed[node]) node = this.model.parent(node);
    if (node < 0) return;
    const x = this.layout.x[node] * this.kx + this.tx, y = this.layout.y[node] * this.ky + this.ty;
    // In a fitted view, nodes may lie at the edges.
    const marginX = this.fitted ? 0 : Math.min(60, this.width / 4), marginY = this.fitted ? 0 : Math.min(60, this.height / 4);
    if (x < marginX || x > this.width - marginX) this.tx += this.width / 2 - x;
    // A view that follows the search leaves more room for the nodes above than for those below.
    const [high, low] = this.isFollowing ? [0.55 * this.height, 0.75 * this.height] : [marginY, this.height - marginY];
    if (y < high) this.ty += high - y;
    if (y > low) this.ty += low - y;
    if (this.isFollowing) this.ty = Math.min(this.ty, this.top);
    this.draw();
  }

  toggle(node) {
    if (!this.model || !this.model.children(node).length) return;
    if (this.collapsed.has(node)) this.collapsed.delete(node);
    else this.collapsed.add(node);
    this.rearrange(node);
    this.handlers.toggled?.();
  }

  /** Collapses the nodes `depth` plies below the root (none if `depth` is negative), and expands all other nodes. */
  collapseBelow(depth) {
    this.collapsed = new Set();
    if (depth >= 0) {
      for (let node = 0; node < this.model.count; node++) {
        if (this.model.depth(node) === depth && this.model.children(node).length) this.collapsed.add(node);
      }
    }
    this.arrange();
    this.fit();
  }

  /** Expands every ancestor of a node. */
  expandTo(node) {
    let changed = false;
    for (let at = this.model.parent(node); at >= 0; at = this.model.parent(at)) changed = this.collapsed.delete(at) || changed;
    if (changed) this.arrange();
  }

  /** Lays out the tree again, and keeps `node`, or its nearest ancestor that was shown, where it is on the screen. */
  rearrange(node) {
    while (node > 0 && !this.layout.placed[node]) node = this.model.parent(node);
    const x = this.layout.x[node] * this.kx, y = this.layout.y[node] * this.ky;
    this.arrange();
    this.tx += x - this.layout.x[node] * this.kx;
    this.ty += y - this.layout.y[node] * this.ky;
    this.draw();
  }

  draw() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.paint();
    });
  }

  /** Draws without waiting for the next frame. */
  paint() {
    const context = this.canvas.getContext("2d");
    const colours = palette(this.canvas);
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.fillStyle = colours.paper;
    context.fillRect(0, 0, this.width, this.height);
    if (!this.layout) return;
    this.drawn = drawTree(new CanvasSurface(context), this.layout, this.model, this.look, this.window(), colours);
    if (this.drag?.node !== undefined && this.drag.moved) {
      context.fillStyle = colours.chosen;
      context.fillRect(this.drag.x - 1.5, this.drag.y - 26, 3, 52);
    }
  }

  window() {
    return {tx: this.tx, ty: this.ty, kx: this.kx, ky: this.ky, width: this.width, height: this.height};
  }

  /** Returns the whole tree as SVG text, or only what is on the screen if the tree is very large. */
  svg() {
    const colours = palette(this.canvas);
    const whole = this.layout.order.length <= MOST_EXPORTED;
    const view = whole ? this.#wholeWindow() : this.window();
    const surface = new SvgSurface(view.width, view.height, colours.paper);
    drawTree(surface, this.layout, this.model, this.look, view, colours, whole);
    return surface.toString();
  }

  /** Returns the whole tree as a PNG blob, or only what is on the screen if the tree does not fit a canvas. */
  async png() {
    const colours = palette(this.canvas);
    const whole = this.#wholeWindow();
    const view = Math.max(whole.width, whole.height) * 2 <= 16000 ? whole : this.window();
    const canvas = document.createElement("canvas");
    canvas.width = view.width * 2;
    canvas.height = view.height * 2;
    const context = canvas.getContext("2d");
    context.scale(2, 2);
    context.fillStyle = colours.paper;
    context.fillRect(0, 0, view.width, view.height);
    drawTree(new CanvasSurface(context), this.layout, this.model, this.look, view, colours, view === whole);
    return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  }

  #wholeWindow() {
    return {
      tx: 20 - this.layout.left[this.model.root], ty: MARGIN, kx: 1, ky: 1,
      width: Math.ceil(this.layout.width + 40), height: Math.ceil(this.layout.bottom + 2 * MARGIN),
    };
  }

  /** Returns the place [x, y] of a node on the canvas. */
  place(node) { return [this.layout.x[node] * this.kx + this.tx, this.layout.y[node] * this.ky + this.ty]; }

  /** Returns the node that is drawn nearest to a point of the canvas, or -1 if no node is close to it. */
  nodeAt(x, y) {
    if (!this.layout) return -1;
    const level = Math.round((y - this.ty) / (LEVEL * this.ky));
    let best = -1, nearest = 26;
    const stack = [this.model.root];
    while (stack.length) {
      const node = stack.pop();
      const left = this.layout.left[node] * this.kx + this.tx, right = this.layout.right[node] * this.kx + this.tx;
      if (x < left - 30 || x > right + 30) continue;
      const depth = Math.round(this.layout.y[node] / LEVEL);
      const away = Math.hypot(this.layout.x[node] * this.kx + this.tx - x, this.layout.y[node] * this.ky + this.ty - y);
      if (away < nearest) {
        nearest = away;
        best = node;
      }
      if (depth < level + 1) {
        for (const child of this.model.children(node)) if (this.layout.placed[child]) stack.push(child);
      }
    }
    return best;
  }

  #wheel(event) {
    event.preventDefault();
    const box = this.canvas.getBoundingClientRect();
    this.zoom(Math.exp(-event.deltaY * 0.0015), event.clientX - box.left, event.clientY - box.top);
  }

  #pointer(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = event.clientX - box.left, y = event.clientY - box.top;
    if (event.type === "pointerdown") {
      this.canvas.setPointerCapture(event.pointerId);
      this.pointers.set(event.pointerId, {x, y});
      if (this.pointers.size === 1) this.#begin(x, y);
      else this.drag = null;
      return;
    }
    const last = this.pointers.get(event.pointerId);
    if (!last) return;
    if (event.type === "pointermove") {
      if (this.pointers.size === 2) this.#pinch(event.pointerId, last, x, y);
      else if (this.drag) this.#move(last, x, y);
      last.x = x;
      last.y = y;
      return;
    }
    this.pointers.delete(event.pointerId);
    if (event.type === "pointerup" && this.drag) this.#end(x, y);
    this.drag = null;
    this.draw();
  }

  #begin(x, y) {
    const node = this.nodeAt(x, y);
    const movable = node > 0 && this.handlers.mayMove?.();
    this.drag = {startX: x, startY: y, x, y, moved: false, node: movable ? node : undefined};
  }

  #move(last, x, y) {
    const {drag} = this;
    if (!drag.moved && Math.hypot(x - drag.startX, y - drag.startY) < TAP_DISTANCE) return;
    drag.moved = true;
    drag.x = x;
    drag.y = y;
    if (drag.node === undefined) this.pan(x - last.x, y - last.y);
    else this.draw();
  }

  #pinch(id, last, x, y) {
    const [other] = [...this.pointers].filter(([key]) => key !== id).map(([, point]) => point);
    const before = Math.hypot(last.x - other.x, last.y - other.y), after = Math.hypot(x - other.x, y - other.y);
    this.pan((x - last.x) / 2, (y - last.y) / 2);
    if (before > 10 && after > 10) this.zoom(after / before, (x + other.x) / 2, (y + other.y) / 2);
  }

  #end(x, y) {
    const {drag} = this;
    if (drag.moved && drag.node !== undefined) {
      const siblings = this.model.children(this.model.parent(drag.node)).filter((node) => node !== drag.node);
      const index = siblings.filter((node) => this.layout.x[node] * this.kx + this.tx < x).length;
      this.handlers.moved(drag.node, index);
    } else if (!drag.moved) {
      const node = this.nodeAt(x, y);
      if (node < 0) return this.handlers.select(-1);
      const now = performance.now();
      if (node === this.tapped && now - this.tappedAt < DOUBLE_TAP && !this.handlers.isMarking?.()) {
        this.tapped = -1;
        this.toggle(node);
      } else {
        this.tapped = node;
        this.tappedAt = now;
        this.handlers.select(node);
      }
    }
  }
}
