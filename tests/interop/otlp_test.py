"""What a server exports by OTLP, decoded by opentelemetry-proto."""

import math
import time

import pytest

from programs import Server, own

pytest.importorskip("grpc", reason="./dev peers installs it")
pytest.importorskip("opentelemetry.proto", reason="./dev peers installs it")

from otlp_collector import Collector  # noqa: E402

DELTA, CUMULATIVE = 1, 2
METHOD = "echo.Echo/Say"
LATENCY_BOUNDS = 41
SIZE_BOUNDS = 14


class Exporting(Server):
    """otlp_server with variables of its environment, and what it has exported when it has ended."""

    def __init__(self, collector, protocol, **variables):
        super().__init__(own("otlp_server"), env={
            "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url(protocol), "OTEL_EXPORTER_OTLP_PROTOCOL": protocol, "CORACLE_LOG": "info",
            **variables})

    def end(self):
        assert self.stop() == 0, " | ".join(self.all_said())


def exported(collector, protocol, **variables):
    """The metrics of a server whose exporter works when it ends, once, by name, and the export."""
    with Exporting(collector, protocol, **variables) as server:
        server.end()
    (export,) = [one for one in collector.exports if one.signal == "metrics"]
    return by_name(export), export


def by_name(export):
    (of_resource,) = export.message.resource_metrics
    (of_scope,) = of_resource.scope_metrics
    names = [metric.name for metric in of_scope.metrics]
    assert len(set(names)) == len(names), "two metrics have one name"
    return {metric.name: metric for metric in of_scope.metrics}


def records(export):
    """The log records of an export."""
    return [record for of_resource in export.message.resource_logs for of_scope in of_resource.scope_logs for record in of_scope.log_records]


def labels(point):
    return {one.key: one.value.string_value for one in point.attributes}


def point_of(points, **wanted):
    (found,) = [point for point in points if wanted.items() <= {key.replace(".", "_"): value for key, value in labels(point).items()}.items()]
    return found


@pytest.fixture(params=["grpc", "http/protobuf"])
def protocol(request):
    return request.param


@pytest.fixture
def collector():
    with Collector() as one:
        yield one


def test_calls_arrive_with_their_labels_and_times(collector, protocol):
    began_ns = time.time_ns()
    metrics, _ = exported(collector, protocol)
    duration = metrics["grpc.server.call.duration"]
    assert (duration.unit, bool(duration.description)) == ("s", True)
    assert duration.histogram.aggregation_temporality == CUMULATIVE
    point = point_of(duration.histogram.data_points, grpc_method=METHOD, grpc_status="OK")
    assert point.count == 3 and sum(point.bucket_counts) == 3
    assert len(point.explicit_bounds) == LATENCY_BOUNDS and len(point.bucket_counts) == LATENCY_BOUNDS + 1
    assert point.sum < 3
    assert began_ns - 10**9 <= point.start_time_unix_nano <= point.time_unix_nano <= time.time_ns() + 10**9
    assert point_of(duration.histogram.data_points, grpc_method=METHOD, grpc_status="NOT_FOUND").count == 1
    calls = metrics["grpc.client.call.duration"].histogram.data_points
    assert 0 < point_of(calls, grpc_method=METHOD, grpc_status="OK").sum < 3
    sizes = metrics["grpc.client.attempt.sent_total_compressed_message_size"].histogram.data_points
    assert len(point_of(sizes, grpc_status="OK").explicit_bounds) == SIZE_BOUNDS
    assert point_of(sizes, grpc_status="OK").sum == 3 * 7  # "hello" with its tag and its length
    started = metrics["grpc.client.attempt.started"]
    assert started.sum.is_monotonic and started.sum.aggregation_temporality == CUMULATIVE
    (attempts,) = started.sum.data_points
    assert attempts.as_double == 4 and labels(attempts)["grpc.target"].startswith("dns:///127.0.0.1:")


def test_each_kind_of_instrument_has_its_kind_of_data(collector, protocol):
    metrics, _ = exported(collector, protocol)
    uploads = metrics["test.uploads"]
    assert (uploads.description, uploads.unit, uploads.sum.is_monotonic) == ("Files that clients uploaded.", "{file}", True)
    assert {labels(point)["format"]: point.as_double for point in uploads.sum.data_points} == {"jpeg": 3, "p": 2}
    present = metrics["test.present"].sum
    assert not present.is_monotonic and present.aggregation_temporality == CUMULATIVE
    assert [point.as_double for point in present.data_points] == [3]
    (newest,) = metrics["test.newest"].gauge.data_points
    assert (newest.as_double, newest.start_time_unix_nano) == (7.5, 0)
    assert metrics["coracle.loop.iterations"].sum.data_points[0].as_double > 0


def test_the_resource_describes_the_program(collector, protocol):
    _, export = exported(collector, protocol)
    resource = {one.key: one.value for one in export.message.resource_metrics[0].resource.attributes}
    assert resource["service.name"].string_value == "unknown_service:otlp_server"
    assert len(resource["service.instance.id"].string_value) == 36
    assert resource["telemetry.sdk.language"].string_value == "cpp"
    assert resource["telemetry.sdk.name"].string_value == "coracle"
    assert resource["host.name"].string_value and resource["process.pid"].int_value > 0
    scope = export.message.resource_metrics[0].scope_metrics[0].scope
    assert (scope.name, bool(scope.version)) == ("coracle", True)


