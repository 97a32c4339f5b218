"""The collector of OpenTelemetry takes what a server exports. Its modules take minutes to compile, so only the whole run does."""

import json
import re
import socket

import pytest

import peers
from programs import Background, Server, own

READY = re.compile("Everything is ready")
CONFIGURATION = """
receivers:
  otlp:
    protocols:
      grpc: {{endpoint: "127.0.0.1:{grpc}"}}
      http: {{endpoint: "127.0.0.1:{http}"}}
exporters:
  file: {{path: "{path}"}}
service:
  telemetry: {{metrics: {{level: none}}}}
  pipelines:
    metrics: {{receivers: [otlp], exporters: [file]}}
    traces: {{receivers: [otlp], exporters: [file]}}
    logs: {{receivers: [otlp], exporters: [file]}}
"""


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Collector:
    """The program, with the file that it writes."""

    def __init__(self, folder):
        self.ports = {"grpc": free_port(), "http/protobuf": free_port()}
        self.path = folder / "received.json"
        configuration = folder / "collector.yaml"
        configuration.write_text(CONFIGURATION.format(grpc=self.ports["grpc"], http=self.ports["http/protobuf"], path=self.path))
        self.program = Background(peers.otlp_collector(), f"--config=file:{configuration}")
        self.program.wait_for(READY, 30)

    def end(self):
        """What it has received, of each line of its file, and what it has said."""
        assert self.program.stop() == 0
        return [json.loads(line) for line in self.path.read_text().splitlines()], " | ".join(self.program.all_said())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.program.__exit__()


@pytest.fixture
def collector(tmp_path):
    try:
        peers.otlp_collector()
    except peers.Missing as reason:
        pytest.skip(str(reason))
    with Collector(tmp_path) as one:
        yield one


@pytest.mark.timeout(peers.INSTALL_TIMEOUT_S)
@pytest.mark.parametrize("compression", ["none", "gzip"])
@pytest.mark.parametrize("protocol", ["grpc", "http/protobuf"])
def test_the_collector_takes_metrics_and_logs(collector, protocol, compression):
    with Server(own("otlp_server"), env={"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{collector.ports[protocol]}",
                                         "OTEL_EXPORTER_OTLP_PROTOCOL": protocol, "OTEL_EXPORTER_OTLP_COMPRESSION": compression,
                                         "OTEL_SERVICE_NAME": "movies"}) as server:
        assert server.stop() == 0
        assert not any("OTLP" in line or "collector" in line for line in server.all_said()), server.all_said()
    received, said = collector.end()
    assert "\terror\t" not in said, said
    metrics = {metric["name"]: metric for line in received for one in line.get("resourceMetrics", []) for scope in one["scopeMetrics"]
               for metric in scope["metrics"]}
    duration = metrics["grpc.server.call.duration"]
    counts = {point["attributes"][1]["value"]["stringValue"]: int(point["count"]) for point in duration["histogram"]["dataPoints"]}
    assert counts == {"OK": 3, "NOT_FOUND": 1}
    assert duration["unit"] == "s" and duration["histogram"]["aggregationTemporality"] == 2
    assert {point["asDouble"] for point in metrics["test.uploads"]["sum"]["dataPoints"]} == {2, 3}
    lines = {record["body"]["stringValue"]: record for line in received for one in line.get("resourceLogs", [])
             for scope in one["scopeLogs"] for record in scope["logRecords"]}
    ready = lines["the server is ready"]
    assert ready["severityNumber"] == 13 and ready["traceId"] == "ab" + 30 * "0" and ready["spanId"] == "cd" + 14 * "0"
    assert {"key": "calls", "value": {"intValue": "4"}} in ready["attributes"]
    (resource,) = [one["resource"] for line in received for one in line.get("resourceMetrics", [])]
    assert {"key": "service.name", "value": {"stringValue": "movies"}} in resource["attributes"]
