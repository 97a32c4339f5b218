"""The terminal on the first page of the site shows what the programs print."""

import tomllib

import pytest

import terminal


@pytest.fixture(scope="module")
def parts():
    """What is shown and what is printed now: the call, the session of the repl, the load test."""
    shown = "\n".join(tomllib.loads(terminal.RECORD.read_text())["screen"]).split("\n\n")
    return dict(zip(("call", "repl", "load"), zip(shown, map("\n".join, terminal.recorded()), strict=True), strict=True))


@pytest.mark.parametrize("part", ["call", "repl"])
def test_what_is_shown_is_printed(part, parts):
    shown, printed = parts[part]
    assert shown == printed, "fix: scripts/terminal.py --write, then scripts/figures.py --write"


def test_the_load_test_prints_the_lines_that_are_shown(parts):
    """Their numbers and bars differ from run to run; so may the units, and which lines the histogram has."""
    shown, printed = ({line.split("  ")[1] for line in text.splitlines() if line.startswith("  ") and line[2] != " "} for text in parts["load"])
    assert shown and shown <= printed, "fix: scripts/terminal.py --write, then scripts/figures.py --write"
