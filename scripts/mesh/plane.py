"""What the control plane of the demonstration serves: a control plane of the tests, and the resources of a service in two versions."""

import collections
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))

from control_plane import OwnPlane  # noqa: E402
from members import HOST  # noqa: E402
from xds_resources import accepted, chain, cluster, endpoint, endpoints, inbound, listener, locality, message, routes, secured  # noqa: E402

HEALTHY, DRAINING = 1, 3
STRICT = "strict"
PROVIDER = {"instanceName": "mesh"}
EJECTION = {"interval": "0.5s", "baseEjectionTime": "1s", "maxEjectionTime": "2s", "maxEjectionPercent": 50, "enforcingSuccessRate": 0,
            "enforcingFailurePercentage": 100, "failurePercentageThreshold": 50, "failurePercentageMinimumHosts": 2,
            "failurePercentageRequestVolume": 10}


def tls(kind, names=(), **fields):
    validation = {"caCertificateProviderInstance": PROVIDER, "matchSubjectAltNames": [{"exact": name} for name in names]}
    return message(kind, commonTlsContext={"tlsCertificateProviderInstance": PROVIDER, "validationContext": validation}, **fields)


def by_weight(weights):
    clusters = [{"name": name, "weight": weight} for name, weight in weights.items()]
    return {"match": {"prefix": ""}, "route": {"weightedClusters": {"clusters": clusters}}}


def for_user(user, name):
    return {"match": {"prefix": "", "headers": [{"name": "user", "exactMatch": user}]}, "route": {"cluster": name}}


class MeshPlane(OwnPlane):
    """A cluster for each version of the servers; each server is in that of its own. Another cluster, STRICT, has all servers, and accepts no name
    that they have."""

    def __init__(self, host, backends):
        self.backends = backends
        self.clients = []
        self.routes = []
        self.seen = collections.Counter()  # all requests
        super().__init__(host)

    def note(self, request):
        self.seen[request] += 1
        super().note(request)

    def routes_to_healthy(self):
        """Routes by the number of servers of each version that are in service; the user beta has v2."""
        versions = [one.version for one in self.backends if one.healthy]
        return for_user("beta", "v2"), by_weight({version: versions.count(version) for version in sorted(set(versions))})

    def configure(self, *of_clients):
        """With other routes, if there are any. Returns when the clients have accepted all changes."""
        self.routes = of_clients or self.routes
        before = dict(self.versions)
        self.forget()
        versions = sorted({one.version for one in self.backends if one.version})
        self.set(
            Listener=[listener("backend", "routes"), listener(STRICT, routes(STRICT, by_weight({STRICT: 1}))), *map(self.inbound, self.backends)],
            RouteConfiguration=[routes("routes", *self.routes)],
            Cluster=[*(self.cluster(version, HOST) for version in versions), self.cluster(STRICT, f"other.{HOST}")],
            ClusterLoadAssignment=[*map(self.endpoints, versions), self.endpoints(STRICT)])
        kinds = [kind for kind, version in self.versions.items() if version != before[kind]]
        self.wait_for(*(lambda r, client=client, kind=kind: (r.node, r.type, r.version, r.error) == (client, kind, self.versions[kind], "")
                        for client in self.clients for kind in kinds))

    def inbound(self, backend):
        """Connections need a certificate; all calls are accepted."""
        of = chain(routes("inbound", accepted()), tls("DownstreamTlsContext", requireClientCertificate=True))
        return inbound(f"backend/{backend.address}", backend.port, of, host=backend.host)

    def cluster(self, name, host):
        made = cluster(name, outlierDetection=EJECTION)
        made.transport_socket.CopyFrom(secured(tls("UpstreamTlsContext", [host])))
        return made

    def endpoints(self, name):
        return endpoints(name, locality(*(
            endpoint(one.port, one.host, healthStatus=HEALTHY if one.healthy else DRAINING) for one in self.backends if name in (one.version, STRICT))))

    def reject_me(self):
        """Sends routes that are invalid. Returns the reasons of the clients."""
        self.forget()
        self.set(RouteConfiguration=[routes("routes", {"match": {"safeRegex": {"regex": "("}}, "route": {"cluster": "v2"}})])
        self.wait_for(*(lambda r, client=client: r.node == client and r.error for client in self.clients))
        with self.changed:
            return [r.error for r in self.requests if r.error]
