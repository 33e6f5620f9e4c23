// Editing the tree in its drawing. The text follows, and every change can be undone.

import {selectNode} from "./node.js";
import {initialise, isApplied, openTab, setTree} from "./searching.js";
import {busily, search} from "./server.js";
import {EDITING} from "./stepping.js";
import {$, first, isChess, make, state} from "./shared.js";

// The texts before the changes that can be undone, and those that can be made again.
const past = [], future = [];
// The text to which the last change led.
let changedTo = null;
// After this many changes, the oldest ones can no longer be undone.
const MOST_CHANGES = 200;

// Each change begins when the one before it is shown.
let turn = Promise.resolve();
const inTurn = (work) => (turn = turn.then(work, work));

/** Returns whether the tree that is shown can be changed. */
export const mayEdit = () => !isChess() && state.request !== null && first() !== undefined;

export function setEditing(isEditing) {
  state.isEditing = isEditing;
  $("edit").setAttribute("aria-pressed", String(isEditing));
  document.body.classList.toggle("is-editing", isEditing);
  if (isEditing) $("explanation").textContent = EDITING;
}

/** Adds a child to an inner node, or asks for the value of a leaf. */
export function tapNode(node) {
  if (!mayEdit() || node < 0) return;
  if (first().trace.leaf[node] === null) change("add", node);
  else askValue(node);
}

/** Adds a child to the selected node, or removes that node, or asks for its value or name. */
export function editSelected(kind) {
  if (!mayEdit()) return;
  const node = first().selected;
  if (kind === "set") askValue(node);
  else if (kind === "name") askText(node, "name", first().trace.label[node], "Name");
  else if (kind === "add" || node > 0) change(kind, node);
}

function askValue(node) {
  const value = first().trace.leaf[node];
  if (value !== null) askText(node, "set", value, "Value");
}

/** Shows an input at a node of the drawing; its text changes the value or name of the node. It stays while it is refused. */
function askText(node, kind, value, label) {
  const {view} = first(), [x, y] = view.place(node);
  document.querySelector(".node-input")?.remove();
  const box = make("div", "", {className: "node-input"}), wrong = make("p", "", {className: "wrong", role: "alert", hidden: true});
  const input = make("input", "", {type: "text", value, ariaLabel: label, spellcheck: false, autocomplete: "off"});
  box.style.left = `${Math.max(0, Math.min(x - 28, view.width - 56))}px`;
  box.style.top = `${Math.max(0, y - 18)}px`;
  wrong.style[x < view.width / 2 ? "left" : "right"] = "0";
  let isDone = false;
  const close = () => {
    isDone = true;
    box.remove();
    view.canvas.focus({preventScroll: true});
  };
  const refuse = (problem) => {
    isDone = false;
    Object.assign(wrong, {textContent: problem, hidden: false});
  };
  const finish = (isWanted) => {
    if (isDone) return;
    const text = input.value.trim();
    if (!isWanted || text === value || (!text && kind !== "name")) return close();
    isDone = true;
    change(kind, node, text, {close, refuse});
  };
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === "Escape") finish(event.key === "Enter");
    event.stopPropagation();
  });
  input.addEventListener("blur", () => finish(true));
  box.append(input, wrong);
  view.canvas.parentElement.append(box);
  input.focus({preventScroll: true});
  input.select();
}

/** Changes the tree. `field`, if any, is closed after the change, or told why the change is refused. */
const change = (kind, node, value, field = null) => inTurn(() => busily(async () => {
  const {text, format, lattice} = state.request;
  if (!isApplied()) return field?.close();
  let changed;
  try {
    changed = await search("edit", {text, format, lattice, node, change: kind, ...(value === undefined ? {} : {value})});
  } catch (error) {
    if (!field || error.isStopped || error.isUnwanted) throw error;
    return field.refuse(error.message);
  }
  field?.close();
  await show(changed.text, past, changed.node);
  future.length = 0;
  showUndo();
  if (kind === "add" && state.request?.text === changed.text) askValue(changed.node);
}));

/** Shows another text, and keeps the present one in `before`. */
async function show(text, before, node = -1) {
  before.push(state.request.text);
  if (before.length > MOST_CHANGES) before.shift();
  setTree(text, "");
  openTab("text");
  changedTo = text;
  await initialise();
  if (node >= 0 && first().trace) selectNode(first(), Math.min(node, first().trace.nodes - 1));
  showUndo();
}

export function undo() { return again(past, future); }
export function redo() { return again(future, past); }

const again = (from, to) => inTurn(async () => {
  if (mayEdit() && from.length && isApplied()) await show(from.pop(), to);
});

/** Shows which changes can be undone and made again. */
export function showUndo() {
  $("undo").disabled = !past.length;
  $("redo").disabled = !future.length;
}

/** Forgets all changes, because a tree with another `text` is shown, unless the last change led to it. */
export function forgetChanges(text) {
  if (text !== undefined && text === changedTo) return;
  past.length = future.length = 0;
  showUndo();
}
