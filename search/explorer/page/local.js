// Answers requests without a server: a worker of the static site runs the Python code.

// A search that nobody waits for any more ends after this time, in milliseconds, when another one is requested.
const PATIENCE = 400;

/** Whether this page belongs to the static site, and the address of the site if its build named one. */
export const isStatic = document.documentElement.dataset.site !== undefined;
export const siteAddress = document.documentElement.dataset.site ?? "";

let worker = null, count = 0, isReady = false, problem = "", progress = "";
// The requests that the worker has not answered, by number: {path, body, resolve}; `resolve` is null if nobody waits.
const asked = new Map();
let prepared = null;

/** Starts Python, which takes some seconds, unless it is running. */
export function startPython() {
  if (worker) return;
  isReady = false;
  progress = "starting Python in the browser, which takes some seconds";
  worker = new Worker("worker.js", {type: "module"});
  worker.onerror = (event) => fail(event.message || "the worker cannot be loaded");
  worker.onmessage = ({data}) => {
    if (data.failed) fail(data.failed);
    else if (data.ready) [isReady, progress] = [true, ""];
    else if (data.progress !== undefined) progress = data.progress;
    else settle(data.id, data.status, data.text);
  };
  for (const [id, {path, body}] of asked) worker.postMessage({id, path, body});
}

function fail(why) {
  problem = `Python cannot be started in this browser: ${why}`;
  for (const id of [...asked.keys()]) settle(id, 503, JSON.stringify({error: problem}));
}

function settle(id, status, text) {
  asked.get(id)?.resolve?.({status, text});
  asked.delete(id);
}

function restart() {
  worker.terminate();
  worker = null;
  for (const [id, {resolve}] of asked) if (!resolve) asked.delete(id);
  startPython();
}

/** Requests `path` of the Python code; `body` is a JSON value. Returns {status, text}. */
export async function answer(path, body, signal) {
  prepared ??= fetch("answers.json").then((response) => response.json());
  const known = (await prepared)[path + (body === undefined ? "" : JSON.stringify(body))];
  if (known) return {status: 200, text: JSON.stringify(known)};
  if (problem) return {status: 503, text: JSON.stringify({error: problem})};
  startPython();
  if ([...asked.values()].some(({resolve}) => !resolve)) {
    setTimeout(() => { if (isReady && [...asked.values()].some(({resolve}) => !resolve)) restart(); }, PATIENCE);
  }
  const id = ++count;
  return new Promise((resolve, reject) => {
    asked.set(id, {path, body: JSON.stringify(body), resolve});
    worker.postMessage({id, path, body: JSON.stringify(body)});
    signal?.addEventListener("abort", () => {
      if (asked.has(id)) asked.get(id).resolve = null;
      reject(new Error("aborted"));
    });
  });
}

export const progressNow = () => progress;

/** Stops all searches. Python itself cannot be interrupted, so it starts again. */
export function stopPython() {
  for (const id of [...asked.keys()]) settle(id, 409, JSON.stringify({error: "stopped", stopped: true}));
  if (worker) restart();
}
