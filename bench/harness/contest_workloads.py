"""The five workloads of gRPCClient.jl: every library's client in turn, against one server on grpc-go."""

import os
import subprocess

from harness import contest_rounds, contestants, machine, servers

WORKLOADS = ("smol", "big", "req", "resp", "bidi")
MESSAGES = {"smol": "1,000 unary calls in flight", "big": "100 unary calls in flight, 200,704 numbers in each request",
            "req": "1,000 messages in a call", "resp": "1,000 messages from a call", "bidi": "1,000 messages both ways"}
GOAL = 0.5  # of the best peer's CPU
PATIENCE_S = 120
SERVER = servers.Kind("testsvc on grpc-go", "peers/go/testsvc")
ALSO_NEEDED = (SERVER,)
CLIENTS = (
    contestants.Contestant("coracle io_uring", "bin/bench_workload", CORACLE_BACKEND="io_uring"),
    contestants.Contestant("coracle epoll", "bin/bench_workload", CORACLE_BACKEND="epoll"),
    contestants.Contestant("tonic", contestants.RUST + "workload_tonic"),
    contestants.Contestant("grpc-go", "peers/go/workload"),
    contestants.Contestant("grpc++", "bin/bench_grpcpp_workload"),
)


def servers_needed(_):
    return CLIENTS


def measure(bench, one, workload):
    """The client's own figures; it checks every reply."""
    with servers.running(SERVER, bench.build) as server:
        command = ["timeout", str(bench.seconds + PATIENCE_S), "taskset", "-c", str(machine.cores()[1]),
                   bench.build / one.program, server.port, workload, str(bench.seconds), *one.arguments]
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **one.environment})
        if done.returncode != 0:
            raise machine.Failure(done.stderr.strip() or "it does not end")
        messages, seconds, cpu = (float(word) for word in done.stdout.split())
        if messages == 0:
            raise machine.Failure("no message in all the time")
        return {"server": one.name, "column": workload, "messages": messages, "seconds": seconds, "cpu_seconds": cpu,
                "us_per_request": cpu * 1e6 / messages, "messages_per_second": messages / seconds}


def run(_, kinds, bench, failures):
    return contest_rounds.run("", WORKLOADS, measure, kinds, bench, failures)


def report(result, rounds, seconds):
    yield from ("", f"## Five client workloads against one server on grpc-go; {rounds} rounds of {seconds:g} s", "",
                "; ".join(f"{name}: {text}" for name, text in MESSAGES.items()) + ".", "")
    yield from contest_rounds.against_ours("client CPU, us/message", result)
    own = [one for one in result["servers"] if one.startswith("coracle")]
    rivals = [one for one in result["servers"] if one not in own]
    yield from ("", *contest_rounds.against_best_peer(result, own, rivals, GOAL))


def panels(result):
    yield contest_rounds.cpu_panel("five client workloads: client CPU, us/message", result)
