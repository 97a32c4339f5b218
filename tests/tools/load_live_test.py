"""coracle load: what is written while a run lasts, series by method and status, the histogram, and comparisons."""

import json
import re

import pytest

from coracle_command import FAILURE, USAGE, coracle
from programs import own, run

CHECK_FAILED = 66
ADD = ("AddMovie", "-d", '{"title": "x"}')


def load(server, *words, code=0):
    return coracle("load", server.address, "-p", *words, code=code)


def test_a_line_of_json_for_each_second(movie_server, tmp_path):
    live = tmp_path / "live.jsonl"
    load(movie_server, *ADD, "--rate", "100", "--duration", "3s", "--live", live)
    lines = [json.loads(line) for line in live.read_text().splitlines()]
    assert [one["second"] for one in lines] == list(range(len(lines))) and len(lines) >= 2
    assert all(50 <= one["ok"] <= 150 and one["failed"] == 0 and one["run"] == "gRPC" for one in lines), lines
    assert all(one["latency_ms"]["p50"] <= one["latency_ms"]["max"] for one in lines)
    done = load(movie_server, *ADD, "--rate", "50", "--duration", "2s", "--live", "-")
    assert [json.loads(line)["run"] for line in done.stdout.splitlines()], "only lines of JSON go to stdout"


def test_metrics_for_prometheus(movie_server, tmp_path):
    metrics = tmp_path / "load.prom"
    load(movie_server, *ADD, "--rate", "100", "--duration", "3s", "--prometheus", metrics)
    text = metrics.read_text()
    for line in text.splitlines():
        assert re.fullmatch(r'# (HELP|TYPE) coracle_load_\w+ .+|coracle_load_\w+\{run="gRPC"(,\w+="[\w.]+")?\} [0-9.e+-]+', line), line
    calls = int(re.search(r'calls_total\{run="gRPC",result="ok"\} (\d+)', text)[1])
    assert 150 <= calls <= 300, "the counter grows"
    assert not (tmp_path / "load.prom.new").exists()


def test_a_file_that_cannot_be_written_is_reported_before_the_run(movie_server, tmp_path):
    for option in ("--live", "--prometheus"):
        done = load(movie_server, *ADD, "-n", "1", option, tmp_path / "missing/file", code=FAILURE)
        assert "cannot write" in done.stderr
    assert "used twice" in load(movie_server, *ADD, "-n", "1", "--live", "-", "--json", "-", code=USAGE).stderr


def test_seconds_have_methods_statuses_and_the_plan(movie_server):
    done = load(movie_server, "AddMovie=3", "ListMovies=1", "--rate", "100", "--duration", "2s", "--timeout", "10s", "--json", "-")
    run_ = json.loads(done.stdout)["runs"][0]
    first = run_["per_second"][0]
    assert first["planned"] == 100 and sum(one.get("planned", 0) for one in run_["per_second"]) == 200
    assert [one["method"] for one in first["methods"]] == ["/movie.MovieService/AddMovie", "/movie.MovieService/ListMovies"]
    for i in (0, 1):
        assert sum(one["methods"][i]["ok"] + one["methods"][i]["failed"] for one in run_["per_second"]) == run_["methods"][i]["calls"]
    assert sum(sum(one.get("statuses", {}).values()) for one in run_["per_second"]) == run_["failed"]


def test_failures_are_counted_by_status_in_each_second(movie_server):
    done = load(movie_server, "AddMovie", "-d", '{"title": ""}', "-n", "20", "--json", "-", code=FAILURE)
    run_ = json.loads(done.stdout)["runs"][0]
    total = {}
    for one in run_["per_second"]:
        for status, calls in one.get("statuses", {}).items():
            total[status] = total.get(status, 0) + calls
    assert total == {one["status"]: one["calls"] for one in run_["statuses"]} and sum(total.values()) == 20


