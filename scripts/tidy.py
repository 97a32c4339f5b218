#!/usr/bin/env python3
"""clang-tidy over the library's sources, as the preset asan compiles them: tidy.py [word...]"""

import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = ROOT / "build/asan"


def tidy(source):
    run = subprocess.run(["clang-tidy-19", "--quiet", "-p", str(BUILD), source], capture_output=True, text=True,
                         stdin=subprocess.DEVNULL)
    return source, run.returncode, run.stdout


def main(words):
    entries = json.loads((BUILD / "compile_commands.json").read_text())
    inside = (f"{ROOT}/src/", f"{ROOT}/codegen/")
    sources = sorted({entry["file"] for entry in entries if entry["file"].startswith(inside)})
    sources = [source for source in sources if not words or any(word in source for word in words)]
    failed = False
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for source, code, text in pool.map(tidy, sources):
            if code != 0:
                failed = True
                print(text)
    print(f"clang-tidy: {len(sources)} files, {'see above' if failed else 'nothing to fix'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
