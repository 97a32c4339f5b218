"""Projects that were written for grpc++ and asio-grpc are built with Coracle: by gRPC_DIR, by a path of pkg-config, and by the
targets of the package."""

import pathlib
import re
import signal

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
    for name in ("grpc++_unsecure", "grpc++_error_details", "grpc++_alts", "grpc", "grpc_unsecure", "gpr", "address_sorting", "upb"):
        user.run(built / f"with_{name}")
        assert not GOOGLES.search(user.run("ldd", built / f"with_{name}"))


def test_what_the_package_of_grpcpp_finds_is_found(user, prefix):
    """A project need not look for it: programs link absl::flags and its sisters by gRPC's package alone."""
    if not pathlib.Path("/usr/include/absl/flags/flag.h").exists():
        pytest.skip("Abseil (libabsl-dev) is not installed")
    package, folder = only(prefix, "gRPCConfig.cmake"), user.scratch / "found"
    configured = user.run("cmake", "-S", CONSUME / "relinked", "-B", folder, f"-DgRPC_DIR={package}")
    for target in ("absl::flags", "ZLIB::ZLIB", "OpenSSL::SSL", "c-ares::cares", "gRPC::grpc_cpp_plugin"):
        assert f"found with gRPC: {target}\n" in configured
    user.run("cmake", "--build", folder, "--target", "with_flags")
    assert user.run(folder / "with_flags", "--target=example:1") == "example:1 has a channel\n"
    refused = user.attempt("cmake", "--build", folder, "--target", "with_plugin_support")
    assert refused.returncode != 0
    assert "coracle::grpcpp has no gRPC::grpc_plugin_support: " in refused.stdout


@pytest.mark.parametrize(("source", "modules"), [
    ("channel", ["grpc++", "grpc"]), ("channel", ["grpc++_unsecure"]), ("core", ["grpc"]), ("core", ["gpr"])])
def test_one_path_of_pkg_config_relinks_a_program(source, modules, user, prefix):
    env = {"PKG_CONFIG_PATH": f"{only(prefix, 'grpc++.pc')}:{only(prefix, 'coracle-tls.pc')}"}
    flags = user.run("pkg-config", "--cflags", "--libs", *modules, env=env).split()
    program = user.scratch / "_".join(modules)
    user.run("g++", "-std=c++17", "-o", program, CONSUME / f"relinked/{source}.cpp", *flags)
    user.run(program)
    assert not GOOGLES.search(user.run("ldd", program))


def test_a_program_has_xds_if_it_asks_for_it(user, prefix):
    """By a module of pkg-config, or an option of the build; it may name no more of it than a target."""
    paths = {"PKG_CONFIG_PATH": f"{only(prefix, 'grpc++.pc')}:{only(prefix, 'coracle-tls.pc')}"}
    flags = {name: user.run("pkg-config", "--cflags", "--libs", "grpc++", *more, env=paths).split()
             for name, more in {"without": [], "with": ["coracle-grpcpp-xds"]}.items()}
    compiled(user, "target_of_xds.o", "target_of_xds", "-c", *flags["without"])
    for name, said in {"without": "no xDS\n", "with": "xDS\n"}.items():
        program = user.scratch / f"{name}_xds"
        user.run("g++", "-o", program, user.scratch / "target_of_xds.o", *flags[name])
        assert user.run(program) == said
        assert ("libre2" in user.run("ldd", program)) == (name == "with")
    folder, package = user.scratch / "asks_for_xds", only(prefix, "gRPCConfig.cmake")
    user.run("cmake", "-S", CONSUME / "relinked", "-B", folder, f"-DgRPC_DIR={package}", "-DCORACLE_GRPCPP_XDS=ON")
    user.run("cmake", "--build", folder, "--target", "target_of_xds")
    assert user.run(folder / "target_of_xds") == "xDS\n"


def test_a_program_over_asio_grpc_links_the_targets(user, prefix):
    built = user.build(CONSUME / "agrpc", user.scratch / "agrpc", f"-DCMAKE_PREFIX_PATH={prefix}")
    assert user.run(built / "hello") == "Hello world\n"
    assert not GOOGLES.search(user.run("ldd", built / "hello"))


def test_a_project_that_asks_for_nothing_does_not_find_it(user, prefix):
    includes = user.run("pkg-config", "--cflags", "coracle-tls", env={"PKG_CONFIG_PATH": str(only(prefix, "coracle-tls.pc"))})
    assert "coracle-grpcpp" not in includes
    assert not (prefix / "include/grpcpp").exists()


@pytest.fixture(scope="module")
def flags(user, prefix):
    """Of a compiler, for programs with the adapter."""
    env = {"PKG_CONFIG_PATH": f"{only(prefix, 'grpc++.pc')}:{only(prefix, 'coracle-tls.pc')}"}
    return user.run("pkg-config", "--cflags", "--libs", "grpc++", env=env).split()


@pytest.fixture(scope="module")
def core(user):
    """Options that link Google's C core statically, and grpc++ as shared libraries."""
    if user.attempt("pkg-config", "--exists", "grpc").returncode != 0:
        pytest.skip("grpc++ (libgrpc++-dev) is not installed")
    needed = [word for word in user.run("pkg-config", "--static", "--libs", "grpc").split() if word != "-lgrpc"]
    return {"static": ["-l:libgrpc.a", *needed], "shared": ["-Wl,--no-as-needed", "-lgrpc++", "-lgrpc"]}


def compiled(user, name, source, *options):
    """The path of a program or library of that name."""
    user.run("g++", "-std=c++17", "-o", user.scratch / name, CONSUME / f"relinked/{source}.cpp", *options)
    return user.scratch / name


def ends_with_one_line(done):
    assert done.returncode == -signal.SIGABRT, done.stdout
    assert "this process also has Google's grpc++" in done.stdout


def test_googles_core_in_the_program_itself_ends_it(user, flags, core):
    other = compiled(user, "other.o", "other_library", "-c")
    ends_with_one_line(user.attempt(compiled(user, "static", "beside", other, *flags, *core["static"])))


def test_googles_core_of_a_shared_library_ends_the_program(user, flags, core):
    library = compiled(user, "libother.so", "other_library", "-shared", "-fPIC", *core["shared"])
    program = compiled(user, "shared", "beside", library, f"-Wl,-rpath,{user.scratch}", *flags)
    assert "libgrpc++" in user.run("readelf", "-d", library)
    ends_with_one_line(user.attempt(program))


def test_a_plugin_in_a_program_with_googles_core_ends_it(user, flags, core):
    other = compiled(user, "other_of_host.o", "other_library", "-c")
    host = compiled(user, "plugin_host", "plugin_host", other, *core["shared"], "-ldl")
    plugin = compiled(user, "plugin.so", "plugin", "-shared", "-fPIC", *flags)
    ends_with_one_line(user.attempt(host, plugin))
