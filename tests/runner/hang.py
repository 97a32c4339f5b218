#!/usr/bin/env python3
"""A test that hangs is ended by the runner, and its log says which task waits where."""

import os
import pathlib
import re
import sys

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts/testing")]

from process import Run, log_of  # noqa: E402

PROGRAM = pathlib.Path(os.environ.get("CORACLE_BIN", ROOT / "build/release/bin"), "planted_hang")
TIMEOUT_S = 3  # more than it takes to come to the wait
DUMPED = re.compile(r"loop 0:   .*wait_for_nobody.* at planted_hang\.cpp:\d+")


def verdict(backend, one):
    if "[  SKIPPED ]" in one.text:
        return f"SKIP {backend}: the machine has none"
    if one.code is not None:
        return f"FAIL {backend}: it did not hang: {one.ended}"
    if not DUMPED.search(one.text):
        return f"FAIL {backend}: the log does not say what its task waits for: {one.log}"
    return f"PASS AHangOn-{backend}-SaysWhatItsTaskWaitsFor"


def main():
    runs = {backend: Run([PROGRAM, f"--gtest_filter=*/{backend}"], log_of(f"planted-hang.{backend}"), TIMEOUT_S)
            for backend in ("io_uring", "epoll")}
    told = [verdict(backend, one.wait()) for backend, one in runs.items()]
    print("\n".join(told))
    return 1 if any(line.startswith("FAIL") for line in told) else 0


if __name__ == "__main__":
    sys.exit(main())
