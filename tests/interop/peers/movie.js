// What client and server share: the service's description, read from the example's .proto (the first word).
"use strict";

const grpc = require("@grpc/grpc-js");
const loader = require("@grpc/proto-loader");

exports.grpc = grpc;
exports.service = (proto) => {
  const definition = loader.loadSync(proto, { keepCase: true, longs: Number, defaults: true });
  return grpc.loadPackageDefinition(definition).movie.MovieService;
};
