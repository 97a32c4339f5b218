"""The movie service on grpcio, with its movies in memory: server.py [--port N] [--cert F --key F]."""

import argparse
import collections
import concurrent.futures
import pathlib
import signal
import threading

import grpc

import movie_pb2
import movie_pb2_grpc

GRACE_S = 5


class Movies(movie_pb2_grpc.MovieServiceServicer):
    def __init__(self):
        self.lock = threading.Lock()  # each call has a thread of the pool
        self.shelf = {}  # by id
        self.views = collections.Counter()

    def keep(self, movies):
        """Adds them all to the shelf; returns their ids."""
        ids = []
        with self.lock:
            for movie in movies:
                kept = movie_pb2.Movie()
                kept.CopyFrom(movie)
                kept.id = str(len(self.shelf) + 1)
                self.shelf[kept.id] = kept
                ids.append(kept.id)
        return ids

    def watch(self, movie_id):
        """Counts a view; returns the reply, or None if no movie has the id."""
        with self.lock:
            if movie_id not in self.shelf:
                return None
            self.views[movie_id] += 1
            return movie_pb2.WatchTogetherResponse(movie=self.shelf[movie_id], views=self.views[movie_id])

    def AddMovie(self, request, context):
        if not request.title:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "a movie needs a title")
        return movie_pb2.AddMovieResponse(movie_id=self.keep([request])[0])

    def AddMultipleMovies(self, request_iterator, context):
        movies = list(request_iterator)  # raises if the stream is cut: all or none
        if not all(movie.title for movie in movies):
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "a movie needs a title")
        return movie_pb2.AddMultipleMoviesResponse(movie_ids=self.keep(movies))

    def ListMovies(self, request, context):
        ended = threading.Event()
        context.add_callback(ended.set)
        with self.lock:
            movies = list(self.shelf.values())
        for movie in movies:
            if request.pause_ms and ended.wait(request.pause_ms / 1000):
                return  # the call has ended
            yield movie

    def WatchTogether(self, request_iterator, context):
        for request in request_iterator:
            reply = self.watch(request.movie_id)
            if reply is None:
                context.abort(grpc.StatusCode.NOT_FOUND, "no movie has this id")
            yield reply


def add_port(server, line):
    address = f"127.0.0.1:{line.port}"
    if not line.cert:
        return server.add_insecure_port(address)
    return server.add_secure_port(address, grpc.ssl_server_credentials([(line.key.read_bytes(), line.cert.read_bytes())]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0, help="0 (the default) lets the kernel choose")
    parser.add_argument("--cert", type=pathlib.Path, help="the server's certificate, PEM")
    parser.add_argument("--key", type=pathlib.Path, help="its key, PEM")
    line = parser.parse_args()
    if bool(line.cert) != bool(line.key):
        parser.error("TLS needs both --cert and --key")
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(16))
    movie_pb2_grpc.add_MovieServiceServicer_to_server(Movies(), server)
    port = add_port(server, line)
    server.start()
    for stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop, lambda *_: server.stop(GRACE_S))  # calls in flight have this long to end
    print(f"listening on 127.0.0.1:{port}", flush=True)
    server.wait_for_termination()


if __name__ == "__main__":
    main()
