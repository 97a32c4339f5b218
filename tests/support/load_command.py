"""coracle load as a test runs it, and what all of its results have to satisfy."""

import json

from programs import ROOT, own, run

GREET_NOBODY = ("SayHello", "--proto", ROOT / "examples/01_greeter/greeter.proto")
GREET = (*GREET_NOBODY, "-d", '{"name": "Ada"}')
USAGE, FAILURE, NOT_MET = 64, 65, 66


def load(server, *words, code=0):
    done = run(own("coracle"), "load", server.address, "-p", *words, limit_s=60)
    assert done.returncode == code, f"the exit code of {words} ({done.stderr.strip()[-300:]})"
    return done


def measured(server, *words, code=0):
    """The one run of the JSON results."""
    runs = json.loads(load(server, *words, "--json", "-", code=code).stdout)["runs"]
    assert len(runs) == 1, "the number of runs"
    return runs[0]


def adds_up(found, calls):
    assert found["calls"] == calls, "the number of calls"
    assert found["ok"] + found["failed"] == calls, "well and failed"
    for what, want in (("per_second", calls), ("statuses", calls), ("methods", calls), ("bands", found["ok"]),
                       ("histogram", found["ok"])):
        assert sum(one["calls"] for one in found[what]) == want, f"the sum of {what}"
    curve = [one["latency_ms"] for one in found["percentiles"]]
    assert curve == sorted(curve), "the percentiles"
