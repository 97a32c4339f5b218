"""What is installed is hardened as distributions do it: the build of the preset `release`, whose flags the packages have, too."""

import platform

import pytest

import hardening
from programs import BUILD

# protoc-gen-coracle reads what its user's protoc gives it, and calls none of the functions that have a fortified form.
PROGRAMS = {"coracle": [], "protoc-gen-coracle": ["fortified functions"]}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_hardened(name):
    assert [lack for lack in hardening.missing_in_program(BUILD / "bin" / name) if lack not in PROGRAMS[name]] == []


def test_the_test_sees_a_program_that_is_not(tmp_path):
    """One without any of it."""
    import subprocess

    source = tmp_path / "plain.c"
    source.write_text("#include <stdio.h>\nint main(void) { char text[9]; return fgets(text, 9, stdin) ? text[0] : 0; }\n")
    plain = ["-no-pie", "-fno-stack-protector", "-U_FORTIFY_SOURCE", "-z", "norelro", "-z", "lazy", "-z", "execstack"]
    subprocess.run(["gcc", *plain, "-o", tmp_path / "plain", source], check=True)
    assert len(hardening.missing_in_program(tmp_path / "plain")) == 6


@pytest.mark.skipif(platform.machine() != "x86_64", reason="not an x86-64 machine")
@pytest.mark.parametrize("library", ["coracle", "coracle_tls", "coracle_console"])
def test_libraries_protect_their_jumps(library):
    assert hardening.unprotected_members(BUILD / f"lib/lib{library}.a") == []
