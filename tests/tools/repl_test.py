"""coracle repl against our movie server: as a script through a pipe, and typed on a terminal with completion."""

import json
import os
import pty
import re
import select
import subprocess
import termios
import time

import pytest

import programs
from programs import Server, own, run

SERVICE = "movie.MovieService"


@pytest.fixture(scope="module")
def server(movie_server):
    return movie_server


def script(server, text, *words, code=0):
    done = run(own("coracle"), "repl", server.address, "-p", *words, data=text)
    assert done.returncode == code, f"the exit code ({done.stderr.strip()[-300:]})"
    return done


def test_a_pipe_is_a_script(server):
    done = script(server, f'ls\n# a comment\n\nls {SERVICE}\nservice MovieService\ncall AddMovie {{"title": "Stalker"}}\n')
    lines = done.stdout.splitlines()
    assert SERVICE in lines and f"{SERVICE}/WatchTogether" in lines, f"it prints {lines}"
    assert re.search(r'"movieId": ?"\d+"', done.stdout), f"there is no reply in {done.stdout!r}"
    assert done.stderr == "", "what it says beside"


def test_fields_are_asked_for(server):
    directors = "y\nAndrei\nTarkovsky\nn\n"  # whether there is one, the fields of one, whether there is another
    answers = f"\nSolaris\nDRAMA\nSCI_FI\n\n{directors}n\nn\n1972\n167\n"  # the fields from id to duration_minutes
    done = script(server, f"call {SERVICE}/AddMovie\n{answers}call ListMovies {{}}\n")
    added = [json.loads(line) for line in done.stdout.splitlines() if '"Solaris"' in line][-1]
    added.pop("id")
    assert (added == {"title": "Solaris", "genres": ["DRAMA", "SCI_FI"], "directors": [{"firstName": "Andrei", "lastName": "Tarkovsky"}],
                  "yearOfProduction": 1972, "durationMinutes": 167}), "the movie"


def test_requests_stream_until_the_input_ends(server):
    one = "\nA film\n\n\n\n\n2001\n\n"
    done = script(server, "call AddMultipleMovies\n" + 3 * one)
    assert len(json.loads(done.stdout)["movieIds"]) == 3, "the movies that were added"
    done = script(server, 'call AddMultipleMovies {"title": "a"} {"title": "b"}\nls\n')
    assert len(json.loads(done.stdout[:done.stdout.index("}") + 1])["movieIds"]) == 2, "the movies that were added"


def test_headers_go_with_calls(server):
    """The server sends x-echo-... back."""
    add = 'call AddMovie {"title": "x"}\n'
    done = script(server, f"header X-Echo-Who: ada\nheader\n{add}header x-echo-Who\nheader\n{add}", "-v", "-H", "x-echo-all: 1")
    assert done.stdout.count("x-echo-who: ada\n") == 1, "how often the header is listed"
    assert done.stdout.count("x-echo-all: 1\n") == 2, "how often the header of -H is listed"
    assert done.stderr.count("< x-echo-who: ada\n") == 1, f"how often it comes back in {done.stderr!r}"
    assert done.stderr.count("< x-echo-all: 1\n") == 2, f"how often the other comes back in {done.stderr!r}"


def test_nothing_of_a_line_is_dropped(server):
    before = script(server, "call ListMovies {}\n").stdout.count("\n")
    for line, text in (('call AddMovie {"title": "a"} {"title": "b"}', "takes one request; there are more"),
                       ('call AddMovie {"title": "a"} junk', "takes one request; there are more"),
                       ("service", "service requires a name"), ("describe", "describe requires the name"), ("call", "call requires a method"),
                       ("header A B", "no header A B was set"), ("header :x", "name: value"), ("header a b: c", "' is not valid: names have")):
        done = script(server, line + "\nheader\n", code=64)
        assert text in done.stderr, f"{line!r} says {done.stderr!r}"
        assert done.stdout == "", f"what {line!r} prints, or sets"
    assert script(server, "call ListMovies {}\n").stdout.count("\n") == before, "the shelf's length"


def test_lines_may_end_as_on_windows(server):
    done = script(server, 'header x-echo-a: b\r\nls\r\ncall AddMovie {"title": "x"}\r\ncall AddMovie\r\n\r\ny\r\n\r\n\r\n\r\n\r\n1999\r\n\r\n', "-v")
    assert done.stdout.count("movieId") == 2, "the movies that were added"
    assert "< x-echo-a: b\n" in done.stderr, f"it says {done.stderr!r}"


