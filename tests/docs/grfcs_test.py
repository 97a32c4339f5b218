"""docs/reference/grfcs.md has a row for each of gRPC's proposals, and the tests that a row names exist."""

import collections
import pathlib
import re

import pytest

from programs import ROOT

PAGE = ROOT / "docs/reference/grfcs.md"
PROPOSALS = "https://github.com/grpc/proposal/blob/master/"
SHOWN = ("done", "partly")  # states whose rows name tests
STATES = (*SHOWN, "refused", "open", "not applicable")
ROW = re.compile(r"\| \[(\w+)\]\((\S+)\) \| ([^|]+) \| ([^|]+) \| (?:([^|]+) )?\|")
NAMED = re.compile(r"((?:`\w+`, )*`\w+`) in \[([^\]]+)\]\(([^)\s]+)\)")


def documents():
    """{number: the name of its document} of all proposals."""
    lines = pathlib.Path(__file__).with_name("grfcs.txt").read_text().splitlines()
    return dict(line.split("\t") for line in lines if not line.startswith("#"))


def has_test(path, name):
    if path.suffix == ".py":
        return re.search(rf"^def test_{name}\(", path.read_text(), re.M)
    return re.search(rf"^(?:TYPED_)?TEST(?:_[FP])?\(\w+,\s*{name}\)", path.read_text(), re.M)


def faults_of_tests(text):
    """What is wrong with the tests that a row names."""
    named = NAMED.findall(text)
    if len(named) != text.count("](../../tests/"):
        yield "a link to a test does not follow `Name` in"
    for names, link, target in named:
        path = (PAGE.parent / target).resolve()
        if not path.is_relative_to(ROOT / "tests") or not path.is_file():
            yield f"there is no test {target}"
            continue
        if link != path.name:
            yield f"the link to {target} has another name, {link}"
        for name in re.findall(r"\w+", names):
            if not has_test(path, name):
                yield f"{path.name} has no test {name}"


def faults(page, known):
    numbers = collections.Counter()
    for line in page.splitlines():
        if not line.startswith("| ["):
            continue
        row = ROW.fullmatch(line)
        if not row:
            yield f"this is no row of four cells: {line[:60]}"
            continue
        number, target, _, state, text = row.groups(default="")
        numbers[number] += 1
        if target != PROPOSALS + known.get(number, ""):
            yield f"{number}: its document is not {target}"
        if state not in STATES:
            yield f"{number}: {state} is none of the states"
        if not text and state != "open":
            yield f"{number}: it is {state} without a word of explanation"
        if (state in SHOWN) != bool(NAMED.search(text)):
            yield f"{number}: it is {state}, and names {'a test' if NAMED.search(text) else 'no test'}"
        if (state == "partly") != ("Missing: " in text):
            yield f"{number}: what is missing belongs to rows that are partly done, and only there"
        yield from (f"{number}: {fault}" for fault in faults_of_tests(text))
    yield from (f"{number}: there is no row" for number in known.keys() - numbers.keys())
    yield from (f"{number}: there is no such proposal" for number in numbers.keys() - known.keys())
    yield from (f"{number}: there are {rows} rows" for number, rows in numbers.items() if rows > 1)


def test_the_page_has_each_proposal_and_names_tests_that_exist():
    found = list(faults(PAGE.read_text(), documents()))
    assert not found, "\n".join(found)


def test_each_state_is_explained():
    explained = re.findall(r"^\| ([a-z ]+) \| \S", PAGE.read_text().partition("\n## ")[0], re.M)
    assert [state for state in explained if state != "state"] == list(STATES)


def test_the_proposals_are_listed_once():
    lines = [line for line in pathlib.Path(__file__).with_name("grfcs.txt").read_text().splitlines() if not line.startswith("#")]
    assert len(lines) == len(documents()) > 190
    assert all(name.startswith(f"{number}-") for number, name in documents().items())


KNOWN = {"A1": "A1-one.md", "A2": "A2-two.md", "A3": "A3-three.md"}
OWN = "`a_page_without_faults_passes` in [grfcs_test.py](../../tests/docs/grfcs_test.py)"
OTHER = "`OfAUnixSocketIsNoneAndHarmless` in [user_timeout_test.cpp](../../tests/unit/transport/user_timeout_test.cpp)"
ROWS = {
    "A1": f"| [A1]({PROPOSALS}A1-one.md) | one | done | {OWN}; {OTHER} |",
    "A2": f"| [A2]({PROPOSALS}A2-two.md) | two | partly | {OWN}. Missing: the rest. |",
    "A3": f"| [A3]({PROPOSALS}A3-three.md) | three | open | |",
}


def faults_with(**rows):
    return list(faults("\n".join((ROWS | rows).values()), KNOWN))


def test_a_page_without_faults_passes():
    assert faults_with() == []


@pytest.mark.parametrize(("rows", "fault"), [
    ({"A3": ""}, "A3: there is no row"),
    ({"again": ROWS["A1"]}, "A1: there are 2 rows"),
    ({"more": ROWS["A3"].replace("A3", "A4")}, "A4: there is no such proposal"),
    ({"A3": ROWS["A3"].replace("A3-three", "A3-four")}, "A3: its document is not"),
    ({"A3": ROWS["A3"].replace("open | |", "open |")}, "this is no row of four cells"),
    ({"A3": ROWS["A3"].replace("open", "planned")}, "A3: planned is none of the states"),
    ({"A3": ROWS["A3"].replace("open", "refused")}, "A3: it is refused without a word"),
    ({"A3": ROWS["A3"].replace("open | |", f"open | {OWN} |")}, "A3: it is open, and names a test"),
    ({"A1": ROWS["A1"].replace(f"{OWN}; {OTHER}", "surely")}, "A1: it is done, and names no test"),
    ({"A1": ROWS["A1"].replace("done", "partly")}, "A1: what is missing belongs"),
    ({"A2": ROWS["A2"].replace("partly", "done")}, "A2: what is missing belongs"),
    ({"A1": ROWS["A1"].replace("`a_page_without_faults_passes`", "`a_page_of_gold_passes`")}, "A1: grfcs_test.py has no test a_page_of_gold_passes"),
    ({"A1": ROWS["A1"].replace("AndHarmless", "")}, "A1: user_timeout_test.cpp has no test OfAUnixSocketIsNone"),
    ({"A1": ROWS["A1"].replace("[user_timeout_test.cpp]", "[timeout_test.cpp]")}, "has another name, timeout_test.cpp"),
    ({"A1": ROWS["A1"].replace("unit/transport", "unit/gold")}, "A1: there is no test ../../tests/unit/gold"),
    ({"A2": ROWS["A2"].replace("tests/docs/grfcs_test.py", "tests/../README.md")}, "A2: there is no test ../../tests/../README.md"),
    ({"A1": ROWS["A1"].replace("` in [user", "` of [user")}, "A1: a link to a test does not follow"),
], ids=range(17))
def test_a_fault_is_found(rows, fault):
    assert any(fault in found for found in faults_with(**rows))
