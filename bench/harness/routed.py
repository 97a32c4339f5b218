"""What a control plane's configuration costs a client: instructions of a call through routes and policies, memory for endpoints, and, beside other
clients, the CPU time of a call and the time until an update has its effect."""

import json
import os
import pathlib
import re
import subprocess

from harness import engine, machine

CALLS = 5000
ENDPOINTS = 10000
MODES = {
    "direct": "one server, pick_first",
    "spread": "one server, round_robin",
    "levels": "the same under the five policies above a cluster's, one route",
    "routed": "the same, the last of 10 routes of one of 100 virtual hosts",
}


def count(program, mode, out):
    command = ["valgrind", "--tool=callgrind", "--collect-atstart=no", f"--callgrind-out-file={out}", program, str(CALLS), mode]
    done = subprocess.run(command, capture_output=True, text=True, timeout=engine.LIMIT_S, env=engine.environment())
    total = re.search(r"^totals: (\d+)", out.read_text() if out.exists() else "", re.MULTILINE)
    if done.returncode != 0 or not total:
        raise machine.Failure(f"{' '.join(map(str, command))} failed:\n{done.stderr.strip()[-2000:]}")
    counted = json.loads(done.stdout)
    return {"mode": mode, "instructions_per_call": int(total[1]) / counted["calls"],
            "allocations_per_call": counted["allocations"] / counted["calls"]}


def program_of(build):
    program = build / "bin/bench_routed"
    if not program.exists():
        raise machine.Failure("there is no bench_routed: it needs coracle::xds, and that RE2; fix: apt-get install libre2-dev")
    return program


def run(chosen):
    folder = engine.prepare(chosen.build)
    program = program_of(chosen.build)
    calls = [count(program, mode, folder / f"routed-{mode}.out") for mode in MODES]
    memory = json.loads(subprocess.run([program, str(ENDPOINTS), "memory"], capture_output=True, text=True, check=True, timeout=60).stdout)
    return {"calls": calls, "memory": memory, "beside": beside(chosen.build)}


def beside(build):
    """Of each client, where the peers of the tests are installed."""
    python = build.parent / "peers/venv/bin/python"
    if not python.exists():
        raise machine.Failure("the peers are not installed; fix: ./dev peers")
    done = subprocess.run([python, "-B", pathlib.Path(__file__).with_name("routed_beside.py")], capture_output=True, text=True,
                          env={**os.environ, "CORACLE_BUILD_DIR": str(build)}, timeout=engine.LIMIT_S)
    if done.returncode != 0:
        raise machine.Failure(f"the clients beside each other: {done.stderr.strip()[-2000:]}")
    return json.loads(done.stdout)


def report(result):
    first = result["calls"][0]
    lines = ["", "## A call in a simulated world, client and server: instructions, heap allocations", "",
             "| | instructions | above the first | allocations above the first |", "|---|---|---|---|"]
    for r in result["calls"]:
        lines.append(f"| {MODES[r['mode']]} | {r['instructions_per_call']:,.0f} | {r['instructions_per_call'] - first['instructions_per_call']:+,.0f} "
                     f"| {r['allocations_per_call'] - first['allocations_per_call']:+.2f} |")
    memory = result["memory"]
    lines += ["", f"A channel with ring_hash keeps {memory['bytes_each']:,} bytes for each of {memory['endpoints']:,} endpoints."]
    lines += ["", "## Beside other clients: the last of 10 routes of one of 100 virtual hosts", "",
              "| | CPU of a call without xDS, us | with it, us | first call of a channel, ms | update to the first call that follows it, ms |",
              "|---|---|---|---|---|"]
    for r in result["beside"]:
        lines.append(f"| {r['client']} | {r['direct_us']:.1f} | {r['routed_us']:.1f} | {r['first_ms']:.0f} | {r['update_ms']:.1f} |")
    return "\n".join(lines)
