"""Builds for another machine, whose protoc-gen-coracle does not run on this one."""

import os

import pytest

from programs import ROOT
from user_project import CONSUME, LIMIT_S, WITHOUT_THE_REST, User

pytestmark = pytest.mark.timeout(LIMIT_S)
TOOLCHAIN = CONSUME / "cross/toolchain.cmake"
NO_PLUGIN = ("coracle_generate: there is no protoc-gen-coracle that runs on this machine; build Coracle for it and set "
             "CORACLE_PLUGIN")


class Yard:
    """A project to be built for another machine: its sysroot is target, what runs here lies in host."""

    def __init__(self):
        self.user = User("cross")
        self.target, self.host = self.user.install("target"), self.user.scratch / "host"
        self.host.mkdir()
        plugin = self.target / "bin/protoc-gen-coracle"
        self.plugin = plugin.rename(self.host / plugin.name)
        # As the header of a program for another processor: the kernel refuses it.
        plugin.write_bytes(b"\x7fELF\x02\x01\x01")
        plugin.chmod(0o755)
        self.folder = self.user.project("yard", "found")

    def configured(self, build, *options, env=None):
        return self.user.attempt("cmake", "-S", ".", "-B", build, "--toolchain", TOOLCHAIN, f"-DCMAKE_PREFIX_PATH={self.target}",
                                 *options, cwd=self.folder, env=env)

    def runs_the_hosts(self, build):
        return f"--plugin=protoc-gen-coracle={self.plugin}" in (self.folder / build / "build.ninja").read_text()


@pytest.fixture(scope="module")
def yard():
    return Yard()


def test_a_cross_build_takes_the_plugin_on_the_path_and_not_that_of_the_target(yard):
    env = {"PATH": f"{yard.host}:{os.environ['PATH']}"}
    assert yard.configured("path", env=env).returncode == 0
    assert yard.runs_the_hosts("path")
    yard.user.run("cmake", "--build", "path", cwd=yard.folder, env=env)
    yard.user.run("path/served", cwd=yard.folder)


def test_a_cross_build_takes_the_plugin_that_it_is_told(yard):
    assert yard.configured("name", f"-DCORACLE_PLUGIN={yard.plugin}").returncode == 0
    assert yard.runs_the_hosts("name")


def test_a_cross_build_without_a_plugin_says_how_to_fix_it(yard):
    done = yard.configured("none")
    assert done.returncode != 0
    assert NO_PLUGIN in " ".join(done.stdout.split())


def test_a_package_without_its_programs_serves_a_cross_build(yard):
    """A tree for another machine often comes without its programs."""
    (yard.target / "bin").rename(yard.target / "away")
    assert yard.configured("bare", f"-DCORACLE_PLUGIN={yard.plugin}").returncode == 0
    assert yard.runs_the_hosts("bare")


def test_the_library_itself_needs_no_plugin(yard):
    user = yard.user
    user.run("cmake", "-S", ROOT, "-B", "library", "--toolchain", TOOLCHAIN, *WITHOUT_THE_REST)
    user.run("cmake", "--build", "library", "--target", "coracle_wellknown")
    rules = (user.scratch / "library/build.ninja").read_text()
    assert "libcoracle_tls.a" in rules
    assert "protoc-gen-coracle" not in rules
