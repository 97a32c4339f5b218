"""Programs in the API of grpc++ that a control plane configures: the same ones with coracle::grpcpp and with Debian's library, at the
same control plane."""

import contextlib
import json
import re
import socket
import subprocess
import time

import pytest

pytest.importorskip("grpc", reason="./dev peers installs it")

from control_plane import SHORT_NAMES, OwnPlane, wire  # noqa: E402
from programs import BIN, Background, own, run  # noqa: E402
from xds_resources import address, cluster, endpoints, listener, locality, message, packed, routes, to, with_policies  # noqa: E402

LIMIT_S = 20
LIBRARIES = ("google", "coracle")
OK, NOT_FOUND, INTERNAL, UNAVAILABLE = 0, 5, 13, 14
WITHOUT_ROUTE = {"google": INTERNAL, "coracle": UNAVAILABLE}  # of calls; the gRFCs want the latter
MISSING = {"google": NOT_FOUND, "coracle": UNAVAILABLE}  # what notifiers hear: there all problems have the code of calls
ACKED, DOES_NOT_EXIST = 3, 2  # in CSDS


@pytest.fixture(scope="module")
def program():
    """The path by library."""
    if not (BIN / "xds_google").exists():
        pytest.skip("grpc++ (libgrpc++-dev) was not there when the tests were built")
    return {library: own(f"xds_{library}") for library in LIBRARIES}


@pytest.fixture
def reserved():
    """Ports that no program gets by chance: that of 0 would be unknown to Debian's library, which names its Listener after it."""
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(2)]
        for one in sockets:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            one.bind(("127.0.0.1", 0))
        yield [one.getsockname()[1] for one in sockets]


@pytest.fixture
def plane():
    with OwnPlane() as one:
        yield one


def bootstrap_of(plane, certificates=None):
    """Each implementation of gRPC forgets what is deleted, given these features. With certificates: those of a server and a client."""
    providers = {who: {"plugin_name": "file_watcher", "config": {
        "certificate_file": f"{certificates.folder}/{who}.pem", "private_key_file": f"{certificates.folder}/{who}.key",
        "ca_certificate_file": str(certificates.ca)}} for who in (("server", "client") if certificates else ())}
    return json.dumps({
        "certificate_providers": providers,
        "xds_servers": [{"server_uri": plane.address, "channel_creds": [{"type": "insecure"}], "server_features": ["xds_v3", "fail_on_data_errors"]}],
        "node": {"id": "member"}, "server_listener_resource_name_template": "server/%s"})


