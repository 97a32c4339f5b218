"""A project of a user's, which builds against the library in a folder of its own below the build."""

import os
import shutil
import subprocess

from programs import BUILD, ROOT

CONSUME = ROOT / "tests/consume"
LIMIT_S = 600  # builds the library anew, each in its way
# With few large sources and as a shared library, so that one build shows all three.
CHEAP = ("-DCMAKE_BUILD_TYPE=None", "-DBUILD_SHARED_LIBS=ON", "-DCMAKE_UNITY_BUILD=ON", "-DCMAKE_UNITY_BUILD_BATCH_SIZE=0")
WITHOUT_THE_REST = ("-DCORACLE_BUILD_TESTS=OFF", "-DCORACLE_BUILD_EXAMPLES=OFF", "-DCORACLE_BUILD_TOOLS=OFF")


def environment():
    """So that commands are those of the guide. What is compiled twice, ccache knows from any folder."""
    env = {**os.environ, "CORACLE_SOURCE_DIR": str(ROOT), "CXX": "g++", "CMAKE_GENERATOR": "Ninja", "CMAKE_BUILD_TYPE": "Release"}
    if shutil.which("ccache"):
        env |= {"CMAKE_CXX_COMPILER_LAUNCHER": "ccache", "CCACHE_BASEDIR": str(ROOT), "CCACHE_NOHASHDIR": "1"}
    return env


def first_error(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next((line for line in lines if "rror" in line), lines[-1] if lines else "no reason")[:400]


class User:
    """scratch: the folder, which is made anew."""

    def __init__(self, name):
        self.scratch = BUILD / f"consume-{name}"
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir(parents=True)
        self.env = environment()

    def attempt(self, *command, cwd=None, env=None, limit_s=LIMIT_S):
        """The completed process, whose stdout has both outputs."""
        return subprocess.run([str(word) for word in command], cwd=cwd or self.scratch, env={**self.env, **(env or {})}, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=limit_s)

    def run(self, *command, **how):
        """What the command prints; it has to succeed."""
        done = self.attempt(*command, **how)
        assert done.returncode == 0, f"{command[0]} ended with {done.returncode}: {first_error(done.stdout)}"
        return done.stdout

    def project(self, name, kind):
        """A user's project in a folder of its own, built as tests/consume/KIND says."""
        folder = self.scratch / name
        shutil.copytree(CONSUME / kind, folder)
        for source in (CONSUME / "served.cpp", CONSUME / "three_generators/shipyard.proto"):
            shutil.copy(source, folder)
        return folder

    def install(self, name="prefix", build=BUILD):
        prefix = self.scratch / name
        self.run("cmake", "--install", build, "--prefix", prefix)
        return prefix

    def build(self, source, build, *options):
        """Configures and builds; the folder of the build."""
        self.run("cmake", "-S", source, "-B", build, *options)
        self.run("cmake", "--build", build)
        return build


def pkg_config_path(where):
    (found,) = where.rglob("coracle.pc")
    return found.parent


def link_by_make(user, where, name):
    """A project of make's builds with what pkg-config says, in a folder of this name."""
    folder = user.project(name, "pkgconfig")
    modules = pkg_config_path(where)
    env = {"PKG_CONFIG_PATH": str(modules), "LD_LIBRARY_PATH": str(modules.parent)}
    user.run("make", cwd=folder, env=env)
    user.run(folder / "served", env=env)
    user.run("pkg-config", "--exists", "coracle-tls", env=env)
