"""The API reference is whole: each public name has a comment, what is left out is listed, and each name of a page is in it."""

import difflib
import functools
import re

import api_reference
from tree import DoesNotApply

# Pages about the code itself, and about other libraries, whose names may be those of classes.
INTERNAL = ("docs/decisions/", "docs/internals/")
COMPARING = re.compile(r"/(from_\w+|comparison)\.md$")
SPAN = re.compile(r"`(coracle::)?(\w+(?:::~?\w+)*)(\.\w+\(\))?[^`\s]*`")
FENCE = re.compile(r"^( *)```.*?^\1```", re.M | re.S)
# What no header of include/ and no other text of outside() declares with its namespace: names of the adapters.
OUTSIDE = ("asio_tokens", "get_deadline", "protobuf_server_controller")
TYPES = ("class", "type", "enum", "concept")
CLOSE = 0.87  # a letter in a short name, two in a long one
LEFT_OUT = "tests/structure/left_out.txt"
MACHINERY = ("await_ready", "await_suspend", "await_resume", "promise_type")


readings = {}  # by the headers: the trees of faults_test.py have mostly the same


def read(tree):
    headers = tuple((name, tree.text(name)) for name in tree.under("include/"))
    if headers not in readings:
        try:
            readings[headers] = api_reference.read(tree.root)
        except api_reference.Missing as reason:
            raise DoesNotApply(str(reason)) from None
    return readings[headers]


def names_have_comments(tree):
    for name in api_reference.uncommented(read(tree)):
        yield (f"include/{name.file}:{name.line}: {name.path} has no comment; write /// what a user has to know, or put what is not for "
               f"users between /// @cond and /// @endcond")
    for name in read(tree).all:
        if name.own_name in MACHINERY:
            yield f"include/{name.file}:{name.line}: {name.path} is called by the compiler alone; put it between /// @cond and /// @endcond"


def what_is_left_out_is_listed(tree):
    listed = {}
    for number, line in enumerate(tree.lines(LEFT_OUT), 1):
        if line.startswith("#"):
            continue
        count, header, reason = (line.split("\t") + ["", ""])[:3]
        listed[header] = int(count)
        if not reason:
            yield f"{LEFT_OUT}:{number}: {header} has no reason"
    found = {name.removeprefix("include/coracle/"): tree.text(name).count("@cond") for name in tree.under("include/coracle/")}
    for header in sorted({header for header, count in found.items() if count} | set(listed)):
        if found.get(header, 0) != listed.get(header, 0):
            yield (f"{header} has {found.get(header, 0)} @cond blocks, and {LEFT_OUT} lists {listed.get(header, 0)}; give what users call a comment, "
                   f"and list what remains, with the reason")


@functools.lru_cache(maxsize=None)
def outside(tree):
    """What the reference does not have: the headers of the adapters, and CMake's targets."""
    return "\n".join(tree.text(name) for name in tree.files
                     if name.startswith("adapters/") and name.endswith(".hpp") or name.endswith(("CMakeLists.txt", ".cmake")))


def judged(reference, first):
    """Whether a name that begins with `first` is one of Coracle's, spelled right or almost right."""
    return first in reference.scopes or first in reference.by_path or difflib.get_close_matches(first, types(reference), n=1, cutoff=CLOSE)


@functools.lru_cache(maxsize=None)
def types(reference):
    return sorted({path.rpartition("::")[2] for path, name in reference.by_path.items() if name.kind in TYPES})


def known(tree, qualified, path, call):
    """Whether what a page names exists; names of other libraries are not judged."""
    reference = read(tree)
    first = path.partition("::")[0]
    if not qualified and (first == path and not call or not judged(reference, first)):
        return True
    classes = [one for one in (path, *reference.by_suffix.get(path, ())) if one in reference.by_path and reference.by_path[one].kind == "class"]
    if call and classes:
        return any(reference.find(f"{one}::{call.strip('.()')}") for one in classes)
    if qualified:
        return reference.find(path) or path in reference.scopes or path in OUTSIDE or re.search(
            rf"\bcoracle::{path}\b|EXPORT_NAME {path}\b", outside(tree))
    return reference.find_on_page(path) or path in reference.scopes


def names_of_pages_exist(tree):
    for page in ("README.md", *tree.under("docs/", ends=(".md",))):
        if page.startswith(INTERNAL):
            continue
        text = FENCE.sub(lambda fence: "\n" * fence[0].count("\n"), tree.text(page))
        for number, line in enumerate(text.split("\n"), 1):
            for qualified, path, call in SPAN.findall(line):
                if not known(tree, qualified, path, "" if COMPARING.search(page) else call):
                    yield f"{page}:{number}: {qualified}{path}{call} is not in the API reference"
