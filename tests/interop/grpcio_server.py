#!/usr/bin/env python3
"""Our movie client against the example's server on grpcio and against our own, plaintext and TLS."""

import os
import tempfile

import movie_stubs
import stage
from certificates import Certificates
from stage import Cases, Server, equal, expect, own, run

stage.with_packages("grpc", "grpc_tools")

GRPCIO = (stage.PYTHON, "-B", stage.MOVIE_PROTO.parent / "python/server.py")
OURS = (stage.BIN / "movie_server", "--port=0")


def passes(server_command, backend, *flags):
    with Server(*server_command, env={"CORACLE_BACKEND": backend}) as server:
        client = run(own("movie_client"), server.address, *flags, env={"CORACLE_BACKEND": backend})
        equal(client.returncode, 0, f"the exit code ({client.stdout[-300:]} {client.stderr[-300:]})")
        for step in ("unary", "client streaming", "server streaming", "bidirectional", "deadline"):
            expect(step in client.stdout, f"the client does not show its step {step!r}: {client.stdout}")


def notices_a_server_that_is_not_there():
    with Server(*GRPCIO) as server:
        address = server.address
    client = run(own("movie_client"), address)
    expect(client.returncode not in (0, None) and client.returncode > 0, f"the exit code is {client.returncode}")
    expect("UNAVAILABLE" in client.stdout + client.stderr, f"it says {client.stdout!r} {client.stderr!r}")


def main():
    cases = Cases()
    with tempfile.TemporaryDirectory() as folder:
        movie_stubs.generate(folder)
        os.environ["PYTHONPATH"] = folder
        made = Certificates(folder)
        tls = ("--cert", made.server, "--key", made.server_key)
        for backend in stage.backends():
            cases.run(f"MovieClient.{backend}.PassesAgainstGrpcio", passes, GRPCIO, backend)
            cases.run(f"MovieClient.{backend}.PassesAgainstItsOwnServer", passes, OURS, backend)
            cases.run(f"MovieClient.{backend}.PassesAgainstGrpcioOverTls", passes, (*GRPCIO, *tls), backend, "--ca", made.ca)
            cases.run(f"MovieClient.{backend}.PassesAgainstItsOwnServerOverTls", passes, (*OURS, *tls), backend, "--ca", made.ca)
        cases.run("MovieClient.NoticesAServerThatIsNotThere", notices_a_server_that_is_not_there)
    cases.end()


if __name__ == "__main__":
    main()
