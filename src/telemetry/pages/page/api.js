// The JSON behind the pages.

async function answerOf(made) {
  let response;
  try {
    response = await made;
  } catch {
    throw new Error("the server does not answer: was it stopped?");
  }
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(answer.error ?? `the server answered with HTTP status ${response.status}`);
  return answer;
}

/** Returns what a page shows; `query` is that of its address. Throws an Error whose message is for the user. */
export function read(page, query = "") {
  return answerOf(fetch(`json/${page}${query}`, { cache: "no-store" }));
}

/** Performs an action, which changes something in the server. Throws an Error whose message is for the user. */
export function perform(action, body) {
  return answerOf(fetch(`actions/${action}`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body), cache: "no-store" }));
}
