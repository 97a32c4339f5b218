#!/usr/bin/env python3
"""docs/reference/options.md: every option, from the comments of the headers that declare it.

options_reference.py says whether the page is up to date, options_reference.py --write brings it up to date.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = "docs/reference/options.md"
INCLUDE = "include/coracle"

# (class, header below include/coracle)
CLASSES = (
    ("call_options", "client/call_options.hpp"),
    ("write_options", "rpc/write_options.hpp"),
    ("compression", "compress/compression.hpp"),
    ("channel_options", "client/channel_options.hpp"),
    ("keepalive_options", "rpc/keepalive_options.hpp"),
    ("balancing", "client/balancing.hpp"),
    ("weighted_round_robin_options", "client/balancing_options.hpp"),
    ("ring_hash_options", "client/balancing_options.hpp"),
    ("outlier_detection_options", "client/balancing_options.hpp"),
    ("kubernetes_options", "naming/with_kubernetes.hpp"),
    ("consul_options", "naming/with_consul.hpp"),
    ("etcd_options", "naming/with_etcd.hpp"),
    ("server_options", "server/server_options.hpp"),
    ("client_ping_limits", "server/server_options.hpp"),
    ("connection_age", "server/server_options.hpp"),
    ("admission_options", "server/admission_options.hpp"),
    ("rate_limit", "server/rate_limit.hpp"),
    ("server_limits", "server/server_limits.hpp"),
    ("authorization_file_options", "server/authorization_policy.hpp"),
    ("console_options", "console/console.hpp"),
    ("metrics_options", "telemetry/with_metrics.hpp"),
    ("telemetry_options", "telemetry/telemetry.hpp"),
    ("runtime_options", "runtime/runtime_options.hpp"),
    ("tls::client_options", "tls/client_options.hpp"),
    ("tls::server_options", "tls/server_options.hpp"),
    ("tls::revocation_options", "tls/revocation_options.hpp"),
    ("tls::key_pair", "tls/key_pair.hpp"),
)
HEAD = f"""# Options

