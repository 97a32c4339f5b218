#!/usr/bin/env python3
"""Compiles each public header alone, by the target header_selfcheck of the release build; a case per header."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]


def main():
    build = subprocess.run(["cmake", "--build", "--preset", "release", "--target", "header_selfcheck", "--", "-k", "0"],
                           cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    broken = {name.replace("-", "/") for name in re.findall(r"^FAILED: \S*/headers/(\S+)\.cpp\.o", build.stdout, re.M)}
    if build.returncode != 0:
        print(build.stdout)
    headers = sorted(str(path.relative_to(ROOT / "include")) for path in ROOT.glob("include/coracle/**/*.hpp"))
    for header in headers:
        print(f"FAIL {header}: does not compile alone" if header in broken else f"PASS {header}")
    return build.returncode


if __name__ == "__main__":
    sys.exit(main())
