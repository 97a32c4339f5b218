"""What telemetry costs a server: CPU time per unary call of 100 bytes without it, with metrics and with traces, beside grpc-go's
plugin for OpenTelemetry, interleaved in one run."""

import pathlib
import shutil
import tempfile

from harness import machine, peers, unary
from harness.servers import Kind
from harness.tables import noise, ratios, row, spread, table, values

SECONDS = 2.0
OURS, GO = "coracle", "grpc-go"
WAYS = {OURS: {"plain": "plain", "metrics": "metrics", "unsampled": "metrics and traces, none sampled",
               "sampled": "metrics and traces, 1 % sampled"},
        GO: {"plain": "plain", "metrics": "metrics", "traces": "metrics and traces, 1 % sampled"}}
PROGRAMS = {OURS: "bin/bench_observed_greeter", GO: "peers/go/observed"}
NOTE = ("grpc++ is not in the tables: Debian 12 has version 1.51, which has no plugin for OpenTelemetry. Spans are batched and then "
        "dropped, and no metrics are scraped.")


def name_of(library, way):
    return f"{library}, {WAYS[library][way]}"


def kinds():
    return [Kind(name_of(library, way), PROGRAMS[library], way) for library, ways in WAYS.items() for way in ways]


def run(chosen):
    if not shutil.which("h2load"):
        raise machine.Failure("there is no h2load; fix: apt-get install nghttp2-client")
    some = peers.chosen_among(kinds(), chosen)
    peers.build(some, chosen.build)
    chosen.seconds = chosen.seconds or SECONDS
    columns, runs = chosen.columns.split(","), []
    with tempfile.TemporaryDirectory() as folder:
        body = pathlib.Path(folder) / "body"
        body.write_bytes(unary.BODY)
        for number in range(chosen.rounds):
            for column in columns:
                runs += ({"round": number, **unary.measure(one, column, chosen, body)} for one in some)
    return {"servers": [one.name for one in some], "columns": columns, "seconds": chosen.seconds, "rounds": chosen.rounds, "runs": runs}


def report(result):
    def us(server, column):
        return spread(values(result, server, column, "us_per_request"), lambda x: f"{x:.2f}")

    def share(server, column):
        plain = name_of(OURS if server.startswith(OURS) else GO, "plain")
        return spread(ratios(result, server, plain, column), lambda x: f"{x:.3f}") or "-"

    observed = [name for name in result["servers"] if not name.endswith(", plain")]
    return "\n".join((
        "", f"## Telemetry: CPU time of a server per unary call of 100 bytes; {result['rounds']} rounds of {result['seconds']:g} s, "
        "median (min to max)", "",
        *table("CPU, us", result["servers"], result["columns"], us),
        row("noise band", (f"± {100 * noise(result, column):.1f} %" for column in result["columns"])), "",
        *table("relative to the same library without telemetry, round by round", observed, result["columns"], share), "", NOTE))
