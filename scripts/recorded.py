#!/usr/bin/env python3
"""What commands print on pages of docs/cli, from real runs: recorded.py says whether each page shows it, recorded.py --write records
it anew. Asks for a release build.

The page has `<!-- recorded: NAME -->` before a fenced block, where NAME is a function here that returns what is printed. Numbers and
times differ from run to run: only what stands between them is compared.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/support"))
sys.dont_write_bytecode = True
from programs import Server, own  # noqa: E402

PAGES = ROOT / "docs/cli"
LIMIT_S = 30
BLOCK = re.compile(r"(?<=^<!-- recorded: )(\w+)( -->\n```\n)(.*?)(?=^```$)", re.M | re.S)


def printed(*words, folder=ROOT):
    done = subprocess.run([own("coracle"), *words], cwd=folder, env={**os.environ, "NO_COLOR": "1", "COLUMNS": "160"}, capture_output=True, text=True,
                          timeout=LIMIT_S)
    if done.returncode != 0:
        sys.exit(f"recorded: coracle {' '.join(words)} ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def top():
    """The methods of a server that has made calls of its own, and that others call."""
    with Server(own("pages_server")) as server:
        printed("load", server.address, "-p", "echo.Echo/Say", "--proto", ROOT / "tests/e2e/echo.proto", "-d", '{"text": "hello"}',
                "--rate", "250", "--duration", "2s")
        return printed("top", server.address, "-p", "--once").lstrip("\n")


def binlog():
    """A call in the log of the server that has answered it."""
    with tempfile.TemporaryDirectory() as folder:
        with Server(own("observed_server"), pathlib.Path(folder) / "movies.binlog", env={"GRPC_BINARY_LOG_FILTER": "*"}):
            pass
        entries = map(json.loads, printed("binlog", "movies.binlog", "--method", "Say", "--format", "json", folder=folder).splitlines())
        call = next(one["call"] for one in entries if one["logger"] == "server")
        return printed("binlog", "movies.binlog", "--call", str(call), folder=folder)


RECORDS = {"top": top, "binlog": binlog}


def shape(text):
    """The text without what differs from run to run."""
    return [re.sub(r" +", " ", re.sub(r"\d[\d.,]*", "0", line)).strip() for line in text.splitlines()]


def shown():
    """Of each record: its page and the text there."""
    return {name: (page, text) for page in sorted(PAGES.glob("*.md")) for name, _, text in BLOCK.findall(page.read_text())}


def write(page, name, text):
    page.write_text(BLOCK.sub(lambda found: f"{found[1]}{found[2]}{text}" if found[1] == name else found[0], page.read_text()))


def main(arguments):
    faults = 0
    for name, (page, text) in shown().items():
        now = RECORDS[name]()
        if "--write" in arguments:
            write(page, name, now)
        elif shape(text) != shape(now):
            faults += 1
            print(f"{page.relative_to(ROOT)} shows something else than the command prints; fix: scripts/recorded.py --write")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
