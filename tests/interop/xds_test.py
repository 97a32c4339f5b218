"""Clients of xDS side by side, of the same servers: ours, grpcio's and grpc-go's. Their control planes are one of our own and
go-control-plane."""

import contextlib
import re
import socket
import socketserver
import threading
import time

import pytest

pytest.importorskip("grpc", reason="./dev peers installs it")

from google.protobuf import any_pb2  # noqa: E402

from control_plane import OwnPlane, SnapshotPlane, wire  # noqa: E402
from programs import Server, own  # noqa: E402
from xds_resources import aggregate, cluster, endpoint, endpoints, listener, locality, message, packed, routes, to, with_policies  # noqa: E402
from xds_world import LIMIT_S, PLANES, World, calls_without_end, clients_of, servers_at  # noqa: E402


@pytest.fixture(scope="module")
def ports():
    """Of six servers."""
    with contextlib.ExitStack() as running:
        yield [running.enter_context(Server(own("xds_peer"), "server")).port for _ in range(6)]


@pytest.fixture(scope="module", params=PLANES)
def plane(request):
    with PLANES[request.param]() as one:
        yield one


@pytest.fixture(scope="module")
def common(plane, ports):
    with clients_of(World(plane, ports), servers_at(plane.address, features=["ignore_resource_deletion"])) as world:
        yield world


@pytest.fixture
def world(common, request):
    """The target is the test's own."""
    common.name = re.sub(r"\W+", "_", request.node.name)
    common.target = f"xds:///{common.name}"
    common.plane.forget()
    return common


def simple(world, **to_ports):
    """A listener with its routes to the first of some clusters, and these, each of one server."""
    names = list(to_ports)
    world.serve(listener(world.name, "routes"), routes("routes", to(names[0])),
                *(cluster(name) for name in names), *(endpoints(name, port) for name, port in to_ports.items()))


def test_a_client_follows_its_target(world):
    simple(world, one=world.ports[0])
    world.expect(world.ports[0])


HEADERS = [
    # What matches, calls that do and do not, and clients that disagree.
    ({"name": "x", "exactMatch": "one"}, [{"x": "one"}], [{"x": "two"}, {}]),
    ({"name": "x", "prefixMatch": "on"}, [{"x": "one"}], [{"x": "no"}]),
    ({"name": "x", "suffixMatch": "ne"}, [{"x": "one"}], [{"x": "net"}]),
    ({"name": "x", "containsMatch": "n"}, [{"x": "one"}], [{"x": "two"}]),
    ({"name": "x", "presentMatch": True}, [{"x": "one"}], [{}]),
    ({"name": "x", "presentMatch": False}, [{}], [{"x": "one"}]),
    ({"name": "x", "presentMatch": True, "invertMatch": True}, [{}], [{"x": "one"}]),
    ({"name": "x", "exactMatch": "one", "invertMatch": True}, [{"x": "two"}], [{"x": "one"}, {}]),
    ({"name": "x", "safeRegexMatch": {"regex": "o.e"}}, [{"x": "one"}], [{"x": "ones"}, {}]),
    ({"name": "x", "rangeMatch": {"start": 3, "end": 5}}, [{"x": "3"}, {"x": "4"}], [{"x": "5"}, {"x": "4a"}, {"x": "2"}]),
    ({"name": "x", "stringMatch": {"exact": "ONE", "ignoreCase": True}}, [{"x": "one"}], [{"x": "two"}]),
    ({"name": "x", "stringMatch": {"contains": "N", "ignoreCase": True}}, [{"x": "one"}], [{"x": "two"}]),
    # grpc-go does match the values of binary metadata.
    ({"name": "x-bin", "presentMatch": True}, [], [{"x-bin": "one"}], {"grpc-go"}),
    # In grpc-go it is not known yet when the route is chosen.
    ({"name": "content-type", "exactMatch": "application/grpc"}, [{}], [], {"grpc-go"}),
]


