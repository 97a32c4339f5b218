"""Instructions and heap allocations of one call without sockets: bench_engine under callgrind."""

import json
import os
import re
import shutil
import subprocess

from harness import machine

CALLS = 20000  # the figures are exact: more would change nothing
LIMIT_S = 300  # of one program
# The C library copies and compares in the ways of any x86-64, so that the counts do not depend on the processor.
PLAIN_PROCESSOR = "glibc.cpu.hwcaps=-AVX_Fast_Unaligned_Load," + ",".join(
    f"-{name}" for name in ("AVX", "AVX2", "AVX512VL", "AVX512F", "AVX512BW", "ERMS", "FSRM", "RTM", "BMI2", "MOVBE", "SSE4_1", "SSE4_2", "SSSE3"))
PER_BATCH = (1, 10, 100)
STYLES = {
    "grpc": "all of it; the client indexes every field, as gRPC's own do",
    "in_place": "as the first, from a handler that builds its reply in place",
    "nghttp2": "all of it; :path and content-length are literals, as h2load's",
    "deadlines": "as the first, and each call with another grpc-timeout than the one before",
    "indexed_deadlines": "as the one before; the client inserts each timeout into the dynamic table, as grpc-go, grpc-java and tonic do",
    "traces": "as the one before, and each call with another traceparent",
    "metrics": "as the first, with telemetry",
    "unsampled": "as the one before, with traces, none of which is sampled",
    "sampled": "as the one before, with 1 % of the traces sampled",
    "client": "on the client's side: a call from its begin to its reply",
    "client_metrics": "as the one before, with telemetry",
    "recorder": "of a server's call, writing its events",
    "rejected": "as the first, of a call above a rate limit",
    "protobuf": "of a server's call, parsing, copying and serializing the messages",
}


def environment():
    # The loop's own turns are hardly in it; of the two backends valgrind knows this one surely.
    return {**os.environ, "CORACLE_BACKEND": "epoll", "GLIBC_TUNABLES": PLAIN_PROCESSOR}


def count(program, per_batch, style, out):
    command = ["valgrind", "--tool=callgrind", "--collect-atstart=no", f"--callgrind-out-file={out}",
               program, str(per_batch), str(CALLS // per_batch), style]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, env=environment())
    except subprocess.TimeoutExpired:
        raise machine.Failure(f"{' '.join(map(str, command))} still ran after {LIMIT_S} s") from None
    total = re.search(r"^totals: (\d+)", out.read_text() if out.exists() else "", re.MULTILINE)
    if done.returncode != 0 or not total or total[1] == "0":
        raise machine.Failure(f"{' '.join(map(str, command))} failed:\n{done.stderr.strip()[-2000:]}")
    counted = json.loads(done.stdout)
    return {"style": style, "calls_per_batch": per_batch, "instructions_per_call": int(total[1]) / counted["calls"],
            "allocations_per_call": counted["allocations"] / counted["calls"]}


def prepare(build):
    """Where callgrind writes to."""
    if not shutil.which("valgrind"):
        raise machine.Failure("there is no valgrind; fix: apt-get install valgrind")
    folder = build / "callgrind"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def run(chosen):
    folder = prepare(chosen.build)
    return [count(chosen.build / "bin/bench_engine", per_batch, style, folder / f"{style}-{per_batch}.out")
            for style in STYLES for per_batch in PER_BATCH]


def report(result):
    lines = ["", "## One unary call of 100 bytes without sockets: instructions, heap allocations", "",
             "| |" + "".join(f" {n} calls a turn |" for n in PER_BATCH), "|---" * (len(PER_BATCH) + 1) + "|"]
    for style, text in STYLES.items():
        cells = [f"{r['instructions_per_call']:,.0f}, {r['allocations_per_call']:.2f}"
                 for r in result if r["style"] == style]
        lines.append(f"| {text} | " + " | ".join(cells) + " |")
    return "\n".join(lines)
