// The worker of the static site: answers requests with the same Python code as the local server.

import {loadPyodide} from "./python/pyodide.mjs";
import {unzipped} from "./shared.js";

// Pyodide fetches its program, which the site contains in compressed form.
const plain = self.fetch.bind(self);
self.fetch = async (url, options) => {
  if (!String(url).endsWith(".wasm")) return plain(url, options);
  return new Response(await unzipped(await plain(`${url}.gz`)), {headers: {"Content-Type": "application/wasm"}});
};

async function start() {
  const sources = plain("python/secateur.zip").then((response) => response.arrayBuffer());
  const python = await loadPyodide({indexURL: new URL("python/", self.location.href).href});
  python.unpackArchive(await sources, "zip", {extractDir: "/secateur"});
  return python.runPython(`
import json
import sys
sys.path.insert(0, "/secateur")
from search.explorer.jobs import Job
from search.explorer.service import respond
lambda name, body, tell: respond(name, json.loads(body), Job(tell))
`);
}

const started = start();
started.then(() => self.postMessage({ready: true}), (error) => self.postMessage({failed: String(error.message ?? error)}));

self.onmessage = async ({data: {id, path, body}}) => {
  const respond = await started;
  try {
    const answer = respond(path, body, (progress) => self.postMessage({id, progress}));
    const [status, text] = answer.toJs();
    answer.destroy();
    self.postMessage({id, status, text});
  } catch (error) {
    self.postMessage({id, status: 500, text: JSON.stringify({error: String(error.message).trim().split("\n").at(-1)})});
  }
};
