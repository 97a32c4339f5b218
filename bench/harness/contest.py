"""The contest with other gRPC libraries: its scenarios, and what they have in common."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

from harness import contest_streams, contest_unary, contest_weight, contest_workloads, contestants, machine, peers, servers

SCENARIOS = {"unary": contest_unary, "workloads": contest_workloads, "streams": contest_streams, "weight": contest_weight}
ROUNDS, SECONDS = 5, 2.0
COLUMNS = "1x1,10x10,10x100"
WHOLE_ROUNDS, WHOLE_SECONDS = 5, 4.0
WHOLE_COLUMNS = ",".join(f"{c}x{m}" for c in (1, 10, 50, 100) for m in (1, 10, 100))
PATIENCE_S = 60
METHOD = """The tables show only differences that exceed the noise; the raw data has the other figures. The first row of a table has the medians
of the first program. A cell of another row has its median, and how many times the first row's that is. The noise of a column is how far the
medians of the even and of the odd rounds of the same program lie apart, at most. "within ± N %" marks a difference that is not larger than
this, in either direction; rows and columns with no other cells are left out. A verdict about a goal is given where the distance from the
goal exceeds the noise, too."""


class Failures:
    """What failed, for the end of the report: the others go on, so that a night's run is not lost."""

    def __init__(self):
        self.lines = []

    def note(self, what, failure):
        if failure:
            lines = [line for line in str(failure).splitlines() if line.startswith(("requests:", "status codes:"))]
            self.lines.append("; ".join([f"{what}: {str(failure).splitlines()[0]}", *lines]))

    def attempt(self, what, action):
        """What the action gives, in a list; an empty one when it fails."""
        try:
            return [action()]
        except machine.Failure as failure:
            self.note(what, failure)
            return []


class Bench:
    """One run: what was chosen, and the folder of its files."""

    def __init__(self, chosen, folder):
        self.build, self.folder, self.seconds, self.rounds = chosen.build, folder, chosen.seconds, chosen.rounds
        self.payloads = contestants.payloads(folder)
        self.certificate, self.key = contestants.make_certificate(folder) if chosen.tls else (None, None)
        self.cores = chosen.cores
        self.with_perf = "perf" not in chosen.without.split(",")

    def running(self, one, more=(), environment=None):
        """A server on the cores that were chosen, one of ours with a loop on each."""
        loops = {"BENCH_LOOPS": self.cores} if one.own else {}
        return servers.running(one, self.build, more, {**loops, **(environment or {})}, self.cores)

    def security(self, name):
        """The server's arguments, the check's certificate, the URL's scheme."""
        return ((self.certificate, self.key), self.certificate, "https") if name == "TLS" else ((), None, "http")

    def own_load(self, server, column, seconds, message, path, *words, certificate=None):
        """What bench_load says, which compared every reply, and the server's CPU time meanwhile."""
        words = [f"path={path}", *words, *([f"ca={certificate}"] if certificate else [])]
        command = ["timeout", str(seconds + PATIENCE_S), "taskset", "-c", str(machine.cores()[1]),
                   self.build / "bin/bench_load", server.address, column, str(seconds), message, *words]
        before = server.cpu_seconds()
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise machine.Failure(done.stderr.strip() or "bench_load does not end")
        return {**json.loads(done.stdout), "server_cpu_seconds": server.cpu_seconds() - before}

    def tell(self, number, what, figure):
        if sys.stderr.isatty():
            print(f"round {number + 1} of {self.rounds}, {what}: {figure}", file=sys.stderr)


def settle(chosen):
    """What --whole stands for, where nothing else was said."""
    chosen.tls = chosen.tls or chosen.whole
    chosen.columns = chosen.columns or (WHOLE_COLUMNS if chosen.whole else COLUMNS)
    chosen.rounds = chosen.rounds or (WHOLE_ROUNDS if chosen.whole else ROUNDS)
    chosen.seconds = chosen.seconds or (WHOLE_SECONDS if chosen.whole else SECONDS)


def scenarios(chosen):
    names = chosen.scenarios.split(",") if chosen.scenarios else list(SCENARIOS)
    for name in names:
        if name not in SCENARIOS:
            raise machine.Failure(f"there is no scenario {name}; there are: {', '.join(SCENARIOS)}")
    return names


def run(chosen):
    settle(chosen)
    names = scenarios(chosen)
    for program in ("h2load", "taskset"):
        if not shutil.which(program):
            raise machine.Failure(f"there is no {program}; fix: apt-get install nghttp2-client util-linux")
    kinds = {name: peers.chosen_among(SCENARIOS[name].servers_needed(chosen), chosen) for name in names}
    needed = [one for name in names for one in (*kinds[name], *getattr(SCENARIOS[name], "ALSO_NEEDED", ()))]
    peers.build(needed, chosen.build)
    failures = Failures()
    results = {"rounds": chosen.rounds, "seconds": chosen.seconds, "versions": peers.versions()}
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(chosen, pathlib.Path(folder))
        for name in names:
            results[name] = SCENARIOS[name].run(chosen, kinds[name], bench, failures)
    return {**results, "failures": failures.lines}


def report(result):
    lines = ["", "Versions: " + ", ".join(f"{name} {version}" for name, version in result["versions"].items()) + ".", "", METHOD]
    for name in SCENARIOS:
        if name in result:
            lines += SCENARIOS[name].report(result[name], result["rounds"], result["seconds"])
    if result["failures"]:
        lines += ["", "Failed, and not in the tables:", "", *(f"- {one}" for one in result["failures"])]
    return "\n".join(lines)


def panels(result):
    """For charts.write()."""
    for name, scenario in SCENARIOS.items():
        if name in result:
            yield from scenario.panels(result[name])
