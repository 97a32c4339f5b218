"""Connect, REST and plain replies over HTTP/1.1 and HTTP/2: server CPU time per request under h2load, beside the peers that
people use for each."""

import contextlib
import http.client
import json
import pathlib
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from harness import machine, peers, servers, unary
from harness.tables import noise, ratios, row, spread, values

SECONDS = 2.0
START_LIMIT_S = 10
NAME = unary.NAME.decode()
TEXT = "<!doctype html>\n<title>Coracle</title>\n<p>A gRPC server.</p>\n"  # bench_greeter's page
OURS, CONNECT_GO, GATEWAY, NGINX = "coracle", "connect-go", "grpc-gateway and grpc-go", "nginx"
KINDS = (servers.Kind(OURS, "bin/bench_greeter"), servers.Kind(CONNECT_GO, "peers/go/connect"), servers.Kind(GATEWAY, "peers/go/gateway"),
         servers.Kind(NGINX, "nginx"))
# One process, as the other servers are; a connection is not closed after a number of requests, as theirs are not.
NGINX_SETTINGS = """daemon off; master_process off; pid {folder}/pid; error_log stderr;
events {{ worker_connections 1024; }}
http {{
  access_log off; keepalive_requests 1000000000;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  server {{ listen 127.0.0.1:{port}; location = / {{ default_type text/html; return 200 "{text}"; }} }}
}}
"""


class Request:
    """What h2load sends again and again; `reply`: bytes, or the value of JSON."""

    def __init__(self, path, reply, content_type=None, body=None, http1=True):
        self.path, self.reply, self.content_type, self.body, self.http1 = path, reply, content_type, body, http1

    @property
    def fields(self):
        return unary.FIELDS if self.content_type == "application/grpc" else [f"content-type: {self.content_type}"] if self.content_type else []

    def check(self, address):
        """How many bytes the reply has, which must be right. It is asked over HTTP/1.1; h2load counts those of HTTP/2."""
        with contextlib.closing(http.client.HTTPConnection(address, timeout=START_LIMIT_S)) as connection:
            connection.request("POST" if self.body else "GET", self.path, self.body, dict(one.split(": ") for one in self.fields))
            response = connection.getresponse()
            body = response.read()
        found = json.loads(body) if response.status == 200 and isinstance(self.reply, dict) else body
        if response.status != 200 or found != self.reply:
            raise machine.Failure(f"{address}{self.path} answers {response.status}: {body[:200]!r}")
        return len(body)


ASKED, GREETED = json.dumps({"name": NAME}, separators=(",", ":")).encode(), {"message": NAME}
GRPC, PROTO, JSON = "gRPC over HTTP/2", "Connect, proto, over HTTP/1.1", "Connect, JSON, over HTTP/1.1"
PROTO2, JSON2 = "Connect, proto, over HTTP/2", "Connect, JSON, over HTTP/2"
GET, POST, STATIC = "REST, GET over HTTP/1.1", "REST, POST over HTTP/1.1", "static reply over HTTP/1.1"
REQUESTS = {
    GRPC: Request(unary.PATH, unary.MESSAGE, "application/grpc", unary.BODY, http1=False),
    PROTO: Request(unary.PATH, unary.MESSAGE, "application/proto", unary.MESSAGE),
    JSON: Request(unary.PATH, GREETED, "application/json", ASKED),
    PROTO2: Request(unary.PATH, unary.MESSAGE, "application/proto", unary.MESSAGE, http1=False),
    JSON2: Request(unary.PATH, GREETED, "application/json", ASKED, http1=False),
    GET: Request(f"/hello/{NAME}", GREETED),
    POST: Request("/hello", GREETED, "application/json", ASKED),
    STATIC: Request("/", TEXT.encode()),
}


class Goal:
    """Our CPU time for a request over the peer's, at most; the peer's request is the same unless told."""

    def __init__(self, request, column, peer, at_most, peer_request=None):
        self.request, self.column, self.peer, self.at_most = request, column, peer, at_most
        self.peer_request = peer_request or request


GOALS = [Goal(PROTO, column, CONNECT_GO, 0.5) for column in ("10x1", "100x1")]
GOALS += [Goal(PROTO, column, OURS, 1.15, GRPC) for column in ("10x1", "100x1")]
GOALS += [Goal(PROTO2, "10x10", CONNECT_GO, 0.2)]
GOALS += [Goal(JSON, column, CONNECT_GO, 0.5) for column in ("10x1", "100x1")]
GOALS += [Goal(JSON2, "10x10", CONNECT_GO, 0.33)]
GOALS += [Goal(GET, column, GATEWAY, 0.2) for column in ("10x1", "100x1")] + [Goal(POST, "10x1", GATEWAY, 0.2)]
GOALS += [Goal(STATIC, column, NGINX, 1.5) for column in ("10x1", "100x1")]


