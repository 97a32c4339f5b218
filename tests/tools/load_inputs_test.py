"""coracle load: rows of data files in requests, and options and scenarios from a configuration file."""

import json

import pytest

from coracle_command import FAILURE, USAGE, coracle
from programs import own, run

NOT_MET = 66


def loaded(server, *words, code=0):
    """The results of a load as JSON."""
    return json.loads(coracle("load", server.address, "-p", *words, "--json", "-", code=code).stdout)


def titles(server):
    return [json.loads(line).get("title", "") for line in coracle("call", server.address, "-p", "ListMovies", "--format", "json").stdout.splitlines()]


@pytest.fixture
def write(tmp_path):
    def to(name, text):
        (tmp_path / name).write_bytes(text.encode())
        return tmp_path / name
    return to


@pytest.mark.parametrize("name, text", [
    ("rows.csv", 'title,year\r\nAlien,1979\r\n"Crouching, ""Tiger""\nDragon",2000\r\n\r\nÄpfel,1\n'),
    ("bom.csv", '\ufefftitle,year\nAlien,1979\n"Crouching, ""Tiger""\nDragon",2000\nÄpfel,1'),
    ("rows.jsonl", '{"title": "Alien", "year": 1979}\n\n{"title": "Crouching, \\"Tiger\\"\\nDragon", "year": 2000}\n{"year": 1, "title": "Äpfel"}\n'),
])
def test_each_call_gets_a_row(movie_server, write, name, text):
    rows = write(name, text)
    before = len(titles(movie_server))
    request = '{"title": "{{title}} {{year}} #{{call}}"}'
    done = loaded(movie_server, "AddMovie", "-d", request, "--data-file", rows, "-n", "4", "-c", "1")
    assert done["runs"][0]["ok"] == 4
    assert titles(movie_server)[before:] == ["Alien 1979 #0", 'Crouching, "Tiger"\nDragon 2000 #1', "Äpfel 1 #2", "Alien 1979 #3"]


def test_random_rows_are_the_same_in_each_run(movie_server, write):
    rows = write("rows.csv", "title\n" + "".join(f"t{i}\n" for i in range(50)))
    seen = []
    for _ in range(2):
        before = len(titles(movie_server))
        loaded(movie_server, "AddMovie", "-d", '{"title": "{{title}}"}', "--data-file", rows, "--data-order", "random", "-n", "30", "-c", "1")
        seen.append(titles(movie_server)[before:])
    assert seen[0] == seen[1] and seen[0] != [f"t{i}" for i in range(30)] and len(set(seen[0])) > 10


@pytest.mark.parametrize("name, text, says", [
    ("a.csv", 'title,year\nAlien\n', "a.csv:2: the row has 1 fields, and the header 2"),
    ("a.csv", 'title\n"Alien\n', "a.csv:2: a quoted field has no closing quote"),
    ("a.csv", 'title\n"Alien" x\n', "a.csv:2: a closing quote must be followed by a comma or a line end"),
    ("a.csv", 'title\nAl"ien\n', "a.csv:2: a field with a quote must be in quotes"),
    ("a.csv", "title\n", "a.csv has no rows"),
    ("a.csv", "", "a.csv has no header row"),
    ("a.csv", "the title\nx\n", "the column name 'the title' must consist of letters"),
    ("a.csv", "call\nx\n", "the column name 'call'"),
    ("a.jsonl", '{"title": "x"}\n{"titel": "y"}\n', "a.jsonl:2: the object has no key 'title'"),
    ("a.jsonl", '{"title": "x"}\n{"title": "y", "more": 1}\n', "a.jsonl:2: the object has keys that the first one lacks"),
    ("a.jsonl", '{"title": "x"}\n[1]\n', "a.jsonl:2: the line is not a JSON object"),
])
def test_a_mistake_in_a_data_file_names_its_line(movie_server, write, name, text, says):
    rows = write(name, text)
    done = coracle("load", movie_server.address, "-p", "AddMovie", "-d", '{"title": "{{title}}"}', "--data-file", rows, "-n", "1", code=FAILURE)
    assert says in done.stderr, done.stderr


