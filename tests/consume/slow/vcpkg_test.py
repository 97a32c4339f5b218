"""The overlay port, where there is a vcpkg. It is no Debian package, so that CI leaves this out."""

import pathlib
import shutil

import pytest

from programs import ROOT
from user_project import LIMIT_S, User


@pytest.mark.timeout(LIMIT_S)
def test_vcpkg_builds_the_overlay_port():
    vcpkg = shutil.which("vcpkg")
    if not vcpkg:
        pytest.skip("vcpkg is not installed")
    user = User("vcpkg")
    toolchain = pathlib.Path(vcpkg).resolve().parent / "scripts/buildsystems/vcpkg.cmake"
    user.run(vcpkg, "install", "coracle", f"--overlay-ports={ROOT}/packaging/vcpkg", f"--x-install-root={user.scratch}/installed")
    for name in ("CMakeLists.txt", "greeter.cpp", "greeter.proto"):
        shutil.copy(ROOT / "packaging/conan/test_package" / name, user.scratch)
    build = user.build(user.scratch, user.scratch / "build", f"-DVCPKG_INSTALLED_DIR={user.scratch}/installed", "--toolchain", toolchain)
    user.run(build / "greeter")
