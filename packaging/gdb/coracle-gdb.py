"""gdb commands and pretty printers for programs that use Coracle.

    (gdb) source /usr/share/coracle/gdb/coracle-gdb.py
    (gdb) coracle tasks
    (gdb) coracle channels
    (gdb) coracle connections
    (gdb) coracle frames FILE

`coracle tasks` prints the tree of the tasks of each loop with the place where each waits. It works on a running process and on
a core file, with and without debug information. `coracle channels` and `coracle connections` need debug information of the
library. `coracle frames` writes what the recorder has kept to a file, for `coracle frames` of the shell. The printers show values
of status, result, task, metadata and buffers; they need debug information of your program (-g).

docs/guides/debugging.md shows how to use both.
"""

import ipaddress
import re
import struct
import time

import gdb
import gdb.printing

# debugger_data::current_version in src/coro/debugger_entry.hpp.
DATA_VERSION = 1
DATA_SYMBOL = "coracle::coro::debugger_tasks"
# event_ring_list in src/base/event_ring.hpp, recording_header and event_kind in src/base/recording_file.hpp.
RINGS_VERSION = 1
RINGS_SYMBOL = "coracle::base::event_rings"
RECORDING_MAGIC = b"CORREC01"
EVENT_BYTES = 16
NAME_TEXT_BYTES = 256
RINGS_MAX = 65536
# The tasks of the library itself, which every runtime has.
OWN_TASK = "coracle::runtime_internal::loop_service::run_until_shutdown("
# More than a loop holds. Ends walks through memory that is damaged.
NODES_MAX = 10_000_000
TEXT_BYTES_MAX = 65536
STATUS_CODES = ("OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
                "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED",
                "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED")


# --- Raw memory of the inferior

def read_number(address, size):
    data = gdb.selected_inferior().read_memory(address, size).tobytes()
    return int.from_bytes(data, "little" if "little" in gdb.execute("show endian", to_string=True) else "big")


def pointer_bytes():
    return gdb.lookup_type("void").pointer().sizeof


def read_word(address):
    return read_number(address, pointer_bytes())


def read_bytes(address, size):
    return gdb.selected_inferior().read_memory(address, size).tobytes() if size else b""


def read_text(address):
    """The zero-terminated text at the address."""
    text = b""
    while len(text) < TEXT_BYTES_MAX:
        # Not beyond the page, since the next one may not be mapped.
        chunk = read_bytes(address, min(64, 4096 - address % 4096))
        end = chunk.find(b"\0")
        if end >= 0:
            return (text + chunk[:end]).decode(errors="replace")
        text += chunk
        address += len(chunk)
    return text.decode(errors="replace")


class Layout:
    """Where debugger_tasks says that a tree_node has its members."""

    def __init__(self):
        try:
            address = int(gdb.parse_and_eval(f"(unsigned long)&'{DATA_SYMBOL}'"))
        except gdb.error:
            raise gdb.GdbError("the program has no Coracle in it, or is stripped of its symbols: load its symbols with `file`, and "
                               "those of libcoracle.so if it is a shared library") from None
        try:
            version, self.where, self.awaits, self.parent = (read_number(address + 8 * i, 8) for i in range(4))
            self.first = read_word(address + 32)
        except gdb.MemoryError:
            raise gdb.GdbError("the program does not run, and no core file is loaded: use `run`, `attach` or `core-file`") from None
        if version != DATA_VERSION:
            raise gdb.GdbError(f"this script is for version {DATA_VERSION} of the library's debugger data, and the program has version "
                               f"{version}: use the coracle-gdb.py that was installed with the library")


# --- Tasks

def body_name(name):
    """"f(int)" for the body of a coroutine, which GCC names "void f(f(int)::_Z1fi.Frame*)", and "void a::f(f(int)::..." in an unnamed
    namespace."""
    mangled = name.rfind(")::_Z")
    if not name.endswith(".Frame*)") or not name.startswith("void ") or mangled < 0:
        return name
    name = name[len("void "):mangled + 1]
    at = name.find("(")
    while at >= 0:
        before, after = name[:at], name[at + 1:]
        plain = after[:after.find("(")]
        if after.startswith(before):
            return after
        if plain and before.endswith("::" + plain):
            return before + after[len(plain):]
        at = name.find("(", at + 1)
    return name


