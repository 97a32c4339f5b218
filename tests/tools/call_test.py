"""coracle ls, describe, call and health against our movie and greeter servers: what comes out, and the exit codes."""

import json
import re
import socket
import subprocess
import tempfile

import pytest

import programs
from certificates import Certificates
from coracle_command import FAILURE, GREETER_PROTO, SERVICE, UNAVAILABLE, USAGE, call, coracle, objects
from programs import Server, own, run

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA = 0  # the type of a frame


@pytest.fixture(scope="module")
def server(movie_server):
    return movie_server


def test_ls_lists_services_and_methods(server):
    services = coracle("ls", server.address, "-p").stdout.split()
    for name in (SERVICE, "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection"):
        assert name in services, f"{name} is not among {services}"
    assert services[0] == SERVICE, "services of gRPC itself come first"
    assert services[1:] == sorted(services[1:]), "the order"
    methods = [f"{SERVICE}/{name}" for name in ("AddMovie", "AddMultipleMovies", "ListMovies", "WatchTogether")]
    assert coracle("ls", server.address, "-p", SERVICE).stdout.split() == methods, "what the service has"
    assert set(methods) < set(coracle("ls", server.address, "-p", "-m").stdout.split()), "-m leaves methods out"


def test_describe_prints_definitions(server):
    method = coracle("describe", server.address, "-p", f"{SERVICE}/AddMovie").stdout
    for text in ("rpc AddMovie(.movie.Movie) returns (.movie.AddMovieResponse);", "string title = 2;", "string movie_id = 1;"):
        assert text in method, f"{text!r} is not in {method!r}"
    assert "message Movie {" in coracle("describe", server.address, "-p", "movie.Movie").stdout, "it is no message"
    done = coracle("describe", server.address, "-p", "movie.Nothing", code=FAILURE)
    assert "no service, method, message or enum movie.Nothing" in done.stderr, f"it says {done.stderr!r}"


DEFINITIONS = """// harm.Harm
message Harm {  // Does none.
  // harm.Harm.Kind, in short.
  enum Kind {
    NONE = 0;  // the first
    SOME = 1;
  }
  string name = 1;  // of one line
  string same = 2;
  // Before, and
  .harm.Harm.Kind kind = 3 [deprecated = true];  // behind:
                                                 // of two lines
  oneof one {  // of them
    int32 a = 4;  // the one
    int32 b = 5;
  }
}
"""


def test_describe_has_comments_where_they_stood(tmp_path):
    proto = tmp_path / "harm.proto"
    text = DEFINITIONS.split("\n", 1)[1].replace(".harm.Harm.Kind kind", "Kind kind")
    # Of two lines, such a comment is one before a blank line.
    text = re.sub(r"(kind = 3 .*;)  (// behind:)\n +(// of two lines)", r"\1\n\2\n\3\n", text)
    proto.write_text(f'syntax = "proto3";\npackage harm;\n{text}')
    assert coracle("describe", "--proto", proto, "harm.Harm").stdout == DEFINITIONS, "the definition"


def test_describe_names_things_by_all_their_names(server):
    every = coracle("describe", server.address, "-p").stdout
    for name in coracle("ls", server.address, "-p").stdout.split():
        assert f"// {name}\nservice {name.rsplit('.')[-1]} {{\n" in every, f"{name} is not in {every!r}"
    for name in ("movie.Movie", f"{SERVICE}", f"{SERVICE}/AddMovie"):
        assert coracle("describe", server.address, "-p", f".{name}").stdout == coracle("describe", server.address, "-p", name).stdout, \
            f"what .{name} is"
    coracle("ls", server.address, "-p", f".{SERVICE}")
    call(server, f".{SERVICE}/AddMovie", "-d", '{"title": "Dot"}')


def test_a_unary_call_prints_its_reply(server):
    reply = json.loads(call(server, f"{SERVICE}/AddMovie", "-d", '{"title": "Alien", "yearOfProduction": 1979}').stdout)
    assert int(reply["movieId"]) > 0, f"it is {reply}"


def test_the_end_of_a_name_is_enough(server):
    for name in ("AddMovie", "MovieService/AddMovie", "movie.MovieService.AddMovie", "/movie.MovieService/AddMovie"):
        call(server, name, "-d", '{"title": "Heat"}')


