"""Our HTTP/1.1 parser against Node's, h11's and Go's: which requests each sees in the bytes of http1_cases.json.

A case has `bytes`, of which a list has texts and [text, how often], each character being an octet. Without `status`, we
accept it and see `seen` requests (1 unless said); with it, the connection fails with that status after `seen` requests (0
unless said), 0 being a close without a response. `node`, `h11` and `go` say why that peer sees other requests than we do.
A reason that is not needed is an error for h11, whose version is pinned; Node and Go are those of the machine.
"""

import contextlib
import json
import re
import socket
import subprocess

import pytest

import programs
from movie_pairs import command
from programs import Background, own, peer

pytest.importorskip("h11", reason="./dev peers installs it")

import h11  # noqa: E402

HERE = programs.ROOT / "tests/interop"
ANSWER_LIMIT_S = 10
SAW = re.compile(rb"\r\nx-saw: ([0-9a-f]+)\r\n", re.IGNORECASE)
PEERS = ("node", "h11", "go")


def octets(parts):
    parts = [parts] if isinstance(parts, str) else parts
    return b"".join((part if isinstance(part, str) else part[0] * part[1]).encode("latin-1") for part in parts)


def cases():
    groups = json.loads((HERE / "http1_cases.json").read_text(encoding="ascii"))
    return [pytest.param(case, id=f"{group}: {case['what']}") for group, some in groups.items() for case in some]


def request(method, target, field, body):
    """What a peer saw. We take an absolute target apart, so that its form is not compared."""
    absolute = re.fullmatch(rb"(?i:https?)://[^/?]*(.*)", target, re.DOTALL)
    return method, (absolute[1] or b"/") if absolute else target, field, body


class Ours:
    """http1_tool."""

    def __init__(self):
        self.process = subprocess.Popen([own("http1_tool")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def read(self, data):
        """The requests, and the status of the failure or None."""
        self.process.stdin.write(data.hex() + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, "http1_tool ended"
        words, failed, reason = line.rstrip().partition("failed ")
        requests = [[bytes.fromhex(part) for part in word.split(":")] for word in words.split() if word != "ok"]
        status = int(reason.split()[0]) if failed else None
        return [(method, path, field, body) for method, _, _, path, field, body in requests], status

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(10) == 0, "http1_tool's exit code"


class H11:
    """h11 as a server that responds to each request when it is complete."""

    def read(self, data):
        connection, seen = h11.Connection(h11.SERVER), []
        with contextlib.suppress(h11.RemoteProtocolError):
            connection.receive_data(data)
            connection.receive_data(b"")
            self.take(connection, seen)
        return seen

    @staticmethod
    def take(connection, seen):
        head, body = None, b""
        while True:
            event = connection.next_event()
            if isinstance(event, h11.Request):
                head, body = event, b""
            elif isinstance(event, h11.Data):
                body += bytes(event.data)
            elif isinstance(event, h11.EndOfMessage):
                field = dict(reversed(head.headers)).get(b"a", b"")
                seen.append(request(head.method, head.target, field, body))
                connection.send(h11.Response(status_code=404, headers=[("content-length", "0")]))
                connection.send(h11.EndOfMessage())
                if connection.our_state is not h11.DONE or connection.their_state is not h11.DONE:
                    return
                connection.start_next_cycle()
            else:
                return


class Server:
    """A peer's server, whose responses say what it saw."""

    def __init__(self, port):
        self.port = port

    def read(self, data):
        said = b""
        with socket.create_connection(("127.0.0.1", self.port), ANSWER_LIMIT_S) as s:
            # A server that refuses the bytes may close before it has read them.
            with contextlib.suppress(OSError):
                s.sendall(data)
                s.shutdown(socket.SHUT_WR)
            with contextlib.suppress(OSError):
                while some := s.recv(65536):
                    said += some
        saw = (json.loads(bytes.fromhex(parts.decode())) for parts in SAW.findall(said))
        return [request(*map(bytes.fromhex, parts)) for parts in saw]


@pytest.fixture(scope="module")
def ours():
    tool = Ours()
    yield tool
    tool.end()


@pytest.fixture(scope="module")
def peers():
    with contextlib.ExitStack() as running:
        def server(*words):
            program = running.enter_context(Background(*words))
            return Server(int(program.wait_for(programs.LISTENING, programs.START_LIMIT_S)[1]))
        yield {"node": server(command("node"), HERE / "peers/http1_server.js"), "h11": H11(),
               "go": server(peer("http1_go_server"))}


@pytest.mark.parametrize("case", cases())
def test_all_see_the_same_requests(case, ours, peers):
    data = octets(case["bytes"])
    seen, failed = ours.read(data)
    assert failed == case.get("status"), f"we see {seen}, and fail with {failed}"
    assert len(seen) == case.get("seen", 0 if "status" in case else 1), f"we see {seen}"
    for name in PEERS:
        theirs = peers[name].read(data)
        if name == "h11" and name in case:
            assert theirs != seen, "h11 sees what we see: the case needs no reason for it"
        if name not in case:
            assert theirs == seen, f"{name} sees {theirs}, we see {seen}"


def test_the_corpus_is_large_and_its_names_are_unique():
    names = [case.id for case in cases()]
    assert len(names) >= 150
    assert len(set(names)) == len(names)