def test_headers_choose_the_route(world):
    """A route for each matcher, told apart by the path."""
    yes, no = world.ports[:2]
    rules = [{"match": {"path": f"/h/{i}", "headers": [matcher]}, "route": {"cluster": "yes"}} for i, (matcher, *_) in enumerate(HEADERS)]
    world.serve(listener(world.name, "routes"), routes("routes", *rules, to("no")), cluster("yes"), cluster("no"),
                endpoints("yes", yes), endpoints("no", no))
    world.expect(no, path="/other/o")
    for i, (matcher, matching, others, *apart) in enumerate(HEADERS):
        for metadata, expected in [(one, yes) for one in matching] + [(one, no) for one in others]:
            seen = world.each(path=f"/h/{i}", **metadata)
            wrong = [name for name, answers in seen.items() if answers != {expected: 1} and {name} not in apart]
            assert not wrong, f"{matcher}, {metadata}: expected {expected}, and not {seen}"


def test_paths_choose_the_route(world):
    exact, prefix, regex, folded, rest = world.ports[:5]
    world.serve(
        listener(world.name, "routes"),
        routes("routes",
               {"match": {"path": "/a.A/Exact"}, "route": {"cluster": "exact"}},
               {"match": {"prefix": "/a.A/Queried", "queryParameters": [{}]}, "route": {"cluster": "exact"}},
               {"match": {"prefix": "/a.A/Never", "runtimeFraction": {"defaultValue": {"numerator": 0}}}, "route": {"cluster": "exact"}},
               {"match": {"prefix": "/a.A/Always", "runtimeFraction": {"defaultValue": {"numerator": 100}}}, "route": {"cluster": "exact"}},
               {"match": {"prefix": "/a.A/Header"}, "route": {"clusterHeader": "x"}},
               {"match": {"prefix": "/a.A/Redirect"}, "redirect": {}},
               {"match": {"prefix": "/a.A/None"}, "nonForwardingAction": {}},
               {"match": {"path": "/A.a/FOLDED", "caseSensitive": False}, "route": {"cluster": "folded"}},
               {"match": {"safeRegex": {"regex": "/b.*/[A-F]+"}}, "route": {"cluster": "regex"}},
               {"match": {"prefix": "/c"}, "route": {"cluster": "prefix"}},
               {"match": {"prefix": "/a"}, "route": {"cluster": "rest"}}),
        *(cluster(name) for name in ("exact", "prefix", "regex", "folded", "rest")),
        *(endpoints(name, port) for name, port in zip(("exact", "prefix", "regex", "folded", "rest"), world.ports)))
    world.expect(exact, path="/a.A/Exact")
    for path, expected in {"/a.A/Exact": exact, "/a.A/Exacter": rest, "/a.A/exact": rest, "/a.a/folded": folded, "/bcd/ABC": regex,
                           "/bcd/ABCx": "UNAVAILABLE", "/c/C": prefix, "/C/C": "UNAVAILABLE", "/a.A/Queried": rest, "/a.A/Never": rest,
                           "/a.A/Always": exact, "/a.A/Header": rest, "/a.A/Redirect": "UNAVAILABLE", "/a.A/None": "UNAVAILABLE"}.items():
        seen = world.each(path=path)
        assert all(answers == {expected: 1} for answers in seen.values()), f"{path}: expected {expected}, and not {seen}"


def test_weighted_clusters_share_the_calls(world):
    weights = {"one": 10, "two": 30, "three": 60}
    world.serve(listener(world.name, "routes"),
                routes("routes", {"match": {"prefix": ""}, "route": {"weightedClusters": {
                    "clusters": [{"name": name, "weight": weight} for name, weight in weights.items()]}}}),
                *(cluster(name) for name in weights), *(endpoints(name, port) for name, port in zip(weights, world.ports)))
    world.expect_shares({port: weight / 100 for port, weight in zip(world.ports, weights.values())}, within=0.08)


def test_localities_share_the_calls_by_their_weights(world):
    one, two, three, four = world.ports[:4]
    world.serve(listener(world.name, "routes"), routes("routes", to("all")), cluster("all"),
                endpoints("all", locality(one, two, zone="a", weight=3), locality(three, zone="b", weight=1), locality(four, zone="c", weight=0)))
    world.expect_shares({one: 3 / 8, two: 3 / 8, three: 1 / 4}, within=0.08)


