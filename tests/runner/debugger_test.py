"""packaging/gdb/coracle-gdb.py: what gdb shows of a process whose calls hang, and of its core file."""

import re
import shutil
import subprocess

import pytest

from programs import ROOT, Background, own

SCRIPT = ROOT / "packaging/gdb/coracle-gdb.py"
LIMIT_S = 60
TREE = """\
loop 0:
  3 x coracle::task<void> {anonymous}::greet(helloworld::rpc::Greeter::stub) at hanging_call.cpp:%d
  3 x {anonymous}::greeter::SayHello(coracle::server_context&, const helloworld::HelloRequest&) at hanging_call.cpp:%d
    {anonymous}::wait_for_stock() at hanging_call.cpp:%d
loop 1: no tasks
"""
AWAITS = ("co_await greeter.SayHello", "co_await wait_for_stock", "co_await stock_counted")


def gdb(*commands, program=None, of=()):
    """What gdb prints when it runs the script and then these commands."""
    words = [word for command in (f"source {SCRIPT}", *commands) for word in ("-ex", command)]
    done = subprocess.run(["gdb", "-nx", "-batch", program or own("hanging_call"), *of, *words], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=LIMIT_S)
    return done.stdout + done.stderr


def lines_of_awaits():
    source = (ROOT / "tests/runner/hanging_call.cpp").read_text().splitlines()
    return tuple(next(n for n, line in enumerate(source, 1) if text in line) for text in AWAITS)


@pytest.fixture(scope="module")
def hanging():
    """The id of the process."""
    assert shutil.which("gdb"), "gdb is not installed (scripts/packages.txt)"
    with Background(own("hanging_call")) as program:
        program.wait_for(re.compile("the calls hang"), LIMIT_S)
        yield program.process.pid


@pytest.fixture(scope="module")
def core(hanging, tmp_path_factory):
    file = tmp_path_factory.mktemp("core") / "core"
    said = gdb(f"gcore {file}", of=["-p", str(hanging)])
    assert file.exists(), said
    return file


def test_a_process_shows_the_tree_of_its_tasks(hanging):
    assert TREE % lines_of_awaits() in gdb("coracle tasks", of=["-p", str(hanging)])


def test_the_guide_shows_that_tree():
    assert TREE % lines_of_awaits() in (ROOT / "docs/guides/debugging.md").read_text()


def test_a_core_file_shows_the_same_tree(core):
    assert TREE % lines_of_awaits() in gdb("coracle tasks", of=[core])


def test_the_tree_needs_no_debug_information(core, tmp_path):
    stripped = tmp_path / "stripped"
    subprocess.run(["strip", "--strip-debug", own("hanging_call"), "-o", stripped], check=True)
    assert TREE % lines_of_awaits() in gdb("coracle tasks", program=stripped, of=[core])


IN_PROCESS = "without a socket: open, 3 open streams, 3 so far"
END = r"(?:\(not asked\)|127.0.0.1:\d+)"  # the library asks when it needs an address
CHANNELS = re.compile(rf"""\
channel (\d+) to in-process: READY, 3 calls in progress, 0 ended with OK, 0 failed
  loop 0: subchannel \d+ to in-process: READY
    connection \d+, {IN_PROCESS}, windows \d+ to send, \d+ to receive
channel (\d+) to 127.0.0.1:(\d+): READY, 0 calls in progress, 0 ended with OK, 1 failed
  loop 0: subchannel \d+ to 127.0.0.1:\3: READY
    connection \d+, {END} -> 127.0.0.1:\3: open, 0 open streams, 1 so far, windows \d+ to send, \d+ to receive
""")
CONNECTIONS = re.compile(rf"""\
server \d+ on 127.0.0.1:\d+:
(  loop 0: connection \d+, {IN_PROCESS}, windows \d+ to send, \d+ to receive
|  loop [01]: connection \d+, {END} -> {END}: open, 0 open streams, 1 so far, windows \d+ to send, \d+ to receive
){{2}}""")


def test_a_process_shows_its_channels_and_connections(hanging):
    said = gdb("coracle channels", "coracle connections", of=["-p", str(hanging)])
    assert CHANNELS.search(said), said
    assert CONNECTIONS.search(said), said


def test_a_core_file_shows_the_same_channels_and_connections(core):
    said = gdb("coracle channels", "coracle connections", of=[core])
    assert CHANNELS.search(said), said
    assert CONNECTIONS.search(said), said


@pytest.mark.parametrize("command", ("channels", "connections"))
def test_channels_and_connections_need_debug_information(core, tmp_path, command):
    stripped = tmp_path / "stripped"
    subprocess.run(["strip", "--strip-debug", own("hanging_call"), "-o", stripped], check=True)
    assert "the library has no debug information" in gdb(f"coracle {command}", program=stripped, of=[core])


def test_options_add_paths_and_the_tasks_of_the_library(core):
    said = gdb("coracle tasks -full -all", of=[core])
    assert "runner/hanging_call.cpp:" in said, said
    assert "loop_service::run_until_shutdown" in said, said
    assert "usage: coracle tasks" in gdb("coracle tasks -none", of=[core])


@pytest.mark.parametrize("variable, shown", (
    ("good", "OK"),
    ("bad", "NOT_FOUND: no such movie"),
    ("seven", "result = {value = 7}"),
    ("name", 'result = {value = "ada"}'),
    ("failed", "result that failed: NOT_FOUND: no such movie"),
    ("pairs", 'metadata of 2 pairs = {x-user = "ada", x-team-bin = 01 02}'),
    ("message", '5 bytes: "hello"'),
    ("output", '5 bytes pending, capacity 256: "world"'),
    ("lazy", "task, before its first co_await"),
))
def test_values_are_printed_as_they_are_meant(core, variable, shown):
    said = gdb("frame function hang", f"print {variable}", of=[core])
    assert f"$1 = {shown}\n" in said, said


def test_a_core_file_has_the_frames_of_the_hanging_calls(core, tmp_path):
    recording = tmp_path / "recording"
    said = gdb(f"coracle frames {recording}", of=[core])
    assert "wrote the events of 2 loops" in said, said
    listed = subprocess.run([own("coracle"), "frames", recording, "--method", "SayHello"], capture_output=True, text=True, check=True).stdout
    assert len(re.findall(r"<-\s+DATA .*/helloworld.Greeter/SayHello", listed)) == 3, listed
    assert len(re.findall(r" began .*/helloworld.Greeter/SayHello", listed)) == 3, listed


def test_frames_need_the_name_of_a_file_and_a_process(core):
    assert "usage: coracle frames FILE" in gdb("coracle frames", of=[core])
    assert "the process has no loop" in gdb("coracle frames /dev/null")
    assert "the program has no Coracle" in gdb("coracle frames /dev/null", program=shutil.which("true"))


def test_a_program_that_does_not_run_has_no_tasks():
    said = gdb("coracle tasks", "coracle channels", "coracle connections")
    assert "the process has no loop" in said
    assert "the process has no channels\nthe process has no servers\n" in said


def test_another_program_is_refused():
    assert "the program has no Coracle in it" in gdb("coracle tasks", program=shutil.which("true"))
