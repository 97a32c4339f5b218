"""All four kinds of call and a deadline that expires, checked: client.py ADDRESS [--ca F]."""

import argparse
import pathlib
import queue
import sys

import grpc

import movie_pb2
import movie_pb2_grpc

PATIENCE_S = 20  # enough for a slow machine; a call without a deadline could wait for ever
DEADLINE_S = 1


class Wrong(Exception):
    """What came back is not what should have come."""


def require(truth, what):
    if not truth:
        raise Wrong(what)


def show(step, what):
    print(f"{step:<17} {what}", flush=True)


def must_fail(call, code):
    """The error with which the call ends."""
    try:
        call()
    except grpc.RpcError as error:
        require(error.code() == code, f"{error.code().name} came, not {code.name}: {error.details()}")
        return error
    raise Wrong(f"a call succeeded that should have ended with {code.name}")


def add_one(stub):
    movie = movie_pb2.Movie(title="Stalker", year=1979, director="Andrei Tarkovsky")
    number = stub.AddMovie(movie, timeout=PATIENCE_S).movie_id
    show("unary", f"AddMovie: {movie.title} has the id {number}")
    refused = must_fail(lambda: stub.AddMovie(movie_pb2.Movie(), timeout=PATIENCE_S), grpc.StatusCode.INVALID_ARGUMENT)
    show("unary", f"AddMovie without a title: {refused.details()}")
    return number


def add_many(stub):
    trilogy = [movie_pb2.Movie(title=title, director="Krzysztof Kieslowski") for title in ("Blue", "White", "Red")]
    ids = stub.AddMultipleMovies(iter(trilogy), timeout=PATIENCE_S).movie_ids
    require(len(ids) == 3, f"{len(ids)} movies were kept, not three")
    show("client streaming", f"AddMultipleMovies: three movies, the last has the id {ids[-1]}")


def list_all(stub):
    movies = list(stub.ListMovies(movie_pb2.ListMoviesRequest(), timeout=PATIENCE_S))
    ids = [movie.id for movie in movies]
    require(ids == sorted(set(ids)), f"the list is out of order: {ids}")
    require(len(ids) >= 4, f"the list has only {len(ids)} movies")
    for movie in movies[:4]:
        show("server streaming", f"ListMovies: {movie.id} {movie.title}")


def watch(stub, number):
    wishes = queue.Queue()
    movies = stub.WatchTogether(iter(wishes.get, None), timeout=PATIENCE_S)
    for view in (1, 2, 3):
        wishes.put(movie_pb2.Movie(id=number))
        movie = next(movies)  # answered before the next wish is said
        require(movie.views == view, f"view {view} was counted as {movie.views}")
        show("bidirectional", f"WatchTogether: {movie.title} for the {view}. time")
    wishes.put(movie_pb2.Movie(id=1 << 40))
    missed = must_fail(lambda: next(movies), grpc.StatusCode.NOT_FOUND)
    wishes.put(None)
    show("bidirectional", f"WatchTogether: {missed.details()}")


def miss_a_deadline(stub):
    slowly = movie_pb2.ListMoviesRequest(pause_ms=60_000)
    must_fail(lambda: list(stub.ListMovies(slowly, timeout=DEADLINE_S)), grpc.StatusCode.DEADLINE_EXCEEDED)
    show("deadline", f"ListMovies, slowly, within {DEADLINE_S} s: DEADLINE_EXCEEDED")


def channel_of(line):
    if not line.ca:
        return grpc.insecure_channel(line.address)
    return grpc.secure_channel(line.address, grpc.ssl_channel_credentials(line.ca.read_bytes()))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("address", help="the server's: 127.0.0.1:50051")
    parser.add_argument("--ca", type=pathlib.Path, help="who vouches for the server, PEM: TLS")
    with channel_of(parser.parse_args()) as channel:
        stub = movie_pb2_grpc.MovieServiceStub(channel)
        number = add_one(stub)
        add_many(stub)
        list_all(stub)
        watch(stub, number)
        miss_a_deadline(stub)
    show("done", "everything was right")


if __name__ == "__main__":
    try:
        main()
    except Wrong as error:
        sys.exit(f"client.py: wrong: {error}")
    except grpc.RpcError as error:
        sys.exit(f"client.py: {error.code().name}: {error.details()}")
