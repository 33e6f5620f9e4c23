// What leaves the page and comes back: addresses, exports, imports.

import {openTab, setChessRequest, setRequest, setTree} from "./choices.js";
import {$} from "./dom.js";
import {dot, download, indented} from "./exporting.js";
import {selectNode, showNode} from "./facts.js";
import {initialise, newTurn, searchChess, show} from "./searching.js";
import {pack, unpack} from "./share.js";
import {first, isChess, position, state} from "./state.js";
import {seek} from "./stepping.js";
import {kindOf} from "./trace.js";
import {busily, complain, say} from "./work.js";

export async function share() {
  if (!state.request) return say("An imported search has no address: export it as JSON instead.");
  const fragment = await pack({request: state.request, event: position(), selected: first().selected});
  if (!fragment) return say("This tree is too large for an address: export it as JSON instead.");
  history.replaceState(null, "", fragment);
  $("share-address").value = location.href;
  $("share-dialog").showModal();
  $("share-address").select();
}

export async function copyAddress() {
  $("share-address").select();
  try {
    await navigator.clipboard.writeText($("share-address").value);
    $("share-copy").textContent = "Copied";
  } catch {
    $("share-copy").textContent = "Press Ctrl+C";
  }
  setTimeout(() => { $("share-copy").textContent = "Copy"; }, 2000);
}

/** Shows what the page's address says, if it says something; whether it did. */
export async function restore() {
  let shared;
  try {
    shared = await unpack(location.hash);
  } catch (error) {
    state.problem = error;
    complain(error);
    return false;
  }
  const made = shared?.request;
  if (!made) return false;
  if (made.chess) {
    setChessRequest(made.chess);
    openTab("chess");
    await searchChess();
  } else {
    setRequest(made);
    openTab("text");
    await initialise();
  }
  if (!first() || state.request === null) return false;
  seek(Math.min(shared.event ?? 0, Number($("position").max)));
  selectNode(first(), Math.min(shared.selected ?? 0, first().view.model.count - 1));
  return true;
}

export async function exportAs(kind) {
  const panel = first();
  if (!panel) return;
  $("exports").open = false;
  const name = isChess() ? "chess-search" : "search";
  await busily(async () => {
    if (kind === "svg") download(`${name}.svg`, "image/svg+xml", panel.view.svg());
    else if (kind === "png") download(`${name}.png`, "image/png", await panel.view.png());
    else if (kind === "json") {
      download(`${name}.json`, "application/json", JSON.stringify(isChess() ? panel.recording.document : panel.trace.document));
    } else if (isChess()) {
      throw new Error("of a chess search there are SVG, PNG and JSON; secateur explore FILE --text prints it");
    } else if (kind === "dot") download(`${name}.dot`, "text/vnd.graphviz", dot(panel.trace, panel.replay));
    else download(`${name}.txt`, "text/plain", indented(panel.trace, panel.replay));
  });
}

export async function importFile(file) {
  if (!file) return;
  state.player.stop();
  await busily(async () => {
    const isZipped = file.name.endsWith(".gz");
    const stream = isZipped ? file.stream().pipeThrough(new DecompressionStream("gzip")) : file.stream();
    let text;
    try {
      text = await new Response(stream).text();
    } catch {
      throw new Error(`${file.name} cannot be read${isZipped ? ": the compressed file is damaged" : ""}`);
    }
    let value = null;
    try {
      value = JSON.parse(text);
    } catch {
      // No JSON: a tree, perhaps, in one of the other formats.
    }
    if (value && typeof value === "object" && value.format === "secateur trace") {
      open(value);
    } else {
      setTree(text, file.name);
      openTab("text");
      await initialise();
    }
  });
}

/** Shows a document that was imported or that the page was started with. */
export function open(value) {
  const made = value.request ?? null;
  newTurn();
  show([value], null);
  if (made && typeof made.text === "string" && kindOf(value) === "tree") {
    setRequest({...made, compare: ""});
    state.request = {...made, compare: ""};
    showNode();
  }
}
