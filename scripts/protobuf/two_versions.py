"""A program with the distribution's protobuf loads a plugin that brings another one: two_versions/."""

import pathlib
import subprocess
import tempfile

from outcome import Outcome
from process import BUILD, ROOT

SOURCES = pathlib.Path(__file__).resolve().parent / "two_versions"
RELEASE = BUILD / "release"
HIDDEN = ["-fvisibility=hidden", "-fvisibility-inlines-hidden", "-Wl,--exclude-libs,ALL"]
LIBRARIES = ["protobuf", "liburing", "libcares", "zlib", "libzstd", "libbrotlienc", "libbrotlidec", "snappy", "liblz4"]


def run(*command):
    return subprocess.run([str(word) for word in command], cwd=SOURCES, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)


def built(*command):
    done = run(*command)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]}: {done.stdout[-500:]}")
    return done.stdout


def plugin(at, folder, name, flags):
    built(at / "bin/protoc", "-I.", f"--cpp_out={folder}", "note.proto")
    built("g++", "-std=c++17", "-O1", "-fPIC", "-shared", *flags, "-I", folder, "-isystem", at / "include", "plugin.cpp", folder / "note.pb.cc",
          "-o", folder / name, f"-L{at / 'lib'}", "-lprotobuf", "-labsl", "-lz", "-lrt", "-pthread")
    return folder / name


def program(folder):
    built("protoc", "-I.", f"--cpp_out={folder}", f"--plugin=protoc-gen-coracle={RELEASE / 'bin/protoc-gen-coracle'}", f"--coracle_out={folder}",
          "note.proto")
    known = [name for name in LIBRARIES if run("pkg-config", "--exists", name).returncode == 0]
    built("g++", "-std=c++20", "-O1", "-I", folder, "-I", ROOT / "include", "program.cpp", folder / "note.pb.cc", "-o", folder / "program",
          RELEASE / "lib/libcoracle.a", *built("pkg-config", "--libs", *known).split(), "-pthread", "-ldl")
    return folder / "program"


def test(at, version):
    """The plugin works if it hides its protobuf. If not, it uses the program's, which ends the program with words of protobuf's."""
    outcome = Outcome("two versions")
    built("cmake", "--preset", "release", "-S", ROOT)
    built("cmake", "--build", RELEASE, "--target", "coracle", "protoc-gen-coracle")
    with tempfile.TemporaryDirectory() as scratch:
        own, other = pathlib.Path(scratch, "program"), pathlib.Path(scratch, "plugin")
        own.mkdir()
        other.mkdir()
        run_with = program(own)
        hidden = run(run_with, plugin(at, other, "hidden.so", HIDDEN))
        words = hidden.stdout.split()
        if hidden.returncode == 0 and len(words) == 4 and words[0] != words[1] and words[2:] == ["kept", "2"]:
            outcome.passed += 1
        else:
            outcome.failed.append((f"a plugin that hides protobuf {version}", hidden.stdout[-300:]))
        shown = run(run_with, plugin(at, other, "shown.so", []))
        if shown.returncode != 0 and "File already exists in database: note.proto" in shown.stdout:
            outcome.passed += 1
        else:
            outcome.failed.append((f"a plugin that exports protobuf {version}", shown.stdout[-300:]))
    return outcome
