"""Envoy beside us in a mesh whose control plane asks for certificates on both sides and for RBAC: as the proxy of a client and as that of a
server. What it admits, we admit; and no call is lost while routes, endpoints and certificates change."""

import contextlib
import json
import time

import pytest

grpc = pytest.importorskip("grpc", reason="./dev peers installs it")

import peers  # noqa: E402
import walk  # noqa: E402
from certificates import Certificates  # noqa: E402
from control_plane import SnapshotPlane, wire  # noqa: E402
from programs import Background, Server, backends, own  # noqa: E402
from xds_envoy_test import ThroughEnvoy, configuration, extended, field, shared_cluster  # noqa: E402
from xds_rbac_test import CASES, filtered, named, rules  # noqa: E402
from xds_resources import PACKAGE, accepted, chain, cluster, endpoints, inbound, listener, locality, manager, message, packed, routes, secured, to  # noqa: E402
from xds_servers_test import MUTUAL, tls_of  # noqa: E402
from xds_world import LIMIT_S, World, calls_without_end, clients_of, servers_at  # noqa: E402

# --- Certificates, which all members of the mesh have in the same files

FILES = ("ca.pem", "server.pem", "server.key", "client.pem", "client.key")


class Rotation:
    """The files of a first CA, and what takes their place: both CAs are trusted, then the certificates are those of the second CA, then the
    first CA is trusted no longer. Each step is another folder behind the same link."""

    STEPS = ("first", "both", "second", "only second")

    def __init__(self, folder):
        self.folder, self.steps = folder / "files", folder / "steps"
        self.folder.mkdir()
        self.cas = []
        for name in ("one", "two"):
            (folder / name).mkdir()
            self.cas.append(Certificates(folder / name))
        one, two = self.cas
        for step, (trusted, of) in zip(self.STEPS, (([one], one), ([one, two], one), ([one, two], two), ([two], two))):
            made = self.steps / step
            made.mkdir(parents=True)
            (made / "ca.pem").write_bytes(b"".join(each.ca.read_bytes() for each in trusted))
            for file, source in zip(FILES[1:], (of.server, of.server_key, of.client, of.client_key)):
                (made / file).write_bytes(source.read_bytes())
        self.go_to("first")

    def go_to(self, step):
        fresh = self.folder / "next"
        fresh.symlink_to(self.steps / step)
        fresh.rename(self.folder / "current")

    def file(self, name):
        return str(self.folder / "current" / name)

    def providers(self):
        """As a bootstrap has them."""
        return {side: {"plugin_name": "file_watcher", "config": {
            "certificate_file": self.file(f"{side}.pem"), "private_key_file": self.file(f"{side}.key"), "ca_certificate_file": self.file("ca.pem"),
            "refresh_interval": "1s"}} for side in ("server", "client")}

    def secrets(self):
        """The same for Envoy: files with its secrets, by their names."""
        watched = {"watched_directory": {"path": str(self.folder)}}
        kinds = {side: {"tls_certificate": {"certificate_chain": {"filename": self.file(f"{side}.pem")},
                                            "private_key": {"filename": self.file(f"{side}.key")}, **watched}} for side in ("server", "client")}
        kinds["cas"] = {"validation_context": {"trusted_ca": {"filename": self.file("ca.pem")}, **watched}}
        for name, secret in kinds.items():
            path = self.folder / f"{name}.json"
            path.write_text(json.dumps({"resources": [
                {"@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret", "name": name, **secret}]}))
            yield name, path


def tls_of_envoy(kind, secrets, side, name=None):
    """An UpstreamTlsContext or a DownstreamTlsContext with secrets; servers must have the name, and clients a certificate."""
    def secret(of):
        source = field(6, 2) + field(8, field(1, str(secrets[of])))  # resource_api_version, path_config_source
        return field(1, of) + field(2, source)

    names = field(15, field(1, 2) + field(2, field(1, name))) if name else b""  # match_typed_subject_alt_names: a name of DNS
    validation = field(1, names) + field(2, secret("cas"))
    common = field(4, "h2") + field(6, secret(side)) + field(8, validation)
    more = field(2, field(1, 1)) if kind == "DownstreamTlsContext" else b""  # require_client_certificate
    made = wire().TransportSocket(name="envoy.transport_sockets.tls")
    made.typed_config.type_url = f"{PACKAGE}transport_sockets.tls.v3.{kind}"
    made.typed_config.value = field(1, common) + more
    return made


# --- The mesh

# Envoy refuses this matcher, which it wants to have the name of a filter.
COMPARED = [(i, case) for i, case in enumerate(CASES) if case[0] is None or "metadata" not in str(case[0].rules.policies)]
OUR_NAMES = [f"coracle-{backend}" for backend in backends()]


def of_http2(made):
    return extended(made, codec_type=field(1, 2), stat_prefix=field(2, "mesh"))