def test_drops_fail_their_share_of_the_calls(world):
    one = world.ports[0]
    world.serve(listener(world.name, "routes"), routes("routes", to("all")), cluster("all"),
                endpoints("all", one, drops=[("first", 20), ("second", 50)]))
    world.expect_shares({one: 0.4, "UNAVAILABLE": 0.6}, within=0.08)
    world.serve(listener(world.name, "routes"), routes("routes", to("all")), cluster("all"), endpoints("all", one, drops=[("all", 100)]))
    world.expect("UNAVAILABLE", count=20)
    world.serve(listener(world.name, "routes"), routes("routes", to("all")), cluster("all"), endpoints("all", one))
    world.expect(one, count=20)


def same_places(world, values, apart=(), strays=0):
    """The server of each value, which must be the same for all clients but those apart, and but for so many values as strays."""
    places, differing = {}, {}
    for value in values:
        seen = world.each(user=value)
        distinct = {tuple(answers) for name, answers in seen.items() if name not in apart}
        if len(distinct) > 1:
            differing[value] = seen
        places[value] = distinct.pop()
    assert len(differing) <= strays, differing
    return places


BY_USER = {"hashPolicy": [{"header": {"headerName": "user"}}]}
USERS = [f"user-{i}" for i in range(40)]


@pytest.mark.parametrize("sizes", [{}, {"minimumRingSize": "5000"}, {"minimumRingSize": "1", "maximumRingSize": "20"}], ids=["default", "large", "small"])
def test_ring_hash_chooses_the_same_servers(world, sizes):
    """Rings are cut at 4096 places by each client."""
    world.serve(listener(world.name, "routes"), routes("routes", to("all", **BY_USER)), cluster("all", lbPolicy=2, ringHashLbConfig=sizes),
                endpoints("all", locality(*world.ports)))
    places = same_places(world, USERS)
    assert len(set(places.values())) > 2, places


def test_weights_of_endpoints_and_localities_shape_the_ring_as_elsewhere(world):
    one, two, three, four = (endpoint(port, loadBalancingWeight=weight) for port, weight in zip(world.ports, (1, 5, 2, 2)))
    world.serve(listener(world.name, "routes"), routes("routes", to("all", **BY_USER)), cluster("all", lbPolicy=2),
                endpoints("all", locality(one, two, zone="a", weight=3), locality(three, four, zone="b", weight=2)))
    # Sums of weights are rounded differently, so that a server may have one of the 1030 places more or less.
    assert len(set(same_places(world, USERS, strays=2).values())) >= 3


# grpc-go does not know the group of RE2's syntax.
@pytest.mark.parametrize(("pattern", "substitution", "apart"), [("[0-4]", "x", ()), ("([0-4])([0-4])", r"\2-\1", {"grpc-go"})], ids=["text", "groups"])
def test_a_rewritten_header_is_hashed_as_elsewhere(world, pattern, substitution, apart):
    rewritten = {"hashPolicy": [
        {"header": {"headerName": "absent"}, "terminal": True},
        {"header": {"headerName": "user", "regexRewrite": {"pattern": {"regex": pattern}, "substitution": substitution}}},
        {"header": {"headerName": "absent"}}]}
    made = with_policies(cluster("all"), ("ring_hash.v3.RingHash", message("RingHash", hashFunction=1, minimumRingSize=100)))
    world.serve(listener(world.name, "routes"), routes("routes", to("all", **rewritten)), made, endpoints("all", locality(*world.ports)))
    places = same_places(world, USERS, apart)
    assert len(set(places.values())) > 2, places
    if pattern == "[0-4]":
        assert places["user-1"] == places["user-2"] and places["user-12"] == places["user-34"]


def test_a_key_of_an_endpoint_stands_for_its_address_on_the_ring(world):
    """gRFC A76: another server with the key has the same calls."""
    def keyed(port, key):
        return endpoint(port, metadata={"filterMetadata": {"envoy.lb": {"hash_key": key}}})

    def of(ports):
        return endpoints("all", locality(*(keyed(port, f"key {i}") for i, port in enumerate(ports))))

    three, others = world.ports[:3], world.ports[3:]
    base = [listener(world.name, "routes"), routes("routes", to("all", **BY_USER)), cluster("all", lbPolicy=2)]
    world.serve(*base, of(three))
    before = same_places(world, USERS)
    world.serve(*base, of(others))
    for user in USERS:
        world.expect(others[three.index(before[user][0])], user=user)


