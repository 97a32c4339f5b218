"""./dev bench rest with five users: that each server does the work, and that the figures are those of its work."""

import pathlib
import sys

import pytest

from harness import rest, rest_servers
from programs import BIN

for module in ("flask", "grpc_tools", "gunicorn"):
    pytest.importorskip(module, reason="./dev peers installs it")

USERS, CALLS = 5, 10  # each
CALLS_IN_ALL = USERS * CALLS


def a_scenario():
    return {"five": rest.Scenario("five users", "--users", str(USERS), "--calls-per-user", str(CALLS))}


def tools(folder):
    return rest_servers.Tools(BIN, pathlib.Path(folder), sys.executable)


def test_every_server_keeps_what_it_answers(tmp_path):
    result = rest.compare(rest_servers.KINDS, a_scenario(), 1, tools(tmp_path))
    assert result["failures"] == [], "the failures"
    assert [one["server"] for one in result["runs"]] == [kind.name for kind in rest_servers.KINDS], "the servers"
    for one in result["runs"]:
        found = one["load"]
        assert (found["ok"], found["failed"], one["kept"]) == (CALLS_IN_ALL, 0, CALLS_IN_ALL), \
            f"{one['server']}: ok, failed and kept"
        assert found["connects"]["made"] == USERS, f"{one['server']}: the connections"
        assert one["us_per_call"] > 0 and one["generator_us_per_call"] > 0, f"{one['server']} took no time"
        # A call is two packets at least, whose headers are 40 bytes each.
        assert one["wire_bytes_per_call"] > one["message_bytes_per_call"] + 80, \
            f"{one['server']}: {one['wire_bytes_per_call']} bytes"
    table = rest.report(result)
    for kind in rest_servers.KINDS:
        assert f"| {kind.name} | {CALLS_IN_ALL} | 0 | " in table, f"{kind.name} is not in {table}"
    charts = dict(rest.charts(result))
    assert all(value for panels in charts.values() for panel in panels for of in panel["series"].values() for value in of), \
        f"a chart has no value: {charts}"


def test_a_server_that_does_not_start_is_told(tmp_path):
    result = rest.compare([rest_servers.Kind("nobody", "{python}", "-c", "raise SystemExit('no port')")], a_scenario(), 1, tools(tmp_path))
    assert result["runs"] == [], "the runs"
    assert result["failures"] == ["nobody does not start: no port"], "the failures"
    assert "- nobody does not start: no port" in rest.report(result), "the report does not say so"


def test_a_server_that_keeps_less_than_it_says_is_told(tmp_path):
    """Counts well, keeps nothing: each movie gets the first id."""
    forgetful = ("import flask_movies, shelf; flask_movies.shelf.add = lambda *_: 1; "
                 "from werkzeug.serving import make_server; server = make_server('127.0.0.1', 0, flask_movies.app, threaded=True); "
                 "print(f'listening on 127.0.0.1:{server.server_port}', flush=True); server.serve_forever()")
    program = f"import sys; sys.path.insert(0, '{rest_servers.SOURCES}'); {forgetful.replace('{', '{{').replace('}', '}}')}"
    result = rest.compare([rest_servers.Kind("forgetful", "{python}", "-c", program, rest=True)], a_scenario(), 1, tools(tmp_path))
    assert result["failures"] == [f"forgetful said that it kept {CALLS_IN_ALL} movies, and has -1"], "the failures"
