"""A network of its own for a server and its generator: nobody else's bytes, and no connections that rest from before."""

import contextlib
import pathlib
import subprocess

HOLDER = "ip link set lo up && echo up && exec cat"
# As root; as somebody whom the kernel lets be root in a namespace of his own.
WAYS = ((["unshare", "--net"], ["nsenter", "--net"]),
        (["unshare", "--user", "--map-root-user", "--net"], ["nsenter", "--user", "--preserve-credentials", "--net"]))
SHARED = "the kernel allows no network namespace: bytes are those of the machine's loopback, whoever else used it"


class Network:
    """`enter` stands before the command of a program that is to be in it."""

    def __init__(self, enter, counters, note=None):
        self.enter, self.counters, self.note = enter, counters, note

    def loopback_bytes(self):
        """Of all IP packets so far, headers of IP and TCP included; each counts once."""
        for line in pathlib.Path(self.counters).read_text().splitlines():
            name, _, figures = line.partition(":")
            if name.strip() == "lo":
                return int(figures.split()[0])
        return 0


@contextlib.contextmanager
def apart():
    """It goes with the process that holds it, which ends with us, whatever happens."""
    for leave, enter in WAYS:
        try:
            holder = subprocess.Popen([*leave, "sh", "-c", HOLDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=subprocess.DEVNULL, text=True)
        except FileNotFoundError:
            continue
        with holder:
            if holder.stdout.readline() == "up\n":
                yield Network([*enter, f"--target={holder.pid}"], f"/proc/{holder.pid}/net/dev")
                return
    yield Network([], "/proc/net/dev", SHARED)