def test_a_priority_that_fails_is_followed_by_the_next(world):
    base = [listener(world.name, "routes"), routes("routes", to("all")), cluster("all")]
    closed, two, three = 1, *world.ports[1:3]
    with Server(own("xds_peer"), "server") as mortal:
        world.serve(*base, endpoints("all", mortal.port, locality(two, zone="b", priority=1), locality(three, zone="c", priority=2)))
        world.expect(mortal.port, count=5)
        mortal.process.kill()
        mortal.process.wait()
        world.expect(two, count=5)
    world.serve(*base, endpoints("all", locality(closed), locality(three, zone="b", priority=1)))
    world.expect(three, count=5)
    world.serve(*base, endpoints("all", locality(two), locality(three, zone="b", priority=1)))
    world.expect(two, count=5)
    world.serve(*base, endpoints("all", locality(closed), locality(2, zone="b", priority=1)))
    world.expect("UNAVAILABLE", count=5)


def test_health_of_endpoints_decides_whether_they_get_calls(world):
    states = (0, 1, 2, 3, 4, 5)  # unknown, healthy, unhealthy, draining, timeout, degraded
    world.serve(listener(world.name, "routes"), routes("routes", to("all")), cluster("all"),
                endpoints("all", locality(*(endpoint(port, healthStatus=state) for port, state in zip(world.ports, states)))))
    world.expect_shares({world.ports[0]: 0.5, world.ports[1]: 0.5}, within=0.02)


def test_a_cluster_without_endpoints_fails_its_calls(world):
    base = [listener(world.name, "routes"), routes("routes", to("all")), cluster("all")]
    world.serve(*base, endpoints("all"))
    world.expect("UNAVAILABLE")
    world.serve(*base, endpoints("all", locality()))
    world.expect("UNAVAILABLE")
    world.serve(*base, endpoints("all", locality(endpoint(world.ports[0], healthStatus=2))))
    world.expect("UNAVAILABLE")
    world.serve(*base, endpoints("all", world.ports[0]))
    world.expect(world.ports[0])


def test_a_virtual_host_without_the_name_fails_the_calls(world):
    base = [cluster("all"), endpoints("all", world.ports[0])]
    world.serve(listener(world.name, "routes"), routes("routes", to("all"), domains=["example.org"]))
    world.expect("UNAVAILABLE")
    world.serve(*base, listener(world.name, "routes"), routes("routes", to("all"), domains=[world.name[:-1] + "*"]))
    world.expect(world.ports[0])
    world.serve(*base, listener(world.name, routes("inside", to("all"), domains=["*" + world.name[1:]])))
    world.expect(world.ports[0])


def test_routes_retry_their_calls(world):
    retry = {"retryPolicy": {"retryOn": "unavailable,cancelled,gateway-error", "numRetries": 2}}
    world.serve(listener(world.name, "routes"), routes("routes", to("all", "/retried", **retry), to("all")), cluster("all"),
                endpoints("all", world.ports[0]))
    for path, fail, attempts, expected in (("/retried/A", 14, 2, world.ports[0]), ("/retried/A", 14, 3, "UNAVAILABLE"),
                                           ("/retried/A", 13, 1, "INTERNAL"), ("/once/A", 14, 1, "UNAVAILABLE")):
        world.expect(expected, path=path, fail=fail, attempts=attempts)


def test_routes_limit_the_time_of_calls(world):
    """The limit of the HttpConnectionManager, or that of a route in its place; for calls with a deadline, a limit of their own; none."""
    limits = {"/short": {"maxStreamDuration": "0.2s"}, "/client": {"maxStreamDuration": "60s", "grpcTimeoutHeaderMax": "0.2s"},
              "/none": {"maxStreamDuration": "0s"}}
    world.serve(listener(world.name, "routes", commonHttpProtocolOptions={"maxStreamDuration": "0.3s"}),
                routes("routes", *(to("all", path, maxStreamDuration=limit) for path, limit in limits.items()), to("all")), cluster("all"),
                endpoints("all", world.ports[0]))
    world.expect(world.ports[0], path="/none/A")
    for path, expected in (("/short/A", "DEADLINE_EXCEEDED"), ("/client/A", "DEADLINE_EXCEEDED"), ("/other/A", "DEADLINE_EXCEEDED"),
                           ("/none/A", world.ports[0])):
        world.expect(expected, path=path, late=600)


