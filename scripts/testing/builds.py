"""The builds of a run. The first is a suite like others. When it has ended the next ones begin, one after another, beside the suites
up to their own turn: most tests wait for more than half of their time. They have the lowest priority, which leaves the processors to
the tests, and no time limit before their turn."""

import concurrent.futures
import threading
import time

from process import Run
from suites import build


class Build:
    """A suite that builds a preset: beside the tests before it, unless they use what it changes."""

    def __init__(self, preset, targets=(), meanwhile=None, options=(), in_use=False):
        self.preset, self._targets, self._meanwhile, self._options = preset, targets, meanwhile, options
        self._in_use = in_use
        self._ahead, self._turn = None, threading.Event()

    def begin(self, thread):
        if not self._in_use:
            self._ahead = thread.submit(build, self.preset, self._targets, self._options, self._turn)

    def has_ended(self):
        return not self._ahead or self._ahead.done()

    def __call__(self):
        if self._meanwhile:
            self._meanwhile()
        if not self._ahead:
            return build(self.preset, self._targets, self._options)
        self._turn.set()
        began = time.monotonic()
        outcome = self._ahead.result()
        waited = time.monotonic() - began
        outcome.seconds, outcome.seconds_beside_others = waited, max(0.0, outcome.seconds - waited)
        return outcome


def with_builds(suites, words):
    """Pairs of names and suites: those whose names have one of the words, or all, and before them the builds of presets in their names."""
    suites = list(suites)
    chosen = [not words or any(word in name for word in words) for name, _ in suites]
    for i, (_, suite) in enumerate(suites):
        if isinstance(suite, Build):
            chosen[i] |= any(is_chosen and f"({suite.preset}" in name for (name, _), is_chosen in zip(suites[i:], chosen[i:]))
    return [suite for suite, is_chosen in zip(suites, chosen) if is_chosen]


class BuildsAhead:
    """Runs suites, and begins the builds among them when the first of them has ended."""

    def __init__(self, suites):
        self._later = [suite for suite in suites if isinstance(suite, Build)]
        self._first = self._later.pop(0) if self._later else None
        self._thread = concurrent.futures.ThreadPoolExecutor(1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """Ends the builds that no suite waits for any more, after an interruption."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        while not all(later.has_ended() for later in self._later):
            Run.end_running()
            time.sleep(0.05)

    def run(self, suite):
        outcome = suite()
        if suite is self._first:
            for later in self._later:
                later.begin(self._thread)
        return outcome
