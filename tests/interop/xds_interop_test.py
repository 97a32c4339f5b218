"""gRPC's xDS interop client and server, ours and grpc-go's in all pairs, driven as gRPC's framework does: by the services of the client
(LoadBalancerStatsService, XdsUpdateClientConfigureService) and of the server (XdsUpdateHealthService, HookService)."""

import contextlib
import json
import socket
import time

import pytest

grpc = pytest.importorskip("grpc", reason="./dev peers installs it")

from control_plane import OwnPlane, wire  # noqa: E402
from programs import Background, own, peer, run  # noqa: E402
from testing_protos import testing  # noqa: E402
from xds_resources import accepted, chain, cluster, endpoint, endpoints, inbound, listener, locality, message, packed, routes, secured, to  # noqa: E402
from xds_servers_test import MUTUAL, providers, tls_of  # noqa: E402, F401

LIMIT_S = 20
QPS = 300
NAME = "interop"
NAMES = ("one", "two", "three")  # of the servers: what the client calls its peers
ALL = "UNARY_CALL", "EMPTY_CALL"


def free_ports(count):
    """Ports of 127.0.0.1: grpc-go's programs do not tell theirs."""
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def call(port, method, request, reply, limit_s=LIMIT_S):
    """The reply of one of the services that drive the programs."""
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        made = channel.unary_unary(f"/grpc.testing.{method}", lambda m: m.SerializeToString(), getattr(testing(), reply).FromString)
        return made(request, timeout=limit_s, wait_for_ready=True)


class Driven:
    """The interop client."""

    def __init__(self, port):
        self.port = port

    def configure(self, *types, timeout_s=0, **metadata):
        """Which calls it makes from now on; the metadata of UnaryCall."""
        t = testing()
        request = t.ClientConfigureRequest(types=types or ["UNARY_CALL"], timeout_sec=timeout_s)
        for key, value in metadata.items():
            request.metadata.add(type="UNARY_CALL", key=key.replace("_", "-"), value=value)
        call(self.port, "XdsUpdateClientConfigureService/Configure", request, "ClientConfigureResponse")

    def stats(self, count=30):
        """Of the next calls."""
        request = testing().LoadBalancerStatsRequest(num_rpcs=count, timeout_sec=LIMIT_S)
        return call(self.port, "LoadBalancerStatsService/GetClientStats", request, "LoadBalancerStatsResponse", LIMIT_S + 5)

    def results(self):
        """How often each method ended with each status code so far."""
        reply = call(self.port, "LoadBalancerStatsService/GetClientAccumulatedStats", testing().LoadBalancerAccumulatedStatsRequest(),
                     "LoadBalancerAccumulatedStatsResponse")
        return {method: dict(stats.result) for method, stats in reply.stats_per_method.items()}

    def wait_until(self, holds, count=30):
        """Stats for which it holds."""
        end = time.monotonic() + LIMIT_S
        while not holds(seen := self.stats(count)):
            assert time.monotonic() < end, f"the last stats: {seen}"
        return seen

    def wait_for_peers(self, *names, count=30):
        return self.wait_until(lambda s: set(s.rpcs_by_peer) == set(names) and not s.num_failures, count)

    def wait_for_code(self, code, method="UNARY_CALL"):
        """Until calls that have begun after this end with it."""
        end = time.monotonic() + LIMIT_S
        before = self.results().get(method, {}).get(code, 0)
        while self.results().get(method, {}).get(code, 0) < before + 10:
            assert time.monotonic() < end, f"{method} does not end with {code}: {self.results()}"


class World:
    def __init__(self, plane, ports, client):
        self.plane, self.ports, self.client = plane, ports, client

    def serve(self, *of):
        by_type = {kind: [] for kind in self.plane.resources}
        for one in of:
            by_type[type(one).__name__].append(one)
        self.plane.set(**by_type)

    def route(self, *rules, manager=None, **clusters):
        """Routes to clusters, each of which has the servers of some names."""
        places = dict(zip(NAMES, self.ports))
        self.serve(manager or listener(NAME, "routes"), routes("routes", *rules),
                   *(of if not isinstance(of, tuple) else cluster(name) for name, of in clusters.items()),
                   *(endpoints(name, locality(*(places[one] for one in of))) for name, of in clusters.items() if isinstance(of, tuple)))

    def usual(self):
        self.route(to("all"), all=NAMES)
        self.client.configure()
        self.client.wait_for_peers(*NAMES)


SERVERS = {"coracle": ("xds_interop_server", own), "grpc-go": ("grpc_go_xds_server", peer)}
CLIENTS = {"coracle": ("xds_interop_client", own), "grpc-go": ("grpc_go_xds_client", peer)}


