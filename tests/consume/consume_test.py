"""Other projects use the library as it is installed, by CMake and by make. slow/subproject_test.py has it as a subproject and shared."""

import gzip
import http.client
import re
import shutil
import subprocess

import pytest

from programs import ROOT
from user_project import CONSUME, LIMIT_S, User, link_by_make, pkg_config_path

pytestmark = pytest.mark.timeout(LIMIT_S)
WITHOUT_OPENSSL = "-DCMAKE_DISABLE_FIND_PACKAGE_OpenSSL=ON"
OPTIONAL = """cmake_minimum_required(VERSION 3.25)
project(optional CXX)
find_package(coracle REQUIRED)
if(NOT TARGET coracle::coracle OR TARGET coracle::tls)
  message(FATAL_ERROR "not the library without TLS")
endif()
"""
# Asks again and again, as different projects do: a version or a range each, with what comes of it.
VERSIONS = """cmake_minimum_required(VERSION 3.25)
project(versions CXX)
foreach(version IN LISTS VERSIONS)
  set(coracle_DIR coracle_DIR-NOTFOUND CACHE PATH "" FORCE)
  find_package(coracle ${version} QUIET COMPONENTS telemetry grpcpp OPTIONAL_COMPONENTS oars)
  message("${version}: ${coracle_FOUND} ${coracle_oars_FOUND}")
endforeach()
"""


@pytest.fixture(scope="module")
def user():
    return User("all")


@pytest.fixture(scope="module")
def prefix(user):
    """Where the build that is tested is installed."""
    return user.install()


