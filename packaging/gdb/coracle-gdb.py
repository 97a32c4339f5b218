"""gdb commands and pretty printers for programs that use Coracle.

    (gdb) source /usr/share/coracle/gdb/coracle-gdb.py
    (gdb) coracle tasks

`coracle tasks` prints the tree of the tasks of each loop with the place where each waits. It works on a running process and on
a core file, with and without debug information. The printers show values of status, result, task, metadata and buffers; they
need debug information of your program (-g).

docs/guides/debugging.md shows how to use both.
"""

import gdb
import gdb.printing

# debugger_data::current_version in src/coro/debugger_entry.hpp.
DATA_VERSION = 1
DATA_SYMBOL = "coracle::coro::debugger_tasks"
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
gdb.printing.register_pretty_printer(None, printers(), replace=True)
