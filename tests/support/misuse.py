"""Compiles what must not compile.

A source says what the compiler must answer, in one or more lines `// expect: text`. A part between `#ifdef MISUSE` and `#endif`
is what is wrong in it: without it the file must compile, which shows that the misuse and nothing else is refused.
"""

import os
import re
import subprocess


COMPILER = ("g++", "-std=c++20")


def precompile(header, flags):
    """The compiler finds what this makes beside a header that a source includes before anything else, and does not read it again."""
    subprocess.run([*COMPILER, *flags, "-x", "c++-header", "-o", f"{header}.gch", header], check=True)


def compile_alone(source, flags, misuse):
    command = [*COMPILER, "-fsyntax-only", *flags, *(["-DMISUSE"] if misuse else []), str(source)]
    # In the C locale the compiler's quotation marks are those of the keyboard.
    return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C"})


def first_error(text):
    return next((line.strip() for line in text.splitlines() if "error:" in line), "nothing")[:200]


def fault_of(source, flags=()):
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
