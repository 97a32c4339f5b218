"""coracle call on streams of many messages: their order, what it costs to hand them over, and an invalid one among them."""

import json
import os
import pathlib
import subprocess
import tempfile

import pytest

from coracle_command import FAILURE, call, objects
from programs import Server, own


@pytest.fixture(scope="module")
def server(movie_server):
    return movie_server


def mixed_requests(count):
    """JSON in all the forms that are taken: with spaces, escapes of each kind, over several lines."""
    for n in range(count):
        title = f"It's \"{n}\" }},{{ ü\\"
        yield title, (json.dumps({"title": title}, indent=n % 3 or None) if n % 5 else '{\t"t\\u0069tle" :' + json.dumps(title, ensure_ascii=False) + " }")


def test_a_long_stream_keeps_its_order():
    """The messages of a stream are converted many at a time, whatever their number."""
    wanted = list(mixed_requests(20_000))
    with Server(own("movie_server"), "--port=0") as server, tempfile.NamedTemporaryFile("w") as file:
        file.write("\n".join(text for _, text in wanted))
        file.flush()
        for words, data in ((("-d", f"@{file.name}"), None), (("-d", "-"), pathlib.Path(file.name).read_text())):
            reply = json.loads(call(server, "AddMultipleMovies", *words, data=data).stdout)
            assert len(reply["movieIds"]) == len(wanted), "the movies that were added"
        assert [one["title"] for one in objects(call(server, "ListMovies").stdout)] == 2 * [title for title, _ in wanted], \
            "the shelf"


def context_switches(*words, stdin=subprocess.DEVNULL):
    """How often a command has waited for anything."""
    process = subprocess.Popen([own("coracle"), *words], stdin=stdin, stdout=subprocess.DEVNULL)
    _, code, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(code)
    assert process.returncode == 0, "the exit code"
    return usage.ru_nvcsw


def test_a_stream_at_full_speed_has_few_hand_overs():
    """Each wait of a thread for another one costs more than a message does."""
    count = 20_000
    with Server(own("movie_server"), "--port=0") as server, tempfile.TemporaryFile("w+") as file:
        file.writelines('{"title": "Stalker"}\n' for _ in range(count))
        file.flush()
        file.seek(0)
        waits = context_switches("call", server.address, "-p", "AddMultipleMovies", stdin=file)
        assert waits < count / 4, f"it waited {waits} times to send {count} messages"
        waits = context_switches("call", server.address, "-p", "ListMovies")
        assert waits < count / 4, f"it waited {waits} times to show {count} messages"


def test_an_invalid_request_is_named_among_others(server):
    valid = '{"title": "Solaris"}'
    for invalid in ('{"titel": "x"}', "[]", "{]", "12"):
        done = call(server, "AddMultipleMovies", data=50 * valid + invalid + " " + valid, code=FAILURE)
        assert "this is not a valid movie.Movie: " in done.stderr and f"\n  {invalid}\n" in done.stderr, f"it says {done.stderr[-300:]!r} of {invalid!r}"
        assert done.stderr.count("Solaris") <= 1, f"it says {done.stderr[-300:]!r} of {invalid!r}"
