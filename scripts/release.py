#!/usr/bin/env python3
"""Prepares a release, and publishes nothing.

    release.py cut VERSION    the version loses its -dev, and what the changelog has under Unreleased gets its number and date
    release.py check          what keeps the tree from being released as it is
    release.py prepare        check, and then build/release-VERSION: sources, packages, what they are made of, the comparison of
                              the binary interfaces, notes and checksums; prints the commands that publish
    release.py next VERSION   after a release: the next version, with -dev
"""

import argparse
import datetime
import hashlib
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
CHANGELOG = "CHANGELOG.md"
LINE_MAX = 160
VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)(-dev)?")


class Version:
    def __init__(self, text):
        found = VERSION.fullmatch(text)
        if not found:
            sys.exit(f"'{text}' is no version such as 0.3.0 or 0.4.0-dev")
        self.text, self.suffix = text, found[4] or ""
        self.major, self.minor, self.patch = found[1], found[2], found[3]
        self.number = text.removesuffix("-dev")


# Where the version stands: a file, what is before it, its form, and what is after it. The form is that of the file's kind.
PLACES = [
    ("CMakeLists.txt", "project(coracle VERSION ", lambda version: version.number, " "),
    ("CMakeLists.txt", 'set(coracle_version_suffix "', lambda version: version.suffix, '"'),
    ("include/coracle/base/version.hpp", "#define CORACLE_VERSION_MAJOR ", lambda version: version.major, "\n"),
    ("include/coracle/base/version.hpp", "#define CORACLE_VERSION_MINOR ", lambda version: version.minor, "\n"),
    ("include/coracle/base/version.hpp", "#define CORACLE_VERSION_PATCH ", lambda version: version.patch, "\n"),
    ("include/coracle/base/version.hpp", 'version_text = "', lambda version: version.text, '"'),
    ("packaging/vcpkg/coracle/vcpkg.json", '"version-semver": "', lambda version: version.text, '"'),
    ("languages/julia/Project.toml", '\nversion = "', lambda version: version.text, '"'),
    ("languages/python/pyproject.toml", '\nversion = "', lambda version: version.number + (".dev0" if version.suffix else ""), '"'),
    ("docs/guides/install.md", "`coracle/", lambda version: version.text, "`"),
    ("docs/guides/install.md", "| `libcoracle", lambda version: f"{version.major}.{version.minor}", "`"),
    ("docs/guides/install.md", "`find_package(coracle ", lambda version: f"{version.major}.{version.minor}", ")`"),
    ("docs/guides/install.md", "`find_package(coracle ", lambda version: f"{version.major}.{version.minor}", "...<1.0)`"),
]


def at(place):
    """The text of a place's file, and where the version stands in it."""
    path, before, _, after = place
    text = (ROOT / path).read_text()
    found = re.search(f"(?<={re.escape(before)})[^\n]*?(?={re.escape(after)})", text)
    if not found:
        sys.exit(f"{path} does not have '{before.strip()}'")
    return text, found


def current():
    text, found = at(PLACES[5])
    return Version(found[0])


def differing(version):
    """The places that do not have the version."""
    for place in PLACES:
        _, found = at(place)
        if found[0] != place[2](version):
            yield f"{place[0]}: {found[0]} is not {place[2](version)}"


def write(version):
    for place in PLACES:
        text, found = at(place)
        (ROOT / place[0]).write_text(text[:found.start()] + place[2](version) + text[found.end():])


def section(version):
    """What the changelog says of a version: its date, and its text."""
    found = re.search(rf"^## {re.escape(version.number)} \((.*?)\)\n(.*?)(?=^## |\Z)", (ROOT / CHANGELOG).read_text(), re.M | re.S)
    return (found[1], found[2].strip()) if found else (None, "")


