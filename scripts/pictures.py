#!/usr/bin/env python3
"""Takes the pictures of docs/figures anew, in headless Chromium: load_report.png, a report of coracle load, and console.png and
console_dark.png, the page of coracle console. Asks for a release build."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "tests/support"))

from driven_page import driven_page, label, named  # noqa: E402

BIN = ROOT / "build/release/bin"
FIGURES = ROOT / "docs/figures"
REPORT_SIZE = 1180, 1012
CONSOLE_SIZE = 1360, 800
# Two methods, a rate that rises and stays: something to see in each chart.
LOAD = ["AddMovie=3", "Health/Check=1", "-d", '{"title": "Part {{call}}"}', "-d", "{}",
        "--ramp", "0:4000:8s", "--stage", "4000:8s", "--bands", "500us,1ms"]
LIMIT_S = 60


class Server:
    """A program that says where it listens."""

    def __init__(self, *command):
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.address = re.search(r"(?:listening on|console is at) (\S+)", self.process.stdout.readline())[1]

    def __enter__(self):
        return self.address

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


def take_report(browser):
    with Server(BIN / "movie_server", "--port=0") as address, tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder, "report.html")
        subprocess.run([BIN / "coracle", "load", address, "-p", *LOAD, "--report", report.name], cwd=folder, check=True, timeout=LIMIT_S)
        subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={folder}/profile",
                        "--window-size={},{}".format(*REPORT_SIZE), f"--screenshot={FIGURES / 'load_report.png'}", report.as_uri()],
                       check=True, timeout=LIMIT_S)


def take_console():
    """The definitions are files, which have comments."""
    width, height = CONSOLE_SIZE
    status, editor = {"css": ".response .status"}, label("Message as JSON")
    protos = ROOT / "examples/02_movie"
    with Server(BIN / "movie_server", "--port=0") as address, \
            Server(BIN / "coracle", "console", address, "-p", "--port", "0", "-I", protos, "--proto", "movie.proto") as url, driven_page() as page:

        def call(method, *messages):
            page.click({"css": f"[data-path='/movie.MovieService/{method}']"})
            for message in messages:
                page.fill(editor, message)
                page.click(named("button", "Indent"))
                page.press("Control+Enter")

        page.open(url, {"theme": "light", "width": width, "height": height})
        call("AddMovie", '{"title": "", "genres": ["HORROR"], "directors": [{"firstName": "Friedrich Wilhelm", "lastName": "Murnau"}]}')
        page.expect(status, "INVALID_ARGUMENT")
        page.fill(label("title string"), "Nosferatu")
        page.fill(label("yearOfProduction int32"), "1922")
        page.press("Control+Enter")
        page.expect(status, "OK")
        page.picture(str(FIGURES / "console.png"))
        page.open(url, {"theme": "dark", "width": width, "height": height})
        call("WatchTogether", '{"movieId": "1"}')
        page.expect(status, "1 received")
        page.press("Control+Enter")
        page.expect(status, "2 received")
        page.picture(str(FIGURES / "console_dark.png"))


def main():
    browser = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if not browser:
        sys.exit("pictures: there is no Chromium; scripts/packages.sh test installs it")
    take_report(browser)
    take_console()
    for picture in ("load_report.png", "console.png", "console_dark.png"):
        print(f"docs/figures/{picture}: {(FIGURES / picture).stat().st_size // 1024} KiB")


if __name__ == "__main__":
    main()
