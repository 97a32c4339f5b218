"""What all tests in Python have at hand. A test that is skipped on CI has failed: there no peer and no tool may be missing."""

import os
import sys

import pytest

sys.dont_write_bytecode = True
pytest.register_assert_rewrite("abused_server", "accessibility", "certificates", "hardening", "load_command", "movie_pairs", "programs", "prometheus", "raw_http2", "walk", "xds_world")

import labels  # noqa: E402
import peers  # noqa: E402
import programs  # noqa: E402
from accessibility import chromium as find_chromium  # noqa: E402
from certificates import Certificates  # noqa: E402
from commits import NO_COMMITS  # noqa: E402

# The project's own variables, of whoever runs the tests: what the programs say must not depend on them.
OF_THE_CALLER = ("CORACLE_LOG", "CORACLE_LOG_FORMAT", "CORACLE_BACKEND")


def pytest_addoption(parser):
    parser.addoption("--update", action="store_true", help="tests/golden: take what is generated for what is expected")
    parser.addoption("--one-of-each", action="store_true", help="leave out the tests with a label but for one case of each kind")


def pytest_configure():
    for name in OF_THE_CALLER:
        os.environ.pop(name, None)


def pytest_report_header():
    return f"backends: {' '.join(programs.backends())}; programs of {programs.BIN}"


@pytest.hookimpl(tryfirst=True)  # before -m selects
def pytest_collection_modifyitems(config, items):
    """Labels the tests, and leaves out what --one-of-each does not keep."""
    for item in items:
        for label in labels.run_also_by(item.nodeid):
            item.add_marker(label)
    labelled = {item: label for item in items if (label := labels.label_of(item.fixturenames))}
    for item, label in labelled.items():
        item.add_marker(label)
        if config.getoption("--one-of-each") and not labels.is_kept(item.nodeid):
            item.add_marker(pytest.mark.skip(reason=labels.reason(label)))
    files = {item.location[0] for item in labelled} - {item.location[0] for item in labelled if labels.is_kept(item.nodeid)}
    if config.getoption("--one-of-each") and files:
        raise pytest.UsageError(f"a run of everything keeps no test with a label of {', '.join(sorted(files))}: see scripts/testing/labels.py")


def failed_instead(report):
    """The report of what was skipped, as a failure, unless a run with the label runs it, or the sources have no commits."""
    if os.environ.get("CI") and report.skipped and not hasattr(report, "wasxfail"):
        *_, reason = report.longrepr
        reason_alone = reason.removeprefix("Skipped: ")
        if reason_alone in labels.REASONS or reason_alone.startswith(NO_COMMITS):
            return report
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
def chromium():
    """Chromium's path. What drives it is installed."""
    try:
        peers.install_browser()
        peers.command("node")
    except peers.Missing as reason:
        pytest.skip(str(reason))
    return find_chromium()


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
