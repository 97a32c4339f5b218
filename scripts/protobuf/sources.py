"""The sources that use protobuf most, compiled with the headers of another version as far as a compiler finds errors: no build of protobuf.

Not those that include messages of our own, which need that version's protoc.
"""

import shutil
import subprocess

import archives
from process import BUILD, ROOT

FOLDERS = ("src/rpc", "src/rest", "codegen")
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wno-subobject-linkage", "-Werror")


def check(version):
    """In one piece, as most of the time goes into protobuf's headers. Returns the compiler's exit code."""
    folder = BUILD / "protobuf-sources"
    shutil.rmtree(folder, ignore_errors=True)
    third_party = archives.unpack(version, folder / "unpacked")
    names = sorted(path.relative_to(ROOT) for part in FOLDERS for path in (ROOT / part).glob("*.cpp"))
    whole = folder / "sources.cpp"
    whole.write_text("".join(f'#include "{name}"\n' for name in names))
    headers = [word for part in ("protobuf/src", "abseil-cpp", "utf8_range", "protobuf/third_party/utf8_range")
               for word in ("-isystem", third_party / part)]
    done = subprocess.run(["g++", "-std=c++20", "-fsyntax-only", *WARNINGS, "-I.", "-Iinclude", "-Isrc", *headers, whole], cwd=ROOT)
    if done.returncode == 0:
        print(f"dev: {len(names)} sources compile with the headers of protobuf {version}")
    return done.returncode
