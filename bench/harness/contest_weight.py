"""What the libraries weigh: programs that serve the same, and what it takes to compile them."""

import json
import math
import os
import pathlib
import re
import shlex
import statistics
import subprocess
import tempfile
import time

from harness import contestants, link_map, machine, peers, servers
from harness.memory import anonymous_bytes
from harness.tables import distance, exceeds, spread, within

BASE = "the messages alone: weight_base.cpp"
COMPILES = {  # name: the file's end, in compile_commands.json
    "coracle: hello.cpp": "bench/e2e/hello.cpp",
    "grpc++: grpcpp_hello.cpp": "bench/peers/grpcpp_hello.cpp",
    BASE: "bench/peers/weight_base.cpp",
}
GOAL_COMPILE = 1.4  # times the messages alone
HELLOS = (contestants.Contestant("coracle, one method in plaintext", "bin/bench_hello"),
          contestants.Contestant("coracle, the same with CORACLE_ENCODINGS gzip", "bin/bench_hello_gzip"),
          contestants.Contestant("grpc++, one method in plaintext", "bin/bench_grpcpp_hello"))
ALONE = "the messages alone"
GZIP_ALONE = "coracle, CORACLE_ENCODINGS gzip"
STATIC = {"coracle": "bench_hello", GZIP_ALONE: "bench_hello_gzip", "grpc++": "bench_grpcpp_hello", ALONE: "bench_weight_base"}
ROOMS = pathlib.Path(__file__).parents[2] / "cmake/rooms.txt"
GOAL_STATIC_MB = 1.5  # above the messages alone
SETTLE_S = 0.5


def servers_needed(_):
    return [*HELLOS, *(one for one in contestants.SERVERS if one.name != contestants.FLOOR)]


def compile_seconds(build, end):
    """Of one file, without ccache: the whole command of the build."""
    listed = build / "compile_commands.json"
    commands = json.loads(listed.read_text()) if listed.exists() else ()
    found = next((one for one in commands if one["file"].endswith(end)), None)
    if not found:
        raise machine.Failure(f"{end} is not compiled in {build}")
    words = shlex.split(found["command"])
    with tempfile.TemporaryDirectory() as folder:
        words[words.index("-o") + 1] = f"{folder}/object.o"
        words = [word for word in words if not word.endswith("ccache")]
        began = time.monotonic()
        done = subprocess.run(words, cwd=build, capture_output=True, text=True, env={**os.environ, "CCACHE_DISABLE": "1"})
        if done.returncode != 0:
            raise machine.Failure(f"{end} does not compile: {done.stderr.strip()[-500:]}")
        return time.monotonic() - began


def stripped_bytes(program):
    with tempfile.NamedTemporaryFile() as out:
        peers.run(["strip", "-o", out.name, program])
        return os.path.getsize(out.name)


def static_weight(build, name):
    """Of a program of the build, linked again with nothing shared, and stripped; and what the linker has put into it."""
    command = peers.run(["ninja", "-C", build, "-t", "commands", f"bin/{name}"]).strip().splitlines()[-1]
    words = shlex.split(command.removeprefix(": && ").removesuffix(" && :"))
    with tempfile.TemporaryDirectory() as folder:
        place = words.index("-o") + 1
        words[place] = f"{folder}/program"
        libraries = [re.sub(r"\.so[\d.]*$", ".a", word) for word in words[place + 1:]]
        if name == STATIC[ALONE]:
            # It needs nothing of ours, but instances of std's templates are there too, and the linker takes the first.
            libraries = [word for word in libraries if "libcoracle" not in word]
        # What brotli's shared libraries need by themselves.
        libraries += [word.replace("enc.a", "common.a") for word in libraries if word.endswith("libbrotlienc.a")]
        peers.run([*words[:place + 1], "-static", f"-Wl,-Map={folder}/map", "-Wl,--start-group", *libraries, "-Wl,--end-group"], cwd=build)
        rooms = set(re.findall(r"^(\w+)\*?:", ROOMS.read_text(), re.MULTILINE))
        with open(f"{folder}/map", encoding="utf-8") as lines:
            return {"bytes": stripped_bytes(words[place]), "parts": link_map.weights(lines, rooms)}


def shared_libraries(program):
    """Loaded by name; a static program has none."""
    done = subprocess.run(["ldd", program], capture_output=True, text=True)
    return sum("=>" in line for line in done.stdout.splitlines()) if done.returncode == 0 else 0


def weigh(bench, one):
    program = bench.build / one.program
    with servers.running(one, bench.build) as server:
        time.sleep(SETTLE_S)
        return {"server": one.name, "stripped_bytes": stripped_bytes(program), "shared_libraries": shared_libraries(program),
                "idle_rss_kb": server.status_kb("VmRSS"), "idle_anonymous_kb": anonymous_bytes(server.process.pid) / 1024}


def chosen_names(names, chosen):
    without = [word for word in chosen.without.split(",") if word]
    return [name for name in names if not any(word in name for word in without)]


def run(chosen, kinds, bench, failures):
    weights = [weight for one in kinds for weight in failures.attempt(f"{one.name}, weight", lambda: weigh(bench, one))]
    compiles = {name: [] for name in chosen_names(COMPILES, chosen)}
    for _ in range(chosen.rounds):
        for name, of in compiles.items():
            of += failures.attempt(f"compiling {name}", lambda: compile_seconds(bench.build, COMPILES[name]))
    static = {name: failures.attempt(f"{name}, static", lambda: static_weight(bench.build, STATIC[name]))
              for name in chosen_names(STATIC, chosen)}
    return {"weights": weights, "static": static, "compile_seconds": compiles}


def report(result, rounds, _):
    yield from ("", "## Weight", "", "| server, idle | stripped program, MB | shared libraries | RSS, MB | of it anonymous, MB |",
                "|---|---|---|---|---|")
    for of in result["weights"]:
        yield (f"| {of['server']} | {of['stripped_bytes'] / 1e6:.2f} | {of['shared_libraries']} | {of['idle_rss_kb'] / 1024:.1f}"
               f" | {of['idle_anonymous_kb'] / 1024:.1f} |")
    static = {name: of[0]["bytes"] for name, of in result["static"].items() if of}
    yield from ("", "| one method in plaintext, static, stripped | MB | above the messages alone, MB (goal for ours: "
                f"{GOAL_STATIC_MB}) |", "|---|---|---|")
    for name, size in static.items():
        yield f"| {name} | {size / 1e6:.2f} | {f'{(size - static[ALONE]) / 1e6:.2f}' if ALONE in static else '-'} |"
    parts = {name: of[0]["parts"] for name, of in result["static"].items() if of}
    if ALONE in parts:
        for name in (one for one in ("coracle", GZIP_ALONE) if one in parts):
            yield from ("", f"What {name} has beyond the messages alone, by library and room:", "",
                        *link_map.table(parts[name], parts[ALONE]))
    yield from ("", f"| compiling the user's server file, {rounds} rounds | s, median (min to max) | times the messages alone (goal for"
                f" ours: {GOAL_COMPILE}) |", "|---|---|---|")
    of = result["compile_seconds"]  # what failed has none
    band = max((distance(seconds) for seconds in of.values()), default=math.inf)
    for name in of:
        over = statistics.median([own / base for own, base in zip(of[name], of[BASE])] or [1])
        times = f"{over:.2f}" if exceeds(over, band) else within(band)
        yield f"| {name} | {spread(of[name], lambda x: f'{x:.2f}')} | {'-' if name == BASE else times} |"


def panels(_):
    return ()
