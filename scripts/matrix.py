#!/usr/bin/env python3
"""Builds Coracle with each supported compiler, standard and set of flags, and keeps what came of it in packaging/matrix.jsonl.

    matrix.py [--list] [--again] [--tier TIER] [PATTERN...]    runs the cells whose names contain a PATTERN, in which * may stand, or all
    matrix.py --page                                           writes docs/reference/platforms.md from the results

A cell is RELEASE/COMPILER/STANDARD/WHAT, such as trixie/g++-14/c++23/sources. A cell that has passed with the present sources is not run
again without --again. Releases of Debian other than this machine's are installed below build/chroots, or below $CORACLE_CHROOTS; that
and running in them needs root.

COMPILER may also be an architecture, arm64 or s390x, which Debian's g++ builds for and an emulator runs: ./dev arm64, ./dev s390x. In its
place may also stand another version of protobuf than the release's, such as protobuf-31.1, with this machine's g++: ./dev protobuf. The
standard is then that of protobuf and Abseil, and sources are those that use protobuf most.

WHAT is headers (all public headers in one source, as a user who has every warning compiles them), sources (those of the library and of
the adapters, compiled but not optimised or linked), library (built), unit and e2e (built and run), users (a program that links
the library of g++ and C++20, with another standard or other flags), opentelemetry (programs that use opentelemetry-cpp, built and run),
or modules (programs that import the modules of the library of g++ and C++20, built and run).
"""

import argparse
import dataclasses
import datetime
import fcntl
import fnmatch
import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
RESULTS = "packaging/matrix.jsonl"
PAGE = "docs/reference/platforms.md"
CHROOTS = pathlib.Path(os.environ.get("CORACLE_CHROOTS", ROOT / "build/chroots"))
INSIDE = pathlib.Path("/srv/coracle")  # where a chroot has the sources
SOURCES = ("include", "src", "adapters", "codegen", "proto", "cmake", "CMakeLists.txt", "tests/unit", "tests/e2e", "tests/support",
           "tests/consume", "modules", "examples/01_greeter", "examples/17_modules", "scripts/matrix.py")
TIERS = {
    "each submission": "`.ci/run` builds and tests it with each change",
    "each release": "`./dev matrix` runs it before each release of Coracle",
    "by hand": "`./dev matrix PATTERN` runs it on demand",
}
WARNINGS = "-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror"

# The compilers of each release, oldest first, and the one of which `users` links the library.
RELEASES = {
    "bookworm": ("g++-12", "clang++-16", "clang++-19"),
    "trixie": ("g++-12", "g++-13", "g++-14", "clang++-19"),
    "forky": ("g++-14", "g++-15", "g++-16", "clang++-21"),
}
DEFAULT = {"bookworm": "g++-12", "trixie": "g++-14", "forky": "g++-15"}
STANDARDS = ("c++20", "c++23", "c++26")
# The names by which compilers know standards that were drafts when they were made.
DRAFTS = {"c++23": "c++2b", "c++26": "c++2c"}
LIBCXX = {"clang++-19": ("bookworm", "trixie"), "clang++-21": ("forky",)}
FLAGS = {
    "libc++": "-stdlib=libc++",
    "no-rtti": "-fno-rtti",
    "assertions": "-D_GLIBCXX_ASSERTIONS",
    "debug-mode": "-D_GLIBCXX_DEBUG",
    "lto": "-O2 -flto=auto",
    "native": "-O3 -march=native",
    "c++23": "-std=c++23",
    "c++26": "-std=c++26",
}
USERS = ("no-rtti", "assertions", "lto", "native", "c++23", "c++26")
# What .ci/run covers: g++ compiles each header alone and the release build, clang the builds of the sanitizers.
OF_SUBMISSIONS = {"g++-12": ("headers", "sources", "library", "e2e"), "clang++-19": ("sources", "library", "unit", "e2e")}
WHOLE = ("debug-mode", "lto", "native")  # the library and its tests are built with them, too
WITH_OPENTELEMETRY = ("trixie",)  # these have opentelemetry-cpp
# What Debian's g++ of that release builds for another architecture, and an emulator runs: WHAT, and the command that does it.
ARCHITECTURES = {
    "arm64": {"unit": "unit", "e2e": "e2e", "sim": "sim", "golden": "golden"},
    "s390x": {"unit": "unit", "sim": "sim"},
}
# The other versions of protobuf, with the standard in which it and its Abseil are built, and WHAT: scripts/protobuf.
PROTOBUFS = {
    ("23.4", "c++17"): ("sources", "unit"),
    ("25.1", "c++17"): ("sources", "unit"),
    ("29.0", "c++17"): ("sources", "unit"),
    ("31.1", "c++17"): ("sources", "unit", "e2e", "golden"),
    ("35.1", "c++17"): ("sources", "unit", "e2e", "golden", "tools", "two_versions"),
    ("35.1", "c++20"): ("unit",),
}
WITH_MODULES = {"trixie": ("clang++-19",), "forky": ("g++-16", "clang++-21")}
WITHOUT_CXX26 = ("g++-12", "g++-13", "clang++-16")  # these do not know it


