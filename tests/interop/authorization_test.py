"""The same authorization policy in a file that changes (gRFC A43), in our server and in grpc-go's: both admit the same calls."""

import contextlib
import json
import time

import pytest

grpc = pytest.importorskip("grpc", reason="./dev peers installs it")

from programs import Server, backends, own, peer  # noqa: E402

LIMIT_S = 20


def rule(name="r", principals=(), paths=(), **headers):
    return {"name": name, "source": {"principals": list(principals)},
            "request": {"paths": list(paths), "headers": [{"key": key, "values": values} for key, values in headers.items()]}}


# Rules that allow calls, rules that deny them, and the calls of each client that are admitted.
PATHS = ("/a.A/Get", "/a.A/Set", "/b.B/Get", "/c.C/Do")
CLIENTS = ("uri", "names", "subject", "none")
METADATA = ({}, {"x": "one"}, {"x": "one", "y": "1"}, {"x": ""}, {"x": "none"})
POLICIES = {
    "everything": ([rule()], []),
    "exact": ([rule(paths=["/a.A/Get"])], []),
    "prefix": ([rule(paths=["/a.A/*"])], []),
    "suffix": ([rule(paths=["*/Get"])], []),
    "several": ([rule("r", paths=["/a.A/Set", "/b.B/*"]), rule("s", paths=["/c.C/Do"])], []),
    "present": ([rule(paths=["*"])], []),
    "denied": ([rule()], [rule(paths=["*/Set"])]),
    "uri": ([rule(principals=["spiffe://example.org/ada"])], []),
    "uris": ([rule(principals=["spiffe://*", "*.example.org"])], []),
    "hosts": ([rule(principals=["*ada.example.org"])], []),
    "subject": ([rule(principals=["CN=ada,O=Example"])], []),
    "subjects": ([rule(principals=["CN=*"])], []),
    "some name": ([rule(principals=["*"])], []),
    "no name": ([rule(principals=[""])], []),
    "header": ([rule(x=["one"])], []),
    "headers": ([rule(x=["o*", "zero"], y=["*"])], []),
    "header present": ([rule(x=["*"])], []),
    "header suffix": ([rule(x=["*ne"])], []),
    "all": ([rule(principals=["*"], paths=["/a.A/*"], x=["one"])], [rule(principals=["spiffe://*"], paths=["*/Set"])]),
}

MARKS = [f"/mark/{i}" for i in range(len(POLICIES))]


@pytest.fixture(scope="module")
def names(certificates):
    """The certificates of clients, by the kind of names in them."""
    made = {"uri": certificates.vouched("uri", "/CN=one", "subjectAltName=URI:spiffe://example.org/ada,DNS:ada.example.org\nextendedKeyUsage=clientAuth"),
            "names": certificates.vouched("names", "/CN=two", "subjectAltName=DNS:other.example.org,DNS:ada.example.org\nextendedKeyUsage=clientAuth"),
            "subject": certificates.vouched("subject", "/O=Example/CN=ada", "extendedKeyUsage=clientAuth")}
    return {name: (certificate.read_bytes(), key.read_bytes()) for name, (certificate, key) in made.items()}


class Followed:
    """A server that follows the file, and a channel for each client."""

    def __init__(self, port, certificates, names):
        root = certificates.ca.read_bytes()
        self.calls = {}
        for client in CLIENTS:
            certificate, key = names.get(client, (None, None))
            channel = grpc.secure_channel(f"localhost:{port}", grpc.ssl_channel_credentials(root, key, certificate))
            self.calls[client] = channel

    def code(self, client, path, metadata):
        call = self.calls[client].unary_unary(path)
        try:
            call(b"", timeout=LIMIT_S, metadata=tuple(metadata.items()))
        except grpc.RpcError as failed:
            return failed.code().name, failed.details()
        return "OK", ""

    def wait_for(self, path):
        end = time.monotonic() + LIMIT_S
        while (seen := self.code("none", path, {}))[0] != "OK":
            assert time.monotonic() < end, f"the policy is not in use: {seen}"

    def close(self):
        for channel in self.calls.values():
            channel.close()


@pytest.fixture(scope="module")
def policy(tmp_path_factory):
    """Puts a policy into the file, whose path it has."""
    path = tmp_path_factory.mktemp("policy") / "policy.json"

    def put(allowed, denied, mark=None):
        """A call of the path of its mark is admitted by this policy alone."""
        others = rule("others", paths=[one for one in MARKS if one != mark])
        text = {"name": "p", "allow_rules": [*allowed, rule("mark", paths=[mark or "/none"])], "deny_rules": [*denied, others]}
        fresh = path.with_suffix(".new")
        fresh.write_text(json.dumps(text))
        fresh.rename(path)

    put.path = path
    put([], [])
    return put


@pytest.fixture(scope="module")
def servers(certificates, names, policy):
    words = ["authorized", "127.0.0.1:0", policy.path, certificates.server, certificates.server_key, certificates.ca]
    commands = {f"coracle-{backend}": ([own("xds_peer")], {"CORACLE_BACKEND": backend}) for backend in backends()}
    commands["grpc-go"] = ([peer("xds")], {})
    with contextlib.ExitStack() as running:
        made = {}
        for name, (program, env) in commands.items():
            server = running.enter_context(Server(*program, *words, env=env))
            made[name] = Followed(server.port, certificates, names)
            running.callback(made[name].close)
        yield made


@pytest.mark.parametrize("name", POLICIES)
def test_servers_admit_the_same_calls(servers, policy, name):
    mark = MARKS[list(POLICIES).index(name)]
    policy(*POLICIES[name], mark)
    for one in servers.values():
        one.wait_for(mark)
    codes = set()
    for client in CLIENTS:
        for path in PATHS:
            for metadata in METADATA if any(r["request"]["headers"] for r in POLICIES[name][0]) else METADATA[:1]:
                seen = {server: one.code(client, path, metadata) for server, one in servers.items()}
                assert len(set(seen.values())) == 1, f"{client}, {path}, {metadata}: {seen}"
                codes.update(code for code, _ in seen.values())
    assert codes == ({"OK"} if name in ("everything", "present") else {"OK", "PERMISSION_DENIED"})
