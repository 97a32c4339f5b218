"""coracle new: the project that it makes is configured against the installed library, built, tested and run."""

import json
import os
import re
import shutil

import pytest
import yaml

from programs import BUILD, ROOT, Server, own, run

BUILD_LIMIT_S = 240
FILES = {".clang-tidy", ".dockerignore", ".github/workflows/ci.yml", ".gitignore", ".gitlab-ci.yml", ".vscode/launch.json",
         ".vscode/tasks.json", "CMakeLists.txt", "CMakePresets.json", "Dockerfile", "README.md", "client.cpp", "greeter.hpp",
         "greeter_test.cpp", "movie_shop.proto", "scripts/check_coroutines", "server.cpp"}
CONFIGURE = ("-DCMAKE_CXX_COMPILER=g++", "-G", "Ninja", f"-DCMAKE_CXX_COMPILER_LAUNCHER={shutil.which('ccache') or ''}",
             "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Wpedantic -Wshadow -Werror")
# What the client of a variant prints for Ada.
VARIANTS = {
    "--empty": None,
    "--unary": ["Hello, Ada"],
    "--streaming": ["Hello, Ada (1 of 2)", "Hello, Ada (2 of 2)", "Hello, Ada and Ada", "Hello, Ada", "Hello, Ada"],
    "--tls": ["Hello, Ada"] + [f"Hello, Ada ({n} of 3)" for n in (1, 2, 3)],
}


def new(folder, *variant):
    return run(own("coracle"), "new", folder, *variant)


def files_in(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def succeed(*command, limit_s=BUILD_LIMIT_S):
    done = run(*command, limit_s=limit_s)
    reasons = [line.strip() for line in (done.stdout + done.stderr).splitlines() if "rror" in line]
    assert done.returncode == 0, f"{command[0]}'s exit code ({(reasons or ['no reason'])[0]})"
    return done.stdout


def refused(folder, *says, code=65):
    done = new(folder)
    assert done.returncode == code, f"the exit code for {str(folder)!r} ({done.stderr.strip()})"
    assert done.stdout == "", "what is on stdout"
    text = done.stderr.strip()
    assert "\n" not in text, f"not one line, but {text!r}"
    for part in says:
        assert part in text, f"{text!r} does not say {part!r}"


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """The folder of a new project. It is made, built and changed by the tests that take it, in their order."""
    return tmp_path_factory.mktemp("new") / "movie-shop"


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """Where the library is installed."""
    folder = tmp_path_factory.mktemp("prefix")
    succeed("cmake", "--install", BUILD, "--prefix", folder)
    return folder


def test_the_files_bear_the_projects_name(project):
    done = new(project)
    assert done.returncode == 0, f"the exit code ({done.stderr.strip()})"
    assert done.stdout == "", "what is on stdout"
    assert f"cd {project}\n" in done.stderr and "ctest" in done.stderr, f"it says {done.stderr!r}"
    page = (ROOT / "docs/cli/new.md").read_text().split("```sh\n", 1)[1].split("```", 1)[0].splitlines()[1:]
    printed = [re.sub(r"cd .*", "cd movie-shop", line.strip()) for line in done.stderr.splitlines()]
    assert printed[1:-1] == page and page[0] == "cd movie-shop", "what docs/cli/new.md shows"
    assert files_in(project) == FILES, "what is made"
    for name in FILES:
        text = (project / name).read_text()
        assert not any(part in text for part in ("project_name", "project-name", "CORACLE_LIBRARY")), f"a placeholder is left in {name}"
    assert "package movie_shop;" in (project / "movie_shop.proto").read_text(), "the package has another name"
    assert (project / "README.md").read_text().startswith("# movie-shop\n"), "README.md has another title"


@pytest.mark.timeout(BUILD_LIMIT_S)
def test_it_builds_and_passes_its_test(project, prefix):
    succeed("cmake", "-S", project, "-B", project / "build", f"-DCMAKE_PREFIX_PATH={prefix}", *CONFIGURE)
    succeed("cmake", "--build", project / "build")
    assert "100% tests passed, 0 tests failed out of 1" in succeed("ctest", "--test-dir", project / "build"), "not one test ran"


def test_its_server_serves_its_client(project):
    with Server(project / "build/movie_shop_server", "127.0.0.1:0") as server:
        done = run(project / "build/movie_shop_client", server.address, "Ada")
        assert done.returncode == 0, f"the client's exit code ({done.stderr.strip()})"
        assert done.stdout.splitlines() == ["Hello, Ada"] + [f"Hello, Ada ({n} of 3)" for n in (1, 2, 3)], "what it prints"
        done = run(own("coracle"), "call", server.address, "-p", "Greet", "-d", '{"name": "Ada"}')  # as its README.md has it
        assert json.loads(done.stdout or "{}") == {"text": "Hello, Ada"}, f"the reply to coracle call ({done.stderr.strip()})"
        assert server.stop() == 0, "the server's exit code"
        lonely = run(project / "build/movie_shop_client", server.address)
    assert lonely.returncode == 1, "the client's exit code without a server"
    assert lonely.stderr.startswith("movie_shop_client: UNAVAILABLE"), f"it says {lonely.stderr!r}"


@pytest.mark.timeout(BUILD_LIMIT_S)
def test_its_test_can_fail(project):
    service = project / "greeter.hpp"
    text = service.read_text()
    service.write_text(text.replace('greeting.set_text("Hello, " + request.name());', ""))
    assert service.read_text() != text, "the service has another text"
    succeed("cmake", "--build", project / "build", "--target", "movie_shop_test")
    done = run("ctest", "--test-dir", project / "build", "--output-on-failure")
    assert done.returncode != 0 and "FAILED: it greets by name" in done.stdout, f"ctest says {done.stdout!r}"


@pytest.mark.timeout(BUILD_LIMIT_S)
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_variant_builds_passes_its_test_and_runs(tmp_path, prefix, variant):
    folder = tmp_path / "movie-shop"
    assert new(folder, variant).returncode == 0
    assert files_in(folder) == FILES, "what is made"
    build = folder / "build"
    succeed("cmake", "--preset", "release", "-S", folder, f"-DCMAKE_PREFIX_PATH={prefix}", *CONFIGURE)
    succeed("cmake", "--build", build)
    assert "100% tests passed, 0 tests failed out of 1" in succeed("ctest", "--test-dir", build), "not one test ran"
    certs, ca = (), ()
    if variant == "--tls":
        succeed(own("coracle"), "certs", "localhost", "127.0.0.1", "--out", folder / "certs")
        certs, ca = (folder / "certs",), (folder / "certs/ca.pem",)
    with Server(build / "movie_shop_server", "127.0.0.1:0", *certs) as server:
        done = run(build / "movie_shop_client", server.address, "Ada", *ca)
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines() == (VARIANTS[variant] or [f"connected to {server.address}"])


def test_only_one_variant_is_chosen(tmp_path):
    assert new(tmp_path / "shop", "--tls", "--empty").returncode == 64
    assert not (tmp_path / "shop").exists()


@pytest.mark.timeout(BUILD_LIMIT_S)
def test_the_check_of_coroutines_finds_what_the_compiler_breaks(project):
    """After the tests above, which have built the project."""
    client = project / "client.cpp"
    text = client.read_text()
    hazard = """struct words { std::string first; };
coracle::task<> take(words) { co_return; }
coracle::task<> give() { co_await take({.first = "x"}); }
}  // namespace
"""
    check = ("sh", project / "scripts/check_coroutines", project / "build", client)
    done = run(*check, limit_s=BUILD_LIMIT_S)
    assert done.returncode == 0, done.stdout + done.stderr
    client.write_text(text.replace("}  // namespace\n", hazard, 1))
    done = run(*check, limit_s=BUILD_LIMIT_S)
    client.write_text(text)
    assert done.returncode == 1 and "client.cpp:" in done.stdout and "name these temporaries" in done.stderr, done.stdout + done.stderr
    client.write_text(text.replace("}  // namespace\n", hazard.replace("co_await take({.first = \"x\"})", "words w{.first = \"x\"}; co_await take(w)"), 1))
    done = run(*check, limit_s=BUILD_LIMIT_S)
    client.write_text(text)
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_other_programs_read_is_valid(project):
    for name in ("CMakePresets.json", ".vscode/launch.json", ".vscode/tasks.json"):
        json.loads((project / name).read_text())
    for name in (".github/workflows/ci.yml", ".gitlab-ci.yml", ".clang-tidy"):
        yaml.safe_load((project / name).read_text())
    assert run("sh", "-n", project / "scripts/check_coroutines").returncode == 0
    for line in (project / "Dockerfile").read_text().replace("\\\n", "").splitlines():
        assert re.match(r"(#.*|FROM .*|RUN .*|COPY .*|EXPOSE \d+|ENTRYPOINT \[.*\]|)$", line), line


def test_a_folder_with_something_in_it_is_left_alone(tmp_path):
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "server.cpp").write_text("mine")
    refused(taken, "taken exists and is not empty")
    assert sorted(os.listdir(taken)) == ["server.cpp"], "what is in the folder"
    assert (taken / "server.cpp").read_text() == "mine", "what was there"
    (tmp_path / "file").write_text("mine")
    refused(tmp_path / "file", "is not a directory")


