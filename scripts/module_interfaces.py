#!/usr/bin/env python3
"""modules/*.cppm: the module interfaces, which export the promised names of the headers.

module_interfaces.py says whether they are up to date, module_interfaces.py --write brings them up to date. It needs Doxygen.
"""

import pathlib
import re
import sys

import api_reference

ROOT = api_reference.ROOT
# A module is what one library has: (module, rooms, what a program has of it, target); None stands for the rooms of no other module.
MODULES = (
    ("coracle", None, "client, server, runtime and the test kit", "coracle::module"),
    ("coracle.tls", ("tls",), "the module coracle and TLS", "coracle::tls_module"),
    ("coracle.console", ("console",), "the module coracle and the console", "coracle::console_module"),
    ("coracle.telemetry", ("telemetry",), "the module coracle, metrics and traces", "coracle::telemetry_module"),
    ("coracle.naming", ("naming",), "the module coracle and resolvers", "coracle::naming_module"),
    ("coracle.xds", ("xds",), "the module coracle, and channels and servers that a control plane configures", "coracle::xds_module"),
)
# Names that a standard library may lack, by the macro which says that it has what they need.
CONDITIONS = {"coracle/base/expected.hpp": "__cpp_lib_expected", "coracle/base/format.hpp": "__cpp_lib_format"}

SPECIALIZATION = re.compile(r"\w ?<.*>$")
SPECIALIZED = re.compile(r"^struct (std::(\w+)<coracle::(\w+), char>)", re.M)


def room_of(file):
    return file.split("/")[1]


def belongs(file, rooms):
    elsewhere = {room for _, others, _, _ in MODULES for room in others or ()}
    return room_of(file) in rooms if rooms else room_of(file) not in elsewhere


def headers_of(rooms):
    found = (path.relative_to(ROOT / "include").as_posix() for path in (ROOT / "include/coracle").glob("*/*.hpp"))
    return sorted(file for file in found if belongs(file, rooms))


def exported(reference, rooms):
    """{(namespace, condition): names}. Members of classes and specializations come with their classes."""
    classes = {name.path for name in reference.classes}
    found = {}
    for name in reference.names:
        scope, _, own = name.path.rpartition("::")
        if belongs(name.file, rooms) and scope not in classes and not SPECIALIZATION.search(name.path):
            found.setdefault((scope, CONDITIONS.get(name.file, "")), set()).add(own)
    return found


def interface(reference, module, rooms, content, target):
    lines = [f"// The module {module}: {content}. Link {target}. Made of the headers by scripts/module_interfaces.py.", "module;", ""]
    lines += [f"#include <{header}>" for header in headers_of(rooms)]
    lines += ["", f"export module {module};"]
    if rooms:
        lines += ["", "export import coracle;"]
    for (scope, condition), names in sorted(exported(reference, rooms).items()):
        space = "::".join(filter(None, ("coracle", scope)))
        block = ["", f"export namespace {space} {{", *(f"using {space}::{name};" for name in sorted(names)), f"}}  // namespace {space}"]
        lines += ["", f"#ifdef {condition}", *block[1:], "#endif"] if condition else block
    for header in headers_of(rooms):
        # A specialization has no name to export, and g++ 15 and 16 drop it from the fragment above unless a declaration here has it.
        named = [f"using {kept}_{of} = {whole};" for whole, kept, of in SPECIALIZED.findall((ROOT / "include" / header).read_text())]
        if named:
            lines += ["", f"#ifdef {CONDITIONS[header]}", "namespace coracle::kept {", *named, "}  // namespace coracle::kept", "#endif"]
    return "\n".join(lines) + "\n"


def interfaces():
    """{path: text}."""
    reference = api_reference.read()
    return {f"modules/{module}.cppm": interface(reference, module, *rest) for module, *rest in MODULES}


def main(arguments):
    try:
        wanted = interfaces()
    except api_reference.Missing as reason:
        sys.exit(f"module_interfaces.py: {reason}")
    if "--write" in arguments:
        for path, text in wanted.items():
            (ROOT / path).write_text(text)
    stale = [path for path, text in wanted.items() if not (ROOT / path).exists() or (ROOT / path).read_text() != text]
    for path in stale:
        print(f"FAIL {path}: the headers say something else; fix: scripts/module_interfaces.py --write")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
