"""Clients of xDS beside each other, each through the same control plane to the same servers: the CPU time of a call, and how long it takes until
calls follow an update. Run by the interpreter that has grpcio; prints JSON."""

import contextlib
import json
import pathlib
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))

from control_plane import OwnPlane  # noqa: E402
from programs import Server, own  # noqa: E402
from xds_world import Client, commands, servers_at  # noqa: E402
from xds_resources import cluster, endpoints, listener, message, to  # noqa: E402

HOSTS, ROUTES = 100, 10
CALLS, ROUNDS, UPDATES = 3000, 10, 20
LIMIT_S = 60


def routes_of(target, by):
    """Of the last of many hosts, the last route takes the calls."""
    def host(name, last):
        rules = [to(last, prefix=f"/package.Service{i}/") for i in range(ROUTES - 1)] + [to(last)]
        return {"name": name, "domains": [name], "routes": rules}
    hosts = [host(f"host{i}", by) for i in range(HOSTS - 1)] + [host(target, by)]
    return message("RouteConfiguration", name="routes", virtualHosts=hosts)


def serve(plane, targets, by, ports):
    """Routes of all targets to one of the clusters."""
    plane.set(Listener=[listener(one, f"routes of {one}") for one in targets],
              RouteConfiguration=[message_named(f"routes of {one}", routes_of(one, by)) for one in targets],
              Cluster=[cluster(name) for name in ports],
              ClusterLoadAssignment=[endpoints(name, port) for name, port in ports.items()])


def message_named(name, of):
    of.name = name
    return of


def cpu_microseconds(client):
    """Of all threads that it has."""
    tasks = pathlib.Path(f"/proc/{client.process.pid}/task").glob("*/schedstat")
    return sum(int(one.read_text().split()[0]) for one in tasks) / 1000


def calls(client, target, count):
    """The CPU time of each call, in us. The least of some rounds counts: the others have waited for another core to wake."""
    before = cpu_microseconds(client)
    client.begin(target, count=count)
    answers = client.answers()
    assert all(isinstance(answer, int) for answer in answers), answers
    return (cpu_microseconds(client) - before) / count


def seconds_until(client, target, port):
    begin = time.monotonic()
    while True:
        client.begin(target)
        if set(client.answers()) == {port}:
            return time.monotonic() - begin
        assert time.monotonic() < begin + LIMIT_S, "the update had no effect"


def measure(client, plane, ports):
    a, b = ports.values()
    targets = ["first", "measured"]
    serve(plane, targets, "a", ports)
    first = seconds_until(client, "xds:///first", a)
    seconds_until(client, "xds:///measured", a)
    routed = [calls(client, "xds:///measured", CALLS) for _ in range(ROUNDS)]
    updates = []
    for i in range(UPDATES):
        serve(plane, targets, "ba"[i % 2], ports)
        updates.append(seconds_until(client, "xds:///measured", (b, a)[i % 2]))
    client.begin(f"127.0.0.1:{a}")
    client.answers()
    direct = [calls(client, f"127.0.0.1:{a}", CALLS) for _ in range(ROUNDS)]
    return {"client": client.name, "direct_us": min(direct), "routed_us": min(routed),
            "first_ms": first * 1000, "update_ms": statistics.median(updates) * 1000}


def main():
    with contextlib.ExitStack() as running:
        plane = running.enter_context(OwnPlane())
        ports = {name: running.enter_context(Server(own("xds_peer"), "server")).port for name in "ab"}
        results = []
        for name, command, environment in commands():
            with Client(name, command, servers_at(plane.address), environment) as client:
                results.append(measure(client, plane, ports))
        print(json.dumps(results))


if __name__ == "__main__":
    main()
