"""Control planes for clients of xDS: one of our own, on grpcio, and go-control-plane. They serve what a test sets, and note what is requested."""

import base64
import collections
import concurrent.futures
import functools
import importlib.util
import json
import queue
import subprocess
import sys
import tempfile
import threading

from programs import ROOT, peer, run

REQUEST_LIMIT_S = 20
TYPES = {name.rpartition(".")[2]: f"type.googleapis.com/{name}" for name in (
    "envoy.config.listener.v3.Listener", "envoy.config.route.v3.RouteConfiguration",
    "envoy.config.cluster.v3.Cluster", "envoy.config.endpoint.v3.ClusterLoadAssignment")}
WRAPPER = "type.googleapis.com/envoy.service.discovery.v3.Resource"
SHORT_NAMES = {url: name for name, url in TYPES.items()}


@functools.cache
def wire():
    """The messages of src/xds/wire, as the attributes of one object."""
    with tempfile.TemporaryDirectory() as folder:
        protos = sorted((ROOT / "src/xds/wire").glob("*.proto"))
        # Debian's Python has no compiler of its own.
        compiler = [sys.executable, "-m", "grpc_tools.protoc"] if importlib.util.find_spec("grpc_tools") else ["protoc"]
        done = run(*compiler, f"-I{ROOT / 'src'}", f"--python_out={folder}", *protos)
        assert done.returncode == 0, f"protoc's exit code ({done.stderr[-300:]})"
        sys.path.insert(0, folder)
        try:
            modules = [importlib.import_module(f"xds.wire.{path.stem}_pb2") for path in protos]
        finally:
            sys.path.remove(folder)
    return type("wire", (), {name: value for one in modules for name, value in vars(one).items() if isinstance(value, type)})


Request = collections.namedtuple("Request", "node type names version error")


class Plane:
    """What both have: the resources, by short type and name, and how often clients have sent each request. Each type has its version."""

    def __init__(self):
        self.resources = {name: {} for name in TYPES}
        self.versions = dict.fromkeys(TYPES, "0")
        self.updates = 0
        self.requests = collections.Counter()
        self.changed = threading.Condition()

    def note(self, request):
        with self.changed:
            self.requests[request] += 1
            self.changed.notify_all()

    def set(self, **by_type):
        """Replaces all resources of these types, each given as messages; the others stay."""
        self.updates += 1
        with self.changed:
            for kind, messages in by_type.items():
                named = {getattr(m, "cluster_name" if kind == "ClusterLoadAssignment" else "name"): m.SerializeToString() for m in messages}
                if named != self.resources[kind]:
                    self.resources[kind], self.versions[kind] = named, str(self.updates)
        self.publish()

    def wait_for(self, *conditions):
        """Waits until each of the conditions holds for a request that has come since forget()."""
        def all_hold():
            return all(any(condition(r) for r in self.requests) for condition in conditions)
        with self.changed:
            assert self.changed.wait_for(all_hold, REQUEST_LIMIT_S), f"not all of them have come: {self.requests}"

    def forget(self):
        with self.changed:
            self.requests.clear()


