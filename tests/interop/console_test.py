"""The console's page in headless Chromium, used by clicks and by typing: `coracle console`, and the page of with_console()."""

import http.client
import json
import os
import re

import pytest

from console_program import Console
from driven_page import driven_page, label, named
from programs import BIN, MOVIE_PROTO, ROOT, Background, Server, own, run

START_LIMIT_S = 20
EDITOR = label("Message as JSON")
FORM = named("group", "Message as a form")
RESPONSE = named("region", "Response")
REQUEST = named("region", "Request")
DIALOG = named("dialog", "Server")
SENT = {"css": ".messages li.sent"}
RECEIVED = {"css": ".messages li.received"}
STATUS = {"css": ".response .status"}
ERROR_DETAILS = ROOT / "proto/google/rpc/error_details.proto"
# More than any test waits.
LONG_PAUSE_MS = 600_000


def button(name, **more):
    return named("button", name, **more)


def method(path):
    return {"css": f"button.method[data-path='/{path}']"}


@pytest.fixture(scope="module")
def browser():
    with driven_page() as page:
        yield page


@pytest.fixture
def page(browser):
    """Whatever a test does, the page runs no script of others, loads nothing of others and raises nothing."""
    yield browser
    assert browser.slips() == []
    assert len(browser.visited()) == 1, "the origins that the page has loaded something from"


@pytest.fixture(scope="module")
def console(movie_server):
    with Console(movie_server.address, "-p") as program:
        yield program


@pytest.fixture(scope="module")
def web_server():
    """It has no reflection, and errors with details."""
    with Server(own("web_server"), "--console=yes") as server:
        yield server


@pytest.fixture(scope="module")
def any_console():
    with Console() as program:
        yield program


def choose(page, path):
    page.click(method(path))
    page.expect(named("article", f"/{path}"), path.rpartition("/")[2])


def call(page, message):
    page.fill(EDITOR, message if isinstance(message, str) else json.dumps(message))
    page.press("Control+Enter")


def messages(page, which):
    return [json.loads(text) for text in page.texts({"css": which["css"] + " pre"})]


def add_movies(page, *titles):
    choose(page, "movie.MovieService/AddMovie")
    for title in titles:
        call(page, {"title": title})
        page.expect(STATUS, "OK")


# --- the four kinds of call


def test_a_form_makes_the_message_of_a_unary_call(page, console):
    page.open(console.url)
    choose(page, "movie.MovieService/AddMovie")
    page.fill(label("title string", within=FORM), "Nosferatu")
    page.click(button("Add genres"))
    page.choose(label("genres 1"), "HORROR")
    page.click(button("Add directors"))
    page.fill(label("firstName string"), "Friedrich Wilhelm")
    page.fill(label("yearOfProduction int32"), "1922")
    message = {"id": "", "title": "Nosferatu", "yearOfProduction": 1922, "durationMinutes": 0, "genres": ["HORROR"],
               "directors": [{"firstName": "Friedrich Wilhelm"}]}
    assert json.loads(page.value(EDITOR)) == message
    page.click(button("Call"))
    page.expect(STATUS, "OK")
    assert messages(page, SENT) == [message]
    [reply] = messages(page, RECEIVED)
    assert set(reply) == {"movieId"}
    page.expect(STATUS, "1 sent, 1 received")


def test_the_form_shows_what_the_editor_has(page, console):
    page.open(console.url)
    choose(page, "movie.MovieService/AddMovie")
    page.fill(EDITOR, '{"title": "Metropolis", "genres": ["DRAMA", "SCI_FI"]}')
    assert page.value(label("title string", within=FORM)) == "Metropolis"
    assert page.value(label("genres 2")) == "SCI_FI"
    page.click(button("Remove genres 1"))
    assert json.loads(page.value(EDITOR)) == {"title": "Metropolis", "genres": ["SCI_FI"]}


