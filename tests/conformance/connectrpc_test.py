"""connectrpc's conformance suite against conformance_server and conformance_client, on both backends, and its gRPC part against a
server on grpc++'s API, which has no JSON.

CORACLE_CONNECTRPC_RUN="**/bidi-stream/**" runs the cases whose names match, instead of all.
"""

import os
import pathlib
import re

import pytest

from programs import own, peer, run

CONFIGURATION = pathlib.Path(__file__).with_name("connectrpc.yaml")
# As many as the suite has for this configuration: a configuration that lost some must not pass.
WANTED = {"server": 3820, "client": 4862}
# The same with every encoding that the suite knows; once, since the backends do not see them.
EVERY_ENCODING = "[" + ", ".join(f"COMPRESSION_{name}" for name in ("IDENTITY", "GZIP", "BR", "ZSTD", "DEFLATE", "SNAPPY")) + "]"
WANTED_OF_EVERY_ENCODING = {"client": 13094, "server": 10756}
ON_GRPCPPS_API = """features:
  versions: [HTTP_VERSION_2]
  protocols: [PROTOCOL_GRPC]
  codecs: [CODEC_PROTO]
  compressions: [COMPRESSION_IDENTITY, COMPRESSION_GZIP]
  supportsTlsClientCerts: true
"""
WANTED_ON_GRPCPPS_API = 570
LIMIT_S = 300
TOTAL = re.compile(r"^Total cases: (\d+)\s+(\d+) passed, (\d+) failed", re.M)
PATTERNS = os.environ.get("CORACLE_CONNECTRPC_RUN", "").split()

pytestmark = pytest.mark.timeout(LIMIT_S + 20)


def every_case_passes(configuration, mode, wanted, backend, program=None):
    chosen = [word for pattern in PATTERNS for word in ("--run", pattern)]
    done = run(peer("connectconformance"), "--conf", configuration, "--mode", mode, *chosen, "--", own(program or f"conformance_{mode}"),
               limit_s=LIMIT_S, env={"CORACLE_BACKEND": backend})
    said = done.stdout + done.stderr
    found = TOTAL.search(said)
    assert found, f"the suite gives no score: {said.strip()[-300:]}"
    failed = re.findall(r"^FAILED: .*(?:\n[\t ].*)*", said, re.M)
    print("\n".join(failed))
    assert not failed and done.returncode == 0, f"{found[2]} of {found[1]} cases pass; first {failed[:1]}"
    assert found[1] == found[2], "what passes of all"
    if not PATTERNS:
        assert int(found[1]) == wanted, "the number of cases"


# The longest first: ./dev test runs two at a time.
@pytest.mark.parametrize(("mode", "wanted"), WANTED_OF_EVERY_ENCODING.items())
def test_every_case_passes_with_every_encoding(mode, wanted, tmp_path):
    chosen = tmp_path / "every_encoding.yaml"
    chosen.write_text(re.sub(r"compressions: .*", f"compressions: {EVERY_ENCODING}", CONFIGURATION.read_text()))
    every_case_passes(chosen, mode, wanted, "auto")


@pytest.mark.parametrize(("mode", "wanted"), WANTED.items())
def test_every_case_passes(mode, wanted, backend):
    every_case_passes(CONFIGURATION, mode, wanted, backend)


def test_every_case_of_grpc_passes_on_grpcpps_api(backend, tmp_path):
    chosen = tmp_path / "grpc.yaml"
    chosen.write_text(ON_GRPCPPS_API)
    every_case_passes(chosen, "server", WANTED_ON_GRPCPPS_API, backend, "grpcpp_conformance_server")
