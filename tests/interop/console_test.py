"""The console's page in headless Chromium, used by clicks and by typing: `coracle console`, and the page of with_console()."""

import contextlib
import http.client
import json
import os
import re
import ssl

import pytest

from console_program import Console
from driven_page import driven_page, label, named
from programs import BIN, MOVIE_PROTO, ROOT, Background, Server, own, run
from scripted_server import envelope, field, scripted_server

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
def started():
    """Starts a program that ends after the page of the test, which would complain of it."""
    with contextlib.ExitStack() as programs:
        yield programs.enter_context


@pytest.fixture
def page(browser, started):
    """Whatever a test does, the page runs no script of others, loads nothing of others and raises nothing."""
    yield browser
    assert browser.slips() == []
    assert len(browser.visited()) == 1, "the origins that the page has loaded something from"
    browser.open("about:blank")


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


def test_the_last_1000_messages_of_a_call_are_shown(page, started):
    server = started(Server(own("movie_server"), "--port=0"))
    movies = "".join(f'{{"title": "{number}"}}' for number in range(1, 1003))
    done = run(own("coracle"), "call", server.address, "-p", "AddMultipleMovies", data=movies)
    assert done.returncode == 0, done.stderr
    page.open(started(Console(server.address, "-p")).url)
    choose(page, "movie.MovieService/ListMovies")
    call(page, "{}")
    page.expect(STATUS, "1 sent, 1002 received")
    shown = messages(page, {"css": ".messages li"})
    assert len(shown) == 1000
    assert [shown[0]["title"], shown[-1]["title"]] == ["3", "1002"]


def test_messages_of_a_call_are_compressed(page, web_server):
    page.open(f"http://{web_server.address}/console")
    choose(page, "movie.MovieService/AddMovie")
    for compression, shown in (("gzip", 1), ("", 0)):
        page.choose(label("Compression"), compression)
        call(page, {"title": "x" * 2000})
        page.expect(STATUS, "OK")
        assert page.run("document.querySelector('.response').textContent.split('x-compressed').length - 1") == shown


def test_messages_of_a_client_stream_are_sent_one_by_one(page, console):
    page.open(console.url)
    choose(page, "movie.MovieService/AddMultipleMovies")
    page.fill(EDITOR, '{"title": "First"}')
    page.click(button("Start and send"))
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
    page.click(button("Start only"))
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


def add_certificate(page, name, chain, key):
    page.fill(label("Name", within=DIALOG), name)
    page.upload(label("Certificate or CA"), [str(chain)])
    page.upload(label("Private key"), [str(key)] if key else [])
    page.click(button("Add", within=DIALOG))
    page.expect({"css": "dialog.server details"}, f"The program has {name} now")


def test_a_folder_of_proto_files_defines_the_services(page, any_console, web_server, tmp_path):
    folder = tmp_path / "definitions"
    (folder / "parts").mkdir(parents=True)
    (folder / "service.proto").write_text(
        'syntax = "proto3"; package movie; import "parts/parts.proto";'
        "service MovieService { rpc AddMovie(parts.Title) returns (parts.Id); }")
    (folder / "parts/parts.proto").write_text(
        'syntax = "proto3"; package parts; message Title { string title = 2; } message Id { string movie_id = 1; }')
    (folder / "README.md").write_text("no definitions")
    page.open(any_console.url)
    fill_dialog(page, web_server.address, "plaintext")
    page.choose(label("Definitions"), "files")
    page.upload(label("or a folder"), str(folder))
    connect(page, web_server.address)
    add_movies(page, "By a folder")


def test_the_dialog_begins_with_the_options_of_the_command_line(page, started, certificates):
    flags = ("--cert", certificates.server, "--key", certificates.server_key, "--client-ca", certificates.ca)
    ours = ("--ca", certificates.ca, "--cert", certificates.client, "--key", certificates.client_key, "-H", "x-team: films",
            "--reflect-header", "x-why: reflection", "--timeout", "1500ms", "--compress", "gzip", "--authority", "localhost")
    server = started(Server(own("movie_server"), "--port=0", *flags))
    page.open(started(Console(f"localhost:{server.port}", *ours)).url)
    page.expect({"css": "#connection"}, f"localhost:{server.port} (TLS)")
    page.click(button("Server …"))
    for name, value in (("Address", f"localhost:{server.port}"), ("Security", "tls"), ("Metadata of every call", "x-team: films"),
                        ("Metadata of reflection", "x-why: reflection"), ("Deadline in ms", "1500"), ("Compression", "gzip")):
        assert page.value(label(name, within=DIALOG)) == value
    page.expect(DIALOG, "ca.pem (command line)")
    page.expect(DIALOG, "client.pem (command line)")
    page.expect(DIALOG, "--authority localhost")
    page.choose(label("Trusted CA"), "")
    page.click(button("Connect", within=DIALOG))
    page.expect({"css": "dialog.server[open] > form > .failure"}, "certificate")
    page.choose(label("Trusted CA"), " ")
    page.fill(label("Deadline in ms"), "")
    connect(page, f"localhost:{server.port} (TLS)")
    add_movies(page, "With the command line's files")
    assert page.value(label("Deadline ms")) == ""
    page.slips()  # status 502 of the try without the CA


