"""Names of methods and services that C++, its library or the generated classes use for something else: each has another name in
the header, and the header compiles."""

import re
import shutil

import pytest

from plugin import plugin, run
from programs import ROOT

KEYWORDS = ["class", "co_await", "delete", "int", "namespace", "operator"]
MACROS = ["EOF", "NULL", "assert", "errno", "linux", "unix"]
# Used by the generated classes, and such that a method of the name would be a constructor or hide a member.
TAKEN = ["added_to", "channel_", "draining", "full_name", "methods", "service", "stub"]
# Used there, too, but free.
FREE = ["channel", "context", "coracle", "golden", "options", "request", "requests", "table", "unary_method"]
# The substitute is the name of another method, or is itself taken.
SUBSTITUTES = {"int": "int__", "channel": "channel", "methods": "methods__", "methods_": "methods_", "int_": "int_"}
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion"]


def header_of(folder, text):
    """The header of the services, which is written beside the messages'."""
    (folder / "t.proto").write_text(f'syntax = "proto3"; package golden.reserved; message M {{}} {text}\n')
    result = run(["protoc", f"-I{folder}", plugin(), f"--cpp_out={folder}", f"--coracle_out={folder}", folder / "t.proto"])
    assert result.returncode == 0, result.stderr
    return (folder / "t.coracle.hpp").read_text()


def service(name, methods):
    kinds = [("", ""), ("stream ", ""), ("", "stream "), ("stream ", "stream ")]
    rpcs = [f"rpc {method}({kinds[n % 4][0]}.golden.reserved.M) returns ({kinds[n % 4][1]}.golden.reserved.M);" for n, method in enumerate(methods)]
    return f"service {name} {{ {' '.join(rpcs)} }}"


def name_in(header, method):
    """The function of the service's class for the method, by the order of both."""
    return re.findall(r"^    virtual ::coracle::repl\w+<\S+> (\w+)\($", header, re.M)[method]


METHODS = KEYWORDS + MACROS + TAKEN + FREE + ["int_", "methods_"]


@pytest.fixture(scope="module")
def header(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reserved")
    services = [service("namespace", METHODS), service("stub", ["stub_"]), service("stub_", []), service("service", ["stub"])]
    return folder, header_of(folder, " ".join(services))


@pytest.mark.parametrize("word", METHODS)
def test_a_method_of_the_name_is_called(word, header):
    substitute = SUBSTITUTES.get(word, word if word in FREE else f"{word}_")
    assert name_in(header[1], METHODS.index(word)) == substitute


def test_services_of_the_names_are_classes(header):
    assert re.findall(r"^class (\w+) final \{$", header[1], re.M) == ["namespace_", "stub__", "stub_", "service_"]


@pytest.mark.timeout(240)
@pytest.mark.parametrize("compiler", ["g++", "clang++-19"])
def test_the_header_compiles(compiler, header):
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    folder, text = header
    source = folder / "all.cpp"
    classes = re.findall(r"^class (\w+) final \{$", text, re.M)
    source.write_text('#include "t.coracle.hpp"\n' + "".join(
        f"struct s{n} final : golden::reserved::rpc::{name}::service {{}};\nauto use(const s{n}& s) {{ return s.methods(); }}\n"
        for n, name in enumerate(classes)))
    result = run([compiler, "-std=c++20", "-Werror", *WARNINGS, "-I", ROOT / "include", "-isystem", folder, "-c", source, "-o", folder / "all.o"])
    assert result.returncode == 0, next((line for line in result.stderr.splitlines() if "error" in line), result.stderr)