def git(*words):
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def faults():
    version = current()
    yield from differing(version)
    if version.suffix:
        yield f"{version.text} is a version between releases; release.py cut {version.number} makes it one"
    date, text = section(version)
    if not text:
        yield f"{CHANGELOG} has no section '## {version.number} (DATE)'"
    elif not re.fullmatch(r"\d{4}-\d\d-\d\d", date):
        yield f"{CHANGELOG}: '{date}' is no date such as 2026-01-31"
    for line in text.splitlines():
        if line.startswith("- ") and len(line) > LINE_MAX:
            yield f"{CHANGELOG}: an entry is longer than {LINE_MAX} characters: {line[:60]}..."
        if line.startswith("- ") and "](" not in line:
            yield f"{CHANGELOG}: an entry has no link: {line[:60]}..."
        if line.startswith("  "):
            yield f"{CHANGELOG}: an entry has more than one line: {line.strip()[:60]}..."
    soname = f"{version.major}.{version.minor}"
    for library in ("libcoracle", "libcoracle_tls"):
        if not (ROOT / f"packaging/abi/{library}.so.{soname}.abi.xz").exists():
            yield f"packaging/abi has no interface of {library}.so.{soname}; ./dev abi --keep keeps it"
    if git("status", "--porcelain"):
        yield "there are changes that are not committed"
    if git("tag", "--list", f"v{version.number}"):
        yield f"the tag v{version.number} exists"


def cut(text):
    version, today = Version(text), datetime.date.today()
    if version.suffix:
        sys.exit("a release has no -dev")
    changes = (ROOT / CHANGELOG).read_text()
    if not re.search(r"^## Unreleased\n+(?!\n|## )", changes, re.M):
        sys.exit(f"{CHANGELOG} has nothing under Unreleased")
    (ROOT / CHANGELOG).write_text(changes.replace("## Unreleased\n", f"## {version.number} ({today})\n", 1))
    write(version)
    print(f"{version.number} is cut. Keep its interface by ./dev abi --keep, commit, and run ./dev release prepare.")


def following(text):
    version = Version(text if text.endswith("-dev") else f"{text}-dev")
    changes = (ROOT / CHANGELOG).read_text()
    if "## Unreleased\n" not in changes:
        (ROOT / CHANGELOG).write_text(changes.replace("\n## ", "\n## Unreleased\n\n## ", 1))
    write(version)
    print(f"the tree is {version.text}")


def check():
    found = list(faults())
    for fault in found:
        print(f"FAIL {fault}")
    if not found:
        print(f"PASS {current().text} may be released")
    return 1 if found else 0


def prepare():
    if check() != 0:
        return 1
    version = current()
    folder = ROOT / f"build/release-{version.number}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    name = f"coracle-{version.number}"
    git("archive", f"--prefix={name}/", f"--output={folder / name}.tar.gz", "HEAD")
    subprocess.run(["./dev", "package", "--check"], cwd=ROOT, check=True)
    made = ROOT / "build/package"
    for package in sorted([*(made / "packages").glob("*.deb"), *made.glob("*.dsc"), *made.glob("*.debian.tar.*"), *made.glob("*.orig.tar.gz")]):
        shutil.copy(package, folder)
    (bill,) = made.glob("coracle-*/debian/tmp/usr/share/coracle/coracle.spdx.json")
    shutil.copy(bill, folder / f"{name}.spdx.json")
    subprocess.run(["./dev", "build", "abi"], cwd=ROOT, check=True)
    with (folder / "abi.txt").open("w") as report:
        subprocess.run(["scripts/abi.py"], cwd=ROOT, check=True, stdout=report)
    (folder / "notes.md").write_text(f"# Coracle {version.number}\n\n{section(version)[1]}\n")
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(folder.iterdir())]
    (folder / "SHA256SUMS").write_text("".join(sums))
    print(f"\n{folder.relative_to(ROOT)}:\n{''.join(sums)}\nNothing is published. Next:\n"
          f"  git tag --sign v{version.number} -m 'Coracle {version.number}' {git('rev-parse', '--short', 'HEAD')}\n"
          f"  git push origin v{version.number}\n"
          f"  upload what is in {folder.relative_to(ROOT)}, with notes.md as the text\n"
          f"  ./dev release next {version.major}.{int(version.minor) + 1}.0")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("check", "prepare"):
        commands.add_parser(name)
    for name in ("cut", "next"):
        commands.add_parser(name).add_argument("version")
    chosen = parser.parse_args()
    if chosen.command == "cut":
        return cut(chosen.version)
    if chosen.command == "next":
        return following(chosen.version)
    return check() if chosen.command == "check" else prepare()


if __name__ == "__main__":
    sys.exit(main())
