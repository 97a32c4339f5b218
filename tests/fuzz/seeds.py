#!/usr/bin/env python3
"""Makes the inputs that some fuzzers begin with, of which `./dev fuzz keep NAME` makes a corpus.

    seeds.py          writes them to build/fuzz/learned/NAME for each NAME that has some
"""

import base64
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
LEARNED = ROOT / "build/fuzz/learned"

# --- Resources of xDS: messages as dicts of the numbers of their fields, see src/xds/wire


def varint(n):
    out = bytearray()
    n &= 2**64 - 1
    while n >= 0x80:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    return bytes([*out, n])


def wire(of):
    """A dict is a message, a list a repeated field, a float a double."""
    if isinstance(of, str):
        return of.encode()
    if isinstance(of, bytes):
        return of
    out = b""
    for number, values in of.items():
        for value in values if isinstance(values, list) else [values]:
            if isinstance(value, int):
                out += varint(number << 3) + varint(value)
            elif isinstance(value, float):
                out += varint(number << 3 | 1) + struct.pack("<d", value)
            else:
                content = wire(value)
                out += varint(number << 3 | 2) + varint(len(content)) + content
    return out


def packed(type_name, of):
    return {1: "type.googleapis.com/" + type_name, 2: wire(of)}


EXTENSIONS = "envoy.extensions."
ADS = {3: {}}


def any_of(type_name, of):
    return packed(EXTENSIONS + type_name, of)


def entry(key, value):
    return {1: key, 2: value}


def address(host, port):
    return {1: {2: host, 3: port}}


ROUTER = {1: "router", 4: any_of("filters.http.router.v3.Router", {})}
FAULT = any_of("filters.http.fault.v3.HTTPFault",
               {1: {3: {1: 1}, 4: {1: 5, 2: 2}}, 2: {2: 503, 3: {1: 50}}, 6: {1: 3}})
FAULT_BY_HEADER = any_of("filters.http.fault.v3.HTTPFault", {1: {5: {}, 4: {1: 100}}, 2: {4: {}, 3: {1: 100}}})
SESSION = any_of("filters.http.stateful_session.v3.StatefulSession", {1: {1: "c", 2: any_of(
    "http.stateful_session.cookie.v3.CookieBasedSessionState", {1: {1: "cookie", 2: {1: 60}, 3: "/a"}})}})
SESSION_OFF = any_of("filters.http.stateful_session.v3.StatefulSessionPerRoute", {1: 1})
STRUCT = {1: [entry("f", {6: {1: [{2: 1.5}, {3: "t"}, {4: 1}]}}), entry("g", {5: {1: entry("h", {1: 0})}})]}
CUSTOM = packed("xds.type.v3.TypedStruct", {1: "x/my.Policy", 2: STRUCT})

ROUTES = {1: "name", 2: [
    {1: "host", 2: ["*", "a.example:80", "*.example", "api.*"],
     15: entry("fault", packed("envoy.config.route.v3.FilterConfig", {1: FAULT, 2: 1})),
     16: {1: "unavailable, internal,cancelled", 2: {1: 3}, 8: {1: {1: 1}, 2: {1: 2, 2: 5}}},
     3: [{1: {2: "/a/b", 4: {1: 0}, 6: [{1: "x", 4: "1"}, {1: "x", 6: {1: -1, 2: 7}}, {1: "y", 7: 1, 8: 1}], 9: {1: {1: 50, 2: 1}}},
          2: {1: "c"}, 14: "r"},
         {1: {10: {2: "/a/(b|c)+"}, 6: [{1: "y", 11: {2: "a.*"}}, {1: "y", 9: "/"}, {1: "y", 10: "b"}, {1: "y", 12: "a"}]},
          2: {3: {1: [{1: "c", 2: {1: 3}}, {1: "d", 2: {1: 4}, 10: entry("session", SESSION_OFF)}]},
              7: {1: 1}, 9: {1: "deadline-exceeded"}, 15: [{1: {1: "x"}}, {1: {1: "y", 2: {1: {2: "(a)/(b)"}, 2: "\\2\\1"}}, 4: 1},
                                                          {6: {1: "io.grpc.channel_id"}}], 36: {1: {1: 9}, 2: {2: 5}}}},
         {1: {1: "/coracle", 6: [{1: "x", 13: {n: "t"}} for n in (1, 2, 3, 7)] + [{1: "x", 13: {5: {2: "t+"}, 6: 0}}]}, 7: {}},
         {1: {1: "/x", 7: {}}, 2: {1: "c"}}, {1: {1: ""}, 2: {37: "p"}}, {1: {1: ""}, 18: {}}]}],
    12: {1: {1: "p", 2: packed("unknown", {})}, 2: 1}}
MANAGER = "filters.network.http_connection_manager.v3.HttpConnectionManager"


