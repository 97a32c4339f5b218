"""The RBAC filter of servers, ours, grpc-go's and grpcio's, with the same control plane (gRFCs A41 and A59)."""

import json
import re

import pytest

pytest.importorskip("grpc", reason="./dev peers installs it")

from control_plane import wire  # noqa: E402
from xds_resources import accepted, chain, manager, message, packed, routes  # noqa: E402
from xds_servers_test import MUTUAL, mesh_at, providers, tls_of  # noqa: E402, F401

ANY = {"any": True}
ALLOW, DENY, LOG = range(3)


def rules(permission=ANY, principal=ANY, action=ALLOW, **more):
    return message("RbacFilter", rules={"action": action, "policies": {"one": {"permissions": [permission], "principals": [principal]}}, **more})


def header(name, **match):
    return {"header": {"name": name, **match}}


def named(**match):
    return {"authenticated": {"principalName": match}}


def addresses(prefix, bits=8):
    return {"addressPrefix": prefix, "prefixLen": bits}


ONE = {"x": "one"}
# Rules of a route, and the metadata of calls that they admit and reject. The path is "/caseNUMBER/A"; the client's certificate has
# a subject alone.
CASES = [
    (rules(), [{}], []),
    (rules({"notRule": ANY}), [], [{}]),
    (rules({"urlPath": {"path": {"suffix": "/A"}}}), [{}], []),
    (rules({"urlPath": {"path": {"exact": "/A"}}}), [], [{}]),
    (rules({"urlPath": {"path": {"safeRegex": {"regex": "/case[0-9]+/[A-Z]"}}}}), [{}], []),
    (rules(header("x", exactMatch="one")), [ONE], [{"x": "two"}, {}]),
    (rules(header("x", stringMatch={"prefix": "O", "ignoreCase": True})), [ONE], [{"x": "two"}]),
    (rules(header("x", presentMatch=True, invertMatch=True)), [{}], [ONE]),
    (rules(header(":method", exactMatch="POST")), [{}], []),
    (rules(header(":path", suffixMatch="/A")), [{}], []),
    (rules(header("host", presentMatch=True)), [{}], []),
    (rules(header("content-type", prefixMatch="application/grpc")), [{}], []),
    (rules({"andRules": {"rules": [ANY, header("x", exactMatch="one")]}}), [ONE], [{}]),
    (rules({"orRules": {"rules": [{"notRule": ANY}, header("x", exactMatch="one")]}}), [ONE], [{}]),
    (rules({"destinationIp": addresses("127.0.0.0")}), [{}], []),
    (rules({"destinationIp": addresses("10.0.0.0")}), [], [{}]),
    (rules({"destinationPort": 1}), [], [{}]),
    (rules({"metadata": {}}), [], [{}]),
    (rules({"metadata": {"invert": True}}), [{}], []),
    (rules({"requestedServerName": {"exact": ""}}), [{}], []),
    (rules({"requestedServerName": {"prefix": "a"}}), [], [{}]),
    (rules(principal={"andIds": {"ids": [ANY, {"notId": ANY}]}}), [], [{}]),
    (rules(principal={"orIds": {"ids": [{"notId": ANY}, ANY]}}), [{}], []),
    (rules(principal={"directRemoteIp": addresses("127.0.0.1", 32)}), [{}], []),
    (rules(principal={"remoteIp": addresses("10.0.0.0")}), [], [{}]),
    (rules(principal={"sourceIp": addresses("127.0.0.0")}), [{}], []),
    (rules(principal=header("x", exactMatch="one")), [ONE], [{}]),
    (rules(principal={"urlPath": {"path": {"suffix": "/A"}}}), [{}], []),
    (rules(principal={"authenticated": {}}), [{}], []),
    (rules(principal=named(exact="CN=a client")), [{}], []),
    (rules(principal=named(prefix="spiffe://")), [], [{}]),
    (rules(principal={"notId": named(contains="client")}), [], [{}]),
    (rules(header("x", exactMatch="one"), action=DENY), [{}], [ONE]),
    (rules({"notRule": ANY}, action=LOG), [{}], []),
    (message("RbacFilter"), [{}], []),
    (None, [], [{}]),
]


