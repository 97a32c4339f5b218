#!/usr/bin/env python3
"""Records docs/figures/terminal.toml, the terminal on the site's first page: terminal.py --write. Asks for a release build.

Runs COMMANDS against the movie server, and keeps what was typed and what was printed. scripts/figures.py draws it.
"""

import json
import os
import pathlib
import pty
import re
import select
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/support"))
sys.dont_write_bytecode = True
from programs import START_LIMIT_S, Server, own  # noqa: E402

RECORD = ROOT / "docs/figures/terminal.toml"
SHOWN_ADDRESS = "127.0.0.1:50051"
CALL = """coracle call ADDRESS -p AddMovie -d '{"title": "Solaris"}'"""
REPL = "coracle repl ADDRESS -p"
TYPED = ("service MovieService", 'call AddMovie {"title": "Stalker"}', "call ListMovies {}", "exit")
LOAD = """coracle load ADDRESS -p AddMovie -d '{"title": "Film {{call}}"}' -c 20 --duration 2s"""
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\r(?!\n)|\x08")


def environment(folder):
    return {**os.environ, "PATH": f"{own('coracle').parent}:{os.environ['PATH']}", "NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "100",
            "XDG_STATE_HOME": folder}


def shell(command, address, env):
    """A command and what it prints, as lines."""
    done = subprocess.run(["bash", "-c", command.replace("ADDRESS", address)], env=env, stdout=subprocess.PIPE, text=True, check=True)
    return [f"$ {command}", *done.stdout.splitlines()]


def repl(address, env):
    """The same of a session in which TYPED is typed."""
    main, other = pty.openpty()
    process = subprocess.Popen([own("coracle"), *REPL.replace("ADDRESS", address).split()[1:]], stdin=other, stdout=other, stderr=other, env=env)
    os.close(other)
    prompt = re.compile(rf"^(\S*@{re.escape(address)}>) $", re.M)
    lines, screen = [f"$ {REPL}"], ""
    for line in TYPED:
        while not prompt.search(screen):
            if not select.select([main], [], [], START_LIMIT_S)[0]:
                sys.exit(f"terminal: the repl has no prompt after {lines[-1]!r}: {screen!r}")
            screen = ESCAPES.sub("", screen + os.read(main, 4096).decode())
        if len(lines) > 1:  # without the greeting, and without the echo of what was typed
            lines += screen[:prompt.search(screen).start()].splitlines()[1:]
        lines.append(f"{prompt.search(screen)[1]} {line}")
        os.write(main, f"{line}\n".encode())
        screen = ""
    if process.wait(START_LIMIT_S) != 0:
        sys.exit(f"terminal: the repl ended with {process.returncode}")
    os.close(main)
    return lines


def recorded():
    """The lines of each part: call, repl, load."""
    with tempfile.TemporaryDirectory() as folder, Server(own("movie_server"), "--port=0") as server:
        env = environment(folder)
        parts = [shell(CALL, server.address, env), repl(server.address, env), shell(LOAD, server.address, env)]
    return [[line.replace(server.address, SHOWN_ADDRESS).replace("ADDRESS", SHOWN_ADDRESS) for line in part] for part in parts]


def main(arguments):
    parts = recorded()
    screen = "\n\n".join("\n".join(part) for part in parts)
    if "--write" not in arguments:
        print(screen)
        return 0
    RECORD.write_text('# Recorded by scripts/terminal.py --write.\nkind = "terminal"\ntitle = "A call, a session of the repl and a load test with the '
                      f'coracle command"\nscreen = [\n' + "".join(f"  {json.dumps(line, ensure_ascii=False)},\n" for line in screen.split("\n")) + "]\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
