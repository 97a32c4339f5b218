"""Where the members of the mesh are: each in a network namespace of its own, joined by a bridge, or all on addresses of loopback."""

import random
import subprocess

SUBNET = "10.77.0"
BRIDGE = "mesh0"
PLANE = 1  # the last number of its address
PORT, PAGES_PORT = 50051, 50052
OWN_NETWORK = ["unshare", "--net", "--mount", "--propagation", "private"]
AS_ROOT_OF_ONE = ["--user", "--map-root-user"]
# What the real network needs, once.
TRIAL = f"mount -t tmpfs mesh /run && ip netns add trial && ip link add {BRIDGE} type bridge && ip link add near type veth peer name far netns trial"


def ip(*words):
    subprocess.run(["ip", *map(str, words)], check=True, capture_output=True, text=True)


def own_network():
    """The words before a command that give it a network that nothing else on the machine sees, or a text that says why there is none."""
    reason = ""
    for words in (OWN_NETWORK, [*OWN_NETWORK, *AS_ROOT_OF_ONE]):
        try:
            done = subprocess.run([*words, "sh", "-c", TRIAL], capture_output=True, text=True, timeout=20)
        except (OSError, subprocess.TimeoutExpired) as failure:
            return str(failure)
        if done.returncode == 0:
            return words
        reason = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
    return reason


class Namespaces:
    """In a network of its own. What it makes ends with the last process in there."""

    text = f"each in a network namespace of its own, joined by the bridge {BRIDGE}"
    port = PORT

    def __init__(self):
        subprocess.run(["mount", "-t", "tmpfs", "mesh", "/run"], check=True)
        ip("link", "set", "lo", "up")
        ip("link", "add", BRIDGE, "type", "bridge")
        ip("address", "add", f"{self.address(PLANE)}/24", "dev", BRIDGE)
        ip("link", "set", BRIDGE, "up")

    def address(self, number):
        return f"{SUBNET}.{number}"

    def add(self, name, number):
        ip("netns", "add", name)
        ip("link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", name)
        ip("link", "set", name, "master", BRIDGE, "up")
        ip("-n", name, "address", "add", f"{self.address(number)}/24", "dev", "eth0")
        for device in ("eth0", "lo"):
            ip("-n", name, "link", "set", device, "up")

    def command(self, name):
        """The words before a command of this member."""
        return ["ip", "netns", "exec", name]

    def pages_of(self, number):
        """The address of the pages for operators, which are for the member's own machine."""
        return f"127.0.0.1:{PAGES_PORT}"


class Loopback:
    text = "on addresses of loopback"

    def __init__(self):
        self.port = random.randrange(15_000, 30_000)  # below those that the kernel gives away

    def address(self, number):
        return f"127.0.0.{number}"

    def add(self, name, number):
        pass

    def command(self, name):
        return []

    def pages_of(self, number):
        return f"{self.address(number)}:{self.port + 1}"

