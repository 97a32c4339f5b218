"""What a hardened file of ELF lacks, by readelf: as hardening-check of Debian's devscripts, and for objects and archives, too."""

import re
import subprocess


def _readelf(path, *options):
    return subprocess.run(["readelf", "--wide", *options, path], capture_output=True, text=True, check=True).stdout


def missing_in_program(path):
    """Of an executable file, or of a shared library but for the first."""
    header, segments, dynamic, symbols = (_readelf(path, option) for option in ("--file-header", "--segments", "--dynamic", "--dyn-syms"))
    stack = re.search(r"GNU_STACK.* (RWE|RW) ", segments)
    wanted = {
        "a position-independent executable": re.search(r"Type: +DYN", header),
        "relocations that are read-only": "GNU_RELRO" in segments,
        "binding at the start": re.search(r"\bBIND_NOW\b|Flags:.*\bNOW\b", dynamic),
        "a stack that is not executable": stack and stack[1] == "RW",
        "stack protection": "__stack_chk_fail" in symbols,
        "fortified functions": re.search(r"__\w+_chk\b", symbols.replace("__stack_chk", "")),
    }
    return [name for name, there in wanted.items() if not there]


def unprotected_members(path):
    """Of a static library for x86-64: the objects whose functions do not state that they may be entered by checked jumps alone."""
    members = re.split(r"^File: .*\((.*)\)$", _readelf(path, "--notes"), flags=re.M)
    assert len(members) > 2, f"{path} is no archive of objects"
    return [name for name, notes in zip(members[1::2], members[2::2]) if not re.search(r"x86 feature:.*IBT, SHSTK", notes)]
