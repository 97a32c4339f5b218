"""The page that says where each feature of the seeds is: no row may be missing, empty, or point to what is not there."""

import posixpath
import re

PAGE = "docs/internals/seeds.md"
# Groups of rows, and how many each has: a row that is deleted is a feature that is forgotten.
GROUPS = {"A1": 68, "A2": 12, "A3": 15, "A4": 11, "A5": 19, "A6": 47}
# What can show a feature: something that runs, or a page where the feature is one.
SHOWS = ("tests/", "examples/", "bench/", "docs/")
REASONS = ("docs/decisions/",)

ROW = re.compile(r"^\| (A\d+-\d+) \|(.*)\|$")
LINK = re.compile(r"\]\(([^)\s#]+)[^)]*\)")
ANSWER = re.compile(r"\*(?:planned|refused):\* *[^\s;]")


def rows(text):
    """(line number, id, the row's other cells)"""
    for number, line in enumerate(text.splitlines(), 1):
        found = ROW.match(line)
        if found:
            yield number, found[1], [cell.strip() for cell in found[2].split("|")]


def faults_of(cells, tree):
    if len(cells) != 3:
        yield f"it has {len(cells)} cells behind its id, not 3: what is there, what is here, and what shows it"
        return
    there, here, shown = cells
    if there in ("", "-"):
        yield "it names no feature"
    paths = [posixpath.normpath(posixpath.join(posixpath.dirname(PAGE), target)) for target in LINK.findall(shown)]
    yield from (f"{path} does not exist" for path in paths if path not in tree.files)
    shows = [path for path in paths if path.startswith(SHOWS) and not path.startswith(REASONS)]
    if not shows and not ANSWER.search(shown):
        yield 'its last cell has neither a link to a test, example or page, nor "*planned:* what" nor "*refused:* why"'
    if shows and here in ("", "-"):
        yield "something shows it, but the row does not say what is here"


def seeds_are_answered(tree):
    """Every row names a feature and a test, example or page that shows it, or a plan, or a refusal with its reason."""
    if PAGE not in tree.files:
        yield f"{PAGE} is missing: it says where each feature of the seeds is"
        return
    seen = {group: 0 for group in GROUPS}
    for number, name, cells in rows(tree.text(PAGE)):
        group, place = name.split("-")
        if group not in seen or int(place) != seen[group] + 1 or place != f"{int(place):02}":
            yield f"{PAGE}:{number}: {name} is out of order; ids run from 01 without gaps, in the groups {', '.join(GROUPS)}"
        seen[group] = int(place)
        for fault in faults_of(cells, tree):
            yield f"{PAGE}:{number}: {name}: {fault}"
    for group, wanted in GROUPS.items():
        if seen[group] != wanted:
            yield f"{PAGE}: {group} ends with {group}-{seen[group]:02}, and has to end with {group}-{wanted:02}"