@pytest.mark.parametrize("typed, meant", [("AddMovi", "'AddMovie'"), ("addmovie", "'AddMovie'"), ("ListM", "'ListMovies'"),
                                          ("MovieServce/AddMovie", "'MovieService/AddMovie'"), ("/movie.MovieService/Addmovie", "'movie.MovieService/AddMovie'"),
                                          ("AddMultiplMovies", "'AddMultipleMovies'"), ("Add", "'AddMovie' or 'AddMultipleMovies'")])
def test_a_mistyped_method_suggests_the_closest(server, typed, meant):
    done = call(server, typed, "-d", "{}", code=FAILURE)
    assert done.stderr == f"coracle: error: there is no method {typed}; did you mean {meant}?\n"


def test_a_method_that_is_close_to_none_lists_its_own_services_first(server):
    lines = call(server, "Zzzzzzzzzzzz", "-d", "{}", code=FAILURE).stderr.splitlines()
    assert lines[0] == "coracle: error: there is no method Zzzzzzzzzzzz; there are:"
    assert [line.strip() for line in lines[1:5]] == [f"{SERVICE}/{name}" for name in ("AddMovie", "AddMultipleMovies", "ListMovies", "WatchTogether")]


def test_other_names_suggest_the_closest_too(server):
    for words, says in ((("describe", "Movi"), "no service, method, message or enum Movi; did you mean "), (("describe", "movie.Moviee"), "did you mean 'movie.Movie'?"),
                        (("ls", "MovieServices"), "there is no service MovieServices; did you mean 'MovieService'?")):
        done = coracle(words[0], server.address, "-p", *words[1:], code=FAILURE)
        assert says in done.stderr, f"{words} say {done.stderr!r}"


def test_an_ambiguous_method_is_called_ambiguous(tmp_path):
    methods = "message M {} service A { rpc List(M) returns (M); } service B { rpc List(M) returns (M); }"
    (tmp_path / "two.proto").write_text(f'syntax = "proto3";\npackage two;\n{methods}')
    done = coracle("call", "127.0.0.1:1", "-p", "--proto", tmp_path / "two.proto", "List", code=FAILURE)
    assert done.stderr == "coracle: error: List is ambiguous; there are:\n  two.A/List\n  two.B/List\n"


def test_the_exit_code_is_the_status(server):
    done = call(server, "AddMovie", code=3)
    assert done.stdout == "", "what is printed"
    assert done.stderr.startswith("coracle: error: INVALID_ARGUMENT: "), f"it says {done.stderr!r}"


def test_requests_stream_from_the_input(server):
    texts = "".join(json.dumps({"title": f"Part {n}"}, indent=n % 3 or None) for n in range(40))
    reply = json.loads(call(server, "AddMultipleMovies", data=texts).stdout)
    assert len(reply["movieIds"]) == 40, "the movies that were added"


def test_requests_come_from_files_and_words(server):
    with tempfile.NamedTemporaryFile("w") as file:
        file.write('{"title": "A"}\n{"title": "B"}')
        file.flush()
        reply = json.loads(call(server, "AddMultipleMovies", "-d", f"@{file.name}", "-d", '{"title": "C"}').stdout)
    assert len(reply["movieIds"]) == 3, "the movies that were added"


def test_replies_stream_as_lines(server):
    titles = [one["title"] for one in objects(call(server, "ListMovies").stdout)]
    assert "Alien" in titles and len(titles) > 40, f"the shelf has {titles}"