def test_tls_with_own_ca_and_a_client_certificate(page, any_console, certificates):
    flags = ("--cert", certificates.server, "--key", certificates.server_key, "--client-ca", certificates.ca)
    with Server(own("movie_server"), "--port=0", *flags) as server:
        page.open(any_console.url)
        page.fill(label("Address", within=DIALOG), f"localhost:{server.port}")
        page.click({"css": "dialog.server summary"})
        for name, chain, key in (("our CA", certificates.ca, None), ("me", certificates.client, certificates.client_key)):
            add_certificate(page, name, chain, key)
        assert page.value(label("Trusted CA")) == "our CA"
        assert page.value(label("Client certificate")) == "me"
        connect(page, f"localhost:{server.port} (TLS)")
        add_movies(page, "Over TLS")
        about = ask(any_console, "about").body
        assert "our CA" in about and "PRIVATE" not in about and "BEGIN" not in about
        page.click(button("Server …"))
        page.click(button("Remove our CA"))
        page.expect({"css": "dialog.server details"}, "does not have our CA any more")
        assert page.value(label("Trusted CA")) == ""
        assert page.value(label("Client certificate")) == "me"
        page.click(button("Remove all"))
        page.expect({"css": "dialog.server details"}, "no certificates now")
        assert page.value(label("Client certificate")) == ""
        assert json.loads(ask(any_console, "about").body)["certificates"] == []


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


def test_characters_that_reorder_text_are_shown_as_escapes(page, web_server):
    page.open(f"http://{web_server.address}/console")
    choose(page, "movie.MovieService/AddMovie")
    call(page, {"title": "reordered \u2066a\u2069 \u202eb\u202c \u061c"})
    page.expect(STATUS, "OK")
    choose(page, "movie.MovieService/ListMovies")
    call(page, "{}")
    page.expect(RESPONSE, "reordered \\u2066a\\u2069 \\u202eb\\u202c \\u061c")


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


def save(page, name, collection="Saved calls"):
    page.click(button("Save …"))
    page.fill(label("Name", within=named("dialog", "Save the call")), name)
    page.choose(label("Collection"), collection)
    page.click(button("Save"))


def fill_name(page, dialog, name, confirm):
    page.fill(label("Name", within=named("dialog", dialog)), name)
    page.click(button(confirm, within=named("dialog", dialog)))


def shown_collections(page):
    return {name.split()[0]: calls.splitlines() for name, calls in zip(
        page.texts({"css": ".collection > summary"}),
        [page.run(f"[...document.querySelectorAll('.collection')[{i}].querySelectorAll('button.entry')].map((one) => one.firstChild.data).join('\\n')")
         for i in range(page.count({"css": ".collection"}))])}


def test_saved_calls_stand_in_collections(page, console, tmp_path):
    page.open(console.url)
    choose(page, "movie.MovieService/AddMovie")
    page.click(named("tab", "Saved"))
    page.click(button("New collection …"))
    fill_name(page, "New collection", "Smoke", "Create")
    page.fill(EDITOR, '{"title": "One"}')
    save(page, "one", "Smoke")
    save(page, "two", "Smoke")
    page.click(button("New collection …"))
    page.fill(label("Name", within=named("dialog", "New collection")), "Smoke")
    page.click(button("Create"))
    page.expect({"css": "dialog.ask .failure"}, "there is a collection Smoke")
    fill_name(page, "New collection", "Load", "Create")
    page.choose(label("Collection of one"), "Load")
    assert shown_collections(page) == {"Smoke": ["two"], "Load": ["one"]}
    page.click(button("Rename Load"))
    fill_name(page, "Rename the collection", "Stress", "Rename")
    page.reload()
    page.expect(named("main"), "Choose a method")
    page.click(named("tab", "Saved"))
    assert shown_collections(page) == {"Smoke": ["two"], "Stress": ["one"]}
    one_collection = page.saveDownload(button("Export Stress"))
    assert [call["name"] for call in json.loads(one_collection)["calls"]] == ["one"]
    page.click(button("Delete Stress"))
    page.click(button("Delete", within=named("dialog", "Delete Stress with its call?")))
    assert shown_collections(page) == {"Smoke": ["two"]}
    (tmp_path / "stress.json").write_text(one_collection)
    page.upload(label("File to import"), [str(tmp_path / "stress.json")])
    page.expect({"css": "#saved"}, "Stress")
    assert shown_collections(page) == {"Smoke": ["two"], "Stress": ["one"]}


