"""Pages that name tests name such as there are."""

import re

# The last column of these pages names tests: `SentenceLikeThis`, or `a_sentence_like_this` for a test_a_sentence_like_this() in Python.
PAGES = ("docs/reference/cves.md",)
NAME = re.compile(r"`([A-Z][A-Za-z0-9]+|[a-z]+(?:_[a-z0-9]+){2,})`")


def named_tests_exist(tree):
    words = None
    for page in PAGES:
        for number, line in enumerate(tree.lines(page) if page in tree.files else [], 1):
            if not line.startswith("|"):
                continue
            words = words or set(re.findall(r"\w+", "\n".join(tree.text(name) for name in tree.under("tests/", ends=(".cpp", ".py")))))
            for name in NAME.findall(line.rstrip("| ").split("|")[-1]):
                if name not in words and f"test_{name}" not in words:
                    yield f"{page}:{number}: there is no test {name}; name the one that shows it"
