"""Examples whose names are those of other people's tutorials, with programs that know the tutorial alone: the movie service of
"Building a modern API with gRPC", in both directions, and the greeter of gRPC's own helloworld."""

import concurrent.futures
import json
import pathlib
import sys
import tempfile
import types
import uuid

import pytest

import programs
from programs import MOVIE_PROTO, Server, own, run

pytest.importorskip("grpc", reason="./dev peers installs it")
pytest.importorskip("grpc_tools", reason="./dev peers installs it")

import grpc  # noqa: E402
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory  # noqa: E402

TUTORIAL = programs.ROOT / "tests/interop/peers/tutorial.proto"
SERVICE = "movie.MovieService"
LIMIT_S = 20
SPARTACUS = {
    "title": "Spartacus", "genres": ["ACTION", "DRAMA", "WAR"], "yearOfProduction": 1960, "durationMinutes": 197,
    "directors": [{"firstName": "Stanley", "lastName": "Kubrick"}], "writers": [{"firstName": "Dalton", "lastName": "Trumbo"}],
    "stars": [{"firstName": "Kirk", "lastName": "Douglas"}, {"firstName": "Jean", "lastName": "Simmons"}]}


def described(proto):
    """The definitions of a .proto file, as protoc has them: without comments, in one order."""
    with tempfile.NamedTemporaryFile() as out:
        done = run(sys.executable, "-m", "grpc_tools.protoc", f"-I{proto.parent}", f"--descriptor_set_out={out.name}", proto)
        assert done.returncode == 0, f"protoc's exit code ({done.stderr[-300:]})"
        (file,) = descriptor_pb2.FileDescriptorSet.FromString(pathlib.Path(out.name).read_bytes()).file
    return file


class Tutorial:
    """The tutorial's messages and methods. They stand in a pool of their own: the example defines the same names."""

    def __init__(self):
        pool = descriptor_pool.DescriptorPool()
        pool.Add(described(TUTORIAL))
        self.Movie, self.AddMovieResponse, self.AddMultipleMoviesResponse = (
            message_factory.GetMessageClass(pool.FindMessageTypeByName(f"movie.{name}"))
            for name in ("Movie", "AddMovieResponse", "AddMultipleMoviesResponse"))

    def stub(self, channel):
        """What its client calls: AddMovie() and AddMultipleMovies()."""
        return types.SimpleNamespace(
            AddMovie=channel.unary_unary(f"/{SERVICE}/AddMovie", self.Movie.SerializeToString, self.AddMovieResponse.FromString),
            AddMultipleMovies=channel.stream_unary(f"/{SERVICE}/AddMultipleMovies", self.Movie.SerializeToString,
                                                   self.AddMultipleMoviesResponse.FromString))


@pytest.fixture(scope="module")
def tutorial():
    return Tutorial()


@pytest.fixture(scope="module")
def server(backend):
    with Server(own("movie_server"), "--port=0", env={"CORACLE_BACKEND": backend}) as one:
        yield one


@pytest.fixture
def stub(tutorial, server):
    with grpc.insecure_channel(server.address) as channel:
        yield tutorial.stub(channel)


def by_name(definitions):
    return {one.name: one for one in definitions}


def test_the_example_defines_all_that_the_tutorial_defines():
    ours, theirs = described(MOVIE_PROTO), described(TUTORIAL)
    assert (ours.package, ours.syntax, ours.options) == (theirs.package, theirs.syntax, theirs.options), \
        "package, syntax and options"
    for kind in ("message_type", "enum_type"):
        mine = by_name(getattr(ours, kind))
        for one in getattr(theirs, kind):
            assert mine.get(one.name) == one, f"our {one.name}"
    services = by_name(ours.service)
    for service in theirs.service:
        methods = by_name(services[service.name].method)
        for method in service.method:
            assert methods.get(method.name) == method, f"our {service.name}/{method.name}"


def test_its_client_adds_a_movie(stub, tutorial):
    """As the tutorial does it: a title, a deadline of a second, and the id in the reply."""
    reply = stub.AddMovie(tutorial.Movie(title="Goodfellas"), timeout=1)
    assert reply.movie_id, f"the reply has no id: {reply!r}"


def test_its_client_adds_movies_by_a_stream(stub, tutorial):
    reply = stub.AddMultipleMovies((tutorial.Movie(title=f"Movie {number}") for number in (1, 2, 3)), timeout=LIMIT_S)
    assert len(set(reply.movie_ids)) == 3, f"the number of different ids in {reply!r}"


def test_our_server_keeps_every_field(stub, tutorial, server):
    sent = json_format.ParseDict(SPARTACUS, tutorial.Movie())
    movie_id = stub.AddMovie(sent, timeout=LIMIT_S).movie_id
    listed = run(own("coracle"), "call", server.address, "-p", "ListMovies")
    assert listed.returncode == 0, f"the exit code of coracle call ({listed.stderr[-300:]})"
    kept = [one for one in map(json.loads, listed.stdout.splitlines()) if one["id"] == movie_id]
    assert kept == [{"id": movie_id, **SPARTACUS}], "the movie that was kept"


class MovieServer(grpc.GenericRpcHandler):
    """As the tutorial's server: an id that is no number, and the two methods alone."""

    def __init__(self, tutorial):
        self.kept = {}
        self.handlers = {
            f"/{SERVICE}/AddMovie": grpc.unary_unary_rpc_method_handler(
                lambda request, _: tutorial.AddMovieResponse(movie_id=self.add(request)),
                tutorial.Movie.FromString, tutorial.AddMovieResponse.SerializeToString),
            f"/{SERVICE}/AddMultipleMovies": grpc.stream_unary_rpc_method_handler(
                lambda requests, _: tutorial.AddMultipleMoviesResponse(movie_ids=[self.add(one) for one in requests]),
                tutorial.Movie.FromString, tutorial.AddMultipleMoviesResponse.SerializeToString)}

    def add(self, one):
        movie_id = str(uuid.uuid4())
        self.kept[movie_id] = one
        return movie_id

    def service(self, details):
        return self.handlers.get(details.method)


def test_our_definition_calls_its_server(tutorial):
    service = MovieServer(tutorial)
    server = grpc.server(concurrent.futures.ThreadPoolExecutor())
    server.add_generic_rpc_handlers([service])
    address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        for method, requests, ids in (("AddMovie", [SPARTACUS], lambda reply: [reply["movieId"]]),
                                      ("AddMultipleMovies", [SPARTACUS] * 3, lambda reply: reply["movieIds"])):
            data = [word for request in requests for word in ("-d", json.dumps(request))]
            done = run(own("coracle"), "call", address, "-p", method, "--proto", MOVIE_PROTO, *data)
            assert done.returncode == 0, f"the exit code of coracle call ({done.stderr[-300:]})"
            came = [json_format.MessageToDict(service.kept[one]) for one in ids(json.loads(done.stdout))]
            assert came == requests, f"what {method} brought to the server"
    finally:
        server.stop(None)


def test_the_greeter_is_that_of_helloworld():
    """helloworld.Greeter/SayHello takes HelloRequest {string name = 1} and returns HelloReply {string message = 1}."""
    with Server(own("greeter_server"), "127.0.0.1:0") as server, grpc.insecure_channel(server.address) as channel:
        reply = channel.unary_unary("/helloworld.Greeter/SayHello")(b"\x0a\x05world", timeout=LIMIT_S)
        greeting = reply[2:].decode()
        assert reply[:2] == bytes([1 << 3 | 2, len(greeting)]), "the reply's tag and length"
        assert greeting.startswith("Hello") and "world" in greeting, f"the greeting is {greeting!r}"
