// Stepping through the events of a search, at any speed, and what changes with each of them.

import {selectNode, showNode} from "./node.js";
import {showBoard} from "./recording.js";
import {$, first, isChess, number, position, state} from "./shared.js";
import {showStatistics} from "./statistics.js";

// Nodes of the path that are named; of a longer one the middle is left out.
const MOST_PATH = 60;

export function seek(index) {
  for (const panel of state.panels) panel.seek(Math.min(index, panel.length));
  refresh();
}

/** Goes on by so many events; whether there are more. */
export function advance(events) {
  for (const panel of state.panels) panel.seek(Math.min(panel.index + events, panel.length));
  refresh();
  return state.panels.some((panel) => panel.index < panel.length);
}

/** Stops running, and goes to this event. */
export function jump(index) {
  state.player.stop();
  seek(index);
}

export const toTheEnd = () => jump(Number($("position").max));

export function stepBack() {
  state.player.stop();
  const now = position();
  for (const panel of state.panels) if (panel.index === now) panel.seek(panel.index - 1);
  refresh();
}

export function stepOn() {
  state.player.stop();
  advance(1);
}

export function nextCut() {
  state.player.stop();
  for (const panel of state.panels) panel.seek(panel.nextCut());
  refresh();
}

export function setFollow(follow) {
  state.follow = follow;
  $("follow").setAttribute("aria-pressed", String(follow));
}

export function setStepping(allowed) {
  for (const id of ["back", "play", "step", "next-cut", "end", "position"]) $(id).disabled = !allowed;
}

function refresh() {
  const panel = first();
  if (!panel) return;
  $("position").value = position();
  $("count").textContent = state.panels.map((one) => `${number(one.index)} of ${number(one.length)}`).join(" | ");
  $("explanation").textContent = panel.describe();
  if (state.panels[1]) $("explanation-b").textContent = `B: ${state.panels[1].describe()}`;
  showPath();
  if (isChess()) showBoard(panel, panel.index > 0 ? panel.current : panel.selected);
  else showStatistics(state.panels);
  showNode();
  if (state.follow && panel.index > 0) for (const one of state.panels) one.view.reveal(one.current);
}

function showPath() {
  const panel = first();
  const names = isChess() ? panel : panel.trace;
  const path = panel.index === 0 ? [] : names.path(panel.current);
  const shown = path.length > MOST_PATH ? [...path.slice(0, 3), -1, ...path.slice(3 - MOST_PATH)] : path;
  $("path").replaceChildren(...shown.flatMap((node, i) => {
    const part = node < 0 ? document.createTextNode("…") : pathButton(node, names.name(node));
    return i ? [document.createTextNode(" › "), part] : [part];
  }));
}

function pathButton(node, name) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = name;
  button.addEventListener("click", () => selectNode(first(), node));
  return button;
}

export class Player {
  /** `advance(events)` goes on and tells whether there is more; `changed(playing)` is told of start and stop. */
  constructor(advance, changed) {
    this.advance = advance;
    this.changed = changed;
    this.speed = 4;
    this.playing = false;
  }

  toggle() {
    if (this.playing) this.stop();
    else this.start();
  }

  start() {
    if (this.playing) return;
    this.playing = true;
    this.changed(true);
    // The first event follows at once.
    this.due = 1;
    this.last = performance.now();
    const frame = (now) => {
      if (!this.playing) return;
      // A tab that was hidden does not catch up.
      this.due += Math.min(now - this.last, 500) * this.speed / 1000;
      this.last = now;
      const events = Math.floor(this.due);
      this.due -= events;
      if (events > 0 && !this.advance(events)) this.stop();
      else requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }

  stop() {
    if (!this.playing) return;
    this.playing = false;
    this.changed(false);
  }
}
