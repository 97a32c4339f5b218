#!/usr/bin/env python3
"""Compares the binary interface of the shared libraries with the one that was kept for their SONAME.

A program that was built with an earlier version of the same minor version must run with this one: no function may go,
and no type in the public headers may change its layout. `--keep` replaces the kept files, for a new minor version; `--keep-new` keeps
those of new libraries alone."""

import argparse
import lzma
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
KEPT = ROOT / "packaging/abi"
# abidiff's exit code is a set of bits.
ERROR, USAGE, CHANGED, INCOMPATIBLE = 1, 2, 4, 8


def libraries(build):
    """The shared libraries by their SONAME."""
    found = {}
    for path in sorted(build.rglob("libcoracle*.so")):
        text = subprocess.run(["readelf", "-d", path], capture_output=True, text=True, check=True).stdout
        found[next(line for line in text.splitlines() if "SONAME" in line).split("[")[1].rstrip("]")] = path.resolve()
    return found


def described(library, to):
    """Only the types in public headers count: programs do not see the others."""
    subprocess.run(["abidw", "--no-show-locs", "--no-comp-dir-path", "--no-corpus-path", "--headers-dir", ROOT / "include",
                    "--out-file", to, library], check=True)
    return to


def kept_file(soname):
    return KEPT / f"{soname}.abi.xz"


def keep(found, only_new=False):
    KEPT.mkdir(parents=True, exist_ok=True)
    if only_new:
        found = {soname: library for soname, library in found.items() if not kept_file(soname).exists()}
    else:
        for path in KEPT.glob("*.abi.xz"):
            path.unlink()
    with tempfile.TemporaryDirectory() as folder:
        for soname, library in found.items():
            text = described(library, pathlib.Path(folder, "now.abi")).read_bytes()
            kept_file(soname).write_bytes(lzma.compress(text, preset=9))
            print(f"kept {kept_file(soname).relative_to(ROOT)}, {kept_file(soname).stat().st_size // 1000} kB")
    return 0


def differs(soname, library, folder):
    kept = kept_file(soname)
    if not kept.exists():
        print(f"{soname}: no interface is kept; ./dev abi --keep-new keeps that of a new library, and --keep all for a new minor version")
        return True
    before = pathlib.Path(folder, "before.abi")
    before.write_bytes(lzma.decompress(kept.read_bytes()))
    now = described(library, pathlib.Path(folder, "now.abi"))
    done = subprocess.run(["abidiff", "--no-added-syms", before, now], capture_output=True, text=True)
    if done.returncode & (ERROR | USAGE):
        sys.exit(f"abidiff {soname}: {done.stderr}")
    broken = done.returncode & INCOMPATIBLE or done.returncode & CHANGED
    print(f"{soname}: {'programs must be built again' if broken else 'compatible'}")
    print(done.stdout, end="")
    return bool(broken)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/abi")
    parser.add_argument("--keep", action="store_true", help="keep the present interface in packaging/abi")
    parser.add_argument("--keep-new", action="store_true", help="keep it of the libraries of which none is kept")
    chosen = parser.parse_args()
    found = libraries(chosen.build)
    if not found:
        sys.exit(f"there is no libcoracle*.so below {chosen.build}")
    if chosen.keep or chosen.keep_new:
        return keep(found, only_new=not chosen.keep)
    with tempfile.TemporaryDirectory() as folder:
        return 1 if any([differs(soname, library, folder) for soname, library in found.items()]) else 0


if __name__ == "__main__":
    sys.exit(main())
