"""An endpoint for load.py and its like: greets as JSON over HTTP/1.1."""

import contextlib
import http.server
import json
import threading

MARKUP = "</script><img src=x onerror=slips.push(1)>"


class Endpoint(http.server.BaseHTTPRequestHandler):
    """Keeps its connections; or closes them after each response (/closing); or answers with markup (/rude). Needs `key=7%2F8` in the
    query of /keyed."""

    protocol_version = "HTTP/1.1"
    asked = 0

    def do_POST(self):
        Endpoint.asked += 1
        name = json.loads(self.rfile.read(int(self.headers["Content-Length"]))).get("name")
        body = json.dumps({"message": f"Hello, {name}"}).encode()
        if self.path == "/rude":
            body = MARKUP.encode()
            self.send_response(400)
            self.send_header("Content-Type", "text/plain")
        else:
            without_key = self.path.startswith("/keyed") and self.path != "/keyed?key=7%2F8"
            self.send_response(200 if name and not without_key else 400)
        self.send_header("Content-Length", str(len(body)))
        if self.path == "/closing":
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Endpoints(http.server.ThreadingHTTPServer):
    request_queue_size = 256  # else the kernel has those wait who come together
    daemon_threads = True


@contextlib.contextmanager
def endpoint():
    """The URL of an endpoint, without its path."""
    with Endpoints(("127.0.0.1", 0), Endpoint) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{serving.server_port}"
        serving.shutdown()
