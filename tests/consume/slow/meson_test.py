"""A project of Meson's finds the library by pkg-config, and has it as a subproject."""

import re
import shutil

import pytest

from programs import ROOT
from user_project import CONSUME, LIMIT_S, User

pytestmark = pytest.mark.timeout(2 * LIMIT_S)
PACKAGING = ROOT / "packaging/meson"
# As CHEAP of the other projects: each room in one piece, and nothing optimised.
UNOPTIMISED = "-DCMAKE_BUILD_TYPE=None,-DCMAKE_UNITY_BUILD=ON,-DCMAKE_UNITY_BUILD_BATCH_SIZE=10"


@pytest.fixture(scope="module")
def user():
    return User("meson")


@pytest.fixture(scope="module")
def prefix(user):
    return user.install()


def built(user, folder, *options, env=None, limit_s=LIMIT_S):
    """Sets up and builds the project, and runs its program. Returns what the setup has said."""
    said = user.run("meson", "setup", *options, "build", cwd=folder, env=env, limit_s=limit_s)
    user.run("meson", "compile", "-C", "build", cwd=folder, env=env, limit_s=limit_s)
    user.run("build/served", cwd=folder)
    return said


def test_pkg_config_finds_the_library_and_the_plugin(user, prefix):
    (modules,) = prefix.rglob("coracle.pc")
    said = built(user, user.project("found", "meson"), env={"PKG_CONFIG_PATH": str(modules.parent)})
    assert "Run-time dependency coracle found: YES" in said


def test_a_wrap_builds_the_library_in_the_project(user):
    """The same project, where no library is installed: the wrap's sources are those of the tree, with our meson.build in them."""
    folder = user.project("wrapped", "meson")
    source = folder / "subprojects/coracle"
    source.mkdir(parents=True)
    shutil.copy(PACKAGING / "coracle.wrap", folder / "subprojects")
    for part in ("CMakeLists.txt", "adapters", "cmake", "codegen", "include", "packaging", "proto", "src"):
        (source / part).symlink_to(ROOT / part)
    for name in ("meson.build", "meson_options.txt"):
        shutil.copy(PACKAGING / name, source)
    said = built(user, folder, f"-Dcoracle:cmake_options={UNOPTIMISED}", "--force-fallback-for=coracle", limit_s=2 * LIMIT_S)
    assert re.search(r"Dependency coracle (from subproject \S+ )?found: YES \d+\.\d+\.\d+ \(overridden\)", said), said
    assert str(folder / "build/subprojects/coracle/cmake/lib") in user.run("ldd", folder / "build/served")


def test_the_wrap_names_the_repository_and_the_libraries():
    wrap = (PACKAGING / "coracle.wrap").read_text()
    named = wrap.partition("dependency_names = ")[2].strip().split(", ")
    assert sorted(named) == sorted(path.name.removesuffix(".pc.in") for path in (ROOT / "cmake").glob("*.pc.in") if path.name != "coracle-c.pc.in")