class Site:
    """The await site of a node: a std::source_location."""

    def __init__(self, address):
        place = read_word(address)
        self.line = read_number(place + 2 * pointer_bytes(), 4) if place else 0
        self.file = read_text(read_word(place)) if self.line else ""
        self.function = body_name(read_text(read_word(place + pointer_bytes()))) if self.line else ""

    def text(self, full=False):
        if not self.line:
            return "a task before its first co_await"
        return f"{self.function} at {self.file if full else self.file.rsplit('/', 1)[-1]}:{self.line}"


class Tree:
    """The tasks of one loop: the branches of its task_tree, and the chains that they await."""

    def __init__(self, layout, head, full):
        self.layout, self.full = layout, full
        self.branches, self.damage, self.sites = [], None, {}
        try:
            node = read_word(head)
            while node != head and len(self.branches) < NODES_MAX:
                self.branches.append(node)
                node = read_word(node)
        except gdb.MemoryError as error:
            self.damage = str(error)
        known = {node for branch in self.branches for node in self.chain(branch)}
        self.below = {}
        for branch in self.branches:
            parent = self.member(branch, layout.parent)
            self.below.setdefault(parent if parent in known else 0, []).append(branch)

    def member(self, node, offset):
        try:
            return read_word(node + offset)
        except gdb.MemoryError:
            return 0

    def chain(self, branch):
        """The node, the one that it awaits, and so on."""
        seen = []
        while branch and branch not in seen and len(seen) < NODES_MAX:
            seen.append(branch)
            branch = self.member(branch, self.layout.awaits)
        return seen

    def site(self, node):
        try:
            where = read_word(node + self.layout.where)
            if where not in self.sites:
                self.sites[where] = Site(node + self.layout.where).text(self.full)
            return self.sites[where]
        except gdb.MemoryError as error:
            return f"(unreadable: {error})"

    def lines_of(self, branch, depth):
        for level, node in enumerate(self.chain(branch)):
            yield "  " * (depth + level) + self.site(node)
            yield from self.lines(node, depth + level + 1)

    def drop_own_tasks(self):
        """Leaves out the tasks of the library itself."""
        self.below[0] = [one for one in self.below.get(0, ()) if not self.site(one).startswith(OWN_TASK)]

    def lines(self, parent=0, depth=0):
        """A line for each task; equal siblings are counted."""
        kinds = {}
        for branch in self.below.get(parent, ()):
            text = tuple(self.lines_of(branch, 0))
            kinds[text] = kinds.get(text, 0) + 1
        for text, count in kinds.items():
            for number, line in enumerate(text):
                yield "  " * depth + (f"{count} x " if count > 1 and number == 0 else "") + line


def loops(layout):
    """(owner, index, head) of each loop, those of one runtime together."""
    found, record, size = [], layout.first, pointer_bytes()
    while record and len(found) < NODES_MAX:
        head, owner, index = (read_word(record + size * i) for i in (2, 3, 4))
        found.append((owner, index, head))
        record = read_word(record)
    order = {owner: place for place, (owner, _, _) in enumerate(reversed(found))}  # the newest comes first
    return sorted(found, key=lambda one: (order[one[0]], one[1]))


class CoracleCommand(gdb.Command):
    """Commands for programs that use Coracle."""

    def __init__(self):
        super().__init__("coracle", gdb.COMMAND_DATA, prefix=True)


