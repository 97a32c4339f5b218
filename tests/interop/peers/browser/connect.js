// The movie service by connect-web: the Connect protocol, or gRPC-Web in its binary form.
import { Code, ConnectError, createClient, decodeBinaryHeader, encodeBinaryHeader } from "@connectrpc/connect";
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-web";

import { Handlers } from "./counts_pb.js";
import { BadRequestSchema } from "./google/rpc/error_details_pb.js";
import { MovieService } from "./movie_pb.js";

const TRANSPORTS = {
  "connect binary": (baseUrl) => createConnectTransport({ baseUrl, useBinaryFormat: true }),
  "connect JSON": (baseUrl) => createConnectTransport({ baseUrl }),
  "connect-web as gRPC-Web": (baseUrl) => createGrpcWebTransport({ baseUrl }),
};

class Client {
  constructor(transport) {
    this.movies = createClient(MovieService, transport);
  }

  async add(movie, { text, bytes } = {}) {
    const headers = new Headers();
    if (text) headers.set("x-echo-text", text);
    if (bytes) headers.set("x-echo-bytes-bin", encodeBinaryHeader(new Uint8Array(bytes)));
    const back = {};
    const { movieId } = await this.movies.addMovie(movie, {
      headers,
      onHeader: (fields) => { back.text = fields.get("x-echo-text"); },
      onTrailer: (fields) => {
        const value = fields.get("x-echo-bytes-bin");
        back.bytes = value && [...decodeBinaryHeader(value)];
      },
    });
    return { movieId, ...back };
  }

  // Calls seen() for each movie, and heard() with the time that the server knew to be left. Returns when the call ends.
  async list({ pauseMs = 0, timeoutMs, signal, seen = () => {}, heard = () => {} }) {
    const onHeader = (fields) => heard(fields.get("x-time-left-ms"));
    for await (const movie of this.movies.listMovies({ pauseMs }, { timeoutMs, signal, onHeader })) seen(movie);
  }

  failure(error) {
    const known = ConnectError.from(error);
    const violations = known.findDetails(BadRequestSchema).flatMap((one) => one.fieldViolations).map((one) => [one.field, one.description]);
    return { code: known.code, message: known.rawMessage, violations };
  }

  async upload() {
    async function* movies() {
      yield { title: "One" };
    }
    return await this.movies.addMultipleMovies(movies());
  }
}

export const connectClients = Object.fromEntries(Object.entries(TRANSPORTS).map(([name, make]) => [name, (url) => new Client(make(url))]));

export const countByGet = async (baseUrl, useBinaryFormat) => {
  const { called } = await createClient(Handlers, createConnectTransport({ baseUrl, useBinaryFormat, useHttpGet: true })).count({});
  return called;
};

export const CANCELLED = Code.Canceled;
