"""Conan makes a package of the tree and tries it, without a remote to ask."""

import subprocess
import sys

import pytest

from programs import ROOT
from user_project import LIMIT_S, User

VENV = ROOT / "build/conan"
VERSION = "2.34.0"


@pytest.fixture(scope="module")
def conan():
    program = VENV / "bin/conan"
    if not program.exists():
        for command in ([sys.executable, "-m", "venv", VENV], [VENV / "bin/pip", "install", "--quiet", f"conan=={VERSION}"]):
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                pytest.skip(f"conan cannot be installed: {(done.stderr.strip().splitlines() or ['no reason'])[-1]}")
    return program


@pytest.mark.timeout(LIMIT_S)
def test_conan_creates_a_package_without_a_network(conan):
    user = User("conan")
    env = {"CONAN_HOME": str(user.scratch / "home")}
    user.run(conan, "profile", "detect", cwd=ROOT, env=env)
    user.run(conan, "create", "packaging/conan", "--no-remote", "--settings", "build_type=Debug",
             "--conf", "tools.cmake.cmaketoolchain:generator=Ninja",
             "--conf", f"tools.cmake.cmake_layout:test_folder={user.scratch / 'test'}",
             "--conf", "tools.cmake.cmaketoolchain:extra_variables={'CMAKE_UNITY_BUILD': 'ON', 'CMAKE_UNITY_BUILD_BATCH_SIZE': '10'}",
             cwd=ROOT, env=env)