class OwnPlane(Plane):
    """On grpcio. Sends the resources of a type that a client names whenever there is a new version, or the names find others."""

    METHOD = "StreamAggregatedResources"

    def __init__(self, host="127.0.0.1"):
        super().__init__()
        self.host = host
        self.streams = set()
        self.nonces = 0
        self.wraps = False  # each resource in one of the type Resource
        self.errors = {name: {} for name in TYPES}  # gRFC A88: a status code and a text for names without a resource
        self.port = 0
        self.start()

    @property
    def address(self):
        return f"{self.host}:{self.port}"

    def start(self):
        import grpc  # where it is missing, its tests are skipped
        handler = grpc.stream_stream_rpc_method_handler(self.stream, wire().DiscoveryRequest.FromString,
                                                        wire().DiscoveryResponse.SerializeToString)
        service = grpc.method_handlers_generic_handler("envoy.service.discovery.v3.AggregatedDiscoveryService", {self.METHOD: handler})
        self.server = grpc.server(concurrent.futures.ThreadPoolExecutor(32), handlers=[service], options=[("grpc.so_reuseport", 0)])
        self.port = self.server.add_insecure_port(self.address)
        self.server.start()

    def stop(self):
        self.server.stop(0).wait()

    def publish(self):
        with self.changed:
            for out in self.streams:
                out.put(None)

    def stream(self, requests, context):
        """One stream: what comes in wakes it up, as an update does."""
        out = queue.Queue()
        state = {kind: {"names": None, "nonce": "", "sent": None} for kind in TYPES}
        node = ""

        def read():
            nonlocal node
            try:
                for request in requests:
                    node = request.node.id or node
                    kind = SHORT_NAMES[request.type_url]
                    self.note(Request(node, kind, tuple(sorted(request.resource_names)), request.version_info, request.error_detail.message))
                    if request.response_nonce == state[kind]["nonce"]:
                        state[kind]["names"] = set(request.resource_names)
                        out.put(None)
            except Exception:  # the stream has ended
                pass
            out.put("end")

        with self.changed:
            self.streams.add(out)
        threading.Thread(target=read, daemon=True).start()
        try:
            while out.get() != "end":
                yield from self.responses(state)
        finally:
            with self.changed:
                self.streams.discard(out)

    def responses(self, state):
        for kind, of in state.items():
            if of["names"] is None:
                continue
            with self.changed:
                found = {name: value for name, value in self.resources[kind].items() if name in of["names"]}
                errors = {name: error for name, error in self.errors[kind].items() if name in of["names"] and name not in found}
                version = self.versions[kind]
            if (version, found) == of["sent"]:
                continue
            of["sent"] = (version, found)
            self.nonces += 1
            of["nonce"] = f"nonce {self.nonces}"
            response = wire().DiscoveryResponse(version_info=version, type_url=TYPES[kind], nonce=of["nonce"])
            for name, value in found.items():
                one = response.resources.add(type_url=TYPES[kind], value=value)
                if self.wraps:
                    whole = wire().WrappedResource(name=name, version=version, resource=one)
                    one.type_url, one.value = WRAPPER, whole.SerializeToString()
            for name, (code, text) in errors.items():
                response.resource_errors.add(resource_name={"name": name}, error_detail={"code": code, "message": text})
            yield response

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


class SnapshotPlane(Plane):
    """go-control-plane's cache of snapshots. `ads`: it does not answer a request that lacks a resource of the snapshot. Adds up the load that
    clients report."""

    def __init__(self, ads=True):
        super().__init__()
        self.loads = collections.defaultdict(collections.Counter)  # by node and cluster: (zone, kind of count) or a category of drops
        self.port = 0
        self.ads = ads
        self.published = threading.Semaphore(0)
        self.start()

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def start(self, ads=None):
        self.ads = self.ads if ads is None else ads
        self.process = subprocess.Popen([peer("xds"), "plane", str(self.port), "true" if self.ads else "false"], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.port = int(self.process.stdout.readline().rpartition(":")[2])
        threading.Thread(target=self.read, args=[self.process.stdout], daemon=True).start()
        if self.updates:
            self.publish()

    def stop(self):
        self.process.kill()
        self.process.wait()

    def restart(self, ads=None):
        self.stop()
        self.start(ads)

    def read(self, lines):
        for line in lines:
            r = json.loads(line)
            if not r:
                self.published.release()
                continue
            if "cluster" in r:
                self.note_load(r)
                continue
            self.note(Request(r["node"], SHORT_NAMES[r["type"]], tuple(sorted(r["names"] or [])), r["version"], r["error"]))

    def note_load(self, of):
        with self.changed:
            sum_of = self.loads[of["node"], of["cluster"]]
            for zone, counts in of["zones"].items():
                sum_of.update({(zone, kind): count for kind, count in counts.items()})
            sum_of.update(of["categories"] | {"dropped": of["dropped"]})
            self.changed.notify_all()

    def wait_for_load(self, node, cluster, expected):
        """Waits until the reports of a client add up to these counts, and returns them all."""
        with self.changed:
            seen = self.loads[node, cluster]
            equal = self.changed.wait_for(lambda: {name: seen[name] for name in expected} == expected, REQUEST_LIMIT_S)
            assert equal, f"{node} reports {dict(seen)} of {cluster}, and not {expected}"
            return dict(seen)

    def publish(self):
        resources = {TYPES[kind]: [base64.b64encode(value).decode() for value in of.values()] for kind, of in self.resources.items()}
        self.process.stdin.write(json.dumps({"versions": {TYPES[kind]: version for kind, version in self.versions.items()}, "resources": resources}) + "\n")
        self.process.stdin.flush()
        # A request that comes before this may never be answered.
        assert self.published.acquire(timeout=REQUEST_LIMIT_S), "go-control-plane does not take the snapshot"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