def test_a_server_that_fails_is_ejected(world):
    one, two, three = world.ports[:3]
    limits = {"interval": "0.3s", "baseEjectionTime": "60s", "maxEjectionPercent": 50, "enforcingSuccessRate": 0,
              "enforcingFailurePercentage": 100, "failurePercentageThreshold": 50, "failurePercentageMinimumHosts": 3,
              "failurePercentageRequestVolume": 5}
    world.serve(listener(world.name, "routes"), routes("routes", to("all")), cluster("all", outlierDetection=limits),
                endpoints("all", locality(one, two, three)))
    world.expect_shares({one: 1 / 3, two: 1 / 3, three: 1 / 3}, within=0.02, count=300)
    end = time.monotonic() + LIMIT_S
    while any("INTERNAL" in answers for answers in world.each(count=30, fail=13, at=two).values()):
        assert time.monotonic() < end, "calls still fail"


def test_the_old_route_is_in_use_until_the_new_one_is_complete(talkative):
    """gRFC A74. grpc-go takes a route when it knows its clusters."""
    world = talkative
    one, two = world.ports[:2]
    old = [cluster("one"), endpoints("one", one)]
    world.serve(listener(world.name, "routes"), routes("routes", to("one")), *old)
    world.expect(one)
    with calls_without_end(world, one, two, apart={"grpc-go"}):
        world.serve(listener(world.name, "routes"), routes("routes", to("two")), *old, cluster("two"))
        world.plane.wait_for(*(lambda r, each=each: r.node == each.name and r.type == "ClusterLoadAssignment" and "two" in r.names
                               for each in world.clients))
        world.serve(listener(world.name, "routes"), routes("routes", to("two")), *old, cluster("two"), endpoints("two", two))
        world.plane.wait_for(*(lambda r, each=each: r.node == each.name and r.type == "ClusterLoadAssignment" and "two" in r.names
                               and r.version == world.plane.versions[r.type] for each in world.clients))
    world.expect(two)


def test_the_first_policy_that_a_client_knows_is_used(world):
    """One that is unknown to all clients, then pick_first below none; then weights of localities above round robin."""
    def policy(kind, **fields):
        return message(kind, **fields)

    one, two = world.ports[:2]
    base = [listener(world.name, "routes"), routes("routes", to("all")), endpoints("all", locality(one, zone="a", weight=3), locality(two, zone="b"))]
    first = with_policies(cluster("all"), ("unknown.v3.Policy", policy("PickFirst")), ("pick_first.v3.PickFirst", policy("PickFirst")),
                          ("round_robin.v3.RoundRobin", policy("PickFirst")))
    world.serve(*base, first)
    world.expect(one, count=20)
    world.serve(*base, with_policies(cluster("all"), ("round_robin.v3.RoundRobin", policy("PickFirst"))))
    world.expect_shares({one: 0.5, two: 0.5}, within=0.02)
    shared = message("WrrLocality")
    shared.endpoint_picking_policy.CopyFrom(with_policies(cluster(""), ("round_robin.v3.RoundRobin", policy("PickFirst"))).load_balancing_policy)
    world.serve(*base, with_policies(cluster("all"), ("wrr_locality.v3.WrrLocality", shared)))
    world.expect_shares({one: 0.75, two: 0.25}, within=0.08)


def test_an_endpoint_with_several_addresses_is_one_server(world):
    """gRFC A61: what does not answer at the first address does at another."""
    base = [listener(world.name, "routes"), routes("routes", to("all")), cluster("all")]
    one, two = world.ports[:2]
    world.serve(*base, endpoints("all", locality(endpoint(1, more=[one]), two)))
    world.expect_shares({one: 0.5, two: 0.5}, within=0.02, count=200)


def test_a_cluster_by_name_is_resolved(talkative):
    """gRFC A37: by itself, and as the last resort of an aggregate."""
    world = talkative
    one = world.ports[0]
    by_name = message("Cluster", name="named", type=2, loadAssignment={"endpoints": [{"lbEndpoints": [endpoint(one, host="localhost")]}]})
    world.serve(listener(world.name, "routes"), routes("routes", to("both", "/both"), to("named")), by_name, aggregate("both", "dead", "named"),
                cluster("dead"), endpoints("dead", 1))
    world.expect(one)
    world.expect(one, path="/both/A")


