// Exports, imports, and addresses that contain a search.

import {escape} from "./draw.js";
import {isStatic, siteAddress} from "./local.js";
import {selectNode, showNode} from "./node.js";
import {begin, chooseIteration, initialise, openTab, searchChess, setChessRequest, setRequest, setTree, show} from "./searching.js";
import {busily, complain, search} from "./server.js";
import {$, first, isChess, make, position, state, unzipped} from "./shared.js";
import {pause, seek} from "./stepping.js";
import {kindOf} from "./trace.js";

/** Returns the address under which others can open this page, or "" if only this machine can. */
function publicAddress() {
  const {protocol, hostname, origin, pathname} = location;
  const isHosted = isStatic && /^https?:$/.test(protocol) && !/^(localhost|127\..*|\[::1\])$/.test(hostname);
  return siteAddress || state.address || (isHosted ? origin + pathname : "");
}

export async function share() {
  if (!first()) return;
  pause();
  const fragment = state.request && (await pack({
    request: {...state.request, ...(state.panels.some((panel) => panel.trace?.document.request?.force) ? {force: true} : {})},
    event: position(), pinned: first().pinned, ...(isChess() ? {iteration: state.chess.number} : {}),
  }));
  $("share-links").hidden = !fragment;
  if (fragment) {
    history.replaceState(null, "", fragment);
    const base = publicAddress(), address = base ? base + fragment : location.href;
    $("share-note").textContent = base ? "The link opens this search at this event. The link contains everything; nothing is stored elsewhere."
      : "The link opens this search at this event, but only on this machine. Send others the file instead.";
    $("share-address").value = address;
    $("share-embedding").hidden = !base;
    $("share-frame").value = `<iframe src="${address}" width="100%" height="760" style="border: 0" title="${escape(state.title || "Alpha-beta, step by step")}"></iframe>`;
  }
  $("share-dialog").showModal();
  if (fragment) $("share-address").select();
}

/** Copies the text of a control, and shows on `button` whether this worked. */
export async function copyFrom(id, button) {
  $(id).select();
  try {
    await navigator.clipboard.writeText($(id).value);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Press Ctrl+C";
  }
  setTimeout(() => { button.textContent = "Copy"; }, 2000);
}

/** Shows the search in the page's address, or the error of a damaged address. Returns whether a search was shown. */
export async function restore() {
  let shared;
  try {
    shared = await unpack(location.hash);
  } catch (error) {
    state.problem = error;
    complain(error);
    return false;
  }
  state.problem = null;
  const made = shared?.request, before = state.request;
  if (!made) return false;
  if (made.recording) {
    await openRecording(made.recording);
  } else if (made.chess) {
    setChessRequest(made.chess);
    openTab("chess");
    if (isStatic) {
      state.problem = new Error("this link asks for a new chess search, which needs the program secateur explore");
      complain(state.problem);
      return false;
    }
    await searchChess();
  } else {
    setRequest(made);
    openTab("text");
    await initialise();
  }
  if (state.request === before) {
    // If another search was wanted meanwhile, there is no error.
    const shown = $("text-error").hidden ? $("message") : $("text-error");
    if (!shown.hidden) state.problem = new Error(shown.textContent);
    return false;
  }
  if (isChess() && shared.iteration !== undefined) chooseIteration(Math.min(shared.iteration, state.chess.recording.iterations.length - 1));
  seek(Math.min(shared.event ?? 0, Number($("position").max)));
  // Older links have "selected", which is the current node if none was pinned.
  selectNode(first(), Math.min(shared.pinned ?? shared.selected ?? -1, first().view.model.count - 1));
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
      throw new Error("a chess search can be exported as SVG, PNG or JSON; secateur explore FILE --text prints it");
    } else if (!state.request) {
      throw new Error("this search was imported without its tree's text: export it as SVG, PNG or JSON");
    } else {
      const {compare, ...asked} = state.request;
      const {text, dot} = await search("export", asked);
      if (kind === "dot") download(`${name}.dot`, "text/vnd.graphviz", dot);
      else download(`${name}.txt`, "text/plain", text);
    }
  });
}

export async function importFile(file) {
  if (!file) return;
  pause();
  await busily(async () => {
    let text;
    try {
      text = new TextDecoder().decode(await unzipped(file));
    } catch {
      throw new Error(`cannot read ${file.name}: the compressed file is damaged`);
    }
    let value = null;
    try {
      value = JSON.parse(text);
    } catch {
      // Text that is not JSON may be a tree in one of the other formats.
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

/** Shows the recorded chess search `key`, which the page contains. */
export async function openRecording(key) {
  if (!key) return;
  begin();
  await busily(async () => {
    const response = await fetch(`recordings/${key}.json.gz`);
    if (!response.ok) throw new Error(`the page does not contain the recorded search "${key}"`);
    open(JSON.parse(new TextDecoder().decode(await unzipped(response))), {recording: key});
    $("recorded").value = key;
    $("title").textContent = $("recorded").selectedOptions[0].text;
  });
}

/** Shows an imported document, or the document with which the page was started. */
export function open(value, request = null) {
  const made = value.request ?? null;
  begin();
  show([value], request);
  if (kindOf(value) !== "tree") return;
  openTab("text");
  if (typeof made?.text !== "string") return setTree("", value.title ?? "");
  setRequest({...made, compare: ""});
  // The field may have changed the ends of the lines.
  state.request = {...made, text: $("tree-text").value, compare: ""};
  showNode();
}

const PREFIX = "#s=";
// Some browsers and chat programs truncate longer addresses.
const LONGEST = 16000;

async function through(stream, bytes) {
  const writer = stream.writable.getWriter();
  writer.write(bytes).catch(() => {});
  writer.close().catch(() => {});
  return new Uint8Array(await new Response(stream.readable).arrayBuffer());
}

function toBase64(bytes) {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function fromBase64(text) {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(binary, (sign) => sign.charCodeAt(0));
}

/** Returns the URL fragment that encodes a state (any JSON value), or null if it would be too long. */
async function pack(state) {
  const bytes = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(JSON.stringify(state)));
  const fragment = PREFIX + toBase64(bytes);
  return fragment.length <= LONGEST ? fragment : null;
}

/** Returns the state that a URL fragment encodes, or null if it encodes none. Throws an Error for a damaged one. */
async function unpack(fragment) {
  if (!fragment.startsWith(PREFIX)) return null;
  try {
    const bytes = await through(new DecompressionStream("deflate-raw"), fromBase64(fragment.slice(PREFIX.length)));
    return JSON.parse(new TextDecoder("utf-8", {fatal: true}).decode(bytes));
  } catch {
    throw new Error("the address is damaged and cannot be decoded");
  }
}

/** Downloads a text or a blob as a file. */
function download(name, type, content) {
  const href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], {type}));
  const link = make("a", "", {href, download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
