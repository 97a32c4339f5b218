#!/usr/bin/env python3
"""connectrpc's conformance suite against conformance_server and conformance_client, on both backends.

Alone with words it runs the cases whose names match them: connectrpc.py '**/bidi-stream/**'
"""

import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "interop"))

import stage  # noqa: E402
from stage import Cases, equal, expect, own, peer, run  # noqa: E402

CONFIGURATION = pathlib.Path(__file__).with_suffix(".yaml")
# As many as the suite has for this configuration: a configuration that lost some must not pass.
WANTED = {"server": 876, "client": 1052}
# The same with every encoding that the suite knows; once, since the backends do not see them.
EVERY_ENCODING = "[" + ", ".join(f"COMPRESSION_{name}" for name in ("IDENTITY", "GZIP", "BR", "ZSTD", "DEFLATE", "SNAPPY")) + "]"
WANTED_OF_EVERY_ENCODING = {"server": 2196, "client": 2708}
LIMIT_S = 120
TOTAL = re.compile(r"^Total cases: (\d+)\s+(\d+) passed, (\d+) failed", re.M)


def with_every_encoding(folder):
    chosen = pathlib.Path(folder, "every_encoding.yaml")
    chosen.write_text(re.sub(r"compressions: .*", f"compressions: {EVERY_ENCODING}", CONFIGURATION.read_text()))
    return chosen


def score(configuration, mode, backend, patterns):
    """Runs the suite in a mode; the cases that passed and all of them."""
    program = own(f"conformance_{mode}")
    chosen = [word for pattern in patterns for word in ("--run", pattern)]
    done = run(peer("connectconformance"), "--conf", configuration, "--mode", mode, *chosen, "--", program, limit_s=LIMIT_S,
               env={"CORACLE_BACKEND": backend})
    said = done.stdout + done.stderr
    found = TOTAL.search(said)
    expect(found, f"the suite gives no score: {said.strip()[-300:]}")
    failed = re.findall(r"^FAILED: .*(?:\n[\t ].*)*", said, re.M)
    if failed:
        print("\n".join(failed))
    expect(not failed and done.returncode == 0, f"{found[2]} of {found[1]} cases pass; first {failed[:1]}")
    return int(found[2]), int(found[1])


def every_case_passes(configuration, mode, wanted, backend, patterns):
    passed, total = score(configuration, mode, backend, patterns)
    print(f"{mode}, {backend}: {passed} of {total} cases pass")
    equal(passed, total, "what passes of all")
    if not patterns:
        equal(total, wanted, "the number of cases")


def main(patterns):
    cases = Cases()
    for backend in stage.backends():
        for mode, wanted in WANTED.items():
            cases.run(f"Connectrpc.{backend}.{mode.capitalize()}PassesEveryCase", every_case_passes, CONFIGURATION, mode, wanted,
                      backend, patterns)
    with tempfile.TemporaryDirectory() as folder:
        for mode, wanted in WANTED_OF_EVERY_ENCODING.items():
            cases.run(f"Connectrpc.{mode.capitalize()}PassesWithEveryEncoding", every_case_passes, with_every_encoding(folder),
                      mode, wanted, "auto", patterns)
    cases.end()


if __name__ == "__main__":
    main(sys.argv[1:])
