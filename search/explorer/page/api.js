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
  if (!response.ok) throw new RequestError(body.error ?? `the server answered ${response.status}`, body.line, body.column);
  return body;
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

export const catalogue = () => ask("api/catalogue");
/** The document that the page was started with, or null. */
export const opened = () => ask("api/document");
export const example = (key) => post("api/example", {key});
export const generate = (settings) => post("api/generate", settings);
export const trace = (request) => post("api/trace", request);
export const orders = (request) => post("api/orders", request);
export const chess = (request) => post("api/chess", request);
