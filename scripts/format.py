#!/usr/bin/env python3
"""clang-format over the project's sources: format.py [--check]. Checking changes nothing and says the mend."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/structure"))
sys.dont_write_bytecode = True

from tree import Tree  # noqa: E402


def main(arguments):
    sources = [str(ROOT / name) for name in Tree(ROOT).files
               if name.endswith((".cpp", ".hpp")) and not name.startswith("tests/golden/")]
    if "--check" not in arguments:
        return subprocess.run(["clang-format-19", "-i", *sources]).returncode
    check = subprocess.run(["clang-format-19", "--dry-run", "--Werror", *sources], capture_output=True, text=True)
    wrong = sorted({line.split(":")[0] for line in check.stderr.splitlines() if ": error:" in line})
    if check.returncode != 0:
        first = pathlib.Path(wrong[0]).relative_to(ROOT) if wrong else check.stderr.strip()[:200]
        print(f"FAIL clang-format: {len(wrong)} files ({first}, ...) are not formatted; mend: ./dev fmt")
        return 1
    print("PASS clang-format")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
