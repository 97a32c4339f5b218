#!/usr/bin/env python3
"""Compiles what must not compile: compile_fail.py [folder].

Each tests/compile_fail/*.cpp says what the compiler must answer, in one or more lines `// expect: text`. A part
between `#ifdef MISUSE` and `#endif` is what is wrong in it: without it the file must compile, which shows that the
misuse and nothing else is refused. The folder's .proto files are generated first.
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
BIN = pathlib.Path(os.environ.get("CORACLE_BIN") or ROOT / "build/release/bin")


def generate(folder, out):
    """The classes of the folder's .proto files, for what misuses generated code. Returns protoc's complaint."""
    protos = sorted(folder.glob("*.proto"))
    if not protos:
        return ""
    command = ["protoc", f"-I{folder}", f"--plugin=protoc-gen-coracle={BIN / 'protoc-gen-coracle'}",
               f"--cpp_out={out}", f"--coracle_out={out}", *map(str, protos)]
    return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL).stderr.strip()


def compile_alone(source, flags, misuse):
    command = ["g++", "-std=c++20", "-fsyntax-only", *flags, *(["-DMISUSE"] if misuse else []), str(source)]
    # In the C locale the compiler's quotation marks are those of the keyboard.
    return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          env={**os.environ, "LC_ALL": "C"})


def fault_of(source, flags):
    """Why the file is not refused as it should be; None when it is."""
    text = source.read_text()
    expected = re.findall(r"^// expect: (.+)$", text, re.M)
    if not expected:
        return "it has no line `// expect: text`"
    if "#ifdef MISUSE" in text:
        control = compile_alone(source, flags, misuse=False)
        if control.returncode != 0:
            return "it does not compile without its misuse: " + first_error(control.stderr)
    result = compile_alone(source, flags, misuse=True)
    if result.returncode == 0:
        return "it compiles"
    for words in expected:
        if words not in result.stderr:
            return f'the compiler does not say "{words}" but: {first_error(result.stderr)}'
    return None


def first_error(text):
    return next((line.strip() for line in text.splitlines() if "error:" in line), "nothing")[:200]


def main(arguments):
    folder = pathlib.Path(arguments[0] if arguments else ROOT / "tests/compile_fail")
    failed = False
    with tempfile.TemporaryDirectory() as out:
        complaint = generate(folder, out)
        if complaint:
            print(f"FAIL protos: {complaint.splitlines()[0]}")
            return 1
        flags = ["-I", str(ROOT / "include"), "-I", str(ROOT / "src"), "-isystem", out]
        sources = sorted(folder.glob("*.cpp"))
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            faults = list(pool.map(lambda source: fault_of(source, flags), sources))
        for source, fault in zip(sources, faults):
            failed |= fault is not None
            print(f"FAIL {source.stem}: {fault}" if fault else f"PASS {source.stem}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