def test_the_history_is_exported_and_becomes_saved_calls(page, console, tmp_path):
    page.open(console.url)
    choose(page, "movie.MovieService/AddMovie")
    page.click(button("Add metadata"))
    page.fill(label("Name of metadata"), "x-token")
    page.fill(label("Value of metadata"), "hush")
    call(page, {"title": "Past"})
    page.expect(STATUS, "OK")
    call(page, {"title": ""})
    page.expect(STATUS, "INVALID_ARGUMENT")
    page.click(named("tab", "History"))
    shown = page.texts({"css": "#history button.entry"})
    assert "INVALID_ARGUMENT" in shown[0] and "OK" in shown[1] and "Past" in shown[1]
    exported = page.saveDownload(button("Export"))
    assert "hush" not in exported
    assert [one["status"] for one in json.loads(exported)["calls"]] == ["INVALID_ARGUMENT", "OK"]
    page.check({"css": "#history .secrets input"}, True)
    assert "hush" in page.saveDownload(button("Export"))
    (tmp_path / "history.json").write_text(exported)
    page.click(named("tab", "Saved"))
    page.upload(label("File to import"), [str(tmp_path / "history.json")])
    page.expect({"css": "#saved"}, "Imported")
    assert shown_collections(page) == {"Imported": ["AddMovie", "AddMovie"]}


def test_a_history_has_100_calls(page, console):
    page.open(console.url)
    add_movies(page, "First")
    page.run("""localStorage.setItem("coracle-console-history", JSON.stringify([...Array(100)].map((_, i) =>
        ({ method: "/movie.MovieService/AddMovie", messages: [`{"title": "${i}"}`], metadata: [], status: "OK", at: i }))))""")
    page.reload()
    page.expect(named("main"), "Choose a method")
    add_movies(page, "The newest")
    page.click(named("tab", "History"))
    shown = page.texts({"css": "#history button.entry"})
    assert len(shown) == 100
    assert "The newest" in shown[0] and '"98"' in shown[99]


def test_saved_calls_leave_out_secrets_unless_asked(page, console, tmp_path):
    page.open(console.url)
    choose(page, "movie.MovieService/AddMovie")
    page.fill(EDITOR, '{"title": "Saved"}')
    page.click(button("Add metadata"))
    page.fill(label("Name of metadata"), "authorization")
    page.fill(label("Value of metadata"), "Bearer hush")
    save(page, "my call")
    page.click(named("tab", "Saved"))
    content = json.loads(page.saveDownload(button("Export all")))
    assert content["calls"][0]["name"] == "my call"
    assert content["calls"][0]["metadata"] == [["authorization", ""]]
    assert "hush" not in page.run("JSON.stringify(localStorage)")
    assert console.token not in json.dumps(content) + page.run("JSON.stringify(localStorage)")
    page.check({"css": "#saved .secrets input"}, True)
    with_secrets = page.saveDownload(button("Export all"))
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


def run_in_shell(line, folder="."):
    done = run("sh", "-c", f"cd {folder} && {line}", env={"PATH": f"{BIN}:{os.environ['PATH']}", "AUTHORIZATION": "Bearer hush", "TOWN": "Linz"})
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


def lines(page, folder="."):
    """Runs both lines, whose titles the server then has."""
    choose(page, "movie.MovieService/AddMovie")
    for name in ("Copy as coracle call", "Copy as curl"):
        page.fill(EDITOR, json.dumps({"title": name}))
        assert set(run_in_shell(copied(page, name), folder)) == {"movieId"}
        page.expect(REQUEST, name)
    choose(page, "movie.MovieService/ListMovies")
    call(page, "{}")
    page.expect(STATUS, "OK")
    assert [one["title"] for one in messages(page, RECEIVED)][-2:] == ["Copy as coracle call", "Copy as curl"]


