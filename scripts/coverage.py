#!/usr/bin/env python3
"""Line coverage per room: runs the tests of the preset coverage (built before) and adds up what they reached."""

import collections
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = ROOT / "build/coverage"
PROFILES = BUILD / "profiles"
RUNS = (("unit_tests", "auto"), ("e2e_tests", "io_uring"), ("e2e_tests", "epoll"))

sys.path.insert(0, str(ROOT / "tests/structure"))
sys.dont_write_bytecode = True

from rooms import room_of  # noqa: E402


def run_tests():
    """Runs each test program there is; true when all their tests passed."""
    passed = True
    PROFILES.mkdir(parents=True, exist_ok=True)
    for old in PROFILES.glob("*.profraw"):
        old.unlink()
    for program, backend in RUNS:
        path = BUILD / "bin" / program
        if not path.exists():
            continue
        env = os.environ | {"CORACLE_BACKEND": backend, "LLVM_PROFILE_FILE": f"{PROFILES}/{program}-{backend}-%p.profraw"}
        with open(PROFILES / f"{program}-{backend}.log", "wb") as log:
            code = subprocess.run([str(path)], env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, timeout=900).returncode
        if code != 0:
            print(f"{program} ({backend}) failed: see {os.path.relpath(log.name)}")
            passed = False
    return passed


def exported():
    merged = PROFILES / "all.profdata"
    raw = sorted(PROFILES.glob("*.profraw"))
    if not raw:
        sys.exit("no test ran, so there is no coverage; fix: ./dev build coverage")
    subprocess.run(["llvm-profdata-19", "merge", "-sparse", "-o", merged, *raw], check=True)
    programs = [str(BUILD / "bin" / name) for name in sorted({name for name, _ in RUNS}) if (BUILD / "bin" / name).exists()]
    objects = [word for program in programs[1:] for word in ("-object", program)]
    text = subprocess.run(["llvm-cov-19", "export", "-summary-only", f"-instr-profile={merged}", programs[0], *objects],
                          check=True, capture_output=True, text=True).stdout
    return json.loads(text)["data"][0]["files"]


def main():
    passed = run_tests()
    lines = collections.defaultdict(lambda: [0, 0])
    for file in exported():
        path = pathlib.Path(file["filename"])
        room = room_of(str(path.relative_to(ROOT))) if path.is_relative_to(ROOT) else None
        if room:
            summary = file["summary"]["lines"]
            for key in (room, "all rooms"):
                lines[key][0] += summary["covered"]
                lines[key][1] += summary["count"]
    for room, (covered, count) in sorted(lines.items(), key=lambda entry: (entry[0] == "all rooms", entry[0])):
        print(f"{room:<12} {covered:>6} of {count:>6} lines  {100 * covered / max(count, 1):5.1f} %")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