def test_a_hint_names_commands_of_the_shell(server):
    done = script(server, "describe nothing.Like.It\n", code=65)
    assert "ls lists services, and ls SERVICE its methods" in done.stderr and "coracle" not in done.stderr.replace("coracle: error", ""), done.stderr


def test_mistakes_do_not_end_it(server):
    done = script(server, 'nonsense\ncall AddMovie {"titel": 1}\ncall AddMovie {}\ncall AddMovie {"title": "fine"}\n', code=3)
    for text in ("no command nonsense", "titel", "INVALID_ARGUMENT"):
        assert text in done.stderr, f"{text!r} is not in {done.stderr!r}"
    assert "movieId" in done.stdout, "the last call was not made"
    assert script(server, "call AddMovie\n\nx\n\n\n\n\nnineteen\n", code=65).stdout == "", "what is printed"


def test_nobody_there():
    done = run(own("coracle"), "repl", "127.0.0.1:1", "-p", data="")
    assert done.returncode == 14, "the exit code"
    assert "is a server running there" in done.stderr, f"it says {done.stderr!r}"


class Terminal:
    """Types, and reads what comes onto the screen; writes to it wait from the beginning if the output is stopped."""

    def __init__(self, *command, env, stopped=False):
        self.main, other = pty.openpty()
        self.device = os.ttyname(other)
        if stopped:
            termios.tcflow(other, termios.TCOOFF)
        # Ctrl-C becomes a signal in a session whose terminal this is: setsid makes it so.
        self.process = subprocess.Popen(["setsid", "--ctty", *map(str, command)], stdin=other, stdout=other, stderr=other,
                                        env={**os.environ, "TERM": "xterm", **env})
        os.close(other)
        self.screen = ""
        self.passed = ""  # what the last wait_for() found, and all before it

    def type(self, text):
        os.write(self.main, text.encode())

    def echoes(self):
        """Whether the terminal itself shows what is typed, as it does before a program sets another mode."""
        return bool(termios.tcgetattr(self.main)[3] & termios.ECHO)

    def let_output_go_on(self):
        other = os.open(self.device, os.O_RDWR | os.O_NOCTTY)
        termios.tcflow(other, termios.TCOON)
        os.close(other)

    def wait_for(self, text):
        end = time.monotonic() + programs.START_LIMIT_S
        while text not in self.screen:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.main], [], [], left)[0]:
                pytest.fail(f"{text!r} does not appear; there is {self.screen[-400:]!r}")
            try:
                self.screen += os.read(self.main, 4096).decode(errors="replace")
            except OSError:
                pytest.fail(f"it ended before {text!r} appeared: {self.screen[-400:]!r}")
        end_of_text = self.screen.index(text) + len(text)
        self.passed, self.screen = self.screen[:end_of_text], self.screen[end_of_text:]

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.main)


def test_a_terminal_completes_and_remembers(server, tmp_path):
    def opened():
        return Terminal(own("coracle"), "repl", server.address, "-p", env={"XDG_STATE_HOME": tmp_path, "LC_ALL": "C.UTF-8"})
    first = opened()
    try:
        prompt = f"@{server.address}> "
        first.wait_for(prompt)
        first.type('call WatchT\t{"movieId": "999999"}\n')  # before a service is chosen
        first.wait_for("ogether")
        first.wait_for("NOT_FOUND")
        first.wait_for(prompt)
        first.type("serv\tmovie.\t\n")
        first.wait_for(f"{SERVICE}{prompt}")
        first.type("call AddMu\t")
        first.wait_for("ltipleMovies")
        first.type('{"tit\t')
        first.wait_for('le":')
        first.type('"Übertypt 漢"}\n')
        first.wait_for("movieIds")
        first.wait_for(prompt)
        assert "Übertypt 漢" in script(server, "call ListMovies {}\n").stdout, "letters beyond ASCII were lost"
        first.type("call AddMovie\n")
        for name in ("id (string) = ", "title (string) = "):
            first.wait_for(name)
            first.type("\n" if name.startswith("id") else "Asked\n")
        first.type("WESTERN\n\nn\nn\nn\n")
        first.wait_for("year_of_production (int32) = ")
        first.type("late\n")  # is asked for again
        first.wait_for("of the type int32")
        first.wait_for("year_of_production (int32) = ")
        first.type("1999\n\n")
        first.wait_for("movieId")
        first.wait_for(prompt)
        first.type("exit\n")
        assert first.process.wait(programs.STOP_LIMIT_S) == 5, "the exit code, which is that of the first call"
    finally:
        first.close()
    assert "AddMultipleMovies" in (tmp_path / "coracle/repl_history").read_text(), "the history was not kept"


