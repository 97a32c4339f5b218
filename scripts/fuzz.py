#!/usr/bin/env python3
"""Runs the fuzzers, which the preset asan builds; tests/fuzz/smoke_test.py runs each for a second.

    fuzz.py NAME [SECONDS]    one for long (600 s unless told); what it learns goes to build/fuzz/learned/NAME
    fuzz.py keep NAME         merges what was learned into tests/fuzz/corpus/NAME.zip
"""

import base64
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
BIN = ROOT / "build/asan/bin"
LEARNED = ROOT / "build/fuzz/learned"
CORPUS = ROOT / "tests/fuzz/corpus"
UNPACKED = ROOT / "build/fuzz/corpus"
CANARY = "canary"


def names():
    return sorted(path.name.removesuffix("_fuzz.cpp") for path in ROOT.glob("tests/fuzz/*_fuzz.cpp"))


def unpacked(name):
    """A folder with the inputs of the corpus, which may be none."""
    folder, archive = UNPACKED / name, CORPUS / f"{name}.zip"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if archive.exists():
        with zipfile.ZipFile(archive) as inputs:
            inputs.extractall(folder)
    return folder


def pack(name):
    """The same inputs make the same archive: their order and times are fixed."""
    with zipfile.ZipFile(CORPUS / f"{name}.zip", "w") as archive:
        for path in sorted((UNPACKED / name).iterdir()):
            archive.writestr(zipfile.ZipInfo(path.name), path.read_bytes(), zipfile.ZIP_DEFLATED, compresslevel=9)


def keep(name):
    code = subprocess.run([str(BIN / f"{name}_fuzz"), "-merge=1", str(unpacked(name)), str(LEARNED / name)]).returncode
    if code == 0:
        pack(name)
    return code


def command(name, *options):
    learned, found = LEARNED / name, ROOT / "build/fuzz/found"
    learned.mkdir(parents=True, exist_ok=True)
    found.mkdir(parents=True, exist_ok=True)
    return [str(BIN / f"{name}_fuzz"), *options, f"-artifact_prefix={found}/{name}-", "-rss_limit_mb=2048",
            "-timeout=10", str(learned), str(unpacked(name))]


def described(path):
    """A found input in a form that can be copied out of a log."""
    content = path.read_bytes()
    whole = len(content) <= 2048
    return f"{path.name}, {len(content)} bytes, base64{'' if whole else ' of the first 2048'}: {base64.b64encode(content[:2048]).decode()}"


def smoke_one(name):
    """Why the smoke run of a fuzzer is no success; None when it is."""
    seconds = 30 if name == CANARY else 1  # the canary stops as soon as it finds its bug
    try:
        run = subprocess.run(command(name, f"-max_total_time={seconds}", "-print_final_stats=1"),
                             capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, timeout=120)
    except FileNotFoundError:
        return "it was not built"
    except subprocess.TimeoutExpired:
        return "it hangs"
    if name == CANARY:
        return None if "deadly signal" in run.stderr else "the rig does not find a bug that is there"
    if run.returncode != 0:
        lines = [line for line in run.stderr.splitlines() if "ERROR" in line or "runtime error" in line]
        inputs = re.findall(r"Test unit written to (\S+)", run.stderr)
        return "; ".join(lines)[:300] + "".join(f"; {described(pathlib.Path(path))}" for path in inputs) or f"exit code {run.returncode}"
    return None if "stat::number_of_executed_units" in run.stderr else "it executed nothing"


def main(arguments):
    keeps = arguments[:1] == ["keep"]
    name, *rest = arguments[1:] if keeps else arguments or [""]
    if name not in names():
        print(__doc__ + "\nfuzzers: " + " ".join(names()), file=sys.stderr)
        return 2
    if keeps:
        return keep(name)
    return subprocess.run(command(name, f"-max_total_time={rest[0] if rest else 600}")).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
