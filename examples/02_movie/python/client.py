"""Makes all four kinds of call and one whose deadline expires, and checks the replies: client.py ADDRESS [--ca F]."""

import argparse
import pathlib
import queue
import sys

import grpc

import movie_pb2
import movie_pb2_grpc

PATIENCE_S = 20  # for a slow machine; a call without a deadline could wait forever
DEADLINE_S = 1


class Unexpected(Exception):
    """A reply differs from what the service promises."""


def require(truth, failure):
    if not truth:
        raise Unexpected(failure)


def show(step, text):
    print(f"{step:<17} {text}", flush=True)


def must_fail(call, code):
    """Makes a call that has to end with this code; returns the error."""
    try:
        call()
    except grpc.RpcError as error:
        require(error.code() == code, f"a call ended with {error.code().name}: {error.details()}, not with {code.name}")
        return error
    raise Unexpected(f"a call succeeded, and did not end with {code.name}")


def make_movie(title, year, first_name, last_name):
    return movie_pb2.Movie(title=title, genres=[movie_pb2.DRAMA], year_of_production=year,
                           directors=[movie_pb2.MoviePerson(first_name=first_name, last_name=last_name)])


def add_one(stub):
    movie_id = stub.AddMovie(make_movie("Stalker", 1979, "Andrei", "Tarkovsky"), timeout=PATIENCE_S).movie_id
    require(movie_id, "AddMovie returned no id")
    show("unary", f"AddMovie: Stalker has the id {movie_id}")
    refused = must_fail(lambda: stub.AddMovie(movie_pb2.Movie(), timeout=PATIENCE_S), grpc.StatusCode.INVALID_ARGUMENT)
    show("unary", f"AddMovie without a title: {refused.details()}")
    return movie_id


def add_many(stub):
    trilogy = [make_movie(title, 1994, "Krzysztof", "Kieslowski") for title in ("Blue", "White", "Red")]
    ids = stub.AddMultipleMovies(iter(trilogy), timeout=PATIENCE_S).movie_ids
    require(len(ids) == 3, f"AddMultipleMovies returned {len(ids)} ids, not three")
    show("client streaming", f"AddMultipleMovies: three movies, the last has the id {ids[-1]}")


def list_all(stub, movie_id):
    movies = list(stub.ListMovies(movie_pb2.ListMoviesRequest(), timeout=PATIENCE_S))
    ids = [movie.id for movie in movies]
    require(movie_id in ids, f"ListMovies did not return the movie with the id {movie_id}")
    ours = movies[ids.index(movie_id):]  # the server may hold others before it
    require(len(ours) >= 4, "ListMovies did not return the four movies that were added")
    for movie in ours[:4]:
        require(len(movie.directors) == 1, f"ListMovies lost the director of {movie.title}")
        show("server streaming", f"ListMovies: {movie.title} by {movie.directors[0].last_name}")


def watch(stub, movie_id):
    requests = queue.Queue()
    replies = stub.WatchTogether(iter(requests.get, None), timeout=PATIENCE_S)
    for view in (1, 2, 3):
        requests.put(movie_pb2.WatchTogetherRequest(movie_id=movie_id))
        reply = next(replies)  # before the next request
        require(reply.views == view, f"WatchTogether counted view {view} as {reply.views}")
        show("bidirectional", f"WatchTogether: {reply.movie.title}, view {view}")
    requests.put(movie_pb2.WatchTogetherRequest(movie_id="unknown"))
    missed = must_fail(lambda: next(replies), grpc.StatusCode.NOT_FOUND)
    requests.put(None)
    show("bidirectional", f"WatchTogether: {missed.details()}")


def miss_a_deadline(stub):
    slowly = movie_pb2.ListMoviesRequest(pause_ms=60_000)
    must_fail(lambda: list(stub.ListMovies(slowly, timeout=DEADLINE_S)), grpc.StatusCode.DEADLINE_EXCEEDED)
    show("deadline", f"ListMovies with pauses, within {DEADLINE_S} s: DEADLINE_EXCEEDED")


def channel_of(line):
    if not line.ca:
        return grpc.insecure_channel(line.address)
    return grpc.secure_channel(line.address, grpc.ssl_channel_credentials(line.ca.read_bytes()))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("address", help="the server's: 127.0.0.1:50051")
    parser.add_argument("--ca", type=pathlib.Path, help="the CA that signed the server's certificate, PEM: TLS")
    with channel_of(parser.parse_args()) as channel:
        stub = movie_pb2_grpc.MovieServiceStub(channel)
        movie_id = add_one(stub)
        add_many(stub)
        list_all(stub, movie_id)
        watch(stub, movie_id)
        miss_a_deadline(stub)
    show("done", "all calls returned what was expected")


if __name__ == "__main__":
    try:
        main()
    except Unexpected as error:
        sys.exit(f"client.py: {error}")
    except grpc.RpcError as error:
        sys.exit(f"client.py: {error.code().name}: {error.details()}")