@contextlib.contextmanager
def running_nginx():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        settings = pathlib.Path(folder) / "nginx.conf"
        settings.write_text(NGINX_SETTINGS.format(folder=folder, port=port, text=TEXT))
        command = ["taskset", "-c", str(machine.cores()[0]), "nginx", "-e", "stderr", "-c", settings]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            try:
                end = time.monotonic() + START_LIMIT_S
                while True:
                    try:
                        socket.create_connection(("127.0.0.1", port)).close()
                        break
                    except OSError:
                        if process.poll() is not None or time.monotonic() > end:
                            process.kill()
                            raise machine.Failure(f"nginx does not start: {process.stderr.read().strip()}") from None
                        time.sleep(0.01)
                yield servers.Server(process, f"127.0.0.1:{port}")
            finally:
                process.kill()


def name_of(kind, request):
    return f"{kind}: {request}"


def measure(kind, request, column, seconds, build, folder):
    """CPU time of a server that was started for it."""
    one, body = REQUESTS[request], folder / "body"
    if one.body:
        body.write_bytes(one.body)
    with running_nginx() if kind.name == NGINX else servers.running(kind, build) as server:
        if request == GRPC:
            unary.check(server, kind, build)
            reply_bytes = len(one.body)
        else:
            reply_bytes = one.check(server.address)
        before = server.cpu_seconds()
        counted = unary.load(server.address, column, seconds, body if one.body else None, more=["--h1"] if one.http1 else [], path=one.path,
                             fields=one.fields, reply_bytes=reply_bytes)
        cpu = server.cpu_seconds() - before
    return {"server": name_of(kind.name, request), "column": column, **counted, "us_per_request": cpu * 1e6 / counted["answered"]}


def measurements(kinds):
    """(kind, request, column) in the order of the goals, so that those which are compared follow one another."""
    by_name, found = {kind.name: kind for kind in kinds}, {}
    for goal in GOALS:
        for name, request in ((OURS, goal.request), (goal.peer, goal.peer_request)):
            if name in by_name and goal.peer in by_name:
                found[by_name[name], request, goal.column] = None
    return list(found)


def run(chosen):
    for program in ("h2load", "taskset"):
        if not shutil.which(program):
            raise machine.Failure(f"there is no {program}; fix: apt-get install nghttp2-client util-linux")
    kinds = [kind for kind in peers.chosen_among(KINDS, chosen) if kind.name != OURS] + [KINDS[0]]
    if any(kind.name == NGINX for kind in kinds) and not shutil.which("nginx"):
        raise machine.Failure("there is no nginx; fix: apt-get install nginx, or leave it out by --without nginx")
    peers.build([kind for kind in kinds if kind.name != NGINX], chosen.build)
    wanted, runs = measurements(kinds), []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(chosen.rounds):
            for kind, request, column in wanted:
                runs.append({"round": number, **measure(kind, request, column, chosen.seconds or SECONDS, chosen.build, pathlib.Path(folder))})
                if sys.stderr.isatty():
                    print(f"round {number + 1} of {chosen.rounds}, {name_of(kind.name, request)}, {column}: "
                          f"{runs[-1]['us_per_request']:.2f} us", file=sys.stderr)
    return {"servers": sorted({one["server"] for one in runs}), "columns": sorted({one["column"] for one in runs}),
            "seconds": chosen.seconds or SECONDS, "rounds": chosen.rounds, "runs": runs}


def report(result):
    def us(server, column):
        return spread(values(result, server, column, "us_per_request"), lambda x: f"{x:.2f}")

    lines = ["", f"## Connect, REST and static replies, server CPU in us/request; {result['rounds']} rounds of {result['seconds']:g} s, median "
             "(min to max)", "", row("request", ["connections x streams", "Coracle", "peer", "its us/request", "Coracle's over its", "goal"])]
    lines.append("|---" * 7 + "|")
    for goal in GOALS:
        ours, other = name_of(OURS, goal.request), name_of(goal.peer, goal.peer_request)
        of = ratios(result, ours, other, goal.column)
        if not of:
            continue
        peer = "gRPC on the same server" if goal.peer == OURS else goal.peer
        verdict = "met" if statistics.median(of) <= goal.at_most else "not met"
        lines.append(row(goal.request, [goal.column, us(ours, goal.column), peer, us(other, goal.column), spread(of, lambda x: f"{x:.3f}"),
                                        f"{goal.at_most:g}: {verdict}"]))
    bands = ", ".join(f"± {100 * noise(result, column):.1f} % at {column}" for column in result["columns"])
    return "\n".join([*lines, "", f"Noise band: {bands}."])