def by_rules(name, route):
    """The routes of a server: calls of the cases, with the rules of each, and those of clients with the right certificate to /a.A."""
    made = routes(name, *(route(f"/case{i}/") for i, _ in COMPARED), route("/a.A/"))
    of_clients = rules(principal=named(exact="CN=a client"))
    for one, rbac in zip(made.virtual_hosts[0].routes, [case[0] for _, case in COMPARED] + [of_clients]):
        if rbac:
            one.typed_per_filter_config["rbac"].CopyFrom(packed("filters.http.rbac.v3.RBACPerRoute", wire().RbacPerRoute(rbac=rbac)))
    return made


class Mesh(World):
    """Servers by name, each of which alone gets the calls with the metadata "to". One is Envoy, in front of a server that knows nothing of
    this. Calls without it go to all members, by one of two clusters."""

    def __init__(self, plane, rotation, tested, canaries, behind):
        super().__init__(plane, [])
        self.name, self.target = "mesh", "xds:///mesh"
        self.rotation = rotation
        self.secrets = dict(rotation.secrets())
        self.outbound, self.inbound = walk.free_port(), walk.free_port()
        self.behind = behind
        self.places = {**{name: server.port for name, server in tested.items()}, "envoy": self.inbound}  # where they listen
        self.answers = {**self.places, "envoy": behind.port}                                              # what their replies say
        self.canaries = {name: server.port for name, server in canaries.items()}
        self.reached = set()  # canaries: a client that has failed to connect does not try again for long

    def cluster_for(self, kind, name):
        service = {"edsClusterConfig": {"edsConfig": {"ads": {}}, "serviceName": name}}
        made = (cluster if kind == "grpc" else shared_cluster)(f"{kind} {name}", **service)
        made.transport_socket.CopyFrom(secured(tls_of("UpstreamTlsContext", "client", names=["localhost"])) if kind == "grpc" else
                                       tls_of_envoy("UpstreamTlsContext", self.secrets, "client", "localhost"))
        return made

    def set(self, to_all="first", members=None):
        """The cluster and the members that have the calls to all."""
        members = [self.places[name] for name in (self.places if members is None else members)]
        by_name = {**{name: [port] for name, port in self.places.items()}, "first": members, "second": members,
                   **{name: [port] if name in self.reached else [] for name, port in self.canaries.items()}}
        local = shared_cluster("envoy local", edsClusterConfig={"edsConfig": {"ads": {}}, "serviceName": "local"})
        of_envoy = chain(of_http2(filtered(message("RbacFilter", rules={}), by_rules("envoy inside", lambda prefix: to("envoy local", prefix)))))
        of_envoy.transport_socket.CopyFrom(tls_of_envoy("DownstreamTlsContext", self.secrets, "server"))
        ours = chain(filtered(message("RbacFilter", rules={}), by_rules("inside", accepted)), MUTUAL)
        self.serve(
            listener(self.name, "grpc routes"), inbound("envoy", self.outbound, chain(of_http2(manager("envoy routes")))),
            *(inbound(f"server/127.0.0.1:{port}", port, ours) for name, port in self.places.items() if name != "envoy"),
            inbound("envoy inbound", self.inbound, of_envoy),
            *(routes(f"{kind} routes",
                     *({"match": {"prefix": "", "headers": [{"name": "to", "stringMatch": {"exact": name}}]}, "route": {"cluster": f"{kind} {name}"}}
                       for name in by_name),
                     to(f"{kind} {to_all}")) for kind in ("grpc", "envoy")),
            *(self.cluster_for(kind, name) for kind in ("grpc", "envoy") for name in by_name), local,
            *(endpoints(name, locality(*ports)) for name, ports in by_name.items()), endpoints("local", self.behind.port))

    def wait_until_all_have(self, kind):
        """The present version, all clients and Envoy."""
        version = self.plane.versions[kind]
        self.plane.wait_for(*(lambda r, name=each.name: (r.node, r.type, r.version) == (name, kind, version) for each in self.clients))

    def change(self, kind, **of):
        self.plane.forget()
        self.set(**of)
        self.wait_until_all_have(kind)

    def expect_of_clients(self, canary):
        """Waits until each client can call one of the servers that show what certificates clients have."""
        self.reached.add(canary)
        self.set()
        self.expect(self.canaries[canary], to=canary)

    def admits(self, name, trusted, vouched):
        """Whether a server has a certificate of trusted CAs, and trusts the CA that has vouched for a client."""
        ca, certificate, key = b"".join(each.ca.read_bytes() for each in trusted), vouched.client.read_bytes(), vouched.client_key.read_bytes()
        with grpc.secure_channel(f"localhost:{self.places[name]}", grpc.ssl_channel_credentials(ca, key, certificate)) as channel:
            try:
                return channel.unary_unary("/a.A/A")(b"", timeout=LIMIT_S) == str(self.answers[name]).encode()
            except grpc.RpcError as error:
                assert error.code() == grpc.StatusCode.UNAVAILABLE, error
                return False

    def wait_until_servers(self, admit, trusted, vouched):
        end = time.monotonic() + LIMIT_S
        while (seen := {name: self.admits(name, trusted, vouched) for name in self.places}) != dict.fromkeys(self.places, admit):
            assert time.monotonic() < end, f"not all are {admit}: {seen}"


