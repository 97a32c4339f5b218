#!/usr/bin/env python3
"""The address of the project's repository. CMakeLists.txt has it (HOMEPAGE_URL), from where packages and the site read it.

repository.py lists the pages and manifests of packages that name another one; repository.py ADDRESS moves the project to that
address: CMakeLists.txt, each page and each manifest. That of Julia has no field for it.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/structure"))
sys.dont_write_bytecode = True

from tree import Tree  # noqa: E402

SOURCE = "CMakeLists.txt"
BRANCH = "main"
PAGES = (".md", ".html")
MANIFESTS = {  # each with its field
    "languages/python/pyproject.toml": re.compile(r'Repository = "([^"]+)"'),
    "packaging/conan/conanfile.py": re.compile(r'homepage = "([^"]+)"'),
    "packaging/meson/coracle.wrap": re.compile(r"^url = (.+)$", re.M),
    "packaging/vcpkg/coracle/vcpkg.json": re.compile(r'"homepage": "([^"]+)"'),
}
NAMED = re.compile(r"^ *git clone (\S+)|\[(?:the )?issues\]\((\S+)/issues\)|href=\"(\S+)/blob/", re.M)


def address(tree):
    return re.search(r'HOMEPAGE_URL "([^"]+)"', tree.text(SOURCE))[1]


def faults(tree):
    """Pages that clone another repository, or lead to its issues or sources, and manifests that do not name this one."""
    wanted = address(tree)
    for name in tree.files:
        if name.endswith(PAGES):
            found = ("".join(one) for one in NAMED.findall(tree.text(name)))
            yield from (f"{name} names the repository {one}; write {wanted}, as {SOURCE} has it" for one in found if one != wanted)
        elif name in MANIFESTS and MANIFESTS[name].findall(tree.text(name)) != [wanted]:
            yield f"{name} does not name the repository {wanted}, as {SOURCE} has it"


def main(arguments):
    tree = Tree(ROOT)
    if arguments:
        old = re.compile(re.escape(address(tree)) + r"(?![\w-])")
        for name in tree.files:
            if name == SOURCE or name in MANIFESTS or name.endswith(PAGES):
                text = tree.text(name)
                if old.search(text):
                    (ROOT / name).write_text(old.sub(lambda _: arguments[0], text))
        return 0
    found = list(faults(tree))
    print("\n".join(found) or f"every page and manifest names {address(tree)}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
