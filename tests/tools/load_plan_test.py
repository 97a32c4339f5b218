"""The plans of coracle load: what none can be is refused, and what is too much comes to an end."""

import contextlib
import json
import os
import pty
import re
import subprocess
import time

import pytest

from load_command import GREET, USAGE, adds_up, load, measured
from rest_endpoint import Endpoint, endpoint
from programs import STOP_LIMIT_S, own, run

A_BILLION_AND_ONE = "1000000001"


@pytest.fixture(scope="module")
def server(greeter_server):
    return greeter_server


def test_what_cannot_be_meant_is_refused(server):
    for words, text in (
            (("--rate", "nan", "--duration", "1s"), "--rate is a number above 0"),
            (("--rate", "inf", "--duration", "1s"), "--rate is a number above 0"),
            (("--rate", "0"), "--rate is a number above 0"), (("--rate", "-5"), "--rate is a number above 0"),
            (("--rate", "10000001", "--duration", "1ms"), "a rate is at most 10000000/s"),
            (("--ramp", "0:10000001:1ms"), "a rate is at most 10000000/s"),
            (("-n", "1000000", "--rate", "0.001"), "at most 1000h"), (("--rate", "1", "--duration", "1001h"), "at most 1000h"),
            (("--stage", "1:600h", "--stage", "1:600h"), "at most 1000h"), (("--duration", "1001h"), "at most 1000h"),
            (("-n", "1", "--warm-up", "1001h"), "at most 1000h"), (("--users", "1", "--ramp-up", "1001h"), "at most 1000h"),
            (("-n", A_BILLION_AND_ONE), "from 1 to 1,000,000,000"), (("--users", A_BILLION_AND_ONE), "from 1 to 1,000,000,000"),
            (("--users", "1", "--calls-per-user", A_BILLION_AND_ONE), "from 1 to 1,000,000,000"),
            (("--users", "1", "--calls-per-user", "0"), "--calls-per-user: a whole number from 1 to 1,000,000,000, not '0'"),
            (("-c", "1000001"), "from 1 to 1,000,000"), (("--connections", "1000001"), "from 1 to 1,000,000")):
        done = load(server, *GREET, *words, code=USAGE)
        assert done.stdout == "", f"what {words} prints"
        assert text in done.stderr, f"{words}: {text!r} is not in {done.stderr!r}"


def test_a_plan_that_asks_for_too_much_ends(server):
    """Two million calls within 0.2 s: what is not begun 0.3 s later never is, and has failed."""
    before = time.monotonic()
    found = measured(server, *GREET, "SayHello=3", "-d", '{"name": "Bob"}', "--rate", "10000000", "--duration", "200ms", "--timeout", "300ms",
                     "--loops", "2")
    took_s = time.monotonic() - before
    adds_up(found, 2_000_000)
    by_status = {one["status"]: one for one in found["statuses"]}
    assert by_status["NOT_STARTED"]["calls"] > 0, f"all have begun: {by_status}"
    assert "ended before the call began" in by_status["NOT_STARTED"]["first"], f"it says {by_status['NOT_STARTED']}"
    assert [one["calls"] for one in found["methods"]] == [500_000, 1_500_000], "the shares"
    assert took_s < 30, f"it took {took_s} s"


def test_what_would_be_ignored_is_refused(server):
    for words, text in ((("--kind", "unary"), "--kind requires --raw"), (("--messages", "3"), "--messages requires a METHOD"),
                        (("--messages", "1", "SayHello=2", "-d", "{}"), "--messages requires a METHOD")):
        done = load(server, *GREET, "-n", "1", *words, code=USAGE)
        assert text in done.stderr, f"{words}: {text!r} is not in {done.stderr!r}"


def test_a_ramp_from_zero_is_warmed_up(server):
    with endpoint() as origin:
        Endpoint.asked = 0
        words = ("--ramp", "0:100:200ms", "--warm-up", "500ms", "--json", "-")
        done = run(own("coracle"), "load", f"{origin}/keeping", *GREET, *words)
        assert done.returncode == 0, f"the exit code ({done.stderr})"
        found, = json.loads(done.stdout)["runs"]
    adds_up(found, 10)
    assert found["planned"] == 10, "what is planned"
    assert 10 < Endpoint.asked <= 10 + 50, f"{Endpoint.asked} calls were made"


def test_a_terminal_sees_the_warm_up(server):
    main, other = pty.openpty()
    command = [own("coracle"), "load", server.address, "-p", *GREET, "-c", "1", "--duration", "100ms", "--warm-up", "1200ms"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=other) as going:
        os.close(other)
        said = b""
        with contextlib.suppress(OSError):  # so ends a terminal that nobody has open any more
            while part := os.read(main, 4096):
                said += part
        assert going.wait(STOP_LIMIT_S) == 0, "the exit code"
    os.close(main)
    assert re.findall(rb"warming up, ([^\x1b]*) left", said) == [b"1.2 s", b"200 ms"], f"the lines of the warm-up in {said!r}"
