"""`./dev package` makes Debian packages: what is in them, what they depend on, lintian's opinion, and their own tests in a Debian that has
nothing else."""

import os
import re
import shutil

import pytest

import hardening
import repository
from programs import ROOT
from user_project import LIMIT_S, User

pytestmark = pytest.mark.timeout(3 * LIMIT_S)
MADE = ROOT / "build/package"
SOVERSION = re.search(r"project\(coracle VERSION (\d+\.\d+)", (ROOT / "CMakeLists.txt").read_text())[1]
RUNTIME = f"libcoracle{SOVERSION}"
# Of each package: a pattern of its files, without those that each has below share/doc, and what it has to depend on.
PACKAGES = {
    RUNTIME: (r"lib/[^/]+/libcoracle(_console|_naming|_telemetry|_tls|_xds)?\.so\.[0-9.]+",
              ("libbrotli1", "libc-ares2", "liblz4-1", "libprotobuf", "libre2-", "libsnappy1", "libssl3", "liburing2", "libzstd1", "zlib1g")),
    "libcoracle-c1": (r"lib/[^/]+/libcoracle_c\.so\.[0-9.]+", (RUNTIME,)),
    "libcoracle-dev": (r"include/(coracle|coracle-agrpc|coracle-grpcpp)/.*|include/coracle\.h|lib/[^/]+/(libcoracle\w*\.so|libcoracle_grpcpp\.a|"
                       r"(cmake/coracle|cmake/coracle-grpcpp|pkgconfig|coracle-grpcpp/pkgconfig)/[^/]+)|"
                       r"share/(coracle|gdb/auto-load)/.*\.(bt|cppm|json|proto|py|yml)",
                       (f"{RUNTIME} (= ", "libcoracle-c1 (= ", "protobuf-compiler-coracle (= ", "libprotobuf-dev")),
    "protobuf-compiler-coracle": (r"bin/protoc-gen-coracle", ("protobuf-compiler", "libprotoc")),
    "coracle": (r"bin/coracle|share/(bash-completion|fish|man|zsh)/.*", (RUNTIME, "libedit2", "libssl3")),
}
OF_TESTS = ("CXX", "CMAKE_GENERATOR", "CMAKE_BUILD_TYPE", "CMAKE_CXX_COMPILER_LAUNCHER", "CCACHE_BASEDIR", "CCACHE_NOHASHDIR", "CORACLE_SOURCE_DIR",
            "TMPDIR")
WITHOUT = " ".join(f"--unset={name}" for name in OF_TESTS)


@pytest.fixture(scope="module")
def user():
    return User("debian")


@pytest.fixture(scope="module")
def packages(user):
    """By name; made as a person makes them."""
    user.run("env", *WITHOUT.split(), ROOT / "dev", "package", limit_s=3 * LIMIT_S)
    return {path.name.partition("_")[0]: path for path in (MADE / "packages").glob("*.deb")}


@pytest.fixture(scope="module")
def root(user, packages):
    """All of them, unpacked in one place."""
    for path in packages.values():
        user.run("dpkg-deb", "--extract", path, user.scratch / "root")
    return user.scratch / "root"


@pytest.fixture(scope="module")
def libraries(root):
    """The environment in which programs find the unpacked libraries."""
    (library,) = root.glob("usr/lib/*/libcoracle.so")
    return {"LD_LIBRARY_PATH": str(library.parent)}


def field(user, path, name):
    return user.run("dpkg-deb", "--field", path, name).strip()


def test_there_is_a_source_package_and_each_binary_package(packages):
    assert {*packages} == {*PACKAGES}
    assert len([*MADE.glob("coracle_*.dsc"), *MADE.glob("coracle_*.orig.tar.gz"), *MADE.glob("coracle_*.debian.tar.xz")]) == 3


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_holds_its_files_alone_and_depends_on_what_they_need(name, user, packages):
    pattern, needed = PACKAGES[name]
    listed = re.findall(r"^[-l]\S+ .*? \./usr/(\S+)", user.run("dpkg-deb", "--contents", packages[name]), re.M)
    documents = re.compile(rf"share/(doc/{re.escape(name)}|lintian)/.*")
    assert [path for path in listed if not re.fullmatch(pattern, path) and not documents.fullmatch(path)] == []
    assert any(re.fullmatch(pattern, path) for path in listed)
    depends = f', {field(user, packages[name], "Depends")}'
    assert [one for one in needed if f", {one}" not in depends] == [], depends
    assert field(user, packages[name], "Homepage") == repository.address(repository.Tree(ROOT))