@dataclasses.dataclass(frozen=True)
class Cell:
    release: str
    compiler: str
    standard: str
    what: str  # alone, or followed by a colon and the name of flags
    tier: str

    @property
    def name(self):
        return "/".join((self.release, self.compiler, self.standard, self.what))

    @property
    def shown_by(self):
        """The command that runs it."""
        if self.protobuf:
            standard = "" if self.standard == "c++17" else f" --standard {self.standard.removeprefix('c++')}"
            return f"./dev protobuf {self.protobuf} {self.what}{standard}"
        if self.compiler in ARCHITECTURES:
            return f"./dev {self.compiler} {ARCHITECTURES[self.compiler][self.what]}"
        return f"./dev matrix {self.name}"

    @property
    def protobuf(self):
        """The version of protobuf that stands in the place of a compiler, or None."""
        return self.compiler.removeprefix("protobuf-") if self.compiler.startswith("protobuf-") else None

    @property
    def has_its_command(self):
        return self.compiler in ARCHITECTURES or self.protobuf is not None

    @property
    def kind(self):
        return self.what.split(":")[0]

    @property
    def variants(self):
        return self.what.split(":")[1:]


def tier_of(release, compiler, standard, what):
    """scripts/testing/plan.py says what each submission runs."""
    by_ci = release == "bookworm" and standard == "c++20" and what in OF_SUBMISSIONS.get(compiler, ())
    return "each submission" if by_ci else "each release"


def cells():
    """All of them, in the order in which they run: what is quick comes first."""
    found = []

    def add(release, compiler, standard, what, tier=None):
        found.append(Cell(release, compiler, standard, what, tier or tier_of(release, compiler, standard, what)))

    for what in ("headers", "sources"):
        for release, compilers in RELEASES.items():
            for compiler in compilers:
                for standard in STANDARDS:
                    if standard == "c++26" and compiler in WITHOUT_CXX26:
                        continue
                    add(release, compiler, standard, what)
                    if release in LIBCXX.get(compiler, ()):
                        add(release, compiler, standard, f"{what}:libc++")
                if what == "headers":
                    add(release, compiler, "c++20", "headers:no-rtti")
    for release, compilers in RELEASES.items():
        for flags in USERS:
            if flags == "c++26" and DEFAULT[release] in WITHOUT_CXX26:
                continue
            add(release, DEFAULT[release], "c++20", f"users:{flags}")
    for release, compilers in WITH_MODULES.items():
        for compiler in compilers:
            for standard in ("c++20", "c++23"):
                add(release, compiler, standard, "modules")
    for release in WITH_OPENTELEMETRY:
        add(release, DEFAULT[release], "c++20", "opentelemetry")
    for kind in ("library", "unit", "e2e"):
        for release, compilers in RELEASES.items():
            for compiler in compilers:
                add(release, compiler, "c++20", kind)
    for architecture, kinds in ARCHITECTURES.items():
        for kind in kinds:
            add("bookworm", architecture, "c++20", kind)
    for (version, standard), kinds in PROTOBUFS.items():
        for kind in kinds:
            add("bookworm", f"protobuf-{version}", standard, kind)
    for flags in WHOLE:
        add("bookworm", "g++-12", "c++20", f"unit:{flags}", "by hand")
    return found