@pytest.fixture(scope="module")
def mesh_with_envoy(tmp_path_factory):
    program = peers.PYTHON.with_name("envoy")
    if not program.exists():
        pytest.skip("Envoy is not installed; ./dev peers installs it")
    folder = tmp_path_factory.mktemp("mesh")
    rotation = Rotation(folder)
    one, two = rotation.cas
    with SnapshotPlane(ads=False) as plane, contextlib.ExitStack() as running:
        bootstrap = {**servers_at(plane.address), "certificate_providers": rotation.providers(), "server_listener_resource_name_template": "server/%s"}
        tested = {}
        for backend, name in zip(backends(), OUR_NAMES):
            env = {"CORACLE_BACKEND": backend, "GRPC_XDS_BOOTSTRAP_CONFIG": json.dumps({**bootstrap, "node": {"id": f"server {name}"}})}
            tested[name] = running.enter_context(Server(own("xds_peer"), "xds_server", f"127.0.0.1:{walk.free_port()}", env=env))
        # Servers for clients that trust the second CA, and for those that have its certificate as well.
        policy = folder / "policy.json"
        of_client = {"name": "with a certificate", "source": {"principals": ["CN=a client"]}}
        policy.write_text(json.dumps({"name": "p", "allow_rules": [of_client]}))
        canaries = {name: running.enter_context(Server(own("xds_peer"), "authorized", "127.0.0.1:0", policy, two.server, two.server_key, trusted.ca))
                    for name, trusted in (("trusts", one), ("shows", two))}
        behind = running.enter_context(Server(own("xds_peer"), "server"))
        made = Mesh(plane, rotation, tested, canaries, behind)
        file = folder / "envoy.yaml"
        file.write_text(json.dumps(configuration(plane)))
        envoy = running.enter_context(Background(program, "-c", file, "--use-dynamic-base-id", "--concurrency", "1", "--log-level", "error"))
        running.enter_context(clients_of(made, bootstrap))
        made.clients.append(running.enter_context(ThroughEnvoy(made.outbound)))
        made.set()
        yield made
        envoy.expect_alive()
        print(*envoy.said, sep="\n")


@pytest.fixture
def world(mesh_with_envoy):
    mesh_with_envoy.set()
    return mesh_with_envoy


def test_envoy_and_we_admit_the_same_calls(world):
    for name, port in world.answers.items():
        world.expect(port, to=name)
    for i, (_, admitted, rejected) in COMPARED:
        for fields, admits in [(one, True) for one in admitted] + [(one, False) for one in rejected]:
            for name, port in world.answers.items():
                seen = world.each(path=f"/case{i}/A", to=name, **fields)
                expected = port if admits else "PERMISSION_DENIED"
                assert all(answers == {expected: 1} for answers in seen.values()), f"case {i}, {fields}, {name}: expected {expected}, and not {seen}"


def test_no_call_is_lost_while_routes_and_endpoints_change(world):
    ports = list(world.answers.values())
    world.expect_shares(dict.fromkeys(ports, 1 / len(ports)), within=0.1, count=60)
    with calls_without_end(world, *ports):
        for to_all in ("second", "first", "second"):
            world.change("RouteConfiguration", to_all=to_all)
        for absent in world.places:
            world.change("ClusterLoadAssignment", to_all="second", members=[name for name in world.places if name != absent])
            world.change("ClusterLoadAssignment", to_all="second")
    for absent in ("envoy", OUR_NAMES[0]):
        world.change("ClusterLoadAssignment", members=[name for name in world.places if name != absent])
        others = [port for name, port in world.answers.items() if name != absent]
        world.expect_shares(dict.fromkeys(others, 1 / len(others)), within=0.1, count=60)


def test_no_call_is_lost_while_certificates_are_replaced(world):
    one, two = world.rotation.cas
    ports = list(world.answers.values())
    world.expect_shares(dict.fromkeys(ports, 1 / len(ports)), within=0.1, count=60)
    with calls_without_end(world, *ports):
        world.rotation.go_to("both")
        world.wait_until_servers(True, [one], two)
    world.expect_of_clients("trusts")
    with calls_without_end(world, *ports):
        world.rotation.go_to("second")
        world.wait_until_servers(True, [two], two)
    world.expect_of_clients("shows")
    with calls_without_end(world, *ports):
        world.rotation.go_to("only second")
        world.wait_until_servers(False, [two], one)
    # Connections that are made now have the new certificates.
    with calls_without_end(world, *ports):
        for absent in world.places:
            world.change("ClusterLoadAssignment", members=[name for name in world.places if name != absent])
            world.change("ClusterLoadAssignment")
    world.expect_shares(dict.fromkeys(ports, 1 / len(ports)), within=0.1, count=60)
