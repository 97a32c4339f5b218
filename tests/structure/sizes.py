"""Rules about size: a file that grows long holds a second thing, or says at its head why it does not."""

import re

# folder, kind, aim in lines, hard limit in lines
LIMITS = (
    (("include/", "src/", "codegen/", "tools/", "bench/"), ".hpp", 150, 300),
    (("include/", "src/", "codegen/", "tools/", "bench/"), ".cpp", 250, 500),
    (("examples/",), ".cpp", 120, 120),
    (("tests/",), ".hpp", 150, 300),
    (("tests/",), ".cpp", 250, 500),
    (("scripts/", "tests/"), ".py", 150, 300),
    (("README.md",), "README.md", 150, 150),
)
MARK = re.compile(r"long on purpose: *\S+")


def exempt(tree, name):
    return name.endswith(("_table.cpp", ".coracle.hpp")) or any(MARK.search(line) for line in tree.lines(name)[:15])


def measured(tree):
    for folders, kind, aim, limit in LIMITS:
        for name in tree.under(*folders, ends=(kind,)):
            if not exempt(tree, name):
                yield name, len(tree.lines(name)), aim, limit


def hard_limits(tree):
    for name, count, _, limit in measured(tree):
        if count > limit:
            yield (f"{name}: {count} lines, the limit is {limit}; give the second thing in it a file of its own, or write "
                   f'"long on purpose: why" into its first 15 lines')


def past_aim(tree):
    """What is worth a look: no failure."""
    return [f"{name}: {count} lines, aim {aim}" for name, count, aim, limit in measured(tree) if aim < count <= limit]


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