@pytest.fixture(scope="module")
def plane():
    with OwnPlane() as one:
        yield one


@pytest.fixture(scope="module", params=SERVERS)
def ports(request):
    program, find = SERVERS[request.param]
    with contextlib.ExitStack() as running:
        chosen = free_ports(len(NAMES))
        for name, port in zip(NAMES, chosen):
            running.enter_context(Background(find(program), f"--port={port}", f"--host_name_override={name}", f"--server_id=id-{name}"))
        yield chosen


@pytest.fixture(scope="module", params=CLIENTS)
def client(request, plane):
    program, find = CLIENTS[request.param]
    bootstrap = {"node": {"id": "interop"}, "xds_servers": [{"server_uri": plane.address, "channel_creds": [{"type": "insecure"}]}]}
    [port] = free_ports(1)
    with Background(find(program), f"--server=xds:///{NAME}", f"--stats_port={port}", f"--qps={QPS}", "--rpc_timeout=2s",
                    env={"GRPC_XDS_BOOTSTRAP_CONFIG": json.dumps(bootstrap)}):
        yield Driven(port)


@pytest.fixture
def world(plane, ports, client):
    made = World(plane, ports, client)
    made.usual()
    return made


def test_calls_are_spread_over_the_servers(world):
    """round_robin"""
    seen = world.client.stats(60)
    assert dict(seen.rpcs_by_peer) == pytest.approx(dict.fromkeys(NAMES, 20), abs=4), seen
    assert set(seen.rpcs_by_method) == {"UnaryCall"}


def test_both_methods_are_counted_apart(world):
    world.client.configure(*ALL)
    seen = world.client.wait_until(lambda s: set(s.rpcs_by_method) == {"UnaryCall", "EmptyCall"}, 60)
    assert all(set(of.rpcs_by_peer) <= set(NAMES) for of in seen.rpcs_by_method.values()), seen
    counted = world.client.results()
    assert all(counted[method][0] > 0 for method in ALL), counted


def test_paths_choose_the_cluster(world):
    """path_matching"""
    world.client.configure(*ALL)
    world.route({"match": {"path": "/grpc.testing.TestService/EmptyCall"}, "route": {"cluster": "empty"}}, to("rest"),
                empty=("one",), rest=("two", "three"))
    world.client.wait_until(lambda s: set(s.rpcs_by_method["EmptyCall"].rpcs_by_peer) == {"one"}
                            and set(s.rpcs_by_method["UnaryCall"].rpcs_by_peer) == {"two", "three"}, 60)


def test_metadata_choose_the_cluster(world):
    """header_matching"""
    world.route({"match": {"prefix": "", "headers": [{"name": "xds-md", "exactMatch": "there"}]}, "route": {"cluster": "there"}}, to("rest"),
                there=("one",), rest=("two", "three"))
    world.client.wait_for_peers("two", "three")
    world.client.configure(xds_md="there")
    world.client.wait_for_peers("one")


def test_traffic_is_split_by_weights(world):
    """traffic_splitting"""
    world.route({"match": {"prefix": ""}, "route": {"weightedClusters": {"clusters": [{"name": "few", "weight": 20}, {"name": "most", "weight": 80}]}}},
                few=("one",), most=("two",))
    seen = world.client.wait_for_peers("one", "two", count=200)
    assert seen.rpcs_by_peer["one"] / 200 == pytest.approx(0.2, abs=0.12), seen


def test_servers_end_calls_as_their_metadata_ask_for(world):
    """The behaviors of servers, which outlier_detection and the suites of retries need."""
    world.client.configure(rpc_behavior="error-code-15")
    world.client.wait_for_code(15)
    world.client.configure(rpc_behavior="hostname=one error-code-13")
    world.client.wait_until(lambda s: set(s.rpcs_by_peer) == {"two", "three"} and s.num_failures > 0)


# grpc-go's server ends at the first attempt of such a call, which has no grpc-previous-rpc-attempts.
@pytest.mark.parametrize("ports", ["coracle"], indirect=True)
def test_retries_of_routes_reach_another_attempt(world):
    world.route(to("all", retryPolicy={"retryOn": "unavailable", "numRetries": 2}), all=NAMES)
    world.client.configure(rpc_behavior="succeed-on-retry-attempt-1,error-code-14")
    world.client.wait_for_peers(*NAMES)


def test_calls_have_the_timeouts_of_their_route(world):
    """timeout"""
    world.route(to("all", maxStreamDuration={"maxStreamDuration": "0.2s"}), all=NAMES)
    world.client.configure(rpc_behavior="sleep-1")
    world.client.wait_for_code(4)


