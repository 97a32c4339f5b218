"""Programs on grpc++'s API, each with grpc++ and with coracle::grpcpp: CPU time of a server per unary call under h2load, and of
a client per message of the five workloads. Beside both stands the same by Coracle's own API. And what the smallest server weighs."""

import os
import pathlib
import re
import shlex
import shutil
import statistics
import subprocess
import tempfile
import types

from harness import contest_weight, contest_workloads, machine, peers, unary
from harness.servers import Kind
from harness.tables import noise, ratios, row, spread, table, values

ROUNDS = 5
SECONDS = 2.0
NATIVE = "coracle's own API"
SERVERS = {"synchronous": ("sync", 1 / 2), "completion queue": ("greeter", 1 / 4), "callback": ("callback", 1 / 5),
           "asio-grpc": ("agrpc", 1 / 3)}
SERVER_SURPLUS_US = 1.5  # a unary call more than by Coracle's own API; but for the synchronous one
CLIENTS = ("queue", "callback", "asio-grpc")
GOALS = {"smol": 1 / 3, "big": 3 / 4, "req": 1 / 3, "resp": 2 / 3, "bidi": 1 / 3}
CLIENT_SURPLUS_US = {"smol": 1.5, "req": 0.5, "resp": 0.5, "bidi": 0.5}  # a call or a message, likewise
BY = {"grpc++": "bench_grpcpp", "relinked": "bench_relinked"}
HELLO_SOURCES = ("helloworld.pb.cc", "helloworld.grpc.pb.cc", "grpcpp_hello.cpp")


def name_of(api, library):
    return f"{api}, {library}"


def kinds():
    """Of servers, of clients and of the smallest servers, each pair of libraries in neighbours."""
    servers = [Kind(name_of(api, library), f"bin/{prefix}_{program}")
               for api, (program, _) in SERVERS.items() for library, prefix in BY.items()]
    clients = [Kind(name_of(api, library), f"bin/{prefix}_workload", api) for api in CLIENTS for library, prefix in BY.items()]
    hellos = [Kind(name_of("hello", library), f"bin/{prefix}_hello") for library, prefix in BY.items()]
    return [*servers, Kind(NATIVE, "bin/bench_greeter")], [*clients, Kind(NATIVE, "bin/bench_workload")], hellos


def build_cpu_seconds(build, program):
    """CPU time to compile and link a hello server with its generated code, by the commands of the build without ccache."""
    *compiles, link = peers.run(["ninja", "-C", build, "-t", "commands", program]).strip().splitlines()
    own = program.removeprefix("bin/").removesuffix("_hello")
    compiles = [one for one in compiles if one.endswith(HELLO_SOURCES) and f"/{own}_" in one]
    if len(compiles) != len(HELLO_SOURCES):
        raise machine.Failure(f"the build of {program} has other sources than {', '.join(HELLO_SOURCES)}")
    before = unary.children_seconds()
    with tempfile.TemporaryDirectory() as folder:
        for line in (*compiles, link.removeprefix(": && ").removesuffix(" && :")):
            words = [word for word in shlex.split(line) if not word.endswith("/ccache")]
            words[words.index("-o") + 1] = f"{folder}/out"
            peers.run(words, cwd=build, env={**os.environ, "CCACHE_DISABLE": "1"})
    return unary.children_seconds() - before


def weigh(build, hello):
    program = build / hello.program
    loaded = re.findall(r"=> (/\S+)", subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout)
    own = contest_weight.stripped_bytes(program)
    return {"server": hello.name, "bytes": own, "with_libraries": own + sum(os.path.getsize(one) for one in loaded), "libraries": len(loaded)}


