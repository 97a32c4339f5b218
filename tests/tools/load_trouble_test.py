"""coracle load where the server is slow, silent, gone, or goes away meanwhile."""

import json
import socket
import subprocess

from fleeting_server import fleeting_server
from load_command import GREET, adds_up, load, measured
from rest_endpoint import endpoint
from programs import Server, own, run

FAILURE, NOT_MET = 65, 66


def test_a_call_ends_by_its_timeout():
    with Server(own("movie_server"), "--port=0") as movies:
        run(own("coracle"), "call", movies.address, "-p", "AddMovie", "-d", '{"title": "Alien"}')
        words = ("ListMovies", "-d", '{"pauseMs": 60000}', "-n", "6", "-c", "3", "--timeout", "200ms")
        found = measured(movies, *words, code=FAILURE)
        adds_up(found, 6)
        assert [(one["status"], one["calls"]) for one in found["statuses"]] == [("DEADLINE_EXCEEDED", 6)], "the statuses"
        load(movies, *words, "--expect", "errors<1", code=NOT_MET)


def test_a_silent_server_is_given_up_after_the_connect_timeout():
    with socket.create_server(("127.0.0.1", 0)) as silent:  # the kernel takes the connection, and nobody speaks
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        for words in (("-n", "1"), ("--users", "2")):
            done = run(own("coracle"), "load", address, "-p", "a.B/C", "--raw", "/dev/null", *words, "--connect-timeout", "300ms")
            assert done.returncode == FAILURE, "the exit code"
            assert "cannot be reached: DEADLINE_EXCEEDED: connecting took longer than --connect-timeout" in done.stderr, \
                f"it says {done.stderr!r}"


def going_until_its_first_line(server, *words):
    command = [own("coracle"), "load", server.address, "-p", *GREET, *words, "--json", "-", "--progress"]
    going = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    going.stderr.readline()
    return going


def test_users_who_come_too_late_are_failures():
    with Server(own("greeter_server"), "127.0.0.1:0") as server:
        with going_until_its_first_line(server, "--users", "90", "--ramp-up", "3s") as going:
            assert server.stop() == 0, "the server's exit code"
            text, _ = going.communicate(timeout=60)
    found = json.loads(text)["runs"][0]
    adds_up(found, 90)
    connects = found["connects"]
    assert connects["made"] + connects["failed"] == 90, "the users who tried"
    assert found["ok"] > 0 and connects["failed"] > 0, f"it found {connects}"
    assert found["failed"] >= connects["failed"], "a user without a connection is no failure"


def test_a_server_that_goes_and_comes_back_is_called_again():
    with Server(own("greeter_server"), "127.0.0.1:0") as server:
        port = server.port
        going = going_until_its_first_line(server, "--rate", "50", "--duration", "6s")
        assert server.stop() == 0, "the server's exit code"
    with Server(own("greeter_server"), f"127.0.0.1:{port}"), going:
        text, _ = going.communicate(timeout=60)
    found = json.loads(text)["runs"][0]
    adds_up(found, 300)
    assert found["per_second"][-1]["ok"] + found["per_second"][-2]["ok"] > 0, "nobody is called after the restart"
    assert (found["connects"]["made"], found["connects"]["reconnects"]) == (1, 1), "the connections"


def test_reconnects_are_counted():
    """The server counts, too. One of its connections is the trial that precedes the run; each of the plan's may have been
    connecting when the run ended."""
    plans = ((1, ("--rate", "20", "--duration", "2s")), (2, ("-c", "3", "--connections", "2", "--duration", "2s")),
             (4, ("--users", "4", "--duration", "2s", "--loops", "2")))
    for connections, plan in plans:
        with fleeting_server() as server:
            found = measured(server, *GREET, *plan)
            connects = found["connects"]
            assert connects["made"] == connections, f"the first connections of {plan}"
            assert connects["reconnects"] > 0, f"{plan} has not reconnected"
            missed = server.connections - 1 - connects["made"] - connects["reconnects"]
            assert 0 <= missed <= connections, f"{plan} found {connects}, the server {server.connections}"
            summary = load(server, *GREET, *plan).stdout
            assert "; reconnects: " in summary, f"the summary is {summary!r}"


def test_further_connections_of_rest_are_counted():
    with endpoint() as origin:
        for path, reconnects in (("/closing", 19), ("/keeping", 0)):
            done = run(own("coracle"), "load", origin + path, *GREET, "-n", "20", "-c", "1", "--json", "-")
            found, = json.loads(done.stdout)["runs"]
            assert (found["connects"]["made"], found["connects"]["reconnects"]) == (1, reconnects), f"the connections to {path}"
