#!/usr/bin/env python3
"""Compiles what must not compile: compile_fail.py [folder].

Each tests/compile_fail/*.cpp says what the compiler must answer, in one or more lines `// expect: text`. A part
between `#ifdef MISUSE` and `#endif` is what is wrong in it: without it the file must compile, which shows that the
misuse and nothing else is refused.
"""

import json
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
RELEASE = ROOT / "build/release"


def include_flags():
    """What the tests of the release build are compiled with: a misuse of generated code finds its header, too."""
    flags = ["-I", str(ROOT / "include"), "-I", str(ROOT / "src")]
    database = RELEASE / "compile_commands.json"
    if not database.exists():
        return flags
    for entry in json.loads(database.read_text()):
        if "/tests/e2e/" in entry["file"]:
            words = shlex.split(entry["command"])
            for at, word in enumerate(words):
                if word == "-isystem":
                    flags += words[at:at + 2]
                elif word.startswith("-I"):
                    flags.append(word)
            break
    return flags


def compile_alone(source, flags, misuse):
    command = ["g++", "-std=c++20", "-fsyntax-only", *flags, *(["-DMISUSE"] if misuse else []), str(source)]
    return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)


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
    flags = include_flags()
    failed = False
    for source in sorted(folder.glob("*.cpp")):
        fault = fault_of(source, flags)
        failed |= fault is not None
        print(f"FAIL {source.stem}: {fault}" if fault else f"PASS {source.stem}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