def filtered(rbac, of_routes):
    """The manager of a server, with an RBAC filter before its router."""
    made = manager(of_routes)
    router = made.http_filters.pop()
    made.http_filters.add(name="rbac").typed_config.CopyFrom(packed("filters.http.rbac.v3.RBAC", rbac))
    made.http_filters.append(router)
    return made


@pytest.fixture(scope="module")
def mesh(providers):  # noqa: F811
    with mesh_at("127.0.0.1", providers) as one:
        yield one


TLS = {"tls": tls_of("UpstreamTlsContext", "client", names=["localhost"])}


def test_servers_admit_the_calls_that_the_rules_of_their_routes_admit(mesh):
    """Without rules of a route, those of the Listener apply, which admit no call."""
    of_routes = routes("inbound", *(accepted(f"/case{i}/") for i in range(len(CASES))))
    for route, (rbac, *_) in zip(of_routes.virtual_hosts[0].routes, CASES):
        if rbac:
            route.typed_per_filter_config["rbac"].CopyFrom(packed("filters.http.rbac.v3.RBACPerRoute", wire().RbacPerRoute(rbac=rbac)))
    mesh.set(chain(filtered(message("RbacFilter", rules={}), of_routes), MUTUAL), **TLS)
    for name, server in mesh.servers.items():
        mesh.world.target = f"xds:///{name}"
        for i, (_, admitted, rejected) in enumerate(CASES):
            for fields in admitted:
                mesh.world.expect(server.port, path=f"/case{i}/A", **fields)
            for fields in rejected:
                mesh.world.expect("PERMISSION_DENIED", path=f"/case{i}/A", **fields)


INVALID = [rules(header(":scheme", exactMatch="http")), rules()]
INVALID[1].rules.policies["one"].condition.SetInParent()


def test_servers_reject_rules_that_are_invalid(mesh):
    """The bootstrap says that what is invalid is not to be used, nor what was there before."""
    open_routes = routes("inbound", accepted())
    valid = chain(filtered(rules(header("x", exactMatch="one")), open_routes))
    mesh.set(valid)
    mesh.expect(x="one")
    plane = mesh.world.plane
    for rbac in INVALID:
        plane.forget()
        mesh.set(chain(filtered(rbac, open_routes)))
        plane.wait_for(*(lambda r, name=name: r.node == f"server {name}" and r.type == "Listener" and r.error for name in mesh.servers))
    mesh.set(valid)
    mesh.expect(x="one")
    mesh.expect("PERMISSION_DENIED")


STDOUT = packed("rbac.audit_loggers.stream.v3.StdoutAuditLog", message("Unread"))


def test_audit_logs_have_the_same_lines(mesh):
    """grpcio's library keeps its lines in a buffer, and grpc-go does not name the filter."""
    rbac = rules(header("x", exactMatch="one"), auditLoggingOptions={"auditCondition": 3})
    rbac.rules.audit_logging_options.logger_configs.add().audit_logger.typed_config.CopyFrom(STDOUT)
    mesh.set(chain(filtered(rbac, routes("inbound", accepted()))))
    mesh.expect(path="/audited/A", x="one")
    mesh.expect("PERMISSION_DENIED", path="/audited/A")
    for name, server in mesh.servers.items():
        if name == "grpcio":
            continue
        seen = set()
        while len(seen) < 2:
            line = json.loads(server.wait_for(re.compile(r"\{.*/audited/A.*"), 20)[0])["grpc_audit_log"]
            assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", line.pop("timestamp"))
            assert line.pop("policy_name") == ("" if name == "grpc-go" else "rbac")
            assert line == {"rpc_method": "/audited/A", "principal": "", "matched_rule": line["matched_rule"], "authorized": bool(line["matched_rule"])}
            seen.add(line["matched_rule"])
        assert seen == {"", "one"}
