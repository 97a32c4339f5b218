"""What all tests in Python have at hand. A test that is skipped on CI has failed: there no peer and no tool may be missing."""

import os
import sys

import pytest

sys.dont_write_bytecode = True
pytest.register_assert_rewrite("abused_server", "accessibility", "certificates", "load_command", "movie_pairs", "programs", "raw_http2", "walk")

import programs  # noqa: E402
from certificates import Certificates  # noqa: E402

# The project's own variables, of whoever runs the tests: what the programs say must not depend on them.
OF_THE_CALLER = ("CORACLE_LOG", "CORACLE_BACKEND")


def pytest_addoption(parser):
    parser.addoption("--update", action="store_true", help="tests/golden: take what is generated for what is expected")


def pytest_configure():
    for name in OF_THE_CALLER:
        os.environ.pop(name, None)


def pytest_report_header():
    return f"backends: {' '.join(programs.backends())}; programs of {programs.BIN}"


def failed_instead(report):
    """The report of what was skipped, as a failure."""
    if os.environ.get("CI") and report.skipped and not hasattr(report, "wasxfail"):
        *_, reason = report.longrepr
        report.outcome, report.longrepr = "failed", f"{reason} (on CI nothing may be skipped)"
    return report


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport():
    result = yield
    result.force_result(failed_instead(result.get_result()))


@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report():
    result = yield
    result.force_result(failed_instead(result.get_result()))


@pytest.fixture(scope="module", params=programs.backends())
def backend(request):
    """The I/O backend that the programs are told to use: each that works here, in turn."""
    return request.param


@pytest.fixture(scope="session")
def certificates(tmp_path_factory):
    """Of a CA of the tests: for servers on this machine, and for clients."""
    return Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def movie_server():
    with programs.Server(programs.own("movie_server"), "--port=0") as server:
        yield server


@pytest.fixture(scope="module")
def greeter_server():
    with programs.Server(programs.own("greeter_server"), "127.0.0.1:0") as server:
        yield server
