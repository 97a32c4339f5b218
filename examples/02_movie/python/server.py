"""The movie service as somebody using grpcio would write it; grpcio_server.py starts it for our client."""

import concurrent.futures
import pathlib
import signal
import sys
import threading

import grpc

import movie_stubs

movie_pb2, movie_pb2_grpc = movie_stubs.load()


def echo(context):
    """Gives x-echo- metadata back, text at once and binary at the end, as the C++ example does."""
    entries = [(key, value) for key, value in context.invocation_metadata() if key.startswith("x-echo-")]
    context.send_initial_metadata([entry for entry in entries if not entry[0].endswith("-bin")])
    context.set_trailing_metadata([entry for entry in entries if entry[0].endswith("-bin")])


class Movies(movie_pb2_grpc.MovieServiceServicer):
    def __init__(self):
        self.lock = threading.Lock()
        self.shelf = {}

    def keep(self, movies):
        with self.lock:
            ids = [len(self.shelf) + place for place in range(1, len(movies) + 1)]
            for number, movie in zip(ids, movies):
                self.shelf[number] = movie_pb2.Movie()
                self.shelf[number].CopyFrom(movie)
                self.shelf[number].id = number
                self.shelf[number].views = 0
        return ids

    def AddMovie(self, movie, context):
        echo(context)
        if not movie.title:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "a movie needs a title")
        return movie_pb2.AddMovieResponse(movie_id=self.keep([movie])[0])

    def AddMultipleMovies(self, movies, context):
        every = list(movies)
        if any(not movie.title for movie in every):
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "a movie needs a title")
        return movie_pb2.AddMultipleMoviesResponse(movie_ids=self.keep(every))

    def ListMovies(self, request, context):
        ended = threading.Event()
        context.add_callback(ended.set)
        with self.lock:
            every = list(self.shelf.values())
        for movie in every:
            if request.pause_ms and ended.wait(request.pause_ms / 1000):
                return
            yield movie

    def WatchTogether(self, movies, context):
        for movie in movies:
            with self.lock:
                kept = self.shelf.get(movie.id)
                if kept:
                    kept.views += 1
            if not kept:
                context.abort(grpc.StatusCode.NOT_FOUND, f"no movie has the id {movie.id}")
            yield kept


def add_port(server, certificate=None, key=None):
    if not certificate:
        return server.add_insecure_port("127.0.0.1:0")
    pair = pathlib.Path(key).read_bytes(), pathlib.Path(certificate).read_bytes()
    return server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([pair]))


def main():
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(16))
    movie_pb2_grpc.add_MovieServiceServicer_to_server(Movies(), server)
    port = add_port(server, *sys.argv[1:])
    server.start()
    signal.signal(signal.SIGTERM, lambda *_: server.stop(1))
    print(f"listening on 127.0.0.1:{port}", flush=True)
    server.wait_for_termination()


if __name__ == "__main__":
    main()
