"""scripts/abi.py: a function that goes and a type that changes its layout are found, what is added is not."""

import importlib.util
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADER = "#pragma once\nstruct shape { int a; };\nint area(const shape&);\nint sides(const shape&);\n"
SOURCE = '#include "shape.hpp"\nint area(const shape& s) { return s.a; }\nint sides(const shape&) { return 4; }\n'


@pytest.fixture
def abi(tmp_path, monkeypatch):
    spec = importlib.util.spec_from_file_location("abi", ROOT / "scripts/abi.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "KEPT", tmp_path / "kept")
    (tmp_path / "include").mkdir()

    def check(header, source, *words, library="libcoracle.so"):
        (tmp_path / "include/shape.hpp").write_text(header)
        (tmp_path / "shape.cpp").write_text(source)
        subprocess.run(["g++", "-g", "-shared", "-fPIC", f"-Wl,-soname,{library}.9", f"-I{tmp_path / 'include'}",
                        "-o", tmp_path / library, tmp_path / "shape.cpp"], check=True)
        monkeypatch.setattr("sys.argv", ["abi.py", "--build", str(tmp_path), *words])
        return module.main()
    return check


def test_the_same_interface_is_compatible(abi, capsys):
    assert abi(HEADER, SOURCE, "--keep") == 0
    assert abi(HEADER, SOURCE) == 0
    assert "libcoracle.so.9: compatible" in capsys.readouterr().out


def test_a_new_function_is_compatible(abi):
    abi(HEADER, SOURCE, "--keep")
    assert abi(HEADER + "int more();\n", SOURCE + "int more() { return 1; }\n") == 0


@pytest.mark.parametrize("header, source", [
    (HEADER.replace("int sides(const shape&);\n", ""), SOURCE.replace("int sides(const shape&) { return 4; }\n", "")),
    (HEADER.replace("int a;", "int b; int a;"), SOURCE),
    (HEADER.replace("int area(const shape&)", "long area(const shape&)"), SOURCE.replace("int area(const shape& s)", "long area(const shape& s)")),
])
def test_what_breaks_programs_is_found(abi, capsys, header, source):
    abi(HEADER, SOURCE, "--keep")
    assert abi(header, source) == 1
    assert "programs must be built again" in capsys.readouterr().out


def test_without_a_kept_interface_it_fails(abi, capsys):
    assert abi(HEADER, SOURCE) == 1
    assert "./dev abi --keep-new" in capsys.readouterr().out


def test_the_interface_of_a_new_library_is_kept_beside_the_others(abi, capsys):
    other = HEADER.replace("int a;", "int b; int a;")
    abi(HEADER, SOURCE, "--keep")
    assert abi(other, SOURCE, "--keep-new", library="libcoracle_console.so") == 0
    capsys.readouterr()
    assert abi(other, SOURCE) == 1, "the first library has changed"
    out = capsys.readouterr().out
    assert "libcoracle.so.9: programs must be built again" in out and "libcoracle_console.so.9: compatible" in out
