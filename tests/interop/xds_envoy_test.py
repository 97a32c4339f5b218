"""Envoy as a member of the mesh, beside our client, grpcio's and grpc-go's: what the same routes, clusters and endpoints make of calls.
A client that knows nothing of xDS calls through it. What Envoy does by rules of its own is not compared: panic, overprovisioning, the
conditions of its retries, its larger rings."""

import contextlib
import json
import time

import pytest

pytest.importorskip("grpc", reason="./dev peers installs it")

import peers  # noqa: E402
import walk  # noqa: E402
from control_plane import SnapshotPlane  # noqa: E402
from programs import Background, Server, own  # noqa: E402
from xds_resources import accepted, chain, cluster, endpoint, endpoints, inbound, listener, locality, manager, message, routes, to  # noqa: E402
from xds_world import LIMIT_S, Client, World, calls_without_end, clients_of, servers_at  # noqa: E402

HTTP2 = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"


def varint(number):
    return bytes([number]) if number < 128 else bytes([number & 127 | 128]) + varint(number >> 7)


def field(number, value):
    """A field of a message that src/xds/wire does not have, because gRPC does not read it: text, a message, or a number."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def extended(made, **of):
    """With such fields."""
    made.MergeFromString(b"".join(of.values()))
    return made


def shared_cluster(name, **fields):
    """Each test has its own: Envoy waits for new endpoints of a cluster that changes, which go-control-plane's cache does not send.
    What Envoy is told so that it does as gRPC: to speak HTTP/2, to use the weights of localities, and not to eject servers because they
    fail several times in a row."""
    over_http2 = field(1, f"type.googleapis.com/{HTTP2}") + field(2, field(3, field(2, b"")))
    made = extended(cluster(name, **fields), typed_extension_protocol_options=field(36, field(1, HTTP2) + field(2, over_http2)),
                    locality_weighted_lb_config=field(27, field(3, b"")))
    if made.HasField("outlier_detection"):
        extended(made.outlier_detection, enforcing_consecutive_5xx=field(5, b""))
    return made


def shared_routes(*of):
    """Envoy tells servers which attempt it is only if it is asked to."""
    made = routes("routes", *of)
    extended(made.virtual_hosts[0], include_request_attempt_count=field(14, 1))
    return made


def listener_of_envoy(port, filters):
    of_http2 = extended(manager("routes", filters), codec_type=field(1, 2), stat_prefix=field(2, "mesh"))
    return inbound("envoy", port, chain(of_http2))


class ThroughEnvoy(Client):
    """Makes its calls of any target by one Envoy."""

    def __init__(self, port):
        super().__init__("envoy", [own("xds_peer"), "client"], {}, {})
        self.target = f"127.0.0.1:{port}"

    def begin(self, target, **call):
        super().begin(self.target, **call)


def configuration(plane):
    """Everything else comes from the control plane."""
    ads = {"resource_api_version": "V3", "ads": {}}
    address = {"socket_address": {"address": "127.0.0.1", "port_value": plane.port}}
    return {
        "node": {"id": "envoy", "cluster": "mesh"},
        "dynamic_resources": {"lds_config": ads, "cds_config": ads, "ads_config": {
            "api_type": "GRPC", "transport_api_version": "V3", "grpc_services": [{"envoy_grpc": {"cluster_name": "plane"}}]}},
        "static_resources": {"clusters": [{
            "name": "plane", "type": "STATIC",
            "load_assignment": {"cluster_name": "plane", "endpoints": [{"lb_endpoints": [{"endpoint": {"address": address}}]}]},
            "typed_extension_protocol_options": {HTTP2: {
                "@type": f"type.googleapis.com/{HTTP2}", "explicit_http_config": {"http2_protocol_options": {}}}}}]}}


class Mesh(World):
    def __init__(self, plane, ports, port):
        super().__init__(plane, ports)
        self.port = port
        self.name, self.target = "mesh", "xds:///mesh"

    def set(self, *of, filters=()):
        self.serve(listener(self.name, "routes", filters), listener_of_envoy(self.port, filters), *of)


@pytest.fixture(scope="module")
def mesh_with_envoy(tmp_path_factory):
    program = peers.PYTHON.with_name("envoy")
    if not program.exists():
        pytest.skip("Envoy is not installed; ./dev peers installs it")
    with SnapshotPlane(ads=False) as plane, contextlib.ExitStack() as running:
        ports = [running.enter_context(Server(own("xds_peer"), "server")).port for _ in range(3)]
        file = tmp_path_factory.mktemp("envoy") / "envoy.yaml"
        file.write_text(json.dumps(configuration(plane)))
        envoy = running.enter_context(Background(program, "-c", file, "--use-dynamic-base-id", "--concurrency", "1", "--log-level", "warning"))
        made = running.enter_context(clients_of(Mesh(plane, ports, walk.free_port()), servers_at(plane.address)))
        made.clients.append(running.enter_context(ThroughEnvoy(made.port)))
        yield made
        envoy.expect_alive()
        print(*envoy.said, sep="\n")


@pytest.fixture
def world(mesh_with_envoy):
    return mesh_with_envoy


def test_calls_take_the_same_routes(world):
    one, two, three = world.ports
    world.set(
        shared_routes(
            to("one", "/one/"),
            {"match": {"prefix": "", "headers": [{"name": "user", "exactMatch": "beta"}]}, "route": {"cluster": "two"}},
            {"match": {"safeRegex": {"regex": "/t.*/[A-F]+"}}, "route": {"cluster": "three"}},
            {"match": {"prefix": ""}, "route": {"weightedClusters": {"clusters": [{"name": "one", "weight": 10}, {"name": "two", "weight": 90}]}}}),
        *map(shared_cluster, ("one", "two", "three")), *(endpoints(*pair) for pair in zip(("one", "two", "three"), world.ports)))
    for expected, call in ((one, {"path": "/one/A", "user": "beta"}), (two, {"path": "/two/A", "user": "beta"}), (three, {"path": "/three/ABC"})):
        world.expect(expected, **call)
    world.expect_shares({one: 0.1, two: 0.9}, within=0.06)


def test_localities_and_drops_share_the_calls(world):
    one, two, three = world.ports
    base = [shared_routes(to("shared")), shared_cluster("shared")]
    world.set(*base, endpoints("shared", locality(one, two, zone="a", weight=3), locality(three, zone="b", weight=1)))
    world.expect_shares({one: 3 / 8, two: 3 / 8, three: 1 / 4}, within=0.08)
    world.set(*base, endpoints("shared", one, drops=[("some", 40)]))
    world.expect_shares({one: 0.6, "UNAVAILABLE": 0.4}, within=0.08)


def test_a_priority_without_servers_that_work_is_followed_by_the_next(world):
    one, two, _ = world.ports
    base = [shared_routes(to("ranked")), shared_cluster("ranked")]
    unhealthy = 2
    first = locality(endpoint(one, healthStatus=unhealthy))
    world.set(*base, endpoints("ranked", first, locality(two, zone="b", priority=1)))
    world.expect(two, count=5)
    world.set(*base, endpoints("ranked", locality(one), locality(two, zone="b", priority=1)))
    world.expect(one, count=5)


def test_routes_retry_the_calls(world):
    retry = {"retryPolicy": {"retryOn": "unavailable", "numRetries": 2}}
    world.set(shared_routes(to("retried", "/retried", **retry), to("retried")), shared_cluster("retried"), endpoints("retried", world.ports[0]))
    for path, fail, attempts, expected in (("/retried/A", 14, 2, world.ports[0]), ("/retried/A", 14, 3, "UNAVAILABLE"),
                                           ("/retried/A", 13, 1, "INTERNAL"), ("/once/A", 14, 1, "UNAVAILABLE")):
        world.expect(expected, path=path, fail=fail, attempts=attempts)


def test_a_fault_is_injected_into_the_same_calls(world):
    """A share of them, or those that ask for it."""
    one = world.ports[0]
    base = [shared_routes(to("faulty")), shared_cluster("faulty"), endpoints("faulty", one)]
    some = message("HttpFault", abort={"grpcStatus": 9, "percentage": {"numerator": 30}})
    world.set(*base, filters=[("fault.v3.HTTPFault", some)])
    world.expect_shares({one: 0.7, "FAILED_PRECONDITION": 0.3}, within=0.08)
    wanted = message("HttpFault", abort={"headerAbort": {}, "percentage": {"numerator": 100}})
    world.set(*base, filters=[("fault.v3.HTTPFault", wanted)])
    world.expect("NOT_FOUND", count=5, x_envoy_fault_abort_grpc_request=5)
    world.expect(one, count=5)


def test_a_server_that_fails_is_ejected_and_returns(world):
    one, two, three = world.ports
    limits = {"interval": "0.3s", "baseEjectionTime": "0.3s", "maxEjectionTime": "1s", "maxEjectionPercent": 50, "enforcingSuccessRate": 0,
              "enforcingFailurePercentage": 100, "failurePercentageThreshold": 50, "failurePercentageMinimumHosts": 3,
              "failurePercentageRequestVolume": 5}
    world.set(shared_routes(to("ejecting")), shared_cluster("ejecting", outlierDetection=limits), endpoints("ejecting", locality(one, two, three)))
    world.expect_shares({one: 1 / 3, two: 1 / 3, three: 1 / 3}, within=0.05, count=300)
    end = time.monotonic() + LIMIT_S
    waiting = {each.name for each in world.clients}
    while waiting:
        waiting -= {name for name, answers in world.each(count=30, fail=13, at=two).items() if "INTERNAL" not in answers}
        assert time.monotonic() < end, f"calls still fail: {waiting}"
    world.expect_shares({one: 1 / 3, two: 1 / 3, three: 1 / 3}, within=0.05, count=300)


def test_envoy_calls_a_server_that_the_plane_configures(world):
    """Other filter chains drain its connections, too."""
    bootstrap = {**servers_at(world.plane.address), "node": {"id": "server"}, "server_listener_resource_name_template": "server/%s"}
    with Server(own("xds_peer"), "xds_server", "127.0.0.1:0", env={"GRPC_XDS_BOOTSTRAP_CONFIG": json.dumps(bootstrap)}) as server:
        def serve(name):
            world.set(shared_routes(to("inbound")), shared_cluster("inbound"), endpoints("inbound", server.port),
                      inbound(f"server/127.0.0.1:{server.port}", server.port, chain(routes(name, accepted("/a.A/")))))

        serve("inside")
        world.expect(server.port)
        world.expect("UNAVAILABLE", path="/b.B/B")
        with calls_without_end(world, server.port, late=5):
            world.plane.forget()
            serve("others")
            version = world.plane.versions["Listener"]
            world.plane.wait_for(lambda r: (r.node, r.type, r.version) == ("server", "Listener", version))
        world.expect(server.port)