def test_calls_above_the_limit_of_a_cluster_are_dropped(world):
    """circuit_breaking"""
    limited = {"thresholds": [{"maxRequests": 20}]}
    world.serve(listener(NAME, "routes"), routes("routes", to("all")), cluster("all", circuitBreakers=limited), endpoints("all", locality(*world.ports)))
    world.client.configure(rpc_behavior="keep-open", timeout_s=1)
    world.client.wait_for_code(14)


@pytest.mark.parametrize("fault", [{"abort": {"grpcStatus": 10, "percentage": {"numerator": 100}}}], ids=["abort"])
def test_calls_fail_as_the_fault_filter_says(world, fault):
    """fault_injection"""
    world.route(to("all"), manager=with_fault(fault), all=NAMES)
    world.client.wait_for_code(10)


def with_fault(fault):
    made = listener(NAME, "routes")
    manager = wire().HttpConnectionManager.FromString(made.api_listener.api_listener.value)
    router = manager.http_filters.pop()
    manager.http_filters.add(name="fault").typed_config.CopyFrom(packed("filters.http.fault.v3.HTTPFault", message("HttpFault", **fault)))
    manager.http_filters.append(router)
    made.api_listener.api_listener.value = manager.SerializeToString()
    return made


def test_servers_leave_and_come_back(world):
    """change_backend_service, remove_instance_group"""
    one = endpoints("all", locality(*(endpoint(port, healthStatus=2 if name == "one" else 1) for name, port in zip(NAMES, world.ports))))
    world.serve(listener(NAME, "routes"), routes("routes", to("all")), cluster("all"), one)
    world.client.wait_for_peers("two", "three")
    world.usual()


def test_a_server_reports_the_health_that_a_driver_sets(world):
    """What backends_restart and the health checks of a control plane see."""
    port = world.ports[0]
    health = [own("coracle"), "health", f"127.0.0.1:{port}", "-p"]
    end = time.monotonic() + LIMIT_S
    for update, shown in (("SetNotServing", "NOT_SERVING\n"), ("SetServing", "SERVING\n")):
        call(port, f"XdsUpdateHealthService/{update}", testing().Empty(), "Empty")
        while (said := run(*health).stdout) != shown:
            assert time.monotonic() < end, f"{said} after {update}"


def test_the_status_of_the_client_is_shown(world):
    """csds"""
    address = f"127.0.0.1:{world.client.port}"
    done = run(own("coracle"), "xds", address, "-p", "--json")
    assert done.returncode == 0, done.stderr
    [shown] = json.loads(done.stdout)["clients"]
    assert shown["target"] == f"xds:///{NAME}" and shown["node"]["id"] == "interop", shown
    resources = {(one["type"], one["name"]): one for one in shown["resources"]}
    assert set(resources) == {("Listener", NAME), ("RouteConfiguration", "routes"), ("Cluster", "all"), ("ClusterLoadAssignment", "all")}
    assert all(one["state"] == "ACKED" and one["version"] and not one["error"] for one in resources.values()), resources
    world.plane.set(RouteConfiguration=[message("RouteConfiguration", name="routes", virtualHosts=[
        {"name": "host", "domains": ["*"], "routes": [{"match": {}, "route": {"cluster": "all"}}]}])])
    end = time.monotonic() + LIMIT_S
    while "NACKED" not in (text := run(own("coracle"), "xds", address, "-p").stdout):
        assert time.monotonic() < end, text
    [nacked] = [one for one in json.loads(run(own("coracle"), "xds", address, "-p", "--json").stdout)["clients"][0]["resources"] if one["state"] == "NACKED"]
    assert nacked["name"] == "routes" and nacked["version"] != nacked["error"]["version"] and nacked["error"]["text"], nacked
    assert f"version {nacked['error']['version']}: " in text and f"version {nacked['version']} since " in text, text


def bootstrap_with(providers, plane):  # noqa: F811
    return {"GRPC_XDS_BOOTSTRAP_CONFIG": json.dumps({
        "node": {"id": "interop"}, "xds_servers": [{"server_uri": plane.address, "channel_creds": [{"type": "insecure"}]}],
        "certificate_providers": providers, "server_listener_resource_name_template": "server/%s"})}


class SecureServer:
    """In secure mode, with its port and that of what is not secured."""

    def __init__(self, ports, certificates):
        self.port, self.maintenance_port = ports
        ca, certificate, key = (path.read_bytes() for path in (certificates.ca, certificates.client, certificates.client_key))
        address = f"localhost:{self.port}"
        self.channels = {
            "plaintext": lambda: grpc.insecure_channel(address),
            "TLS": lambda: grpc.secure_channel(address, grpc.ssl_channel_credentials(ca)),
            "mutual TLS": lambda: grpc.secure_channel(address, grpc.ssl_channel_credentials(ca, key, certificate))}

    def accepted(self):
        """What it accepts of a client that knows nothing of xDS."""
        return {kind for kind, open_channel in self.channels.items() if self.accepts(open_channel)}

    @staticmethod
    def accepts(open_channel):
        with open_channel() as channel:
            method = channel.unary_unary("/grpc.testing.TestService/EmptyCall", lambda m: m.SerializeToString(), testing().Empty.FromString)
            try:
                method(testing().Empty(), timeout=LIMIT_S)
            except grpc.RpcError as error:
                assert error.code() == grpc.StatusCode.UNAVAILABLE, error
                return False
            return True


