"""Debian's Prometheus, promtool and Prometheus' own client for Python, which read what a server says of itself."""

import contextlib
import gzip
import http.client
import http.server
import threading

import prometheus
import pytest
from programs import Server, own, run

CALLS = 5
OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
TEXT = "text/plain; version=0.0.4; charset=utf-8"
# What promtool finds fault with, in a name that gRPC has chosen.
LINTS_OF_GRPC = ("grpc_tcp_connection_count ",)


class Observed(Server):
    """observed_pair, after it has made its calls."""

    def __init__(self, *options):
        super().__init__(own("observed_pair"), f"--calls={CALLS}", *options)
        self.wait_for(prometheus.CALLS_WERE_MADE, 30)

    def get(self, path="/metrics", method="GET", **fields):
        """The response and its body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        with contextlib.closing(connection):
            connection.request(method, path, headers={name.replace("_", "-"): value for name, value in fields.items()})
            response = connection.getresponse()
            return response, response.read()


@pytest.fixture(scope="module")
def observed():
    with Observed() as program:
        yield program


def exposition(kind):
    done = run(own("exposition_tool"), kind, data=b"")
    assert (done.returncode, done.stderr) == (0, b""), done.stderr
    return done.stdout


def lints(text):
    return run(prometheus.command("promtool"), "check", "metrics", data=text)


def test_promtool_finds_no_fault_in_any_instrument():
    done = lints(exposition("text"))
    assert done.returncode in (0, 3), done.stderr
    assert [line for line in (done.stdout + done.stderr).decode().splitlines() if not line.startswith(LINTS_OF_GRPC)] == []


def test_promtool_finds_no_fault_in_a_server(observed):
    done = lints(observed.get()[1])
    assert (done.stdout + done.stderr, done.returncode) == (b"", 0)


@pytest.mark.parametrize("option", ["", "--exponential=yes"])
def test_a_strict_parser_reads_openmetrics(option):
    from prometheus_client.openmetrics import parser
    texts = [exposition("openmetrics").decode()]
    with Observed(*option.split()) as program:
        texts.append(program.get(accept="application/openmetrics-text")[1].decode())
    for text in texts:
        families = {one.name: one for one in parser.text_string_to_metric_families(text)}
        assert families["grpc_server_call_duration_seconds"].unit == "seconds"
        assert families["target"].type == "info"
    calls = sum(one.value for one in families["grpc_server_call_duration_seconds"].samples if one.name.endswith("_count"))
    assert calls == 4 * CALLS, "good ones, bad ones, and those with a second attempt"


def test_hostile_labels_arrive_as_they_are():
    from prometheus_client.openmetrics import parser
    families = {one.name: one for one in parser.text_string_to_metric_families(exposition("openmetrics").decode())}
    values = {one.labels["case"]: one.labels["value"] for one in families["test_hostile"].samples}
    assert values == {"0": '"quoted"', "1": "line\nbreak", "2": "back\\slash\\", "3": "\\n", "4": "\r\t\x01\x7f", "5": "not \ufffd\ufffd UTF-8",
                      "6": "} 7\n# EOF", "7": "\ufeff", "8": "\u65e5\u672c"}


class Served(http.server.BaseHTTPRequestHandler):
    """Serves exposition_tool's OpenMetrics, for its exemplars."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("content-type", OPENMETRICS)
        self.end_headers()
        self.wfile.write(self.server.text)

    def log_message(self, *_):
        pass


