// What browser_test.py has the page do, by name. Each returns what can be written as JSON.
import { connectClients, countByGet } from "./connect.js";
import { visitByConnect } from "./connect_sample.js";
import { grpcWebClients } from "./grpc_web.js";
import { visitByGrpcWeb } from "./grpc_web_sample.js";
import * as rest from "./rest.js";
import { visitByRest } from "./rest_sample.js";

const clients = { ...connectClients, ...grpcWebClients };
const LIST_LIMIT_MS = 20_000;

const failureOf = async (client, call) => {
  try {
    await call;
  } catch (error) {
    return client.failure(error);
  }
  return "no failure";
};

// What arrived, and how long before the end the first did.
const timed = async (list) => {
  const titles = [];
  let first;
  const outcome = await list(({ title }) => {
    first ??= performance.now();
    titles.push(title);
  });
  return { titles, outcome, aheadMs: performance.now() - first };
};

const refusal = async (call) => {
  try {
    const reply = await call;
    return reply instanceof Response ? reply.type : "answered";
  } catch (error) {
    return error.name;
  }
};

window.scenarios = {
  unary: ({ host, client, movie }) => clients[client](host).add(movie),
  metadata: ({ host, client, movie, ...sent }) => clients[client](host).add(movie, sent),
  failure: ({ host, client }) => {
    const one = clients[client](host);
    return failureOf(one, one.add({}));
  },
  list: ({ host, client, pauseMs }) => timed((seen) => clients[client](host).list({ pauseMs, seen })),
  deadline: async ({ host, client, timeoutMs }) => {
    const one = clients[client](host);
    let left;
    const failure = await failureOf(one, one.list({ pauseMs: LIST_LIMIT_MS, timeoutMs, heard: (ms) => { left = ms; } }));
    return { ...failure, left };
  },
  // Cancels the call when the first movie is there.
  cancel: ({ host, client, pauseMs }) => {
    const one = clients[client](host);
    const control = new AbortController();
    return failureOf(one, one.list({ pauseMs, signal: control.signal, seen: () => control.abort() }));
  },
  upload: ({ host, client }) => {
    const one = clients[client](host);
    return failureOf(one, one.upload());
  },
  countByGet: ({ host, binary }) => countByGet(host, binary),

  post: ({ host, movie, headers }) => rest.post(host, movie, headers),
  lines: ({ host, pauseMs }) => timed((seen) => rest.lines(host, { pauseMs, seen })),
  cancelLines: async ({ host, pauseMs }) => {
    const control = new AbortController();
    return await refusal(rest.lines(host, { pauseMs, signal: control.signal, seen: () => control.abort() }));
  },
  array: ({ host }) => rest.array(host),
  restUpload: ({ host, movies }) => rest.upload(host, movies),
  events: ({ host, pauseMs }) => timed((seen) => rest.events(host, { pauseMs, seen })),
  // A page that does not close its EventSource: what arrives until the browser gives up reconnecting.
  openEvents: async ({ host }) => {
    const titles = [];
    const outcome = await refusal(rest.events(host, { leaveOpen: true, seen: ({ title }) => titles.push(title) }));
    return { titles, outcome };
  },

  // The requests that a page can make without asking first.
  simpleGet: ({ host }) => refusal(fetch(`${host}/v1/movies`)),
  opaqueGet: ({ host }) => refusal(fetch(`${host}/v1/movies`, { mode: "no-cors" })),
  opaquePost: ({ host }) => refusal(fetch(`${host}/v1/movies`, { method: "POST", mode: "no-cors", body: '{"title": "Theirs"}' })),
  formPost: ({ host }) => refusal(fetch(`${host}/v1/movies`, { method: "POST", mode: "no-cors", body: new URLSearchParams({ title: "Theirs" }) })),
  refusedEvents: ({ host }) => refusal(rest.events(host, { seen: () => {} })),
  refusedPost: ({ host, movie }) => refusal(rest.post(host, movie)),
  // A content type of no codec.
  unknownType: async ({ host }) => {
    const response = await fetch(`${host}/movie.MovieService/AddMovie`, { method: "POST", headers: { "content-type": "application/xml" }, body: "<movie/>" });
    return { status: response.status, text: await response.text() };
  },

  connectSample: ({ host }) => visitByConnect(host),
  grpcWebSample: ({ host }) => visitByGrpcWeb(host),
  restSample: ({ host }) => visitByRest(host),
};