def test_the_environment_names_the_service_headers_and_compression(collector, protocol):
    metrics, export = exported(
        collector, protocol, OTEL_SERVICE_NAME="movies", OTEL_RESOURCE_ATTRIBUTES="service.name=x,team=a%20b%2Cc",
        OTEL_EXPORTER_OTLP_HEADERS="X-Key=a%3Db", OTEL_EXPORTER_OTLP_COMPRESSION="gzip")
    resource = {one.key: one.value.string_value for one in export.message.resource_metrics[0].resource.attributes}
    assert (resource["service.name"], resource["team"]) == ("movies", "a b,c")
    assert export.headers["x-key"] == "a=b" and export.headers["user-agent"].startswith("OTel-OTLP-Exporter-Cpp/")
    assert "test.uploads" in metrics
    if protocol != "grpc":
        assert export.headers["content-encoding"] == "gzip" and len(export.body) < len(export.message.SerializeToString()) / 2


def test_exponential_histograms_have_the_values(collector, protocol):
    metrics, _ = exported(
        collector, protocol,
        OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION="base2_exponential_bucket_histogram")
    sizes = metrics["grpc.server.call.rcvd_total_compressed_message_size"].exponential_histogram
    assert sizes.aggregation_temporality == CUMULATIVE
    point = point_of(sizes.data_points, grpc_status="OK")
    assert (point.count, point.sum, point.zero_count) == (3, 21, 0)
    (index,) = [point.positive.offset + i for i, n in enumerate(point.positive.bucket_counts) if n]
    base = 2 ** (2 ** -point.scale)
    assert base ** index < 7 * (1 + 1e-9) and 7 <= base ** (index + 1) * (1 + 1e-9), (index, point.scale)
    assert math.isclose(math.log2(7) * 2 ** point.scale, index, abs_tol=2)
    assert point_of(sizes.data_points, grpc_status="NOT_FOUND").zero_count == 1


def test_deltas_add_up_to_the_totals(collector, protocol):
    with Exporting(collector, protocol, OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE="delta", OTEL_METRIC_EXPORT_INTERVAL="50") as server:
        collector.wait_for("metrics", lambda export: "test.uploads" in by_name(export))
        time.sleep(0.3)  # sleeps on purpose: some more exports, in which nothing has come
        server.end()
    exports = [by_name(export) for export in collector.exports if export.signal == "metrics"]
    assert len(exports) >= 3
    calls = [point for one in exports if "grpc.server.call.started" in one for point in one["grpc.server.call.started"].sum.data_points]
    assert sum(point.as_double for point in calls) == 4
    assert all(one["grpc.server.call.started"].sum.aggregation_temporality == DELTA for one in exports if "grpc.server.call.started" in one)
    assert all(one["test.present"].sum.aggregation_temporality == CUMULATIVE for one in exports if "test.present" in one)
    assert sum("test.uploads" in one for one in exports) == 1, "a counter without new values was exported again"
    # A difference begins where the last one ended.
    turns = [one["coracle.loop.iterations"].sum.data_points[0] for one in exports if "coracle.loop.iterations" in one]
    assert all(later.start_time_unix_nano == earlier.time_unix_nano for earlier, later in zip(turns, turns[1:]))


def test_low_memory_keeps_the_totals_of_what_is_read(collector, protocol):
    metrics, _ = exported(collector, protocol, OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE="lowmemory")
    assert metrics["coracle.loop.iterations"].sum.aggregation_temporality == CUMULATIVE
    assert metrics["test.uploads"].sum.aggregation_temporality == DELTA
    assert metrics["grpc.server.call.duration"].histogram.aggregation_temporality == DELTA


def test_log_lines_arrive_with_fields_and_trace(collector, protocol):
    with Exporting(collector, protocol, OTEL_METRICS_EXPORTER="none", OTEL_EXPORTER_OTLP_LOGS_HEADERS="x-key=logs",
                   OTEL_BLRP_SCHEDULE_DELAY="10") as server:
        export = collector.wait_for("logs", lambda one: any(record.body.string_value == "the server is ready" for record in records(one)))
        server.end()
    assert export.headers["x-key"] == "logs"
    (line,) = [record for record in records(export) if record.body.string_value == "the server is ready"]
    assert (line.severity_number, line.severity_text) == (13, "warning")
    attributes = {one.key: one.value for one in line.attributes}
    assert attributes["coracle.room"].string_value == "application"
    assert attributes["calls"].int_value == 4 and attributes["bytes"].string_value == "p\ufffd"
    assert line.trace_id.hex() == "ab" + 30 * "0" and line.span_id.hex() == "cd" + 14 * "0" and line.flags == 1
    assert abs(line.time_unix_nano - time.time_ns()) < 60e9 and line.observed_time_unix_nano == line.time_unix_nano
    resource = {one.key: one.value.string_value for one in export.message.resource_logs[0].resource.attributes}
    assert resource["service.name"] == "unknown_service:otlp_server"
    assert {one.signal for one in collector.exports} == {"logs"}


def test_a_disabled_exporter_sends_nothing(collector, protocol):
    with Exporting(collector, protocol, OTEL_SDK_DISABLED="true") as server:
        server.end()
    assert not collector.exports


def test_tls_verifies_the_collector(certificates, protocol):
    with Collector(secure=(certificates.server, certificates.server_key)) as secure:
        metrics, _ = exported(secure, protocol, OTEL_EXPORTER_OTLP_CERTIFICATE=str(certificates.ca))
        assert "test.uploads" in metrics
        before = len(secure.exports)
        with Exporting(secure, protocol) as server:  # the CA of the tests is none of the system's
            server.end()
        assert len(secure.exports) == before
        assert any("does not accept metrics" in line for line in server.all_said())


def test_the_exit_of_the_program_does_not_wait_for_a_collector_that_is_gone(protocol):
    with Collector() as gone:
        pass
    began = time.monotonic()
    with Exporting(gone, protocol) as server:
        server.end()
    assert time.monotonic() - began < 5
    assert any("does not accept metrics" in line for line in server.all_said())
