#!/usr/bin/env python3
"""coracle ls, describe, call and health against our movie and greeter servers: what comes out, and the exit codes."""

import json
import os
import pathlib
import re
import socket
import subprocess
import tempfile

import stage
from certificates import Certificates
from stage import ROOT, Cases, Server, equal, expect, own, run

SERVICE = "movie.MovieService"
GREETER_PROTO = ROOT / "examples/01_greeter/greeter.proto"
UNAVAILABLE, USAGE, FAILURE = 14, 64, 65
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA = 0  # the type of a frame


def coracle(*words, data=None, code=0):
    done = run(own("coracle"), *words, data=data)
    equal(done.returncode, code, f"the exit code of {words[0]} ({done.stderr.strip()[-300:]})")
    return done


def call(server, method, *words, data=None, code=0):
    return coracle("call", server.address, "-p", method, *words, data=data, code=code)


def objects(text):
    return [json.loads(line) for line in text.splitlines()]


def ls_lists_services_and_methods(server):
    services = coracle("ls", server.address, "-p").stdout.split()
    for name in (SERVICE, "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection"):
        expect(name in services, f"{name} is not among {services}")
    equal(services, sorted(services), "the order")
    methods = [f"{SERVICE}/{name}" for name in ("AddMovie", "AddMultipleMovies", "ListMovies", "WatchTogether")]
    equal(coracle("ls", server.address, "-p", SERVICE).stdout.split(), methods, "what the service has")
    expect(set(methods) < set(coracle("ls", server.address, "-p", "-m").stdout.split()), "-m leaves methods out")


def describe_prints_definitions(server):
    method = coracle("describe", server.address, "-p", f"{SERVICE}/AddMovie").stdout
    for text in ("rpc AddMovie(.movie.Movie) returns (.movie.AddMovieResponse);", "string title = 2;", "string movie_id = 1;"):
        expect(text in method, f"{text!r} is not in {method!r}")
    expect("message Movie {" in coracle("describe", server.address, "-p", "movie.Movie").stdout, "it is no message")
    done = coracle("describe", server.address, "-p", "movie.Nothing", code=FAILURE)
    expect("no service, method, message or enum movie.Nothing" in done.stderr, f"it says {done.stderr!r}")


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


def describe_has_comments_where_they_stood():
    with tempfile.TemporaryDirectory() as folder:
        proto = pathlib.Path(folder, "harm.proto")
        text = DEFINITIONS.split("\n", 1)[1].replace(".harm.Harm.Kind kind", "Kind kind")
        # Of two lines, such a comment is one before a blank line.
        text = re.sub(r"(kind = 3 .*;)  (// behind:)\n +(// of two lines)", r"\1\n\2\n\3\n", text)
        proto.write_text(f'syntax = "proto3";\npackage harm;\n{text}')
        equal(coracle("describe", "--proto", proto, "harm.Harm").stdout, DEFINITIONS, "the definition")


def describe_names_things_by_all_their_names(server):
    every = coracle("describe", server.address, "-p").stdout
    for name in coracle("ls", server.address, "-p").stdout.split():
        expect(f"// {name}\nservice {name.rsplit('.')[-1]} {{\n" in every, f"{name} is not in {every!r}")
    for name in ("movie.Movie", f"{SERVICE}", f"{SERVICE}/AddMovie"):
        equal(coracle("describe", server.address, "-p", f".{name}").stdout, coracle("describe", server.address, "-p", name).stdout,
              f"what .{name} is")
    coracle("ls", server.address, "-p", f".{SERVICE}")
    call(server, f".{SERVICE}/AddMovie", "-d", '{"title": "Dot"}')


def a_unary_call_prints_its_reply(server):
    reply = json.loads(call(server, f"{SERVICE}/AddMovie", "-d", '{"title": "Alien", "yearOfProduction": 1979}').stdout)
    expect(int(reply["movieId"]) > 0, f"it is {reply}")


def the_end_of_a_name_is_enough(server):
    for name in ("AddMovie", "MovieService/AddMovie", "movie.MovieService.AddMovie", "/movie.MovieService/AddMovie"):
        call(server, name, "-d", '{"title": "Heat"}')


def the_exit_code_is_the_status(server):
    done = call(server, "AddMovie", code=3)
    equal(done.stdout, "", "what is printed")
    expect(done.stderr.startswith("coracle: INVALID_ARGUMENT: "), f"it says {done.stderr!r}")


def requests_stream_from_the_input(server):
    texts = "".join(json.dumps({"title": f"Part {n}"}, indent=n % 3 or None) for n in range(40))
    reply = json.loads(call(server, "AddMultipleMovies", data=texts).stdout)
    equal(len(reply["movieIds"]), 40, "the movies that were added")


