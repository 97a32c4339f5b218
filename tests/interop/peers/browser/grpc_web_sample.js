// --8<-- [start:sample]
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { GrpcWebClientBase, MethodDescriptor, MethodType, StatusCode } from "grpc-web";

import { AddMovieResponseSchema, ListMoviesRequestSchema, MovieSchema } from "./movie_pb.js";

const method = (name, type, request, response) => new MethodDescriptor(
    `/movie.MovieService/${name}`, type, Object, Object,
    (message) => toBinary(request, message), (bytes) => fromBinary(response, bytes));
const addMovie = method("AddMovie", MethodType.UNARY, MovieSchema, AddMovieResponseSchema);
const listMovies = method("ListMovies", MethodType.SERVER_STREAMING, ListMoviesRequestSchema, MovieSchema);

export async function visitByGrpcWeb(host) {  // "http://localhost:50051"
  const client = new GrpcWebClientBase({ format: "text" });
  const add = (movie) => client.unaryCall(
      `${host}/movie.MovieService/AddMovie`, create(MovieSchema, movie), { deadline: String(Date.now() + 5000) }, addMovie);

  const { movieId } = await add({ title: "Nosferatu", yearOfProduction: 1922 });

  const titles = [];
  await new Promise((done, failed) => {
    client.serverStreaming(`${host}/movie.MovieService/ListMovies`, create(ListMoviesRequestSchema), {}, listMovies)
        .on("data", (movie) => titles.push(movie.title))
        .on("error", failed)
        .on("end", done);
  });

  try {
    await add({});
  } catch (error) {
    if (error.code !== StatusCode.INVALID_ARGUMENT) throw error;
  }
  return { movieId, titles };
}
// --8<-- [end:sample]