def test_ctrl_c_ends_the_call_or_the_line_and_no_more(server, tmp_path):
    terminal = Terminal(own("coracle"), "repl", server.address, "-p", "-v", env={"XDG_STATE_HOME": tmp_path})
    history = tmp_path / "coracle/repl_history"
    prompt = f"@{server.address}> "
    try:
        terminal.wait_for(prompt)
        terminal.type("half a line\x03")
        terminal.wait_for(prompt)
        terminal.type('call AddMovie {"title": "Kept"}\n')
        terminal.wait_for("movieId")
        terminal.wait_for(prompt)
        assert "Kept" in history.read_text(), "the history is not written after the line"
        terminal.type('call ListMovies {"pauseMs": 60000}\n')
        terminal.wait_for("> a message")  # the reply comes in a minute
        terminal.type("\x03")
        terminal.wait_for("CANCELLED")
        terminal.wait_for(prompt)
        terminal.type("call AddMovie\n")
        terminal.wait_for("id (string) = ")
        terminal.type("\x03")
        terminal.wait_for(prompt)
        terminal.type("ser\t")  # names of commands again, not of the field's
        terminal.wait_for("vice ")
        terminal.type("\x03")
        terminal.wait_for(prompt)
        terminal.type("\x04")
        assert terminal.process.wait(programs.STOP_LIMIT_S) == 1, "the exit code, which is that of the call"
    finally:
        terminal.close()


def test_ctrl_c_at_a_field_ends_the_call_each_time(server, tmp_path):
    """Two threads run then: the one that reads the line, and the one that reads replies."""
    terminal = Terminal(own("coracle"), "repl", server.address, "-p", env={"XDG_STATE_HOME": tmp_path})
    prompt = f"@{server.address}> "
    try:
        terminal.wait_for(prompt)
        for _ in range(100):
            terminal.type("call AddMovie\n")
            terminal.wait_for("id (string) = ")
            terminal.type("\x03")
            terminal.wait_for(prompt)
    finally:
        terminal.close()


def test_keys_are_the_programs_before_the_prompt_shows(server, tmp_path):
    """A key that is typed at the prompt must not be shown by the terminal: a Tab would not complete."""
    terminal = Terminal(own("coracle"), "repl", server.address, "-p", env={"XDG_STATE_HOME": tmp_path}, stopped=True)
    try:
        end = time.monotonic() + programs.START_LIMIT_S
        while terminal.echoes():  # the prompt cannot be written yet
            assert time.monotonic() < end, "the prompt comes before the mode of the terminal"
            time.sleep(0.01)
        terminal.let_output_go_on()
        terminal.wait_for(f"@{server.address}> ")
        terminal.type("ser\t")
        terminal.wait_for("vice ")
    finally:
        terminal.close()


FORM = """syntax = "proto3";
package form;
import "google/protobuf/any.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
enum Color { RED = 0; GREEN = 1; BLUE = 2; }
message Inner {
  bool on = 1;
  Color color = 2;
  oneof kind { string by_name = 3; int32 by_number = 4; }
}
message Request {
  Inner inner = 1;
  repeated Inner others = 2;
  map<string, Inner> named = 3;
  google.protobuf.Timestamp when = 4;
  google.protobuf.BoolValue maybe = 5;
  google.protobuf.Struct anything = 6;
  string spoken_name = 7;
  google.protobuf.Any packed = 8;
  repeated Color colors = 9;
}
service Form { rpc Fill(Request) returns (Inner); }
service Other { rpc Refill(Inner) returns (Inner); rpc Drop(Inner) returns (Inner); }
"""
NOTHING = ""
COMPLETIONS = [  # what is typed, and what Tab adds
    ('call Fill {"inn', 'er":'), ("call Fill {inn", "er:"), ("call Fill", " "), ('call Fill {"spoken_n', 'ame":'), ('call Fill {"spok', 'enName":'),
    ('call Fill {"inner":{"on":t', "rue"), ('call Fill {"inner": {"color": "G', 'REEN"'), ('call Fill {"colors":["RED","B', 'LUE"'),
    ('call Fill {"inner": {"color": "RED", "byNa', 'me":'), ('call Fill {"others":[{"on":true},{"col', 'or":'), ('call Fill {"others":', "["),
    ('call Fill {"named":{"any key":{"col', 'or":'), ('call Fill {"named":', "{"), ('call Fill {"when":', '"'), ('call Fill {"maybe":f', "alse"),
    ('call Fill {"packed":{"@t', 'ype":'), ('call Fill {"packed":{"@type":"x/form.Inner","col', 'or":'), ('call Fill {"inner":{}} ', "{"),
    ('call Fill {"inner":{"byName":"x y","byNum', NOTHING), ('call Fill {"inner":{},"inn', NOTHING), ('call Fill {"anything":{"inn', NOTHING),
    ('call Fill {"inner":{"inn', NOTHING), ('call Fill {"spokenName":"inn', NOTHING), ('call Fill {"inner"]{"col', NOTHING),
    ("call Refi", "ll"), ("describe Inn", "er"), ("describe Col", "or"), ("describe form.Req", "uest"), ("serv", "ice"),
]


