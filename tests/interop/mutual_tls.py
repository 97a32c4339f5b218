#!/usr/bin/env python3
"""Clients that have to prove who they are: grpcurl's and ours, against our movie server that asks for a certificate."""

import tempfile

import stage
from certificates import Certificates
from stage import Cases, Server, equal, expect, own, peer, run


def grpcurl(made, server, *more):
    return run(peer("grpcurl"), "-cacert", made.ca, *more, "-max-time", "20", server.address, "list")


def grpcurl_shows_its_certificate(made, server):
    done = grpcurl(made, server, "-cert", made.client, "-key", made.client_key)
    equal(done.returncode, 0, f"grpcurl's exit code ({done.stderr.strip()[-300:]})")
    expect("movie.MovieService" in done.stdout, f"it lists {done.stdout!r}")


def grpcurl_is_refused_without_one(made, server):
    expect(grpcurl(made, server).returncode != 0, "a client without a certificate was served")


def our_client_shows_its_certificate(made, server):
    done = run(own("movie_client"), server.address, "--ca", made.ca, "--cert", made.client, "--key", made.client_key)
    equal(done.returncode, 0, f"the client's exit code ({done.stderr.strip()[-300:]})")


def our_client_is_refused_without_one(made, server):
    done = run(own("movie_client"), server.address, "--ca", made.ca)
    equal(done.returncode, 1, "the client's exit code")
    expect("UNAVAILABLE" in done.stderr and "\n" not in done.stderr.strip(), f"it says {done.stderr!r}")


def our_client_is_refused_with_a_strangers(made, server):
    with tempfile.TemporaryDirectory() as folder:
        other = Certificates(folder)
        done = run(own("movie_client"), server.address, "--ca", made.ca, "--cert", other.client, "--key", other.client_key)
    equal(done.returncode, 1, "the client's exit code")


def main():
    cases = Cases()
    every = (grpcurl_shows_its_certificate, grpcurl_is_refused_without_one, our_client_shows_its_certificate,
             our_client_is_refused_without_one, our_client_is_refused_with_a_strangers)

    def against_the_movie_server(backend):
        with tempfile.TemporaryDirectory() as folder:
            made = Certificates(folder)
            flags = ("--cert", made.server, "--key", made.server_key, "--client-ca", made.ca)
            with Server(own("movie_server"), "--port=0", *flags, env={"CORACLE_BACKEND": backend}) as server:
                cases.each(f"MutualTls.{backend}", every, made, server)
                equal(server.stop(), 0, "the server's exit code")

    for backend in stage.backends():
        cases.run(f"MutualTls.{backend}.TheServerServes", against_the_movie_server, backend)
    cases.end()


if __name__ == "__main__":
    main()
