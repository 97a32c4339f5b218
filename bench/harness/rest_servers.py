"""The servers of the movie service that gRPC and REST are compared on, and what Python's need."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

from harness import environment, machine, servers

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = ROOT / "bench/rest"
PROTO = ROOT / "examples/02_movie/movie.proto"
ASK_TIMEOUT_S = 60
MOVIE = ('{"title": "Alien {{call}}", "directors": [{"first_name": "Ridley", "last_name": "Scott"}], '
         '"year_of_production": 1979}')
ASK_REST = """import sys, urllib.request
request = urllib.request.Request(sys.argv[1], sys.argv[2].encode(), {"Content-Type": "application/json"})
print(urllib.request.urlopen(request).read().decode())"""


class Tools:
    """What is needed to run them: the folder of our own programs, Python with the pinned packages (installed into `folder`,
    unless there is one), the stubs of movie.proto."""

    def __init__(self, programs, folder, python=None):
        self.programs = programs
        for name in ("coracle", "movie_server"):
            if not (programs / name).exists():
                raise machine.Failure(f"there is no {programs / name}; fix: ./dev build bench")
        self.python = python or environment.install(folder / "venv", SOURCES / "requirements.txt")
        self.stubs = generate(self.python, folder)


class Kind:
    """A server to measure: its command, in which {programs} is a folder and {python} a program, and whether it is REST."""

    def __init__(self, name, *command, rest=False):
        self.name, self.command, self.rest = name, command, rest

    def target(self, address):
        return f"http://{address}/movies" if self.rest else address

    def words(self, tools):
        return [word.format(programs=tools.programs, python=tools.python) for word in self.command]


KINDS = (
    Kind("coracle", "{programs}/movie_server", "--port=0"),
    Kind("Python gRPC", "{python}", f"{SOURCES}/grpc_movies.py"),
    Kind("Flask, gunicorn", "{python}", "-m", "gunicorn", "--chdir", f"{SOURCES}", "--config", f"{SOURCES}/gunicorn.conf.py",
         "--log-level", "warning", "flask_movies:app", rest=True),
    Kind("Flask, development server", "{python}", f"{SOURCES}/flask_movies.py", rest=True),
)


def generate(python, folder):
    """The stubs of movie.proto; the folder of them."""
    made = folder / "generated"
    made.mkdir(parents=True, exist_ok=True)
    environment.run([python, "-m", "grpc_tools.protoc", f"-I{PROTO.parent}", f"--python_out={made}", f"--grpc_python_out={made}", PROTO])
    return made


def family(pid):
    """The process and all that it has started, down to the last."""
    yield pid
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            yield from family(int(child))


class Server(servers.Server):
    """Whose processes count together."""

    def cpu_seconds(self):
        return sum(servers.cpu_seconds(pid) for pid in family(self.process.pid))

    def peak_rss_kb(self):
        return sum(servers.status_kb(pid, "VmHWM") for pid in family(self.process.pid))

    def end(self):
        for pid in list(family(self.process.pid)):
            os.kill(pid, signal.SIGKILL)
        self.process.wait()


@contextlib.contextmanager
def running(kind, tools, network):
    """On the servers' core, in the network. What it logs goes to a file, as it would on a real machine."""
    command = [*network.enter, "taskset", "-c", str(machine.cores()[0]), *kind.words(tools)]
    environment = {**os.environ, "PYTHONPATH": str(tools.stubs), "PYTHONDONTWRITEBYTECODE": "1"}
    with tempfile.TemporaryFile("w+") as log:
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=log, text=True) as process:
            server = Server(process, "")
            try:
                line = process.stdout.readline()
                if not line.startswith("listening on "):
                    log.seek(0)
                    raise machine.Failure(f"{kind.name} does not start: {log.read().strip()[-300:] or line or 'it says nothing'}")
                server.address = line.split()[-1]
                yield server
            finally:
                server.end()


def ask(kind, server, tools, network):
    """The id that a movie gets, by a client that measures nothing: whether the server works, and how many movies it has."""
    movie = MOVIE.replace("{{call}}", "again")
    if kind.rest:
        command = [sys.executable, "-c", ASK_REST, kind.target(server.address), movie]
    else:
        command = [tools.programs / "coracle", "call", server.address, "-p", "AddMovie", "--proto", PROTO, "-d", movie]
    done = subprocess.run([*network.enter, *command], capture_output=True, text=True, timeout=ASK_TIMEOUT_S)
    try:
        return int(json.loads(done.stdout)["movie_id" if kind.rest else "movieId"])
    except (ValueError, KeyError):
        raise machine.Failure(f"{kind.name} answers wrong: {done.stdout.strip()} {done.stderr.strip()[-300:]}") from None
