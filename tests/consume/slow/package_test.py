"""`./dev package` makes a .deb that brings all that a user's build needs, and names what it does not bring."""

import platform
import re
import shutil

import pytest

import hardening
import repository
from programs import ROOT
from user_project import LIMIT_S, User

pytestmark = pytest.mark.timeout(LIMIT_S)
PACKAGES = ROOT / "build/package/packages"
# From what the build linked: by pkg-config's modules, protoc, and the libraries of the plugin.
NEEDED = ("libprotobuf-dev", "liburing-dev", "libc-ares-dev", "zlib1g-dev", "libzstd-dev", "libbrotli-dev", "libsnappy-dev", "liblz4-dev",
          "libssl-dev", "protobuf-compiler", "libprotoc", "libc6")
HELD = re.compile(r"include/coracle(/.*\.hpp|\.h)|bin/protoc-gen-coracle|lib/[^/]+/(libcoracle(_console|_telemetry|_tls)?\.a|libcoracle_c\.so[.0-9]*|cmake/coracle/[^/]+\.cmake|"
                  r"pkgconfig/coracle(-c|-console|-telemetry|-tls)?\.pc)|share/coracle/(coracle\.spdx\.json|gdb/coracle-gdb\.py|grafana/[a-z]+\.json|prometheus/coracle\.rules\.yml)|share/coracle/proto/google/api/[a-z]+\.proto|share/doc/libcoracle-dev/copyright")
OF_TESTS = ("CXX", "CMAKE_GENERATOR", "CMAKE_BUILD_TYPE", "CMAKE_CXX_COMPILER_LAUNCHER")


@pytest.fixture(scope="module")
def user():
    if not shutil.which("dpkg-shlibdeps"):
        pytest.skip("dpkg-dev is not installed")
    return User("package")


@pytest.fixture(scope="module")
def packages(user):
    """The .deb of the library and that of the program, made as a person makes them: {name: path}."""
    shutil.rmtree(PACKAGES, ignore_errors=True)
    user.run("env", *(f"--unset={name}" for name in OF_TESTS), ROOT / "dev", "package")
    made = {}
    for name in ("libcoracle-dev", "coracle"):
        (path,) = PACKAGES.glob(f"{name}_*.deb")
        made[name] = shutil.copy(path, user.scratch)
    return made


@pytest.fixture(scope="module")
def unpacked(user, packages):
    user.run("dpkg-deb", "--extract", packages["libcoracle-dev"], user.scratch / "root")
    return user.scratch / "root/usr"


def test_it_depends_on_what_the_build_linked(user, packages):
    depends = f', {user.run("dpkg-deb", "--field", packages["libcoracle-dev"], "Depends")}'
    assert [name for name in NEEDED if f", {name}" not in depends] == [], depends
    # Here, where all of it is installed, nothing is missing.
    user.run("dpkg", "--no-act", "--install", packages["libcoracle-dev"])


def test_it_names_the_repository(user, packages):
    address = repository.address(repository.Tree(ROOT))
    assert [user.run("dpkg-deb", "--field", path, "Homepage").strip() for path in packages.values()] == [address] * 2


def test_a_project_builds_against_the_unpacked_package(user, unpacked):
    folder = user.project("yard", "found")
    user.run(user.build(folder, folder / "build", f"-DCMAKE_PREFIX_PATH={unpacked}") / "served")


def test_it_holds_the_library_and_the_plugin_alone(unpacked):
    files = [str(path.relative_to(unpacked)) for path in unpacked.rglob("*") if path.is_file()]
    assert "share/doc/libcoracle-dev/copyright" in files
    assert [name for name in files if not HELD.fullmatch(name)] == []


def test_the_program_comes_in_a_package_of_its_own(user, packages):
    """All that it needs beside the C library is in it."""
    assert re.fullmatch(r"libc6 \([^,]*\)", user.run("dpkg-deb", "--field", packages["coracle"], "Depends").strip())
    user.run("dpkg-deb", "--extract", packages["coracle"], user.scratch / "tool")
    user.run(user.scratch / "tool/usr/bin/coracle", "--version")


def test_what_it_installs_is_hardened(user, packages, unpacked):
    user.run("dpkg-deb", "--extract", packages["coracle"], user.scratch / "tool")
    assert hardening.missing_in_program(user.scratch / "tool/usr/bin/coracle") == []
    assert hardening.missing_in_program(unpacked / "bin/protoc-gen-coracle") in ([], ["fortified functions"])
    (shared,) = unpacked.glob("lib/*/libcoracle_c.so.*.*")
    assert hardening.missing_in_program(shared) in ([], ["fortified functions"])
    for library in unpacked.glob("lib/*/libcoracle*.a") if platform.machine() == "x86_64" else ():
        assert hardening.unprotected_members(library) == [], library
