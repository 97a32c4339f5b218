"""./dev test sees what goes wrong in the programs and tests that it runs: failures, crashes, silence, reasons that are not listed."""

import pathlib
import sys

import pytest

import junit
import suites
from outcome import Outcome
from process import Run
from report import Report

PASSED = '<testcase name="Good" status="run" result="completed" classname="Frame"/>'
FAILED = '<testcase name="Bad" status="run" result="completed" classname="Frame"><failure message="frame_test.cpp:7&#x0A;1 is not 2"/></testcase>'
SKIPPED = '<testcase name="Off" status="run" result="skipped" classname="Frame"><skipped message="frame_test.cpp:9&#x0A;{}"/></testcase>'
NOT_RUN = '<testcase name="Other" status="notrun" result="suppressed" classname="Frame"/>'
LISTED = "this build takes frames from the heap"


def shard(folder, cases=None, succeeded=True, output=""):
    """(passed, failed, left out) of a shard with this report, or with none."""
    report = folder / "report.xml"
    if cases is not None:
        report.write_text(f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>")
    outcome = Outcome("planted")
    suites.add_shard(outcome, "unit.0", succeeded, output, report)
    return outcome.passed, [name for name, _ in outcome.failed], len(outcome.left_out)


def test_cases_are_counted(tmp_path):
    assert shard(tmp_path, [PASSED, FAILED, SKIPPED.format(LISTED), NOT_RUN], succeeded=False) == (1, ["Frame.Bad"], 1)


def test_a_reason_that_is_not_listed_leaves_no_test_out(tmp_path):
    assert shard(tmp_path, [PASSED, SKIPPED.format("no time")]) == (1, ["Frame.Off"], 0)


def test_a_bad_end_of_good_tests_is_a_failure(tmp_path):
    assert shard(tmp_path, [PASSED], succeeded=False) == (1, ["unit.0"], 0)


def test_a_crash_names_the_test_that_it_was_in(tmp_path):
    output = "[ RUN      ] A.Good\n[       OK ] A.Good (0 ms)\n[ RUN      ] A.Bad\n"
    assert shard(tmp_path, None, False, output) == (1, ["A.Bad"], 0)


def test_a_report_of_a_sanitizer_is_summed_up():
    report = "WARNING\n    #0 here f.cpp:1\n    #1 there g.cpp:2\nSUMMARY: ThreadSanitizer: data race f.cpp:1 in here\n======\n"
    assert suites.last_words(report) == "SUMMARY: ThreadSanitizer: data race f.cpp:1 in here; #0 here f.cpp:1; #1 there g.cpp:2"
    assert suites.last_words("killed\n") == "killed"


def test_silence_is_a_failure(tmp_path):
    assert shard(tmp_path, None, True) == (0, ["unit.0"], 0)


def test_half_a_report_is_a_failure(tmp_path):
    (tmp_path / "report.xml").write_text("<testsuites><testsuite>")
    assert shard(tmp_path, None, True) == (0, ["unit.0"], 0)


def test_reasons_are_told(tmp_path):
    report = tmp_path / "report.xml"
    report.write_text(f"<testsuites>{FAILED}{SKIPPED.format(LISTED)}</testsuites>")
    assert [reason for _, _, reason in junit.cases(report)] == ["frame_test.cpp:7 1 is not 2", LISTED]


@pytest.fixture
def planted(tmp_path, monkeypatch):
    """The outcome of a file of tests that pytest runs as the runner runs it."""
    def outcome(text, **env):
        (tmp_path / "planted_test.py").write_text(f"import pytest\n{text}\n")
        (tmp_path / "conftest.py").write_text((suites.TESTS / "conftest.py").read_text())
        monkeypatch.setattr(suites, "log_of", lambda name: tmp_path / f"{name}.log")
        monkeypatch.setattr(suites, "python", lambda: sys.executable)
        found = suites.pytest("planted", tmp_path / "planted_test.py", env={"CI": "", **env}, jobs=0)
        return found.passed, [reason for _, reason in found.failed], len(found.left_out)
    return outcome


def test_tests_of_pytest_are_counted(planted):
    passed, failed, left_out = planted("def test_a(): pass\ndef test_b(): assert 1 == 2\ndef test_c(): pytest.skip('no Go')")
    assert (passed, len(failed), left_out) == (1, 1, 1)


def test_a_fixture_that_ends_badly_is_a_failure(planted):
    passed, failed, _ = planted("@pytest.fixture\ndef one():\n  yield\n  assert False\ndef test_a(one): pass")
    assert (passed, len(failed)) == (0, 1)


def test_a_missing_peer_fails_on_ci(planted):
    passed, failed, left_out = planted("def test_c(): pytest.skip('no Go')", CI="true")
    assert (passed, left_out) == (0, 0)
    assert len(failed) == 1 and "no Go" in failed[0]


def test_a_missing_module_fails_on_ci(planted):
    text = "pytest.importorskip('no_such_module', reason='./dev peers installs it')\ndef test_c(): pass"
    assert planted(text)[1:] == ([], 1)
    passed, failed, left_out = planted(text, CI="true")
    assert (passed, len(failed), left_out) == (0, 1, 0)


def test_no_test_is_a_failure(planted):
    assert planted("")[0] == 0 and len(planted("")[1]) == 1


def test_a_hanging_test_is_a_failure(planted):
    passed, failed, _ = planted("import time\n@pytest.mark.timeout(0.2)\ndef test_a(): time.sleep(60)\ndef test_b(): pass")
    assert (passed, len(failed)) == (1, 1)


def test_a_suite_without_a_test_is_a_failure(capsys):
    report = Report()
    report.add(Outcome("empty"))
    assert not report.finish()
    assert capsys.readouterr().out.splitlines()[-1] == "0 passed, 1 failed"


def test_the_last_line_says_how_many(capsys):
    report = Report()
    report.add(Outcome("good", passed=3))
    assert report.finish()
    assert capsys.readouterr().out.splitlines()[-1] == "3 passed, 0 failed"


def test_a_command_that_hangs_is_ended(tmp_path):
    one = Run(["sh", "-c", "sleep 60 & sleep 60"], tmp_path / "log", 0.3)
    assert one.code is None and one.seconds < 10


def test_temporary_files_go_with_their_program(tmp_path):
    """Of one that does not live to remove them."""
    one = Run(["sh", "-c", 'mktemp; kill -KILL $$'], tmp_path / "log", 20)
    made = pathlib.Path(one.text.strip())
    assert made.name and not made.exists()
