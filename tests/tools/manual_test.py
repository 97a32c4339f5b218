"""coracle man, help and version: the manual has every command and option, and its examples work."""

import functools
import os
import re
import struct
import subprocess

import pytest

from programs import BUILD, MOVIE_PROTO, ROOT, Server, own, run


def coracle(*words):
    done = run(own("coracle"), *words)
    assert done.returncode == 0, f"the exit code of {words} ({done.stderr.strip()[-300:]})"
    return done.stdout


@functools.cache
def commands():
    listed = coracle("--help").split("Commands:\n")[1].split("\n\n")[0]
    return re.findall(r"^  ([a-z]+) ", listed, re.M)


def page(*command):
    return coracle("man", *command).replace("\\-", "-").replace("\\(aq", "'").replace("\\e", "\\")


def test_the_manual_lists_all_commands():
    manual = page()
    assert manual.startswith(".TH CORACLE 1"), "it does not begin as a manual page"
    for command in commands():
        assert f".B coracle {command}\n" in manual and f".BR coracle-{command} (1)" in manual, f"{command} is missing"


@pytest.mark.parametrize("command", commands())
def test_each_command_has_a_manual_page(command):
    manual = page(command)
    assert manual.startswith(f".TH CORACLE-{command.upper()} 1"), "it does not begin as a manual page"
    options = re.findall(r"--[a-z][a-z-]+", coracle(command, "--help"))
    assert [one for one in options if one not in manual] == [], "options that are missing"
    sections = re.findall(r"^\.SH (.*)", manual, re.M)
    assert sections[0] == "NAME" and sections[-1] == "SEE ALSO" and "EXIT STATUS" in sections
    assert (built := BUILD / f"tools/coracle-{command}.1").read_text() == coracle("man", command), f"{built} is old"


@pytest.mark.parametrize("command", ["", *commands()])
def test_manual_pages_are_valid(command, tmp_path):
    path = tmp_path / "coracle.1"
    path.write_text(coracle("man", *command.split()))
    shown = run("man", "--warnings", "-l", path, env={"MANPAGER": "cat", "LC_ALL": "C.UTF-8"})
    assert (shown.returncode, shown.stderr) == (0, ""), "what man complains of"
    done = run("mandoc", "-T", "lint", "-W", "warning", path)
    assert [line for line in done.stdout.splitlines() if "missing date" not in line] == [], "what mandoc complains of"


def test_options_have_their_arguments_and_defaults():
    manual = page("call")
    for text in (".B --ca FILE", ".B --format {human,json,text}", "; default: human", ".B -p, --plaintext\n", ".B coracle call\n[\\fIOPTION\\fR...] [\\fIADDRESS\\fR] [\\fIMETHOD\\fR]"):
        assert text in manual, f"{text!r} is missing"


def examples(command):
    return re.findall(r"^\.EX\n(.*)\n\.EE", page(*command.split()), re.M)


@pytest.fixture(scope="module")
def pages_server():
    with Server(own("pages_server")) as one:
        yield one


@pytest.fixture(scope="module")
def xds_server():
    with Server(own("xds_interop_server"), "--port=0") as one:
        yield one


# Examples that wait for people or clients, and those that other tests run: tests/tutorial runs `new`.
NOT_RUN = {"console", "proxy", "replay", "chaos", "new"}


