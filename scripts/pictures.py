#!/usr/bin/env python3
"""pictures.py [NAME...]: takes the pictures of docs/figures that are PNG anew, all or those named. Asks for a release build.

load_report is a report of coracle load, mesh the summary of ./dev demo mesh, and the others are the console and the pages for
operators, as headless Chromium shows them.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/support"))
import console_program  # noqa: E402
from driven_page import driven_page, label, named  # noqa: E402
from programs import BIN, MOVIE_PROTO, Server, own  # noqa: E402

FIGURES = ROOT / "docs/figures"
LIMIT_S = 60

REPORT_WIDTH, REPORT_HEIGHT = 1180, 1012
MESH_HEIGHT = 760
# Two methods, a rate that rises and stays: something to see in each chart.
LOAD = ["AddMovie=3", "Health/Check=1", "-d", '{"title": "Part {{call}}"}', "-d", "{}",
        "--ramp", "0:4000:8s", "--stage", "4000:8s", "--bands", "500us,1ms"]

CONSOLE_WIDTH = 1280
EDITOR = label("Message as JSON")
STATUS = {"css": ".response .status"}
NOSFERATU = """{
  "title": "Nosferatu",
  "genres": [
    "HORROR"
  ],
  "directors": [
    {
      "firstName": "Friedrich",
      "lastName": "Murnau"
    }
  ],
  "yearOfProduction": 1922
}"""


def load_report(to):
    browser = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if not browser:
        sys.exit("pictures: there is no Chromium; scripts/packages.sh test installs it")
    with Server(own("movie_server"), "--port=0") as server, tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder, "report.html")
        subprocess.run([own("coracle"), "load", server.address, "-p", *LOAD, "--report", report.name], cwd=folder, check=True, timeout=LIMIT_S)
        subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={folder}/profile",
                        f"--window-size={REPORT_WIDTH},{REPORT_HEIGHT}", f"--screenshot={to}", report.as_uri()], check=True, timeout=LIMIT_S)


def choose(page, method):
    page.click({"css": f"button.method[data-path='/movie.MovieService/{method}']"})
    page.expect(named("article", f"/movie.MovieService/{method}"), method)


def add_movies(page, *messages):
    choose(page, "AddMovie")
    for message in messages:
        page.fill(EDITOR, message)
        page.click(named("button", "Call"))
        page.expect(STATUS, "OK")


def console(to):
    """A form, the same message as JSON, and the reply; the comments are those of the .proto file."""
    with (Server(own("movie_server"), "--port=0") as server,
          console_program.Console(server.address, "-p", "--proto", MOVIE_PROTO) as program, driven_page() as page):
        page.open(program.url, {"width": CONSOLE_WIDTH, "height": 860})
        add_movies(page, NOSFERATU)
        page.picture(str(to))


def console_stream(to):
    """Messages in both directions, in the dark theme."""
    with Server(own("movie_server"), "--port=0") as server, console_program.Console(server.address, "-p") as program, driven_page() as page:
        page.open(program.url, {"theme": "dark", "width": CONSOLE_WIDTH, "height": 800})
        add_movies(page, NOSFERATU, '{"title": "Metropolis", "genres": ["SCI_FI"], "yearOfProduction": 1927}')
        choose(page, "WatchTogether")
        page.click(named("button", "Start only"))
        for number, movie in ((1, "1"), (2, "2")):
            page.fill(EDITOR, f'{{\n  "movieId": "{movie}"\n}}')
            page.click(named("button", "Send message"))
            page.expect(STATUS, f"{number} sent, {number} received")
        page.picture(str(to))


def console_error(to):
    """An error with its details."""
    with Server(own("web_server"), "--console=yes") as server, driven_page() as page:
        page.open(f"http://{server.address}/console", {"width": CONSOLE_WIDTH, "height": 720})
        choose(page, "AddMovie")
        page.fill(EDITOR, '{\n  "title": "",\n  "genres": ["HORROR"]\n}')
        page.click(named("button", "Call"))
        page.expect(STATUS, "INVALID_ARGUMENT")
        page.picture(str(to))


def console_server(to):
    """The choice of a server."""
    with console_program.Console() as program, driven_page() as page:
        dialog = named("dialog", "Server")
        page.open(program.url, {"width": CONSOLE_WIDTH, "height": 1060})
        page.fill(label("Address", within=dialog), "localhost:50051")
        page.click({"css": "dialog.server summary"})
        page.click(label("Address", within=dialog))
        page.picture(str(to))


def pages(to):
    """The overview of a server's pages."""
    with Server(own("pages_server")) as server, driven_page() as page:
        page.open(f"http://{server.address}/pages/", {"width": CONSOLE_WIDTH, "height": 900})
        page.expect(named("table", "Methods"), "echo.Echo/Say")
        page.picture(str(to))


def mesh(to):
    """The top of the summary of ./dev demo mesh."""
    with tempfile.TemporaryDirectory() as folder, driven_page() as page:
        file = pathlib.Path(folder) / "mesh.html"
        subprocess.run([sys.executable, "-B", ROOT / "scripts/mesh", "--bin", BIN, "--page", file], check=True, stdout=subprocess.DEVNULL)
        page.open(file.as_uri(), {"width": REPORT_WIDTH, "height": MESH_HEIGHT})
        page.picture(str(to))


PICTURES = {one.__name__: one for one in (load_report, console, console_stream, console_error, console_server, pages, mesh)}


def main(names):
    for name in names or PICTURES:
        if name not in PICTURES:
            sys.exit(f"pictures: there is no picture {name}, but {', '.join(PICTURES)}")
        to = FIGURES / f"{name}.png"
        PICTURES[name](to)
        print(f"{to.relative_to(ROOT)}: {to.stat().st_size // 1024} KiB")


if __name__ == "__main__":
    main(sys.argv[1:])
