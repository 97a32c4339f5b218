#!/usr/bin/env python3
"""What it costs to compile the client of examples/17_modules with headers, with a precompiled header and with modules.

    compile_times.py COMPILER PREFIX GENERATED    of an installed Coracle and of what coracle_generate(MODULE greeter) wrote

It prints CPU seconds, the median of five; of what is compiled once for all sources, one run. docs/guides/modules.md shows them.
"""

import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
RUNS = 5
HEADERS = "#include <coracle/client.hpp>\n#include <coracle/server.hpp>\n"
USED = '#include "greeter.coracle.hpp"\n'


def seconds(command, folder):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(compiler, prefix, generated):
    prefix, generated = pathlib.Path(prefix).resolve(), pathlib.Path(generated).resolve()
    clang = "clang" in compiler
    base = [compiler, "-std=c++20", "-O0", f"-I{prefix}/include", f"-I{generated}"]
    modules = [*base, "-fprebuilt-module-path=."] if clang else [*base, "-fmodules"]
    interfaces = {"coracle": prefix / "share/coracle/modules/coracle.cppm", "greeter-greeter": generated / "greeter.coracle.cppm",
                  "greeter": generated / "greeter.cppm"}
    source = (ROOT / "examples/17_modules/client.cpp").read_text()
    plain = source.replace("import coracle;\nimport greeter;\n", HEADERS + USED)
    assert plain != source
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "imports.cpp").write_text(source)
        (folder / "headers.cpp").write_text(plain)
        (folder / "all.hpp").write_text(HEADERS)
        once = {"headers": 0.0}
        once["precompiled header"] = seconds([*base, "-x", "c++-header", "all.hpp", "-o", "all.hpp.pch" if clang else "all.hpp.gch"], folder)
        once["modules"] = sum(seconds(
            [*modules, "--precompile", "-x", "c++-module", path, "-o", f"{name}.pcm"] if clang else
            [*modules, "-x", "c++", "-c", path, "-o", f"{name}.o"], folder) for name, path in interfaces.items())
        precompiled = ["-include-pch", "all.hpp.pch"] if clang else ["-include", "all.hpp", "-Winvalid-pch"]
        ways = {"headers": [*base, "-c", "headers.cpp"], "precompiled header": [*base, *precompiled, "-c", "headers.cpp"],
                "modules": [*modules, "-c", "imports.cpp"]}
        for way, command in ways.items():
            each = statistics.median(seconds(command, folder) for _ in range(RUNS))
            print(f"{compiler:12} {way:20} a source {each:5.2f} s, once {once[way]:5.2f} s", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
