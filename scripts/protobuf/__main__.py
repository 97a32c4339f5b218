"""./dev protobuf VERSION [SUITE...]: builds Coracle with another version of protobuf, and tests it.

Without VERSION it lists the versions, of which the last may be called newest. The sources of protobuf and of its Abseil come with grpcio-tools, a package of Python; they are built
once for each version, in the user's cache, and Coracle in build/protobuf. The suites are unit, e2e, golden and tools (of the coracle command), and
two_versions, in which a program with the distribution's protobuf loads a plugin with this one; they run unless others are named. gate is no test:
it prints the instructions of a call with this version beside those of bench/gate.json. sources is quick: without building protobuf it checks that
the sources that use it most compile with its headers.
"""

import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
SCRIPTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(pathlib.Path(__file__).parent), str(SCRIPTS), str(SCRIPTS / "testing"), str(SCRIPTS.parent / "bench")]

import archives  # noqa: E402
import plan  # noqa: E402
import sources  # noqa: E402
import suites  # noqa: E402
import two_versions  # noqa: E402
from archives import CACHE, VERSIONS  # noqa: E402
from harness import gate  # noqa: E402
from process import BUILD, ROOT  # noqa: E402
from report import Report  # noqa: E402

OWN = pathlib.Path(__file__).resolve().parent
PRESET = "protobuf"
# What the suites need beside the library and the plugin.
TARGETS = {
    "unit": ["unit_tests"],
    "e2e": ["e2e_tests"],
    "tools": ["coracle_program", "greeter_client", "greeter_server", "movie_client", "movie_server", "observed_server", "pages_server", "web_server"],
}


def run(*command, **how):
    try:
        subprocess.run([str(word) for word in command], check=True, **how)
    except subprocess.CalledProcessError as error:
        sys.exit(f"dev: {' '.join(map(str, command[:6]))} ... ended with {error.returncode}")


def install(version, standard):
    """Builds protobuf unless that was done, and returns where it is."""
    at = CACHE / f"{version}-c++{standard}"
    if (at / "bin/protoc").exists():
        return at
    print(f"dev: building protobuf {version} as C++{standard}, which takes some 15 minutes of two processors", file=sys.stderr)
    work = CACHE / f"{version}-c++{standard}.build"
    shutil.rmtree(work, ignore_errors=True)
    third_party = archives.unpack(version, work)
    launcher = shutil.which("ccache")
    run("cmake", "-G", "Ninja", "-S", OWN, "-B", work / "build", "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_CXX_STANDARD={standard}", f"-DSOURCES={third_party}",
        f"-DPROTOBUF_VERSION_NAME={version}", f"-DCMAKE_INSTALL_PREFIX={at}",
        *([f"-DCMAKE_{language}_COMPILER_LAUNCHER={launcher}" for language in ("C", "CXX")] if launcher else []), stdout=subprocess.DEVNULL)
    log = CACHE / f"{version}-c++{standard}.log"
    with log.open("w") as to:
        if subprocess.run(["cmake", "--build", work / "build"], stdout=to).returncode != 0:
            sys.exit(f"dev: protobuf {version} cannot be built: {suites.first_error(log.read_text())} (whole: {log})")
    log.unlink()
    run("cmake", "--install", work / "build", stdout=subprocess.DEVNULL)
    shutil.rmtree(work)
    return at


def build(chosen, at):
    """Coracle, configured anew: CMake remembers where it found the last version."""
    targets = ["coracle", "protoc-gen-coracle", *(target for suite in chosen for target in TARGETS.get(suite, ()))]
    return suites.build(PRESET, targets, ["--fresh", "-D", f"CMAKE_PREFIX_PATH={at}"])


def environment(at):
    """In which tests in Python find these programs and this protoc."""
    return {"PATH": f"{at}/bin:{os.environ['PATH']}", "CPLUS_INCLUDE_PATH": f"{at}/include",
            "CORACLE_BUILD_DIR": str(BUILD / PRESET), "CORACLE_BIN": str(BUILD / PRESET / "bin")}


def print_figures(version, at):
    """Instructions per call, as the gate counts them."""
    folder = BUILD / "protobuf-release"
    run("cmake", "--preset", "release", "-B", folder, "--fresh", f"-DCMAKE_PREFIX_PATH={at}", stdout=subprocess.DEVNULL)
    run("cmake", "--build", folder, "--target", "bench_engine", "bench_routed", stdout=subprocess.DEVNULL)
    kept = json.loads(gate.FIGURES.read_text())
    print(f"| instructions per call | protobuf {kept['made_with']['protobuf']} | protobuf {version} | |\n|---|---|---|---|")
    for name, now in gate.counted(folder).items():
        before = kept["instructions_per_call"][name]
        print(f"| {name} | {before:,} | {now:,} | {now / before - 1:+.1%} |")


def main(arguments):
    parser = argparse.ArgumentParser(prog="./dev protobuf", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version", nargs="?", choices=(*VERSIONS, "newest"), metavar="VERSION")
    parser.add_argument("suites", nargs="*", metavar="SUITE", help="unit, e2e, golden, tools, two_versions, sources, gate (default: all but the last two)")
    parser.add_argument("--standard", type=int, choices=(17, 20), default=17, help="of C++, for protobuf and Abseil (default 17)")
    chosen = parser.parse_args(arguments)
    if not chosen.version:
        print("\n".join(VERSIONS))
        return 0
    if chosen.version == "newest":
        chosen.version = list(VERSIONS)[-1]
    known = {
        "unit": lambda: suites.ctest("unit", PRESET, "unit"),
        "e2e": lambda: plan.e2e(PRESET, "auto")[1](),
        "golden": lambda: suites.pytest("golden", "golden", env=environment(at)),
        "tools": lambda: suites.pytest("tools", "tools", env=environment(at)),
        "two_versions": lambda: two_versions.test(at, chosen.version),
    }
    for word in chosen.suites:
        if word not in (*known, "sources", "gate"):
            parser.error(f"there is no suite {word}; there are: {', '.join(known)}, sources, gate")
    os.chdir(ROOT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if chosen.suites == ["sources"]:
        return sources.check(chosen.version)
    at = install(chosen.version, chosen.standard)
    if "gate" in chosen.suites:
        print_figures(chosen.version, at)
        if chosen.suites == ["gate"]:
            return 0
    report = Report()
    wanted = chosen.suites or list(known)
    if wanted == ["two_versions"] or report.add(build(wanted, at)):
        for name in wanted:
            if name in known:
                report.add(known[name]())
    return 0 if report.finish() else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
