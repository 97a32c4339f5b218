"""Other projects have the library as a subproject, by FetchContent, and as a shared library."""

import re

import pytest

from user_project import CHEAP, CONSUME, LIMIT_S, User, link_by_make, pkg_config_path

pytestmark = pytest.mark.timeout(LIMIT_S)
IN_OUR_NAMESPACE = re.compile(r"_Z(GV|T[VTISHWC]|T[hv][n0-9_]+)?Z?N[KRO]*7coracle")


@pytest.fixture(scope="module")
def user():
    return User("subproject")


@pytest.fixture(scope="module")
def subproject(user):
    """The library as a part of a project, shared, whose programs and headers go to folders of other names."""
    return user.build(CONSUME / "subproject", user.scratch / "subproject", *CHEAP, "-DCMAKE_INSTALL_BINDIR=libexec/coracle",
                      "-DCMAKE_INSTALL_INCLUDEDIR=include/coracle-1")


@pytest.fixture(scope="module")
def shared(user, subproject):
    """Installed, and then moved."""
    first = user.install("first", subproject)
    return first.rename(user.scratch / "shared")


def test_a_subproject_builds_the_shared_library_and_no_tests(user, subproject):
    user.run(subproject / "program")
    user.run(subproject / "served")


def test_the_plugin_is_found_wherever_it_was_installed(user, shared):
    assert (shared / "libexec/coracle/protoc-gen-coracle").exists()
    folder = user.project("moved", "found")
    user.run(user.build(folder, folder / "build", f"-DCMAKE_PREFIX_PATH={shared}") / "served")


@pytest.mark.parametrize("name", ["libcoracle.so", "libcoracle_console.so", "libcoracle_tls.so"])
def test_the_shared_libraries_export_our_namespace_alone(name, user, shared):
    (library,) = shared.glob(f"lib*/{name}")
    exported = [line.split()[0] for line in user.run("nm", "--dynamic", "--defined-only", "--format=posix", library).splitlines()]
    assert any(symbol.startswith("_ZN7coracle") for symbol in exported), f"{library} exports nothing"
    assert not [symbol for symbol in exported if not IN_OUR_NAMESPACE.match(symbol)]


def test_make_and_pkg_config_link(user, shared):
    link_by_make(user, shared, "make-shared")


def test_pkg_config_names_a_shared_library_alone(user, shared):
    """It links what it stands on by itself."""
    named = user.run("pkg-config", "--libs", "coracle-tls", env={"PKG_CONFIG_PATH": str(pkg_config_path(shared))}).split()
    assert {"-lcoracle_tls", "-lprotobuf"} <= set(named)
    assert not {"-luring", "-lssl"} & set(named)
    assert not any("make_zstd" in word for word in named)


def test_fetch_content_takes_a_local_folder(user, subproject):
    """What the subproject compiled is compiled here, too."""
    folder = user.project("fetched", "fetched")
    user.run(user.build(folder, user.scratch / "built", *CHEAP) / "served")
