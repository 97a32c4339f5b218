"""Peers from other registries, built below the build folder: Rust's by cargo, Go's by go."""

import os
import pathlib
import shutil
import subprocess
import sys

from harness import machine

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = ROOT / "bench/peers"
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


def build_rust(into):
    if not shutil.which("cargo"):
        run([ROOT / "scripts/packages.sh", "bench_rust"])
    # Built from a copy, since cargo writes the versions that it chose beside Cargo.toml.
    copy = into / "rust"
    shutil.copytree(SOURCES / "rust", copy, dirs_exist_ok=True)
    run(["cargo", "build", "--release", "--quiet", "--manifest-path", copy / "Cargo.toml", "--target-dir", copy / "target"])


def build_go(into):
    sys.path.insert(0, str(ROOT / "scripts"))
    import peers as interop  # knows where Go comes from on a machine that has none
    try:
        go, environment = interop.find_go()
    except interop.Missing as reason:
        raise machine.Failure(f"there is no Go: {reason}") from None
    (into / "go").mkdir(parents=True, exist_ok=True)
    run([go, "build", "-o", f"{into / 'go'}/", "./..."], cwd=SOURCES / "go", env={**os.environ, **environment})


def build(kinds, folder):
    """Builds what the peers among `kinds` need; a peer that is not there then is an error, said by name."""
    programs = [kind.program for kind in kinds]
    for language, make in (("rust", build_rust), ("go", build_go)):
        if any(program.startswith(f"peers/{language}/") for program in programs):
            make(folder / "peers")
    missing = [f"{kind.name} ({kind.program})" for kind in kinds if not (folder / kind.program).exists()]
    if missing:
        raise machine.Failure(f"not built: {', '.join(missing)}; mend: install what CMake said is missing, or leave "
                              "peers out by --without NAME,NAME")


def chosen_among(kinds, chosen):
    """Those that the command line wants."""
    without = [name for name in chosen.without.split(",") if name]
    return [kind for kind in kinds
            if chosen.only in kind.name and not any(name in kind.name for name in without)]