class TasksCommand(gdb.Command):
    """Print the tree of the tasks of each loop, with the place where each waits.

Usage: coracle tasks [-full] [-all]

A task that another one awaits is printed below it, and so are the tasks of its scopes. "3 x" stands for three equal trees. A task
that runs at the moment is shown at its last co_await.
-full prints the paths of files as the compiler got them.
-all includes the library's own tasks."""

    def __init__(self):
        super().__init__("coracle tasks", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        options = gdb.string_to_argv(argument)
        if not set(options) <= {"-full", "-all"}:
            raise gdb.GdbError("usage: coracle tasks [-full] [-all]")
        layout = Layout()
        found = loops(layout)
        if not found:
            raise gdb.GdbError("the process has no loop: no coracle::runtime exists at the moment")
        runtimes = list(dict.fromkeys(owner for owner, _, _ in found))
        for owner, index, head in found:
            tree = Tree(layout, head, "-full" in options)
            if "-all" not in options:
                tree.drop_own_tasks()
            lines = list(tree.lines())
            runtime = f"runtime {runtimes.index(owner)} ({owner:#x}), " if len(runtimes) > 1 else ""
            print(f"{runtime}loop {index}:{'' if lines else ' no tasks'}")
            for line in lines:
                print("  " + line)
            if tree.damage:
                print(f"  (the list of tasks is damaged: {tree.damage})")


# --- Channels and connections

NO_TYPES = ("the library has no debug information: install its -dbgsym package, or build it with -g or as RelWithDebInfo (gdb says: {})")
VTABLE = re.compile(r"vtable for (.*?)(?: \+ \d+)? in section")
TREE_NODE_BYTES = 32   # of std::_Rb_tree_node_base, with the colour and three pointers
STATES = ("IDLE", "CONNECTING", "READY", "TRANSIENT_FAILURE", "SHUTDOWN")


def at(address, name):
    """The object of this type at the address."""
    return gdb.Value(address).cast(gdb.lookup_type(name).pointer()).dereference()


def target_of(pointer):
    """What a std::unique_ptr of libstdc++ refers to, as the type that its virtual table tells; None if there is nothing."""
    kind = pointer.type.strip_typedefs().template_argument(0).unqualified()
    address = read_word(int(pointer.address))
    return whole(gdb.Value(address).cast(kind.pointer())) if address else None


def whole(pointer):
    """The object of which `pointer` refers to a base, by the name of its virtual table. gdb's own dynamic_type does not see
    through the typedefs of smart pointers."""
    name = vtable_name(pointer)
    if not name:
        return pointer.dereference()
    to_top = read_word(read_word(int(pointer)) - 2 * pointer_bytes())  # modulo the size of a word
    try:
        return at((int(pointer) + to_top) % (1 << 8 * pointer_bytes()), name)
    except gdb.error:  # a class of an unnamed namespace, whose type gdb does not know
        return None


def vtable_name(pointer):
    symbol = VTABLE.match(gdb.execute(f"info symbol {read_word(int(pointer))}", to_string=True))
    return symbol[1] if symbol else ""


def elements_of(vector):
    """Those of a std::vector of libstdc++."""
    first, end = vector["_M_impl"]["_M_start"], vector["_M_impl"]["_M_finish"]
    return [first[index] for index in range(int(end - first))]


def values_of_map(tree):
    """Those of a std::map of libstdc++ whose keys are 64-bit numbers, in order."""
    mapped = tree.type.strip_typedefs().template_argument(1)
    header = int(tree["_M_t"]["_M_impl"]["_M_header"].address)
    size = pointer_bytes()

    def below(node):
        if node:
            yield from below(read_word(node + 2 * size))
            yield gdb.Value(node + TREE_NODE_BYTES + 8).cast(mapped.pointer()).dereference()
            yield from below(read_word(node + 3 * size))
    return list(below(read_word(header + size)))


def values_of_pointers(table):
    """The (key, address of the value) of a std::unordered_map of libstdc++ whose keys are pointers."""
    node, size, found = int(table["_M_h"]["_M_before_begin"]["_M_nxt"]), pointer_bytes(), []
    while node and len(found) < NODES_MAX:
        found.append((read_word(node + size), node + 2 * size))
        node = read_word(node)
    return found


def address_text(address):
    """A coracle::net::address, as its to_string()."""
    family, name = str(address["family_"]).rsplit("::", 1)[-1], address["name_"]["_M_ptr"]
    name = text_of(name.dereference()) if int(name) else ""
    if family not in ("ipv4", "ipv6"):
        return {"path": f"unix:{name}", "abstract": f"unix-abstract:{name}"}.get(family, "in-process")
    ip = ipaddress.ip_address(read_bytes(int(address["ip_"].address), 4 if family == "ipv4" else 16))
    return f"{ip}:{int(address['port_'])}" if family == "ipv4" else f"[{ip}]:{int(address['port_'])}"


def ends_of(stream):
    """The addresses of a connection's stream, as far as the program has asked the kernel for them."""
    if stream is None:
        return "without a socket"
    fields = {field.name for field in stream.type.fields()}
    if "raw_" in fields:  # TLS
        return ends_of(target_of(stream["raw_"]))
    if "ends_" not in fields:
        return "without a socket"
    local, peer = (target_of(stream["ends_"][name]) for name in ("local_", "peer_"))
    return f"{address_text(local) if local else '(not asked)'} -> {address_text(peer) if peer else '(not asked)'}"


def connection_line(number, connection):
    engine, stats = connection["engine_"], connection["counters_"]
    if bool(connection["transport_closed_"]) or bool(connection["closing_"]):
        state = "closing"
    elif bool(connection["draining_"]) or bool(connection["reported_going_away_"]):
        state = "draining"
    else:
        state = "open" if bool(engine["peer_settings_seen_"]) else "connecting"
    begin = f"connection {number}, {ends_of(target_of(connection['stream_']))}: {state}"
    started = f"{int(stats['streams_started'])} so far"
    if read_word(int(connection["http1_"].address)):
        return f"{begin}, HTTP/1.1, {started}"
    return (f"{begin}, {int(engine['open_count_'])} open streams, {started}, windows {int(engine['send_']['bytes_'])} to send, "
            f"{int(engine['receive_']['open_'])} to receive")


def companions(kind):
    """The objects of this type that the runtimes keep."""
    for owner in dict.fromkeys(owner for owner, _, _ in loops(Layout())):
        core = target_of(at(owner, "coracle::runtime")["core_"])
        for pair in elements_of(core["companions_"]):
            pointer = pair["second"]["_M_ptr"]
            if vtable_name(pointer) == kind:
                yield whole(pointer)


def alive(pointer):
    """The object of a std::weak_ptr; None if it is gone."""
    counts = int(pointer["_M_refcount"]["_M_pi"])
    uses = read_number(counts + pointer_bytes(), 4) if counts else 0  # behind the virtual table
    return whole(pointer["_M_ptr"]) if uses else None


def channel_lines():
    for registry in companions("coracle::rpc::channel_registry"):
        for entry in values_of_map(registry["channels_"]):
            channel = alive(entry["channel"])
            if channel is None or bool(entry["hidden"]):
                continue
            counts = elements_of(channel["counts_"])
            started, succeeded, failed = (sum(int(one[name]) for one in counts) for name in ("started", "succeeded", "failed"))
            yield (f"channel {int(channel['id_'])} to {text_of(channel['to']['name'])}: {STATES[int(channel['state_']['_M_i'])]}, "
                   f"{started - succeeded - failed} calls in progress, {succeeded} ended with OK, {failed} failed")
            for index, pointer in enumerate(elements_of(channel["shards_"])):
                for holder in elements_of(pointer.dereference()["subchannels_"]) if int(pointer) else ():
                    one = target_of(holder)
                    yield (f"  loop {index}: subchannel {int(one['id_'])} to {address_text(one['where_']['address_'])}: "
                           f"{STATES[int(one['recorded_state_'])]}")
                    for connection in elements_of(one["connections_"]):
                        yield "    " + connection_line(int(connection["id"]), target_of(connection["connection"]))


def server_lines():
    for registry in companions("coracle::server_internal::server_registry"):
        for pointer in values_of_map(registry["servers_"]):
            server = alive(pointer)
            if server is None:
                continue
            addresses = " and ".join(address_text(one) for one in elements_of(server["addresses"]))
            yield f"server {int(server['id'])}{' on ' + addresses if addresses else ''}:"
            for index, shard in enumerate(elements_of(server["shards_"])):
                kept = values_of_pointers(shard.dereference()["connections_"]) if int(shard) else ()
                kind = "coracle::server_internal::shard::served"
                for number, connection in sorted((int(at(value, kind)["id"]), key) for key, value in kept):
                    yield f"  loop {index}: " + connection_line(number, at(connection, "coracle::transport::connection"))


def print_lines(lines, nothing):
    """What reads the structures of the library may meet a program without them, or another version of them."""
    try:
        found = False
        for line in lines:
            found = True
            print(line)
    except gdb.error as error:
        raise gdb.GdbError(NO_TYPES.format(error)) from None
    if not found:
        print(nothing)


class ChannelsCommand(gdb.Command):
    """Print the channels of each runtime, with their subchannels and connections.

Usage: coracle channels

The numbers are those of channelz. The addresses of a connection are shown once the program has asked the kernel for them."""

    def __init__(self):
        super().__init__("coracle channels", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        print_lines(channel_lines(), "the process has no channels")


class ConnectionsCommand(gdb.Command):
    """Print the connections of each server.

Usage: coracle connections

Those of channels are printed by `coracle channels`."""

    def __init__(self):
        super().__init__("coracle connections", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        print_lines(server_lines(), "the process has no servers")


# --- The recorder

def first_address(symbol):
    try:
        return int(gdb.parse_and_eval(f"(unsigned long)&'{symbol}'"))
    except gdb.error:
        raise gdb.GdbError("the program has no Coracle with a recorder in it, or is stripped of its symbols: load its symbols with "
                           "`file`, and those of libcoracle.so if it is a shared library") from None


class Recording:
    """The content of the file that `coracle frames` of the shell reads."""

    def __init__(self):
        size, at = pointer_bytes(), first_address(RINGS_SYMBOL)
        try:
            version, self.ring_bytes = read_number(at, 8), read_number(at + 8, 8)
            first, names, name_count = read_word(at + 16), read_word(at + 16 + size), read_number(at + 16 + 2 * size, 8)
        except gdb.MemoryError:
            raise gdb.GdbError("the program does not run, and no core file is loaded: use `run`, `attach` or `core-file`") from None
        if version != RINGS_VERSION:
            raise gdb.GdbError(f"this script is for version {RINGS_VERSION} of the recorder, and the program has version {version}: use "
                               "the coracle-gdb.py that was installed with the library")
        self.names = [self.name(read_word(names + size * i)) for i in range(min(name_count, 65535))]
        self.rings = []
        while first and len(self.rings) < RINGS_MAX:
            self.rings.append(self.ring(first))
            first = read_word(first)

    @staticmethod
    def name(address):
        return read_bytes(address, NAME_TEXT_BYTES).split(b"\0")[0]

    def ring(self, entry):
        """(owner, index, offset of the wall clock, events) of an event_ring_entry."""
        size = pointer_bytes()
        ring, owner, index = (read_word(entry + size * i) for i in (2, 3, 4))
        offset = read_number(entry + 5 * size, 8)
        end, memory = read_word(ring), read_word(ring + size)
        place = (end - memory) % self.ring_bytes
        older = read_bytes(memory + place, self.ring_bytes - place)
        return owner, index, offset, (older if older[0] else b"") + read_bytes(memory, place)

    def content(self):
        owners = list(dict.fromkeys(owner for owner, _, _, _ in self.rings))
        order = "<" if "little" in gdb.execute("show endian", to_string=True) else ">"
        magic = RECORDING_MAGIC if order == "<" else RECORDING_MAGIC[::-1]
        parts = [magic, struct.pack(order + "IIIIiIq", EVENT_BYTES, len(self.names), len(self.rings),
                                    max(gdb.selected_inferior().pid, 0), 0, 0, time.time_ns())]
        for name in self.names:
            parts += [struct.pack(order + "H", len(name)), name]
        for owner, index, offset, events in self.rings:
            parts += [struct.pack(order + "IIQQ", index, owners.index(owner), len(events) // EVENT_BYTES, offset), events]
        return b"".join(parts)


class FramesCommand(gdb.Command):
    """Write what the recorder of each loop has kept to a file.

Usage: coracle frames FILE

`coracle frames FILE` in the shell prints it."""

    def __init__(self):
        super().__init__("coracle frames", gdb.COMMAND_DATA, gdb.COMPLETE_FILENAME)

    def invoke(self, argument, from_tty):
        names = gdb.string_to_argv(argument)
        if len(names) != 1:
            raise gdb.GdbError("usage: coracle frames FILE")
        recording = Recording()
        if not recording.rings:
            raise gdb.GdbError("the process has no loop: no coracle::runtime exists at the moment")
        try:
            with open(names[0], "wb") as file:
                file.write(recording.content())
        except OSError as error:
            raise gdb.GdbError(f"cannot write {names[0]}: {error.strerror}") from None
        print(f"wrote the events of {len(recording.rings)} loop{'' if len(recording.rings) == 1 else 's'}; "
              f"to read them: coracle frames {names[0]}")


# --- Printers

def text_of(value):
    """The text of a std::string of libstdc++."""
    pointer = int(value["_M_dataplus"]["_M_p"])
    return read_bytes(pointer, int(value["_M_string_length"])).decode(errors="replace")


def quoted(data, limit=64):
    """Bytes as text where they are text, else in hexadecimal; at most `limit` of them."""
    cut = data[:limit]
    more = f" ... ({len(data)} bytes)" if len(data) > limit else ""
    try:
        text = cut.decode("ascii")
        if text.isprintable():
            return f'"{text}"{more}'
    except UnicodeDecodeError:
        pass
    return cut.hex(" ") + more


def code_name(code):
    return STATUS_CODES[code] if 0 <= code < len(STATUS_CODES) else f"code {code}"


class StatusPrinter:
    """OK, or NOT_FOUND: no such movie"""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        name = code_name(int(self.value["code_"]))
        text = self.value["text_"]["_M_ptr"]
        if not int(text):
            return name
        text = text.dereference()
        message, details = text_of(text["message"]), int(text["details"]["_M_string_length"])
        return name + (f": {message}" if message else "") + (f" ({details} bytes of details)" if details else "")


def alternative(variant, index):
    """What a std::variant of libstdc++ holds."""
    storage = variant["_M_u"]
    for _ in range(index):
        storage = storage["_M_rest"]
    storage = storage["_M_first"]["_M_storage"]
    if "aligned" in str(storage.type.strip_typedefs()):  # of a type with a destructor
        storage = storage.address.cast(variant.type.strip_typedefs().template_argument(index).pointer()).dereference()
    return storage


class ResultPrinter:
    """A value, or the status of a failure"""

    def __init__(self, value):
        self.state = value["state_"]
        index = int(self.state["_M_index"])
        self.held = alternative(self.state, index) if index < 2 else None
        self.ok = index == 0

    def to_string(self):
        if self.held is None:
            return "a result without a state"
        return "result" if self.ok else f"result that failed: {StatusPrinter(self.held).to_string()}"

    def children(self):
        return iter([("value", self.held)] if self.ok else [])


class TaskPrinter:
    """Where a task waits"""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        frame = int(self.value["frame_"]["frame_"]["_M_fr_ptr"])
        if not frame:
            return "task, empty"
        size = pointer_bytes()
        if not read_word(frame):  # the address of the resume function
            return "task, ended"
        try:
            layout = Layout()
        except gdb.GdbError:
            return f"task, frame at {frame:#x}"
        site = Site(frame + 2 * size + layout.where)  # the promise is behind the two functions
        return f"task, {site.text()}" if site.line else "task, before its first co_await"


class HeaderListPrinter:
    """The pairs of metadata"""

    def __init__(self, value, fields):
        self.type, self.block = value.type.strip_typedefs().name.rsplit("::", 1)[-1], fields["block_"]

    def pairs(self):
        if not int(self.block):
            return
        block = self.block.dereference()
        text = int(self.block) + block.type.sizeof
        for index in range(int(block["count"])):
            place = text + int(block["capacity"]) - 12 * (index + 1)
            offset, name_bytes, value_bytes = (read_number(place + 4 * i, 4) for i in range(3))
            at = text + offset
            yield read_bytes(at, name_bytes), read_bytes(at + name_bytes, value_bytes)

    def to_string(self):
        count = int(self.block["count"]) if int(self.block) else 0
        return f"{self.type} of {count} pair{'' if count == 1 else 's'}"

    def children(self):
        for name, value in self.pairs():
            yield name.decode(errors="replace"), quoted(value)


class OutputBufferPrinter:
    """The bytes that wait to be sent"""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        begin, end = int(self.value["begin_"]), int(self.value["end_"])
        holder = self.value["data_"]["_M_t"]
        data = int(read_word(int(holder.address)))
        return f"{end - begin} bytes pending, capacity {int(self.value['capacity_'])}: {quoted(read_bytes(data + begin, end - begin))}"


class BytesMessagePrinter:
    """The bytes of a message"""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        text = self.value["bytes_"]
        data = read_bytes(int(text["_M_dataplus"]["_M_p"]), int(text["_M_string_length"]))
        return f"{len(data)} bytes: {quoted(data)}"


def printers():
    made = gdb.printing.RegexpCollectionPrettyPrinter("coracle")
    made.add_printer("status", "^coracle::status$", StatusPrinter)
    made.add_printer("result", "^coracle::result<.*>$", ResultPrinter)
    made.add_printer("task", "^coracle::task<.*>$", TaskPrinter)
    made.add_printer("header_list", "^coracle::http::header_list$", lambda value: HeaderListPrinter(value, value))
    made.add_printer("metadata", "^coracle::metadata$", lambda value: HeaderListPrinter(value, value["fields_"]))
    made.add_printer("output_buffer", "^coracle::base::output_buffer$", OutputBufferPrinter)
    made.add_printer("bytes_message", "^coracle::bytes_message$", BytesMessagePrinter)
    return made


CoracleCommand()
TasksCommand()
ChannelsCommand()
ConnectionsCommand()
FramesCommand()
gdb.printing.register_pretty_printer(None, printers(), replace=True)
