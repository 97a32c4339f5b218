"""A service manager as programs see it: the messages of sd_notify(3), and a store of descriptors as systemd's, which passes on what it has
to the next process (sd_listen_fds(3))."""

import contextlib
import os
import select
import socket
import sys
import threading
import time

# Becomes the program, with what the manager has stored from descriptor 3 on.
START = """import os, socket, sys
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as manager:
    manager.connect(sys.argv[1])
    names, passed, _, _ = socket.recv_fds(manager, 65536, 250)
passed = [os.dup2(one, 600 + i) for i, one in enumerate(passed)]
for i, one in enumerate(passed):
    os.dup2(one, 3 + i, inheritable=True)
if passed:
    os.environ.update(LISTEN_FDS=str(len(passed)), LISTEN_FDNAMES=names.decode(), LISTEN_PID=str(os.getpid()))
os.closerange(3 + len(passed), 1000)
os.execv(sys.argv[2], sys.argv[2:])
"""
LIMIT_S = 30


class ServiceManager:
    """`room`: FileDescriptorStoreMax=. `messages` are those about states; `stored` has a descriptor for each name."""

    def __init__(self, folder, room=16):
        self.room = room
        self.messages = []
        self.stored = {}
        self._changed = threading.Condition()
        self._notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._notify.bind(str(folder / "notify"))
        self._start = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._start.bind(str(folder / "start"))
        self._start.listen()
        self._over, over = os.pipe()
        self._end = over
        self.env = {"NOTIFY_SOCKET": str(folder / "notify"), "FDSTORE": str(room)}
        self._folder = folder
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def starts(self, program):
        """The words that start the program as a service."""
        return [sys.executable, "-c", START, self._folder / "start", program]

    def until(self, reached):
        end = time.monotonic() + LIMIT_S
        with self._changed:
            while not reached(self):
                left = end - time.monotonic()
                assert left > 0 and self._changed.wait(left), f"the manager has heard {self.messages}, and has {list(self.stored)}"

    def put(self, name, descriptor):
        with self._changed:
            self.stored[name] = os.dup(descriptor)

    def addresses(self):
        """Of the stored sockets."""
        with self._changed:
            found = []
            for one in self.stored.values():
                with contextlib.suppress(OSError), socket.socket(fileno=os.dup(one)) as copy:
                    found.append(copy.getsockname())
            return found

    def _run(self):
        while True:
            poll = select.poll()
            for one in (self._over, self._notify.fileno(), self._start.fileno()):
                poll.register(one, select.POLLIN)
            with self._changed:
                names = {descriptor: name for name, descriptor in self.stored.items()}
            for one in names:
                poll.register(one, 0)
            for ready, events in poll.poll(50):  # other threads may store, too
                if ready == self._over:
                    return
                if ready == self._notify.fileno():
                    self._hear()
                elif ready == self._start.fileno():
                    self._pass()
                elif events & (select.POLLHUP | select.POLLERR):
                    self._forget(names[ready])

    def _hear(self):
        text, descriptors, _, _ = socket.recv_fds(self._notify, 4096, 16)
        fields = dict(line.split("=", 1) for line in text.decode().splitlines())
        with self._changed:
            if "FDSTORE" in fields:
                for one in descriptors:
                    known = os.fstat(one).st_ino in [os.fstat(other).st_ino for other in self.stored.values()]
                    if not known and len(self.stored) < self.room:
                        assert ":" not in fields["FDNAME"] and fields["FDNAME"].isprintable() and fields["FDNAME"] not in self.stored
                        self.stored[fields["FDNAME"]] = os.dup(one)
            elif "FDSTOREREMOVE" not in fields:
                self.messages.append(text.decode())
            self._changed.notify_all()
        if "FDSTOREREMOVE" in fields:
            self._forget(fields["FDNAME"])
        for one in descriptors:
            os.close(one)

    def _forget(self, name):
        with self._changed:
            if name in self.stored:
                os.close(self.stored.pop(name))
            self._changed.notify_all()

    def _pass(self):
        with self._changed, self._start.accept()[0] as program:
            newest_first = list(reversed(self.stored))  # as systemd passes them
            socket.send_fds(program, [":".join(newest_first).encode() or b" "], [self.stored[name] for name in newest_first])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self._end)
        self._thread.join(LIMIT_S)
        for one in self.stored.values():
            os.close(one)
        os.close(self._over)
        self._notify.close()
        self._start.close()
