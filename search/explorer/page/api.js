// What the page asks of its server.

export class RequestError extends Error {
  constructor(message, line = 0, column = 0) {
    super(message);
    this.line = line;
    this.column = column;
  }
}

async function answer(response) {
  let body;
  try {
    body = await response.json();
  } catch {
    throw new RequestError(`the server answered ${response.status} and nothing that can be read`);
  }
  if (response.ok) return body;
  const error = new RequestError(body.error ?? `the server answered ${response.status}`, body.line, body.column);
  error.isStopped = Boolean(body.stopped);
  throw error;
}

async function ask(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new RequestError("the server does not answer: is secateur explore still running?");
  }
  return answer(response);
}

const post = (path, body) =>
  ask(path, {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(body)});

// Requests that the server works on, by the names under which it can be asked about them.
const underWay = new Map();

async function search(path, body) {
  const name = crypto.randomUUID(), entry = {isUnwanted: false};
  underWay.set(name, entry);
  try {
    return await post(`${path}?job=${name}`, body);
  } catch (error) {
    error.isUnwanted = entry.isUnwanted;
    throw error;
  } finally {
    underWay.delete(name);
  }
}

/** How far the oldest of the requests under way is, in words; "" if there is none or nothing is known. */
export async function progress() {
  const [name] = underWay.keys();
  return name === undefined ? "" : (await ask(`api/progress?job=${name}`)).progress;
}

/** Stops all that is under way; `unwanted` if something else is asked for instead, so that nobody need be told. */
export function stopAll(unwanted) {
  return Promise.allSettled([...underWay].map(([name, entry]) => {
    entry.isUnwanted = unwanted;
    return post("api/stop", {job: name});
  }));
}

export const catalogue = () => ask("api/catalogue");
/** The document that the page was started with, or null. */
export const opened = () => ask("api/document");
export const example = (key) => search("api/example", {key});
export const generate = (settings) => search("api/generate", settings);
export const trace = (request) => search("api/trace", request);
export const orders = (request) => search("api/orders", request);
export const chess = (request) => search("api/chess", request);
export const cost = (request) => search("api/cost", request);
