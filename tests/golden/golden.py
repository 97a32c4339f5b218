#!/usr/bin/env python3
"""Runs protoc-gen-coracle over each .proto of this folder: golden.py [--update].

What it writes must be, to the letter, the header that lies beside the .proto; --update takes what it writes for what
is expected, and the difference that git shows afterwards is to be read. The headers of all cases are also compiled,
in one program per compiler, with every warning that a user may have switched on.

A case whose second comment line is `// coracle_opt: ...` is run with these options.
"""

import difflib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BIN = pathlib.Path(os.environ.get("CORACLE_BIN") or ROOT / "build/release/bin")
PLUGIN = BIN / "protoc-gen-coracle"

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Woverloaded-virtual", "-Wnon-virtual-dtor"]
# May only get shorter.
NOT_COMPILED = {
    "reserved_package": "protoc 3.21 itself writes `namespace switch` into the .pb.h",
}


def run(command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, stdin=subprocess.DEVNULL)


def generate(proto, out):
    """protoc's messages go to out/messages, our header to out/services. Returns what protoc complained of."""
    options = re.search(r"^// coracle_opt: (.+)$", proto.read_text(), re.M)
    command = ["protoc", f"-I{HERE}", f"--plugin=protoc-gen-coracle={PLUGIN}", f"--cpp_out={out / 'messages'}",
               f"--coracle_out={out / 'services'}"]
    if options:
        command.append(f"--coracle_opt={options[1]}")
    result = run([*command, proto])
    return result.stderr.strip() if result.returncode != 0 else ""


def first_difference(expected, written):
    lines = difflib.unified_diff(expected.splitlines(), written.splitlines(), lineterm="", n=0)
    changed = [line for line in lines if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    return f"{len(changed)} lines differ, first: {changed[0]}" if changed else "the ends of lines differ"


def fault_of(proto, out, update):
    """Why what is written is not what is expected; None when it is."""
    complaint = generate(proto, out)
    if complaint:
        return complaint.splitlines()[0]
    for written in sorted((out / "services" / proto.relative_to(HERE)).parent.glob(f"{proto.stem}.coracle*.hpp")):
        fault = difference(proto.parent / written.name, written.read_text(), update)
        if fault:
            return fault
    return None


def difference(expected, written, update):
    """As fault_of(), of one header."""
    if update:
        expected.write_text(written)
    elif not expected.exists():
        return "nothing is expected yet; read what golden.py --update writes"
    elif expected.read_text() != written:
        return first_difference(expected.read_text(), written) + "; if that is meant: tests/golden/golden.py --update"
    return None


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


def compile_fault(compiler, headers, out):
    source = out / "all.cpp"
    source.write_text(program_of(headers, out / "services"))
    result = run([compiler, "-std=c++20", "-Werror", *WARNINGS, "-I", out / "services", "-I", ROOT / "include",
                  "-isystem", out / "messages", "-c", source, "-o", out / "all.o"])
    if result.returncode == 0:
        return None
    return next((line for line in result.stderr.splitlines() if "error" in line), "no reason").replace(f"{out}/", "")


def report(name, fault):
    print(f"FAIL {name}: {fault}" if fault else f"PASS {name}", flush=True)
    return fault is not None


def main(arguments):
    if arguments not in ([], ["--update"]):
        print(f"golden.py: it knows no {' '.join(arguments)}; golden.py [--update]", file=sys.stderr)
        return 2
    if not PLUGIN.exists():
        print(f"FAIL golden: there is no {PLUGIN}; ./dev build release makes it, CORACLE_BIN says where else it is")
        return 1
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder)
        for part in ("messages", "services"):
            (out / part).mkdir()
        protos = sorted(HERE.rglob("*.proto"))
        for proto in protos:
            failed |= report(str(proto.relative_to(HERE).with_suffix("")), fault_of(proto, out, bool(arguments)))
        headers = [str(proto.relative_to(HERE).with_suffix(".coracle.hpp")) for proto in protos
                   if proto.stem not in NOT_COMPILED]
        headers += [header.replace(".hpp", ".fake.hpp") for header in headers]
        headers = [header for header in headers if (out / "services" / header).exists()]
        for compiler in ("g++", "clang++-19"):
            if shutil.which(compiler):
                failed |= report(f"headers_compile_with_{compiler}", compile_fault(compiler, headers, out))
            else:
                print(f"SKIP headers_compile_with_{compiler}: it is not installed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
