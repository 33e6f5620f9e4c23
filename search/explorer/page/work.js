// While the page waits for its server: how far that is, the button that stops it, and what went wrong.

import * as api from "./api.js";
import {$} from "./dom.js";

// Milliseconds: what is over sooner is not spoken of; between two questions how far it is.
const SILENCE = 500, TICK = 400;

let busy = 0, began = 0, timer = 0, isAsking = false, wasStopped = false;

export function say(text) {
  $("message").hidden = !text;
  $("message").textContent = text;
}

/** Tells of an error, and where it is; `mark(line, column)` shows the place in the tree's text. */
export function complain(error, mark = null) {
  console.warn(error);
  const place = error.line ? `line ${error.line}${error.column ? `, column ${error.column}` : ""}: ` : "";
  say(error.message.startsWith("line ") ? error.message : place + error.message);
  if (error.line && error.isText && mark) mark(error.line, error.column);
}

/** Does `work`, an async function, and tells of what goes wrong in it. */
export async function busily(work, mark = null) {
  if (busy++ === 0) begin();
  try {
    say("");
    return await work();
  } catch (error) {
    if (error.isStopped) {
      if (!error.isUnwanted) say("Stopped. What was shown before is still shown.");
    } else {
      complain(error, mark);
    }
    return undefined;
  } finally {
    if (--busy === 0) end();
  }
}

/** Whether what is being done now was told to stop. */
export const isStopping = () => wasStopped;

/** Has the server end what it is doing for the page. */
export function stop() {
  if (!busy) return;
  wasStopped = true;
  $("stop").disabled = true;
  $("work-text").textContent = "Stopping …";
  api.stopAll(false);
}

function begin() {
  document.body.setAttribute("aria-busy", "true");
  began = performance.now();
  wasStopped = false;
  timer = setInterval(look, TICK);
}

function end() {
  clearInterval(timer);
  document.body.removeAttribute("aria-busy");
  $("work").hidden = true;
}

async function look() {
  if (performance.now() - began < SILENCE) return;
  if ($("work").hidden) {
    $("stop").disabled = false;
    $("work-text").textContent = "Searching …";
    $("work").hidden = false;
  }
  if (isAsking || wasStopped) return;
  isAsking = true;
  try {
    const text = await api.progress();
    if (text && !wasStopped) $("work-text").textContent = text[0].toUpperCase() + text.slice(1);
  } catch {
    // The request itself will tell what is wrong.
  } finally {
    isAsking = false;
  }
}
