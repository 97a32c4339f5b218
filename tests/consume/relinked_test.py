"""Projects that were written for grpc++ and asio-grpc are built with Coracle: by gRPC_DIR, by a path of pkg-config, and by the
targets of the package."""

import re

import pytest

from programs import Server, run
from user_project import CONSUME, LIMIT_S, User

pytestmark = pytest.mark.timeout(LIMIT_S)
GOOGLES = re.compile(r"libg(rpc|pr)")  # libraries that a relinked program must not need


@pytest.fixture(scope="module")
def user():
    return User("relinked")


@pytest.fixture(scope="module")
def prefix(user):
    """The library is found where it lies, so that it is moved first."""
    return user.install("first").rename(user.scratch / "prefix")


def only(folder, name):
    (found,) = folder.rglob(name)
    return found.parent


def test_one_path_of_cmake_relinks_a_project(user, prefix):
    package = only(prefix, "gRPCConfig.cmake")
    built = user.build(CONSUME / "relinked", user.scratch / "built", f"-DgRPC_DIR={package}")
    with Server(built / "relinked", "server") as server:
        seen = run(built / "relinked", "client", server.port, limit_s=60, data=b"")
        assert seen.returncode == 0, seen.stderr
        assert b"unary plain: 0 hello 7 0\n" in seen.stdout
        assert server.stop() == 0
    assert not GOOGLES.search(user.run("ldd", built / "relinked"))
    assert user.run(built / "hello") == "Hello world\n"
    for name in ("grpc++_unsecure", "grpc++_error_details", "grpc", "gpr"):
        user.run(built / f"with_{name}")
        assert not GOOGLES.search(user.run("ldd", built / f"with_{name}"))


@pytest.mark.parametrize(("source", "modules"), [
    ("channel", ["grpc++", "grpc"]), ("channel", ["grpc++_unsecure"]), ("core", ["grpc"]), ("core", ["gpr"])])
def test_one_path_of_pkg_config_relinks_a_program(source, modules, user, prefix):
    env = {"PKG_CONFIG_PATH": f"{only(prefix, 'grpc++.pc')}:{only(prefix, 'coracle-tls.pc')}"}
    flags = user.run("pkg-config", "--cflags", "--libs", *modules, env=env).split()
    program = user.scratch / "_".join(modules)
    user.run("g++", "-std=c++17", "-o", program, CONSUME / f"relinked/{source}.cpp", *flags)
    user.run(program)
    assert not GOOGLES.search(user.run("ldd", program))


def test_a_program_over_asio_grpc_links_the_targets(user, prefix):
    built = user.build(CONSUME / "agrpc", user.scratch / "agrpc", f"-DCMAKE_PREFIX_PATH={prefix}")
    assert user.run(built / "hello") == "Hello world\n"
    assert not GOOGLES.search(user.run("ldd", built / "hello"))


def test_a_project_that_asks_for_nothing_does_not_find_it(user, prefix):
    includes = user.run("pkg-config", "--cflags", "coracle-tls", env={"PKG_CONFIG_PATH": str(only(prefix, "coracle-tls.pc"))})
    assert "coracle-grpcpp" not in includes
    assert not (prefix / "include/grpcpp").exists()