def test_an_unknown_column_names_the_known_ones(movie_server, write):
    rows = write("a.csv", "title,year\nx,1\n")
    done = coracle("load", movie_server.address, "-p", "AddMovie", "-d", '{"title": "{{titel}}"}', "--data-file", rows, "-n", "1", code=FAILURE)
    assert "{{titel}} is not a known placeholder; there are" in done.stderr and "{{title}}, {{year}}" in done.stderr
    assert "must end with .csv" in coracle("load", "a:1", "-p", "AddMovie", "-d", "{}", "--data-file", write("a.txt", "x"), "-n", "1", code=USAGE).stderr


def test_options_come_from_a_file_unless_the_command_line_has_them(movie_server, write, tmp_path):
    config = write("load.json", json.dumps({
        "address": movie_server.address, "plaintext": True, "count": 7, "concurrency": 2,
        "methods": [{"method": "AddMovie", "weight": 2, "data": {"title": "{{call}}"}}, "ListMovies"],
        "expect": ["errors<1"], "json": str(tmp_path / "out.json"), "headers": {"x-a": "b"}}))
    coracle("load", "--config", config)
    result = json.loads((tmp_path / "out.json").read_text())["runs"][0]
    assert result["calls"] == 7 and [m["weight"] for m in result["methods"]] == [2, 1]
    assert result["expectations"][0]["met"] is True
    assert loaded(movie_server, "--config", config, "-n", "3")["runs"][0]["calls"] == 3


def test_scenarios_run_one_after_the_other(movie_server, write, tmp_path):
    config = write("load.json", json.dumps({
        "address": movie_server.address, "plaintext": True, "methods": ["ListMovies"],
        "scenarios": [{"name": "few", "count": 5, "concurrency": 1},
                      {"name": "planned", "stage": ["50:200ms"], "methods": [{"method": "AddMovie", "data": '{"title": "s"}'}], "expect": ["errors<1"]},
                      {"name": "fails", "count": 2, "expect": ["p50>1h"]}]}))
    out = tmp_path / "out.json"
    done = coracle("load", "--config", config, "--json", out, "--report", tmp_path / "out.html", code=NOT_MET)
    runs = json.loads(out.read_text())["runs"]
    assert [(one["name"], one["calls"]) for one in runs] == [("few", 5), ("planned", 10), ("fails", 2)]
    assert runs[1]["methods"][0]["method"] == "/movie.MovieService/AddMovie"
    assert "p50>1h" in done.stderr
    for name in ("few", "planned", "fails"):
        assert f"{name} on " in done.stdout


@pytest.mark.parametrize("content, says", [
    ('{"rat": 5}', "there is no option 'rat'; did you mean 'rate'"),
    ('{"rate": {"a": 1}}', "rate must be a string, a number, true or false"),
    ('{"concurrency": "many"}', "concurrency: "),
    ('{"rate": 5, "concurrency": 3}', "exclude each other"),
    ('{"methods": "x"}', "methods must be an array"),
    ('{"methods": [{"method": "x", "wieght": 1}]}', "methods have no key 'wieght'; did you mean 'weight'?"),
    ('{"scenarios": [{}]}', "must be an object with a name"),
    ('[]', "it must be a JSON object"),
    ('{', "it must be a JSON object"),
])
def test_a_mistake_in_the_file_is_an_error_that_names_it(write, content, says):
    config = write("load.json", content)
    done = coracle("load", "--config", config, code=USAGE)
    assert says in done.stderr and str(config) in done.stderr, done.stderr


def test_address_and_method_are_required_somewhere():
    assert "ADDRESS is required" in coracle("load", code=USAGE).stderr
    done = run(own("coracle"), "load", "127.0.0.1:1", "-p")
    assert "METHOD is required" in done.stderr and done.returncode == USAGE