def is_named(cell, pattern):
    """A whole name is that cell alone; a part of a name, in which * stands for anything, is all that have it."""
    if pattern.count("/") == 3 and "*" not in pattern:
        return cell.name == pattern
    return fnmatch.fnmatchcase(cell.name, f"*{pattern}*")


def digest(root=ROOT):
    """What the cells depend on, as 12 hexadecimal digits."""
    listing = subprocess.run(["git", "-C", root, "-c", f"safe.directory={root}", "ls-files", "-co", "--exclude-standard", "-z", *SOURCES],
                             capture_output=True, check=True).stdout
    whole = hashlib.sha256()
    for name in sorted(set(listing.split(b"\0")) - {b""}):
        path = root / name.decode()
        if path.is_file():
            whole.update(name + b"\0" + path.read_bytes() + b"\0")
    return whole.hexdigest()[:12]


def read_results(root=ROOT):
    path = root / RESULTS
    return {one["cell"]: one for one in map(json.loads, path.read_text().splitlines())} if path.exists() else {}


def keep(result, root=ROOT):
    """One line a cell, in the order of the cells, so that a change shows what has changed. Two runs may write at the same time."""
    with (root / RESULTS).open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        results = read_results(root)
        results[result["cell"]] = result
        order = {cell.name: index for index, cell in enumerate(cells())}
        known = sorted((one for one in results.values() if one["cell"] in order), key=lambda one: order[one["cell"]])
        (root / RESULTS).write_text("".join(json.dumps(one) + "\n" for one in known))


# ---- where a cell runs

def this_release():
    text = pathlib.Path("/etc/os-release").read_text()
    found = re.search(r"^VERSION_CODENAME=(\w+)", text, re.M)
    return found[1] if found else ""


class Place:
    """This machine, or the chroot of another release."""

    def __init__(self, release):
        self.release = release
        self.here = release == this_release()
        self.root = CHROOTS / release
        self.tree = ROOT if self.here else INSIDE

    def command(self, shell):
        """`shell`, in the folder of the sources of that release. A chroot sees them in mounts of its own, which end with it."""
        words = ["nice", "sh", "-euc", f"cd {self.tree} && {shell}"]
        return words if self.here else self.in_chroot(words)

    def in_chroot(self, words):
        tree = self.root / INSIDE.relative_to("/")
        mounts = f"mount -t proc proc {self.root}/proc && mount --bind {ROOT} {tree}"
        inside = shlex.join(["chroot", str(self.root), "/usr/bin/env", "-i", "HOME=/root", "DEBIAN_FRONTEND=noninteractive",
                             "PATH=/usr/sbin:/usr/bin:/sbin:/bin", *words])
        return ["unshare", "--mount", "sh", "-euc", f"mkdir -p {tree} && {mounts} && exec {inside}"]

    def prepare(self):
        """Installs the release if it is missing, and lets it see the sources. Says what is wrong in one line."""
        if self.here:
            subprocess.run([ROOT / "scripts/packages.sh", "build", "matrix"], check=True)
            return
        if os.geteuid() != 0:
            sys.exit(f"dev: ./dev matrix needs root for {self.release}, which it runs in a chroot; name cells of {this_release()}, or use sudo")
        if not (self.root / "installed").exists():
            self.install()

    def install(self):
        print(f"dev: installing Debian {self.release} in {self.root}", flush=True)
        subprocess.run([ROOT / "scripts/packages.sh", "fresh"], check=True)
        if not (self.root / "etc/debian_version").exists():
            # An older debootstrap does not know newer releases, which it installs as it does the unstable one.
            known = CHROOTS / "debootstrap"
            if not known.exists():
                shutil.rmtree(partial := known.with_name("debootstrap.partial"), ignore_errors=True)
                shutil.copytree("/usr/share/debootstrap", partial, symlinks=True)
                partial.rename(known)
            if not (known / "scripts" / self.release).exists():
                (known / "scripts" / self.release).symlink_to("sid")
            subprocess.run(["debootstrap", "--variant=minbase", self.release, self.root], check=True, stdout=subprocess.DEVNULL,
                           env={**os.environ, "DEBOOTSTRAP_DIR": str(known)})
        for settings in pathlib.Path("/etc/apt/apt.conf.d").glob("*"):
            shutil.copy(settings, self.root / "etc/apt/apt.conf.d")
        self.install_packages()

    def install_packages(self):
        subprocess.run(self.in_chroot([f"{INSIDE}/scripts/packages.sh", "build", "matrix"]), check=True)
        (self.root / "installed").touch()