INVALID = {
    "Listener": lambda world: [message("Listener", name=world.name)],
    "RouteConfiguration": lambda world: [routes("routes", {"match": {"safeRegex": {"regex": "("}}, "route": {"cluster": "one"}})],
    "Cluster": lambda world: [message("Cluster", name="one", type=0)],
    "ClusterLoadAssignment": lambda world: [endpoints("one", locality(1, priority=1))],
}


@pytest.mark.parametrize("kind", INVALID)
def test_a_resource_that_is_invalid_is_rejected_and_the_last_one_serves_on(world, kind):
    simple(world, one=world.ports[0])
    world.expect(world.ports[0])
    accepted = world.plane.versions[kind]
    world.plane.forget()
    world.plane.set(**{kind: INVALID[kind](world)})
    # Each client rejects it with its reason and the version that it keeps.
    world.plane.wait_for(*(lambda r, one=one: r.node == one.name and r.type == kind and r.error and r.version == accepted for one in world.clients))
    world.expect(world.ports[0], count=5)
    world.plane.forget()
    simple(world, one=world.ports[1])
    world.expect(world.ports[1])
    now = world.plane.versions[kind]
    world.plane.wait_for(*(lambda r, one=one: r.node == one.name and r.type == kind and not r.error and r.version == now for one in world.clients))


def test_valid_resources_beside_an_invalid_one_are_used(world):
    """gRFC A46"""
    paths = routes("routes", to("one", "/one"), to("two", "/two"))
    simple_ones = [cluster("one"), endpoints("one", world.ports[0]), endpoints("two", world.ports[1])]
    world.serve(listener(world.name, "routes"), paths, *simple_ones, cluster("two"))
    world.expect(world.ports[0], path="/one/A")
    world.expect(world.ports[1], path="/two/A")
    world.plane.set(Cluster=[message("Cluster", name="one", type=0), cluster("two", edsClusterConfig={"edsConfig": {"ads": {}}, "serviceName": "three"})],
                    ClusterLoadAssignment=[endpoints("one", world.ports[0]), endpoints("three", world.ports[2])])
    world.expect(world.ports[2], path="/two/A")
    world.expect(world.ports[0], path="/one/A")


@pytest.fixture
def talkative(world):
    """With a control plane that has resources which clients do not name yet. go-control-plane's cache does not answer such
    a client, unless it is told to."""
    if isinstance(world.plane, SnapshotPlane):
        world.plane.restart(ads=False)
    yield world
    if isinstance(world.plane, SnapshotPlane):
        world.plane.restart(ads=True)


def test_an_aggregate_is_its_clusters_in_their_order(talkative):
    world = talkative
    two, three = world.ports[1:3]
    base = [listener(world.name, "routes"), routes("routes", to("all")), aggregate("all", "first", "inner"), aggregate("inner", "second", "first"),
            cluster("first"), cluster("second")]
    world.serve(*base, endpoints("first", locality(1)), endpoints("second", two))
    world.expect(two, count=5)
    world.serve(*base, endpoints("first", three), endpoints("second", two))
    world.expect(three, count=5)


def has_requested(world, kind, *names):
    """Conditions: each client has accepted the present version of these resources, and of no others."""
    version = world.plane.versions[kind]
    return [lambda r, each=each: (r.node, r.type, r.names, r.version) == (each.name, kind, tuple(sorted(names)), version) for each in world.clients]


def test_calls_go_on_while_routes_change(talkative):
    """A control plane adds a cluster, moves the route to it, and removes the old one."""
    world = talkative

    def serve(route, clusters):
        world.serve(listener(world.name, "routes"), routes("routes", to(route)), *map(cluster, clusters),
                    *(endpoints(name, port) for name, port in clusters.items()))

    one, two, three = world.ports[:3]
    before = {"one": one}
    serve("one", before)
    world.expect(one)
    # grpc-go may choose the new cluster before its balancer knows it.
    with calls_without_end(world, one, two, three, apart={"grpc-go"}):
        for i in range(6):
            after = {f"new-{i}": two if i % 2 else three}
            serve(*before, before | after)
            world.plane.wait_for(*has_requested(world, "RouteConfiguration", "routes"))
            serve(*after, before | after)
            world.plane.wait_for(*has_requested(world, "ClusterLoadAssignment", *after))
            serve(*after, after)
            before = after
    world.expect(*before.values())


