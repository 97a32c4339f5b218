#!/usr/bin/env python3
"""The examples, run as their READMEs say; movie has scripts of its own."""

import stage
from stage import Cases, Server, equal, expect, own, run


def client(name, server, *words, backend):
    done = run(own(name), server.address, *words, env={"CORACLE_BACKEND": backend})
    equal(done.returncode, 0, f"the exit code ({done.stdout[-400:]} {done.stderr[-400:]})")
    return done.stdout


def greets(backend):
    with Server(own("greeter_server"), "--port=0", env={"CORACLE_BACKEND": backend}) as server:
        expect("Hello, Ada" in client("greeter_client", server, "Ada", backend=backend), "no greeting came")
        equal(server.stop(), 0, "the server's exit code")


def relays(backend):
    env = {"CORACLE_BACKEND": backend}
    with Server(own("relay_server"), "--port=0", env=env) as last, \
            Server(own("relay_server"), "--port=0", "--next", last.address, env=env) as middle, \
            Server(own("relay_server"), "--port=0", "--next", middle.address, env=env) as first:
        shown = client("relay_client", first, backend=backend)
        for step in ("2 hops", "deadline", "cancel"):
            expect(step in shown, f"the client does not show {step!r}: {shown}")
        for server in (first, middle, last):
            equal(server.stop(), 0, "a server's exit code")


def says_that_the_next_server_is_away():
    with Server(own("relay_server"), "--port=0") as gone:
        address = gone.address
    with Server(own("relay_server"), "--port=0", "--next", address) as server:
        done = run(own("relay_client"), server.address)
        expect(done.returncode > 0 and "UNAVAILABLE" in done.stdout + done.stderr, f"{done.returncode}: {done.stdout} {done.stderr}")


def ends_well(program, backend):
    done = run(own(program), env={"CORACLE_BACKEND": backend})
    equal(done.returncode, 0, f"the exit code ({done.stdout[-400:]} {done.stderr[-400:]})")
    expect("as expected: " in done.stdout, f"it says nothing of its outcome: {done.stdout}")


COROUTINES = ("event", "latch", "wait_group", "mutex", "when_all", "condition_variable", "channel")


if __name__ == "__main__":
    cases = Cases()
    for name in stage.backends():
        for program in COROUTINES:
            cases.run(f"Example.{name}.Coroutines.{program}", ends_well, f"coroutines_{program}", name)
        cases.run(f"Example.{name}.GreeterGreets", greets, name)
        cases.run(f"Example.{name}.RelayPassesDeadlineAndCancellation", relays, name)
    cases.run("Example.RelaySaysThatTheNextServerIsAway", says_that_the_next_server_is_away)
    cases.end()
