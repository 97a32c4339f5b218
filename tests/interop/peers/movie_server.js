// The movie service on grpc-js, with its movies in memory: movie_server.js PROTO [CERTIFICATE KEY]
"use strict";

const fs = require("fs");
const { grpc, service } = require("./movie.js");

const [proto, certificate, key] = process.argv.slice(2);
const shelf = new Map(); // replies of WatchTogether, by id

function keep(movie) {
  const id = String(shelf.size + 1);
  shelf.set(id, { movie: { ...movie, id }, views: 0 });
  return id;
}

const failure = (code, details) => ({ code, details });

const handlers = {
  AddMovie(call, reply) {
    if (!call.request.title) return reply(failure(grpc.status.INVALID_ARGUMENT, "a movie needs a title"));
    reply(null, { movie_id: keep(call.request) });
  },

  AddMultipleMovies(call, reply) {
    const upload = [];
    call.on("data", (movie) => upload.push(movie));
    call.on("end", () => reply(null, { movie_ids: upload.map(keep) }));
  },

  async ListMovies(call) {
    for (const { movie } of shelf.values()) {
      if (call.request.pause_ms) await new Promise((go) => setTimeout(go, call.request.pause_ms).unref());
      if (call.cancelled) return;
      call.write(movie);
    }
    call.end();
  },

  WatchTogether(call) {
    call.on("data", (request) => {
      const reply = shelf.get(request.movie_id);
      if (!reply) return call.emit("error", failure(grpc.status.NOT_FOUND, "no movie has this id"));
      ++reply.views;
      call.write(reply);
    });
    call.on("end", () => call.end());
  },
};

const credentials = certificate
  ? grpc.ServerCredentials.createSsl(null, [{ cert_chain: fs.readFileSync(certificate), private_key: fs.readFileSync(key) }])
  : grpc.ServerCredentials.createInsecure();
const server = new grpc.Server();
server.addService(service(proto).service, handlers);
server.bindAsync("127.0.0.1:0", credentials, (error, port) => {
  if (error) throw error;
  console.log(`listening on 127.0.0.1:${port}`);
});
process.on("SIGTERM", () => process.exit(0));
