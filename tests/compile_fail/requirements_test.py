"""A compiler, a standard or flags that Coracle does not support are refused in words, by the headers and by the configuration."""

import re
import shutil
import subprocess

import pytest

from programs import ROOT

INCLUDE = ROOT / "include"
# Each umbrella, and headers that users and generated code include on their own.
HEADERS = [*(f"coracle/{path.name}" for path in sorted((INCLUDE / "coracle").glob("*.hpp"))), "coracle/base/version.hpp",
           "coracle/coro/task.hpp", "coracle/net/stream.hpp"]
EXCEPTIONS = "Coracle requires exceptions: compile without -fno-exceptions"
STANDARD = "Coracle requires C++20 or newer: compile with -std=c++20 (CMake: target_compile_features(TARGET PRIVATE cxx_std_20))"
# In place of an older compiler: its macros.
OLD_CLANG = ("-D__clang__=1", "-D__clang_major__=15")
OLD_GCC = ("-U__GNUC__", "-D__GNUC__=11")
OTHER = ("-U__GNUC__",)


def first_error(compiler, flags, header):
    stop = "-ferror-limit=1" if "clang" in compiler else "-fmax-errors=1"
    done = subprocess.run([compiler, *flags, stop, "-fsyntax-only", "-I", INCLUDE, "-x", "c++", "-"], input=f"#include <{header}>\n",
                          capture_output=True, text=True)
    assert done.returncode != 0, "it compiles"
    line = next(line for line in done.stderr.splitlines() if "error:" in line)
    return re.search(r'"(.*)"', line)[1] if "requirements.hpp" in line else line


@pytest.mark.parametrize(("compiler", "header"), [*(("g++", header) for header in HEADERS), ("clang++-19", "coracle/server.hpp")])
@pytest.mark.parametrize(("flags", "words"), [(("-std=c++20", "-fno-exceptions"), EXCEPTIONS), (("-std=c++17",), STANDARD)],
                         ids=["without_exceptions", "an_older_standard"])
def test_a_header_refuses(compiler, header, flags, words):
    assert shutil.which(compiler), f"there is no {compiler}; fix: scripts/packages.sh build sanitize"
    assert first_error(compiler, flags, header) == words


@pytest.mark.parametrize(("flags", "words"), [
    (OLD_CLANG, "Coracle requires clang 16 or newer, or g++ 12 or newer: this clang is older (Debian: apt-get install clang-19)"),
    (OLD_GCC, "Coracle requires g++ 12 or newer, or clang 16 or newer: this g++ is older (Debian: apt-get install g++-12)"),
    (OTHER, "Coracle requires g++ 12 or newer, or clang 16 or newer: this compiler is neither"),
], ids=["an_older_clang", "an_older_gcc", "another_compiler"])
def test_a_header_refuses_a_compiler(flags, words):
    assert first_error("g++", ("-std=c++20", *flags), "coracle/server.hpp") == words


@pytest.mark.parametrize("compiler", ["g++", "clang++-19"])
def test_a_program_without_run_time_type_information_is_not_refused(compiler):
    includes = "".join(f"#include <{header}>\n" for header in HEADERS)
    done = subprocess.run([compiler, "-std=c++20", "-fno-rtti", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I", INCLUDE, "-x", "c++", "-"],
                          input=includes, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("option", "words"), [
    ("-DCMAKE_CXX_STANDARD=17", "Coracle requires C++20 or newer; CMAKE_CXX_STANDARD is 17: set it to 20, 23 or 26, or leave it unset"),
    ("-DCMAKE_CXX_FLAGS=-fno-exceptions", "Coracle requires exceptions: take -fno-exceptions out of CMAKE_CXX_FLAGS"),
], ids=["an_older_standard", "without_exceptions"])
def test_the_configuration_refuses(option, words, tmp_path):
    done = subprocess.run(["cmake", "-S", ROOT, "-B", tmp_path, option], capture_output=True, text=True)
    assert done.returncode != 0, "it is configured"
    assert words in " ".join(done.stderr.split())


# What CMake knows of the machine, before the file that checks it is read.
@pytest.mark.parametrize(("processor", "pointer_bytes", "is_supported"), [
    ("x86_64", 8, True), ("aarch64", 8, True), ("riscv64", 8, False), ("armv7l", 4, False), ("x86_64", 4, False),
])
def test_the_configuration_refuses_an_architecture(processor, pointer_bytes, is_supported, tmp_path):
    script = tmp_path / "check.cmake"
    script.write_text(f'set(CMAKE_CXX_COMPILER_ID GNU)\nset(CMAKE_CXX_COMPILER_VERSION 12.2)\nset(CMAKE_SYSTEM_PROCESSOR {processor})\n'
                      f'set(CMAKE_SIZEOF_VOID_P {pointer_bytes})\ninclude({ROOT}/cmake/coracle_compile.cmake)\n')
    said = " ".join(subprocess.run(["cmake", "-P", script], capture_output=True, text=True).stderr.split())
    refusal = (f"Coracle requires x86-64 or 64-bit ARM; this builds for {processor} with pointers of {pointer_bytes} bytes: build on one of them, "
               "or for ARM on any machine with --toolchain cmake/cross.cmake (docs/reference/platforms.md)")
    assert (refusal in said) != is_supported


# What CMake knows of a compiler, before the file that checks it is read.
@pytest.mark.parametrize(("name", "version", "words"), [
    ("GNU", "11.4.0", "g++ 12 or newer, or clang 16 or newer; this is g++ 11.4.0: set CMAKE_CXX_COMPILER (Debian: apt-get install g++-12)"),
    ("Clang", "15.0.7", "clang 16 or newer, or g++ 12 or newer; this is clang 15.0.7: set CMAKE_CXX_COMPILER (Debian: apt-get install clang-19)"),
    ("Intel", "2021", "g++ 12 or newer, or clang 16 or newer; this compiler is Intel: set CMAKE_CXX_COMPILER"),
])
def test_the_configuration_refuses_a_compiler(name, version, words, tmp_path):
    script = tmp_path / "check.cmake"
    script.write_text(f'set(CMAKE_CXX_COMPILER_ID {name})\nset(CMAKE_CXX_COMPILER_VERSION {version})\n'
                      f'include({ROOT}/cmake/coracle_compile.cmake)\n')
    done = subprocess.run(["cmake", "-P", script], capture_output=True, text=True)
    assert done.returncode != 0, "it is accepted"
    assert f"Coracle requires {words}" in " ".join(done.stderr.split())
