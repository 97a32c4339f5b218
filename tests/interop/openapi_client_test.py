"""A client that openapi-python-client has generated from a server's own document calls that server."""

import importlib
import subprocess
import sys
import urllib.request

import pytest

from web_server import web_server

pytest.importorskip("openapi_python_client", reason="./dev peers installs it")

PACKAGE = "generated_movies"


@pytest.fixture(scope="module")
def generated_client(tmp_path_factory):
    """A client of the generated package, and its functions by their names."""
    folder = tmp_path_factory.mktemp("client")
    (folder / "config.yaml").write_text("post_hooks: []\n")
    with web_server() as server:
        with urllib.request.urlopen(f"http://{server.address}/openapi.json", timeout=10) as document:
            (folder / "openapi.json").write_bytes(document.read())
        done = subprocess.run([sys.executable, "-m", "openapi_python_client", "generate", "--path", "openapi.json", "--meta", "none",
                               "--config", "config.yaml", "--output-path", PACKAGE],
                              cwd=folder, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr
        sys.path.insert(0, str(folder))
        try:
            yield importlib.import_module(PACKAGE).Client(base_url=f"http://{server.address}", headers={"accept": "application/json"})
        finally:
            sys.path.remove(str(folder))


def operation(name):
    return importlib.import_module(f"{PACKAGE}.api.movie_movie_service.movie_service_{name}")


def models():
    return importlib.import_module(f"{PACKAGE}.models")


def test_a_generated_client_posts_gets_and_reads_errors(generated_client):
    movie = models().MovieMovie(title="Alien", year_of_production=1979, genres=[models().MovieMovieGenre.SCI_FI])
    for n, form in enumerate(("add_movie", "add_movie_json"), 1):  # by a rule, and POST /movie.MovieService/AddMovie
        assert operation(form).sync(client=generated_client, body=movie).movie_id == str(n)
    listed = operation("list_movies").sync(client=generated_client, pause_ms=1)
    assert [(one.id, one.title, one.year_of_production, one.genres) for one in listed] == \
        [(n, "Alien", 1979, [models().MovieMovieGenre.SCI_FI]) for n in ("1", "2")]
    refused = operation("add_movie").sync_detailed(client=generated_client, body=models().MovieMovie())
    assert refused.status_code == 400
    assert (refused.parsed.code, refused.parsed.message) == (3, "a movie needs a title")
