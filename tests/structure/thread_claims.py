"""What a public header claims about threads is tested by threads."""

import re

# A test's first comment names each header that it is about, without include/coracle/.
TESTS = "thread_claims_test.cpp"
CLAIM = re.compile(r"\b(?:any|whichever) thread\b|\bthread-safe\b|\b(?:from|by) (?:other|several|plain) threads\b", re.I)


def comments(text):
    """All of them as one text: a claim may be broken over two lines."""
    return " ".join(" ".join(re.findall(r"//+(.*)", text)).split())


def head(text):
    lines = text.splitlines()
    length = next((number for number, line in enumerate(lines) if not line.startswith("//")), len(lines))
    return " ".join(lines[:length])


def claims_are_tested(tree):
    tested = " ".join(head(tree.text(name)) for name in tree.under("tests/", ends=(TESTS,)))
    for name in tree.under("include/coracle/", ends=(".hpp",)):
        if "/impl/" in name or not CLAIM.search(comments(tree.text(name))):
            continue
        if name.removeprefix("include/coracle/") not in tested:
            yield (f"{name}: it says what several threads may do; have several threads do it in a {TESTS}, whose first "
                   f"comment names the header")
