"""Our generated classes beside those of grpc_cpp_plugin and of protoc itself, in a project that finds the installed library."""

import re
import shutil

import pytest

from user_project import CONSUME, LIMIT_S, User

pytestmark = pytest.mark.timeout(LIMIT_S)
TESTS = [".".join(name) for name in
         re.findall(r"^TEST\((\w+), (\w+)\)", (CONSUME / "three_generators/three_generators_test.cpp").read_text(), re.M)]


@pytest.fixture(scope="module")
def built():
    user = User("grpc")
    if not shutil.which("grpc_cpp_plugin") or user.attempt("pkg-config", "--exists", "grpc++").returncode != 0:
        pytest.skip("libgrpc++-dev and protobuf-compiler-grpc are not installed")
    prefix = user.install()
    return user, user.build(CONSUME / "three_generators", user.scratch / "build", f"-DCMAKE_PREFIX_PATH={prefix}") / "bin"


def test_two_generators_in_one_program(built):
    user, programs = built
    user.run(programs / "two_generators")


@pytest.mark.parametrize("name", TESTS)
def test_three_generators_in_one_program(name, built):
    user, programs = built
    assert "[  PASSED  ] 1 test." in user.run(programs / "three_generators", f"--gtest_filter={name}")
