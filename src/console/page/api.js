// The interface of the program that the page belongs to: actions by POST, and one stream with the events of all calls.

// `coracle console` puts a token into the fragment, which browsers send to nobody; it travels in a header. It is taken out of
// the address bar, and kept for reloads of this tab alone.
const tokenKey = "coracle-console-token";
const given = location.hash.slice(1);
if (given) {
  sessionStorage.setItem(tokenKey, given);
  history.replaceState(null, "", location.pathname);
}
const token = sessionStorage.getItem(tokenKey) ?? "";

function request(action, body, signal) {
  const headers = { "content-type": "application/json" };
  if (token) headers["coracle-console-token"] = token;
  return fetch(`api/${action}`, { method: "POST", headers, body: JSON.stringify(body), signal, cache: "no-store" });
}

async function errorOf(response) {
  let text = `the console answered with HTTP status ${response.status}`;
  try {
    text = (await response.json()).error ?? text;
  } catch {
    // No JSON: a proxy in between, for example.
  }
  return new Error(text);
}

/** Performs an action. Throws an Error whose message is for the user. */
export async function perform(action, body = {}) {
  let response;
  try {
    response = await request(action, body);
  } catch {
    throw new Error("the program that this page belongs to does not answer: was it stopped?");
  }
  if (!response.ok) throw await errorOf(response);
  return response.json();
}

const listeners = new Map();
let page = "";

/** Performs an action of this page. */
export function performHere(action, body = {}) {
  return perform(action, { page, ...body });
}

/** Calls `listener` with each event of the call. */
export function listen(call, listener) {
  listeners.set(call, listener);
}

function deliver(event) {
  if (event.kind === "page") page = event.page;
  const listener = listeners.get(event.call);
  if (!listener) return;
  if (event.kind === "end") listeners.delete(event.call);
  listener(event);
}

/** Opens the stream of events, and returns when it has begun; `onlost` is called when it ends. Throws an Error. */
export async function openEvents(onlost) {
  let response;
  try {
    response = await request("events", {});
  } catch {
    throw new Error("the program that this page belongs to does not answer: was it stopped?");
  }
  if (!response.ok) throw await errorOf(response);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  const readSome = async () => {
    const { done, value } = await reader.read();
    if (done) return false;
    const parts = (rest + value).split("\n\n");
    rest = parts.pop();
    for (const part of parts) if (part.startsWith("data: ")) deliver(JSON.parse(part.slice(6)));
    return true;
  };
  while (!page && (await readSome()));
  if (!page) throw new Error("the stream of events ended");
  (async () => {
    try {
      while (await readSome());
    } catch {
      // The connection was lost.
    }
    page = "";
    for (const [call, listener] of [...listeners])
      listener({ kind: "end", call, code: 14, status: "UNAVAILABLE", message: "the connection to the console was lost",
                 details: [], trailers: [], ms: null });
    listeners.clear();
    onlost();
  })();
}
