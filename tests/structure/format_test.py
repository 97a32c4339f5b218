"""The sources are formatted."""

import shutil

import pytest

import format as formatter


def test_the_sources_are_formatted():
    if not shutil.which("clang-format-19"):
        pytest.skip("clang-format-19 is not installed; scripts/packages.sh format installs it")
    wrong = formatter.unformatted()
    assert not wrong, f"not formatted: {', '.join(wrong)}; fix: ./dev fmt"