@pytest.mark.parametrize("form", ["127.0.0.1:{}", "dns:///localhost:{}", "ipv4:127.0.0.1:{}", "passthrough:///127.0.0.1:{}", "http://127.0.0.1:{}"])
def test_lines_take_all_forms_of_addresses(page, started, web_server, form):
    flags = [] if form.startswith("http") else ["-p"]
    page.open(started(Console(form.format(web_server.port), *flags, "--proto", MOVIE_PROTO.name, "-I", MOVIE_PROTO.parent)).url)
    lines(page)


@pytest.mark.parametrize("form", ["unix:{}", "unix://{}"])
def test_lines_reach_a_unix_socket(page, started, tmp_path, form):
    started(Server(own("web_server"), f"--socket={tmp_path}/s"))
    page.open(started(Console(form.format(f"{tmp_path}/s"), "-p", "--proto", MOVIE_PROTO)).url)
    lines(page)


def test_lines_have_the_options_of_the_command_line(page, started, certificates):
    server = started(Server(own("web_server"), f"--cert={certificates.server}", f"--key={certificates.server_key}", f"--client-ca={certificates.ca}"))
    ours = ("--ca", certificates.ca, "--cert", certificates.client, "--key", certificates.client_key, "--server-name", "localhost", "--proto", MOVIE_PROTO,
            "-H", 'x-echo-text: it\'s ${TOWN} "quoted"', "-H", "authorization: ${AUTHORIZATION}", "--timeout", "9s", "--compress", "gzip",
            "--max-message-bytes", "64MiB", "--user-agent", "films")
    page.open(started(Console(f"127.0.0.1:{server.port}", *ours, env={"TOWN": "Linz", "AUTHORIZATION": "Bearer hush"})).url)
    choose(page, "movie.MovieService/AddMovie")
    assert page.value(label("Deadline ms")) == "9000"
    assert page.value(label("Compression", within=REQUEST)) == "gzip"
    page.expect({"css": ".general"}, "${AUTHORIZATION}")
    call(page, {"title": "x" * 2000})
    page.expect(STATUS, "OK")
    page.click({"css": ".response summary", "nth": 0})
    for text in ('it\'s Linz "quoted"', "x-compressed", "a client"):
        page.expect(RESPONSE, text)
    for name in ("Copy as coracle call", "Copy as curl"):
        line = copied(page, name)
        assert str(certificates.ca) in line and "${TOWN}" in line and "Linz" not in line
        page.expect(REQUEST, name)
    lines(page)


def test_a_line_names_the_files_that_were_chosen_in_the_page(page, started, certificates, tmp_path):
    folder = tmp_path / "protos"
    (folder / "deep").mkdir(parents=True)
    (folder / "movie.proto").write_text(MOVIE_PROTO.read_text())
    (folder / "deep/other.proto").write_text('syntax = "proto3"; package other;')
    for file in (certificates.ca, certificates.client, certificates.client_key):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    flags = (f"--cert={certificates.server}", f"--key={certificates.server_key}", f"--client-ca={certificates.ca}")
    server = started(Server(own("web_server"), *flags))
    page.open(started(Console()).url)
    page.fill(label("Address", within=DIALOG), f"https://localhost:{server.port}")
    page.click({"css": "dialog.server summary"})
    for name, chain, key in (("our CA", certificates.ca, None), ("me", certificates.client, certificates.client_key)):
        add_certificate(page, name, chain, key)
    page.choose(label("Definitions"), "files")
    page.upload(label("or a folder"), str(folder))
    connect(page, f"localhost:{server.port} (TLS)")
    choose(page, "movie.MovieService/AddMovie")
    line = copied(page, "Copy as coracle call")
    page.expect({"css": ".copied"}, "Run the line in the folder of ca.pem, client.pem, client.key, protos")
    assert "--ca ca.pem --cert client.pem --key client.key" in line and "-I protos --proto movie.proto" in line
    page.expect(REQUEST, "Copy as coracle call")
    lines(page, tmp_path)


