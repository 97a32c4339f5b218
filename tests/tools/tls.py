#!/usr/bin/env python3
"""coracle over TLS, when it cannot: it names its own options, and never invites anybody to do without."""

import tempfile

from certificates import Certificates
from stage import Cases, Server, equal, expect, own, run

UNAVAILABLE, USAGE = 14, 64


def says(words, not_these, *command):
    done = run(own("coracle"), *command)
    equal(done.returncode, UNAVAILABLE, f"the exit code ({done.stderr[-300:]})")
    hint = done.stderr.rstrip().splitlines()[-1]
    expect(all(word in hint for word in words), f"the hint is {hint!r}")
    expect(not any(word in hint for word in not_these), f"the hint is {hint!r}")


def who_is_not_trusted(server, made):
    says(["--ca", "--server-name"], ["--plaintext"], "ls", server.address)


def who_has_another_name(server, made):
    says(["--ca", "--server-name"], ["--plaintext"], "ls", server.address, "--ca", made.ca, "--server-name", "other.example")


def who_wants_a_certificate(server, made):
    says(["--cert", "--key"], ["--plaintext"], "ls", server.address, "--ca", made.ca)


def who_speaks_no_tls(server, made):
    with Server(own("greeter_server"), "127.0.0.1:0") as plain:
        says(["--plaintext"], [], "ls", plain.address)


def what_contradicts_itself(server, made):
    done = run(own("coracle"), "ls", server.address, "--no-verify", "--ca", made.ca)
    equal(done.returncode, USAGE, "the exit code")
    expect("contradict" in done.stderr, f"it says {done.stderr!r}")


def what_is_no_address(server, made):
    done = run(own("coracle"), "ls", "127.0.0.1:99999", "-p")
    equal(done.returncode, UNAVAILABLE, "the exit code")
    expect("write host:port" in done.stderr and "TLS" not in done.stderr, f"it says {done.stderr!r}")


def main():
    cases = Cases()
    with tempfile.TemporaryDirectory() as folder:
        made = Certificates(folder)
        with Server(own("movie_server"), "--port=0", "--cert", made.server, "--key", made.server_key, "--client-ca", made.ca) as server:
            cases.each("Tls", (who_is_not_trusted, who_has_another_name, who_wants_a_certificate, who_speaks_no_tls, what_contradicts_itself, what_is_no_address),
                       server, made)
    cases.end()


if __name__ == "__main__":
    main()