@pytest.mark.parametrize("command", ["", *(one for one in commands() if one not in NOT_RUN)])
def test_examples_work(command, movie_server, pages_server, xds_server, tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/coracle").symlink_to(own("coracle"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    (tmp_path / "request.json").write_text('{"title": "x"}')
    (tmp_path / "movies.rec").write_bytes(b"CORREC01" + struct.pack("=IIIIiIq", 16, 0, 0, 1, 0, 0, 0))  # without events
    (tmp_path / "movies.binlog").write_bytes(b"")  # the same
    (tmp_path / "requests").mkdir()
    (tmp_path / "requests/movies.grpc").write_text(f'CALL http://{movie_server.address} AddMovie\n\n{{"title": "x"}}\n')
    for folder in (".", "old", "new"):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "movie.proto").write_text(MOVIE_PROTO.read_text())
    coracle("describe", movie_server.address, "-p", "--protoset-out", tmp_path / "movie.protoset")
    address = {"top": pages_server, "pages": pages_server, "xds": xds_server}.get(command, movie_server).address
    for line in examples(command):
        if command == "top" and "--once" not in line:
            continue  # it watches until it is interrupted
        line = line.replace("localhost:50051", address)
        quick = line.replace("coracle load", "coracle load --duration 200ms") if "--duration" not in line and "-n " not in line else line
        done = subprocess.run(["bash", "-c", quick], cwd=tmp_path, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
        assert done.returncode == 0, f"{line} ends with {done.returncode}: {done.stderr}"


@pytest.mark.parametrize("command", [one for one in commands() if one not in ("man", "help", "version")])
def test_each_command_has_examples(command):
    assert examples(command)


def test_exit_codes_are_in_one_table():
    table = coracle("help", "exit-codes")
    text = (ROOT / "docs/cli/exit_codes.md").read_text()
    for code, meaning in re.findall(r"^\| ([0-9 to]+) \| (.*) \|$", text, re.M):
        assert re.search(rf"^  {code} +\S", table, re.M), f"{code} is missing"
        assert re.sub(r"[`\s]+", " ", re.sub(r"\[(.*?)\]\(.*?\)", r"\1", meaning)) in re.sub(r"\s+", " ", table), f"the meaning of {code}"
    assert len(re.findall(r"^  [0-9]", table, re.M)) == len(re.findall(r"^\| [0-9]", text, re.M)), "the number of codes"


def test_help_and_version_are_commands():
    assert coracle("help") == coracle("--help"), "what help prints"
    for words in (["call"], ["help"], ["completion", "bash"]):
        assert coracle("help", *words) == coracle(*words, "--help"), f"what help prints on {words}"
    assert coracle("version") == coracle("--version"), "what version prints"


@pytest.mark.parametrize("command", ["", *commands()])
def test_help_has_one_form(command):
    text = coracle(*command.split(), "--help")
    for part in text.split("\n\n"):
        head, *lines = part.splitlines()
        if head in ("Examples:", "Arguments:"):
            continue
        for line in lines:  # terms, and descriptions that begin behind them or below
            assert not re.match(r"^  +-.*?\S  +[a-z]", line), f"{line!r} begins with a small letter"
            assert len(line) <= 100, line
    groups = re.findall(r"^([A-Z][A-Za-z]+)(?:| .*):$", text, re.M)
    known = [one for one in groups if one in ("Options", "Connection", "Definitions", "Examples")]
    assert known == sorted(known, key=("Options", "Connection", "Definitions", "Examples").index), "the order of the groups"
    assert re.match(r"[A-Z][a-z]+[ ,]", text) and not re.match(r"[A-Za-z]+s ", text), "the first word is no imperative"
    for leak in ("UINT", "INT in", "TEXT:", "REQUIRED", "Excludes:", "Needs:", "kb(=1024b)", "=4194304", "this help message"):
        assert leak not in text, f"{leak!r} is text of the library"


@pytest.mark.parametrize("command", ["", "load compare", *(one for one in commands() if one not in ("man", "help", "version"))])
def test_each_help_has_an_example(command):
    assert re.search(rf"^Examples:\n(  # [A-Z].*\.\n  .*coracle {command}.*\n)+\Z", coracle(*command.split(), "--help"), re.M), command


def test_the_help_of_a_command_has_its_examples():
    text = coracle("call", "--help")
    assert "Examples:\n  # Call a method with a request.\n  coracle call localhost:50051 -p AddMovie -d" in text
    assert text.index("  -d, --data JSON") < text.index("Connection:") < text.index("      --ca FILE") < text.index("Definitions (")
    assert "      --max-message-bytes SIZE\n" in text and "such as 64MiB; default: 4MiB\n" in text, text


def test_an_unknown_word_is_an_error_that_suggests_the_closest_ones():
    for words, says in ((("foo",), "there is no command 'foo'; 'coracle help' lists"),
                        (("cal",), "did you mean 'call'? 'coracle help' lists"),
                        (("list",), "did you mean 'ls' or 'test'?"),
                        (("desc", "localhost:1"), "did you mean 'describe'?"),
                        (("help", "laod"), "did you mean 'load'?"),
                        (("completion", "bsh"), "completion has no command 'bsh'; did you mean 'bash' or 'zsh'? 'coracle help completion' lists"),
                        (("call", "--plaintex", "a:1", "B/C"), "call has no option --plaintex; did you mean '--plaintext'? 'coracle help call' lists"),
                        (("call", "--proto-path", "a", "a:1", "B/C"), "call has no option --proto-path; did you mean '--import'?"),
                        (("describe", "--import_path=a"), "describe has no option --import_path; did you mean '--import'?"),
                        (("load", "--druation=1s", "a:1", "B/C"), "load has no option --druation; did you mean '--duration'?"),
                        (("call", "-x", "a:1", "B/C"), "call has no option -x; 'coracle help call' lists"),
                        (("--vesrion",), "there is no option --vesrion; did you mean '--version'?"),
                        (("\x1b[2J",), "there is no command '?[2J'")):
        done = run(own("coracle"), *words)
        assert done.returncode == 64, f"the exit code of {words}"
        assert done.stdout == "", f"what {words} print"
        assert says in done.stderr and done.stderr.count("\n") == 1, f"{words} say {done.stderr!r}"


def test_it_is_one_file():
    """What it is linked to beside the C library came from archives; tools/archives.cmake says when it does not."""
    needed = re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "-d", own("coracle")).stdout)
    assert [name for name in needed if not re.match(r"(libc|libm|ld-linux.*)\.so", name)] == [], \
        "what it needs beside the C library"
    assert needed, "it needs nothing at all"
