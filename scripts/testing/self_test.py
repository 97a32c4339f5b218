#!/usr/bin/env python3
"""Proves that the test runner sees what goes wrong: failures, crashes, hangs, silence, missing peers, stale samples."""

import contextlib
import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from cases import run_cases  # noqa: E402
from gtest import run_gtest  # noqa: E402
from process import log_of, run  # noqa: E402
import sim  # noqa: E402


def counts(outcome):
    return outcome.passed, len(outcome.failed), len(outcome.left_out)


def script(folder, text):
    path = pathlib.Path(folder, "planted.sh")
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return path


def cases_of(folder, text, timeout_s=20, skips_fail=False):
    return counts(run_cases("self-test", [script(folder, text)], timeout_s, {}, skips_fail))


def gtest_of(folder, text, timeout_s=20):
    """Runs a stand-in for a GoogleTest program: it finds its report's path in $REPORT."""
    head = 'REPORT=${1#--gtest_output=json:}\n'
    return counts(run_gtest("self-test", [script(folder, head + text)], timeout_s, {}))


REPORT = """echo '{"testsuites": [{"name": "Frame", "testsuite": [
  {"name": "Good", "status": "RUN", "result": "COMPLETED"},
  {"name": "Bad", "status": "RUN", "result": "COMPLETED", "failures": [{"failure": "frame_test.cpp:7"}]},
  {"name": "Off", "status": "RUN", "result": "SKIPPED"}]}]}' > "$REPORT"
"""
LISTED = """echo '[ RUN      ] Frame.Off'; echo 'frame_test.cpp:9: Skipped'; echo 'this build takes frames from the heap'; echo '[  SKIPPED ] Frame.Off'
"""
ALL_GOOD = """echo '{"testsuites": [{"name": "Frame", "testsuite": [
  {"name": "Good", "status": "RUN", "result": "COMPLETED"}]}]}' > "$REPORT"
"""


def sample(folder, shown):
    pathlib.Path(folder, "server.cpp").write_text("// [part]\nint answer = 42;\n// [/part]\n")
    pathlib.Path(folder, "README.md").write_text(f"<!-- sample: server.cpp#part -->\n```cpp\n{shown}\n```\n")
    return subprocess.run([sys.executable, HERE.parent / "samples.py", folder], capture_output=True).returncode


def misuse(folder, expect, code):
    path = pathlib.Path(folder, "misuse/planted.cpp")
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"// expect: {expect}\n{code}\n")
    return subprocess.run([sys.executable, HERE.parent / "compile_fail.py", path.parent], capture_output=True).returncode


def tasks_in_log_of_hang(folder):
    """What hangs is asked what its tasks wait for, and gets to say it; tests/runner has the real thing."""
    hang = script(folder, "trap 'echo a task waits here' USR1; while :; do sleep 0.1; done\n")
    return "a task waits here" in run([hang], log_of("self-test"), 0.5).text


def left_by_a_crash(folder):
    """A temporary file whose program does not live to remove it, and whether its name is that of a file at all."""
    leaves = script(folder, 'echo "made $(mktemp)"; kill -KILL $$\n')
    made = re.search(r"made (/\S+)", run([leaves], log_of("self-test"), 20).text)
    return bool(made), bool(made) and pathlib.Path(made[1]).exists()


def sim_of(folder, text, seeds=1000):
    """Two processes of a stand-in for sim_swarm, which finds its first seed in $2 and their count in $4."""
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        good = sim.play(script(folder, text), 1, seeds, 2, [])
    return good, "not one of" in told.getvalue()


SWARM = 'echo "TALLY calls $4 seeds"; echo "TALLY calls 0 drained"; '


