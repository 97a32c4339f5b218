"""gRPC against REST: the same service, users with connections of their own, `coracle load`."""

import json
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time

from harness import machine, network, rest_report, rest_servers, unary

ROUNDS = 1
PATIENCE_S = 180  # for the calls that a scenario leaves waiting, 20 s each
DESCRIPTORS = 10_000 + 200


class Scenario:
    """`words`: the options of coracle load."""

    def __init__(self, title, *words):
        self.title, self.words = title, words


SCENARIOS = {
    "1x100": Scenario("1 user, 100 calls", "--users", "1", "--calls-per-user", "100"),
    "50x100": Scenario("50 users, 100 calls each", "--users", "50", "--calls-per-user", "100"),
    "10k/30s": Scenario("10,000 users over 30 s, a call each", "--users", "10000", "--ramp-up", "30s"),
    "10k/15s": Scenario("10,000 users over 15 s, a call each", "--users", "10000", "--ramp-up", "15s"),
    "10k/1s": Scenario("10,000 users over 1 s, a call each", "--users", "10000", "--ramp-up", "1s"),
    "1k steady": Scenario("1,000 users who call again and again for 30 s", "--users", "1000", "--duration", "30s"),
}


def load(kind, server, scenario, tools, net):
    """What coracle load found; it ends as failed when no call ended well, which is a finding as well."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "load.json"
        command = [*net.enter, "taskset", "-c", str(machine.cores()[1]), tools.programs / "coracle", "load", kind.target(server.address),
                   "-p", "AddMovie", "--proto", rest_servers.PROTO, "-d", rest_servers.MOVIE, *scenario.words, "--json", file]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            raise machine.Failure(f"{kind.name} does not end {scenario.title}") from None
        if not file.exists() or not file.stat().st_size:
            raise machine.Failure(f"{kind.name}, {scenario.title}: {done.stderr.strip()[-300:]}")
        return json.loads(file.read_text())["runs"][0]


def measure(kind, name, scenario, tools):
    """One server and one scenario, in a network that is new to both."""
    with network.apart() as net, rest_servers.running(kind, tools, net) as server:
        rest_servers.ask(kind, server, tools, net)  # makes what is made once
        server.settle()
        cpu, generator, wire = server.cpu_seconds(), unary.children_seconds(), net.loopback_bytes()
        began, busy = time.monotonic(), machine.busy_seconds()
        found = load(kind, server, scenario, tools, net)
        generator = unary.children_seconds() - generator
        server.settle()  # a reply that nobody waits for any more is work, too
        cpu, wire = server.cpu_seconds() - cpu, net.loopback_bytes() - wire
        others = (machine.busy_seconds() - busy - cpu - generator) / (time.monotonic() - began)
        kept = rest_servers.ask(kind, server, tools, net) - 2
        if kept < found["ok"]:
            raise machine.Failure(f"{kind.name} said that it kept {found['ok']} movies, and has {kept}")
        done = max(found["ok"], 1)
        return {"server": kind.name, "column": name, "us_per_call": cpu * 1e6 / done, "generator_us_per_call": generator * 1e6 / done,
                "wire_bytes_per_call": wire / done, "message_bytes_per_call": (found["bytes_sent"] + found["bytes_received"]) / done,
                "peak_rss_kb": server.peak_rss_kb(), "kept": kept, "others_cores": others, "note": net.note, "load": found}


def run(chosen):
    for program in ("taskset", "unshare", "ip"):
        if not shutil.which(program):
            raise machine.Failure(f"there is no {program}; fix: apt-get install util-linux iproute2")
    allow_descriptors()
    kinds = [kind for kind in rest_servers.KINDS if chosen.only in kind.name]
    return compare(kinds, wanted(chosen.scenarios), chosen.rounds, rest_servers.Tools(chosen.build / "bin", chosen.build / "rest"))


def compare(kinds, scenarios, rounds, tools):
    """A server that fails in a scenario is told at the end; the others go on."""
    runs, failures = [], []
    for number in range(rounds):
        for name, scenario in scenarios.items():
            for kind in kinds:
                try:
                    runs.append({"round": number, **measure(kind, name, scenario, tools)})
                except machine.Failure as failure:
                    failures.append(str(failure))
                if sys.stderr.isatty():
                    print(f"round {number + 1} of {rounds}, {name}, {kind.name}: done", file=sys.stderr)
    return {"servers": [kind.name for kind in kinds], "columns": list(scenarios), "rounds": rounds,
            "titles": {name: scenario.title for name, scenario in scenarios.items()},
            "notes": sorted({one["note"] for one in runs if one["note"]}), "failures": failures, "runs": runs}


report, charts = rest_report.report, rest_report.charts


def wanted(names):
    if not names:
        return SCENARIOS
    for name in names.split(","):
        if name not in SCENARIOS:
            raise machine.Failure(f"there is no scenario {name}; there are: {', '.join(SCENARIOS)}")
    return {name: SCENARIOS[name] for name in names.split(",")}


def allow_descriptors():
    """To us, and so to every server alike: coracle load sees to itself."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < DESCRIPTORS:
        raise machine.Failure(f"10,000 connections need as many descriptors; the limit is {hard}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, DESCRIPTORS), hard))