def manager(routes, *filters):
    return any_of(MANAGER, {**routes, 5: [*filters, ROUTER], 35: {4: {1: 5}}})


BY_NAME = {3: {1: ADS, 2: "routes"}}
LISTENERS = [
    {1: "name", 19: {1: manager(BY_NAME)}},
    {1: "name", 19: {1: manager({4: ROUTES}, {1: "fault", 4: FAULT}, {1: "headers", 4: FAULT_BY_HEADER}, {1: "session", 4: SESSION},
                                {1: "unknown", 4: packed("u", {}), 6: 1})}}]

PERMISSION = {1: {1: [{10: {1: {2: "/a"}}}, {4: {1: "x", 13: {7: "1"}}}, {8: {6: 80}}, {2: {1: [{3: 1}, {5: {1: "10.0.0.0", 2: {1: 8}}}]}},
                      {9: {1: ""}}, {7: {4: 1}}]}}
PRINCIPAL = {2: {1: [{4: {1: {}}}, {4: {2: {2: "spiffe://"}}}, {5: {1: "2001::", 2: {1: 16}}}, {8: {10: {1: "::1"}}}, {9: {1: {5: {2: "/.*"}}}},
                     {6: {1: ":path", 11: {2: ".*"}}}, {11: {1: "::ffff:10.0.0.0", 2: {1: 104}}}, {1: {1: {3: 1}}}]}}
AUDIT = {1: 3, 2: {1: {1: "a", 2: packed("envoy.extensions.rbac.audit_loggers.stream.v3.StdoutAuditLog", {})}, 2: 1}}
RBAC = any_of("filters.http.rbac.v3.RBAC", {1: {1: 1, 2: entry("policy", {1: PERMISSION, 2: PRINCIPAL}), 3: AUDIT}})
RBAC_OF_ROUTE = any_of("filters.http.rbac.v3.RBACPerRoute", {2: {1: {1: 0, 2: entry("all", {1: {3: 1}, 2: {3: 1}})}}})
ACCEPTING = {1: "own", 2: {1: "h", 2: "*", 3: {1: {1: ""}, 18: {}, 13: entry("rbac", RBAC_OF_ROUTE)}}}
DOWNSTREAM = {1: "envoy.transport_sockets.tls", 3: any_of(
    "transport_sockets.tls.v3.DownstreamTlsContext", {1: {14: {1: "known"}, 3: {13: {1: "known"}}}, 2: {1: 1}})}
INBOUND = {1: "name", 2: address("10.0.0.1", 80), 3: [
    {1: {3: [{1: "10.0.0.0", 2: {1: 8}}, {1: "2001::", 2: {1: 16}}], 6: {1: "127.0.0.0", 2: {1: 8}}, 7: [1, 2], 9: "raw_buffer", 12: 1},
     3: {1: "m", 4: manager({4: ACCEPTING}, {1: "rbac", 4: RBAC})}, 6: DOWNSTREAM, 7: "first"},
    {1: {8: {1: 1}, 10: "h2", 11: "name"}, 3: {1: "m", 4: manager(BY_NAME)}}],
    25: {3: {1: "m", 4: manager(BY_NAME)}}}

UPSTREAM = any_of("transport_sockets.tls.v3.UpstreamTlsContext", {
    1: {14: {1: "known"}, 8: {1: {9: [{1: "a.example"}, {3: ".example", 6: 1}, {5: {2: "[a-z]+"}}], 17: {}}, 4: {1: "known"}}}, 2: "sni", 6: 1, 7: 1})
TLS = {1: "envoy.transport_sockets.tls", 3: UPSTREAM}
SLOW_START = {1: {1: 10, 2: 5}, 2: {1: 1.5}, 3: {1: 10.0}}


def policy(*of):
    return {1: [{4: {1: "p", 2: one}} for one in of]}


def balancing(name, of):
    return any_of("load_balancing_policies." + name, of)


EDS = {2: 3, 3: {1: ADS, 2: "service"}}
WRR = balancing("client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin",
                {1: {1: 1}, 2: {1: 10}, 3: {}, 4: {1: 5}, 5: {2: 9}, 7: ["named_metrics.a", "cpu_utilization"], 8: SLOW_START})
