#!/usr/bin/env python3
"""Keeps the code that pages show the same as code that is compiled: samples.py [--write].

A page of docs/ has the site fetch it (pymdownx.snippets): a line `--8<-- "examples/01_greeter/server.cpp:handler"` in a fenced
block. The source holds `// --8<-- [start:handler]` before and `// --8<-- [end:handler]` after the part that is shown, in
Python after `#`; without :handler the whole file is shown. Pages of docs/ show no other C++, but for those of NOT_COMPILED.

README.md is read where nothing is fetched. There `<!-- sample: examples/01_greeter/server.cpp#handler -->` stands before a fenced
block, which --write brings up to date.
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
SNIPPET = re.compile(r'^ *--8<-- "([^":]+)(?::(\w+))?"$', re.M)
UNMARKED = re.compile(r"(?<!-->\n)^```cpp$(?!\n--8<-- )", re.M)
# Where a part begins and ends.
BEGIN, END = r"^ *(?://|#) --8<-- \[start:{0}\]\n", r"^ *(?://|#) --8<-- \[end:{0}\]$"
ANY_MARK = re.compile(r"^ *(?://|#) --8<-- \[(?:start|end):\w+\]\n", re.M)
# A page, and why some of its code is not compiled.
NOT_COMPILED = {
    "docs/reference/options.md": "made of the comments of headers by scripts/options_reference.py",
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
        found = re.search(f"{BEGIN.format(part)}(.*?){END.format(part)}", text, re.M | re.S)
        if not found:
            raise Mismatch(f"{source} has no part between // --8<-- [start:{part}] and // --8<-- [end:{part}]")
        text = textwrap.dedent(found[1])
    return ANY_MARK.sub("", text).strip("\n") + "\n"


def snippets(root, name, text):
    """As check(), of what the site fetches."""
    for source, part in SNIPPET.findall(text):
        try:
            shown(root, source, part)
            fault = None
        except Mismatch as mismatch:
            fault = str(mismatch)
        yield f"{name}/{source}" + (f":{part}" if part else ""), fault


def check(root, name, write):
    """Yields (sample, fault or None) for each sample of one page."""
    text = (root / name).read_text()
    fixed = text
    yield from snippets(root, name, text)
    for head, source, part, block, tail in SAMPLE.findall(text):
        label = f"{name}/{source}" + (f"#{part}" if part else "")
        try:
            expected = shown(root, source, part)
        except Mismatch as mismatch:
            yield label, str(mismatch)
            continue
        fixed = fixed.replace(head + block + tail, head + expected + tail)
        if block != expected and not write:
            yield label, f"{name} shows something else than {source}; fix: scripts/samples.py --write"
        else:
            yield label, None
    if text.count("<!-- sample:") != len(SAMPLE.findall(text)):
        yield name, "a sample's marker is not followed by a fenced block with a language"
    if name.startswith("docs/") and name not in NOT_COMPILED and UNMARKED.search(text):
        line = text[:UNMARKED.search(text).start()].count("\n") + 1
        yield name, f"the code in line {line} is not compiled; put it into tests/docs, and a snippet of it here"
    if write and fixed != text:
        (root / name).write_text(fixed)


def main(arguments):
    faults = [f"{label}: {fault}" for name in Tree(ROOT).files if name.endswith(".md")
              for label, fault in check(ROOT, name, "--write" in arguments) if fault]
    print("\n".join(faults) or "every sample is that of its source")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
