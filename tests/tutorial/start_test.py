"""docs/start.md, gone through as a reader would: every file written, every command run, every output compared.

A comment before a block of code says what it is: `<!-- file: NAME -->` is written, `<!-- run -->` goes to the shell that all blocks share,
`<!-- prints -->` is what the last one printed (`<!-- prints, numbers aside -->`: with any numbers), `<!-- install -->` has been done by then, from the build
that is tested, `<!-- serve: PORT -->` runs until the end; of ports the kernel chooses others.
"""

import os
import pathlib
import re
import socket
import subprocess

import pytest

from programs import BUILD, ROOT

PAGE = ROOT / "docs/start.md"
BLOCK = re.compile(r"^<!-- (run|install|prints(?P<aside>, numbers aside)?|file: (?P<file>\S+)|serve: (?P<port>\d+)) -->\n```\w*\n(?P<text>.*?)^```$", re.M | re.S)
NUMBER = re.compile(r"\d[\d,.]*( (us|ms|s|B|kB|MB)\b)?")  # with its unit, which depends on its size
LIMIT_S, START_S = 240, 15


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Reader:
    def __init__(self, folder):
        prefix = folder / "prefix"
        done = subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix], capture_output=True, text=True)
        assert done.returncode == 0, f"cmake --install ended with {done.returncode}: {done.stderr[-300:]}"
        self.env = {**os.environ, "PATH": f"{prefix}/bin:{os.environ['PATH']}", "CMAKE_PREFIX_PATH": str(prefix),
                    "CMAKE_BUILD_PARALLEL_LEVEL": str(os.cpu_count()), "CMAKE_GENERATOR": "Ninja"}
        self.folder = folder / "home"
        self.folder.mkdir()
        self.ports, self.servers, self.printed = {}, [], ""

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

    def write(self, name, text):
        pathlib.Path(self.here(), name).write_text(text)

    def prints(self, text, numbers_aside):
        printed = self.printed
        if numbers_aside:
            printed, text = NUMBER.sub("0", printed), NUMBER.sub("0", text)
        assert printed == text

    def serve(self, port, text):
        self.ports[port] = str(free_port())
        server = subprocess.Popen(["bash", "-c", f"exec {self.with_ports(text)}"], cwd=self.here(), env=self.env,
                                  stdout=subprocess.PIPE, text=True)
        self.servers.append(server)
        assert "listening" in server.stdout.readline(), f"{text.strip()} does not serve"

    def close(self):
        for server in self.servers:
            server.terminate()
        for server in self.servers:
            server.wait(START_S)


def line_of(text, at):
    return text.count("\n", 0, at) + 1


TEXT = PAGE.read_text()
BLOCKS = {f"line{line_of(TEXT, block.start())}": block for block in BLOCK.finditer(TEXT)}
broken = []  # where a reader had to give up: what follows stands on it


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    one = Reader(tmp_path_factory.mktemp("tutorial"))
    yield one
    one.close()


def test_each_block_says_what_it_is():
    assert len(BLOCKS) == TEXT.count("\n```") / 2, "a block of code has no comment before it"


@pytest.mark.timeout(LIMIT_S + START_S)
@pytest.mark.parametrize("name", [name for name, block in BLOCKS.items() if block[1] != "install"])
def test_a_reader_comes_through(name, reader):
    assert not broken, f"{broken[0]} has failed, and this stands on it"
    block = BLOCKS[name]
    broken.append(name)
    if block["file"]:
        reader.write(block["file"], block["text"])
    elif block["port"]:
        reader.serve(block["port"], block["text"])
    elif block[1].startswith("prints"):
        reader.prints(block["text"], block["aside"])
    else:
        reader.run(block["text"])
    broken.clear()