def test_force_replaces_the_files_of_the_project(tmp_path):
    taken = tmp_path / "taken"
    taken.mkdir()
    for name in ("server.cpp", "other.txt"):
        (taken / name).write_text("mine")
    done = run(own("coracle"), "new", taken, "--force")
    assert done.returncode == 0, done.stderr
    assert "coracle" in (taken / "server.cpp").read_text() and (taken / "other.txt").read_text() == "mine"
    assert len(files_in(taken)) == len(FILES) + 1, "the number of files"


def test_an_empty_folder_is_filled(tmp_path):
    (tmp_path / "empty-one").mkdir()
    assert new(tmp_path / "empty-one").returncode == 0, "the exit code"
    assert len(files_in(tmp_path / "empty-one")) == len(FILES), "the number of files"


def test_folders_above_are_made(tmp_path):
    assert new(f"{tmp_path / 'above/below'}/").returncode == 0, "the exit code"
    assert (tmp_path / "above/below/below.proto").exists(), "there is no below.proto"


def test_a_name_that_is_no_identifier_is_refused(tmp_path):
    for name in ("Movies", "1st", "movie--shop", "movie_-shop", "-shop", "shop-", "movie.shop", "movie shop", "büro", "_shop"):
        done = run(own("coracle"), "new", "--", tmp_path / name)
        assert done.returncode == 64, f"the exit code for {name!r}"
        assert f"'{name}'" in done.stderr and "as in movie-shop" in done.stderr, f"it says {done.stderr!r}"
        assert not (tmp_path / name).exists(), f"{name} was made"


def test_a_name_that_cplusplus_has_already_is_refused(tmp_path):
    for name in ("class", "co-await", "std", "coracle", "time", "log", "size-t", "main"):
        refused(tmp_path / name, f"'{name.replace('-', '_')}'", f"{name}-service", code=64)
        assert not (tmp_path / name).exists(), f"{name} was made"