# ---- what a cell runs

def dialect(cell):
    """The option for the standard of a cell, by the name that its compiler knows."""
    old = cell.compiler in WITHOUT_CXX26 or cell.standard == "c++26"
    return "-std=" + (DRAFTS.get(cell.standard, cell.standard) if old else cell.standard)


def flags_of(cell):
    return " ".join(FLAGS[name] for name in cell.variants)


def folder_of(cell):
    """One for both kinds of tests: they are targets of the same build."""
    what = ":".join(["tests", *cell.variants]) if cell.kind in ("unit", "e2e") else cell.what
    return "build/matrix/" + re.sub("[/:]", "-", "/".join((cell.release, cell.compiler, cell.standard, what)))


def configure(cell, folder, *options):
    """A build of the library, unoptimised, each room in one piece, unless flags of the cell say more."""
    tests = "ON" if cell.kind in ("unit", "e2e") else "OFF"
    words = ["cmake", "-G", "Ninja", "-S", ".", "-B", folder, f"-DCMAKE_CXX_COMPILER={cell.compiler}", "-DCMAKE_BUILD_TYPE=None",
             "-DCMAKE_CXX_FLAGS=" + " ".join(filter(None, ["-O0", dialect(cell), flags_of(cell)])), "-DCMAKE_UNITY_BUILD=ON",
             "-DCMAKE_UNITY_BUILD_BATCH_SIZE=0", "-DCMAKE_COMPILE_WARNING_AS_ERROR=ON", f"-DCORACLE_BUILD_TESTS={tests}",
             "-DCORACLE_BUILD_TOOLS=OFF", "-DCORACLE_BUILD_EXAMPLES=OFF", "-DCORACLE_TEST_DOCS=OFF", *options]
    return shlex.join(words)


def command_of(cell):
    """What runs in the sources' folder of the release."""
    folder = folder_of(cell)
    compiler = " ".join(filter(None, [cell.compiler, dialect(cell), flags_of(cell)]))
    if cell.kind == "headers":
        return f"{compiler} {WARNINGS} -fsyntax-only -Iinclude -Iadapters/c/include build/matrix/every_header.cpp"
    if cell.kind == "sources":
        library = "-DCORACLE_BUILD_PLUGIN=OFF"  # protoc's library is one of libstdc++, and is not linked here
        return f"{configure(cell, folder, library)} >/dev/null && python3 -B scripts/matrix.py --syntax {folder}"
    if cell.kind == "library":
        targets = "coracle coracle_secure coracle_pages coracle_observability coracle_mesh protoc-gen-coracle"
        return f"{configure(cell, folder)} >/dev/null && cmake --build {folder} --target {targets}"
    if cell.kind in ("unit", "e2e"):
        program = f"{cell.kind}_tests"
        return f"{configure(cell, folder)} >/dev/null && cmake --build {folder} --target {program} && {folder}/bin/{program} --gtest_brief=1"
    if cell.kind == "opentelemetry":
        return opentelemetry_command(cell)
    if cell.kind == "modules":
        return modules_command(cell)
    to = f"$(pwd)/{folder}"
    return (f"{installed(cell, f'{to}/prefix')} && "
            f"cmake -G Ninja -S tests/consume/installed -B {to} -DCMAKE_PREFIX_PATH={to}/prefix -DCMAKE_CXX_COMPILER={cell.compiler} "
            f"-DCMAKE_COMPILE_WARNING_AS_ERROR=ON '-DCMAKE_CXX_FLAGS=-Wall -Wextra -Wpedantic -Wshadow -Wconversion {flags_of(cell)}' >/dev/null && "
            f"cmake --build {to} && {to}/program && {to}/served")


