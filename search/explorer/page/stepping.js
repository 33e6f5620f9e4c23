// Stepping through the events of a search, at any speed, and updating the page after each step.

import {showCode} from "./code.js";
import {selectNode, showNode} from "./node.js";
import {showBoard} from "./recording.js";
import {$, first, isChess, make, number, position, state} from "./shared.js";
import {showOutline, showStatistics} from "./statistics.js";

// The page shows at most this many nodes of a path. It leaves out the middle of a longer path.
const MOST_PATH = 60;

export const EDITING = "Editing: tap a triangle to add a leaf below it, or a leaf to change its value.";

export function seek(index) {
  for (const panel of state.panels) panel.seek(Math.min(index, panel.length));
  refresh();
}

/** Advances every panel by a number of events. Returns whether any panel has events left. */
export function advance(events) {
  for (const panel of state.panels) panel.seek(Math.min(panel.index + events, panel.length));
  refresh();
  return state.panels.some((panel) => panel.index < panel.length);
}

/** Pauses the player, and shows the search after `index` events. */
export function jump(index) {
  pause();
  seek(index);
}

export const toTheEnd = () => jump(Number($("position").max));

export function stepBack() {
  pause();
  const now = position();
  for (const panel of state.panels) if (panel.index === now) panel.seek(panel.index - 1);
  refresh();
}

export function stepOn() {
  pause();
  advance(1);
}

/** Shows the next cut of any panel, or the end if none follows. All panels stay at the same event. */
export function nextCut() {
  jump(Math.min(Number($("position").max), ...state.panels.map((panel) => panel.nextCut(position()))));
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
  $("explanation").textContent = state.isEditing && panel.index === 0 ? EDITING : panel.describe();
  if (state.panels[1]) $("explanation-b").textContent = state.panels[1].describe();
  showWelcome(panel);
  showPath();
  if (isChess()) showBoard(panel, panel.selected);
  else showStatistics(state.panels);
  showNode();
  showCode();
  showOutline();
  if (!state.follow) return;
  if (!isChess()) for (const one of state.panels) if (one.index > 0) one.view.reveal(one.current);
  if (isChess() && panel.index > 0 && panel.index < panel.length) panel.view.follow(panel.current);
  // Before and after the search, there is no node to follow.
  else if (isChess() && panel.view.isFollowing) panel.view.fit();
}

/** Shows newcomers the words that fit the event, and hides the others without moving the tree. */
function showWelcome(panel) {
  if (isChess()) return;
  const shown = panel.index === 0 ? "first" : panel.trace.kind(panel.index - 1) === "cut" ? "cut" : "window";
  for (const part of ["first", "cut", "window"]) $(`welcome-${part}`).classList.toggle("away", part !== shown);
  $("show-cut").hidden = shown !== "first";
  for (const button of document.querySelectorAll("#welcome [data-key]")) button.hidden = shown === "first";
}

function showPath() {
  const panel = first();
  const names = isChess() ? panel : panel.trace;
  const path = panel.index === 0 ? [] : names.path(panel.current);
  const shown = path.length > MOST_PATH ? [...path.slice(0, 3), -1, ...path.slice(3 - MOST_PATH)] : path;
  $("path").replaceChildren(...shown.flatMap((node, i) => {
    const select = () => selectNode(first(), node);
    const part = node < 0 ? document.createTextNode("…") : make("button", names.name(node), {type: "button", className: "link", onclick: select});
    return i ? [document.createTextNode(" › "), part] : [part];
  }));
}

// The player runs the search at `speed` events per second, and updates the page once per frame.
export const player = {speed: 4, playing: false, due: 0, last: 0};

function setPlaying(playing) {
  player.playing = playing;
  $("play").querySelector("path").setAttribute("d", playing ? "M5 3v14M14 3v14" : "M5 3l12 7-12 7z");
  $("play").setAttribute("aria-label", playing ? "Pause" : "Run");
}

export function run() {
  if (player.playing) return;
  setPlaying(true);
  // The first event is due at once.
  Object.assign(player, {due: 1, last: performance.now()});
  requestAnimationFrame(frame);
}

function frame(now) {
  if (!player.playing) return;
  // When a hidden tab is shown again, the player does not catch up on the missed events.
  player.due += Math.min(now - player.last, 500) * player.speed / 1000;
  player.last = now;
  const events = Math.floor(player.due);
  player.due -= events;
  if (events > 0 && !advance(events)) pause();
  else requestAnimationFrame(frame);
}

export function pause() {
  if (player.playing) setPlaying(false);
}
