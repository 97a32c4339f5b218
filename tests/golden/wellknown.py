#!/usr/bin/env python3
"""What the library derives from gRPC's own definitions (proto/grpc, proto/xds). As a program, wellknown.py writes it.

    src/wellknown/NAME.proto             a copy in a package of ours, for the lite runtime (docs/decisions/0005)
    src/services/NAME.coracle.hpp        what protoc-gen-coracle makes of the copy
    src/wellknown/descriptors_table.cpp  the definitions as they are on the wire, serialized

They lie with the sources, so that the library can be built without the plugin, and from include/ and src/ alone.
wellknown_test.py compares them, to the letter, with what is derived now.
"""

import os
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLUGIN = pathlib.Path(os.environ.get("CORACLE_BIN") or ROOT / "build/release/bin") / "protoc-gen-coracle"
HEAD = "// Written by tests/golden/wellknown.py from {}. Do not edit.\n"
# name: (file below proto/, its package). What imports another one stands behind it.
COPIES = {"health": ("grpc/health/v1/health.proto", "grpc.health.v1"),
          "reflection": ("grpc/reflection/v1/reflection.proto", "grpc.reflection.v1"),
          "channelz": ("grpc/channelz/v1/channelz.proto", "grpc.channelz.v1"),
          "orca_load_report": ("xds/data/orca/v3/orca_load_report.proto", "xds.data.orca.v3"),
          "orca": ("xds/service/orca/v3/orca.proto", "xds.service.orca.v3")}
SERVICES = [name for name in COPIES if name != "orca_load_report"]
# Their definitions are served as they are on the wire; of reflection, the older package, too.
DESCRIBED = ["grpc/health/v1/health.proto", "grpc/reflection/v1/reflection.proto",
             "grpc/reflection/v1alpha/reflection.proto", "grpc/channelz/v1/channelz.proto",
             "xds/service/orca/v3/orca.proto"]
BYTES_A_LINE = 20

TABLE = """#include "wellknown/descriptors.hpp"

namespace coracle::wellknown {{

namespace {{

constexpr unsigned char bytes[] = {{
{}
}};

}}  // namespace

std::string_view descriptors() noexcept {{ return {{reinterpret_cast<const char*>(bytes), sizeof bytes}}; }}

}}  // namespace coracle::wellknown
"""


class Wrong(Exception):
    """What a program said."""


def protoc(*arguments):
    done = subprocess.run(["protoc", *map(str, arguments)], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise Wrong((done.stderr.strip().splitlines() or ["protoc failed"])[0])


def copy_of(name):
    path, package = COPIES[name]
    line = f"package {package};\n"
    text = (ROOT / "proto" / path).read_text()
    if text.count(line) != 1:
        raise Wrong(f"proto/{path} does not say {line.strip()}")
    for other, (imported, _) in COPIES.items():
        text = text.replace(f'import "{imported}";', f'import "wellknown/{other}.proto";')
    return HEAD.format(f"proto/{path}") + text.replace(
        line, f"package coracle.wellknown.{package.removeprefix('grpc.')};\noption optimize_for = LITE_RUNTIME;\n")


def derived(scratch):
    """Yields (path, text) of each file."""
    (scratch / "wellknown").mkdir()
    for name, (_, package) in COPIES.items():
        text = copy_of(name)
        yield f"src/wellknown/{name}.proto", text
        (scratch / f"wellknown/{name}.proto").write_text(text)
        if name not in SERVICES:
            continue
        protoc(f"-I{scratch}", f"--coracle_out={scratch}", f"--plugin=protoc-gen-coracle={PLUGIN}",
               f"--coracle_opt=wire_package={package}", scratch / f"wellknown/{name}.proto")
        yield f"src/services/{name}.coracle.hpp", (scratch / f"wellknown/{name}.coracle.hpp").read_text()
    protoc(f"-I{ROOT}/proto", "--include_imports", f"--descriptor_set_out={scratch}/set", *DESCRIBED)
    numbers = [str(byte) for byte in (scratch / "set").read_bytes()]
    lines = [",".join(numbers[at:at + BYTES_A_LINE]) + "," for at in range(0, len(numbers), BYTES_A_LINE)]
    yield "src/wellknown/descriptors_table.cpp", HEAD.format("proto") + TABLE.format("\n".join(lines))


def main():
    with tempfile.TemporaryDirectory() as scratch:
        for path, text in derived(pathlib.Path(scratch)):
            (ROOT / path).write_text(text)


if __name__ == "__main__":
    main()