def installed(cell, prefix, folder=None, *options):
    """The library of the release's default compiler and C++20, which cells share, in a prefix of the cell's own."""
    library = Cell(cell.release, DEFAULT[cell.release], "c++20", "library", cell.tier)
    folder = folder or folder_of(library)
    return (f"{configure(library, folder, *options)} >/dev/null && cmake --build {folder} >/dev/null && "
            f"cmake --install {folder} --prefix {prefix} >/dev/null")


def modules_command(cell):
    """The programs of tests/consume/modules and the example, whose server and client then talk to each other."""
    folder = f"$(pwd)/{folder_of(cell)}"
    programs = f"{folder}/programs"
    # Warnings of the library itself are for the other kinds.
    library = installed(cell, f"{folder}/prefix", f"build/matrix/{cell.release}-library", "-DCMAKE_COMPILE_WARNING_AS_ERROR=OFF")
    return (f"{library} && cmake -G Ninja -S tests/consume/modules -B {programs} -DCMAKE_PREFIX_PATH={folder}/prefix -DCMAKE_CXX_COMPILER={cell.compiler} "
            f"-DCMAKE_CXX_STANDARD={cell.standard.removeprefix('c++')} -DCMAKE_COMPILE_WARNING_AS_ERROR=ON "
            f"'-DCMAKE_CXX_FLAGS=-Wall -Wextra -Wpedantic -Wshadow -Wconversion' >/dev/null && cmake --build {programs} && "
            f"ctest --test-dir {programs} --output-on-failure --no-tests=error")


def opentelemetry_command(cell):
    """Programs over an installed library, and one that must be refused, with the words of both refusals."""
    folder, library = f"$(pwd)/{folder_of(cell)}", f"{folder_of(cell)}/library"
    programs = f"{folder}/programs"
    refused = " && ".join(f"grep -q '{words}' {folder}/refused.log" for words in ("there are no options of plugins", "there are no scopes of channels"))
    # Warnings of the library itself are for the other kinds.
    return (f"scripts/packages.sh opentelemetry && {configure(cell, library, '-DCMAKE_COMPILE_WARNING_AS_ERROR=OFF')} >/dev/null && "
            f"cmake --build {library} >/dev/null && cmake --install {library} --prefix {folder}/prefix >/dev/null && "
            f"cmake -G Ninja -S tests/consume/opentelemetry -B {programs} -DCMAKE_PREFIX_PATH={folder}/prefix -DCMAKE_CXX_COMPILER={cell.compiler} "
            f"-DgRPC_DIR={folder}/prefix/lib/cmake/coracle-grpcpp -DCMAKE_COMPILE_WARNING_AS_ERROR=ON "
            f"'-DCMAKE_CXX_FLAGS=-Wall -Wextra -Wshadow -Wconversion' >/dev/null && cmake --build {programs} && {programs}/bridged && {programs}/plugin && "
            f"! cmake --build {programs} --target refused >{folder}/refused.log && {refused}")


def write_every_header():
    """All public headers, in one source."""
    names = sorted(str(path.relative_to(ROOT / "include")) for path in (ROOT / "include").rglob("*.hpp"))
    to = ROOT / "build/matrix/every_header.cpp"
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_text("".join(f"#include <{name}>\n" for name in [*names, "coracle.h"]))


