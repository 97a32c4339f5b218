"""Servers that a control plane configures, ours, grpc-go's and grpcio's, and the clients of all three in the same mesh."""

import contextlib
import json
import sys

import pytest

pytest.importorskip("grpc", reason="./dev peers installs it")

import walk  # noqa: E402
from control_plane import SnapshotPlane  # noqa: E402
from programs import ROOT, Server, backends, own, peer, run  # noqa: E402
from xds_resources import accepted, chain, cluster, endpoint, endpoints, inbound, listener, locality, message, routes, secured, to  # noqa: E402
from xds_world import EXPERIMENTS, World, calls_without_end, clients_of, servers_at  # noqa: E402

OPEN = routes("open", accepted())


def commands():
    """(name, command, environment) of each server."""
    for backend in backends():
        yield f"coracle-{backend}", [own("xds_peer"), "xds_server"], {"CORACLE_BACKEND": backend}
    yield "grpcio", [sys.executable, ROOT / "tests/interop/peers/xds_server.py"], {}
    yield "grpc-go", [peer("xds"), "server"], {}


@pytest.fixture(scope="module")
def providers(certificates):
    """Of certificates, for servers and clients."""
    return {name: {"plugin_name": "file_watcher", "config": {
        "certificate_file": str(own_one), "private_key_file": str(key), "ca_certificate_file": str(certificates.ca)}}
        for name, own_one, key in (("server", certificates.server, certificates.server_key), ("client", certificates.client, certificates.client_key))}


class Mesh:
    """Servers by name, and their clients. Each server is the only one of its cluster, and the target of its name."""

    def __init__(self, world, servers, host):
        self.world, self.servers, self.host = world, servers, host

    def set(self, *chains, default=None, tls=None, more=(), absent=(), port=lambda server: server.port):
        """The same chains for all servers but those that are absent. `tls` is the UpstreamTlsContext of the clusters."""
        ports = {name: server.port for name, server in self.servers.items()}
        clusters = [cluster(name) for name in ports]
        for one in clusters if tls else ():
            one.transport_socket.CopyFrom(secured(tls))
        self.world.serve(
            *(inbound(f"server/{self.host}:{of.port}", port(of), *chains, host=self.host, default=default)
              for name, of in self.servers.items() if name not in absent),
            *(listener(name, routes(f"to {name}", *(to(f"{name} at {last}", f"/{last}/") for last in (2, 3)), to(name))) for name in ports),
            *clusters,
            *(cluster(f"{name} at {last}") for name in ports for last in (2, 3)),
            *(endpoints(name, one) for name, one in ports.items()),
            *(endpoints(f"{name} at {last}", locality(endpoint(one, host=f"127.0.0.{last}"))) for name, one in ports.items() for last in (2, 3)),
            *more)

    def drain(self, name, **more):
        """Other filter chains, with routes of this name, in use by all servers."""
        plane = self.world.plane
        plane.forget()
        self.set(chain(routes(name, accepted())), **more)
        version = plane.versions["Listener"]
        plane.wait_for(*(lambda r, node=f"server {one}": (r.node, r.type, r.version) == (node, "Listener", version) for one in self.servers))

    def expect(self, answer=None, **call):
        """What each client gets from each server: its port, or a status code."""
        for name, server in self.servers.items():
            self.world.target = f"xds:///{name}"
            self.world.expect(answer or server.port, **call)


@contextlib.contextmanager
def mesh_at(host, providers):
    with SnapshotPlane(ads=False) as plane, contextlib.ExitStack() as running:
        bootstrap = {**servers_at(plane.address, features=["fail_on_data_errors"]), "certificate_providers": providers,
                     "server_listener_resource_name_template": "server/%s"}
        servers = {}
        for name, command, env in commands():
            text = json.dumps({**bootstrap, "node": {"id": f"server {name}"}})
            servers[name] = running.enter_context(Server(*command, f"{host}:{walk.free_port()}", env={**EXPERIMENTS, **env, "GRPC_XDS_BOOTSTRAP_CONFIG": text}))
        world = running.enter_context(clients_of(World(plane, []), bootstrap))
        yield Mesh(world, servers, host)


@pytest.fixture(scope="module")
def mesh(providers):
    with mesh_at("127.0.0.1", providers) as one:
        yield one


def test_a_server_accepts_the_calls_that_its_routes_accept(mesh):
    def set_routes(*of):
        mesh.set(chain("inbound"), more=[routes("inbound", *of)])

    set_routes(accepted("/a.A/"), to("any", "/b.B/Forwarded"), accepted("/b.B/", headers=[{"name": "x", "exactMatch": "one"}]))
    mesh.expect(path="/a.A/A")
    mesh.expect(path="/b.B/B", x="one")
    for refused in ({"path": "/b.B/B"}, {"path": "/b.B/Forwarded", "x": "one"}, {"path": "/c.C/C"}):
        mesh.expect("UNAVAILABLE", **refused)
    set_routes(accepted("/b.B/"))
    mesh.expect(path="/b.B/B")
    mesh.expect("UNAVAILABLE", path="/a.A/A")


