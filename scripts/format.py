#!/usr/bin/env python3
"""clang-format over the project's sources: format.py [--check]. Checking changes nothing and names the files."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/structure"))
sys.dont_write_bytecode = True

from tree import Tree  # noqa: E402


def sources():
    return [str(ROOT / name) for name in Tree(ROOT).files
            if name.endswith((".cpp", ".hpp")) and not name.startswith("tests/golden/")]


def unformatted():
    """The files that clang-format would change, relative to the project's folder."""
    check = subprocess.run(["clang-format-19", "--dry-run", "--Werror", *sources()], capture_output=True, text=True)
    wrong = sorted({line.split(":")[0] for line in check.stderr.splitlines() if ": error:" in line})
    if check.returncode != 0 and not wrong:
        raise RuntimeError(check.stderr.strip()[:200])
    return [str(pathlib.Path(name).relative_to(ROOT)) for name in wrong]


def main(arguments):
    if "--check" not in arguments:
        return subprocess.run(["clang-format-19", "-i", *sources()]).returncode
    wrong = unformatted()
    if wrong:
        print(f"clang-format: {len(wrong)} files ({wrong[0]}, ...) are not formatted; fix: ./dev fmt")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