def test_a_stream_of_replies_arrives_and_can_be_cancelled(page, console):
    page.open(console.url)
    add_movies(page, "One", "Two")
    choose(page, "movie.MovieService/ListMovies")
    call(page, "{}")
    page.expect(STATUS, "OK")
    assert [one["title"] for one in messages(page, RECEIVED)][-2:] == ["One", "Two"]
    call(page, {"pauseMs": LONG_PAUSE_MS})
    page.expect(STATUS, "Running")
    page.click(button("Cancel"))
    page.expect(STATUS, "CANCELLED")
    page.expect(STATUS, "1 sent, 0 received")


def test_a_deadline_ends_a_call(page, console):
    page.open(console.url)
    add_movies(page, "Late")
    choose(page, "movie.MovieService/ListMovies")
    page.fill(label("Deadline ms"), "50")
    call(page, {"pauseMs": LONG_PAUSE_MS})
    page.expect(STATUS, "DEADLINE_EXCEEDED")


def test_messages_of_a_client_stream_are_sent_one_by_one(page, console):
    page.open(console.url)
    choose(page, "movie.MovieService/AddMultipleMovies")
    page.fill(EDITOR, '{"title": "First"}')
    page.click(button("Start with this message"))
    page.expect(STATUS, "1 sent")
    for number, title in ((2, "Second"), (3, "Third")):
        call(page, {"title": title})
        page.expect(STATUS, f"{number} sent")
    assert page.count(RECEIVED) == 0
    page.click(button("End requests"))
    page.expect(STATUS, "OK")
    [reply] = messages(page, RECEIVED)
    assert len(reply["movieIds"]) == 3


def test_both_sides_of_a_stream_take_turns(page, web_server):
    page.open(f"http://{web_server.address}/console")
    choose(page, "movie.MovieService/WatchTogether")
    page.click(button("Start without a message"))
    page.expect(STATUS, "0 sent, 0 received")
    for number in (1, 2):
        page.fill(label("movieId string"), str(number))
        page.click(button("Send message"))
        page.expect(STATUS, f"{number} sent, {number} received")
    assert [one["movie"]["id"] for one in messages(page, RECEIVED)] == ["1", "2"]
    order = [text.split(" · ")[0] for text in page.texts({"css": ".messages .facts span"})]
    assert order == ["sent 1", "received 1", "sent 2", "received 2"]
    page.click(button("End requests"))
    page.expect(STATUS, "OK")


def test_calls_of_several_methods_run_at_the_same_time(page, web_server):
    page.open(f"http://{web_server.address}/console")
    choose(page, "movie.MovieService/WatchTogether")
    call(page, {"movieId": "7"})
    page.expect(STATUS, "1 received")
    choose(page, "movie.MovieService/AddMovie")
    call(page, {"title": "Meanwhile"})
    page.expect(STATUS, "OK")
    choose(page, "movie.MovieService/WatchTogether")
    page.expect(STATUS, "Running")
    page.click(button("End requests"))
    page.expect(STATUS, "OK")


# --- errors and metadata


def test_an_error_shows_its_details(page, web_server):
    page.open(f"http://{web_server.address}/console")
    choose(page, "movie.MovieService/AddMovie")
    call(page, {"title": ""})
    page.expect(STATUS, "INVALID_ARGUMENT")
    page.expect(RESPONSE, "a movie needs a title")
    page.expect(RESPONSE, "google.rpc.BadRequest")
    [shown] = page.texts({"css": "figure pre"})
    assert json.loads(shown) == {"fieldViolations": [{"field": "title", "description": "is empty"}]}


def test_metadata_goes_both_ways(page, web_server):
    page.open(f"http://{web_server.address}/console")
    choose(page, "movie.MovieService/AddMovie")
    for at, (name, value) in enumerate((("X-Echo-Text", "a text"), ("x-echo-bytes-bin", "AP8B"))):
        page.click(button("Add metadata"))
        page.fill(label("Name of metadata", nth=at), name)
        page.fill(label("Value of metadata", nth=at), value)
    call(page, {"title": "With metadata"})
    page.expect(STATUS, "OK")
    page.click({"css": ".response summary", "nth": 0})
    page.expect(RESPONSE, "x-echo-text")
    page.click({"css": ".response summary", "nth": 1})
    assert ["x-echo-bytes-bin\tAP8B"] == [row for row in page.texts({"css": ".response tr"}) if "bytes" in row]


