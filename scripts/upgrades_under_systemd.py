#!/usr/bin/env python3
"""Replaces, restarts and kills a service of a real systemd, under clients, and counts what is lost and refused.

    upgrades_under_systemd.py [N] [--preset NAME]

Runs examples/deployment/movies-handover.service, with another program, under a systemd of its own (`systemd --user`): N times each (20 unless
told) `systemctl reload`, `systemctl restart` and SIGKILL. Prints what was made and lost; the exit code is 1 if anything was. As root. The
systemd cannot change anything of this machine: it runs in namespaces of its own, where all but a new /run is read-only.
"""

import argparse
import contextlib
import errno
import fcntl
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/support"))

UNIT = "movies-handover.service"
SYSTEMD = next((p for p in ("/usr/lib/systemd/systemd", "/lib/systemd/systemd") if os.path.exists(p)), None)
RUN = pathlib.Path("/run")  # inside
LOG = RUN / "log"  # of the service
LIMIT_S = 30
PORT = 50051  # of a network of its own
INSIDE = "--inside"  # of the namespaces

# The program of the tests in place of /usr/bin/movies. The rest of the unit is what the guide shows, but for what only a systemd that is
# process 1 can do.
DROP_IN = """[Service]
ExecStart=
ExecStart={program} serve /run/movies/handover 127.0.0.1:{port}
DynamicUser=no
Environment=HANDOVER_GOAWAY_MS=50
StandardOutput=append:{log}
StandardError=inherit
[Unit]
# It is killed more often than a real one.
StartLimitIntervalSec=0
"""


def fail(why):
    sys.exit(f"upgrades_under_systemd.py: {why}")


# --- outside: the namespaces

def cgroup_mount():
    """The folder where the cgroups of version 2 are."""
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        before, after = line.split(" - ")
        if after.split()[0] == "cgroup2":
            return pathlib.Path(before.split()[4])
    fail("this system has no cgroups of version 2")


def enter(words):
    """Runs this script again inside; its exit code."""
    if os.geteuid() != 0:
        fail("only root can make the namespaces: use sudo")
    if not SYSTEMD or not shutil.which("unshare"):
        fail("systemd and util-linux must be installed: apt install systemd util-linux")
    group = cgroup_mount() / f"coracle-upgrades-{os.getpid()}"
    group.mkdir()
    try:
        alone = ["unshare", "--mount", "--pid", "--cgroup", "--net", "--fork", "--kill-child", "--mount-proc"]
        join = f"echo $$ > {group}/cgroup.procs && exec \"$@\""
        return subprocess.run(["sh", "-c", join, "sh", *alone, sys.executable, "-B", __file__, INSIDE, *words]).returncode
    finally:
        remove_cgroup(group)


def remove_cgroup(group):
    """Its processes are ended already, which the kernel may have to note."""
    end = time.monotonic() + LIMIT_S
    while group.exists() and time.monotonic() < end:
        for folder, _, _ in os.walk(group, topdown=False):
            with contextlib.suppress(OSError):
                os.rmdir(folder)
        time.sleep(0.01)


# --- inside

def mount(*words):
    subprocess.run(["mount", *map(str, words)], check=True)


def protect_machine():
    """Leaves nothing that can be written but /run, which is new, and the cgroup. A systemd that finds the machine's own folders for temporary
    files and logs would clean them."""
    mount("-t", "tmpfs", "none", RUN)
    mount("-t", "cgroup2", "none", "/sys/fs/cgroup")
    kept = ("/proc", "/sys", str(RUN))
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        at = line.split()[4].encode().decode("unicode_escape")
        if not any(at == one or at.startswith(one + "/") for one in kept):
            mount("-o", "remount,bind,ro", at)
    mount("--bind", "/proc/sys", "/proc/sys")
    mount("-o", "remount,bind,ro", "/proc/sys")
    for folder in ("/", "/tmp", "/var/tmp", "/var/log", "/root", "/dev", "/dev/shm", "/proc/sys/kernel"):
        try:
            with tempfile.TemporaryFile(dir=folder):
                fail(f"{folder} can be written still: no systemd is started")
        except OSError as error:
            if error.errno not in (errno.EROFS, errno.ENOENT, errno.EACCES, errno.EPERM):
                raise


def begin_network():
    """As `ip link set lo up` does."""
    get, put, up = 0x8913, 0x8914, 1  # SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP
    with socket.socket() as any_socket:
        flags = struct.unpack("16sH", fcntl.ioctl(any_socket, get, struct.pack("16sH14x", b"lo", 0))[:18])[1]
        fcntl.ioctl(any_socket, put, struct.pack("16sH14x", b"lo", flags | up))


def environment():
    folders = {name: RUN / name for name in ("home", "tmp", "units", "none")}
    for one in folders.values():
        one.mkdir()
    none = str(folders["none"])
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG")}
    return {**kept, "XDG_RUNTIME_DIR": str(RUN), "HOME": str(folders["home"]), "TMPDIR": str(folders["tmp"]),
            "SYSTEMD_UNIT_PATH": str(folders["units"]), "SYSTEMD_GENERATOR_PATH": none, "SYSTEMD_ENVIRONMENT_GENERATOR_PATH": none,
            "SYSTEMD_LOG_TARGET": "console", "SYSTEMD_PAGER": ""}