class Member(Background):
    """A program, and what it answers to commands."""

    def __init__(self, path, *words, plane, variable="GRPC_XDS_BOOTSTRAP_CONFIG", certificates=None):
        super().__init__(path, *words, env={variable: bootstrap_of(plane, certificates)}, stdin=subprocess.PIPE)
        self.port = 0

    def serves(self):
        """Once it listens."""
        self.port = int(self.wait_for(re.compile(r"^listening on \S+:(\d+)$"), LIMIT_S)[1])
        return self

    def begin(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()

    def answers(self):
        """How often each answer came to the calls that have begun: ports, and negative codes."""
        pairs = self.wait_for(re.compile("^answers (.*)"), LIMIT_S)[1].split()
        return {int(answer): int(times) for answer, times in (pair.split("=") for pair in pairs)}

    def call(self, target, count=1, ask="port", **metadata):
        self.begin("call", count, target, ask, *(f"{name}={value}" for name, value in metadata.items()))
        return self.answers()

    def expect(self, answer, target, **call):
        """Waits until one call gets this answer."""
        end = time.monotonic() + LIMIT_S
        while (seen := self.call(target, **call)) != {answer: 1}:
            assert time.monotonic() < end, f"{self.name}: expected {answer}, and not {seen}"
            time.sleep(0.01)

    def hears(self, code):
        """Waits until its notifier does."""
        self.wait_for(re.compile(rf"^serving 127\.0\.0\.1:{self.port} {code}$"), LIMIT_S)

    def status(self):
        """(type, name, state, version, whether there is a resource) of each resource, by CSDS."""
        self.begin("status")
        dump = bytes.fromhex(self.wait_for(re.compile("^status ([0-9a-f]+)$"), LIMIT_S)[1])
        configs = [wire().ClientConfig.FromString(dump)] if "google" in self.name else wire().ClientStatusResponse.FromString(dump).config
        assert {one.node.id for one in configs} == {"member"}
        return sorted((SHORT_NAMES[r.type_url], r.name.replace(str(self.port), "PORT"), r.client_status, r.version_info, r.HasField("xds_config"))
                      for one in configs for r in one.generic_xds_configs)

    def misses(self, name):
        """Waits until CSDS says that the Listener does not exist."""
        end = time.monotonic() + LIMIT_S
        while not any(found[:3] == ("Listener", name, DOES_NOT_EXIST) for found in self.status()):
            assert time.monotonic() < end, f"{self.name}: {self.status()}"
            time.sleep(0.01)

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(LIMIT_S) == 0


def alike(members, seen):
    """What is seen of each member, which must be the same."""
    results = [seen(one) for one in members]
    assert all(one == results[0] for one in results), results
    return results[0]


def tls(kind, provider, **fields):
    """A transport socket with the certificates and the CA of a provider of the bootstrap."""
    common = {"tlsCertificateProviderInstance": {"instanceName": provider},
              "validationContext": {"caCertificateProviderInstance": {"instanceName": provider}}}
    made = wire().TransportSocket(name="envoy.transport_sockets.tls")
    made.typed_config.CopyFrom(packed(f"transport_sockets.tls.v3.{kind}", message(kind, commonTlsContext=common, **fields)))
    return made


def inbound(port, *of, secured=None):
    """The Listener of a server with these routes."""
    manager = message("HttpConnectionManager")
    manager.route_config.CopyFrom(routes("inside", *of))
    manager.http_filters.add(name="router").typed_config.CopyFrom(packed("filters.http.router.v3.Router", wire().Router()))
    made = message("Listener", name=f"server/127.0.0.1:{port}", address=address(port))
    made.default_filter_chain.filters.add(name="manager").typed_config.CopyFrom(
        packed("filters.network.http_connection_manager.v3.HttpConnectionManager", manager))
    if secured:
        made.default_filter_chain.transport_socket.CopyFrom(secured)
    return made


def accepted(prefix=""):
    return {"match": {"prefix": prefix}, "nonForwardingAction": {}}


def test_channels_of_both_follow_the_control_plane(program, plane):
    """Routes by headers, weights of clusters, a route that goes, and what CSDS says of it."""
    with Member(program["coracle"], "backend", "calls", 0.5, plane=plane) as one, Member(program["google"], "backend", "calls", 0.5, plane=plane) as two, \
         Member(program["google"], "client", plane=plane) as google, Member(program["coracle"], "client", plane=plane) as coracle:
        members = google, coracle
        one.serves()
        two.serves()
        weighted = {"match": {"prefix": ""}, "route": {"weightedClusters": {"clusters": [{"name": "one", "weight": 25}, {"name": "two", "weight": 75}]}}}
        by_header = {"match": {"prefix": "", "headers": [{"name": "x", "exactMatch": "two"}]}, "route": {"cluster": "two"}}
        plane.set(Listener=[listener("shop", "routes")], RouteConfiguration=[routes("routes", by_header, weighted)],
                  Cluster=[cluster("one"), cluster("two")],
                  ClusterLoadAssignment=[endpoints("one", one.port), endpoints("two", two.port)])
        for member in members:
            member.expect(two.port, "xds:///shop", x="two")
            assert member.call("xds:///shop", count=20, x="two") == {two.port: 20}
            shares = member.call("xds:///shop", count=600)
            assert shares[one.port] / 600 == pytest.approx(0.25, abs=0.08) and sum(shares.values()) == 600
        assert len(alike(members, Member.status)) == 6
        plane.set(RouteConfiguration=[routes("routes", to("one", "/other"))])
        for library, member in zip(LIBRARIES, members):
            member.expect(-WITHOUT_ROUTE[library], "xds:///shop")
        plane.set(Listener=[])
        coracle.misses("shop")  # the other one takes 5 s
        coracle.expect(-UNAVAILABLE, "xds:///shop")
        for member in (*members, one, two):
            member.end()


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_channel_takes_the_bootstrap_of_its_argument(library, program, plane):
    with Member(program["coracle"], "backend", "calls", 0.5, plane=plane) as backend, \
         Member(program[library], "client", plane=plane, variable="BOOTSTRAP_ARGUMENT") as client:
        backend.serves()
        plane.set(Listener=[listener("shop", "routes")], RouteConfiguration=[routes("routes", to("one"))], Cluster=[cluster("one")],
                  ClusterLoadAssignment=[endpoints("one", backend.port)])
        client.expect(backend.port, "xds:///shop")
        client.end()


@pytest.mark.parametrize("kind", [("server", -1), ("queue_server",)], ids=["threads", "queue"])
def test_servers_of_both_follow_their_listeners(kind, program, plane, reserved):
    """Which are not there, come, accept other calls, go and come back."""
    mode, *grace = kind
    with Member(program["google"], mode, reserved[0], *grace, plane=plane) as google, \
         Member(program["coracle"], mode, reserved[1], *grace, plane=plane) as coracle, \
         Member(program["google"], "client", plane=plane) as client:
        members = {"google": google.serves(), "coracle": coracle.serves()}

        def expect(answers, **call):
            for member in members.values():
                client.expect(member.port if answers == OK else -answers, f"127.0.0.1:{member.port}", **call)

        def hear(codes):
            for library, member in members.items():
                member.hears(codes[library])

        def serve(*of):
            plane.set(Listener=[inbound(member.port, *of) for member in members.values()])

        serve(accepted())
        hear(dict.fromkeys(LIBRARIES, OK))
        expect(OK)
        assert alike(members.values(), Member.status) == [("Listener", "server/127.0.0.1:PORT", ACKED, "1", True)]
        serve(accepted("/other"))
        expect(UNAVAILABLE)
        plane.set(Listener=[])
        hear(MISSING)
        expect(UNAVAILABLE)
        for member in members.values():
            member.misses("server/127.0.0.1:PORT")
        serve(accepted())
        hear(dict.fromkeys(LIBRARIES, OK))
        expect(OK)
        for member in (client, *members.values()):
            member.end()


@pytest.mark.parametrize("library", LIBRARIES)
def test_calls_have_the_grace_of_the_server_when_its_chains_change(library, program, plane, reserved):
    """Without one set, a call ends when it is done; a short one ends it."""
    with Member(program[library], "server", reserved[0], -1, plane=plane) as patient, \
         Member(program[library], "server", reserved[1], 100, plane=plane) as hasty, \
         Member(program["google"], "client", plane=plane) as first, Member(program["google"], "client", plane=plane) as second:
        servers = patient.serves(), hasty.serves()
        plane.set(Listener=[inbound(one.port, accepted()) for one in servers])
        for server, client in zip(servers, (first, second)):
            server.hears(OK)
            client.expect(server.port, f"127.0.0.1:{server.port}")  # Debian's accepts connections a little later
            client.begin("call", 1, f"127.0.0.1:{server.port}", "hold")
            server.wait_for(re.compile("^held$"), LIMIT_S)
        plane.set(Listener=[inbound(one.port, accepted("/call_kinds"), accepted()) for one in servers])
        assert second.answers() == {-UNAVAILABLE: 1}
        # By a connection of its own: that of the first call takes no more.
        second.expect(patient.port, f"127.0.0.1:{patient.port}", ask="release")
        assert first.answers() == {patient.port: 1}
        for member in (first, second, *servers):
            member.end()


def test_the_control_plane_configures_tls_for_all_pairs(program, plane, reserved, certificates):
    """With certificates of both sides. A cluster without TLS does not reach a server that has it."""
    def member(library, *words):
        return Member(program[library], *words, plane=plane, certificates=certificates)

    with member("google", "server", reserved[0], -1) as one, member("coracle", "server", reserved[1], -1) as two, \
         member("google", "client") as google, member("coracle", "client") as coracle:
        servers = {"one": one.serves(), "two": two.serves()}
        clusters = [cluster(name) for name in servers] + [cluster("plain", edsClusterConfig={"edsConfig": {"ads": {}}, "serviceName": "two"})]
        for made in clusters[:2]:
            made.transport_socket.CopyFrom(tls("UpstreamTlsContext", "client"))
        to_each = [{"match": {"prefix": "", "headers": [{"name": "x", "exactMatch": made.name}]}, "route": {"cluster": made.name}} for made in clusters]
        chain = tls("DownstreamTlsContext", "server", requireClientCertificate=True)
        plane.set(Listener=[listener("shop", "routes"), *(inbound(server.port, accepted(), secured=chain) for server in servers.values())],
                  RouteConfiguration=[routes("routes", *to_each)], Cluster=clusters,
                  ClusterLoadAssignment=[endpoints(name, server.port) for name, server in servers.items()])
        for server in servers.values():
            server.hears(OK)
        for client in (google, coracle):
            for name, server in servers.items():
                client.expect(server.port, "xds:///shop", x=name)
            client.expect(-UNAVAILABLE, "xds:///shop", x="plain")
        for each in (google, coracle, one, two):
            each.end()


@pytest.mark.parametrize("way", ["calls", "streams"])
def test_a_client_weights_servers_by_their_reports(way, program, plane):
    """ORCA: with each call, or out of band. Half the load is twice the weight."""
    with Member(program["coracle"], "backend", way, 0.25, plane=plane) as idle, Member(program["coracle"], "backend", way, 0.75, plane=plane) as busy, \
         Member(program["coracle"], "client", plane=plane) as client:
        idle.serves()
        busy.serves()
        policy = message("WeightedRoundRobin", enableOobLoadReport=way == "streams", oobReportingPeriod="0.05s", blackoutPeriod="0s", weightUpdatePeriod="0.1s")
        plane.set(Listener=[listener("shop", "routes")], RouteConfiguration=[routes("routes", to("all"))],
                  Cluster=[with_policies(cluster("all"), ("client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin", policy))],
                  ClusterLoadAssignment=[endpoints("all", locality(idle.port, busy.port))])
        end = time.monotonic() + LIMIT_S
        while (share := client.call("xds:///shop", count=200).get(idle.port, 0) / 200) != pytest.approx(0.75, abs=0.05):
            assert time.monotonic() < end, f"the idle server has {share} of the calls"
        for member in (client, idle, busy):
            member.end()


def test_a_server_without_a_bootstrap_is_not_built(program, reserved):
    done = run(program["coracle"], "server", reserved[0], -1)
    assert done.returncode == 1 and "not built" in done.stdout
    assert "GRPC_XDS_BOOTSTRAP" in done.stderr


def test_programs_that_do_not_ask_for_xds_have_none_of_it():
    others = own("client_calls_coracle")
    assert "coracle::xds" not in run("nm", "-C", others).stdout
    assert "libre2" not in run("readelf", "-d", others).stdout
