"""cmake/rooms.txt: which rooms there are, what each may include, and which are free of I/O."""

import re

# The umbrella headers include/coracle/<name>.hpp, and what each gathers beyond what the room of its name may know.
UMBRELLAS = {"client": set(), "runtime": {"net"}, "server": {"services"}, "testing": set(), "tls": set()}
SOURCES = (".cpp", ".hpp")


class Rooms:
    def __init__(self, tree):
        self.may_include = {}
        self.sans_io = set()
        for line in tree.lines("cmake/rooms.txt"):
            entry = re.match(r"([a-z0-9]+)(\*?):(.*)", line)
            if entry:
                room, star, below = entry.groups()
                self.may_include[room] = set(below.split())
                if star:
                    self.sans_io.add(room)

    def __contains__(self, room):
        return room in self.may_include


def room_of(name):
    """The room that a file of the library lives in, or None: src/http2/frame.cpp is http2's."""
    umbrella = re.fullmatch(r"include/coracle/(\w+)\.hpp", name)
    if umbrella:
        return umbrella[1]
    folder = re.match(r"(?:include/coracle|src)/([^/]+)/", name)
    if folder:
        return folder[1]
    return "codegen" if name.startswith("codegen/") else None