def write_units(program):
    units = RUN / "units"
    for target in ("default", "basic", "shutdown", "exit"):
        (units / f"{target}.target").write_text(f"[Unit]\nDescription={target}\n")
    shutil.copy(ROOT / "examples/deployment" / UNIT, units)
    extra = units / f"{UNIT}.d"
    extra.mkdir()
    (extra / "tests.conf").write_text(DROP_IN.format(program=program, port=PORT, log=LOG))


class Systemd:
    """A service manager, and the service."""

    def __init__(self, env):
        self.env = env
        (RUN / "systemd/system").mkdir(parents=True)  # where a systemd looks whether one is in charge
        group = pathlib.Path("/sys/fs/cgroup/manager")
        group.mkdir()
        self._process = subprocess.Popen([SYSTEMD, "--user"], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                         preexec_fn=lambda: (group / "cgroup.procs").write_text("0"))
        self.until(lambda: self.control("is-system-running", check=False).strip() in ("running", "degraded"), "systemd has started")

    def control(self, *words, check=True):
        done = subprocess.run(["systemctl", "--user", *words], env=self.env, capture_output=True, text=True, timeout=LIMIT_S)
        if check and done.returncode != 0:
            raise AssertionError(f"systemctl {' '.join(words)}: {done.stderr}{self.log()}")
        return done.stdout

    def log(self):
        return "\n" + LOG.read_text()[-4000:]

    def shown(self, what):
        return int(self.control("show", "-P", what, UNIT))

    def main_process(self):
        return self.shown("MainPID")

    def until(self, reached, what):
        end = time.monotonic() + LIMIT_S
        while not reached():
            assert time.monotonic() < end and self._process.poll() is None, f"not so: {what}{self.log()}"
            time.sleep(0.005)

    def reload(self):
        old = self.main_process()
        self.control("reload", UNIT)
        self.until(lambda: self.main_process() != old, "the successor is the main process")
        self.until(lambda: not os.path.exists(f"/proc/{old}"), "the old process has ended")

    def restart(self):
        self.control("restart", UNIT)

    def kill(self):
        old = self.main_process()
        os.kill(old, signal.SIGKILL)
        self.until(lambda: self.main_process() not in (0, old), "the service has restarted")
        self.until(lambda: self.control("is-active", UNIT, check=False).strip() == "active", "the service is active")

    def end(self):
        self.control("stop", UNIT)
        self._process.kill()  # nothing is left that it could end
        self._process.wait(LIMIT_S)


class Connector:
    """Opens connections, one after the other, and counts those that are refused."""

    def __init__(self):
        self.made, self.refused, self._over = 0, 0, threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self):
        while not self._over.wait(0.001):
            try:
                socket.create_connection(("127.0.0.1", PORT), LIMIT_S).close()
                self.made += 1
            except OSError:  # also one that is reset, or gets no answer
                self.refused += 1

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()


def play(systemd, count, action, has_calls):
    """Does it so many times; what the clients made, lost, and were refused, and why."""
    from handovers import Caller

    tally, errors = {"calls": 0, "streams": 0, "lost": 0}, ""
    with Connector() as connector:
        for share in ([count] if has_calls else [1] * count):
            if not has_calls:
                action()
            with Caller(f"127.0.0.1:{PORT}", {}) as caller:
                caller.makes_some()
                for _ in range(share if has_calls else 0):
                    action()
                    caller.until(lambda now: now["by"] == systemd.main_process())
                caller.makes_some()
                made, why = caller.end()
            for kind in tally:
                tally[kind] += made[kind]
            errors += why
    return tally, connector, errors


def inside(given):
    from programs import own

    protect_machine()
    begin_network()
    env = environment()
    os.environ["TMPDIR"] = env["TMPDIR"]
    write_units(own("handover_pair"))
    systemd = Systemd(env)
    systemd.control("start", UNIT)
    row = "{:18} {:>6} {:>9} {:>9} {:>6} {:>13} {:>8}"
    print(row.format("", "times", "calls", "streams", "lost", "connections", "refused"))
    lost = 0
    # A crash loses the calls in progress: there, clients call in between.
    for name, action, has_calls in (("systemctl reload", systemd.reload, True), ("systemctl restart", systemd.restart, True),
                                    ("SIGKILL", systemd.kill, False)):
        tally, connector, errors = play(systemd, given.times, action, has_calls)
        print(row.format(name, given.times, f"{tally['calls']:,}", f"{tally['streams']:,}", tally["lost"], f"{connector.made:,}",
                         connector.refused), flush=True)
        if tally["lost"] or connector.refused:
            print(errors[:2000], systemd.log(), file=sys.stderr)
        lost += tally["lost"] + connector.refused
    assert systemd.shown("NFileDescriptorStore") == 1, "the store has the socket, and nothing else"
    systemd.end()
    return 1 if lost else 0


def main(arguments):
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument("times", nargs="?", type=int, default=20)
    parser.add_argument("--preset", default="release")
    parser.add_argument(INSIDE, action="store_true")
    given = parser.parse_args(arguments)
    if not given.inside:
        return enter(arguments)
    os.environ["CORACLE_BUILD_DIR"] = str(ROOT / "build" / given.preset)
    return inside(given)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
