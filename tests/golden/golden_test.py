"""protoc-gen-coracle over each .proto of this folder.

What it writes has to be, to the letter, the header that lies beside the .proto; `pytest tests/golden --update` takes what it
writes for what is expected, and the difference that git shows afterwards is to be read. The headers of all cases are also
compiled, in one program per compiler, with every warning that a user may have switched on.

A case whose second comment line is `// coracle_opt: ...` is run with these options.
"""

import difflib
import re
import shutil

import pytest

from plugin import GOLDEN, plugin, protoc_version, run
from programs import ROOT

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Woverloaded-virtual", "-Wnon-virtual-dtor"]
# The first protoc that knows the edition; ./dev protobuf runs the tests with newer ones.
NEEDS_PROTOC = {"edition_2023": 27, "edition_2024": 32}
# Older versions of protoc write `namespace switch` into the .pb.h, which does not compile; newer ones another name, which the
# header then has, too.
AS_BEFORE_PROTOC_30 = {"reserved_package"}
NOT_COMPILED = AS_BEFORE_PROTOC_30 if protoc_version() < 30 else set()
PROTOS = {str(path.relative_to(GOLDEN).with_suffix("")): path for path in sorted(GOLDEN.rglob("*.proto"))
          if protoc_version() >= NEEDS_PROTOC.get(path.stem, 0)}


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """What is generated: protoc's messages in messages/, our headers in services/."""
    folder = tmp_path_factory.mktemp("golden")
    for part in ("messages", "services"):
        (folder / part).mkdir()
    return folder


def generate(proto, out):
    options = re.search(r"^// coracle_opt: (.+)$", proto.read_text(), re.M)
    command = ["protoc", f"-I{GOLDEN}", plugin(), f"--cpp_out={out / 'messages'}", f"--coracle_out={out / 'services'}",
               *([f"--coracle_opt={options[1]}"] if options else [])]
    result = run([*command, proto])
    assert result.returncode == 0, result.stderr.strip()


def first_difference(expected, written):
    lines = difflib.unified_diff(expected.splitlines(), written.splitlines(), lineterm="", n=0)
    changed = [line for line in lines if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    return f"{len(changed)} lines differ, first: {changed[0]}" if changed else "the ends of lines differ"


@pytest.mark.parametrize("name", [name for name in PROTOS if name in NOT_COMPILED or name not in AS_BEFORE_PROTOC_30])
def test_what_is_written_is_what_is_expected(name, out, request):
    proto = PROTOS[name]
    generate(proto, out)
    written = sorted((out / "services" / proto.relative_to(GOLDEN)).parent.glob(f"{proto.stem}.coracle*.?pp*"))
    assert written, "it writes no header"
    for header in written:
        expected = proto.parent / header.name
        if request.config.getoption("--update"):
            expected.write_text(header.read_text())
        assert expected.exists(), "nothing is expected yet; read what --update writes"
        same = expected.read_text() == header.read_text()
        assert same, f"{first_difference(expected.read_text(), header.read_text())}; if that is meant: pytest tests/golden --update"


def program_of(headers, folder):
    """Includes each header twice, and makes the compiler look into each class."""
    lines = [f'#include "{header}"' for header in headers] * 2
    for number, header in enumerate(header for header in headers if not header.endswith(".fake.hpp")):
        text = (folder / header).read_text()
        space = re.search(r"^namespace (\S+) \{$", text, re.M)
        for name in re.findall(r"^class (\w+) final \{$", text, re.M) if space else []:
            qualified = f"{space[1]}::{name}"
            lines += [f"struct {name}_{number} final : {qualified}::service {{}};",
                      f"auto use(const {name}_{number}& s) {{ return s.methods(); }}"]
    return "\n".join(lines) + "\n"


@pytest.mark.timeout(240)
@pytest.mark.parametrize("compiler", ["g++", "clang++-19"])
def test_the_headers_compile(compiler, out, tmp_path):
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    for proto in PROTOS.values():
        generate(proto, out)
    headers = [f"{name}.coracle.hpp" for name, proto in PROTOS.items() if proto.stem not in NOT_COMPILED]
    headers += [header.replace(".hpp", ".fake.hpp") for header in headers]
    headers = [header for header in headers if (out / "services" / header).exists()]
    source = tmp_path / "all.cpp"
    source.write_text(program_of(headers, out / "services"))
    result = run([compiler, "-std=c++20", "-Werror", *WARNINGS, "-I", out / "services", "-I", ROOT / "include",
                  "-isystem", out / "messages", "-c", source, "-o", tmp_path / "all.o"])
    assert result.returncode == 0, next((line for line in result.stderr.splitlines() if "error" in line), result.stderr)
