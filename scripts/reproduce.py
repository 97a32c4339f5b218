#!/usr/bin/env python3
"""Makes the Debian packages again, from a copy of the sources in another folder, and compares them byte by byte with those in
build/package/packages."""

import hashlib
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]


def digests(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.glob("*.deb"))}


def made_again(folder):
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, capture_output=True, check=True).stdout
    subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)
    for command in (["cmake", "--preset", "package"], ["cmake", "--build", "--preset", "package"],
                    ["cpack", "--config", "build/package/CPackConfig.cmake", "-B", "build/package/packages"]):
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return digests(pathlib.Path(folder, "build/package/packages"))


def main():
    if subprocess.run(["git", "diff", "--quiet", "HEAD"], cwd=ROOT, check=False).returncode:
        sys.exit("there are changes that are not committed: the second build would be one of other sources")
    first = digests(ROOT / "build/package/packages")
    with tempfile.TemporaryDirectory(prefix="coracle-again-") as folder:
        second = made_again(folder)
    for name in sorted(first | second):
        same = first.get(name) == second.get(name)
        print(f"{'PASS' if same else 'FAIL'} {name}: {'the same bytes' if same else f'{first.get(name)} and {second.get(name)}'}")
    return 0 if first and first == second else 1


if __name__ == "__main__":
    sys.exit(main())
