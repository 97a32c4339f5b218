#!/usr/bin/env python3
"""Health and reflection as other people's tools ask for them: grpcurl without a .proto, and grpcio's own clients."""

import json

import stage
from stage import Cases, Server, equal, expect, own, peer, run

stage.with_packages("grpc", "grpc_health", "grpc_reflection")

import grpc  # noqa: E402
from google.protobuf.descriptor_pool import DescriptorPool  # noqa: E402
from grpc_health.v1 import health_pb2, health_pb2_grpc  # noqa: E402
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase  # noqa: E402

LIMIT_S = 20
SERVICES = {"grpc.channelz.v1.Channelz", "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection",
            "grpc.reflection.v1alpha.ServerReflection", "movie.MovieService"}
SERVING, SERVICE_UNKNOWN = 1, 3


def grpcurl(server, *arguments):
    done = run(peer("grpcurl"), "-plaintext", "-max-time", "20", *arguments[:-1], server.address, *arguments[-1])
    equal(done.returncode, 0, f"grpcurl's exit code ({done.stderr.strip()})")
    return done.stdout


def grpcurl_lists_the_services(server):
    listed = set(grpcurl(server, ["list"]).split())
    expect(SERVICES <= listed, f"listed are {listed}")


def grpcurl_describes_what_it_finds(server):
    for what, line in {"movie.MovieService": "rpc ListMovies ( .movie.ListMoviesRequest ) returns ( stream .movie.Movie );",
                       "movie.MovieService.AddMovie": "rpc AddMovie ( .movie.Movie ) returns ( .movie.AddMovieResponse );",
                       "movie.Movie": "string title = 2;",
                       "grpc.health.v1.Health": "rpc Check ( .grpc.health.v1.HealthCheckRequest )"}.items():
        text = grpcurl(server, ["describe", what])
        expect(line in text, f"{what} is described as {text!r}")


def grpcurl_calls_without_a_proto(server):
    reply = json.loads(grpcurl(server, "-d", json.dumps({"title": "Playtime"}), ["movie.MovieService/AddMovie"]))
    expect(int(reply["movieId"]) > 0, f"the reply is {reply}")


def grpcurl_asks_for_health(server):
    reply = json.loads(grpcurl(server, "-d", json.dumps({"service": "movie.MovieService"}), ["grpc.health.v1.Health/Check"]))
    equal(reply, {"status": "SERVING"}, "the reply")


def grpcio_reads_descriptors(server):
    with grpc.insecure_channel(server.address) as channel:
        database = ProtoReflectionDescriptorDatabase(channel)
        expect(SERVICES <= set(database.get_services()), f"listed are {database.get_services()}")
        pool = DescriptorPool(database)
        equal([method.name for method in pool.FindServiceByName("movie.MovieService").methods],
              ["AddMovie", "AddMultipleMovies", "ListMovies", "WatchTogether"], "the methods")
        equal(pool.FindMessageTypeByName("movie.Movie").fields_by_name["title"].number, 2, "the number of the title")


def grpcio_checks_health(server):
    with grpc.insecure_channel(server.address) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        for name in ("", "movie.MovieService"):
            equal(stub.Check(health_pb2.HealthCheckRequest(service=name), timeout=LIMIT_S).status, SERVING, f'"{name}"')
        try:
            stub.Check(health_pb2.HealthCheckRequest(service="nobody"), timeout=LIMIT_S)
        except grpc.RpcError as error:
            equal(error.code(), grpc.StatusCode.NOT_FOUND, "the status of an unknown service")
        else:
            raise stage.Wrong("an unknown service is healthy")


def grpcio_watches_health(server):
    with grpc.insecure_channel(server.address) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        for name, status in {"": SERVING, "nobody": SERVICE_UNKNOWN}.items():
            watch = stub.Watch(health_pb2.HealthCheckRequest(service=name), timeout=LIMIT_S)
            equal(next(watch).status, status, f'what a watch of "{name}" says first')
            watch.cancel()


if __name__ == "__main__":
    cases = Cases()

    def against_the_movie_server():
        with Server(own("movie_server"), "--port=0") as server:
            cases.each("Services", [grpcurl_lists_the_services, grpcurl_describes_what_it_finds, grpcurl_calls_without_a_proto,
                                    grpcurl_asks_for_health, grpcio_reads_descriptors, grpcio_checks_health,
                                    grpcio_watches_health], server)
            server.expect_alive()

    cases.run("Services.TheServerServes", against_the_movie_server)
    cases.end()