CLUSTERS = [
    {1: "name", **EDS, 6: 0, 56: {1: SLOW_START}, 10: {1: {4: {1: 7}}, 2: {2: {1: 3}}},
     19: {2: {1: 5}, 3: {1: 30}, 4: {1: 50}, 6: {1: 100}, 7: {1: 3}, 8: {1: 10}, 9: {1: 1900}, 16: {1: 85}, 17: {1: 50}, 21: {1: 300}},
     24: TLS, 27: {8: {1: [0, 1, 3]}}, 42: {5: {}}, 57: ["cpu_utilization", "named_metrics.*"],
     25: {1: entry("com.google.csm.telemetry_labels", {1: entry("service_name", {3: "s"})}), 2: entry("t", packed("x", {}))}},
    {1: "name", 38: {1: "envoy.clusters.aggregate", 2: any_of("clusters.aggregate.v3.ClusterConfig", {1: ["a", "b", "name"]})}},
    {1: "name", 2: 2, 33: {2: {2: {1: {1: address("host.example", 443)}}}},
     24: {1: "p", 3: any_of("transport_sockets.http_11_proxy.v3.Http11ProxyUpstreamTransport", {1: TLS})}},
    *({1: "name", **EDS, 41: one} for one in (
        policy(packed("unknown", {}), balancing("round_robin.v3.RoundRobin", {1: SLOW_START})),
        policy(balancing("wrr_locality.v3.WrrLocality", {1: policy(CUSTOM, WRR)})),
        policy(balancing("random_subsetting.v3.RandomSubsetting",
                         {1: {1: 3}, 2: policy(balancing("least_request.v3.LeastRequest", {1: {1: 5}}))})),
        policy(balancing("ring_hash.v3.RingHash", {1: 1, 2: {1: 10}, 3: {1: 100}})),
        policy(balancing("pick_first.v3.PickFirst", {1: 1})))),
    {1: "name", **EDS, 6: 1, 37: {1: {1: 3}}}, {1: "name", **EDS, 6: 2, 23: {1: {1: 8}, 4: {1: 16}}}]


def endpoint(host, port, weight=1, **more):
    return {1: {1: address(host, port), **more.get("fields", {})}, 2: more.get("health", 0), 4: {1: weight}, **more.get("around", {})}


HASH_KEY = {3: {1: entry("envoy.lb", {1: entry("hash_key", {3: "key"})})}}
PROXY = {2: entry("envoy.http11_proxy_transport_socket.proxy_address", packed("envoy.config.core.v3.Address", address("10.0.0.9", 3128)))}
ENDPOINTS = [{1: "name", 4: {2: [{1: "drop", 2: {1: 5}}, {1: "more", 2: {1: 5, 2: 2}}]}, 2: [
    {1: {1: "r", 2: "z", 3: "s"}, 3: {1: 2}, 9: PROXY, 2: [
        endpoint("10.0.0.1", 80, 3, fields={3: "host", 4: {1: address("::1", 80)}}), endpoint("10.0.0.2", 80, around=HASH_KEY)]},
    {1: {2: "y"}, 3: {1: 1}, 5: 1, 2: [endpoint("2001::1", 81, health=h) for h in (3,)]},
    {1: {2: "x"}, 3: {1: 1}, 7: {1: [endpoint("10.0.1.1", 1)]}}, {1: {2: "w"}}]}, {1: "name"}]

KINDS = ["envoy.config.listener.v3.Listener", "envoy.config.route.v3.RouteConfiguration", "envoy.config.cluster.v3.Cluster",
         "envoy.config.endpoint.v3.ClusterLoadAssignment"]


def xds_resources():
    by_kind = [LISTENERS, [ROUTES], CLUSTERS, ENDPOINTS]
    for kind, all_of in enumerate(by_kind):
        for one in all_of:
            yield bytes([kind]) + wire(one)
        wrapped = packed("envoy.service.discovery.v3.Resource", {1: "2", 2: packed(KINDS[kind], all_of[0]), 3: "name"})
        yield bytes([kind | 8]) + wire({1: "1", 4: "type.googleapis.com/" + KINDS[kind], 5: "n", 2: [
            wrapped, packed(KINDS[kind], {1: "other"})], 7: {1: {1: "name"}, 2: {1: 5, 2: "gone"}}})
    yield bytes([4]) + wire(INBOUND)


# --- Service configs

POLICIES = [
    {"round_robin": {"slowStartConfig": {"slowStartWindow": "10s", "aggression": 1.5, "minWeightPercent": 5}}},
    {"pick_first": {"shuffleAddressList": True}}, {"least_request_experimental": {"choiceCount": 3}},
    {"weighted_round_robin": {"enableOobLoadReport": True, "oobReportingPeriod": "1s", "blackoutPeriod": "0s", "weightExpirationPeriod": "3s",
                              "weightUpdatePeriod": "0.5s", "errorUtilizationPenalty": 1, "metricNamesForComputingUtilization": ["a.b"]}},
    {"ring_hash_experimental": {"minRingSize": "8", "maxRingSize": 64, "requestHashHeader": "x"}}]


