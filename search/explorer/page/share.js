// What is shown, packed into the fragment of the page's address: nothing of it reaches any server by itself.

const PREFIX = "#s=";
// Browsers and chats cut longer addresses off.
export const LONGEST = 16000;

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

/** The fragment for a state (any JSON value); null if it would be too long. */
export async function pack(state) {
  const bytes = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(JSON.stringify(state)));
  const fragment = PREFIX + toBase64(bytes);
  return fragment.length <= LONGEST ? fragment : null;
}

/** The state in a fragment; null if there is none, an Error if it is damaged. */
export async function unpack(fragment) {
  if (!fragment.startsWith(PREFIX)) return null;
  try {
    const bytes = await through(new DecompressionStream("deflate-raw"), fromBase64(fragment.slice(PREFIX.length)));
    return JSON.parse(new TextDecoder("utf-8", {fatal: true}).decode(bytes));
  } catch {
    throw new Error("the address is damaged: what it should show cannot be read from it");
  }
}
