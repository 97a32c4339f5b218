"""A server under attack: its memory, and whether a well-behaved client beside the attackers is served."""

import re
import socket
import time

REPLY_LIMIT_S = 15
QUOTA_BYTES = 32 << 20  # as abuse_server has it
MEGABYTE = 1 << 20


def resident_bytes(server):
    with open(f"/proc/{server.process.pid}/status") as status:
        return int(re.search(r"VmRSS:\s+(\d+) kB", status.read())[1]) * 1024


class Watch:
    """Before, while and after an attack: a client that is served, and memory that does not grow beyond bytes_max."""

    def __init__(self, server, healthy):
        """healthy: a client with the functions expect_served() and close()."""
        self.server = server
        self.healthy = healthy
        self.bytes_max = QUOTA_BYTES
        for _ in range(20):
            self.healthy.expect_served()
        self.before = resident_bytes(server)

    def look(self):
        self.server.expect_alive()
        self.healthy.expect_served()
        grown = resident_bytes(self.server) - self.before
        assert grown < self.bytes_max, f"the server has grown by {grown / MEGABYTE:.1f} MiB"

    def for_seconds(self, seconds, until=lambda: False):
        end = time.monotonic() + seconds
        while time.monotonic() < end and not until():
            self.look()
            time.sleep(0.02)
        return until()

    def stop(self):
        """The client leaves, and the server has to end well."""
        self.healthy.close()
        assert self.server.stop() == 0, "the exit code at the end"


def closed_by_server(sock):
    """Whether the server has closed the connection; what it said is thrown away."""
    sock.setblocking(False)
    try:
        while True:
            if not sock.recv(1 << 16):
                return True
    except BlockingIOError:
        return False
    except OSError:
        return True
    finally:
        sock.settimeout(REPLY_LIMIT_S)
