// Requests to the server, with their progress, a button that stops them, and their errors.

import {answer, isStatic, progressNow, stopPython} from "./local.js";
import {$} from "./shared.js";

class RequestError extends Error {
  constructor(message, {line = 0, column = 0, stopped = false} = {}, isUnwanted = false) {
    super(message);
    Object.assign(this, {line, column, isStopped: stopped, isUnwanted});
  }
}

/** Requests `path`, with POST if there is a `body` (a JSON value), and returns the answer. Throws RequestError. */
export async function ask(path, body, signal, job = "") {
  const post = {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(body), signal};
  let status = 0, text;
  try {
    if (isStatic) ({status, text} = await answer(path, body, signal));
    else {
      const response = await fetch(`api/${path}${job && `?job=${job}`}`, body === undefined ? {} : post);
      status = response.status;
      text = await response.text();
    }
    text = JSON.parse(text);
  } catch {
    const problem = status ? `the server answered with status ${status} and no readable text`
      : "the server does not answer: is secateur explore still running?";
    throw new RequestError(problem, {}, signal?.aborted);
  }
  if (status === 200) return text;
  throw new RequestError(text.error ?? `the server answered with status ${status}`, text, signal?.aborted);
}

// The names of the unanswered requests of `search`, and the controller that aborts them.
const underWay = new Set();
let current = new AbortController();

/** Works like `ask`, for requests that may take long. The user can stop them, and the page shows their progress. */
export async function search(path, body) {
  const name = `job-${Math.random().toString(36).slice(2)}`;
  underWay.add(name);
  try {
    return await ask(path, body, current.signal, name);
  } finally {
    underWay.delete(name);
  }
}

/** Aborts all searches without showing their results, because the user wants something else. */
export function abandon() {
  current.abort();
  current = new AbortController();
}

// Milliseconds before the first message, and between two requests for the progress.
const SILENCE = 500, TICK = 400;

let busy = 0, began = 0, timer = 0, isAsking = false, wasStopped = false;

export function say(text) {
  $("text-error").hidden = true;
  $("format-note").hidden = false;
  $("message").hidden = !text;
  $("message").textContent = text;
}

/** Shows an error and its place; `mark(line, column)` shows the place in the tree's text. */
export function complain(error, mark = null) {
  console.warn(error);
  const place = error.line ? `line ${error.line}${error.column ? `, column ${error.column}` : ""}: ` : "";
  const text = error.message.startsWith("line ") ? error.message : place + error.message, isText = error.line && error.isText;
  if (isText && mark) mark(error.line, error.column);
  if (!isText || $("panel-text").hidden) return say(text);
  $("text-error").textContent = text;
  $("text-error").hidden = false;
  $("format-note").hidden = true;
}

/** Runs `work`, an async function, and shows its errors. Returns the result of `work`, or undefined after an error. */
export async function busily(work, mark = null) {
  if (busy++ === 0) begin();
  try {
    say("");
    return await work();
  } catch (error) {
    if (error.isUnwanted) return undefined;
    if (error.isStopped) say("Stopped. The page still shows the previous search.");
    else complain(error, mark);
    return undefined;
  } finally {
    if (--busy === 0) end();
  }
}

/** Returns whether the user has stopped the current work. */
export const isStopping = () => wasStopped;

/** Stops the searches that the server runs for this page. */
export function stop() {
  if (!busy) return;
  wasStopped = true;
  $("stop").disabled = true;
  $("work-text").textContent = "Stopping …";
  if (isStatic) stopPython();
  else for (const name of underWay) ask("stop", {job: name}).catch(() => {});
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
    // The server works on the oldest request.
    const [name] = underWay;
    const text = isStatic ? progressNow() : name && (await ask(`progress?job=${name}`)).progress;
    if (text && !wasStopped) $("work-text").textContent = text[0].toUpperCase() + text.slice(1);
  } catch {
    // The request itself will show what is wrong.
  } finally {
    isAsking = false;
  }
}
