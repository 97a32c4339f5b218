"""A collector of OpenTelemetry for tests: keeps what it receives over gRPC and over HTTP, decoded by opentelemetry-proto."""

import concurrent.futures
import gzip
import http.server
import ssl
import threading
import time

import grpc
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2, logs_service_pb2_grpc
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2, metrics_service_pb2_grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc

SIGNALS = {
    "metrics": (metrics_service_pb2.ExportMetricsServiceRequest, metrics_service_pb2.ExportMetricsServiceResponse, "v1/metrics"),
    "spans": (trace_service_pb2.ExportTraceServiceRequest, trace_service_pb2.ExportTraceServiceResponse, "v1/traces"),
    "logs": (logs_service_pb2.ExportLogsServiceRequest, logs_service_pb2.ExportLogsServiceResponse, "v1/logs"),
}
WAIT_LIMIT_S = 20


class Export:
    """A request: its signal, its message, its header fields in lower case, and its bytes as they came over HTTP."""

    def __init__(self, signal, message, headers, body=b""):
        self.signal, self.message, self.headers, self.body = signal, message, headers, body


class Collector:
    """Until the with-block ends. `secure`: (certificate, key) files."""

    def __init__(self, secure=None):
        self.exports = []
        self._changed = threading.Condition()
        self.scheme = "https" if secure else "http"
        self._start_grpc(secure)
        self._start_http(secure)

    def _start_grpc(self, secure):
        self._grpc = grpc.server(concurrent.futures.ThreadPoolExecutor(4))
        for name, adder in (("metrics", metrics_service_pb2_grpc.add_MetricsServiceServicer_to_server),
                            ("spans", trace_service_pb2_grpc.add_TraceServiceServicer_to_server),
                            ("logs", logs_service_pb2_grpc.add_LogsServiceServicer_to_server)):
            adder(self._service(name), self._grpc)
        if secure:
            certificate, key = (path.read_bytes() for path in secure)
            self.grpc_port = self._grpc.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([(key, certificate)]))
        else:
            self.grpc_port = self._grpc.add_insecure_port("127.0.0.1:0")
        self._grpc.start()

    def _service(self, signal):
        collector = self

        class Service:
            def Export(self, request, context):
                collector._keep(Export(signal, request, dict(context.invocation_metadata())))
                return SIGNALS[signal][1]()

        return Service()

    def _start_http(self, secure):
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                found = [(name, one) for name, one in SIGNALS.items() if self.path.endswith(one[2])]
                if not found or headers.get("content-type") != "application/x-protobuf":
                    return self.send_error(415)
                name, (request, response, _) = found[0]
                plain = gzip.decompress(body) if headers.get("content-encoding") == "gzip" else body
                collector._keep(Export(name, request.FromString(plain), headers, body))
                answer = response().SerializeToString()
                self.send_response(200)
                self.send_header("content-type", "application/x-protobuf")
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                """Says nothing."""

        self._http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if secure:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*secure)
            self._http.socket = context.wrap_socket(self._http.socket, server_side=True)
        self.http_port = self._http.server_address[1]
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    def _keep(self, export):
        with self._changed:
            self.exports.append(export)
            self._changed.notify_all()

    def url(self, protocol):
        return f"{self.scheme}://localhost:{self.grpc_port if protocol == 'grpc' else self.http_port}"

    def wait_for(self, signal, wanted=lambda export: True):
        """The first export of the signal that is wanted."""
        end = time.monotonic() + WAIT_LIMIT_S
        with self._changed:
            while True:
                for export in self.exports:
                    if export.signal == signal and wanted(export):
                        return export
                left = end - time.monotonic()
                assert left > 0, f"no such export of {signal} within {WAIT_LIMIT_S} s; {len(self.exports)} others"
                self._changed.wait(left)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._grpc.stop(0)
        self._http.shutdown()
        self._http.server_close()