def test_both_directions_are_live(server):
    reply = json.loads(call(server, "AddMovie", "-d", '{"title": "Ran"}').stdout)
    with subprocess.Popen([own("coracle"), "call", server.address, "-p", "WatchTogether"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as chat:
        for views in (1, 2, 3):
            chat.stdin.write(json.dumps({"movieId": reply["movieId"]}) + "\n")
            chat.stdin.flush()
            came = json.loads(chat.stdout.readline())  # before the next request is written
            assert (came["movie"]["title"], came["views"]) == ("Ran", views), "the reply"
        chat.stdin.close()
        assert chat.stdout.read() == "", "what comes after the last request"
        assert chat.wait(programs.STOP_LIMIT_S) == 0, "the exit code"


def test_a_call_that_ends_early_does_not_wait_for_input(server):
    with subprocess.Popen([own("coracle"), "call", server.address, "-p", "WatchTogether"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as chat:
        chat.stdin.write('{"movieId": "999999"}\n')
        chat.stdin.flush()
        assert chat.wait(programs.STOP_LIMIT_S) == 5, "the exit code"
        assert "NOT_FOUND" in chat.stderr.read(), "the status is not said"


def test_a_deadline_expires(server):
    done = call(server, "ListMovies", "-d", '{"pauseMs": 60000}', "--timeout", "200ms", code=4)
    assert "DEADLINE_EXCEEDED" in done.stderr, f"it says {done.stderr!r}"


def test_verbose_tells_the_course_on_stderr(server):
    done = call(server, "AddMovie", "-d", '{"title": "M"}', "-v", "-H", "X-Who: ada", "-H", "x-raw-bin: AAE=")
    for text in (f"> /{SERVICE}/AddMovie on {server.address}, plaintext", "> x-who: ada", "> x-raw-bin: 00 01", "< :status: 200", "< OK"):
        assert text in done.stderr, f"{text!r} is not in {done.stderr!r}"
    json.loads(done.stdout)


def data_frames(connection):
    """What comes in DATA frames on an HTTP/2 connection, whose server says nothing but its settings."""
    stream = connection.makefile("rb")
    assert stream.read(len(PREFACE)) == PREFACE, "the preface"
    connection.sendall(bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]))  # SETTINGS, empty
    while head := stream.read(9):
        payload = stream.read(int.from_bytes(head[:3], "big"))
        if head[3] == DATA:
            yield payload


def test_requests_are_compressed(server):
    """Looks at the bytes: a message's flag, and how the encoding begins."""
    title = 5000 * "C"  # below a KiB nothing is compressed
    for encoding, begins in ((None, b"\x12"), ("gzip", b"\x1f\x8b"), ("deflate", b"\x78"), ("zstd", b"\x28\xb5\x2f\xfd")):
        words = ("--compress", encoding) if encoding else ()
        call(server, "AddMovie", "-d", json.dumps({"title": title}), *words)  # a server understands it
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.settimeout(programs.STOP_LIMIT_S)
            command = [own("coracle"), "call", f"127.0.0.1:{listener.getsockname()[1]}", "-p", "AddMovie", "--proto", programs.MOVIE_PROTO,
                       "-d", json.dumps({"title": title}), *words]
            with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
                try:
                    connection, _ = listener.accept()
                    with connection:
                        connection.settimeout(programs.STOP_LIMIT_S)
                        message = next(data_frames(connection))
                finally:
                    process.kill()
        assert message[0] == (1 if encoding else 0), f"the flag of a message with {encoding}"
        assert message[5:].startswith(begins), f"a message with {encoding} begins with {message[5:9].hex()}"


def test_mistakes_are_told(server):
    for words, code, text in (
            (("AddMovie", "-d", '{"titel": "x"}'), FAILURE, "titel"),
            (("AddMovie", "-d", "[]"), FAILURE, "it must be an object"),
            (("AddMovie", "-d", "{"), FAILURE, "is not a valid movie.Movie"),
            (("AddMovie", "-d", '{"title": "a"}{"title": "b"}'), USAGE, "takes one request"),
            (("AddMovie", "-d", ""), USAGE, "takes one request; there is none"),
            (("ListMovies", "-d", "-"), USAGE, "takes one request; there is none"),
            (("AddMovie", "-d", "@/etc"), FAILURE, "the file /etc cannot be read: Is a directory"),
            (("AddMovie", "-d", "@/no/such"), FAILURE, "the file /no/such cannot be read: No such file"),
            (("AddMovie", "-d", "@-"), USAGE, "for the standard input use '-d -'"),
            (("AddMovie", "-d", "@"), USAGE, "names no file"),
            (("NoSuch",), FAILURE, f"{SERVICE}/AddMovie"),
            (("AddMovie", "-H", "grpc-mine: 1"), USAGE, "' is not valid: names have"),
            (("AddMovie", "-H", "x-bin: !!!"), USAGE, "'x-bin: !!!'"),
            (("AddMovie", "-H", "x-bin: AAE=="), USAGE, "'x-bin: AAE=='"),
            (("AddMovie", "--timeout", "5"), USAGE, "such as 5s"),
            (("AddMovie", "--ca", "x.pem"), USAGE, "contradict")):
        done = call(server, *words, data="", code=code)
        assert done.stdout == "", f"what {words} prints"
        assert text in done.stderr, f"{text!r} is not in {done.stderr!r}"
        assert "INVALID_ARGUMENT" not in done.stderr, f"{done.stderr!r} reads as if a server had said it"
    coracle("call", code=USAGE)
    coracle("cull", code=USAGE)


@pytest.mark.parametrize("request_, place, reason, line, mark", [
    ('{"title":"Stalker"', (1, 19), "expected ',' or '}'", '{"title":"Stalker"', 18),
    ('{"title": "ä漢", "titel": "x"}', (1, 17), "there is no field 'titel'; did you mean 'title'?", None, 16),
    ('{\n\t"yearOfProduction": "x"\n}', (2, 22), '"x" is no value of the type int32', ' "yearOfProduction": "x"', 21),
    ('{"directors": [{}, {"first_name": 1}]}', (1, 35), "1 is no value of the type string", None, 34),
    ('{"stars": [{"firstName": "a"}, {"nick": 2}]}', (1, 33), "there is no field 'nick'", None, 32),
    ('{"genres": ["DRAMA", "NONE"]}', (1, 22), '"NONE" is no value of the type movie.MovieGenre', None, 21),
    ('{"genres": ["drama"]}', (1, 13), "\"drama\" is no value of the type movie.MovieGenre; did you mean 'DRAMA'?", None, 12),
    ('{"title": {}}', (1, 11), "the field title is no message, and takes no object", None, 10)])
def test_an_error_in_json_has_its_place_below_the_text(server, request_, place, reason, line, mark):
    done = call(server, "AddMovie", "-d", request_, code=FAILURE)
    assert done.stderr == (f"coracle: error: this is not a valid movie.Movie: line {place[0]}, column {place[1]}: {reason}\n"
                           f"  {line or request_}\n  {' ' * mark}^\n" + ("" if reason.startswith("expected") else "  hint: `coracle describe` shows its fields\n"))


def test_a_long_line_is_cut_around_the_error(server):
    done = call(server, "AddMovie", "-d", json.dumps({"title": 500 * "x", "titel": 1, "id": 500 * "y"}), code=FAILURE)
    line, mark = done.stderr.splitlines()[1:3]
    assert len(line) < 120 and line.startswith("  ...xx") and line.endswith("yy...") and line[mark.index("^"):].startswith('"titel"'), done.stderr


def test_health_tells_by_its_exit_code(server):
    assert coracle("health", server.address, "-p").stdout == "SERVING\n", "the state"
    assert coracle("health", server.address, "-p", "no.Such", code=1).stdout == "SERVICE_UNKNOWN\n", "the state"
    assert "is a server running there" in coracle("health", "127.0.0.1:1", "-p", code=2).stderr, "there is no hint"


def test_definitions_come_from_files(tmp_path):
    with Server(own("greeter_server"), "127.0.0.1:0") as server:
        bare = call(server, "SayHello", "-d", '{"name": "Ada"}', code=FAILURE)
        assert "--proto" in bare.stderr, f"it says {bare.stderr!r}"
        protoset = tmp_path / "greeter.protoset"
        made = run("protoc", "-I", GREETER_PROTO.parent, "--include_imports", f"--descriptor_set_out={protoset}", GREETER_PROTO)
        assert made.returncode == 0, "protoc's exit code"
        for words in (("--proto", GREETER_PROTO), ("-I", GREETER_PROTO.parent, "--proto", GREETER_PROTO.name), ("--protoset", protoset)):
            reply = json.loads(call(server, "SayHello", "-d", '{"name": "Ada"}', *words).stdout)
            assert reply == {"message": "Hello, Ada"}, f"the reply with {words[0]}"
        broken = tmp_path / "broken.proto"
        broken.write_text('syntax = "proto3";\nmessage A { strin b = 1; }\n')
        done = call(server, "SayHello", "--proto", broken, code=FAILURE)
        assert "broken.proto:2:" in done.stderr or "strin" in done.stderr, f"it says {done.stderr!r}"


def test_nobody_there():
    for words in (("call", "127.0.0.1:1", "-p", "a.B/C"), ("ls", "127.0.0.1:1", "-p"), ("describe", "127.0.0.1:1", "-p", "a.B")):
        done = coracle(*words, code=UNAVAILABLE)
        assert "is a server running there" in done.stderr, f"it says {done.stderr!r}"
    done = coracle("call", "127.0.0.1:1", "-p", "SayHello", "--proto", GREETER_PROTO, "--authority", "a b", code=UNAVAILABLE)
    assert "is not valid in HTTP" in done.stderr and "hint" not in done.stderr, f"it says {done.stderr!r}"
    done = coracle("ls", "https://127.0.0.1:1", code=UNAVAILABLE)
    assert "http:// in the address" in done.stderr and "--plaintext" not in done.stderr, f"it says {done.stderr!r}"
    done = coracle("call", "127.0.0.1:1", "-p", "SayHello", "--proto", GREETER_PROTO, code=UNAVAILABLE)
    assert "UNAVAILABLE" in done.stderr and "is a server running there" in done.stderr, f"it says {done.stderr!r}"


def test_tls_and_certificates_of_clients(tmp_path):
    made = Certificates(tmp_path)
    flags = ("--cert", made.server, "--key", made.server_key, "--client-ca", made.ca)
    with Server(own("movie_server"), "--port=0", *flags) as server:
        proof = ("--ca", made.ca, "--cert", made.client, "--key", made.client_key)
        assert SERVICE in coracle("ls", server.address, *proof).stdout, "the service is not listed"
        assert SERVICE in coracle("ls", server.address, "--no-verify", *proof[2:]).stdout, "the service is not listed"
        without = coracle("ls", server.address, "--ca", made.ca, code=UNAVAILABLE).stderr
        assert "--cert FILE" in without and "::" not in without, f"it says {without!r}"
        assert SERVICE in coracle("ls", f"https://{server.address}/", *proof).stdout, "the service is not listed"
        stranger = coracle("ls", server.address, *proof[2:], code=UNAVAILABLE).stderr
        assert "--ca FILE" in stranger and "::" not in stranger and "()" not in stranger, f"it says {stranger!r}"
        assert "--plaintext" in coracle("ls", server.address, "-p", code=UNAVAILABLE).stderr, "there is no hint"


def test_a_failed_call_is_json_on_request(server):
    done = call(server, "AddMovie", "--format", "json", code=3)
    failed = json.loads(done.stderr)
    assert (failed["code"], failed["status"]) == (3, "INVALID_ARGUMENT"), f"it says {failed}"
    assert failed["message"] and failed["details"] == [], f"it says {failed}"
    unreachable = coracle("call", "127.0.0.1:1", "-p", "AddMovie", "--protoset", "/dev/null", "--format", "json", code=FAILURE)
    assert "coracle:" in unreachable.stderr, "an error before the call is for people"


def test_a_reply_in_json_is_one_line(server):
    done = call(server, "AddMovie", "-d", '{"title": "Stalker"}', "--format", "json")
    assert list(objects(done.stdout)[0]) == ["movieId"] and done.stdout.count("\n") == 1, f"it prints {done.stdout!r}"


def test_fields_without_a_value_are_printed_on_request(server):
    call(server, "AddMovie", "-d", '{"title": "Solaris"}')
    usual = objects(call(server, "ListMovies").stdout)[-1]
    whole = objects(call(server, "ListMovies", "--emit-defaults").stdout)[-1]
    assert set(usual) < set(whole), f"{usual} and {whole}"


def test_headers_may_name_environment_variables(server, monkeypatch):
    monkeypatch.setenv("CORACLE_TEST_TOKEN", "secret")
    sent = call(server, "ListMovies", "-v", "-H", "authorization: Bearer ${CORACLE_TEST_TOKEN}!").stderr
    assert "> authorization: Bearer secret!" in sent, f"it sends {sent!r}"
    missing = call(server, "ListMovies", "-H", "x-a: ${CORACLE_TEST_NONE}", code=USAGE)
    assert "'CORACLE_TEST_NONE', which is not set" in missing.stderr, f"it says {missing.stderr!r}"
    call(server, "ListMovies", "-H", "x-a: ${OPEN", code=USAGE)


def test_the_connection_options_reach_the_channel(server):
    call(server, "ListMovies", "--user-agent", "tests/1", "--keepalive", "30s")
    call(server, "ListMovies", "--keepalive", "often", code=USAGE)
