// Where the nodes of a tree are drawn: a tidy layout (d3-hierarchy) of what is not collapsed.

import {hierarchy, tree as tidy} from "./vendor/d3-hierarchy/d3-hierarchy.min.js";

export const LEVEL = 84;
const GAP = 10;

/** Positions at scale 1: `x`, `y` in pixels, and of every subtree the extent: `left` to `right`, down
 * to `low`.
 *
 * `model` has `count`, `root`, `children(node)` and `width(node)`, the room that a node's text needs. Children of nodes
 * in the set `collapsed` are left out. `order` lists the nodes that are laid out, parents before their children.
 */
export class Layout {
  constructor(model, collapsed) {
    const shown = (node) => (collapsed.has(node) ? [] : model.children(node));
    const root = hierarchy(model.root, shown);
    tidy().nodeSize([1, LEVEL]).separation((a, b) => (model.width(a.data) + model.width(b.data)) / 2 + GAP)(root);
    const n = model.count;
    this.x = new Float64Array(n);
    this.y = new Float64Array(n);
    this.left = new Float64Array(n);
    this.right = new Float64Array(n);
    this.low = new Float64Array(n);
    this.placed = new Uint8Array(n);
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