def test_what_the_server_cannot_take_is_refused_before_the_call(page, console):
    page.open(console.url)
    choose(page, "movie.MovieService/AddMovie")
    page.fill(EDITOR, '{"titel": "x", "genres": ["NOIR"], "yearOfProduction": 99999999999}')
    wrong = page.texts({"css": ".problems li"})
    assert wrong == ["titel: movie.Movie has no such field: did you mean title?", 'genres[0]: movie.MovieGenre has no value "NOIR"',
                     "yearOfProduction: is not between -2147483648 and 2147483647 (int32)"]
    page.press("Control+Enter")
    page.expect({"css": ".request .failure"}, "year_of_production: 99999999999 is no int32")
    page.expect(STATUS, "The call was not made.")
    page.fill(EDITOR, "{")
    page.expect({"css": ".problems li"}, "not valid JSON")
    page.slips()  # Chromium logs the refusal, status 400, as an error


def test_the_editor_completes_names_and_values(page, console):
    page.open(console.url)
    choose(page, "movie.MovieService/AddMovie")
    page.fill(EDITOR, "")
    page.click(EDITOR)
    page.type('{"ti')
    page.expect(named("option"), "title")
    page.press("Tab")
    page.type('"Alien", "gen')
    page.press("Enter")
    page.press("Control+Space")
    page.type('"HO')
    page.press("Tab")
    assert json.loads(page.value(EDITOR) + "}") == {"title": "Alien", "genres": ["HORROR"]}


# --- servers


def fill_dialog(page, address, security):
    page.fill(label("Address", within=DIALOG), address)
    page.choose(label("Security", within=DIALOG), security)


def connect(page, host):
    page.click(button("Connect", within=DIALOG))
    page.expect({"css": "#connection"}, host)


def test_uploaded_proto_files_define_the_services(page, any_console, web_server):
    page.open(any_console.url)
    fill_dialog(page, web_server.address, "plaintext")
    page.click(button("Connect", within=DIALOG))
    page.expect({"css": "dialog.server[open] > form > .failure"}, "reflection")
    page.choose(label("Definitions"), "files")
    page.upload(label("Files"), [str(MOVIE_PROTO)])
    page.slips()  # status 502 of the first try
    connect(page, web_server.address)
    page.expect({"css": "#tree"}, "Unary. Adds a movie")
    add_movies(page, "By uploaded definitions")


def test_files_are_found_by_the_end_of_the_path_that_imports_them(page, any_console, web_server, tmp_path):
    (tmp_path / "service.proto").write_text(
        'syntax = "proto3"; package movie; import "deep/er/parts.proto";'
        "service MovieService { rpc AddMovie(parts.Title) returns (parts.Id); }")
    (tmp_path / "parts.proto").write_text(
        'syntax = "proto3"; package parts; message Title { string title = 2; } message Id { string movie_id = 1; }')
    page.open(any_console.url)
    fill_dialog(page, web_server.address, "plaintext")
    page.choose(label("Definitions"), "files")
    page.upload(label("Files"), [str(tmp_path / "service.proto"), str(tmp_path / "parts.proto")])
    connect(page, web_server.address)
    add_movies(page, "By imported definitions")


def test_a_descriptor_set_defines_the_services(page, any_console, web_server, tmp_path):
    done = run("protoc", f"-I{MOVIE_PROTO.parent}", "--include_imports", f"--descriptor_set_out={tmp_path / 'movie.pb'}", MOVIE_PROTO)
    assert done.returncode == 0, done.stderr
    page.open(any_console.url)
    fill_dialog(page, web_server.address, "plaintext")
    page.choose(label("Definitions"), "files")
    page.upload(label("Files"), [str(tmp_path / "movie.pb")])
    connect(page, web_server.address)
    add_movies(page, "By a descriptor set")