def test_prometheus_scrapes_what_was_measured(observed, tmp_path):
    tool = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Served)
    tool.text = exposition("openmetrics")
    threading.Thread(target=tool.serve_forever, daemon=True).start()
    targets = {"service": observed.address, "tool": f"127.0.0.1:{tool.server_port}"}
    try:
        with prometheus.Prometheus(tmp_path, targets, flags=["--enable-feature=exemplar-storage"]) as scraper:
            scraper.wait_for_scrapes()
            value = lambda text: sum(number for _, number in scraper.query(text))  # noqa: E731
            method = 'job="service",grpc_method="movie.MovieService/AddMovie"'
            assert value(f"grpc_server_call_started_total{{{method}}}") == 4 * CALLS
            for status, calls in (("OK", 2 * CALLS), ("INVALID_ARGUMENT", CALLS), ("UNAVAILABLE", CALLS)):
                assert value(f'grpc_server_call_duration_seconds_count{{{method},grpc_status="{status}"}}') == calls, status
            assert value(f"grpc_client_attempt_started_total{{{method}}}") == 4 * CALLS
            assert value(f"grpc_client_call_duration_seconds_count{{{method}}}") == 3 * CALLS
            assert value(f'grpc_client_call_retries_bucket{{{method},le="1.0"}}') == CALLS
            assert value('target_info{job="service",service_name="movies",telemetry_sdk_name="coracle"}') == 1
            assert len(scraper.query('test_hostile{job="tool"}')) == 9
            stored = scraper.ask("query_exemplars", query='{job="tool"}', start=0, end=4102444800)
            names = {one["seriesLabels"]["__name__"] for one in stored}
            assert {"grpc_server_call_duration_seconds_bucket", "grpc_server_call_started_total"} <= names
            assert {two["labels"]["trace_id"] for one in stored for two in one["exemplars"]} == {"ab" * 16}
    finally:
        tool.shutdown()


def test_the_client_chooses_the_format(observed):
    for accept, kind in (("", TEXT), ("*/*", TEXT), ("application/openmetrics-text", OPENMETRICS), ("image/png", TEXT)):
        response, body = observed.get(accept=accept)
        assert (response.status, response.getheader("content-type")) == (200, kind), accept
        assert body.endswith(b"\n# EOF\n") == (kind == OPENMETRICS)


def test_the_text_is_compressed_for_clients_that_accept_it(observed):
    plain, text = observed.get()
    packed, body = observed.get(accept_encoding="gzip")
    assert (plain.getheader("content-encoding"), packed.getheader("content-encoding")) == (None, "gzip")
    assert gzip.decompress(body).startswith(b"# TYPE target_info gauge\n") and len(body) < len(text) / 5
    assert observed.get(accept_encoding="gzip;q=0")[0].getheader("content-encoding") is None
    for accepted, used in (("zstd, gzip", "zstd"), ("gzip, zstd", "zstd"), ("gzip, zstd;q=0.5", "gzip")):
        assert observed.get(accept_encoding=accepted)[0].getheader("content-encoding") == used, accepted
    small = observed.get(accept_encoding="zstd")[1]
    assert small.startswith(b"\x28\xb5\x2f\xfd") and len(small) < len(text) / 5


def test_head_has_no_body(observed):
    response, body = observed.get(method="HEAD")
    assert (response.status, body) == (200, b"") and int(response.getheader("content-length")) > 1000


def test_a_proxy_gets_nothing_without_permission(observed):
    response, body = observed.get(x_forwarded_for="192.0.2.1")
    assert response.status == 403 and b"metrics_options::authorize" in body
    assert observed.get(host="evil.example")[0].status >= 400, "a page that has changed its address (DNS rebinding)"


def test_a_port_of_its_own_serves_the_metrics_and_nothing_else(tmp_path):
    with Observed(f"--metrics=127.0.0.1:{(port := prometheus.free_port())}") as program:
        assert program.get()[0].status == 404
        program.port = port
        response, body = program.get(x_forwarded_for="192.0.2.1")
        assert response.status == 200 and b"grpc_server_call_started_total" in body
        assert program.stop() == 0


def test_too_many_series_are_refused_with_their_number():
    with Observed("--series=3000", "--series-max=2000") as program:
        response, body = program.get()
        assert response.status == 503 and b" series, limit 2000 " in body and int(body.split()[3]) > 3000, body