def test_a_cluster_that_is_used_again_is_sent_again(talkative):
    """Clients no longer request it, and then they do; the control plane has not changed it."""
    world = talkative
    ports = {"one": world.ports[0], "two": world.ports[1]}

    def use(name):
        world.serve(listener(world.name, "routes"), routes("routes", to(name)), *map(cluster, ports), *(endpoints(*one) for one in ports.items()))
        world.expect(ports[name])
        world.plane.wait_for(*has_requested(world, "Cluster", name), *has_requested(world, "ClusterLoadAssignment", name))

    for name in ("one", "two", "one", "two"):
        world.plane.forget()
        use(name)


def test_calls_go_on_while_the_plane_restarts(world):
    one, two = world.ports[:2]
    simple(world, one=one)
    world.expect(one)
    with calls_without_end(world, one, two):
        world.plane.stop()
        world.plane.forget()
        world.plane.start()
        simple(world, one=two)
        world.plane.wait_for(*has_requested(world, "ClusterLoadAssignment", "one"))
    world.expect(two)


def test_what_is_deleted_stays_in_use(world):
    """gRFC A53, which A88 makes the rule."""
    simple(world, one=world.ports[0])
    world.expect(world.ports[0])
    world.plane.set(Cluster=[], ClusterLoadAssignment=[])
    version = world.plane.versions["Cluster"]
    world.plane.wait_for(*(lambda r, each=each: r.node == each.name and r.type == "Cluster" and r.version == version for each in world.clients))
    world.expect(world.ports[0], count=5)
    world.plane.set(Listener=[], RouteConfiguration=[])
    version = world.plane.versions["Listener"]
    world.plane.wait_for(*(lambda r, each=each: r.node == each.name and r.type == "Listener" and r.version == version for each in world.clients))
    world.expect(world.ports[0], count=5)


@pytest.fixture(scope="module")
def strict(plane, ports):
    with clients_of(World(plane, ports), servers_at(plane.address, features=["fail_on_data_errors"])) as world:
        yield world


def test_what_is_deleted_is_gone_if_the_bootstrap_says_so(strict):
    """gRFC A88: fail_on_data_errors"""
    world = strict
    world.name, world.target = "strict", "xds:///strict"
    simple(world, one=world.ports[0])
    world.expect(world.ports[0])
    world.plane.set(Cluster=[], ClusterLoadAssignment=[])
    world.expect("UNAVAILABLE")
    simple(world, one=world.ports[1])
    world.expect(world.ports[1])
    world.plane.set(Listener=[], RouteConfiguration=[])
    world.expect("UNAVAILABLE")
    simple(world, one=world.ports[2])
    world.expect(world.ports[2])


@pytest.fixture(scope="module")
def trusting(plane, ports):
    with pytest.MonkeyPatch.context() as environment:
        for name in ("AUTHORITY_REWRITE", "HTTP_CONNECT"):
            environment.setenv(f"GRPC_EXPERIMENTAL_XDS_{name}", "true")
        with clients_of(World(plane, ports), servers_at(plane.address, features=["trusted_xds_server"])) as world:
            yield world


def test_a_trusted_plane_rewrites_the_authority(trusting):
    """gRFC A81"""
    world = trusting
    world.name, world.target = "trusting", "xds:///trusting"
    server = endpoint(world.ports[0])
    server["endpoint"]["hostname"] = "zero.example"
    world.serve(listener(world.name, "routes"), cluster("one"), endpoints("one", locality(server)),
                routes("routes", to("one", prefix="/plain."), to("one", autoHostRewrite=True)))
    world.expect(world.ports[0], authority="zero.example")
    world.expect(world.ports[0], path="/plain.A/A", authority="trusting")