def test_wrong_proto_files_are_named(page, any_console, tmp_path):
    (tmp_path / "broken.proto").write_text('syntax = "proto3";\nmessage Broken { strin title = 1; }')
    page.open(any_console.url)
    fill_dialog(page, "127.0.0.1:1", "plaintext")
    page.choose(label("Definitions"), "files")
    page.upload(label("Files"), [str(tmp_path / "broken.proto")])
    page.click(button("Connect", within=DIALOG))
    page.expect({"css": "dialog.server[open] > form > .failure"}, "broken.proto")
    page.slips()  # status 400


def test_tls_with_own_ca_and_a_client_certificate(page, any_console, certificates):
    flags = ("--cert", certificates.server, "--key", certificates.server_key, "--client-ca", certificates.ca)
    with Server(own("movie_server"), "--port=0", *flags) as server:
        page.open(any_console.url)
        page.fill(label("Address", within=DIALOG), f"localhost:{server.port}")
        page.click({"css": "dialog.server summary"})
        for name, chain, key in (("our CA", certificates.ca, None), ("me", certificates.client, certificates.client_key)):
            page.fill(label("Name"), name)
            page.upload(label("Certificate or CA"), [str(chain)])
            page.upload(label("Private key"), [str(key)] if key else [])
            page.click(button("Add", within=DIALOG))
            page.expect({"css": "dialog.server details"}, f"The program has {name} now")
        assert page.value(label("Trusted CA")) == "our CA"
        assert page.value(label("Client certificate")) == "me"
        connect(page, f"localhost:{server.port} (TLS)")
        add_movies(page, "Over TLS")
        about = ask(any_console, "about").body
        assert "our CA" in about and "PRIVATE" not in about and "BEGIN" not in about
        page.click(button("Server …"))
        page.click(button("Forget all"))
        page.expect({"css": "dialog.server details"}, "no certificates now")
        assert page.value(label("Trusted CA")) == ""


def test_a_unix_socket(page, any_console, tmp_path):
    with Background(own("greeter_server"), f"unix:{tmp_path}/s") as server:
        server.wait_for(re.compile("listening"), START_LIMIT_S)
        page.open(any_console.url)
        fill_dialog(page, f"unix:{tmp_path}/s", "plaintext")
        page.choose(label("Definitions"), "files")
        page.upload(label("Files"), [str(ROOT / "examples/01_greeter/greeter.proto")])
        connect(page, f"unix:{tmp_path}/s")
        page.click({"css": "button.method"})
        call(page, {"name": "you"})
        page.expect(STATUS, "OK")


def test_text_of_a_server_is_not_html(page, any_console, web_server, tmp_path):
    attack = "<img src=x onerror='document.title=1'><script>document.title=2</script>"
    text = MOVIE_PROTO.read_text().replace("Unary. Adds a movie;", f"{attack} Adds a movie;").replace("MovieGenre genres", "string _img_src_x")
    (tmp_path / "attack.proto").write_text(text)
    page.open(any_console.url)
    fill_dialog(page, web_server.address, "plaintext")
    page.choose(label("Definitions"), "files")
    page.upload(label("Files"), [str(tmp_path / "attack.proto")])
    connect(page, web_server.address)
    page.expect({"css": "#tree"}, attack)
    choose(page, "movie.MovieService/AddMovie")
    call(page, {"title": attack})
    page.expect(STATUS, "OK")
    choose(page, "movie.MovieService/ListMovies")
    call(page, "{}")
    page.expect(RESPONSE, attack)
    assert page.run("document.title") == "Coracle console"
    assert page.run("document.querySelectorAll('main img, nav img, main script, nav script').length") == 0


# --- history, saved calls, lines for a shell


def test_calls_are_kept_and_shown_again(page, console):
    page.open(console.url)
    add_movies(page, "To remember")
    choose(page, "movie.MovieService/ListMovies")
    page.click(named("tab", "History"))
    page.click({"css": "#history button.entry", "nth": 0})
    assert json.loads(page.value(EDITOR)) == {"title": "To remember"}
    page.reload()
    page.expect(named("main"), "Choose a method")
    page.click(named("tab", "History"))
    page.click({"css": "#history button.entry", "nth": 0})
    assert json.loads(page.value(EDITOR)) == {"title": "To remember"}


