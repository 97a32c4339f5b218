"""Resources of xDS for tests, from src/xds/wire: the parts that differ are given as JSON."""

from google.protobuf import any_pb2, json_format

from control_plane import wire

ADS = {"ads": {}}
PACKAGE = "type.googleapis.com/envoy.extensions."


def message(kind, **fields):
    """A message by the name of its type."""
    return json_format.ParseDict(fields, getattr(wire(), kind)())


def packed(type_name, of):
    return any_pb2.Any(type_url=PACKAGE + type_name, value=of.SerializeToString())


MANAGER = "filters.network.http_connection_manager.v3.HttpConnectionManager"


def manager(routes, filters=(), **fields):
    """Routes are the name of a RouteConfiguration, or one. Filters, before the router, are pairs of a type below filters.http, and its message."""
    of = message("HttpConnectionManager", **fields)
    if isinstance(routes, str):
        of.rds.CopyFrom(message("Rds", configSource=ADS, routeConfigName=routes))
    else:
        of.route_config.CopyFrom(routes)
    for type_name, one in filters:
        of.http_filters.add(name=type_name).typed_config.CopyFrom(packed(f"filters.http.{type_name}", one))
    of.http_filters.add(name="router").typed_config.CopyFrom(packed("filters.http.router.v3.Router", wire().Router()))
    return of


def listener(name, routes, filters=(), **fields):
    """That of a client."""
    made = wire().Listener(name=name)
    made.api_listener.api_listener.CopyFrom(packed(MANAGER, manager(routes, filters, **fields)))
    return made


def chain(of, tls=None, **match):
    """A filter chain of a server, with a manager or its routes; `tls` is a DownstreamTlsContext."""
    of = of if isinstance(of, wire().HttpConnectionManager) else manager(of)
    made = message("FilterChain", filterChainMatch=match)
    made.filters.add(name="manager").typed_config.CopyFrom(packed(MANAGER, of))
    if tls:
        made.transport_socket.CopyFrom(secured(tls))
    return made


def secured(tls):
    """The transport socket of a DownstreamTlsContext or an UpstreamTlsContext."""
    made = wire().TransportSocket(name="envoy.transport_sockets.tls")
    made.typed_config.CopyFrom(packed(f"transport_sockets.tls.v3.{type(tls).__name__}", tls))
    return made


def inbound(name, port, *chains, host="127.0.0.1", default=None):
    """The Listener of a server; `default` is the chain of connections that no other one is for."""
    made = message("Listener", name=name, address=address(port, host))
    made.filter_chains.extend(chains)
    if default:
        made.default_filter_chain.CopyFrom(default)
    return made


def accepted(prefix="", **match):
    """A route by which a server accepts calls."""
    return {"match": {"prefix": prefix, **match}, "nonForwardingAction": {}}


def routes(name, *of, domains=("*",)):
    """Each route is {"match": ..., "route": ...}."""
    return message("RouteConfiguration", name=name, virtualHosts=[{"name": "host", "domains": list(domains), "routes": list(of)}])


def to(cluster, prefix="", **action):
    """A route."""
    return {"match": {"prefix": prefix}, "route": {"cluster": cluster, **action}}


def cluster(name, **fields):
    return message("Cluster", name=name, **{"type": 3, "edsClusterConfig": {"edsConfig": ADS}, **fields})


def aggregate(name, *clusters):
    made = wire().Cluster(name=name)
    made.cluster_type.name = "envoy.clusters.aggregate"
    made.cluster_type.typed_config.CopyFrom(packed("clusters.aggregate.v3.ClusterConfig", wire().AggregateCluster(clusters=clusters)))
    return made


def with_policies(made, *policies):
    """The cluster with load_balancing_policy: pairs of a type below envoy.extensions.load_balancing_policies, and its message."""
    for type_name, of in policies:
        extension = made.load_balancing_policy.policies.add().typed_extension_config
        extension.name = type_name
        extension.typed_config.CopyFrom(packed(f"load_balancing_policies.{type_name}", of))
    return made


def address(port, host="127.0.0.1"):
    return {"socketAddress": {"address": host, "portValue": port}}


def endpoint(port, host="127.0.0.1", more=(), **fields):
    """`more` are the ports of additional addresses."""
    return {"endpoint": {"address": address(port, host), "additionalAddresses": [{"address": address(one)} for one in more]}, **fields}


def locality(*endpoints, zone="here", weight=1, priority=0):
    """Endpoints are ports, or what endpoint() returns."""
    return {"locality": {"zone": zone}, "loadBalancingWeight": weight, "priority": priority,
            "lbEndpoints": [endpoint(e) if isinstance(e, int) else e for e in endpoints]}


def endpoints(name, *localities, drops=()):
    """`drops` are pairs of a category and a percentage. A port in place of a locality is one with that server."""
    return message("ClusterLoadAssignment", clusterName=name,
                   endpoints=[locality(one) if isinstance(one, int) else one for one in localities],
                   policy={"dropOverloads": [{"category": category, "dropPercentage": {"numerator": percent}}
                                             for category, percent in drops]})
