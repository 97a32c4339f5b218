"""Goes through the pages of docs/start as a reader would: writes every file, runs every command, compares every output.

As a program, with what is installed on this machine: walk.py quickstart|tutorial...; it prints what each page takes.

A comment before a block of code says what it is:

    <!-- file: NAME -->                           the block is written
    <!-- add to: NAME, after: LINE -->            the block is added after that line of the file; before: LINE, or at the end
    <!-- replace in: NAME, the line with: TEXT -->  the block replaces the line that has the text
    <!-- shows: NAME -->                          the file holds the block
    <!-- run -->                                  the block goes to the shell that all blocks of a walk share
    <!-- prints -->                               what the last one printed; <!-- prints, numbers aside -->: with any numbers
    <!-- serve: PORT -->                          it runs until the end, or until the port is served anew; the kernel chooses the ports
"""

import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
# A walk is a project of its own. The pages of a walk are read in this order.
WALKS = {
    "quickstart": ("quickstart",),
    "tutorial": ("tutorial_project", "tutorial_method", "tutorial_streams", "tutorial_client", "tutorial_tls", "tutorial_load"),
}
PAGES = ROOT / "docs/start"
BLOCK = re.compile(r"^<!-- (?P<what>[^\n]+) -->\n```\w*\n(?P<text>.*?)^```$", re.M | re.S)
BAR = re.compile(r" +[#\u2588]+$", re.M)  # of a histogram
SPACES = re.compile(r"(?<=\S)  +")  # between columns
NUMBER = re.compile(r"\d[\d,.]*( (µs|ms|s|B|kB|MB)\b)?")  # with its unit, which depends on its size
LIMIT_S, START_S = 240, 15  # for one block, for a server


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Reader:
    def __init__(self, folder, prefix=None):
        """Works in the folder, with what is installed below the prefix, or on this machine."""
        self.env = {**os.environ, "CMAKE_BUILD_PARALLEL_LEVEL": str(os.cpu_count()), "CMAKE_GENERATOR": "Ninja"}
        if prefix:
            self.env |= {"PATH": f"{prefix}/bin:{os.environ['PATH']}", "CMAKE_PREFIX_PATH": str(prefix)}
        self.folder = folder / "home"
        self.folder.mkdir()
        self.ports, self.servers, self.printed = {}, {}, ""

    def with_ports(self, text):
        for said, other in self.ports.items():
            text = text.replace(said, other)
        return text

    def run(self, text):
        where = self.folder / ".where"
        script = f"set -e\n{self.with_ports(text)}pwd > {where}\n"
        done = subprocess.run(["bash", "-c", script], cwd=self.here(), env=self.env, capture_output=True, text=True, timeout=LIMIT_S)
        assert done.returncode == 0, f"it ended with {done.returncode}: {(done.stdout + done.stderr)[-600:]}"
        self.printed = done.stdout

    def here(self):
        where = self.folder / ".where"
        return where.read_text().strip() if where.exists() else self.folder

    def file(self, name):
        return pathlib.Path(self.here(), name)

    def write(self, text, name):
        self.file(name).write_text(text)

    def lines_with(self, name, wanted):
        lines = self.file(name).read_text().splitlines(keepends=True)
        found = [i for i, line in enumerate(lines) if wanted(line.strip())]
        assert len(found) == 1, f"{name} has {len(found)} such lines, not one"
        return lines, found[0]

    def add(self, text, name, where, line):
        if where == "at the end":
            lines, at = [self.file(name).read_text()], 1
        else:
            lines, at = self.lines_with(name, lambda one: one == line)
            at += where.startswith("after")
        lines.insert(at, text)
        self.write("".join(lines), name)

    def replace(self, text, name, part):
        lines, at = self.lines_with(name, lambda one: part in one)
        lines[at] = text
        self.write("".join(lines), name)

    def shows(self, text, name):
        assert text in self.file(name).read_text(), f"{name} does not hold this"

    def prints(self, text, aside):
        printed = self.printed
        if aside:
            printed, text = (NUMBER.sub("0", SPACES.sub("  ", BAR.sub("", one))) for one in (printed, text))
        assert printed == text, f"it printed {printed!r}, not {text!r}"

    def serve(self, text, port):
        before = self.servers.pop(port, None)
        if before:
            before.terminate()
            before.wait(START_S)
        self.ports[port] = str(free_port())
        server = subprocess.Popen(["bash", "-c", f"exec {self.with_ports(text)}"], cwd=self.here(), env=self.env,
                                  stdout=subprocess.PIPE, text=True)
        self.servers[port] = server
        assert "listening" in server.stdout.readline(), f"{text.strip()} does not serve"

    def close(self):
        for server in self.servers.values():
            server.terminate()
        for server in self.servers.values():
            server.wait(START_S)


KINDS = (
    (r"file: (\S+)", Reader.write),
    (r"add to: (\S+), (at the end|(?:after|before): (.+))", Reader.add),
    (r"replace in: (\S+), the line with: (.+)", Reader.replace),
    (r"shows: (\S+)", Reader.shows),
    (r"run", lambda reader, text: reader.run(text)),
    (r"prints(, numbers aside)?", Reader.prints),
    (r"serve: (\d+)", Reader.serve),
)


def step_of(block):
    """What a reader does with a block; None if its comment is of no kind."""
    for pattern, act in KINDS:
        found = re.fullmatch(pattern, block["what"])
        if found:
            return lambda reader: act(reader, block["text"], *found.groups())
    return None


def line_of(text, at):
    return text.count("\n", 0, at) + 1


TEXTS = {page: (PAGES / f"{page}.md").read_text() for pages in WALKS.values() for page in pages}


def steps_of(page):
    """What a reader does on a page, in order, by page and line."""
    return {f"{page}:{line_of(TEXTS[page], block.start())}": step_of(block) for block in BLOCK.finditer(TEXTS[page])}


def walk(pages, folder):
    reader = Reader(folder)
    try:
        for page in pages:
            begin, name = time.monotonic(), page
            try:
                for name, step in steps_of(page).items():
                    step(reader)
            except Exception as error:
                raise SystemExit(f"FAIL {name}: {error}") from error
            print(f"PASS {page:<45} {time.monotonic() - begin:4.0f} s", flush=True)
    finally:
        reader.close()


if __name__ == "__main__":
    for name in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            walk(WALKS[name], pathlib.Path(folder))