@pytest.mark.parametrize(("message", "status"), [({"title": "Alien"}, "OK"), ({"title": ""}, "INVALID_ARGUMENT")])
def test_a_request_file_passes_with_coracle_test(page, console, tmp_path, message, status):
    page.open(console.url)
    choose(page, "movie.MovieService/AddMovie")
    page.fill(label("Deadline ms"), "9000")
    page.click(button("Add metadata"))
    page.fill(label("Name of metadata"), "authorization")
    page.fill(label("Value of metadata"), "Bearer hush")
    call(page, message)
    page.expect(STATUS, status)
    text = page.saveDownload(button("Request file"))
    assert text.startswith("CALL http://") and text.splitlines()[1:3] == ["--timeout 9s", "authorization: ${AUTHORIZATION}"], text
    assert f"EXPECT {status}" in text, text
    file = tmp_path / "add.grpc"
    file.write_text(text)
    done = run(own("coracle"), "test", file, env={"AUTHORIZATION": "Bearer hush"})
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout + done.stderr


def test_a_line_without_secrets_has_variables_in_their_place(page, started, web_server):
    page.open(started(Console(web_server.address, "-p", "--proto", MOVIE_PROTO, "-H", "authorization: Bearer hush")).url)
    choose(page, "movie.MovieService/AddMovie")
    page.expect({"css": ".general"}, "•••")
    for name in ("Copy as coracle call", "Copy as curl"):
        assert '"authorization: ${AUTHORIZATION}"' in copied(page, name)
        page.expect(REQUEST, name)
    lines(page)


# --- keys and themes


def test_everything_can_be_done_with_the_keyboard(page, console):
    page.open(console.url)
    page.expect(named("main"), "Choose a method")
    page.press("/")
    page.type("list")
    page.press("ArrowDown")
    page.press("Enter")
    page.expect(named("article", "/movie.MovieService/ListMovies"), "ListMovies")


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 1280), ("light", 390), ("dark", 390)])
def test_the_page_is_accessible(page, console, theme, width):
    page.open(console.url, {"theme": theme, "width": width})
    page.expect(named("main"), "Choose a method")
    assert page.faults() == []
    choose(page, "movie.MovieService/AddMovie")
    if width == 390:
        page.click(button("JSON"))
    call(page, {"title": "", "genres": ["WAR"], "stars": [{}]})
    page.expect(STATUS, "INVALID_ARGUMENT")
    assert page.faults() == []


# --- comments


def described(question):
    """What a server's reflection says of a file with a comment before its only method."""
    if question is None:
        return b""
    if question.startswith(field(7, "*")):
        return envelope(field(6, field(1, field(1, "known.Service"))))
    call = field(1, "Call") + field(2, ".known.Nothing") + field(3, ".known.Nothing")
    comment = field(1, bytes([6, 0, 2, 0])) + field(2, bytes([0, 0, 1])) + field(3, " Comes back at once.\n")
    file = (field(1, "known.proto") + field(2, "known") + field(4, field(1, "Nothing")) + field(6, field(1, "Service") + field(2, call)) +
            field(9, field(1, comment)) + field(12, "proto3"))
    return envelope(field(4, field(1, file)))


def test_comments_that_the_reflection_of_a_server_has_are_shown(page, started):
    server = started(scripted_server(described))
    page.open(started(Console(server.address, "-p")).url)
    page.expect({"css": "button.method small"}, "Comes back at once.")
    choose(page, "known.Service/Call")
    page.expect({"css": "header.method .comment"}, "Comes back at once.")


# --- what is in view

IN_VIEW = """(() => { const box = document.querySelector(%r).getBoundingClientRect();
                        return box.height > 0 && box.top >= 0 && box.bottom <= innerHeight && box.left >= 0 && box.right <= innerWidth; })()"""


def test_on_a_phone_the_tree_gives_way_to_the_method_and_the_answer(page, console):
    page.open(console.url, {"width": 390, "height": 844})
    page.expect(named("main"), "Choose a method")
    choose(page, "movie.MovieService/AddMovie")
    assert not page.run("document.getElementById('tree').checkVisibility()"), "the tree"
    assert page.run(IN_VIEW % ".request button.main") and page.run(IN_VIEW % ".form .field input")
    page.fill(label("title string", within=FORM), "Nosferatu")
    page.click(button("Call"))
    page.expect(STATUS, "OK")
    assert page.run(IN_VIEW % ".response .status") and page.run(IN_VIEW % ".messages li.received"), "the answer"
    page.click(button("JSON"))
    assert json.loads(page.value(EDITOR))["title"] == "Nosferatu"
    assert not page.run("document.querySelector('.form').checkVisibility()"), "the form and the editor share a place"
    page.click(button("Methods and calls"))
    choose(page, "movie.MovieService/ListMovies")
    assert page.run("document.documentElement.scrollWidth <= innerWidth")


