"""A Prometheus of Debian's package that scrapes programs of ours: what it found, and the answers to queries."""

import json
import math
import re
import shutil
import socket
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest

from programs import Background

START_LIMIT_S = 20
SCRAPE_LIMIT_S = 20
CALLS_WERE_MADE = re.compile("calls were made")  # says observed_pair


def command(name):
    """The path of a program of Debian's package prometheus."""
    path = shutil.which(name)
    if not path:
        pytest.skip(f"{name} is not installed: Debian's package prometheus has it")
    return path


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Prometheus(Background):
    """Scrapes the targets, addresses by job, until the with-block ends."""

    def __init__(self, folder, targets, interval="250ms", flags=()):
        self.port = free_port()
        self.targets = targets
        config = {"global": {"scrape_interval": interval, "scrape_timeout": interval},
                  "scrape_configs": [{"job_name": job, "static_configs": [{"targets": [address]}]} for job, address in targets.items()]}
        path = folder / "prometheus.yml"
        path.write_text(json.dumps(config))  # JSON is YAML
        super().__init__(command("prometheus"), f"--config.file={path}", f"--storage.tsdb.path={folder / 'data'}", "--log.level=warn",
                         f"--web.listen-address=127.0.0.1:{self.port}", *flags)
        try:
            self._wait(self._ready, START_LIMIT_S, "is not ready")
        except BaseException:
            self._end()
            raise

    def _wait(self, holds, limit_s, failure):
        end = time.monotonic() + limit_s
        while not holds():
            self.expect_alive()
            assert time.monotonic() < end, f"prometheus {failure} after {limit_s} s: {' | '.join(self.said[-3:])}"
            time.sleep(0.05)  # sleeps on purpose: Prometheus announces nothing

    def _ready(self):
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{self.port}/-/ready", timeout=5).status == 200
        except OSError:
            return False

    def ask(self, path, **parameters):
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        try:
            answer = json.load(urllib.request.urlopen(url, timeout=10))
        except urllib.error.HTTPError as failure:
            raise AssertionError(f"{parameters}: {failure.read().decode()}") from None
        assert answer["status"] == "success", answer
        return answer["data"]

    def query(self, expression):
        """The series of an instant query: their labels and their values."""
        found = self.ask("query", query=expression)
        if found["resultType"] == "scalar":
            return [({}, float(found["result"][1]))]
        return [(one["metric"], float(one["value"][1])) for one in found["result"]]

    def scraped(self):
        """The targets by job, as Prometheus describes them."""
        return {one["labels"]["job"]: one for one in self.ask("targets", state="active")["activeTargets"]}

    def wait_for_scrapes(self, times=1):
        """Waits until each target was scraped, or failed to be; then none must have failed."""
        self._wait(lambda: all(one["health"] != "unknown" for one in self.scraped().values()), SCRAPE_LIMIT_S, "has not scraped")
        errors = {job: one["lastError"] for job, one in self.scraped().items()}
        assert not any(errors.values()), errors
        # A target that has answered may not be stored yet.
        self.wait_for_series(f"count(count_over_time(up[1h]) >= {times}) == {len(self.targets)}")

    def wait_for_series(self, expression, limit_s=SCRAPE_LIMIT_S):
        """Waits until a query has a series."""
        self._wait(lambda: self.query(expression), limit_s, f"has no series of {expression}")

    def wait_for_values(self, expression, limit_s=SCRAPE_LIMIT_S):
        """The series of an instant query as soon as one of them has a number: a rate needs calls between two scrapes."""
        found = []

        def has_number():
            found[:] = self.query(expression)
            return any(not math.isnan(value) for _, value in found)

        self._wait(has_number, limit_s, f"has no number of {expression}")
        return found