def test_saved_calls_leave_out_secrets_unless_asked(page, console, tmp_path):
    page.open(console.url)
    choose(page, "movie.MovieService/AddMovie")
    page.fill(EDITOR, '{"title": "Saved"}')
    page.click(button("Add metadata"))
    page.fill(label("Name of metadata"), "authorization")
    page.fill(label("Value of metadata"), "Bearer hush")
    page.answer("my call")
    page.click(button("Save …"))
    page.click(named("tab", "Saved"))
    content = json.loads(page.saveDownload(button("Export")))
    assert content["calls"][0]["name"] == "my call"
    assert content["calls"][0]["metadata"] == [["authorization", ""]]
    assert "hush" not in page.run("JSON.stringify(localStorage)")
    assert console.token not in json.dumps(content) + page.run("JSON.stringify(localStorage)")
    page.check({"css": "#saved .secrets input"}, True)
    with_secrets = page.saveDownload(button("Export"))
    assert "Bearer hush" in with_secrets
    (tmp_path / "calls.json").write_text(with_secrets)
    page.open(console.url)  # without what the browser has kept
    page.click(named("tab", "Saved"))
    page.upload(label("File to import"), [str(tmp_path / "calls.json")])
    page.click({"css": "#saved button.entry"})
    assert json.loads(page.value(EDITOR)) == {"title": "Saved"}
    assert page.value(label("Value of metadata")) == "Bearer hush"


def copied(page, name):
    page.click(button(name))
    page.expect({"css": ".request .actions"}, "Copied")
    return page.run("navigator.clipboard.readText()")


def run_in_shell(line):
    done = run("sh", "-c", line, env={"PATH": f"{BIN}:{os.environ['PATH']}", "AUTHORIZATION": "Bearer hush"})
    assert done.returncode == 0, (line, done.stderr)
    return json.loads(done.stdout)


@pytest.mark.parametrize(("name", "of"), [("Copy as coracle call", "console"), ("Copy as curl", "web_server")])
def test_a_copied_line_makes_the_call_in_a_shell(page, request, name, of):
    program = request.getfixturevalue(of)
    page.open(program.url if of == "console" else f"http://{program.address}/console")
    title = "It's a 'quoted'  $HOME `title`"
    choose(page, "movie.MovieService/AddMovie")
    page.fill(EDITOR, json.dumps({"title": title}))
    page.fill(label("Deadline ms"), "9000")
    page.click(button("Add metadata"))
    page.fill(label("Name of metadata"), "authorization")
    page.fill(label("Value of metadata"), "Bearer hush")
    line = copied(page, name)
    assert "hush" not in line
    assert set(run_in_shell(line)) == {"movieId"}
    page.check({"css": ".request .secrets input"}, True)
    page.expect(REQUEST, name)
    assert "Bearer hush" in copied(page, name)
    choose(page, "movie.MovieService/ListMovies")
    call(page, "{}")
    page.expect(STATUS, "OK")
    assert [one["title"] for one in messages(page, RECEIVED)][-1] == title


# --- keys and themes


def test_everything_can_be_done_with_the_keyboard(page, console):
    page.open(console.url)
    page.expect(named("main"), "Choose a method")
    page.press("/")
    page.type("list")
    page.press("ArrowDown")
    page.press("Enter")
    page.expect(named("article", "/movie.MovieService/ListMovies"), "ListMovies")


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 1280), ("light", 390)])
def test_the_page_is_accessible(page, console, theme, width):
    page.open(console.url, {"theme": theme, "width": width})
    choose(page, "movie.MovieService/AddMovie")
    call(page, {"title": "", "genres": ["WAR"], "stars": [{}]})
    page.expect(STATUS, "INVALID_ARGUMENT")
    assert page.faults() == []


# --- who may use it


class Answer:
    def __init__(self, response):
        self.status, self.fields, self.body = response.status, response.headers, response.read().decode()


