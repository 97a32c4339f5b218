// The movie service by its REST routes, with what every browser has: fetch and EventSource.

const json = { "content-type": "application/json" };

export async function post(host, movie, headers = {}) {
  const response = await fetch(`${host}/v1/movies`, { method: "POST", headers: { ...json, ...headers }, body: JSON.stringify(movie) });
  return { status: response.status, text: response.headers.get("x-echo-text"), body: await response.json() };
}

// Calls seen() for each line of JSON as it arrives.
export async function lines(host, { pauseMs = 0, signal, seen }) {
  const response = await fetch(`${host}/v1/movies?pauseMs=${pauseMs}`, { signal, headers: { accept: "application/x-ndjson" } });
  let rest = "";
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
    const parts = (rest + text).split("\n");
    rest = parts.pop();
    parts.forEach((line) => seen(JSON.parse(line)));
  }
}

export async function array(host) {
  return await (await fetch(`${host}/v1/movies`, { headers: { accept: "application/json" } })).json();
}

export async function upload(host, movies) {
  const body = movies.map((movie) => JSON.stringify(movie)).join("\n");
  return await (await fetch(`${host}/v1/movies:upload`, { method: "POST", headers: json, body })).json();
}

// Calls seen() for each event; the status of the call comes with the event "end". Left open, the browser reconnects.
export function events(host, { pauseMs = 0, seen, leaveOpen = false }) {
  return new Promise((done, failed) => {
    const source = new EventSource(`${host}/v1/movies?pauseMs=${pauseMs}`);
    source.onmessage = ({ data }) => seen(JSON.parse(data));
    source.addEventListener("end", ({ data }) => {
      if (leaveOpen) return;
      source.close();
      done(JSON.parse(data));
    });
    source.onerror = () => {
      if (source.readyState === EventSource.CLOSED) failed(new Error("the source is closed"));
    };
  });
}
