"""A test program that hangs is ended, and says which task waits where: so end all of CTest's tests (tests/shards.cmake)."""

import re

import pytest

from programs import backends, own, run

LIMIT_S = 3  # more than it takes to come to the wait
DUMPED = re.compile(r"loop 0:   .*wait_for_nobody.* at planted_hang\.cpp:\d+")
KILLED = 128 + 9


@pytest.mark.parametrize("backend", backends())
def test_a_hang_says_what_its_task_waits_for(backend):
    done = run("timeout", "--signal=USR1", "--kill-after=1", LIMIT_S, own("planted_hang"), f"--gtest_filter=*/{backend}")
    text = done.stdout + done.stderr
    assert done.returncode in (-9, KILLED), f"it did not hang: {text}"
    assert DUMPED.search(text), text
