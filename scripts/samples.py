#!/usr/bin/env python3
"""Keeps the code shown in documents the same as code that is compiled: samples.py [--write] [root].

A document holds   <!-- sample: examples/01_greeter/server.cpp#handler -->   before a fenced block, the source holds
`// [handler]` before and `// [/handler]` after the part that is shown. Without #name the whole file is shown. Pages of docs/
show no other C++, but for those of NOT_COMPILED.
"""

import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/structure"))
sys.dont_write_bytecode = True

from tree import Tree  # noqa: E402

SAMPLE = re.compile(r"(<!-- sample: (\S+?)(?:#(\w+))? -->\n```\w+\n)(.*?)(^```$)", re.M | re.S)

UNMARKED = re.compile(r"(?<!-->\n)^```cpp$", re.M)
# A page, and why some of its code is not compiled.
NOT_COMPILED = {
    "docs/guides/hazards.md": "it shows what is not to be written",
    "docs/guides/from_asio_grpc.md": "what people come from needs asio-grpc",
}


class Mismatch(Exception):
    pass


def shown(root, source, part):
    path = root / source
    if not path.is_file():
        raise Mismatch(f"{source} does not exist")
    text = path.read_text()
    if part:
        found = re.search(rf"^ *// \[{part}\]\n(.*?)^ *// \[/{part}\]$", text, re.M | re.S)
        if not found:
            raise Mismatch(f"{source} has no part between // [{part}] and // [/{part}]")
        text = textwrap.dedent(found[1])
    return text.strip("\n") + "\n"


def check(root, name, write):
    """Yields (sample, fault or None) for each sample of one document."""
    text = (root / name).read_text()
    mended = text
    for head, source, part, block, tail in SAMPLE.findall(text):
        label = f"{name}/{source}" + (f"#{part}" if part else "")
        try:
            expected = shown(root, source, part)
        except Mismatch as mismatch:
            yield label, str(mismatch)
            continue
        mended = mended.replace(head + block + tail, head + expected + tail)
        if block != expected and not write:
            yield label, f"{name} shows something else than {source}; mend: scripts/samples.py --write"
        else:
            yield label, None
    if text.count("<!-- sample:") != len(SAMPLE.findall(text)):
        yield name, "a sample's marker is not followed by a fenced block with a language"
    if name.startswith("docs/") and name not in NOT_COMPILED and UNMARKED.search(text):
        line = text[:UNMARKED.search(text).start()].count("\n") + 1
        yield name, f"the code in line {line} is not compiled; put it into tests/docs, and a sample's marker before it"
    if write and mended != text:
        (root / name).write_text(mended)


def main(arguments):
    write = "--write" in arguments
    roots = [argument for argument in arguments if not argument.startswith("--")]
    root = pathlib.Path(roots[0]) if roots else ROOT
    failed = False
    shows_something = False
    for name in Tree(root).files:
        if name.endswith(".md"):
            for label, fault in check(root, name, write):
                shows_something = True
                failed |= fault is not None
                print(f"FAIL {label}: {fault}" if fault else f"PASS {label}")
    if not shows_something:
        print("FAIL README.md: shows no sample of compiled code")
        failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