@pytest.fixture
def form(server, tmp_path):
    (tmp_path / "form.proto").write_text(FORM)
    terminal = Terminal(own("coracle"), "repl", server.address, "-p", "--proto", tmp_path / "form.proto", "--import", tmp_path,
                        env={"XDG_STATE_HOME": tmp_path, "LC_ALL": "C.UTF-8", "NO_COLOR": "1"})
    terminal.wait_for("> ")
    yield terminal
    terminal.close()


def completed(terminal, typed):
    """What Tab adds to a line."""
    terminal.type(typed)
    terminal.wait_for(typed)
    terminal.type("\t")
    terminal.type("~")  # of no line, and so the end of what was added
    terminal.wait_for("~")
    added = re.sub(r"\a|\r|\x1b\[\d*[GK]", "", terminal.passed[:-1])  # without what moves the cursor
    terminal.type("\x03")
    terminal.wait_for("> ")
    return added


def test_json_is_completed_where_the_cursor_is(form):
    found = {typed: completed(form, typed) for typed, _ in COMPLETIONS}
    assert {typed: added.rstrip() for typed, added in found.items()} == {typed: added.rstrip() for typed, added in COMPLETIONS}


def test_a_service_hides_the_methods_of_others(form):
    form.type("service Form\n")
    form.wait_for("form.Form@")
    form.wait_for("> ")
    assert [completed(form, f"call {begun}").rstrip() for begun in ("Fi", "Refi", "Dro", "form.Other/Dr")] == ["ll", "", "", "op"]


def test_the_keys_of_a_message_are_listed(form):
    form.type('call Fill {"inner":{"color":"RED",\t\t')
    form.wait_for('byNumber":')
    form.wait_for('on":')
    assert 'color":' not in form.passed, "a key that is set"


def test_well_known_types_are_typed_as_people_write_them(server, tmp_path):
    (tmp_path / "form.proto").write_text(FORM)
    words = ("--proto", tmp_path / "form.proto", "--import", tmp_path)
    for answers, code in (("\n\n\n2024-01-01T00:00:00Z\ntrue\n{\"a\": [1]}\n\n\n\n", 12), ("\n\n\nyesterday\n", 65)):
        # 12: the call was made, and the server has no such method.
        done = script(server, f"call form.Form/Fill\n{answers}", *words, code=code)
        if code == 65:
            assert "when is a time such as 2026-01-31T12:00:00Z, not 'yesterday'" in done.stderr, done.stderr


TRANSCRIPT = re.compile(r"<!-- transcript -->\n```\n\$ coracle repl 127\.0\.0\.1:(\d+) -p\n(.*?)```", re.S)
PROMPT = re.compile(r"(.*?@127\.0\.0\.1:\d+>|[\w.]+ \([\w. ]+\)(?: =|, fill it\? \[y/N\])) ?(.*)")


def test_the_guide_shows_what_happens(tmp_path):
    """Each line of the guide's transcript is typed where it has a prompt, and else waited for."""
    port, lines = TRANSCRIPT.search((programs.ROOT / "docs/cli/repl.md").read_text()).groups()
    with Server(own("movie_server"), "--port=0") as server:
        terminal = Terminal(own("coracle"), "repl", server.address, "-p", env={"XDG_STATE_HOME": tmp_path, "NO_COLOR": "1"})
        try:
            for line in lines.replace(f":{port}>", f":{server.port}>").splitlines():
                prompt = PROMPT.fullmatch(line)
                terminal.wait_for(prompt[1] if prompt else line.strip())
                if prompt:
                    terminal.type(prompt[2] + "\n")
            assert terminal.process.wait(programs.STOP_LIMIT_S) == 0, "the exit code"
        finally:
            terminal.close()
