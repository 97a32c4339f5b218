"""protoc-gen-coracle as the tests run it."""

import subprocess

from programs import ROOT, own

GOLDEN = ROOT / "tests/golden"


def run(command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, stdin=subprocess.DEVNULL)


def plugin():
    """The option that makes protoc run it."""
    return f"--plugin=protoc-gen-coracle={own('protoc-gen-coracle')}"
