"""What a call costs the load generator: CPU time per call of `coracle load`, ghz and k6, on one server, round by round."""

import json
import pathlib
import subprocess
import tempfile

from harness import machine, servers, unary
from harness.tables import spread, table, values

ROUNDS = 5
CALLS, WORKERS = 20_000, 50
COLUMN = f"{WORKERS} workers"
PEERS = pathlib.Path(__file__).resolve().parents[2] / "build/peers/bin"
PROTO = pathlib.Path(__file__).resolve().parents[2] / "examples/01_greeter/greeter.proto"
METHOD = "helloworld.Greeter/SayHello"
SERVER = servers.Kind("greeter", "bin/greeter_server")
SERVER.listen = "127.0.0.1:0"
K6 = """
import grpc from "k6/net/grpc";
const client = new grpc.Client();
client.load([%(folder)s], "greeter.proto");
export const options = { vus: %(workers)d, iterations: %(calls)d };
let connected = false;
export default () => {
  if (!connected) { client.connect("%(address)s", { plaintext: true }); connected = true; }
  client.invoke("%(method)s", { name: "Ada" });
};
"""


def coracle(address, build, folder):
    return [build / "bin/coracle", "load", address, "-p", "SayHello", "--proto", PROTO, "-d", '{"name": "Ada"}',
            "-n", str(CALLS), "-c", str(WORKERS), "--json", folder / "out.json"]


def ghz(address, build, folder):
    return [PEERS / "ghz", "--insecure", "--proto", PROTO, "--call", METHOD, "-d", '{"name": "Ada"}', "-n", str(CALLS),
            "-c", str(WORKERS), "--connections", "1", "-O", "json", "-o", folder / "out.json", address]


def k6(address, build, folder):
    script = folder / "script.js"
    script.write_text(K6 % {"folder": json.dumps(str(PROTO.parent)), "workers": WORKERS, "calls": CALLS, "address": address, "method": METHOD})
    return [PEERS / "k6", "run", "--quiet", "--summary-export", folder / "out.json", script]


GENERATORS = {"coracle load": coracle, "ghz": ghz, "k6": k6}


def calls_made(name, found):
    if name == "coracle load":
        return found["runs"][0]["ok"]
    if name == "ghz":
        return found["statusCodeDistribution"].get("OK", 0)
    return found["metrics"]["iterations"]["count"]


def measure(name, server, build):
    with tempfile.TemporaryDirectory() as folder:
        command = GENERATORS[name](server.address, build, pathlib.Path(folder))
        server.settle()
        before = unary.children_seconds()
        done = subprocess.run(["taskset", "-c", str(machine.cores()[1]), *command], capture_output=True, text=True, timeout=120)
        spent = unary.children_seconds() - before
        file = pathlib.Path(folder, "out.json")
        if done.returncode != 0 or not file.exists():
            raise machine.Failure(f"{name}: {done.stderr.strip()[-300:]}")
        made = calls_made(name, json.loads(file.read_text()))
    if made != CALLS:
        raise machine.Failure(f"{name} made {made} of {CALLS} calls")
    return {"server": name, "column": COLUMN, "us_per_call": 1e6 * spent / CALLS}


def run(chosen):
    names = [name for name in GENERATORS if chosen.only in name and (name == "coracle load" or (PEERS / name).exists())]
    missing = [name for name in GENERATORS if name not in names and chosen.only in name]
    if missing:
        raise machine.Failure(f"{', '.join(missing)}: not installed: ./dev peers installs ghz, GOBIN=$PWD/build/peers/bin go install go.k6.io/k6@v0.54.0 installs k6")
    runs = []
    with servers.running(SERVER, chosen.build) as server:
        for _ in range(chosen.rounds):
            runs += [measure(name, server, chosen.build) for name in names]
    return {"servers": names, "runs": runs}


def report(result):
    lines = ["", f"## CPU time of the load generator per unary call: {CALLS:,} calls, {WORKERS} workers, one connection (k6: one for each"
             " worker), median (min to max)", ""]
    return "\n".join([*lines, *table("us per call", result["servers"], [COLUMN],
                                     lambda name, column: spread(values(result, name, column, "us_per_call"), "{:.1f}".format))])