def test_the_libraries_state_which_package_programs_depend_on(user, packages):
    """Programs that dpkg-shlibdeps reads need at least this version of the SONAME's package."""
    for name, library in ((RUNTIME, f"libcoracle_tls {SOVERSION}"), ("libcoracle-c1", "libcoracle_c 1")):
        user.run("dpkg-deb", "--control", packages[name], user.scratch / name)
        assert f"{library} {name} (>= " in (user.scratch / name / "shlibs").read_text()


def test_a_project_builds_against_the_unpacked_packages(user, root, libraries):
    folder = user.project("yard", "found")
    served = user.build(folder, folder / "build", f"-DCMAKE_PREFIX_PATH={root}/usr") / "served"
    user.run(served)
    assert f"{libraries['LD_LIBRARY_PATH']}/libcoracle.so.{SOVERSION}" in user.run("ldd", served)


def test_the_command_runs_with_the_unpacked_libraries(user, root, libraries):
    user.run(root / "usr/bin/coracle", "--version", env=libraries)


def test_what_they_install_is_hardened(root):
    """Not each of them calls a function that can be fortified."""
    programs = [*root.glob("usr/bin/*"), *root.glob("usr/lib/*/libcoracle*.so.*.*.*")]
    assert len(programs) == 7
    for path in programs:
        assert hardening.missing_in_program(path) in ([], ["fortified functions"]), path


def test_lintian_finds_no_error(user, packages):
    """Nor a warning but those that a package outside of Debian's archive has, that protoc-gen-coracle has no page of the manual, and that
    scripts for bpftrace are examples, which users run by its name."""
    (changes,) = MADE.glob("coracle_*.changes")
    for path in packages.values():  # where the .changes file looks for them
        shutil.copy(path, MADE)
    said = user.run("lintian", "--allow-root", "--fail-on=error", changes)
    expected = ("initial-upload-closes-no-bugs", "no-manual-page", "script-not-executable", "unusual-interpreter")
    assert [line for line in said.splitlines() if line.startswith(("E:", "W:")) and not any(tag in line for tag in expected)] == []


def test_their_own_tests_pass_in_a_debian_that_has_nothing_else(user, packages):
    """autopkgtest installs the packages with what they depend on, and runs debian/tests."""
    assert os.geteuid() == 0, "autopkgtest installs packages in a chroot: run this as root"
    release = re.search(r"^VERSION_CODENAME=(\w+)", open("/etc/os-release").read(), re.M)[1]
    kept = ROOT / "build/autopkgtest" / release
    if not (kept / "made").exists():
        shutil.rmtree(kept, ignore_errors=True)
        kept.parent.mkdir(parents=True, exist_ok=True)
        user.run("debootstrap", "--variant=minbase", release, kept)
        (kept / "made").touch()
    chroot = user.scratch / "chroot"
    user.run("cp", "--archive", kept, chroot)
    for settings in os.listdir("/etc/apt/apt.conf.d"):  # by which apt reaches its servers from this machine
        shutil.copy(f"/etc/apt/apt.conf.d/{settings}", chroot / "etc/apt/apt.conf.d")
    (source,) = MADE.glob("coracle_*.dsc")
    # protoc finds its own files by way of /proc; the mount ends with the namespace.
    said = user.run("unshare", "--mount", "sh", "-euc",
                    f"mount -t proc proc {chroot}/proc; exec env {WITHOUT} autopkgtest --no-built-binaries --apt-upgrade \"$@\" -- chroot {chroot}", "sh",
                    *packages.values(), source, limit_s=3 * LIMIT_S)
    assert sorted(set(re.findall(r"^(\S+) +PASS", said, re.M))) == ["cmake", "command", "pkg-config"], said[-3000:]