def ask(of, action, path=None, http_method="POST", body="{}", **fields):
    """The answer to a request that no browser makes; `fields` replace those of the page's own requests, None leaves one out."""
    host = of.host if isinstance(of, Console) else of.address
    sent = {"host": host, "content-type": "application/json"}
    if isinstance(of, Console):
        sent["coracle-console-token"] = of.token
    sent |= {name.replace("_", "-"): value for name, value in fields.items()}
    connection = http.client.HTTPConnection(host, timeout=15)
    try:
        connection.putrequest(http_method, path or f"/api/{action}", skip_host=True)
        for name, value in sent.items():
            if value is not None:
                connection.putheader(name, value)
        connection.putheader("content-length", str(len(body)))
        connection.endheaders(body.encode())
        return Answer(connection.getresponse())
    finally:
        connection.close()


def test_the_interface_needs_the_token(any_console):
    assert ask(any_console, "about").status == 200
    for token in (None, "", "0" * 32, any_console.token[:-1], any_console.token + "0"):
        for action in ("about", "events", "connect", "start", "send", "add-certificate"):
            answer = ask(any_console, action, coracle_console_token=token)
            assert answer.status == 403, (token, action)
            assert any_console.token not in answer.body


def test_the_token_is_taken_from_the_header_alone(any_console):
    path = f"/api/about?token={any_console.token}&coracle-console-token={any_console.token}"
    assert ask(any_console, "about", path=path, coracle_console_token=None).status == 403
    assert ask(any_console, "about", coracle_console_token=None, cookie=f"coracle-console-token={any_console.token}").status == 403


def test_the_token_leaves_the_address_bar(page, console):
    page.open(console.url)
    page.expect(named("main"), "Choose a method")
    assert page.address() == f"http://{console.host}/"


@pytest.mark.parametrize("fields", [
    {"host": "evil.example"}, {"host": "evil.example:80"}, {"origin": "http://evil.example"}, {"origin": "null"}, {"sec_fetch_site": "cross-site"}])
def test_pages_of_others_cannot_use_it(any_console, fields):
    status = 421 if "host" in fields else 403
    assert ask(any_console, "about", **fields).status == status
    assert ask(any_console, "", path="/", http_method="GET", **fields).status == status


@pytest.mark.parametrize("content_type", [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_forms_cannot_use_it(any_console, content_type):
    assert ask(any_console, "about", content_type=content_type).status == 415


def test_it_answers_post_alone_and_allows_no_other_origin(any_console):
    assert ask(any_console, "about", http_method="GET").status == 404
    assert ask(any_console, "about", http_method="PUT").status == 405
    answer = ask(any_console, "about", http_method="OPTIONS", origin="http://evil.example", access_control_request_method="POST")
    assert answer.status == 403
    for answer in (ask(any_console, "about"), ask(any_console, "about", origin=f"http://{any_console.host}")):
        assert answer.status == 200
        assert not [name for name in answer.fields if name.lower().startswith("access-control")]


@pytest.mark.parametrize("path", ["/", "/main.js", "/api/about"])
def test_browsers_are_told_to_be_strict(any_console, path):
    answer = ask(any_console, "", path=path, http_method="POST" if "api" in path else "GET")
    assert answer.status == 200
    policy = answer.fields["content-security-policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "unsafe" not in policy
    assert answer.fields["referrer-policy"] == "no-referrer"
    assert answer.fields["x-content-type-options"] == "nosniff"
    assert answer.fields["cache-control"] == "no-store"


@pytest.mark.parametrize(("action", "body", "status"), [
    ("about", "[", 200), ("connect", "[", 400), ("connect", "[]", 400), ("connect", "{}", 400), ("start", '{"page": 7}', 400),
    ("send", '{"page": "none"}', 400), ("add-certificate", '{"name": "x", "certificate": "no PEM"}', 400), ("no-such-action", "{}", 404)])
def test_wrong_requests_are_refused(any_console, action, body, status):
    answer = ask(any_console, action, body=body)
    assert answer.status == status
    assert status == 200 or json.loads(answer.body)["error"]


def test_the_page_of_a_server_takes_no_address(web_server):
    answer = ask(web_server, "", path="/console/api/about")
    assert json.loads(answer.body)["own"] is True
    assert ask(web_server, "", path="/console/api/add-certificate").status == 404
