#!/usr/bin/env python3
"""Builds Coracle for another architecture with Debian's cross compilers, and tests it in an emulator.

    cross.py arm64 [SUITE...]     64-bit ARM: unit, e2e, sim, golden, or those that are named
    cross.py s390x [SUITE...]     the other byte order: unit, sim
    --seeds N                     sim: of each scenario, from 1 on (default 20)

All is built and run in a Debian of its own, build/chroots/bookworm-cross, or below $CORACLE_CHROOTS, which needs root. The kernel runs
programs of the other architecture there by qemu-user, which it is told in a user namespace that ends with the run (Linux 6.7 or newer).
The emulator has no io_uring, so that everything runs on epoll. sim compares the events of simulated worlds with those of the same
worlds on this machine, as one hash for each seed.
"""

import argparse
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
SCRIPTS = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(SCRIPTS), str(SCRIPTS / "testing")]

import left_out  # noqa: E402
import matrix  # noqa: E402
import suites  # noqa: E402
from outcome import Outcome  # noqa: E402
from process import BUILD, ROOT, Run, log_of  # noqa: E402
from report import Report  # noqa: E402

PROCESSORS = {"arm64": "aarch64", "s390x": "s390x"}  # by Debian's name of the architecture, the compiler's
SUITES = {"arm64": ("unit", "e2e", "sim", "golden"), "s390x": ("unit", "sim")}
PROGRAMS = {"unit": "unit_tests", "e2e": "e2e_tests", "sim": "sim_swarm", "golden": "protoc-gen-coracle"}
HASH = re.compile(r"^HASH (\S+ \d+) ([0-9a-f]{16})$", re.M)


class Place(matrix.Place):
    """A Debian with the compilers and libraries of the other architectures, beside its own."""

    def __init__(self, architecture):
        super().__init__("bookworm")
        self.architecture, self.here, self.tree, self.root = architecture, False, matrix.INSIDE, matrix.CHROOTS / "bookworm-cross"

    def prepare(self):
        if os.geteuid() != 0:
            sys.exit(f"dev: ./dev {self.architecture} needs root for its chroot: use sudo")
        if not (self.root / f"installed-{self.architecture}").exists():
            self.install()

    def install_packages(self):
        """For the native compiler's part only what makes the plugin, for the other architecture all."""
        subprocess.run(self.in_chroot(["dpkg", "--add-architecture", self.architecture]), check=True)
        subprocess.run(self.in_chroot([f"{matrix.INSIDE}/scripts/packages.sh", "build", f"cross:{self.architecture}"]), check=True)
        (self.root / f"installed-{self.architecture}").touch()

    def emulating(self, words):
        """`words` in a user namespace whose kernel knows the emulator."""
        tree, known = self.root / matrix.INSIDE.relative_to("/"), f"/usr/lib/binfmt.d/qemu-{PROCESSORS[self.architecture]}.conf"
        mounts = (f"mkdir -p {tree} && mount --bind {ROOT} {tree} && mount -t proc proc {self.root}/proc && mount -t tmpfs shm {self.root}/dev/shm && "
                  f"if ! mount -t binfmt_misc binfmt {self.root}/proc/sys/fs/binfmt_misc; then "
                  f"echo 'dev: ./dev {self.architecture} needs Linux 6.7 or newer, whose user namespaces have a binfmt_misc of their own' >&2; exit 1; fi")
        inside = f"cat {known} >/proc/sys/fs/binfmt_misc/register && cd {self.tree} && exec {shlex.join(words)}"
        chroot = shlex.join(["chroot", str(self.root), "/usr/bin/env", "-i", "HOME=/root", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "sh", "-euc", inside])
        return ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child", "sh", "-euc", f"{mounts} && exec {chroot}"]


# ---- what runs inside

def hashes_of(preset, seeds):
    """What sim_swarm of a preset prints: its run, and the hash of each scenario and seed."""
    one = Run([BUILD / preset / "bin/sim_swarm", "--first", 1, "--seeds", seeds, "--hashes"], log_of(f"traces-{preset}"), suites.SUITE_LIMIT_S)
    return one, dict(HASH.findall(one.text))


def sim(architecture, seeds):
    """A case is a scenario with a seed: it passes if its invariants hold and its events are those of this machine."""
    outcome = Outcome(f"sim ({architecture})")
    (_, expected), (one, found) = hashes_of("amd64", seeds), hashes_of(architecture, seeds)
    outcome.note(one)
    compare(outcome, expected, found)
    if one.code != 0:
        outcome.failed.append(("sim_swarm", f"{one.ended}: {one.last_line}"))
    return outcome


def compare(outcome, expected, found):
    for case in {**expected, **found}:
        if case in expected and found.get(case) == expected[case]:
            outcome.passed += 1
        else:
            outcome.failed.append((case, f"its events have the hash {found.get(case, 'of none')}, those of this machine {expected.get(case, 'none')}"))


def gtests(suite, architecture, name, label):
    """The shards of a program, without what left_out.py says that an emulator cannot show."""
    cannot = left_out.EMULATED[name]
    outcome = suites.ctest(suite, architecture, label, env={"GTEST_FILTER": f"-{':'.join(cannot)}"} if cannot else None, jobs=suites.CPUS)
    outcome.left_out.extend(cannot.items())
    return outcome


def golden(architecture):
    """The plugin of that architecture writes and refuses the same; what it writes, the tests of this machine compile."""
    return suites.pytest(f"golden ({architecture})", "golden", options=["-k", "not compile and not every_use"],
                         env={"CORACLE_BUILD_DIR": str(BUILD / architecture), "CORACLE_BIN": str(BUILD / architecture / "bin")})


def inside(architecture, names, seeds):
    known = {
        "unit": lambda: gtests(f"unit ({architecture})", architecture, "unit", "unit"),
        "e2e": lambda: gtests(f"e2e ({architecture}, epoll)", architecture, "e2e", "e2e-epoll"),
        "sim": lambda: sim(architecture, seeds),
        "golden": lambda: golden(architecture),
    }
    report = Report()
    native = ["protoc-gen-coracle", *(["sim_swarm"] if "sim" in names else [])]
    targets = [PROGRAMS[name] for name in names if name in PROGRAMS]
    if report.add(suites.build("amd64", native)) and (not targets or report.add(suites.build(architecture, targets))):
        for name in names:
            report.add(known[name]())
    return 0 if report.finish() else 1


def main(arguments):
    parser = argparse.ArgumentParser(prog="./dev", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("architecture", choices=PROCESSORS)
    parser.add_argument("suites", nargs="*", metavar="SUITE")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    offered = SUITES[chosen.architecture]
    for word in chosen.suites:
        if word not in offered:
            parser.error(f"there is no suite {word} for {chosen.architecture}; there are: {', '.join(offered)}")
    names = chosen.suites or list(offered)
    os.chdir(ROOT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if chosen.inside:
        return inside(chosen.architecture, names, chosen.seeds)
    place = Place(chosen.architecture)
    place.prepare()
    return subprocess.run(place.emulating(["python3", "-B", "scripts/cross.py", "--inside", *arguments])).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