class ConnectProxy(socketserver.ThreadingTCPServer):
    """Opens tunnels, whatever they are asked for, to one port (HTTP CONNECT)."""

    daemon_threads = True

    def __init__(self, port):
        self.to, self.asked = port, set()
        super().__init__(("127.0.0.1", 0), self.Tunnel)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    class Tunnel(socketserver.BaseRequestHandler):
        def handle(self):
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                head += self.request.recv(1)
            self.server.asked.add(head.split(b"\r\n")[0].decode())
            with socket.create_connection(("127.0.0.1", self.server.to)) as server:
                self.request.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                back = threading.Thread(target=self.pump, args=(server, self.request), daemon=True)
                back.start()
                self.pump(self.request, server)
                back.join()

        @staticmethod
        def pump(source, to):
            with contextlib.suppress(OSError):
                while part := source.recv(65536):
                    to.sendall(part)
                to.shutdown(socket.SHUT_WR)


def test_an_endpoint_is_reached_through_its_proxy(trusting):
    """gRFC A86"""
    world = trusting
    world.name, world.target = "proxied", "xds:///proxied"
    proxied = cluster("one")
    proxied.transport_socket.name = "envoy.transport_sockets.http_11_proxy"
    proxied.transport_socket.typed_config.CopyFrom(
        packed("transport_sockets.http_11_proxy.v3.Http11ProxyUpstreamTransport", wire().HttpProxyTransport()))
    with ConnectProxy(world.ports[1]) as proxy:
        of = endpoints("one", 1)  # a port without a server
        metadata = of.endpoints[0].lb_endpoints[0].metadata
        address = of.endpoints[0].lb_endpoints[0].endpoint.address
        through = type(address)()
        through.socket_address.address, through.socket_address.port_value = proxy.server_address
        metadata.typed_filter_metadata["envoy.http11_proxy_transport_socket.proxy_address"].CopyFrom(
            any_pb2.Any(type_url="type.googleapis.com/envoy.config.core.v3.Address", value=through.SerializeToString()))
        world.serve(listener(world.name, "routes"), proxied, of, routes("routes", to("one")))
        world.expect(world.ports[1])
        assert proxy.asked == {"CONNECT 127.0.0.1:1 HTTP/1.1"}
        proxy.shutdown()


@pytest.fixture
def two_planes():
    with OwnPlane() as first, OwnPlane() as second:
        yield first, second


def offer(plane, name, port):
    plane.set(Listener=[listener(name, "routes")], RouteConfiguration=[routes("routes", to("one"))], Cluster=[cluster("one")],
              ClusterLoadAssignment=[endpoints("one", port)])


def test_a_second_plane_is_used_while_the_first_is_away(two_planes, ports):
    """gRFC A71. grpc-go takes several seconds to find that the first one is back."""
    first, second = two_planes
    offer(first, "fallback", ports[0])
    offer(second, "fallback", ports[1])
    first.stop()
    with clients_of(World(second, ports), servers_at(first.address, second.address)) as world:
        world.target = "xds:///fallback"
        world.expect(ports[1])
        first.start()
        world.clients = [one for one in world.clients if one.name != "grpc-go"]
        world.expect(ports[0])


def test_an_authority_has_a_plane_of_its_own(two_planes, ports):
    """gRFC A47: the Listener is there, and what it names is not."""
    first, second = two_planes
    offer(first, "other", ports[0])
    second.set(Listener=[listener("xdstp://elsewhere/envoy.config.listener.v3.Listener/federated", "routes")])
    bootstrap = {**servers_at(first.address), "authorities": {"elsewhere": servers_at(second.address)}}
    with clients_of(World(second, ports), bootstrap) as world:
        for world.target in ("xds://elsewhere/federated", "xds:///other"):
            world.expect(ports[0])


def test_a_resource_may_come_in_a_wrapper_or_as_an_error(two_planes, ports):
    """gRFC A88. grpc-go does not read errors, and would wait for 15 s."""
    plane, _ = two_planes
    plane.wraps = True
    offer(plane, "wrapped", ports[0])
    plane.errors["Listener"] = {"absent": (5, "there is none")}
    with clients_of(World(plane, ports), servers_at(plane.address)) as world:
        world.target = "xds:///wrapped"
        world.expect(ports[0])
        world.clients = [one for one in world.clients if one.name != "grpc-go"]
        world.target = "xds:///absent"
        world.expect("UNAVAILABLE")