@pytest.fixture(scope="module", params=SERVERS)
def secure_server(request, plane, certificates, providers):  # noqa: F811
    program, find = SERVERS[request.param]
    made = SecureServer(free_ports(2), certificates)
    with Background(find(program), f"--port={made.port}", f"--maintenance_port={made.maintenance_port}", "--secure_mode=true",
                    "--host_name_override=one", env=bootstrap_with(providers, plane)):
        yield made


@pytest.fixture(scope="module", params=CLIENTS)
def secure_client(request, plane, providers):  # noqa: F811
    program, find = CLIENTS[request.param]
    [port] = free_ports(1)
    with Background(find(program), "--server=xds:///secure", f"--stats_port={port}", f"--qps={QPS}", "--rpc_timeout=2s", "--secure_mode=true",
                    env=bootstrap_with(providers, plane)):
        yield Driven(port)


UPSTREAM = "UpstreamTlsContext"
SECURITY = {  # what the server is told, what the client is told, and what the server then accepts
    "mutual TLS": (MUTUAL, tls_of(UPSTREAM, "client", names=["localhost"]), {"mutual TLS"}),
    "TLS": (tls_of("DownstreamTlsContext", "server"), tls_of(UPSTREAM, "client", names=["localhost"]), {"TLS", "mutual TLS"}),
    "plaintext": (None, None, {"plaintext"}),
}


def test_the_plane_secures_servers_and_clients_in_secure_mode(plane, secure_server, secure_client):
    """security: its cases mtls, tls, plaintext_fallback, mtls_error and server_authz_error"""
    def serve(downstream, upstream):
        made = cluster("secure")
        if upstream:
            made.transport_socket.CopyFrom(secured(upstream))
        World(plane, [], None).serve(
            inbound(f"server/0.0.0.0:{secure_server.port}", secure_server.port, chain(routes("open", accepted()), downstream), host="0.0.0.0"),
            listener("secure", "routes"), routes("routes", to("secure")), made, endpoints("secure", secure_server.port))

    secure_client.configure(*ALL)
    for downstream, upstream, kinds in SECURITY.values():
        serve(downstream, upstream)
        end = time.monotonic() + LIMIT_S
        while (seen := secure_server.accepted()) != kinds:
            assert time.monotonic() < end, f"the server accepts {seen}, and not {kinds}"
        secure_client.wait_for_peers("one")
    for downstream, upstream in ((MUTUAL, None), (MUTUAL, tls_of(UPSTREAM, "client", names=["other.example"]))):
        serve(downstream, upstream)
        secure_client.wait_for_code(14)
    # What drives the server is reached without TLS.
    call(secure_server.maintenance_port, "XdsUpdateHealthService/SetServing", testing().Empty(), "Empty")


def test_a_hook_waits_for_its_status():
    """HookService, of which grpc-go has none."""
    t = testing()
    maintenance, hook = free_ports(2)
    with Background(own("xds_interop_server"), f"--port={maintenance}"):
        def send(command, code=0):
            call(maintenance, "XdsUpdateHealthService/SendHookRequest",
                 t.HookRequest(command=command, server_port=hook, grpc_code_to_return=code, grpc_status_description="as told"), "HookResponse")
        send("START")
        with grpc.insecure_channel(f"127.0.0.1:{hook}") as channel:
            made = channel.unary_unary("/grpc.testing.HookService/Hook", lambda m: m.SerializeToString(), t.Empty.FromString)
            waiting = made.future(t.Empty(), timeout=LIMIT_S, wait_for_ready=True)
            send("RETURN", code=5)
            assert waiting.code() == grpc.StatusCode.NOT_FOUND and waiting.details() == "as told"
            assert made.future(t.Empty(), timeout=LIMIT_S).code() == grpc.StatusCode.NOT_FOUND, "later calls get the same"
            call(hook, "HookService/ClearReturnStatus", t.Empty(), "Empty")
            waiting = made.future(t.Empty(), timeout=LIMIT_S)
            call(hook, "HookService/SetReturnStatus", t.SetReturnStatusRequest(), "Empty")
            assert waiting.code() == grpc.StatusCode.OK
        send("STOP")
