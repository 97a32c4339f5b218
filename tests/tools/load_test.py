"""coracle load against our greeter and movie servers: counts that add up, plans that are kept, results in every form."""

import csv
import io
import json
import os
import re
import signal
import subprocess
import time

import pytest

from rest_endpoint import Endpoint, endpoint
from load_command import FAILURE, GREET, GREET_NOBODY, NOT_MET, USAGE, adds_up, load, measured
from programs import STOP_LIMIT_S, Server, own, run

STALL_S = 0.6


@pytest.fixture(scope="module")
def server(greeter_server):
    return greeter_server


@pytest.fixture(scope="module")
def movies(movie_server):
    assert run(own("coracle"), "call", movie_server.address, "-p", "AddMovie", "-d", '{"title": "Alien"}').returncode == 0
    return movie_server


def test_a_count_is_exact(server):
    for words in (("-c", "1"), ("-c", "7", "--connections", "3"), ("-c", "9", "--connections", "4", "--loops", "2")):
        found = measured(server, *GREET, "--count", "501", *words)
        adds_up(found, 501)
        assert found["failed"] == 0, "the failed calls"
        assert found["connects"]["made"] == (int(words[3]) if len(words) > 2 else 1), "the connections"


def test_a_time_ends_and_the_warm_up_does_not_count(server):
    before = time.monotonic()
    found = measured(server, *GREET, "-c", "2", "--duration", "300ms", "--warm-up", "200ms")
    assert time.monotonic() - before >= 0.5, "it ended before its time"
    assert found["seconds"] >= 0.29, f"the calls took {found['seconds']} s"
    assert found["ok"] > 0, "no call was made"
    adds_up(found, found["calls"])
    before = time.monotonic()
    found = measured(server, *GREET, "-c", "2", "--count", "50", "--warm-up", "100ms")
    assert time.monotonic() - before >= 0.1, "there was no warm-up"
    adds_up(found, 50)


def test_an_open_loop_keeps_its_plan(server):
    for words, calls in ((("--rate", "500", "--duration", "400ms"), 200), (("--rate", "250", "--count", "100"), 100),
                         (("--ramp", "0:200:500ms", "--stage", "200:500ms", "--loops", "2"), 150)):
        found = measured(server, *GREET, *words)
        assert found["planned"] == calls, f"what {words} plans"
        adds_up(found, calls)


def test_users_bring_their_own_connections(server):
    found = measured(server, *GREET, "--users", "30", "--calls-per-user", "4", "--ramp-up", "200ms", "--loops", "2")
    adds_up(found, 120)
    assert found["connects"]["made"] == 30, "the connections"
    assert found["seconds"] >= 0.2 * 29 / 30, f"the last user has come and gone within {found['seconds']} s"
    active = [one["active"] for one in found["per_second"]]
    assert all(0 <= one <= 30 for one in active) and max(active) > 0, f"there were {active} active users"


