"""Each source of this folder is refused by the compiler, in the words that it names (support/misuse.py)."""

import pathlib
import re
import subprocess

import pytest

from misuse import compile_alone, fault_of, precompile
from plugin import plugin
from programs import BUILD, ROOT

HERE = pathlib.Path(__file__).parent
SOURCES = sorted(HERE.glob("*.cpp"))


@pytest.fixture(scope="module")
def flags(tmp_path_factory):
    """With the classes of the folder's .proto files, for what misuses generated code."""
    out = tmp_path_factory.mktemp("generated")
    subprocess.run(["protoc", f"-I{HERE}", plugin(), f"--cpp_out={out}", f"--coracle_out={out}", *map(str, HERE.glob("*.proto"))],
                   check=True)
    adapters = [flag for include in sorted([*ROOT.glob("adapters/*/include"), *BUILD.glob("adapters/*/include")]) for flag in ("-I", str(include))]
    made = ["-I", str(ROOT / "include"), *adapters, "-I", str(ROOT / "src"), "-isystem", str(out)]
    precompile(out / "kinds.coracle.hpp", made)  # which most of the sources include alone
    return made


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_the_compiler_refuses(source, flags):
    fault = fault_of(source, flags)
    assert fault is None, fault


def test_each_missing_function_of_grpcpp_is_refused_in_its_words(flags):
    """The source uses all that the headers declare as missing."""
    include = ROOT / "adapters/grpcpp/include"
    headers = "\n".join(path.read_text() for path in sorted(include.rglob("*.h")) if path.name != "one_library.h")
    missing = re.findall(r'(\w+)\([^;{}]*\)\s+(?:const\s+)?CORACLE_GRPCPP_MISSING\(\s*"([^"]+)"\s*\)', headers)
    assert len(missing) == headers.count("CORACLE_GRPCPP_MISSING("), "a declaration that this pattern does not find"
    assert missing
    said = compile_alone(HERE / "grpcpp_missing_functions.cpp", flags, misuse=True).stderr.splitlines()
    for function, text in missing:
        assert any(f"::{function}(" in line and line.endswith(f" is unavailable: coracle::grpcpp: {text}") for line in said), function


REFUSED = 'static_assert(false, "this must not be");'


@pytest.mark.parametrize(("code", "fault"), [
    (REFUSED, None),
    ("int x;", "it compiles"),
    ("int x = ;", "the compiler does not say"),
    (f"int x = ;\n#ifdef MISUSE\n{REFUSED}\n#endif", "it does not compile without its misuse"),
], ids=["a_misuse_that_is_refused", "a_misuse_that_compiles", "a_misuse_refused_for_another_reason",
        "a_misuse_whose_rest_does_not_compile"])
def test_a_planted_misuse(code, fault, tmp_path):
    source = tmp_path / "planted.cpp"
    source.write_text(f"// expect: must not\n{code}\n")
    found = fault_of(source)
    assert found is None if fault is None else found.startswith(fault)
