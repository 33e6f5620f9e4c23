// The keyboard, and what the buttons that stand for keys do.

import {moveBy} from "./byhand.js";
import {$} from "./dom.js";
import {toggleSelected, walk} from "./facts.js";
import {toggleGuess} from "./quiz.js";
import {first, isGuessing, state} from "./state.js";
import {jump, nextCut, setFollow, stepBack, stepOn, toTheEnd} from "./stepping.js";
import {stop} from "./work.js";

const ZOOM = 1.3;

export const ACTIONS = {
  n: stepOn, b: stepBack, " ": () => state.player.toggle(), c: nextCut, r: () => jump(0), e: toTheEnd,
  "+": () => first()?.view.zoom(ZOOM), "=": () => first()?.view.zoom(ZOOM), "-": () => first()?.view.zoom(1 / ZOOM),
  0: () => state.panels.forEach((panel) => panel.view.fit()), f: () => setFollow(!state.follow),
  ArrowUp: () => walk("up"), ArrowDown: () => walk("down"), ArrowLeft: () => walk("left"), ArrowRight: () => walk("right"),
  Enter: toggleSelected, "[": () => moveBy(-1), "]": () => moveBy(1), q: () => toggleGuess(first()?.selected ?? 0),
  Escape: stop, "?": showHelp,
};
// Keys that would give the quiz away.
const STEPPING = new Set(["n", "b", " ", "c", "e"]);

function showHelp() {
  $("legend-box").open = true;
  $("legend-box").scrollIntoView({block: "nearest"});
}

export function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || $("share-dialog").open) return;
  const target = event.target;
  const isTyping = target.matches?.("textarea, select, input:not([type=range])") && event.key !== "Escape";
  // Buttons and summaries have the space bar and Enter for themselves, sliders the arrows.
  const isPressing = (target.matches?.("button, summary") && (event.key === " " || event.key === "Enter")) ||
    (target.matches?.("input[type=range]") && event.key.startsWith("Arrow"));
  const action = ACTIONS[event.key];
  if (isTyping || isPressing || !action) return;
  if (isGuessing() && STEPPING.has(event.key)) return;
  event.preventDefault();
  action();
}
