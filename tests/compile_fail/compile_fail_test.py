"""Each source of this folder is refused by the compiler, in the words that it names (support/misuse.py)."""

import pathlib
import subprocess

import pytest

from misuse import fault_of, precompile
from plugin import plugin
from programs import ROOT

HERE = pathlib.Path(__file__).parent
SOURCES = sorted(HERE.glob("*.cpp"))


@pytest.fixture(scope="module")
def flags(tmp_path_factory):
    """With the classes of the folder's .proto files, for what misuses generated code."""
    out = tmp_path_factory.mktemp("generated")
    subprocess.run(["protoc", f"-I{HERE}", plugin(), f"--cpp_out={out}", f"--coracle_out={out}", *map(str, HERE.glob("*.proto"))],
                   check=True)
    adapters = [flag for include in sorted(ROOT.glob("adapters/*/include")) for flag in ("-I", str(include))]
    made = ["-I", str(ROOT / "include"), *adapters, "-I", str(ROOT / "src"), "-isystem", str(out)]
    precompile(out / "kinds.coracle.hpp", made)  # which most of the sources include alone
    return made


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_the_compiler_refuses(source, flags):
    fault = fault_of(source, flags)
    assert fault is None, fault


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