def stalled(server, stopped, words):
    """A run during which the process that `stopped` picks stands still for a while: how many calls it showed up in."""
    command = [own("coracle"), "load", server.address, "-p", *GREET, *words, "--bands", "200ms", "--json", "-", "--progress"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as going:
        going.stderr.readline()  # its first second is over
        who = stopped(server, going).pid
        os.kill(who, signal.SIGSTOP)
        time.sleep(STALL_S)  # the stall itself
        os.kill(who, signal.SIGCONT)
        text, _ = going.communicate(timeout=60)
    found = json.loads(text)["runs"][0]
    return found, found["bands"][1]["calls"]


def test_a_stall_counts_against_every_call_that_was_planned(server):
    """100 calls a second: those of the first 0.4 s of the stall are late by 0.2 s and more, whoever has stalled."""
    for stopped in (lambda ours, _: ours.process, lambda _, going: going):
        found, late = stalled(server, stopped, ("--rate", "100", "--duration", "3s"))
        adds_up(found, 300)
        assert late >= 100 * (STALL_S - 0.2) - 5, f"{late} calls were late"
        assert found["latency_ms"]["max"] >= 1000 * (STALL_S - 0.05), f"the latest was so by {found['latency_ms']['max']} ms"


def test_failures_are_counted_by_status(server):
    found = measured(server, *GREET_NOBODY, "-n", "40", code=FAILURE)
    adds_up(found, 40)
    assert found["statuses"] == [{"status": "INVALID_ARGUMENT", "calls": 40, "first": "name must not be empty"}], "the statuses"
    assert found["latency_ms"] is None, "the latency of no call"


def test_expectations_set_the_exit_code(server):
    many = (*GREET, "-n", "50")
    load(server, *many, "--expect", "p99<1h", "--expect", "errors<=0%", "--expect", "rate > 0", "--expect", "p99.9<1m")
    done = load(server, *many, "--expect", "max<0.001us", "--expect", "errors<1", code=NOT_MET)
    assert "threshold max<0.001us failed (actual " in done.stderr and "FAILED     max<0.001us (actual " in done.stdout, f"it says {done.stderr!r}"
    assert "errors<1" not in done.stderr, "a met expectation is told as missed"
    load(server, *GREET_NOBODY, "-n", "5", "--expect", "errors<100%", code=NOT_MET)
    load(server, *GREET_NOBODY, "-n", "5", "--expect", "p50<1h", code=NOT_MET)


def test_requests_of_bytes_need_no_definitions(server, tmp_path):
    file = tmp_path / "request"
    file.write_bytes(b"\n\x03Ada")
    found = measured(server, "helloworld.Greeter/SayHello", "--raw", file, "-n", "20")
    adds_up(found, 20)
    assert (found["bytes_sent"], found["bytes_received"]) == (20 * 5, 20 * len("\n\x0aHello, Ada")), "the bytes"


@pytest.mark.parametrize("plan", [("-n", "500"), ("--rate", "400", "--duration", "1300ms"), ("--users", "20", "--calls-per-user", "5"),
                                  ("-n", "500", "--warm-up", "300ms", "--loops", "2")])
def test_bytes_on_the_wire_have_all_framing(server, plan):
    found = measured(server, *GREET, *plan)
    calls = found["calls"]
    for way in ("sent", "received"):
        on_wire, each = found[f"wire_bytes_{way}"], found["per_call"][f"wire_bytes_{way}"]
        assert each == pytest.approx(on_wire / calls) and found["per_call"][f"bytes_{way}"] == found[f"bytes_{way}"] / calls
        assert sum(one[f"wire_bytes_{way}"] for one in found["per_second"]) == on_wire, "the seconds do not add up"
        # A call has a frame of headers and one of DATA with a prefix: 9 + 9 + 5 bytes, and a field at least.
        assert found[f"bytes_{way}"] / calls + 24 <= each < 400, f"{each} bytes {way} for a call"


def test_bytes_of_rest_include_the_head(server):
    with endpoint() as origin:
        gRPC, rest = json.loads(load(server, *GREET, "-n", "50", "--rest", f"{origin}/keeping", "--json", "-").stdout)["runs"]
    assert rest["per_call"]["wire_bytes_sent"] > rest["per_call"]["bytes_sent"] + 80, "the request's head"
    assert rest["per_call"]["wire_bytes_sent"] > gRPC["per_call"]["wire_bytes_sent"]


def test_the_rows_of_seconds_add_up(server):
    text = load(server, *GREET, "-n", "300", "--csv", "-").stdout
    rows = list(csv.DictReader(io.StringIO(text)))
    assert all(float(row["wire_bytes_sent_per_call"]) == pytest.approx(int(row["wire_bytes_sent"]) / int(row["calls"]), rel=1e-3)
               for row in rows if int(row["calls"]))
    assert sum(int(row["calls"]) for row in rows) == 300, "the calls of all rows"
    assert [int(row["second"]) for row in rows] == list(range(len(rows))), "the seconds"
    assert all(float(row["p50_ms"]) <= float(row["max_ms"]) for row in rows), "a median is above its maximum"


def test_the_report_is_one_page_with_data_for_each_chart(server, tmp_path):
    file = tmp_path / "report.html"
    load(server, *GREET, "-n", "200", "--report", file, "--expect", "p50<1h")
    page = file.read_text()
    assert not re.search(r"<(?:link|img|iframe)\b|<script[^>]+src=|@import|url\(", page.split("<script>")[0]), \
        "the page needs other files"
    assert re.findall(r"<canvas id=\"([a-z-]+)\"", page) == [f"{name}-chart" for name in ("rate", "latency", "bands", "histogram", "percentiles", "failures", "methods", "methods-latency")], \
        "the charts"
    data = json.loads(re.search(r"<script>window\.report = (.*?);</script>", page, re.S)[1])
    adds_up(data["runs"][0], 200)
    assert "Chart.js v" in page, "Chart.js is not in it"
    assert page.count("</script>") == 4, "the number of scripts"


def test_an_interrupted_run_tells_what_it_has(server):
    command = [own("coracle"), "load", server.address, "-p", *GREET, "--rate", "50", "--duration", "1h", "--json", "-", "--progress"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as going:
        line = going.stderr.readline()
        assert re.fullmatch(r"second=0 calls=\d+ mean_us=\d+ max_us=\d+ min_us=\d+ errors=0 active=\d+ p50_us=\d+ p99_us=\d+\n", line), \
            f"its line is {line!r}"
        going.send_signal(signal.SIGINT)
        text, _ = going.communicate(timeout=STOP_LIMIT_S)
        assert going.returncode == 0, "the exit code"
    found = json.loads(text)["runs"][0]
    assert found["interrupted"] and found["ok"] > 0, "it has no calls"
    adds_up(found, found["calls"])


def test_the_summary_is_for_people(server):
    done = load(server, *GREET, "-n", "100", "--expect", "errors<1")
    for text in ("50 workers on 1 connection, 100 calls", "p99.9", "met        errors<1 (actual 0)", " µs"):
        assert text in done.stdout, f"{text!r} is not in {done.stdout!r}"
    assert "bands" not in done.stdout and not re.search(r"\bus\b", done.stdout), f"it says {done.stdout!r}"
    load(server, *GREET, "-n", "100", "--bands", "1µs,1us,1h", code=USAGE)  # two spellings of one time
    assert done.stderr == "", "what it says where stderr is no terminal"


def test_mistakes_are_told(server):
    for words, code, text in (
            (("--users", "3", "--rate", "5"), USAGE, "--users"), (("--rate", "5", "-c", "3"), USAGE, "--concurrency"),
            (("--loops", "3", "--connections", "2"), USAGE, "--connections is less than --loops"),
            (("-c", "1", "--connections", "2"), USAGE, "--concurrency is less than --connections"), (("--stage", "fast"), USAGE, "RATE:TIME"),
            (("--stage", "0:1s"), USAGE, "the plan has no call"), (("--expect", "p99"), USAGE, "p99<20ms"),
            (("--expect", "p101<1s"), USAGE, "p100"), (("--expect", "speed>1"), USAGE, "not a measured value"),
            (("--bands", "5ms,1ms"), USAGE, "must increase"), (("--report", "/no/such/folder/x.html"), FAILURE, "cannot be written"),
            (("--duration", "5"), USAGE, "such as 5s"), (("-d", "{}", "SayHello=0"), USAGE, "from 1 to 1000")):
        done = load(server, *GREET, *words, code=code)
        assert done.stdout == "", f"what {words} prints"
        assert text in done.stderr, f"{text!r} is not in {done.stderr!r}"
    done = run(own("coracle"), "load", "127.0.0.1:1", "-p", "a.B/C", "--raw", "/dev/null", "-n", "1")
    assert done.returncode == FAILURE, "the exit code"
    assert "cannot be reached: UNAVAILABLE" in done.stderr and "is a server running there" in done.stderr, f"it says {done.stderr!r}"


def test_methods_share_the_calls_by_weight(movies):
    found = measured(movies, "AddMovie=3", "WatchTogether=1", "-d", '{"title": "Heat"}', "-d", '{"movieId": "1"}', "-n", "400", "--messages",
                     "5", "-c", "10")
    adds_up(found, 400)
    assert [(m["method"], m["calls"]) for m in found["methods"]] == [("/movie.MovieService/AddMovie", 300), ("/movie.MovieService/WatchTogether", 100)], \
        "the shares"
    assert (found["messages_sent"], found["messages_received"]) == (800, 800), "the messages"


def test_streams_of_both_sides_are_driven(movies):
    found = measured(movies, "AddMultipleMovies", "-d", '{"title": "a"} {"title": "b"}', "--messages", "7", "-n", "10")
    adds_up(found, 10)
    assert (found["messages_sent"], found["messages_received"]) == (70, 10), "the messages"
    found = measured(movies, "ListMovies", "-n", "3", "-c", "1")
    adds_up(found, 3)
    assert found["messages_received"] >= 3 * 70, f"{found['messages_received']} came"


def test_templates_number_the_requests():
    with Server(own("movie_server"), "--port=0") as movies:
        measured(movies, "AddMovie", "-d", '{"title": "Part {{call}}", "yearOfProduction": {{random}}}', "-n", "25", "-c", "4")
        shelf = run(own("coracle"), "call", movies.address, "-p", "ListMovies").stdout.splitlines()
    movies_there = [json.loads(line) for line in shelf]
    assert {f"Part {n}" for n in range(25)} <= {one["title"] for one in movies_there}, f"the shelf has {movies_there}"
    assert len({one["yearOfProduction"] for one in movies_there if one["title"].startswith("Part")}) > 20, \
        "the years are no random numbers"


def test_both_protocols_stand_in_one_report(server):
    with endpoint() as origin:
        for path in ("/keeping", "/closing"):
            url = origin + path
            for words, calls in ((("-n", "60", "-c", "4"), 60), (("--users", "12", "--calls-per-user", "2"), 24)):
                Endpoint.asked = 0
                grpc, rest = json.loads(load(server, *GREET, *words, "--rest", url, "--json", "-").stdout)["runs"]
                assert (grpc["name"], rest["name"], rest["target"]) == ("gRPC", "REST", url), "the names of the runs"
                adds_up(grpc, calls)
                adds_up(rest, calls)
                assert (rest["failed"], Endpoint.asked) == (0, calls), "failed and asked"
        rest = json.loads(load(server, *GREET_NOBODY, "-n", "5", "--rest", url, "--json", "-", code=FAILURE).stdout)["runs"][1]
        assert rest["statuses"] == [{"status": "INTERNAL", "calls": 5, "first": "the server answered with HTTP status 400"}], "the statuses"
    done = load(server, *GREET, "-n", "5", "--rest", "http://127.0.0.1:1/", code=FAILURE)
    assert "http://127.0.0.1:1/ cannot be reached" in done.stderr, f"it says {done.stderr!r}"
    load(server, *GREET, "-n", "5", "--rest", "https://127.0.0.1/", code=USAGE)


def test_the_query_of_the_url_is_sent(server):
    with endpoint() as origin:
        load(server, *GREET, "-n", "5", "--rest", f"{origin}/keyed?key=7%2F8")
        load(server, *GREET, "-n", "5", "--rest", f"{origin}/keyed?key=7", code=FAILURE)
        for url, text in ((f"{origin}/keyed?key=<7>", "has to be escaped"), (f"{origin}/keyed#top", "without a fragment")):
            assert text in load(server, *GREET, "-n", "5", "--rest", url, code=USAGE).stderr, url


def test_rest_may_be_called_alone():
    with endpoint() as origin:
        url, Endpoint.asked = f"{origin}/keeping", 0
        done = run(own("coracle"), "load", url, *GREET, "--users", "6", "--calls-per-user", "3", "--expect", "errors<1", "--json", "-")
        assert done.returncode == 0, f"the exit code ({done.stderr})"
        found, = json.loads(done.stdout)["runs"]
        assert (found["name"], found["target"], found["failed"], Endpoint.asked) == ("REST", url, 0, 18), "what was called"
        adds_up(found, 18)
        assert [one["met"] for one in found["expectations"]] == [True], "the verdicts"
    for words, text in (((url, "SayHello", "-d", "{}"), "--proto"), ((url, *GREET, "--rest", url), "REST alone")):
        done = run(own("coracle"), "load", *words)
        assert done.returncode == USAGE, f"the exit code of {words}"
        assert text in done.stderr, f"it says {done.stderr!r}"