def service_configs():
    below = [POLICIES[0]]
    outliers = {"interval": "1s", "baseEjectionTime": "3s", "maxEjectionTime": "9s", "maxEjectionPercent": 50,
                "successRateEjection": {"stdevFactor": 1900, "enforcementPercentage": 100, "minimumHosts": 2, "requestVolume": 3},
                "failurePercentageEjection": {"threshold": 50, "enforcementPercentage": 90, "minimumHosts": 1, "requestVolume": 2}}
    above = [{"outlier_detection_experimental": {**outliers, "childPolicy": below}},
             {"random_subsetting_experimental": {"subsetSize": 2, "childPolicy": [POLICIES[4]]}},
             {"priority_experimental": {"children": {"a": {"config": below, "ignoreReresolutionRequests": True}, "b": {"config": [POLICIES[1]]}},
                                        "priorities": ["a", "b"]}},
             {"weighted_target_experimental": {"targets": {"a": {"weight": 1, "childPolicy": below}, "b": {"weight": 2, "childPolicy": [POLICIES[2]]}}}}]
    for one in POLICIES + above:
        yield {"loadBalancingConfig": [{"unknown": {}}, one]}
    yield {"loadBalancingPolicy": "ROUND_ROBIN", "healthCheckConfig": {"serviceName": "s"}, "connectionScaling": {"maxConnectionsPerSubchannel": 3}}
    yield {"retryThrottling": {"maxTokens": 10, "tokenRatio": 0.1}, "methodConfig": [
        {"name": [{"service": "a.B", "method": "C"}], "timeout": "1.5s", "waitForReady": True, "maxRequestMessageBytes": 1024,
         "maxResponseMessageBytes": "2048",
         "retryPolicy": {"maxAttempts": 3, "initialBackoff": "0.1s", "maxBackoff": "1s", "backoffMultiplier": 2, "retryableStatusCodes": ["UNAVAILABLE", 8]}},
        {"name": [{"service": "a.B"}, {}], "hedgingPolicy": {"maxAttempts": 4, "hedgingDelay": "0.5s", "nonFatalStatusCodes": [14]}}]}


# --- What TLS reads

OPENSSL_CONFIG = """[ca]
default_ca = one
[one]
database = index.txt
crlnumber = number
default_md = sha256
default_crl_days = 5
[numbered]
authorityKeyIdentifier = keyid
[partial]
issuingDistributionPoint = critical,onlyuser:TRUE
[from]
issuingDistributionPoint = fullname:URI:http://a.example/crl
[delta]
deltaCRL = critical,ASN1:INTEGER:1
"""


def tls_files():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)

        def openssl(*words):
            subprocess.run(["openssl", *words], cwd=path, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=root", "-keyout", "key", "-out", "ca.pem")
        openssl("x509", "-in", "ca.pem", "-outform", "DER", "-out", "ca.der")
        (path / "config").write_text(OPENSSL_CONFIG)
        (path / "number").write_text("01\n")
        # Entries of OpenSSL's database: revoked, expiry, time and reason of the revocation, number, file, subject.
        (path / "index.txt").write_text("".join(f"R\t300101000000Z\t260101000000Z{reason}\t{serial}\tunknown\t/CN=x\n" for serial, reason in (
            ("05", ""), ("07", ",keyCompromise"), ("0102", ",holdInstruction,holdInstructionReject"), ("FF01", ",CACompromise"))))
        pem = []
        for section in ("numbered", "partial", "from", "delta"):
            openssl("ca", "-gencrl", "-config", "config", "-keyfile", "key", "-cert", "ca.pem", "-crlexts", section, "-out", "crl.pem")
            openssl("crl", "-in", "crl.pem", "-outform", "DER", "-out", "crl.der")
            yield b"\0" + (path / "crl.der").read_bytes()
            pem.append((path / "crl.pem").read_bytes())
        yield b"\0" + pem[0]
        yield b"\0" + pem[0] + pem[2]
        certificate = base64.b64encode((path / "ca.der").read_bytes()).decode()
    key = {"kty": "EC", "use": "x509-svid", "x5c": [certificate], "crv": "P-256"}
    for domains in ({}, {"a.example": {"keys": [key, {"kty": "EC", "use": "jwt-svid"}], "spiffe_sequence": 3}, "b": {"keys": []}},
                    {"a": {"keys": [key, key], "spiffe_refresh_hint": [1.5, None, {"keys": True}]}}):
        yield b"\1" + json.dumps({"trust_domains": domains}).encode()


def write(name, inputs):
    folder = LEARNED / name
    folder.mkdir(parents=True, exist_ok=True)
    for number, one in enumerate(inputs):
        (folder / f"seed_{number:02}").write_bytes(one if isinstance(one, bytes) else json.dumps(one).encode())


def main():
    write("xds_resources", xds_resources())
    write("service_config", service_configs())
    write("tls_files", tls_files())


if __name__ == "__main__":
    sys.exit(main())
