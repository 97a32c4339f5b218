"""Labels of tests: a run of everything keeps one case of each kind, says which others are left out, and a label runs them all."""

import fnmatch
import re
import sys

import pytest

import labels
import plan
import suites

# What only tests with a label may start, as a test in Python names it.
STARTS = {
    "browser": r"\b(accessibility\.(chromium|look)|driven_page)\(",
    "proxy": r'"(nginx|haproxy|envoy)"',
    "generator": r"openapi_python_client",
    "grpcpp": r"both_libraries",
}
# What tests of programs in the API of grpc++ name: a program of the build, or a project that is linked with the adapter.
PROGRAMS_OF_GRPCPP = r'\bown\(f?"\w*grpcpp_|\bown\("\w+_coracle"|\bown\(f"\{program\}_|"grpcpp_\w+"|\bboth_libraries\b|CONSUME / "relinked"'
TESTS = """
import pytest
@pytest.fixture
def chromium(): pass
@pytest.fixture
def page(chromium): pass
def test_kept(chromium): pass
def test_other(page): pass
def test_without(): pass
def test_related(): pass
"""
KEPT = "::test_kept"
RELATED = "::test_related"


@pytest.fixture
def planted(tmp_path, monkeypatch):
    """The outcome of TESTS as the runner runs them on CI: how many passed, why any failed, and what was left out."""
    def outcome(kept, **how):
        (tmp_path / "planted_test.py").write_text(TESTS)
        (tmp_path / "conftest.py").write_text((suites.TESTS / "conftest.py").read_text() + f"\nlabels.KEPT = {{'browser': ['*{kept}']}}\n"
                                               f"labels.ALSO = {{'browser': ['*{RELATED}']}}\n")
        monkeypatch.setattr(suites, "log_of", lambda name: tmp_path / f"{name}.log")
        monkeypatch.setattr(suites, "python", lambda: sys.executable)
        found = suites.pytest("planted", tmp_path / "planted_test.py", env={"CI": "true"}, jobs=0, **how)
        return found.passed, [reason for _, reason in found.failed], found.left_out
    return outcome


def test_one_case_of_each_kind_is_kept_and_the_others_are_listed(planted):
    passed, failed, left_out = planted(KEPT)
    assert (passed, failed) == (3, [])
    assert [(name.rpartition(".")[2], reason) for name, reason in left_out] == [("test_other", labels.reason("browser"))]


def test_a_label_runs_all_its_tests_and_those_that_every_run_runs(planted):
    assert planted(KEPT, options=["-m", "browser"], one_of_each=False) == (3, [], [])


def test_what_is_named_for_a_label_is_found_in_its_folders():
    for label, patterns in labels.ALSO.items():
        for pattern in patterns:
            assert (suites.TESTS / pattern.partition("::")[0]).is_file()
            assert not any(fnmatch.fnmatchcase(kept, pattern) or fnmatch.fnmatchcase(pattern, kept) for kept in labels.KEPT[label])
            assert pattern.partition("/")[0] in labels.folders(label)


def test_the_label_of_grpcpp_runs_all_that_runs_its_programs():
    """By their files; in those that have other tests, too, by the words of the patterns."""
    files = {str(path.relative_to(suites.TESTS)) for path in suites.TESTS.glob("**/*_test.py")
             if "runner" not in path.parts and re.search(PROGRAMS_OF_GRPCPP, path.read_text())}
    assert files == {pattern.partition("::")[0] for pattern in labels.KEPT["grpcpp"] + labels.ALSO["grpcpp"]}


def test_a_file_of_which_no_case_is_kept_is_a_failure(planted):
    passed, failed, _ = planted("::test_renamed")
    assert (passed, len(failed)) == (0, 1)


@pytest.mark.parametrize("label", labels.FIXTURES)
def test_what_starts_such_a_program_has_the_label(label):
    """By its file, of which conftest.py then requires a labelled test."""
    files = {str(path.relative_to(suites.TESTS)) for path in suites.TESTS.glob("**/*_test.py")
             if "runner" not in path.parts and re.search(STARTS[label], path.read_text())}
    assert files == {pattern.partition("::")[0] for pattern in labels.KEPT[label]}


def test_each_label_is_a_suite_of_the_whole_run_alone():
    alone = [*labels.FIXTURES, "io_uring_faults", "adapter_headers"]
    assert [name for name, _ in plan.labelled()] == alone
    assert [tier for tier, suites in plan.TIERS.items() if set(alone) & {name for name, _ in suites()}] == ["whole"]