Every option with its default, as the headers have it: this page is made of their comments by `scripts/options_reference.py`, and a test
compares. Options that own nothing are aggregates: `coracle::runtime runtime({{.loops = 4}})`. The others are classes whose members a program
sets: `coracle::channel_options options; options.retries = false;`. Durations are `std::chrono` durations.
"""


class Fault(Exception):
    pass


def comment_above(lines, index):
    """The comment lines right above, without their slashes."""
    found = []
    while index > 0 and lines[index - 1].strip().startswith("//"):
        index -= 1
        found.insert(0, lines[index].strip().lstrip("/").removeprefix(" "))
    return found


def paragraphs(comment):
    """Markdown of a comment: lines with deeper indents are code, an empty line ends a paragraph."""
    text, block = [], []

    def end():
        if not block:
            return
        if all(line.startswith("  ") for line in block):
            text.append("```cpp\n" + "\n".join(line[2:] for line in block) + "\n```")
        else:
            text.append(re.sub(r" {2,}", " ", " ".join(line.strip() for line in block)))
        block.clear()

    for line in comment:
        if not line.strip():
            end()
        else:
            if block and block[-1].startswith("  ") != line.startswith("  "):
                end()
            block.append(line)
    end()
    return [escaped(one) for one in text]


def escaped(text):
    """Outside of code blocks, what Markdown would take for HTML or emphasis."""
    if text.startswith("```"):
        return text
    return "`".join(part if i % 2 else re.sub(r"([<>_*])", r"\\\1", part) for i, part in enumerate(text.split("`")))


def body_of(lines, name):
    """(index of the class's line, lines up to its private part)"""
    for start, line in enumerate(lines):
        if re.match(rf"(?:class|struct) {name}\b[^;]*{{", line):
            end = next(i for i in range(start, len(lines)) if lines[i].startswith((" private:", "};")))
            return start, end
    raise Fault(f"there is no class {name}")


def enum_of(lines, declaration):
    """(comment, values with what is said of them) of an enum of the same header which the option takes."""
    for index, line in enumerate(lines):
        found = re.match(r"enum class (\w+)", line)
        if not found or not re.search(rf"\b{found[1]}\b", declaration):
            continue
        values = []
        for value in lines[index + 1:]:
            said = re.match(r"^  (\w+),(?: *///?<? (.*))?$", value)
            if line.rstrip().endswith("};") or not said:
                break
            values.append(f"- `{said[1]}`" + (f": {escaped(said[2])}" if said[2] else ""))
        return comment_above(lines, index), values
    return [], []


def declarations(lines, start, end, name):
    """(line index, declaration) of each data member, and each function that sets something."""
    setter = re.compile(rf"^  (?:\[\[nodiscard\]\] )?(?:static )?(?:constexpr )?{name}&? (\w+)\(|^  {name}\(pem_source"
                        r"|^  void add_\w+\(|^  (?:const )?[\w:]+(?:<.*>)?\*? \w+(?: = .*|\{.*\})?;$")
    index = start
    while index < end:
        if setter.match(lines[index]):
            text, last = lines[index].strip(), index
            while text.count("(") > text.count(")"):
                last += 1
                text += " " + lines[last].strip()
            yield index, text
        index += 1


def shown(declaration, name):
    """The declaration without what only a compiler wants."""
    text = re.sub(r"\[\[nodiscard\]\] |\bnoexcept\b|\bstd::move\b|\bconstexpr |;$", "", declaration)
    depth = 0
    for place, letter in enumerate(text):
        depth += {"(": 1, "<": 1, ")": -1, ">": -1}.get(letter, 0)
        if letter == ")" and depth == 0:
            text = text[:place + 1]
            break
    return re.sub(rf"^{name}& ", "", re.sub(r"\s+", " ", text)).strip()


def section(name, header):
    lines = (ROOT / INCLUDE / header).read_text().splitlines()
    bare = name.split("::")[-1]
    start, end = body_of(lines, bare)
    yield f"## {name}\n"
    yield f"`coracle::{name}`, [coracle/{header}](../../{INCLUDE}/{header})\n"
    yield from (f"{one}\n" for one in paragraphs(comment_above(lines, start)) if one)
    group, last, values = [], [], []
    for index, declaration in declarations(lines, start, end, bare):
        comment = [line for line in comment_above(lines, index) if not line.startswith("--- ")]
        enum_says, enum_values = enum_of(lines, declaration)
        comment = comment or enum_says
        if comment:
            if group:
                yield from option(group, last, values)
            group, last, values = [], comment, enum_values
        if not group and not comment:
            raise Fault(f"{header}:{index + 1}: {declaration} has no comment that says what it does")
        group.append(shown(declaration, bare))
    if not group:
        raise Fault(f"{header}: {bare} has no options")
    yield from option(group, last, values)


def option(declarations_of_one, comment, values):
    yield "".join(f"### `{one}`\n\n" if i == 0 else f"`{one}`\n\n" for i, one in enumerate(declarations_of_one)).rstrip("\n") + "\n"
    yield from (f"{one}\n" for one in paragraphs(comment))
    if values:
        yield "\n".join(values) + "\n"


def page():
    parts = [HEAD]
    for name, header in CLASSES:
        parts += section(name, header)
    return "\n".join(parts)


def main(arguments):
    case = "TheReferenceOfOptionsIsUpToDate"
    try:
        wanted = page()
    except Fault as fault:
        print(f"FAIL {case}: {fault}")
        return 1
    path = ROOT / PAGE
    if "--write" in arguments:
        path.write_text(wanted)
    if not path.exists() or path.read_text() != wanted:
        print(f"FAIL {case}: the headers say something else; fix: scripts/options_reference.py --write")
        return 1
    print(f"PASS {case}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
