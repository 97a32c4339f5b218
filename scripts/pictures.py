#!/usr/bin/env python3
"""Takes docs/figures/load_report.png anew: a report of coracle load, as headless Chromium shows it. Asks for a release build."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
BIN = ROOT / "build/release/bin"
PICTURE = ROOT / "docs/figures/load_report.png"
WIDTH, HEIGHT = 1180, 1012
# Two methods, a rate that rises and stays: something to see in each chart.
LOAD = ["AddMovie=3", "Health/Check=1", "-d", '{"title": "Part {{call}}"}', "-d", "{}",
        "--ramp", "0:4000:8s", "--stage", "4000:8s", "--bands", "500us,1ms"]
LIMIT_S = 60


def main():
    browser = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if not browser:
        sys.exit("pictures: there is no Chromium; scripts/packages.sh test installs it")
    server = subprocess.Popen([BIN / "movie_server", "--port=0"], stdout=subprocess.PIPE, text=True)
    try:
        address = re.search(r"listening on (\S+)", server.stdout.readline())[1]
        with tempfile.TemporaryDirectory() as folder:
            report = pathlib.Path(folder, "report.html")
            subprocess.run([BIN / "coracle", "load", address, "-p", *LOAD, "--report", report.name], cwd=folder, check=True, timeout=LIMIT_S)
            subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={folder}/profile",
                            f"--window-size={WIDTH},{HEIGHT}", f"--screenshot={PICTURE}", report.as_uri()], check=True, timeout=LIMIT_S)
    finally:
        server.terminate()
        server.wait()
    print(f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size // 1024} KiB")


if __name__ == "__main__":
    main()
