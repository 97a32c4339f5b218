"""coracle call: the text format, unknown fields, colours, and the time that connecting may take."""

import os
import pty
import socket
import time

from coracle_command import FAILURE, UNAVAILABLE, USAGE, call, coracle
from programs import own, run


def test_text_format_in_both_directions(movie_server):
    done = call(movie_server, "AddMovie", "--format", "text", "-d", 'title: "Text"')
    assert done.stdout.startswith('movie_id: "'), f"it prints {done.stdout!r}"


def test_text_messages_follow_each_other_with_a_line_between(movie_server):
    two = 'title: "One"\n---\ntitle: "Two"\n'
    for words, data in ((("-d", "-"), two), (("-d", two), None), (("-d", 'title: "One"', "-d", 'title: "Two"\n---\n'), None)):
        done = call(movie_server, "AddMultipleMovies", "--format", "text", *words, data=data)
        assert done.stdout.count("movie_ids: ") == 2, f"{words} print {done.stdout!r}"
    assert "there are more" in call(movie_server, "AddMovie", "--format", "text", "-d", two, code=USAGE).stderr


def test_an_empty_text_is_an_empty_message(movie_server):
    streamed = call(movie_server, "ListMovies", "--format", "text").stdout
    assert streamed == "" or streamed.endswith("---\n"), "replies of a stream end with a line each"
    if streamed:
        assert streamed.count("---\n") == call(movie_server, "ListMovies", "--format", "json").stdout.count("\n")


def test_an_error_in_text_names_its_place(movie_server):
    done = call(movie_server, "AddMovie", "--format", "text", "-d", 'titel: "x"', code=FAILURE)
    assert "line 1, column" in done.stderr and "titel" in done.stderr, done.stderr


def test_unknown_fields_are_refused_unless_allowed(movie_server):
    request = '{"title": "Unknown", "no_such_field": {"a": [1]}}'
    assert "no_such_field" in call(movie_server, "AddMovie", "-d", request, code=FAILURE).stderr
    assert "movieId" in call(movie_server, "AddMovie", "-d", request, "--allow-unknown-fields").stdout


def test_a_byte_order_mark_of_a_file_is_no_part_of_its_messages(movie_server, tmp_path):
    mark = b"\xef\xbb\xbf"
    for syntax, text in (("json", b'{"title": "Marked"}'), ("text", b'title: "Marked"')):
        (tmp_path / "marked").write_bytes(mark + text)
        for data in (("-d", f"@{tmp_path}/marked"), ("-d", f"@{tmp_path}/marked", "-d", f"@{tmp_path}/marked")):
            assert "ovie" in call(movie_server, "AddMultipleMovies", "--format", syntax, *data).stdout
    done = call(movie_server, "AddMultipleMovies", "-d", "-", data="\ufeff" + '{"title": "Marked"}')
    assert done.stdout.count("ovie") >= 1, done.stdout


def test_what_a_server_refuses_as_json_is_refused_before_it_is_sent(movie_server, tmp_path):
    for request, reason in (('{"title": "a"}}', "a value is malformed"), ('{"title": "a", "title": "b"}', "is set twice"),
                            ("{'title': 'a'}", "expected a name in quotes"), ('{"title": "a",}', "expected a name in quotes"),
                            ('{"directors": [null]}', "null is no value of an array or a map"), ('{"genres": 1}', "must be an array")):
        (tmp_path / "request.json").write_text(request)
        for data in (request, f"@{tmp_path}/request.json"):
            assert reason in call(movie_server, "AddMultipleMovies", "-d", data, code=FAILURE).stderr, request


def on_a_terminal(*words, env=None):
    """What the program prints on a terminal."""
    main, other = pty.openpty()
    pid = os.fork()
    if pid == 0:
        os.dup2(other, 1)
        os.execve(own("coracle"), ["coracle", *map(str, words)], {**os.environ, "TERM": "xterm", **(env or {})})
    os.close(other)
    text = b""
    try:
        while piece := os.read(main, 65536):
            text += piece
    except OSError:
        pass  # the other end is closed
    os.close(main)
    os.waitpid(pid, 0)
    return text.decode()


def test_colours_are_for_terminals(movie_server):
    words = ("call", movie_server.address, "-p", "AddMovie", "-d", '{"title": "Colours"}')
    assert "\x1b[34m\"movieId\"\x1b[0m: \x1b[32m\"" in on_a_terminal(*words)
    assert "\x1b" not in coracle(*words).stdout, "a pipe gets none"
    assert "\x1b" in coracle(*words, "--color", "always").stdout, "unless it is asked for"
    assert "\x1b" not in on_a_terminal(*words, "--color", "never")
    assert "\x1b" not in on_a_terminal(*words, env={"NO_COLOR": "1"})
    assert "\x1b" not in on_a_terminal(*words, env={"TERM": "dumb"})
    assert "\x1b" in run(own("coracle"), *words, env={"CLICOLOR_FORCE": "1"}).stdout
    described = on_a_terminal("describe", movie_server.address, "-p", "movie.Movie")
    assert "\x1b[34mmessage\x1b[0m Movie" in described


def test_json_for_programs_has_no_colours(movie_server):
    assert "\x1b" not in on_a_terminal("call", movie_server.address, "-p", "AddMovie", "-d", '{"title": "x"}', "--format", "json")


def test_connecting_may_take_only_so_long():
    with socket.create_server(("127.0.0.1", 0)) as silent:  # accepts, and never sends SETTINGS
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        began = time.monotonic()
        done = coracle("call", address, "-p", "--proto", "examples/01_greeter/greeter.proto", "-I", os.getcwd(), "SayHello",
                       "--connect-timeout", "300ms", code=UNAVAILABLE)
        assert f"connecting to {address} took longer than 300ms" in done.stderr, done.stderr
        assert time.monotonic() - began < 10, "it waited for the connection"
