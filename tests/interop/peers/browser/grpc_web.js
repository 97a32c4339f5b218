// The movie service by grpc-web, in its text form or its binary one.
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { GrpcWebClientBase, MethodDescriptor, MethodType } from "grpc-web";

import { BadRequestSchema } from "./google/rpc/error_details_pb.js";
import { StatusSchema } from "./google/rpc/status_pb.js";
import { AddMovieResponseSchema, ListMoviesRequestSchema, MovieSchema } from "./movie_pb.js";

const method = (name, type, request, response) =>
    new MethodDescriptor(`/movie.MovieService/${name}`, type, Object, Object, (message) => toBinary(request, message),
                         (bytes) => fromBinary(response, bytes));
const ADD = method("AddMovie", MethodType.UNARY, MovieSchema, AddMovieResponseSchema);
const LIST = method("ListMovies", MethodType.SERVER_STREAMING, ListMoviesRequestSchema, MovieSchema);

const toBase64 = (bytes) => btoa(String.fromCharCode(...bytes));
const fromBase64 = (text) => Uint8Array.from(atob(text), (one) => one.charCodeAt(0));

class Client {
  constructor(host, format) {
    this.host = host;
    this.base = new GrpcWebClientBase({ format });
  }

  add(movie, { text, bytes } = {}) {
    const metadata = { ...(text && { "x-echo-text": text }), ...(bytes && { "x-echo-bytes-bin": toBase64(bytes) }) };
    const back = {};
    return new Promise((done, failed) => {
      const call = this.base.rpcCall(`${this.host}/movie.MovieService/AddMovie`, create(MovieSchema, movie), metadata, ADD, (error, response) => {
        if (error) failed(error);
        else back.movieId = response.movieId;
      });
      call.on("metadata", (fields) => { back.text = fields["x-echo-text"]; });
      call.on("status", ({ metadata: fields }) => {
        const value = fields?.["x-echo-bytes-bin"];
        back.bytes = value && [...fromBase64(value)];
      });
      call.on("end", () => done(back));
    });
  }

  list({ pauseMs = 0, timeoutMs, signal, seen = () => {}, heard = () => {} }) {
    const metadata = timeoutMs ? { deadline: String(Date.now() + timeoutMs) } : {};
    const call = this.base.serverStreaming(`${this.host}/movie.MovieService/ListMovies`, create(ListMoviesRequestSchema, { pauseMs }), metadata, LIST);
    return new Promise((done, failed) => {
      signal?.addEventListener("abort", () => {
        call.cancel();  // after which no event comes
        failed({ code: 1, message: "cancelled" });
      });
      call.on("metadata", (fields) => heard(fields["x-time-left-ms"]));
      call.on("data", seen);
      call.on("error", failed);
      call.on("end", done);
    });
  }

  failure({ code, message, metadata }) {
    const details = metadata?.["grpc-status-details-bin"];
    const violations = details ? fromBinary(StatusSchema, fromBase64(details)).details.map((one) => fromBinary(BadRequestSchema, one.value))
        .flatMap((one) => one.fieldViolations).map((one) => [one.field, one.description]) : [];
    return { code, message, violations };
  }
}

export const grpcWebClients = {
  "grpc-web text": (host) => new Client(host, "text"),
  "grpc-web binary": (host) => new Client(host, "binary"),
};
