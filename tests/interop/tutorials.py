#!/usr/bin/env python3
"""Examples whose names are those of other people's tutorials, with programs that know the tutorial alone: the movie service of
"Building a modern API with gRPC", in both directions, and the greeter of gRPC's own helloworld."""

import concurrent.futures
import importlib
import json
import pathlib
import sys
import tempfile
import uuid

import stage
from stage import MOVIE_PROTO, Cases, Server, equal, expect, own, run

stage.with_packages("grpc", "grpc_tools")

import grpc  # noqa: E402
from google.protobuf import descriptor_pb2, json_format  # noqa: E402

TUTORIAL = stage.ROOT / "tests/interop/peers/tutorial.proto"
LIMIT_S = 20
SPARTACUS = {
    "title": "Spartacus", "genres": ["ACTION", "DRAMA", "WAR"], "yearOfProduction": 1960, "durationMinutes": 197,
    "directors": [{"firstName": "Stanley", "lastName": "Kubrick"}], "writers": [{"firstName": "Dalton", "lastName": "Trumbo"}],
    "stars": [{"firstName": "Kirk", "lastName": "Douglas"}, {"firstName": "Jean", "lastName": "Simmons"}]}


def tutorial_modules(folder):
    done = run(stage.PYTHON, "-m", "grpc_tools.protoc", f"-I{TUTORIAL.parent}", f"--python_out={folder}",
               f"--grpc_python_out={folder}", TUTORIAL)
    equal(done.returncode, 0, f"protoc's exit code ({done.stderr[-300:]})")
    sys.path.insert(0, folder)
    return importlib.import_module("tutorial_pb2"), importlib.import_module("tutorial_pb2_grpc")


with tempfile.TemporaryDirectory() as scratch:
    pb2, pb2_grpc = tutorial_modules(scratch)


def described(proto):
    """The definitions of a .proto file, as protoc has them: without comments, in one order."""
    with tempfile.NamedTemporaryFile() as out:
        done = run(stage.PYTHON, "-m", "grpc_tools.protoc", f"-I{proto.parent}", f"--descriptor_set_out={out.name}", proto)
        equal(done.returncode, 0, f"protoc's exit code ({done.stderr[-300:]})")
        (file,) = descriptor_pb2.FileDescriptorSet.FromString(pathlib.Path(out.name).read_bytes()).file
    return file


def by_name(definitions):
    return {one.name: one for one in definitions}


def the_example_defines_all_that_the_tutorial_defines():
    ours, theirs = described(MOVIE_PROTO), described(TUTORIAL)
    equal((ours.package, ours.syntax, ours.options), (theirs.package, theirs.syntax, theirs.options), "package, syntax and options")
    for kind in ("message_type", "enum_type"):
        mine = by_name(getattr(ours, kind))
        for one in getattr(theirs, kind):
            equal(mine.get(one.name), one, f"our {one.name}")
    services = by_name(ours.service)
    for service in theirs.service:
        methods = by_name(services[service.name].method)
        for method in service.method:
            equal(methods.get(method.name), method, f"our {service.name}/{method.name}")


def movie(**fields):
    return pb2.Movie(**fields)


def its_client_adds_a_movie(stub):
    """As the tutorial does it: a title, a deadline of a second, and the id in the reply."""
    reply = stub.AddMovie(movie(title="Goodfellas"), timeout=1)
    expect(reply.movie_id, f"the reply has no id: {reply!r}")


def its_client_adds_movies_by_a_stream(stub):
    reply = stub.AddMultipleMovies((movie(title=f"Movie {number}") for number in (1, 2, 3)), timeout=LIMIT_S)
    equal(len(set(reply.movie_ids)), 3, f"the number of different ids in {reply!r}")


def our_server_keeps_every_field(stub, server):
    sent = json_format.ParseDict(SPARTACUS, movie())
    movie_id = stub.AddMovie(sent, timeout=LIMIT_S).movie_id
    listed = run(own("coracle"), "call", server.address, "-p", "ListMovies")
    equal(listed.returncode, 0, f"the exit code of coracle call ({listed.stderr[-300:]})")
    kept = [one for one in map(json.loads, listed.stdout.splitlines()) if one["id"] == movie_id]
    equal(kept, [{"id": movie_id, **SPARTACUS}], "the movie that was kept")


class MovieServer(pb2_grpc.MovieServiceServicer):
    """As the tutorial's server: an id that is no number, and the two methods alone."""

    def __init__(self):
        self.kept = {}

    def add(self, one):
        movie_id = str(uuid.uuid4())
        self.kept[movie_id] = one
        return movie_id

    def AddMovie(self, request, context):
        return pb2.AddMovieResponse(movie_id=self.add(request))

    def AddMultipleMovies(self, request_iterator, context):
        return pb2.AddMultipleMoviesResponse(movie_ids=[self.add(one) for one in request_iterator])


def our_definition_calls_its_server():
    service = MovieServer()
    server = grpc.server(concurrent.futures.ThreadPoolExecutor())
    pb2_grpc.add_MovieServiceServicer_to_server(service, server)
    address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        for method, requests, ids in (("AddMovie", [SPARTACUS], lambda reply: [reply["movieId"]]),
                                      ("AddMultipleMovies", [SPARTACUS] * 3, lambda reply: reply["movieIds"])):
            data = [word for request in requests for word in ("-d", json.dumps(request))]
            done = run(own("coracle"), "call", address, "-p", method, "--proto", MOVIE_PROTO, *data)
            equal(done.returncode, 0, f"the exit code of coracle call ({done.stderr[-300:]})")
            came = [json_format.MessageToDict(service.kept[one]) for one in ids(json.loads(done.stdout))]
            equal(came, requests, f"what {method} brought to the server")
    finally:
        server.stop(None)


def the_greeter_is_that_of_helloworld():
    """helloworld.Greeter/SayHello takes HelloRequest {string name = 1} and returns HelloReply {string message = 1}."""
    with Server(own("greeter_server"), "127.0.0.1:0") as server, grpc.insecure_channel(server.address) as channel:
        reply = channel.unary_unary("/helloworld.Greeter/SayHello")(b"\x0a\x05world", timeout=LIMIT_S)
        greeting = reply[2:].decode()
        equal(reply[:2], bytes([1 << 3 | 2, len(greeting)]), "the reply's tag and length")
        expect(greeting.startswith("Hello") and "world" in greeting, f"the greeting is {greeting!r}")


def main():
    cases = Cases()
    cases.each("Tutorials", [the_greeter_is_that_of_helloworld])
    cases.each("Tutorials.Movie", [the_example_defines_all_that_the_tutorial_defines, our_definition_calls_its_server])

    def against_our_server(backend):
        with Server(own("movie_server"), "--port=0", env={"CORACLE_BACKEND": backend}) as server, \
                grpc.insecure_channel(server.address) as channel:
            stub = pb2_grpc.MovieServiceStub(channel)
            cases.each(f"Tutorials.Movie.{backend}", [its_client_adds_a_movie, its_client_adds_movies_by_a_stream], stub)
            cases.each(f"Tutorials.Movie.{backend}", [our_server_keeps_every_field], stub, server)

    for backend in stage.backends():
        cases.run(f"Tutorials.Movie.{backend}.TheServerServes", against_our_server, backend)
    cases.end()


if __name__ == "__main__":
    main()
