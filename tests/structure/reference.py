"""The API reference is whole: each public name has a comment, and each name of a page is in it."""

import functools
import re

import api_reference
from tree import DoesNotApply

# Pages about the code itself, and about other libraries, whose names may be those of classes.
INTERNAL = ("docs/decisions/", "docs/internals/")
COMPARING = re.compile(r"/(from_\w+|comparison)\.md$")
SPAN = re.compile(r"`(coracle::)?(\w+(?:::~?\w+)*)(\.\w+\(\))?[^`\s]*`")
FENCE = re.compile(r"^( *)```.*?^\1```", re.M | re.S)
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


@functools.lru_cache(maxsize=None)
def outside(tree):
    """What the reference does not have: the headers of the adapters, and CMake's targets."""
    return "\n".join(tree.text(name) for name in tree.files
                     if name.startswith("adapters/") and name.endswith(".hpp") or name.endswith(("CMakeLists.txt", ".cmake")))


def known(tree, qualified, path, call):
    """Whether what a page names exists; names of other libraries are not judged."""
    reference = read(tree)
    spaces = reference.scopes
    first = path.partition("::")[0]
    if not qualified and (first not in reference.by_path and first not in spaces or first == path and not call):
        return True
    if call and reference.by_path.get(path, None) and reference.by_path[path].kind == "class":
        return reference.find(f"{path}::{call.strip('.()')}")
    if reference.find(path) or path in spaces or qualified and re.search(rf"\bcoracle::{path}\b|EXPORT_NAME {path}\b", outside(tree)):
        return True
    return re.search(rf"\b{path.rpartition('::')[2]}\b", outside(tree)) is not None


def names_of_pages_exist(tree):
    for page in ("README.md", *tree.under("docs/", ends=(".md",))):
        if page.startswith(INTERNAL):
            continue
        text = FENCE.sub(lambda fence: "\n" * fence[0].count("\n"), tree.text(page))
        for number, line in enumerate(text.split("\n"), 1):
            for qualified, path, call in SPAN.findall(line):
                if not known(tree, qualified, path, "" if COMPARING.search(page) else call):
                    yield f"{page}:{number}: {qualified}{path}{call} is not in the API reference"