def planted(folder):
    yield "CasesAreCounted", cases_of(folder, "echo PASS a; echo PASS b; echo SKIP c: no Go; exit 0"), (2, 0, 1)
    yield "AFailedCaseIsCountedOnce", cases_of(folder, "echo PASS a; echo 'FAIL b: why'; exit 1"), (1, 1, 0)
    yield "AFailedCaseCountsThoughTheScriptExitsWell", cases_of(folder, "echo 'FAIL b: why'; exit 0"), (0, 1, 0)
    yield "ACrashAfterItsCasesIsAFailure", cases_of(folder, "echo PASS a; exit 3"), (1, 1, 0)
    yield "ASilentScriptIsAFailure", cases_of(folder, "exit 0"), (0, 1, 0)
    yield "AHangingScriptIsAFailure", cases_of(folder, "echo PASS a; sleep 60", timeout_s=0.3), (1, 1, 0)
    yield "AMissingPeerFailsWhereItMust", cases_of(folder, "echo SKIP c: no Go", skips_fail=True), (0, 1, 0)
    yield "TestsAreCounted", gtest_of(folder, LISTED + REPORT + "exit 1"), (1, 1, 1)
    yield "AReasonThatIsNotListedLeavesNoTestOut", gtest_of(
        folder, REPORT.replace("COMPLETED", "SKIPPED") + "exit 0"), (0, 3, 0)
    yield "ABadExitOfGoodTestsIsAFailure", gtest_of(folder, ALL_GOOD + "exit 1"), (1, 1, 0)
    yield "ACrashNamesTheTestThatItWasIn", gtest_of(
        folder, "echo '[ RUN      ] A.Good'; echo '[       OK ] A.Good (0 ms)'; echo '[ RUN      ] A.Bad'; kill -SEGV $$"), (1, 1, 0)
    yield "AHangingTestIsAFailure", gtest_of(folder, "echo '[ RUN      ] A.Slow'; sleep 60", timeout_s=0.3), (0, 1, 0)
    yield "AHangingTestIsAskedForItsTasks", tasks_in_log_of_hang(folder), True
    yield "TemporaryFilesGoWithTheirProgram", left_by_a_crash(folder), (True, False)
    yield "AMissingProgramIsAFailure", counts(run_gtest("self-test", [pathlib.Path(folder, "none")], 1, {})), (0, 1, 0)
    yield "AnEndSeenByOneProcessOfASwarmIsSeen", sim_of(
        folder, SWARM + '[ $2 = 1 ] || echo "TALLY calls 2 drained"; echo "PASS calls from here"'), (True, False)
    yield "AnEndThatNoProcessOfASwarmSawIsAFailure", sim_of(folder, SWARM + 'echo "PASS calls from here"'), (False, True)
    yield "AShortSwarmNeedNotSeeAllEnds", sim_of(folder, SWARM + 'echo "PASS calls from here"', seeds=10), (True, False)
    yield "AProcessOfASwarmThatDoesNotPassIsAFailure", sim_of(
        folder, SWARM + 'echo "TALLY calls 2 drained"; [ $2 = 1 ] || echo "PASS calls from here"'), (False, False)
    yield "AProcessOfASwarmThatDiesIsAFailure", sim_of(
        folder, SWARM + 'echo "TALLY calls 2 drained"; echo "PASS calls from here"; [ $2 = 1 ]'), (False, False)
    yield "ASilentSwarmIsAFailure", sim_of(folder, "exit 0"), (False, False)
    yield "ASampleThatIsTheSourcePasses", sample(folder, "int answer = 42;"), 0
    yield "AStaleSampleFails", sample(folder, "int answer = 41;"), 1
    yield "AMisuseThatIsRefusedPasses", misuse(folder, "must not", 'static_assert(false, "this must not be");'), 0
    yield "AMisuseThatCompilesFails", misuse(folder, "must not", "int x;"), 1
    yield "AMisuseRefusedForAnotherReasonFails", misuse(folder, "must not", "int x = ;"), 1
    yield "AMisuseWhoseRestDoesNotCompileFails", misuse(
        folder, "must not", 'int x = ;\n#ifdef MISUSE\nstatic_assert(false, "this must not be");\n#endif'), 1


def main():
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for name, found, expected in planted(folder):
            failed |= found != expected
            print(f"PASS {name}" if found == expected else f"FAIL {name}: expected {expected}, found {found}")
    return 1 if failed else 0


if __name__ == "__main__":
    os.chdir(HERE)
    sys.exit(main())
