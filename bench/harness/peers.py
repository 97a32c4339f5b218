"""Peers from other registries, built below the build folder: Rust's by cargo, Go's by go."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

from harness import machine

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = ROOT / "bench/peers"
PROTOS = ROOT / "bench/protos"
GO_PLUGINS = {  # what protoc calls it: where it comes from
    "go": "google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12",
    "go-grpc": "google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2",
    "connect-go": "connectrpc.com/connect/cmd/protoc-gen-connect-go@v1.21.1",
    "grpc-gateway": "github.com/grpc-ecosystem/grpc-gateway/v2/protoc-gen-grpc-gateway@v2.33.0",
}
GO_PLAIN = {"echo", "micro"}  # without gRPC
BUILD_TIMEOUT_S = 15 * 60


def run(command, **options):
    try:
        done = subprocess.run([str(word) for word in command], text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=BUILD_TIMEOUT_S, **options)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise machine.Failure(f"{command[0]}: {error}") from None
    if done.returncode != 0:
        raise machine.Failure(f"{' '.join(map(str, command))}:\n{done.stdout.strip()[-2000:]}")
    return done.stdout


def build_rust(into, names):
    if not shutil.which("cargo"):
        run([ROOT / "scripts/packages.sh", "bench_rust"])
    # Built from a copy, since cargo writes the versions that it chose beside Cargo.toml.
    copy = into / "rust"
    shutil.copytree(SOURCES / "rust", copy, dirs_exist_ok=True)
    programs = [word for name in names for word in ("--bin", name)]
    run(["cargo", "build", "--release", "--quiet", "--workspace", *programs, "--manifest-path", copy / "Cargo.toml",
         "--target-dir", copy / "target"])


def find_go():
    sys.path.insert(0, str(ROOT / "scripts"))
    import peers as interop  # knows where Go comes from on a machine that has none
    try:
        go, environment = interop.find_go()
    except interop.Missing as reason:
        raise machine.Failure(f"there is no Go: {reason}") from None
    return go, {**os.environ, **environment}


def generate_go(go, environment, copy):
    """The code for bench/protos, by protoc and Go's own generators."""
    plugins = copy / "plugins"
    for plugin in GO_PLUGINS.values():
        run([go, "install", plugin], env={**environment, "GOBIN": str(plugins)})
    for proto in sorted(PROTOS.glob("*.proto")):
        package = f"bench_peers/generated/{proto.stem}"
        rules = proto.with_suffix(".rules.yaml")  # REST routes
        wanted = [kind for kind in GO_PLUGINS if kind != "grpc-gateway" or rules.exists()]
        options = [f"--{kind}_opt={option}" for kind in wanted for option in ("module=bench_peers", f"M{proto.name}={package}")]
        if rules.exists():
            options.append(f"--grpc-gateway_opt=grpc_api_configuration={rules}")
        run(["protoc", f"-I{PROTOS}", *(f"--{kind}_out={copy}" for kind in wanted), *options, proto.name],
            env={**environment, "PATH": f"{plugins}:{environment['PATH']}"})


def build_go(into, names):
    go, environment = find_go()
    # Built from a copy, since go writes the sums of modules beside go.mod.
    copy = into / "go_sources"
    shutil.copytree(SOURCES / "go", copy, dirs_exist_ok=True)
    if set(names) - GO_PLAIN:
        generate_go(go, environment, copy)
    (into / "go").mkdir(parents=True, exist_ok=True)
    run([go, "build", "-mod=mod", "-o", f"{into / 'go'}/", *(f"./{name}" for name in names)], cwd=copy, env=environment)


def build(kinds, folder):
    """Builds what the peers among `kinds` need; a peer that is not there then is an error, said by name."""
    programs = [kind.program for kind in kinds]
    shutil.copytree(PROTOS, folder / "protos", dirs_exist_ok=True)  # where the copies below look for them
    for language, make in (("rust", build_rust), ("go", build_go)):
        names = {program.rsplit("/", 1)[1] for program in programs if program.startswith(f"peers/{language}/")}
        if names:
            make(folder / "peers", sorted(names))
    missing = [f"{kind.name} ({kind.program})" for kind in kinds if not (folder / kind.program).exists()]
    if missing:
        raise machine.Failure(f"not built: {', '.join(missing)}; fix: install what CMake said is missing, or leave "
                              "peers out by --without NAME,NAME")


def versions():
    """Of the gRPC libraries and compilers from other registries, as they are pinned and here."""
    pins = {"tonic": ("rust/tonic/Cargo.toml", r'^tonic = .*"=([\d.]+)"'), "pajamax": ("rust/pajamax/Cargo.toml", r'^pajamax = "=([\d.]+)"'),
            "grpc-go": ("go/go.mod", r"google.golang.org/grpc v([\d.]+)")}
    found = {name: re.search(pattern, (SOURCES / file).read_text(), re.MULTILINE) for name, (file, pattern) in pins.items()}
    return {**{name: match[1] if match else "unknown" for name, match in found.items()},
            "grpc++": machine.first_line(["pkg-config", "--modversion", "grpc++"]),
            "rustc": machine.first_line(["rustc", "--version"]), "go": machine.first_line(["go", "version"])}


def chosen_among(kinds, chosen):
    """Those that the command line wants."""
    without = [name for name in chosen.without.split(",") if name]
    return [kind for kind in kinds
            if chosen.only in kind.name and not any(name in kind.name for name in without)]