@pytest.fixture(scope="module")
def installed(user, prefix):
    """By its minor version, as docs/guides/upgrading.md advises."""
    minor = re.search(r"project\(coracle VERSION (\d+\.\d+)", (ROOT / "CMakeLists.txt").read_text())[1]
    return user.build(CONSUME / "installed", user.scratch / "installed", f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCORACLE_VERSION={minor}")


def links_openssl(user, program):
    return re.search(r"libssl|libcrypto", user.run("ldd", program))


def test_an_installed_package_is_found_linked_and_run(user, installed):
    user.run(installed / "program")
    user.run(installed / "served")


def test_a_program_without_tls_links_no_openssl(user, installed):
    user.run(installed / "secured")
    assert links_openssl(user, installed / "secured")
    assert not links_openssl(user, installed / "served")


def test_a_program_that_does_not_ask_for_control_planes_has_nothing_of_them(user, installed):
    assert "libre2" not in user.run("ldd", installed / "served")
    symbols = user.run("nm", "--format=posix", installed / "served")
    assert "7coracle" in symbols and "7coracle3xds" not in symbols


def test_metrics_of_a_program_without_zstd_come_in_gzip(installed):
    """Whatever the client prefers."""
    process = subprocess.Popen([installed / "scraped"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        connection = http.client.HTTPConnection("127.0.0.1", int(process.stdout.readline()), timeout=20)
        connection.request("GET", "/metrics", headers={"accept-encoding": "zstd, gzip;q=0.5"})
        response = connection.getresponse()
        assert (response.status, response.headers["content-encoding"]) == (200, "gzip")
        assert b"# TYPE" in gzip.decompress(response.read())
    finally:
        process.stdin.close()
        assert process.wait(20) == 0


def test_a_program_that_links_statically_chooses_its_encodings(user, installed):
    always = ["identity", "deflate", "gzip"]
    assert user.run(installed / "encodings_gzip").split() == always
    assert user.run(installed / "encodings_zstd").split() == [*always, "zstd"]
    assert user.run(installed / "encodings").split()[:4] == [*always, "zstd"]
    loaded = user.run("ldd", installed / "encodings_gzip")
    assert "libz.so" in loaded
    assert not re.search(r"libzstd|libbrotli|libsnappy|liblz4", loaded)


def test_the_installed_package_does_not_point_into_the_sources(user, prefix):
    files = [path for path in prefix.rglob("*") if path.suffix in (".cmake", ".pc")]
    assert {"coracle_targets.cmake", "coracle-c.pc", "coracle-console.pc", "coracle-tls.pc"} <= {path.name for path in files}
    assert not (prefix / "share/doc").exists()
    pointing = [f"{path.name}: {line}" for path in files for line in path.read_text().splitlines()
                if "coracle_build" in line or "/src/" in line or str(user.scratch) in line]
    assert not pointing


def test_a_protobuf_that_is_too_old_is_refused_with_what_to_do(user):
    old = user.scratch / "old/lib/cmake/protobuf"
    old.mkdir(parents=True)
    (old / "protobuf-config.cmake").write_text("")
    (old / "protobuf-config-version.cmake").write_text('set(PACKAGE_VERSION "3.12.4")\nset(PACKAGE_VERSION_COMPATIBLE TRUE)\n')
    done = user.attempt("cmake", "-S", ROOT, "-B", user.scratch / "old/build", f"-DCMAKE_PREFIX_PATH={user.scratch / 'old'}")
    assert done.returncode != 0
    told = " ".join(done.stdout.split())
    assert "Coracle needs protobuf 3.21 or newer" in told and "is 3.12.4; fix: install libprotobuf-dev" in told, done.stdout


@pytest.mark.parametrize(("options", "env", "said"), [
    (("-DCMAKE_DISABLE_FIND_PACKAGE_Protobuf=ON", "-DCMAKE_DISABLE_FIND_PACKAGE_protobuf=ON"), {},
     "Coracle needs protobuf 3.21 or newer, and CMake finds none; fix: install libprotobuf-dev"),
    (("-DCORACLE_COMPRESSIONS=lz4,zip",), {}, "CORACLE_COMPRESSIONS has 'zip'; it may have brotli, lz4 and snappy, or be 'found'"),
    ((), {"PKG_CONFIG_LIBDIR": "/nowhere"},
     "Coracle needs liburing>=2.3, which pkg-config does not find (Debian: apt-get install liburing-dev)"),
], ids=["protobuf", "compressions", "liburing"])
def test_what_is_missing_is_named_with_how_to_get_it(options, env, said, user):
    done = user.attempt("cmake", "-S", ROOT, "-B", user.scratch / f"missing/{len(said)}", *options, env=env)
    assert done.returncode != 0
    assert said in " ".join(done.stdout.split()), done.stdout


def test_an_unknown_component_is_named(user, prefix):
    folder = user.project("component", "found")
    lists = folder / "CMakeLists.txt"
    lists.write_text(lists.read_text().replace("COMPONENTS tls", "COMPONENTS oars"))
    done = user.attempt("cmake", "-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    assert done.returncode != 0
    assert "coracle has no component oars; it has module, tls, telemetry, console, naming, xds, grpcpp_xds, grpcpp, " in " ".join(done.stdout.split())


def test_versions_and_ranges_of_them_are_compared(user, prefix):
    """A version is compatible with its own minor version, and a range with what the project says."""
    now = re.search(r"project\(coracle VERSION (\d+)\.(\d+)\.(\d+)", (ROOT / "CMakeLists.txt").read_text())
    major, minor, patch = (int(part) for part in now.groups())
    this, following = f"{major}.{minor}", f"{major}.{minor + 1}"
    expected = {this: 1, f"{this}.{patch}": 1, f"{this}.{patch + 1}": 0, following: 0, f"{major}": 0,
                f"{this}...<{following}": 1, f"0.1...{this}.{patch}": 1, f"0.1...{major + 1}": 1,
                f"0.1...<{this}": 0, f"0.1...<{this}.{patch}": 0, f"{following}...{major + 1}": 0}
    folder = user.scratch / "versions"
    folder.mkdir()
    (folder / "CMakeLists.txt").write_text(VERSIONS)
    said = user.run("cmake", "-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={prefix}", f"-DVERSIONS={';'.join(expected)}")
    found = dict(re.findall(r"^(\S+): ([01]) ", said, re.M))
    assert {version: int(value) for version, value in found.items()} == expected
    assert f"{this}: 1 FALSE" in said, "a component that does not exist is no error where it is optional"


def test_without_openssl_only_the_tls_component_is_missing(user, prefix):
    """CMake is told that there is no OpenSSL."""
    without = (f"-DCMAKE_PREFIX_PATH={prefix}", WITHOUT_OPENSSL)
    optional = user.scratch / "optional"
    optional.mkdir()
    (optional / "CMakeLists.txt").write_text(OPTIONAL)
    user.run("cmake", "-S", optional, "-B", optional / "build", *without)
    required = user.project("required", "found")
    done = user.attempt("cmake", "-S", required, "-B", required / "build", *without)
    assert done.returncode != 0
    assert "the component tls needs OpenSSL 3.0 or newer" in done.stdout


def test_a_program_in_c_links_the_c_interface_alone(user, prefix):
    """With a compiler of C, whose program needs no library of C++ to link."""
    folder = user.scratch / "plain_c"
    shutil.copytree(CONSUME / "plain_c", folder)
    modules = pkg_config_path(prefix)
    env = {"PKG_CONFIG_PATH": str(modules), "LD_LIBRARY_PATH": str(modules.parent)}
    user.run("make", cwd=folder, env=env)
    assert user.run(folder / "program", env=env) == "UNAVAILABLE\n"
    assert user.run("pkg-config", "--static", "--libs", "coracle-c", env=env).split()[1:] == ["-lcoracle_c"]


def test_make_and_pkg_config_link(user, prefix):
    link_by_make(user, prefix, "make-static")


def test_pkg_config_names_what_a_static_library_stands_on(user, prefix):
    named = user.run("pkg-config", "--static", "--libs", "coracle-tls", env={"PKG_CONFIG_PATH": str(pkg_config_path(prefix))}).split()
    assert {"-luring", "-lcares", "-lzstd", "-lssl"} <= set(named)
    assert any("make_zstd" in word for word in named), "a program without CMake would have no zstd"