def test_the_controls_of_a_stream_stand_in_one_row(page, console):
    rows = "new Set([...document.querySelectorAll('.request .bar .actions button')].filter((one) => one.checkVisibility()).map((one) => one.offsetTop)).size"
    for width in (1280, 390):
        page.open(console.url, {"width": width, "height": 844})
        choose(page, "movie.MovieService/WatchTogether")
        assert page.run(rows) == 1
        page.click(button("Start only"))
        page.expect(STATUS, "Running")
        assert page.run(rows) == 1 and page.run("document.activeElement.textContent") == "Send message", "the focus stays on a control"
        page.click(button("Cancel"))
        page.expect(STATUS, "CANCELLED")


def test_the_editor_grows_with_the_window(page, console):
    heights = []
    for height in (800, 1200):
        page.open(console.url, {"width": 1280, "height": height})
        choose(page, "movie.MovieService/AddMovie")
        heights.append(page.run("document.querySelector('.editor-text').clientHeight"))
    assert heights[1] >= heights[0] + 300, heights


def test_the_first_view_has_the_shortcuts_and_the_last_calls(page, console):
    page.open(console.url)
    add_movies(page, "Nosferatu")
    page.reload()
    page.expect(named("region", "Shortcuts"), "cancel the running call")
    page.click({"css": "#welcome .entry"})
    assert json.loads(page.value(EDITOR)) == {"title": "Nosferatu"}
    page.click(button("Shortcuts"))
    page.expect(named("dialog", "Shortcuts"), "find a method")


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


def test_a_protected_page_asks_for_a_password(page, started):
    url = f"http://{started(Server(own('web_server'), '--console=bWU6aHVzaA==')).address}/console"  # me:hush
    page.open(url, {"login": {"username": "me", "password": "wrong"}})
    assert "a name and a password are needed" in page.run("document.body.textContent")
    page.slips()  # status 401
    page.open(url, {"login": {"username": "me", "password": "hush"}})
    add_movies(page, "By those who may")


def test_calls_of_a_page_are_those_of_its_client(certificates):
    flags = (f"--cert={certificates.server}", f"--key={certificates.server_key}", f"--client-ca={certificates.ca}")

    def connection(chain, key):
        context = ssl.create_default_context(cafile=certificates.ca)
        context.load_cert_chain(chain, key)
        return http.client.HTTPSConnection("localhost", server.port, context=context, timeout=15)

    def post(to, action, body):
        to.request("POST", f"/console/api/{action}", json.dumps(body), {"content-type": "application/json"})
        return to.getresponse()

    with Server(own("web_server"), "--console=yes", *flags) as server:
        me = (certificates.client, certificates.client_key)
        events = post(connection(*me), "events", {})
        of = {"page": json.loads(events.readline().removeprefix(b"data: "))["page"]}
        start = {**of, "server": "1", "call": "a", "method": "/movie.MovieService/AddMovie", "json": '{"title": "Mine"}'}
        assert post(connection(*me), "connect", of).status == 200
        another = post(connection(certificates.server, certificates.server_key), "start", start)
        assert another.status == 400
        assert b"load it again" in another.read()
        assert post(connection(*me), "start", start).status == 200
        headers = next(line for line in events if b'"headers"' in line)
        assert ["x-client-identity", "a client"] in json.loads(headers.removeprefix(b"data: "))["metadata"]


def test_certificates_are_kept_up_to_a_limit(any_console):
    def add(name):
        return ask(any_console, "add-certificate", body=json.dumps({"name": name, "certificate": "-----BEGIN CERTIFICATE-----"}))

    for number in range(64):
        assert add(f"CA {number}").status == 200
    refused = add("one more")
    assert refused.status == 400
    assert "there are 64 certificates" in json.loads(refused.body)["error"]
    assert add("CA 1").status == 200
    assert ask(any_console, "remove-certificate", body='{"name": "CA 2"}').status == 200
    assert add("one more").status == 200


def test_the_page_of_a_server_takes_no_address(web_server):
    answer = ask(web_server, "", path="/console/api/about")
    assert json.loads(answer.body)["own"] is True
    assert ask(web_server, "", path="/console/api/add-certificate").status == 404