def run(chosen):
    if not shutil.which("h2load"):
        raise machine.Failure("there is no h2load; fix: apt-get install nghttp2-client")
    servers, clients, hellos = (peers.chosen_among(some, chosen) for some in kinds())
    peers.build([*servers, *clients, *hellos, contest_workloads.SERVER], chosen.build)
    bench = types.SimpleNamespace(build=chosen.build, seconds=chosen.seconds or SECONDS)
    columns, runs = chosen.columns.split(","), {"servers": [], "clients": []}
    weights = [{**weigh(chosen.build, one), "build_cpu_seconds": []} for one in hellos]
    with tempfile.TemporaryDirectory() as folder:
        body = pathlib.Path(folder) / "body"
        body.write_bytes(unary.BODY)
        for number in range(chosen.rounds):
            for one, weight in zip(hellos, weights):
                weight["build_cpu_seconds"].append(build_cpu_seconds(chosen.build, one.program))
            for column in columns:
                runs["servers"] += ({"round": number, **unary.measure(one, column, bench, body)} for one in servers)
            for workload in GOALS:
                runs["clients"] += ({"round": number, **contest_workloads.measure(bench, one, workload)} for one in clients)
    return {"rounds": chosen.rounds, "seconds": bench.seconds,
            "weights": weights,
            "servers": {"servers": [one.name for one in servers], "columns": columns, "runs": runs["servers"]},
            "clients": {"servers": [one.name for one in clients], "columns": list(GOALS), "runs": runs["clients"]}}


def verdict(met):
    return "met" if met else "not met"


def shares(result, apis, goal_of):
    """Of grpc++'s CPU, round by round."""
    def share(api, column):
        of = ratios(result, name_of(api, "relinked"), name_of(api, "grpc++"), column)
        goal = goal_of(api, column)
        return f"{spread(of, lambda x: f'{x:.2f}')} of {goal:.2f}: {verdict(statistics.median(of) <= goal)}" if of else "-"
    return table("share of grpc++'s CPU, of the goal", apis, result["columns"], share)


def surpluses(result, apis, goal_of):
    """Beyond Coracle's own API, us."""
    def surplus(api, column):
        own, here = (values(result, one, column, "us_per_request") for one in (NATIVE, name_of(api, "relinked")))
        if not own or not here:
            return "-"
        more, goal = statistics.median(here) - statistics.median(own), goal_of(api, column)
        return f"{more:+.2f}" + (f" of {goal:g}: {verdict(more <= goal)}" if goal else "")
    return table("beyond Coracle's own API, us", apis, result["columns"], surplus)


def section(title, result, apis, share_of, surplus_of):
    def us(one, column):
        return spread(values(result, one, column, "us_per_request"), lambda x: f"{x:.2f}")

    yield from ("", title, "", *table("CPU, us", result["servers"], result["columns"], us),
                row("noise band", (f"± {100 * noise(result, column):.1f} %" for column in result["columns"])),
                "", *shares(result, apis, share_of), "", *surpluses(result, apis, surplus_of))


def weight_section(result):
    yield from ("", "## The API of grpc++: a server with one method", "",
                "| | stripped program, MB | with its shared libraries, MB | shared libraries | CPU to compile and link it with its generated code, s |",
                "|---|---|---|---|---|")
    for of in result["weights"]:
        yield (f"| {of['server']} | {of['bytes'] / 1e6:.1f} | {of['with_libraries'] / 1e6:.1f} | {of['libraries']}"
               f" | {spread(of['build_cpu_seconds'], lambda x: f'{x:.1f}')} |")


def report(result):
    length = f"{result['rounds']} rounds of {result['seconds']:g} s, median (min to max)"
    return "\n".join((
        *section(f"## The API of grpc++, server: CPU time per unary call of 100 bytes; {length}", result["servers"], SERVERS,
                 lambda api, _: SERVERS[api][1], lambda api, _: None if api == "synchronous" else SERVER_SURPLUS_US),
        *section(f"## The API of grpc++, client: CPU time per message against one server on grpc-go; {length}", result["clients"],
                 CLIENTS, lambda _, workload: GOALS[workload], lambda _, workload: CLIENT_SURPLUS_US.get(workload)),
        *weight_section(result)))