def test_a_server_serves_while_its_listener_is_there_and_its_own(mesh):
    mesh.set(chain(OPEN))
    mesh.expect()
    mesh.set(chain(OPEN), absent=mesh.servers)
    mesh.expect("UNAVAILABLE")
    mesh.set(default=chain(OPEN))
    mesh.expect()
    mesh.set(chain(OPEN), port=lambda server: server.port + 1)
    mesh.expect("UNAVAILABLE")
    mesh.set(chain(OPEN))
    mesh.expect()


def test_the_addresses_of_a_connection_choose_its_chain(providers):
    def only(path):
        return routes("only", accepted(path))

    with mesh_at("0.0.0.0", providers) as mesh:
        loopback = {"addressPrefix": "127.0.0.0", "prefixLen": 8}
        chains = [chain(only("/2/"), prefixRanges=[{"addressPrefix": "127.0.0.2", "prefixLen": 32}]),
                  chain(only("/a.A/"), prefixRanges=[loopback], sourcePrefixRanges=[loopback], sourceType=1),
                  chain(only("/none/"), prefixRanges=[loopback]),
                  # Never chosen, as gRPC does not read the name in TLS.
                  chain(only("/"), prefixRanges=[{"addressPrefix": "127.0.0.3", "prefixLen": 32}], serverNames=["localhost"])]
        mesh.set(*chains)
        mesh.expect(path="/2/A")
        mesh.expect(path="/a.A/A")
        for refused in ("/none/A", "/3/A"):
            mesh.expect("UNAVAILABLE", path=refused)
        mesh.set(chains[0], default=chain(only("/3/")))
        mesh.expect(path="/3/A")
        mesh.expect("UNAVAILABLE", path="/a.A/A")
        mesh.set(chains[0])
        mesh.expect("UNAVAILABLE", path="/3/A")
        mesh.expect(path="/2/A")


def tls_of(kind, provider, names=(), **fields):
    """Certificate and CA of a provider; peers must have one of the names."""
    provider = {"instanceName": provider}
    validation = {"caCertificateProviderInstance": provider, "matchSubjectAltNames": [{"exact": name} for name in names]}
    return message(kind, commonTlsContext={"tlsCertificateProviderInstance": provider, "validationContext": validation}, **fields)


MUTUAL = tls_of("DownstreamTlsContext", "server", requireClientCertificate=True)
PROTO = """syntax = "proto3";
package a;
message Nothing {}
service A { rpc A(Nothing) returns (Nothing); }
"""


@pytest.fixture
def grpcurl(tmp_path):
    """Whether a call of a client that knows nothing of xDS succeeds."""
    (tmp_path / "a.proto").write_text(PROTO)

    def succeeds(server, *flags):
        done = run(peer("grpcurl"), "-max-time", 10, "-H", "silent: 1", "-import-path", tmp_path, "-proto", "a.proto", *flags, server.address, "a.A/A")
        return done.returncode == 0
    return succeeds


def test_the_plane_secures_both_sides(mesh, grpcurl, certificates):
    trust = ("-cacert", certificates.ca)
    both = (*trust, "-cert", certificates.client, "-key", certificates.client_key)
    mesh.set(chain(OPEN))
    mesh.expect()
    assert all(grpcurl(server, "-plaintext") for server in mesh.servers.values())
    mesh.set(chain(OPEN, MUTUAL), tls=tls_of("UpstreamTlsContext", "client", names=["other.example", "localhost"]))
    mesh.expect()
    for server in mesh.servers.values():
        assert [grpcurl(server, *flags) for flags in (["-plaintext"], trust, both)] == [False, False, True], server.name
    mesh.set(chain(OPEN, MUTUAL), tls=tls_of("UpstreamTlsContext", "client", names=["other.example"]))
    mesh.expect("UNAVAILABLE")
    mesh.set(chain(OPEN, MUTUAL))
    mesh.expect("UNAVAILABLE")
    mesh.set(chain(OPEN))
    mesh.expect()


def test_no_call_is_lost_while_filter_chains_change(mesh):
    """Each change drains the connections to all servers, whose calls take a while."""
    world = mesh.world
    ports = [server.port for server in mesh.servers.values()]
    world.target = "xds:///all"
    shared = [listener("all", routes("to all", to("all"))), cluster("all"), endpoints("all", locality(*ports))]
    mesh.set(chain(OPEN), more=shared)
    world.expect_shares({port: 1 / len(ports) for port in ports}, within=0.1, count=40)
    with calls_without_end(world, *ports, late=5):
        for i in range(10):
            mesh.drain(f"open {i}", more=shared)
    world.expect_shares({port: 1 / len(ports) for port in ports}, within=0.1, count=40)


def test_no_call_is_lost_when_the_only_server_drains_connections_one_after_the_other(mesh):
    world = mesh.world
    for name, server in mesh.servers.items():
        mesh.set(chain(OPEN))
        world.target = f"xds:///{name}"
        world.expect(server.port)
        for i in range(5):
            mesh.drain(f"again {i}")
            seen = world.each(count=5)
            assert all(answers == {server.port: 5} for answers in seen.values()), f"{name}: {seen}"