def requests_come_from_files_and_words(server):
    with tempfile.NamedTemporaryFile("w") as file:
        file.write('{"title": "A"}\n{"title": "B"}')
        file.flush()
        reply = json.loads(call(server, "AddMultipleMovies", "-d", f"@{file.name}", "-d", '{"title": "C"}').stdout)
    equal(len(reply["movieIds"]), 3, "the movies that were added")


def replies_stream_as_lines(server):
    titles = [one["title"] for one in objects(call(server, "ListMovies").stdout)]
    expect("Alien" in titles and len(titles) > 40, f"the shelf has {titles}")


def both_directions_are_live(server):
    reply = json.loads(call(server, "AddMovie", "-d", '{"title": "Ran"}').stdout)
    with subprocess.Popen([own("coracle"), "call", server.address, "-p", "WatchTogether"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as chat:
        for views in (1, 2, 3):
            chat.stdin.write(json.dumps({"movieId": reply["movieId"]}) + "\n")
            chat.stdin.flush()
            came = json.loads(chat.stdout.readline())  # before the next request is written
            equal((came["movie"]["title"], came["views"]), ("Ran", views), "the reply")
        chat.stdin.close()
        equal(chat.stdout.read(), "", "what comes after the last request")
        equal(chat.wait(stage.STOP_LIMIT_S), 0, "the exit code")


def a_call_that_ends_early_does_not_wait_for_input(server):
    with subprocess.Popen([own("coracle"), "call", server.address, "-p", "WatchTogether"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as chat:
        chat.stdin.write('{"movieId": "999999"}\n')
        chat.stdin.flush()
        equal(chat.wait(stage.STOP_LIMIT_S), 5, "the exit code")
        expect("NOT_FOUND" in chat.stderr.read(), "the status is not said")


def a_deadline_expires(server):
    done = call(server, "ListMovies", "-d", '{"pauseMs": 60000}', "--timeout", "200ms", code=4)
    expect("DEADLINE_EXCEEDED" in done.stderr, f"it says {done.stderr!r}")


def verbose_tells_the_course_on_stderr(server):
    done = call(server, "AddMovie", "-d", '{"title": "M"}', "-v", "-H", "X-Who: ada", "-H", "x-raw-bin: AAE=")
    for text in (f"> /{SERVICE}/AddMovie on {server.address}, plaintext", "> x-who: ada", "> x-raw-bin: 00 01", "< the head", "< OK"):
        expect(text in done.stderr, f"{text!r} is not in {done.stderr!r}")
    json.loads(done.stdout)


def data_frames(connection):
    """What comes in DATA frames on an HTTP/2 connection, whose server says nothing but its settings."""
    stream = connection.makefile("rb")
    equal(stream.read(len(PREFACE)), PREFACE, "the preface")
    connection.sendall(bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]))  # SETTINGS, empty
    while head := stream.read(9):
        payload = stream.read(int.from_bytes(head[:3], "big"))
        if head[3] == DATA:
            yield payload


def requests_are_compressed(server):
    """Looks at the bytes: a message's flag, and how the encoding begins."""
    title = 5000 * "C"  # below a KiB nothing is compressed
    for encoding, begins in ((None, b"\x12"), ("gzip", b"\x1f\x8b"), ("deflate", b"\x78"), ("zstd", b"\x28\xb5\x2f\xfd")):
        words = ("--compress", encoding) if encoding else ()
        call(server, "AddMovie", "-d", json.dumps({"title": title}), *words)  # a server understands it
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.settimeout(stage.STOP_LIMIT_S)
            command = [own("coracle"), "call", f"127.0.0.1:{listener.getsockname()[1]}", "-p", "AddMovie", "--proto", stage.MOVIE_PROTO,
                       "-d", json.dumps({"title": title}), *words]
            with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
                try:
                    connection, _ = listener.accept()
                    with connection:
                        connection.settimeout(stage.STOP_LIMIT_S)
                        message = next(data_frames(connection))
                finally:
                    process.kill()
        equal(message[0], 1 if encoding else 0, f"the flag of a message with {encoding}")
        expect(message[5:].startswith(begins), f"a message with {encoding} begins with {message[5:9].hex()}")


def mistakes_are_told(server):
    for words, code, text in (
            (("AddMovie", "-d", '{"titel": "x"}'), FAILURE, "titel"),
            (("AddMovie", "-d", "[]"), FAILURE, "\n  Root element"),
            (("AddMovie", "-d", "{"), FAILURE, "is no movie.Movie"),
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
        equal(done.stdout, "", f"what {words} prints")
        expect(text in done.stderr, f"{text!r} is not in {done.stderr!r}")
        expect("INVALID_ARGUMENT" not in done.stderr, f"{done.stderr!r} reads as if a server had said it")
    coracle("call", code=USAGE)
    coracle("cull", code=USAGE)


def health_tells_by_its_exit_code(server):
    equal(coracle("health", server.address, "-p").stdout, "SERVING\n", "the state")
    equal(coracle("health", server.address, "-p", "no.Such", code=1).stdout, "SERVICE_UNKNOWN\n", "the state")
    expect("is a server running there" in coracle("health", "127.0.0.1:1", "-p", code=2).stderr, "there is no hint")


def definitions_come_from_files():
    with Server(own("greeter_server"), "127.0.0.1:0") as server, tempfile.TemporaryDirectory() as folder:
        bare = call(server, "SayHello", "-d", '{"name": "Ada"}', code=FAILURE)
        expect("--proto" in bare.stderr, f"it says {bare.stderr!r}")
        protoset = pathlib.Path(folder, "greeter.protoset")
        made = run("protoc", "-I", GREETER_PROTO.parent, "--include_imports", f"--descriptor_set_out={protoset}", GREETER_PROTO)
        equal(made.returncode, 0, "protoc's exit code")
        for words in (("--proto", GREETER_PROTO), ("-I", GREETER_PROTO.parent, "--proto", GREETER_PROTO.name), ("--protoset", protoset)):
            reply = json.loads(call(server, "SayHello", "-d", '{"name": "Ada"}', *words).stdout)
            equal(reply, {"message": "Hello, Ada"}, f"the reply with {words[0]}")
        broken = pathlib.Path(folder, "broken.proto")
        broken.write_text('syntax = "proto3";\nmessage A { strin b = 1; }\n')
        done = call(server, "SayHello", "--proto", broken, code=FAILURE)
        expect("broken.proto:2:" in done.stderr or "strin" in done.stderr, f"it says {done.stderr!r}")


def nobody_there():
    for words in (("call", "127.0.0.1:1", "-p", "a.B/C"), ("ls", "127.0.0.1:1", "-p"), ("describe", "127.0.0.1:1", "-p", "a.B")):
        done = coracle(*words, code=UNAVAILABLE)
        expect("is a server running there" in done.stderr, f"it says {done.stderr!r}")
    done = coracle("call", "127.0.0.1:1", "-p", "SayHello", "--proto", GREETER_PROTO, code=UNAVAILABLE)
    expect("UNAVAILABLE" in done.stderr and "is a server running there" in done.stderr, f"it says {done.stderr!r}")


def tls_and_certificates_of_clients():
    with tempfile.TemporaryDirectory() as folder:
        made = Certificates(folder)
        flags = ("--cert", made.server, "--key", made.server_key, "--client-ca", made.ca)
        with Server(own("movie_server"), "--port=0", *flags) as server:
            proof = ("--ca", made.ca, "--cert", made.client, "--key", made.client_key)
            expect(SERVICE in coracle("ls", server.address, *proof).stdout, "the service is not listed")
            expect(SERVICE in coracle("ls", server.address, "--no-verify", *proof[2:]).stdout, "the service is not listed")
            without = coracle("ls", server.address, "--ca", made.ca, code=UNAVAILABLE).stderr
            expect("--cert FILE" in without and "::" not in without, f"it says {without!r}")
            expect(SERVICE in coracle("ls", f"https://{server.address}/", *proof).stdout, "the service is not listed")
            stranger = coracle("ls", server.address, *proof[2:], code=UNAVAILABLE).stderr
            expect("--ca FILE" in stranger and "::" not in stranger and "()" not in stranger, f"it says {stranger!r}")
            expect("--plaintext" in coracle("ls", server.address, "-p", code=UNAVAILABLE).stderr, "there is no hint")


def main():
    cases = Cases()
    with Server(own("movie_server"), "--port=0") as server:
        cases.each("Coracle", (
            ls_lists_services_and_methods, describe_prints_definitions, describe_names_things_by_all_their_names, a_unary_call_prints_its_reply,
            the_end_of_a_name_is_enough, the_exit_code_is_the_status, requests_stream_from_the_input,
            requests_come_from_files_and_words, replies_stream_as_lines, both_directions_are_live,
            a_call_that_ends_early_does_not_wait_for_input, a_deadline_expires, verbose_tells_the_course_on_stderr,
            requests_are_compressed, mistakes_are_told, health_tells_by_its_exit_code), server)
    cases.each("Coracle", (describe_has_comments_where_they_stood, definitions_come_from_files, nobody_there, tls_and_certificates_of_clients))
    cases.end()


if __name__ == "__main__":
    os.environ.pop("CORACLE_LOG", None)
    main()
