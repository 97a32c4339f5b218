"""The demonstration of a mesh: ./dev demo mesh. It prints what happens, and ends with 1 if a promise is broken."""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests/support")]
FOLDER = ROOT / "build/demo"
TARGETS = ["mesh_server", "mesh_client", "coracle_program"]


def build():
    """With the programs of ./dev demo. Returns where they are."""
    import demo
    demo.build(TARGETS)
    return FOLDER / "bin"


def python_with_grpc():
    """The control plane is a program of grpcio: of the peers' Python, or Debian's."""
    import peers
    for one in (sys.executable, peers.PYTHON, peers.SYSTEM_PYTHON):
        if shutil.which(one) and subprocess.run([one, "-c", "import grpc, google.protobuf"], capture_output=True).returncode == 0:
            return str(one)
    raise RuntimeError("no Python has grpcio; fix: apt-get install python3-grpcio python3-protobuf")


def parsed():
    words = argparse.ArgumentParser(prog="./dev demo mesh", description=__doc__)
    words.add_argument("--short", action="store_true", help="fewer seconds for each step, and one restart of each server")
    words.add_argument("--loopback", action="store_true", help="without network namespaces")
    words.add_argument("--bin", help="the folder of the programs, which are then not built")
    words.add_argument("--page", default=FOLDER / "mesh.html", type=pathlib.Path, help="the file for the summary")
    words.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    return words.parse_args()


def outside(options):
    """Runs this again with its Python, in a network of its own if there can be one."""
    import network
    where = options.bin or build()
    command = [python_with_grpc(), "-B", str(pathlib.Path(__file__).parent), "--inside", "--bin", str(where), "--page", str(options.page),
               *(["--short"] if options.short else [])]
    own = [] if options.loopback else network.own_network()
    if isinstance(own, str):
        print(f"Without network namespaces, because they cannot be made here ({own}): all members are on addresses of loopback.", flush=True)
    os.environ["CORACLE_BIN"] = str(where)
    if not own or isinstance(own, str):
        os.execvp(command[0], [*command, "--loopback"])
    os.execvp(own[0], [*own, *command])


def main():
    options = parsed()
    try:
        if not options.inside:
            outside(options)
        import story
        return story.tell(options)
    except (RuntimeError, AssertionError, OSError, subprocess.SubprocessError) as failure:
        print(f"demo mesh: {failure}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
