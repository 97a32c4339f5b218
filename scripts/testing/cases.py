"""Runs a script that prints a line per case: PASS name, FAIL name: reason, or SKIP name: reason."""

import re

from outcome import Outcome
from process import log_of, run

LINE = re.compile(r"^(PASS|FAIL|SKIP) ([^\n:]*(?::(?! )[^\n:]*)*)(?:: (.*))?$", re.M)


def run_cases(suite, command, timeout_s, env, skips_fail=False, outcome=None):
    """With skips_fail a case that was left out has failed: on CI no peer may be missing."""
    outcome = outcome or Outcome(suite)
    one = run(command, log_of(f"{suite}-{str(command[-1]).split('/')[-1]}"), timeout_s, env)
    before = outcome.ran + len(outcome.left_out)
    failed_before = len(outcome.failed)
    for verdict, name, reason in LINE.findall(one.text):
        if verdict == "PASS":
            outcome.passed += 1
        elif verdict == "FAIL" or skips_fail:
            outcome.failed.append((name, reason))
        else:
            outcome.left_out.append((name, reason))
    script = str(command[-1]).split("/")[-1]
    if one.code != 0 and len(outcome.failed) == failed_before:
        outcome.failed.append((script, f"{one.ended}: {last_line(one.text)}"))
    elif outcome.ran + len(outcome.left_out) == before:
        outcome.failed.append((script, "ran no case"))
    outcome.seconds += one.seconds
    if len(outcome.failed) > failed_before or not outcome.log:
        outcome.log = one.log
    return outcome


def last_line(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else "it printed nothing"
