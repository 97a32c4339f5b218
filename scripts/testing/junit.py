"""Counts the cases in JUnit's XML, as pytest, CTest and GoogleTest write it."""

import re
import xml.etree.ElementTree


def cases(path):
    """Yields (name, verdict, reason) of each case that was run: verdict is passed, failed or skipped."""
    for one in xml.etree.ElementTree.parse(path).iter("testcase"):
        if one.get("status") == "notrun" and one.get("result"):
            continue  # GoogleTest's, of another shard or filtered
        name = ".".join(filter(None, (one.get("classname"), one.get("name"))))
        faults = [*one.findall("failure"), *one.findall("error")]
        skipped = one.find("skipped")
        if faults:
            yield name, "failed", said(faults[0])
        elif skipped is not None:
            yield name, "skipped", reason_of(skipped)
        else:
            yield name, "passed", ""


def said(fault):
    """The first two lines, which are GoogleTest's place and comparison."""
    lines = [line for line in (fault.get("message") or fault.text or "no reason").splitlines() if line.strip()]
    return " ".join(lines[:2])[:240]


def reason_of(skipped):
    """GoogleTest puts the place before what GTEST_SKIP() says."""
    lines = [line for line in (skipped.get("message") or "").splitlines() if line.strip()]
    if lines and re.fullmatch(r"\S+:\d+", lines[0]):
        lines = lines[1:]
    return lines[0] if lines else "skipped by the test"


def output_of(path):
    """{name: (whether it succeeded, its output)} of CTest's tests."""
    return {one.get("name"): (one.get("status") == "run", one.findtext("system-out") or "")
            for one in xml.etree.ElementTree.parse(path).iter("testcase")}
