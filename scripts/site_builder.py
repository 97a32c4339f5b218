#!/usr/bin/env python3
"""Builds the documentation as a site, strictly, by a mkdocs of its own below build/docs. Doxygen reads the API reference."""

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


def build():
    """What mkdocs complains of, and with it Doxygen, which scripts/site_api.py runs."""
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
