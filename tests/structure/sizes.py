"""Sizes: advice on files that have grown long, which nothing fails on, and a README of 60 lines for each room.

As a program, sizes.py prints the advice.
"""

import pathlib

from tree import Tree

# folders, kind, lines beyond which a file is worth a look
ADVICE = (
    (("include/",), ".hpp", 250),
    (("src/", "codegen/", "tools/", "bench/"), ".hpp", 300),
    (("src/", "codegen/", "tools/", "bench/"), ".cpp", 500),
    (("examples/",), ".cpp", 120),
    (("tests/",), ".cpp", 500),
    (("scripts/", "tests/", "bench/"), ".py", 300),
    (("README.md",), "README.md", 120),
)


def long_files(tree):
    """Whether a file holds a second idea is for its reader to decide."""
    for folders, kind, lines in ADVICE:
        for name in tree.under(*folders, ends=(kind,)):
            if not name.endswith(("_table.cpp", ".coracle.hpp")) and len(tree.lines(name)) > lines:
                yield f"{name}: {len(tree.lines(name))} lines; does it hold a second idea?"


def room_readmes(tree):
    """Each room says in 60 lines what it is for, its main types and the order to read them in."""
    rooms = {name.split("/")[1] for name in tree.under("src/") if name.count("/") >= 2}
    rooms |= {name.split("/")[2] for name in tree.under("include/coracle/") if name.count("/") >= 3}
    for room in sorted(rooms):
        name = f"src/{room}/README.md"
        if name not in tree.files:
            yield f"{name} is missing: purpose, main types, reading order"
        elif len(tree.lines(name)) > 60:
            yield f"{name}: {len(tree.lines(name))} lines, the limit is 60; move the rest to docs/internals"


if __name__ == "__main__":
    print("\n".join(long_files(Tree(pathlib.Path(__file__).parents[2]))))
