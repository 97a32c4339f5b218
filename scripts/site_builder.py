#!/usr/bin/env python3
"""Builds the documentation as a site, strictly: its pages by a mkdocs of its own below build/docs, the API reference by Doxygen."""

import hashlib
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True

import peers  # noqa: E402

HOME = ROOT / "build/docs"
PYTHON = HOME / "venv/bin/python"
REQUIREMENTS = ROOT / "docs/requirements.txt"
BUILD_TIMEOUT_S = 200


def install():
    """mkdocs and its theme; peers.Missing where they cannot be had."""
    stamp, content = HOME / "stamp", hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()
    if PYTHON.exists() and peers.fresh(stamp, content):
        return
    peers.run([sys.executable, "-m", "venv", "--clear", HOME / "venv"])
    peers.run([PYTHON, "-m", "pip", "install", "--quiet", "-r", REQUIREMENTS])
    peers.keep_stamp(stamp, content)


def version():
    text = (ROOT / "include/coracle/base/version.hpp").read_text()
    return re.search(r'version_text = "([^"]+)"', text)[1]


def build_api():
    """Doxygen's warnings. A broken comment of a promised header is one."""
    settings = f"""@INCLUDE = docs/doxygen/Doxyfile
OUTPUT_DIRECTORY = {HOME / "site"}
PROJECT_NUMBER = {version()}
"""
    try:
        done = subprocess.run(["doxygen", "-"], cwd=ROOT, text=True, input=settings, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=BUILD_TIMEOUT_S)
    except FileNotFoundError:
        return ["there is no doxygen; scripts/packages.sh docs installs it"]
    return [line for line in done.stdout.splitlines() if line.strip()]


def build():
    """What mkdocs and Doxygen complain of."""
    return build_pages() + build_api()


def build_pages():
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([PYTHON, "-m", "mkdocs", "build", "--strict", "--clean", "-f", ROOT / "mkdocs.yml",
                           "-d", HOME / "site"], env=env, cwd=ROOT, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=BUILD_TIMEOUT_S)
    # A complaint may go on, indented.
    complaints = [re.sub(r"\s+", " ", one) for one in re.findall(r"^(?:WARNING|ERROR).*(?:\n +.*)*", done.stdout, re.M)]
    return complaints or ([done.stdout.strip() or "it says nothing"] if done.returncode != 0 else [])


def main():
    try:
        install()
    except peers.Missing as reason:
        sys.exit(f"site: {reason}")
    complaints = build()
    if complaints:
        sys.exit("\n".join(complaints))
    print((HOME / "site/index.html").relative_to(ROOT))


if __name__ == "__main__":
    main()
