"""Health and reflection as other people's tools ask for them: grpcurl without a .proto, and grpcio's own clients."""

import json

import pytest

from programs import peer, run

pytest.importorskip("grpc", reason="./dev peers installs it")
pytest.importorskip("grpc_health", reason="./dev peers installs it")
pytest.importorskip("grpc_reflection", reason="./dev peers installs it")

import grpc  # noqa: E402
from google.protobuf.descriptor_pool import DescriptorPool  # noqa: E402
from grpc_health.v1 import health_pb2, health_pb2_grpc  # noqa: E402
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase  # noqa: E402

LIMIT_S = 20
SERVICES = {"grpc.channelz.v1.Channelz", "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection",
            "grpc.reflection.v1alpha.ServerReflection", "movie.MovieService"}
SERVING, SERVICE_UNKNOWN = 1, 3


@pytest.fixture(scope="module")
def server(movie_server):
    return movie_server


def grpcurl(server, *arguments):
    done = run(peer("grpcurl"), "-plaintext", "-max-time", "20", *arguments[:-1], server.address, *arguments[-1])
    assert done.returncode == 0, f"grpcurl's exit code ({done.stderr.strip()})"
    return done.stdout


def test_grpcurl_lists_the_services(server):
    listed = set(grpcurl(server, ["list"]).split())
    assert SERVICES <= listed, f"listed are {listed}"


def test_grpcurl_describes_what_it_finds(server):
    for what, line in {"movie.MovieService": "rpc ListMovies ( .movie.ListMoviesRequest ) returns ( stream .movie.Movie );",
                       "movie.MovieService.AddMovie": "rpc AddMovie ( .movie.Movie ) returns ( .movie.AddMovieResponse );",
                       "movie.Movie": "string title = 2;",
                       "grpc.health.v1.Health": "rpc Check ( .grpc.health.v1.HealthCheckRequest )"}.items():
        text = grpcurl(server, ["describe", what])
        assert line in text, f"{what} is described as {text!r}"


def test_grpcurl_calls_without_a_proto(server):
    reply = json.loads(grpcurl(server, "-d", json.dumps({"title": "Playtime"}), ["movie.MovieService/AddMovie"]))
    assert int(reply["movieId"]) > 0, f"the reply is {reply}"


def test_grpcurl_asks_for_health(server):
    reply = json.loads(grpcurl(server, "-d", json.dumps({"service": "movie.MovieService"}), ["grpc.health.v1.Health/Check"]))
    assert reply == {"status": "SERVING"}, "the reply"


def test_grpcio_reads_descriptors(server):
    with grpc.insecure_channel(server.address) as channel:
        database = ProtoReflectionDescriptorDatabase(channel)
        assert SERVICES <= set(database.get_services()), f"listed are {database.get_services()}"
        pool = DescriptorPool(database)
        assert [method.name for method in pool.FindServiceByName("movie.MovieService").methods] == ["AddMovie", "AddMultipleMovies", "ListMovies", "WatchTogether"], \
            "the methods"
        assert pool.FindMessageTypeByName("movie.Movie").fields_by_name["title"].number == 2, "the number of the title"


def test_grpcio_checks_health(server):
    with grpc.insecure_channel(server.address) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        for name in ("", "movie.MovieService"):
            assert stub.Check(health_pb2.HealthCheckRequest(service=name), timeout=LIMIT_S).status == SERVING, f'"{name}"'
        try:
            stub.Check(health_pb2.HealthCheckRequest(service="nobody"), timeout=LIMIT_S)
        except grpc.RpcError as error:
            assert error.code() == grpc.StatusCode.NOT_FOUND, "the status of an unknown service"
        else:
            pytest.fail("an unknown service is healthy")


def test_grpcio_watches_health(server):
    with grpc.insecure_channel(server.address) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        for name, status in {"": SERVING, "nobody": SERVICE_UNKNOWN}.items():
            watch = stub.Watch(health_pb2.HealthCheckRequest(service=name), timeout=LIMIT_S)
            assert next(watch).status == status, f'what a watch of "{name}" says first'
            watch.cancel()


def test_the_server_still_serves(server):
    server.expect_alive()
