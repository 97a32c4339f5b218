// Makes all four kinds of call and one whose deadline expires on grpc-js: movie_client.js PROTO ADDRESS [CA]
"use strict";

const assert = require("assert");
const fs = require("fs");
const { grpc, service } = require("./movie.js");

const [proto, address, ca] = process.argv.slice(2);
const credentials = ca ? grpc.credentials.createSsl(fs.readFileSync(ca)) : grpc.credentials.createInsecure();
const movies = new (service(proto))(address, credentials);
const within = (ms) => ({ deadline: Date.now() + ms });
const limit_ms = 20_000;

// Of a call with one reply: the reply, or its error thrown.
const replied = (begin) => new Promise((done, failed) => begin((error, reply) => (error ? failed(error) : done(reply))));
const ended = (call) => new Promise((done) => call.on("status", (status) => done(status.code)));
const fails = async (call, code) => assert.strictEqual(await call.then(() => 0, (error) => error.code), code);

async function unary() {
  await fails(replied((reply) => movies.AddMovie({}, within(limit_ms), reply)), grpc.status.INVALID_ARGUMENT);
  const reply = await replied((reply) => movies.AddMovie({ title: "Stalker", year_of_production: 1979 }, within(limit_ms), reply));
  return reply.movie_id;
}

async function clientStreaming() {
  const reply = await replied((reply) => {
    const call = movies.AddMultipleMovies(within(limit_ms), reply);
    for (let part = 0; part < 100; ++part) call.write({ title: `part ${part}` });
    call.end();
  });
  assert.strictEqual(reply.movie_ids.length, 100);
}

async function serverStreaming(id) {
  const ids = [];
  for await (const movie of movies.ListMovies({}, within(limit_ms))) ids.push(movie.id);
  assert.strictEqual(new Set(ids).size, ids.length);
  assert.ok(ids.length > 100, `${ids.length} movies came`);
  assert.ok(ids.includes(id), `the movie with the id ${id} is missing`);
}

async function bidirectional(id) {
  const call = movies.WatchTogether(within(limit_ms));
  const status = ended(call);
  call.on("error", () => {}); // the status reports it
  const replies = [];
  let arrived = () => {};
  call.on("data", (reply) => {
    replies.push(reply);
    arrived();
  });
  for (let view = 1; view <= 3; ++view) {
    const reply = new Promise((go) => (arrived = go));
    call.write({ movie_id: id });
    await reply;
    assert.strictEqual(replies.at(-1).views, view);
    assert.strictEqual(replies.at(-1).movie.year_of_production, 1979);
  }
  call.write({ movie_id: "unknown" });
  assert.strictEqual(await status, grpc.status.NOT_FOUND);
}

async function deadline() {
  const call = movies.ListMovies({ pause_ms: 60_000 }, within(300));
  call.on("error", () => {});
  call.resume();
  assert.strictEqual(await ended(call), grpc.status.DEADLINE_EXCEEDED);
}

async function main() {
  const id = await unary();
  await clientStreaming();
  await serverStreaming(id);
  await bidirectional(id);
  await deadline();
  console.log("all calls returned what was expected");
}

main().then(() => process.exit(0), (error) => {
  console.error(String(error));
  process.exit(1);
});
