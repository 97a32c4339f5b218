"""Runs GoogleTest programs, in shards, and counts their cases; a crash or a hang names the test that it was in."""

import json
import re
import shutil
import subprocess

import left_out
from outcome import Outcome
from process import Run, log_of


def without_aslr():
    """GCC 12's AddressSanitizer cannot live with the address randomisation of newer kernels."""
    if shutil.which("setarch") and subprocess.run(["setarch", "-R", "true"], capture_output=True).returncode == 0:
        return ["setarch", "-R"]
    return []


def run_gtest(suite, programs, timeout_s, env, shards=1, prefix=()):
    """All shards of all programs run at once: most tests wait more than they work."""
    missing = [(program.name, "was not built") for program in programs if not program.exists()]
    if missing:
        return Outcome(suite, failed=missing)
    outcome = Outcome(suite)
    runs = []
    for program in programs:
        for shard in range(shards):
            log = log_of(f"{suite}-{program.name}" + (f".{shard}" if shards > 1 else ""))
            report = log.with_suffix(".json")
            report.unlink(missing_ok=True)
            shard_env = {"GTEST_TOTAL_SHARDS": str(shards), "GTEST_SHARD_INDEX": str(shard)} if shards > 1 else {}
            command = [*prefix, program, f"--gtest_output=json:{report}", "--gtest_color=no"]
            runs.append((Run(command, log, timeout_s, {**env, **shard_env}), report))
    for one, report in runs:
        one.wait()
        failed_before = len(outcome.failed)
        add(outcome, one, report)
        outcome.seconds = max(outcome.seconds, one.seconds)
        if len(outcome.failed) > failed_before or not outcome.log:
            outcome.log = one.log
    return outcome


def add(outcome, one, report):
    """A whole report is believed; without one the printed lines are counted, and the end is a failure."""
    try:
        suites = json.loads(report.read_text())["testsuites"]
    except (OSError, ValueError):
        add_from_log(outcome, one)
        return
    before = len(outcome.failed)
    for suite in suites:
        for case in suite["testsuite"]:
            name = f'{suite["name"]}.{case["name"]}'
            if case.get("failures"):
                outcome.failed.append((name, first_line(case["failures"][0]["failure"])))
            elif case["result"] == "SKIPPED":
                reason = skip_reason(one.text, name)
                if left_out.may_be(reason):
                    outcome.left_out.append((name, reason))
                else:
                    outcome.failed.append((name, f"left out, for a reason that is not in left_out.py: {reason}"))
            elif case["status"] == "RUN":
                outcome.passed += 1
    if one.code != 0 and len(outcome.failed) == before:
        outcome.failed.append(("the program's end", one.ended))


def add_from_log(outcome, one):
    begun = re.findall(r"^\[ RUN      \] (\S+)", one.text, re.M)
    passed = re.findall(r"^\[       OK \] (\S+)", one.text, re.M)
    broken = re.findall(r"^\[  FAILED  \] (\S+?),? (?:\(|where)", one.text, re.M)
    outcome.passed += len(passed)
    outcome.failed += [(name, "see the log") for name in dict.fromkeys(broken)]
    outcome.failed.append((begun[-1] if begun else "start", one.ended))


def first_line(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return " ".join(lines[:2])[:240]


def skip_reason(text, name):
    """What GTEST_SKIP() says: it stands behind a line of its own, whatever else the test has printed."""
    found = re.search(rf"^\[ RUN      \] {re.escape(name)}\n(.*?)^\[  SKIPPED \]", text, re.M | re.S)
    said = re.split(r"^\S+:\d+: Skipped\n", found[1], flags=re.M)[1:] if found else []
    lines = said[-1].splitlines() if said else []
    return lines[0] if lines and lines[0] else "skipped by the test"
