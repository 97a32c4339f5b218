"""What the stand-ins of registries share: an HTTP server on threads, and answers that a hostile one gives."""

import abc
import http.server
import ssl
import threading
import types
import urllib.parse


class StandIn(abc.ABC):
    """Answers GET and PUT requests by its method `answer`, until the with-block ends. `secure`: (certificate, key) files."""

    def __init__(self, secure=None):
        self.requests = []
        self.hostile = None  # a function of the handler, in place of an answer
        self.ended = threading.Event()
        self.changed = threading.Condition()
        stand_in = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_PUT(self):
                self.sent = self.rfile.read(int(self.headers.get("content-length", "0")))
                self.do_GET()

            def do_GET(self):
                parts = urllib.parse.urlsplit(self.path)
                self.query = dict(urllib.parse.parse_qsl(parts.query))
                self.parameters = urllib.parse.parse_qsl(parts.query)
                self.route = urllib.parse.unquote(parts.path)
                with stand_in.changed:  # a connection has one handler for all of its requests
                    stand_in.requests.append(types.SimpleNamespace(
                        query=self.query, parameters=self.parameters, route=self.route, headers=dict(self.headers)))
                    stand_in.changed.notify_all()
                try:
                    (stand_in.hostile or stand_in.answer)(self)
                except OSError:
                    self.close_connection = True

            def reply(self, body, status=200, kind="application/json", **headers):
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                for name, value in headers.items():
                    self.send_header(name.replace("_", "-"), value)
                self.end_headers()
                self.wfile.write(body)

            def begin_chunks(self):
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("transfer-encoding", "chunked")
                self.end_headers()

            def chunk(self, data):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
                self.wfile.flush()

            def log_message(self, *_):
                pass

        class HttpServer(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request, client_address):
                pass  # a client that goes away

        self._server = HttpServer(("127.0.0.1", 0), Handler)
        if secure:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*secure)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_address[1]
        self.address = f"127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @abc.abstractmethod
    def answer(self, request):
        """What a stand-in answers to a request."""

    def wait_for_requests(self, number, limit_s=20):
        """Waits until so many requests have come in all."""
        with self.changed:
            came = self.changed.wait_for(lambda: len(self.requests) >= number, limit_s)
        assert came, f"{len(self.requests)} requests came, not {number}"

    def close(self):
        self.ended.set()
        with self.changed:
            self.changed.notify_all()
        self._server.shutdown()
        self._server.server_close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def huge(request):
    """A body that does not end, as fast as it is taken."""
    request.begin_chunks()
    for _ in range(400):
        request.chunk(b'{"kind":"' + b"x" * 65536)


def cut_off(request):
    request.begin_chunks()
    request.chunk(b'{"kind":"EndpointSliceList",')
    request.close_connection = True


HOSTILE = [huge, cut_off]  # tests/e2e/hostile_registries_test.cpp has more
