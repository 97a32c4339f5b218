"""Configures and builds a preset, keeping going after an error so that one run shows them all."""

import re
import time

from outcome import Outcome
from process import BUILD, log_of, run

BUILD_TIMEOUT_S = 40 * 60


def build(preset, targets=()):
    suite = f"build ({preset})"
    began, started = time.monotonic(), time.time()
    outcome = Outcome(suite)
    steps = [["cmake", "--preset", preset],
             ["cmake", "--build", "--preset", preset, *(["--target", *targets] if targets else []), "--", "-k", "0"]]
    for step in steps:
        one = run(step, log_of(f"{suite}-{'build' if '--build' in step else 'configure'}"), BUILD_TIMEOUT_S)
        outcome.log = one.log
        if one.code != 0:
            outcome.failed.append((preset, first_error(one.text) or one.ended))
            forget_older_programs(preset, started)
            break
    outcome.seconds = time.monotonic() - began
    return outcome


def forget_older_programs(preset, started):
    """What a failed build did not get to must not be tested in its older form."""
    for program in (BUILD / preset / "bin").glob("*"):
        if program.stat().st_mtime < started:
            program.unlink()


def first_error(text):
    found = re.search(r"^.*(?:error:|CMake Error|undefined reference|multiple definition|ninja: error).*$", text, re.M)
    return found[0].strip()[:300] if found else None
