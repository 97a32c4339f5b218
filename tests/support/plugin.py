"""protoc-gen-coracle as the tests run it."""

import subprocess

from programs import ROOT, own

GOLDEN = ROOT / "tests/golden"


def run(command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, stdin=subprocess.DEVNULL)


def protoc_version():
    """The major version as protobuf counts since 22: 21 for protoc 3.21, 31 for 31.1."""
    parts = [int(part) for part in run(["protoc", "--version"]).stdout.split()[-1].split(".")]
    return parts[1] if parts[0] == 3 else parts[0]


def plugin():
    """The option that makes protoc run it."""
    return f"--plugin=protoc-gen-coracle={own('protoc-gen-coracle')}"
