"""Rules about #include: the directions between the rooms, and what of the world each room may see."""

import re

from rooms import SOURCES, UMBRELLAS, Rooms, room_of

INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')

# sys/sdt.h is no header of the system: macros that make notes in the program.
OS = re.compile(r"(?!sys/sdt\.h)(sys|netinet|arpa|linux|net)/.*|(unistd|fcntl|poll|pthread|netdb|ifaddrs|signal|sched|dirent)\.h|csignal")
THREADS = re.compile(r"thread|mutex|shared_mutex|condition_variable|future|semaphore|latch|barrier|stop_token|coroutine")
PROTOBUF = re.compile(r"google/protobuf/.*|.*\.pb\.h")
URING = re.compile(r"liburing.*")
CARES = re.compile(r"ares(_[a-z]+)?\.h")
OPENSSL = re.compile(r"openssl/.*")
RE2 = re.compile(r"re2/.*")

# The rooms whose sources may include a thing of the world outside. Public headers never include any but protobuf.
ALLOWED = (
    # tls: addresses in certificates, changes of their files. base: the log, which works where there is no runtime.
    (OS, "operating system headers", ("runtime/", "net/", "tls/", "base/line_logger.cpp")),
    (URING, "liburing", ("runtime/uring/",)),
    (CARES, "c-ares", ("net/dns/",)),
    (OPENSSL, "OpenSSL", ("tls/",)),
    (RE2, "re2", ("xds/",)),
    (PROTOBUF, "protobuf", ("rpc/", "rest/", "client/", "server/", "testing/", "services/", "console/", "naming/", "xds/")),
)


def includes_of(tree, name):
    for number, line in enumerate(tree.lines(name), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match[1] == "<", match[2]


def library_files(tree):
    """Not what protoc-gen-coracle makes: a generated header serves both sides, whichever of them its user needs."""
    return [name for name in tree.under("include/coracle/", "src/", "codegen/", ends=SOURCES)
            if room_of(name) and not name.endswith(".coracle.hpp")]


def is_umbrella(name):
    return name.count("/") == 2 and name.startswith("include/")


def rooms_exist(tree):
    rooms = Rooms(tree)
    for name in library_files(tree):
        room = room_of(name)
        if is_umbrella(name) and room not in UMBRELLAS:
            yield f"{name}: only {', '.join(UMBRELLAS)} have an umbrella header; move it into a room"
        elif room not in rooms:
            yield f"{name}: {room} is no room; name it in cmake/rooms.txt with the rooms that it may include"


def directions(tree):
    """Every include of ours names a room that cmake/rooms.txt lets the file's room include."""
    rooms = Rooms(tree)
    for name in library_files(tree):
        own = room_of(name)
        allowed = rooms.may_include.get(own, set()) | {own}
        if is_umbrella(name):
            allowed |= UMBRELLAS.get(own, set())
        public = name.startswith("include/")
        for number, angled, path in includes_of(tree, name):
            at = f"{name}:{number}"
            parts = path.split("/")
            if parts[0] == "coracle":
                target = parts[1].removesuffix(".hpp")
                if len(parts) == 2 and not is_umbrella(name):
                    yield f"{at}: includes the umbrella {path}; include what is used"
                    continue
            elif not angled and parts[0] in rooms:
                target = parts[0]
                if public:
                    yield f"{at}: a public header includes {path} from src/; move one of them"
                    continue
            elif not angled and own != "codegen" and not PROTOBUF.fullmatch(path):
                yield f'{at}: name the room, "{own}/{path}" or "coracle/{own}/{path}"'
                continue
            else:
                continue
            if target not in allowed:
                yield (f"{at}: {own} must not know {target} ({path}); "
                       f"cmake/rooms.txt lets it include {' '.join(sorted(allowed))}")


def programs(tree):
    """Our programs and adapters are made as a user's: of public headers. Messages are of their own, from the .proto that they compile."""
    rooms = Rooms(tree)
    for name in tree.under("tools/", "examples/", "adapters/", ends=SOURCES):
        for number, angled, path in includes_of(tree, name):
            if name.startswith("adapters/") and re.match(r"coracle/\w+/impl/", path):
                yield f"{name}:{number}: {path} is installed, but not promised; let a public header offer what the adapter needs"
            if not angled and path.split("/")[0] in rooms and not path.endswith(".pb.h"):
                yield f"{name}:{number}: {path} is inside of the library; use what include/coracle offers, or let it offer more"


def world(tree):
    """Third-party and operating system headers stay where they belong."""
    rooms = Rooms(tree)
    for name in library_files(tree):
        own = room_of(name)
        if own == "codegen":
            continue
        public = name.startswith("include/")
        inside = re.sub(r"^(include/coracle|src)/", "", name)
        for number, angled, path in includes_of(tree, name):
            if not angled and path.split("/")[0] in rooms:
                continue  # ours: "net/stream.hpp" is no <net/if.h>
            for pattern, what, where in ALLOWED:
                if not pattern.fullmatch(path):
                    continue
                if public and pattern is not PROTOBUF:
                    yield f"{name}:{number}: a public header includes {what} ({path}); hide it behind a type of ours in src/"
                elif not inside.startswith(where):
                    yield f"{name}:{number}: {what} ({path}) belong in {', '.join(where)}, not in {own}"
            if own in rooms.sans_io and THREADS.fullmatch(path):
                yield f"{name}:{number}: {own} is sans-I/O: no threads, no coroutines ({path}); let transport do it"