def test_the_summary_has_a_histogram(movie_server):
    done = run(own("coracle"), "load", movie_server.address, "-p", *ADD, "-n", "2000", env={"LC_ALL": "C"})
    rows = re.findall(r"^  (?:histogram)? +to (\S+ \S+) +([\d,]+)(?:  (#+))?$", done.stdout, re.M)
    assert len(rows) == 10, done.stdout
    calls = [int(one[1].replace(",", "")) for one in rows]
    assert sum(calls) == 2000
    assert [len(bar) for _, _, bar in rows] == [-(-40 * count // max(calls)) for count in calls], "the bars"
    done = run(own("coracle"), "load", movie_server.address, "-p", *ADD, "-n", "2000", env={"LC_ALL": "C.UTF-8"})
    assert "\u2588" in done.stdout


@pytest.fixture(scope="module")
def results(movie_server, tmp_path_factory):
    """A result, and one that is slower by half in all its numbers."""
    folder = tmp_path_factory.mktemp("results")
    load(movie_server, *ADD, "-n", "200", "--json", folder / "a.json")
    slower = json.loads((folder / "a.json").read_text())
    one = slower["runs"][0]
    one["rate_per_s"] /= 2
    one["failed_share"] = 0.01
    for name in one["latency_ms"]:
        one["latency_ms"][name] *= 1.5
    (folder / "b.json").write_text(json.dumps(slower))
    return folder / "a.json", folder / "b.json"


def test_a_comparison_shows_what_changed(results):
    a, b = results
    same = coracle("load", "compare", a, a).stdout
    assert re.search(r"^  rate .* \+0\.0 %$", same, re.M) and "p99.9" in same
    text = coracle("load", "compare", a, b).stdout
    assert text.startswith("gRPC\n  both    /movie.MovieService/AddMovie by gRPC, 50 workers on 1 connection, 200 calls\n"), text
    assert re.search(r"^  rate .* -50\.0 %$", text, re.M), text
    assert re.search(r"^  p99 .* \+50\.0 %$", text, re.M), text
    assert re.search(r"^  errors +0 % +1 % +\+1 points$", text, re.M), text


@pytest.mark.parametrize("condition, fails", [
    ("p99>+10%", True), ("p99>+60%", False), ("rate<-5%", True), ("rate<-60%", False), ("errors>+0.5%", True), ("errors>+2%", False), ("max<-1%", False),
])
def test_a_comparison_fails_by_its_conditions(results, condition, fails):
    done = coracle("load", "compare", *results, "--fail-if", condition, code=CHECK_FAILED if fails else 0)
    assert (f"the comparison failed: gRPC: {condition}" in done.stderr) == fails


@pytest.mark.parametrize("condition", ["p99", "p99>", "p99>10", "p98>+10%", ">10%", "p99>ten%"])
def test_a_condition_that_is_no_condition_is_refused(results, condition):
    assert f"--fail-if '{condition}'" in coracle("load", "compare", *results, "--fail-if", condition, code=USAGE).stderr


@pytest.mark.parametrize("differs, more", [("methods", ("ListMovies",)), ("scenario", (*ADD, "-c", "4")), ("data", ("AddMovie", "-d", '{"title": "other"}')),
                                           ("scenario, protocol", (*ADD, "-c", "4", "--protocol", "connect"))])
def test_a_comparison_of_different_loads_warns_and_gives_no_verdict(results, movie_server, tmp_path, differs, more):
    a, b = results[0], tmp_path / "other.json"
    load(movie_server, *more, "-n", "200", "--json", b)
    if differs == "methods":  # the data is compared by itself
        other = json.loads(b.read_text())
        other["runs"][0]["data"] = json.loads(a.read_text())["runs"][0]["data"]
        b.write_text(json.dumps(other))
    done = coracle("load", "compare", a, b)
    assert re.fullmatch(rf"coracle: warning: gRPC: the runs differ in: {differs}\n", done.stderr), done.stderr
    if differs != "data":
        assert re.search(r"^  before  /movie.MovieService/AddMovie by gRPC, 50 workers.*\n  after   /movie", done.stdout, re.M), done.stdout
    never = ("--fail-if", "errors>+200%")
    refused = coracle("load", "compare", a, b, *never, code=FAILURE)
    assert "gives no verdict" in refused.stderr and "hint: --force compares" in refused.stderr, refused.stderr
    coracle("load", "compare", a, b, *never, "--force")


def test_large_changes_are_factors(results, tmp_path):
    quick, slow = (json.loads(results[0].read_text()) for _ in range(2))
    quick["runs"][0].update(rate_per_s=37850, bytes_received=200)
    slow["runs"][0].update(rate_per_s=16.1, bytes_received=200 * 1353088)
    for name, content in (("quick", quick), ("slow", slow)):
        (tmp_path / name).write_text(json.dumps(content))
    text = coracle("load", "compare", tmp_path / "quick", tmp_path / "slow").stdout
    assert re.search(r"^  rate +37,850/s +16\.1/s +/ 2,351$", text, re.M), text
    assert re.search(r"^  received/call +1 B +1,353,088 B +x 1,353,088$", text, re.M), text


def test_a_comparison_as_a_page(results, tmp_path):
    page = tmp_path / "compare.html"
    coracle("load", "compare", *results, "--report", page, "--fail-if", "p99>+10%", code=CHECK_FAILED)
    text = page.read_text()
    data = json.loads(re.search(r"<script>window\.comparison = (.*?);</script>", text, re.S)[1])
    assert [one["name"] for one in data["compared"]][:3] == ["rate", "errors", "min"]
    [condition] = data["conditions"]
    assert condition["expected"] == "p99>+10%" and not condition["met"] and condition["after"] == pytest.approx(1.5 * condition["before"])
    assert not re.search(r"<(?:link|img|iframe)\b|<script[^>]+src=|@import|url\(", text.split("<script>")[0]), "the page needs other files"


def test_what_is_no_result_is_refused(results, tmp_path):
    (tmp_path / "x.json").write_text("[]")
    (tmp_path / "y.json").write_text("{}")
    for name in ("x.json", "y.json"):
        assert "`coracle load --json`" in coracle("load", "compare", results[0], tmp_path / name, code=FAILURE).stderr
    (tmp_path / "z.json").write_text('{"runs": [{"name": "gRPC"}]}')
    for name, reason in (("y.json", 'it has no "runs"'), ("z.json", 'a run has no valid "methods"')):
        done = coracle("load", "compare", results[0], tmp_path / name, code=FAILURE)
        assert done.stderr == f"coracle: error: {tmp_path / name} was not written by `coracle load --json`: {reason}\n"
    assert "no_such" in coracle("load", "compare", results[0], tmp_path / "no_such", code=FAILURE).stderr