def check_syntax(folder):
    """Compiles what a build folder has of src/ as far as a compiler finds errors and warnings, and no further."""
    folder = pathlib.Path(folder)
    generated = subprocess.run(["ninja", "-C", folder, "-t", "targets", "all"], capture_output=True, text=True, check=True).stdout
    wanted = re.findall(r"^(?!/)(\S+\.(?:h|hpp|inc|cc|cpp)): CUSTOM_COMMAND", generated, re.M)
    # Their own commands alone: ninja would compile first what they are made to wait for.
    commands = ["ninja", "-C", folder, "-t", "commands", "-s"]
    for command in dict.fromkeys(subprocess.run([*commands, name], capture_output=True, text=True, check=True).stdout for name in wanted):
        subprocess.run(command, shell=True, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    failed = 0
    for command in json.loads((folder / "compile_commands.json").read_text()):
        if command["file"].endswith(".pb.cc"):
            continue
        words = [word for word in shlex.split(command["command"]) if word != "-c"]
        while "ccache" in words[0] or words[0] == "env" or "=" in words[0]:
            words.pop(0)
        at = words.index("-o")
        del words[at:at + 2]
        wrong = subprocess.run([*words, "-fsyntax-only"], cwd=command["directory"]).returncode != 0
        print("FAILED:" if wrong else "ok:", command["file"], flush=True)
        failed += wrong
    return 1 if failed else 0


def first_error(text):
    found = re.search(r"^.*(?:error:|CMake Error|undefined reference|FAILED|not found).*$", text, re.M)
    return (found[0].strip() if found else text.strip().rpartition("\n")[2])[:200]


def run(cell, place, sources, root=ROOT):
    command = shlex.split(cell.shown_by) if cell.has_its_command else place.command(command_of(cell))
    log = root / folder_of(cell) / f"{cell.kind}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    with log.open("wb") as to:
        done = subprocess.run(command, cwd=root, stdin=subprocess.DEVNULL, stdout=to, stderr=subprocess.STDOUT)
    seconds = round(time.monotonic() - started)
    passed = done.returncode == 0
    reason = None if passed else first_error(log.read_text(errors="replace"))
    result = {"cell": cell.name, "tier": cell.tier, "result": "passed" if passed else "failed",
              "date": datetime.date.today().isoformat(), "seconds": seconds, "sources": sources, "command": cell.shown_by}
    if reason:
        result["reason"] = reason.replace(f"{INSIDE}/", "").replace(f"{ROOT}/", "")
    keep(result, root)
    print(f"{'PASS' if passed else 'FAIL'} {cell.name} {seconds} s" + (f": {result['reason']} (whole: {log.relative_to(root)})" if reason else ""),
          flush=True)
    return passed


def main(arguments):
    parser = argparse.ArgumentParser(prog="./dev matrix", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patterns", nargs="*", metavar="PATTERN")
    parser.add_argument("--list", action="store_true", help="print the cells with their latest results")
    parser.add_argument("--again", action="store_true", help="run cells that have passed with these sources, too")
    parser.add_argument("--tier", choices=[*TIERS, "all"], default=None)
    parser.add_argument("--page", action="store_true", help=f"write {PAGE}")
    parser.add_argument("--syntax", metavar="FOLDER", help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.syntax:
        return check_syntax(chosen.syntax)
    if chosen.page:
        (ROOT / PAGE).write_text(page(read_results()))
        return 0
    wanted = [cell for cell in cells() if not chosen.patterns or any(is_named(cell, pattern) for pattern in chosen.patterns)]
    if chosen.tier and chosen.tier != "all":
        wanted = [cell for cell in wanted if cell.tier == chosen.tier]
    elif not chosen.patterns and not chosen.list:
        wanted = [cell for cell in wanted if cell.tier != "by hand"]
    if not wanted:
        sys.exit(f"dev: no cell has {' or '.join(chosen.patterns)} in its name; ./dev matrix --list prints them")
    results = read_results()
    if chosen.list:
        for cell in wanted:
            result = results.get(cell.name, {"result": "not run", "date": ""})
            print(f"{cell.name:48} {cell.tier:16} {result['result']:8} {result['date']}")
        return 0
    sources = digest()
    places, failed = {}, 0
    write_every_header()
    for cell in wanted:
        before = results.get(cell.name, {})
        if before.get("result") == "passed" and before.get("sources") == sources and not chosen.again:
            print(f"SKIP {cell.name}: passed on {before['date']} with these sources")
            continue
        if cell.release not in places and not cell.has_its_command:
            places[cell.release] = Place(cell.release)
            places[cell.release].prepare()
        failed += not run(cell, places.get(cell.release), sources)
    return 1 if failed else 0


# ---- the page

HEAD = """# Platforms and compilers

This page lists the compilers, standards and flags that Coracle supports, with what has been shown of each so far, by which command and on which day. Read
it before you choose a compiler. `headers` shows that your program compiles, `unit` and `e2e` that it works; "not run yet" means that nothing was shown.

Coracle runs on Linux, on x86-64. It builds for 64-bit ARM, where simulated worlds, which run all of it but the kernel's input and output, have the same
events as on x86-64; what else was shown there is in the rows of arm64, all of them in an emulator (qemu-user, which has no io_uring). For any other
architecture the configuration ends with a line that says so; s390x is for tests of the other byte order alone.

Coracle requires g++ 12.2 or newer, or clang 16 or newer, in the mode of C++20, C++23 or C++26, with libstdc++ 12 or newer, or libc++ (if protobuf was built with it, which Debian's was not). Exceptions must be on: with `-fno-exceptions`, an older compiler or an older
standard, the build ends with one line that says what is required. (It does not tell g++ 12.1 from 12.2.) A program may be compiled with `-fno-rtti`.

The table is made of `packaging/matrix.jsonl` by `./dev matrix --page`. `./dev matrix` runs the combinations and keeps their results there;
`./dev matrix --list` prints their names. A result is that of the sources of its day.
"""
KINDS = {
    "headers": f"all public headers in one source, with `{WARNINGS}`",
    "sources": "the sources of the library and of the adapters with sources, checked without making code; each warning is an error",
    "library": "the library and the protoc plugin are built; each warning is an error",
    "unit": "the unit tests are built and pass",
    "e2e": "the end-to-end tests are built and pass",
    "sim": "the swarm of simulated worlds passes, and the events of each seed are those on x86-64",
    "golden": "the protoc plugin of that architecture, or with that protobuf, writes the expected headers",
    "tools": "the `coracle` command is built and passes its tests",
    "two_versions": "a program with Debian's protobuf loads a plugin that hides this one",
    "opentelemetry": "a server and a client that record their calls with opentelemetry-cpp, in both APIs, are built and run",
    "modules": "[programs that import Coracle's modules](../guides/modules.md) from an installed library, and the example, are built and run",
    "users": "a client and a server that link an installed library of C++20, with the warnings of `headers`, and that run",
}

PROTOBUF_HEAD = """With g++ of Debian bookworm, which has protobuf 3.21. The standard is that of protobuf and its Abseil, whose string views are those of `std` with C++20;
`sources` are those that use protobuf most. [Choose protobuf](../guides/install.md#choose-protobuf) says what you do with another version."""


def row(cell, result):
    outcome = result["result"] if result else "not run yet"
    if result and "reason" in result:
        outcome += ": `" + result["reason"].replace("|", "\\|").replace("`", "'") + "`"
    shown, date = (f"`{result['command']}`", result["date"]) if result else (f"`{cell.shown_by}`", "")
    return f"| {cell.protobuf or cell.compiler} | {cell.standard} | {cell.what} | {outcome} | {cell.tier} | {shown} | {date} |"


def page(results):
    by_name = {cell.name: cell for cell in cells()}
    lines = [HEAD, "## What is built", "", "| name | what it shows |", "|---|---|"]
    lines += [f"| {kind} | {text} |" for kind, text in KINDS.items()]
    lines += ["", "Flags stand after a colon:", "", "| name | flags |", "|---|---|"]
    lines += [f"| {name} | `{flag}` |" for name, flag in FLAGS.items()]
    lines += ["", "## When it is run", ""] + [f"- {tier}: {text}." for tier, text in TIERS.items()]
    tables = {f"Debian {release}": [cell for cell in by_name.values() if cell.release == release and not cell.protobuf] for release in RELEASES}
    tables["Newer versions of protobuf"] = [cell for cell in by_name.values() if cell.protobuf]
    for title, shown in tables.items():
        lines += ["", f"## {title}", ""] + ([PROTOBUF_HEAD, ""] if shown[0].protobuf else [])
        lines += [f"| {'protobuf' if shown[0].protobuf else 'compiler'} | standard | what | result | when | shown by | on |", "|---|---|---|---|---|---|---|"]
        lines += [row(cell, results.get(cell.name)) for cell in shown]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
