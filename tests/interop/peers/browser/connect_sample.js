// --8<-- [start:sample]
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";

import { MovieService } from "./movie_pb.js";

export async function visitByConnect(baseUrl) {  // "http://localhost:50051"
  const movies = createClient(MovieService, createConnectTransport({ baseUrl, useBinaryFormat: true }));

  const { movieId } = await movies.addMovie({ title: "Nosferatu", yearOfProduction: 1922 }, { timeoutMs: 5000 });

  const titles = [];
  for await (const movie of movies.listMovies({}, { timeoutMs: 5000 })) titles.push(movie.title);

  try {
    await movies.addMovie({});
  } catch (error) {
    if (ConnectError.from(error).code !== Code.InvalidArgument) throw error;
  }
  return { movieId, titles };
}
// --8<-- [end:sample]
