"""The plugin, which is built with the distribution's protobuf, run by the protoc of grpcio-tools, which is years newer."""

import subprocess
import sys

import pytest

from plugin import GOLDEN, plugin

pytest.importorskip("grpc_tools", reason="./dev peers installs it")


def generate(folder, protos, out):
    return subprocess.run([sys.executable, "-m", "grpc_tools.protoc", f"-I{folder}", plugin(), f"--coracle_out={out}", *map(str, protos)],
                          capture_output=True, text=True, timeout=60)


def test_it_writes_the_same_headers(tmp_path):
    protos = [path for path in sorted(GOLDEN.glob("*.proto"))
              if "edition = " not in path.read_text() and "coracle_opt" not in path.read_text()]
    done = generate(GOLDEN, protos, tmp_path)
    assert done.returncode == 0, done.stderr
    written = {path.name: path.read_text() for path in tmp_path.glob("*.hpp")}
    assert written == {f"{proto.stem}.coracle.hpp": (GOLDEN / f"{proto.stem}.coracle.hpp").read_text() for proto in protos}


def test_files_of_editions_are_generated_or_refused_with_what_to_do(tmp_path):
    done = generate(GOLDEN, [GOLDEN / "edition_2023.proto"], tmp_path)
    if "protobuf older than 27" in done.stderr:
        assert "edition_2023.proto is a file of an edition" in done.stderr and "fix: build Coracle with protobuf 27 or newer" in done.stderr
        assert not list(tmp_path.iterdir())
    else:
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "edition_2023.coracle.hpp").read_text() == (GOLDEN / "edition_2023.coracle.hpp").read_text()
