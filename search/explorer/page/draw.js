// Draws a tree on a canvas or as SVG: its layout, its surfaces, its nodes and edges.

import {hierarchy, tree as tidy} from "./vendor/d3-hierarchy/d3-hierarchy.min.js";

export const LEVEL = 84;
const GAP = 10;

/** The layout of a tree at scale 1, in pixels: `x`, `y` of each node; `left`, `right`, `low` (bottom) of each subtree.
 *
 * `model` has `count`, `root`, `children(node)` and `width(node)`, the width of a node's text. Children of nodes in
 * the set `collapsed` are left out. `order` lists the nodes that are laid out, parents before their children. The arrays
 * of the layout `old`, which is no longer needed, are used again.
 */
export class Layout {
  constructor(model, collapsed, old = null) {
    const shown = (node) => (collapsed.has(node) ? [] : model.children(node));
    const root = hierarchy(model.root, shown);
    tidy().nodeSize([1, LEVEL]).separation((a, b) => (model.width(a.data) + model.width(b.data)) / 2 + GAP)(root);
    const n = model.count, isFitting = old?.placed.length === n;
    for (const name of ["x", "y", "left", "right", "low"]) this[name] = isFitting ? old[name] : new Float64Array(n);
    this.placed = isFitting ? old.placed : new Uint8Array(n);
    if (isFitting) for (const node of old.order) this.placed[node] = 0;
    this.order = [];
    this.levels = 0;
    root.eachBefore((at) => {
      const node = at.data;
      this.x[node] = at.x;
      this.y[node] = at.y;
      this.left[node] = at.x - model.width(node) / 2;
      this.right[node] = at.x + model.width(node) / 2;
      this.low[node] = at.y;
      this.placed[node] = 1;
      this.order.push(node);
      this.levels = Math.max(this.levels, at.depth);
    });
    for (let i = this.order.length - 1; i >= 0; i--) {
      const node = this.order[i];
      for (const child of shown(node)) {
        this.left[node] = Math.min(this.left[node], this.left[child]);
        this.right[node] = Math.max(this.right[node], this.right[child]);
        this.low[node] = Math.max(this.low[node], this.low[child]);
      }
    }
    this.width = this.right[model.root] - this.left[model.root];
    this.bottom = this.levels * LEVEL;
  }
}

const ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"};
export const escape = (text) => String(text).replace(/[&<>"]/g, (sign) => ESCAPES[sign]);
const FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif";

export class CanvasSurface {
  constructor(context) {
    this.context = context;
  }

  line(x0, y0, x1, y1, colour, width, dash = []) {
    const c = this.context;
    c.beginPath();
    c.moveTo(x0, y0);
    c.lineTo(x1, y1);
    c.strokeStyle = colour;
    c.lineWidth = width;
    c.setLineDash(dash);
    c.stroke();
  }

  /** Fills and strokes the path that has just been drawn. */
  paint(fill, stroke, width, dash) {
    const c = this.context;
    if (fill) {
      c.fillStyle = fill;
      c.fill();
    }
    if (stroke) {
      c.strokeStyle = stroke;
      c.lineWidth = width;
      c.setLineDash(dash);
      c.stroke();
    }
  }

  polygon(points, fill, stroke, width = 1, dash = []) {
    const c = this.context;
    c.beginPath();
    points.forEach(([x, y], i) => (i ? c.lineTo(x, y) : c.moveTo(x, y)));
    c.closePath();
    this.paint(fill, stroke, width, dash);
  }

  circle(x, y, radius, fill, stroke, width = 1, dash = []) {
    const c = this.context;
    c.beginPath();
    c.arc(x, y, radius, 0, 2 * Math.PI);
    this.paint(fill, stroke, width, dash);
  }

  /** Draws centred text. Behind it, a box in the colour `halo` covers lines. */
  text(x, y, text, size, colour, bold = false, halo = "") {
    const c = this.context;
    c.font = `${bold ? "bold " : ""}${size.toFixed(1)}px ${FONT}`;
    c.textAlign = "center";
    c.textBaseline = "middle";
    if (halo) {
      const width = c.measureText(text).width + 2;
      c.fillStyle = halo;
      c.fillRect(x - width / 2, y - size * 0.5, width, size);
    }
    c.fillStyle = colour;
    c.fillText(text, x, y);
  }
}

const short = (number) => Number(number.toFixed(1));

export class SvgSurface {
  constructor(width, height, background) {
    this.parts = [
      `<svg xmlns="http://www.w3.org/2000/svg" width="${Math.ceil(width)}" height="${Math.ceil(height)}" ` +
      `viewBox="0 0 ${Math.ceil(width)} ${Math.ceil(height)}" font-family="${escape(FONT)}">`,
      `<rect width="100%" height="100%" fill="${background}"/>`,
    ];
  }

  #paint(fill, stroke, width, dash) {
    return `fill="${fill || "none"}"` + (stroke ? ` stroke="${stroke}" stroke-width="${short(width)}"` : "") +
      (dash.length ? ` stroke-dasharray="${dash.join(" ")}"` : "");
  }

  line(x0, y0, x1, y1, colour, width, dash = []) {
    this.parts.push(`<line x1="${short(x0)}" y1="${short(y0)}" x2="${short(x1)}" y2="${short(y1)}" ` +
      `${this.#paint("", colour, width, dash)}/>`);
  }

  polygon(points, fill, stroke, width = 1, dash = []) {
    this.parts.push(`<polygon points="${points.map(([x, y]) => `${short(x)},${short(y)}`).join(" ")}" ` +
      `${this.#paint(fill, stroke, width, dash)}/>`);
  }

  circle(x, y, radius, fill, stroke, width = 1, dash = []) {
    this.parts.push(`<circle cx="${short(x)}" cy="${short(y)}" r="${short(radius)}" ` +
      `${this.#paint(fill, stroke, width, dash)}/>`);
  }

  text(x, y, text, size, colour, bold = false, halo = "") {
    const around = halo ? ` stroke="${halo}" stroke-width="4" stroke-linejoin="round" paint-order="stroke"` : "";
    this.parts.push(`<text x="${short(x)}" y="${short(y)}" font-size="${short(size)}" fill="${colour}"${around} ` +
      `text-anchor="middle" dominant-baseline="central"${bold ? ' font-weight="bold"' : ""}>${escape(text)}</text>`);
  }

  toString() {
    return [...this.parts, "</svg>"].join("\n");
  }
}

// A subtree that is narrower on the screen than this number of pixels is drawn as one wedge.
const WEDGE = 5;
// The least scales at which windows and labels (WINDOW) and values (TEXT) are drawn; the current label always is.
const WINDOW_SCALE = 0.62, TEXT_SCALE = 0.34;
const RADIUS = 17;
// The largest scale of a node, however far the user zooms in.
const MOST_SCALE = 1.3;

/** Returns the colours of the page's theme by their meaning. */
export function palette(element) {
  const style = getComputedStyle(element);
  const names = ["ink", "faint", "paper", "max", "min", "leaf", "stop", "path", "cut", "best", "chosen", "guess", "on-node", "line"];
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

/** Returns the points of a shape. The shape alone, without colours, distinguishes MAX, MIN, leaves and PV nodes. */
function outline(shape, x, y, r, half) {
  switch (shape) {
    case "up": return [[x, y - r * 1.1], [x + r * 1.15, y + r * 0.8], [x - r * 1.15, y + r * 0.8]];
    case "down": return [[x, y + r * 1.1], [x + r * 1.15, y - r * 0.8], [x - r * 1.15, y - r * 0.8]];
    case "octagon": return [[-1, -0.42], [-0.42, -1], [0.42, -1], [1, -0.42], [1, 0.42], [0.42, 1], [-0.42, 1], [-1, 0.42]].map(([dx, dy]) => [x + dx * r, y + dy * r]);
    case "house": return [[x, y - r * 1.1], [x + r, y - r * 0.2], [x + r, y + r * 0.85], [x - r, y + r * 0.85], [x - r, y - r * 0.2]];
    case "diamond": return [[x, y - r * 1.1], [x + r * 1.1, y], [x, y + r * 1.1], [x - r * 1.1, y]];
    default: return [[x - half, y - r * 0.85], [x + half, y - r * 0.85], [x + half, y + r * 0.85], [x - half, y + r * 0.85]];
  }
}

function drawEdge(surface, colours, look, x0, y0, x1, y1, scale) {
  if (look.skipped) {
    // In a wide tree, only the tops of skipped branches are drawn in colour.
    const isSmall = scale < TEXT_SCALE;
    surface.line(x0, y0, x1, y1, isSmall && !look.cut ? colours.line : colours.cut, isSmall ? 0.8 : 1.4, isSmall ? [] : [5, 4]);
  } else {
    const colour = look.onPath ? colours.path : look.onLine ? colours.best : look.reached ? colours.ink : colours.faint;
    surface.line(x0, y0, x1, y1, colour, look.onPath || look.onLine ? 3.5 : 1.2, look.onLine && !look.onPath ? [9, 3] : []);
  }
  if (look.cut && scale >= TEXT_SCALE) {
    // Two strokes mark the edge of a branch that was cut off.
    const t = 0.55, x = x0 + (x1 - x0) * t, y = y0 + (y1 - y0) * t, length = Math.hypot(x1 - x0, y1 - y0) || 1;
    const nx = -(y1 - y0) / length * 7, ny = (x1 - x0) / length * 7;
    const dx = (x1 - x0) / length * 2.5, dy = (y1 - y0) / length * 2.5;
    for (const side of [-1, 1]) {
      surface.line(x - nx + dx * side, y - ny + dy * side, x + nx + dx * side, y + ny + dy * side, colours.cut, 2.4);
    }
  }
}

function drawNode(surface, colours, look, x, y, scale, isRoomy) {
  const r = RADIUS * Math.max(scale, 0.12);
  const base = look.tint ? colours[look.tint] : colours.leaf;
  const fill = look.skipped ? colours.paper : look.reached ? base : colours.paper;
  const stroke = look.skipped ? (scale >= TEXT_SCALE || look.cut ? colours.cut : colours.line) : look.reached ? colours.ink : colours.faint;
  const size = 13 * Math.max(scale, 0.75);
  const isBox = look.shape === "square";
  // Boxes are as wide as their text, but square if the text would be too small to read.
  const half = isBox && look.value && scale >= TEXT_SCALE ? Math.max(r * 0.85, look.value.length * size * 0.31 + 4 * scale) : r * 0.85;
  const points = outline(look.shape, x, y, r, half);
  surface.polygon(points, fill, stroke, look.onPath ? 2.4 : 1.2, look.skipped && scale >= TEXT_SCALE ? [4, 3] : []);
  if (look.current) surface.circle(x, y, r + 6, "", colours.path, 3);
  if (look.chosen) surface.circle(x, y, r + 10, "", colours.chosen, 2, [3, 3]);
  if (look.guessed) {
    const size = Math.max(r * 0.8, 4);
    surface.line(x - size, y - size, x + size, y + size, colours.guess, 3);
    surface.line(x - size, y + size, x + size, y - size, colours.guess, 3);
  }
  if (look.current && look.label && scale < WINDOW_SCALE) surface.text(x, y - r - 16, look.label, 12, colours.ink, true, colours.paper);
  if (scale < TEXT_SCALE) return;
  // A triangle that points up ends less far below its centre than one that points down.
  const below = y + Math.max(r * (look.shape === "up" ? 0.8 : isBox ? 0.85 : 1.1) + 3, look.chosen ? r + 12 : look.current ? r + 8 : 0);
  const middle = look.shape === "up" ? y + r * 0.18 : look.shape === "down" ? y - r * 0.18 : y;
  const inside = look.value && (isBox || (look.value.length <= 3 && look.value.length * size * 0.62 <= r * 1.9));
  if (inside) {
    surface.text(x, middle, look.value, size, !look.reached || look.skipped ? colours.ink : look.tint === "best" ? colours.paper : colours["on-node"], true);
  } else if (look.value) {
    surface.text(x, below + size * 0.6, look.value, size * 0.95, colours.ink, true, colours.paper);
  }
  const hasWindow = look.window && scale >= WINDOW_SCALE && (isRoomy || look.current || inside || !look.value);
  if (look.label && scale >= WINDOW_SCALE) surface.text(x, y - r - size * 0.75 - (look.chosen ? 12 : look.current ? 9 : 0), look.label, size * 0.85, colours.ink, false, colours.paper);
  if (hasWindow) {
    surface.text(x, below + size * (inside || !look.value ? 0.6 : 1.6), look.window, size * 0.82, colours.ink, false, colours.paper);
  }
  if (look.note) {
    const lines = (hasWindow ? 1 : 0) + (look.value && !inside ? 1 : 0);
    surface.text(x, below + size * (0.6 + lines), look.note, size * 0.85, colours.chosen, true, colours.paper);
  }
}

/** Draws the part of a layout in `view` ({tx, ty, kx, ky, width, height}); returns the number of nodes drawn.
 *
 * `look(node)` describes how a node looks: shape, tint, value, window, label, reached, skipped, cut, onPath, onLine,
 * current, chosen, guessed, note. If `everything` is set, nothing is drawn as a wedge or left out.
 */
export function drawTree(surface, layout, model, look, view, colours, everything = false) {
  const {tx, ty, kx, ky, width, height} = view;
  const nodes = [];
  const stack = [model.root];
  const vertical = (ky * LEVEL) / 72;
  while (stack.length) {
    const node = stack.pop();
    const x = layout.x[node] * kx + tx, y = layout.y[node] * ky + ty;
    const left = layout.left[node] * kx + tx, right = layout.right[node] * kx + tx;
    if (!everything && (right < -40 || left > width + 40 || y > height + 60)) continue;
    const seen = look(node);
    const shown = model.children(node).filter((child) => layout.placed[child]);
    if (!everything && right - left < WEDGE && shown.length) {
      const bottom = Math.min(height + 60, layout.low[node] * ky + ty), half = Math.max(0.8, (right - left) / 2 - 0.4);
      const colour = seen.skipped ? colours.line : seen.onPath ? colours.path : seen.reached ? colours.ink : colours.faint;
      surface.polygon([[x, y], [x + half, bottom], [x - half, bottom]], colour, "");
      continue;
    }
    // A node is drawn no larger than the width of its subtree and the height of its level allow.
    const room = Math.max(right - left, 1) / model.width(node);
    nodes.push([seen, x, y, Math.min(Math.max(1, Math.min(kx, MOST_SCALE)), room, vertical)]);
    for (let i = shown.length - 1; i >= 0; i--) {
      const child = shown[i];
      const cx = layout.x[child] * kx + tx, cy = layout.y[child] * ky + ty;
      const outside = Math.max(x, cx) < -20 || Math.min(x, cx) > width + 20 || cy < -20 || y > height + 20;
      if (everything || !outside) {
        drawEdge(surface, colours, look(child), x, y, cx, cy, Math.min(1, vertical, kx * 2));
      }
      stack.push(child);
    }
  }
  for (const [seen, x, y, scale] of nodes) {
    if (everything || y > -60) drawNode(surface, colours, seen, x, y, scale, vertical >= 0.95);
  }
  return nodes.length;
}
