"""With shared libraries there is a package of them, too, which those of the headers and the program need."""

import re
import shutil

import pytest

from programs import ROOT
from user_project import CHEAP, LIMIT_S, WITHOUT_THE_REST, User

pytestmark = pytest.mark.timeout(LIMIT_S)
RUNTIME = "libcoracle" + re.search(r"project\(coracle VERSION (\d+\.\d+)", (ROOT / "CMakeLists.txt").read_text())[1]


@pytest.fixture(scope="module")
def user():
    if not shutil.which("dpkg-shlibdeps"):
        pytest.skip("dpkg-dev is not installed")
    return User("shared-package")


@pytest.fixture(scope="module")
def packages(user):
    build = user.build(ROOT, user.scratch / "build", "-DCMAKE_INSTALL_PREFIX=/usr", *CHEAP, *WITHOUT_THE_REST)
    user.run("cpack", "--config", build / "CPackConfig.cmake", "-B", user.scratch / "packages")
    return user.scratch / "packages"


def depends(user, packages, name):
    (path,) = packages.glob(f"{name}_*.deb")
    return user.run("dpkg-deb", "--field", path, "Depends")


def test_the_package_of_the_libraries_needs_what_they_link(user, packages):
    found = depends(user, packages, RUNTIME)
    for name in ("liburing2", "libc-ares2", "libssl3", "libprotobuf"):
        assert name in found
    assert "-dev" not in found


def test_the_headers_package_needs_that_of_the_libraries_and_not_what_they_link(user, packages):
    found = depends(user, packages, "libcoracle-dev")
    for name in (f"{RUNTIME} (= ", "libprotobuf-dev", "protobuf-compiler"):
        assert name in found
    assert "liburing" not in found and "libssl" not in found


def test_a_project_links_the_unpacked_shared_libraries(user, packages):
    root = user.scratch / "root"
    for package in packages.glob("*.deb"):
        user.run("dpkg-deb", "--extract", package, root)
    folder = user.project("yard", "found")
    served = user.build(folder, folder / "build", f"-DCMAKE_PREFIX_PATH={root}/usr") / "served"
    user.run(served)
    assert re.search(rf"{re.escape(str(root))}.*libcoracle\.so\.0\.2", user.run("ldd", served))
