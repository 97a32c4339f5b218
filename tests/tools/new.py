#!/usr/bin/env python3
"""coracle new: the project that it makes is configured against the installed library, built, tested and run."""

import json
import os
import pathlib
import shutil

import stage
from stage import Cases, Server, equal, expect, own, run

BUILD = pathlib.Path(os.environ.get("CORACLE_BUILD_DIR") or stage.ROOT / "build/release")
SCRATCH = BUILD / "tools-new"
BUILD_LIMIT_S = 240
FILES = {".gitignore", "CMakeLists.txt", "README.md", "client.cpp", "greeter.hpp", "greeter_test.cpp", "movie_shop.proto",
         "server.cpp"}


def new(folder):
    return run(own("coracle"), "new", folder)


def succeed(*command, limit_s=BUILD_LIMIT_S):
    done = run(*command, limit_s=limit_s)
    reasons = [line.strip() for line in (done.stdout + done.stderr).splitlines() if "rror" in line]
    equal(done.returncode, 0, f"{command[0]}'s exit code ({(reasons or ['no reason'])[0]})")
    return done.stdout


def refused(folder, *says, code=65):
    done = new(folder)
    equal(done.returncode, code, f"the exit code for {str(folder)!r} ({done.stderr.strip()})")
    equal(done.stdout, "", "what is on stdout")
    text = done.stderr.strip()
    expect("\n" not in text, f"not one line, but {text!r}")
    for part in says:
        expect(part in text, f"{text!r} does not say {part!r}")


def the_files_bear_the_projects_name(project):
    done = new(project)
    equal(done.returncode, 0, f"the exit code ({done.stderr.strip()})")
    equal(done.stdout, "", "what is on stdout")
    expect(f"cd {project}\n" in done.stderr and "ctest" in done.stderr, f"it says {done.stderr!r}")
    equal({path.name for path in project.iterdir()}, FILES, "what is made")
    for path in project.iterdir():
        text = path.read_text()
        expect("project_name" not in text and "project-name" not in text, f"a placeholder is left in {path.name}")
    expect("package movie_shop;" in (project / "movie_shop.proto").read_text(), "the package has another name")
    expect((project / "README.md").read_text().startswith("# movie-shop\n"), "README.md has another title")


def it_builds_and_passes_its_test(project):
    prefix = SCRATCH / "prefix"
    succeed("cmake", "--install", BUILD, "--prefix", prefix)
    succeed("cmake", "-S", project, "-B", project / "build", f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_CXX_COMPILER=g++",
            "-G", "Ninja", f"-DCMAKE_CXX_COMPILER_LAUNCHER={shutil.which('ccache') or ''}",
            "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Wpedantic -Wshadow -Werror")
    succeed("cmake", "--build", project / "build")
    expect("100% tests passed, 0 tests failed out of 1" in succeed("ctest", "--test-dir", project / "build"), "not one test ran")


def its_server_serves_its_client(project):
    with Server(project / "build/movie_shop_server", "127.0.0.1:0") as server:
        done = run(project / "build/movie_shop_client", server.address, "Ada")
        equal(done.returncode, 0, f"the client's exit code ({done.stderr.strip()})")
        equal(done.stdout.splitlines(), ["Hello, Ada"] + [f"Hello, Ada ({n} of 3)" for n in (1, 2, 3)], "what it prints")
        done = run(own("coracle"), "call", server.address, "-p", "Greet", "-d", '{"name": "Ada"}')  # as its README.md has it
        equal(json.loads(done.stdout or "{}"), {"text": "Hello, Ada"}, f"the reply to coracle call ({done.stderr.strip()})")
        equal(server.stop(), 0, "the server's exit code")
        lonely = run(project / "build/movie_shop_client", server.address)
    equal(lonely.returncode, 1, "the client's exit code without a server")
    expect(lonely.stderr.startswith("movie_shop_client: UNAVAILABLE"), f"it says {lonely.stderr!r}")


def its_test_can_fail(project):
    service = project / "greeter.hpp"
    text = service.read_text()
    service.write_text(text.replace('greeting.set_text("Hello, " + request.name());', ""))
    expect(service.read_text() != text, "the service has another text")
    succeed("cmake", "--build", project / "build", "--target", "movie_shop_test")
    done = run("ctest", "--test-dir", project / "build", "--output-on-failure")
    expect(done.returncode != 0 and "FAILED: it greets by name" in done.stdout, f"ctest says {done.stdout!r}")


def a_folder_with_something_in_it_is_left_alone(scratch):
    taken = scratch / "taken"
    taken.mkdir()
    (taken / "server.cpp").write_text("mine")
    refused(taken, "taken exists and is not empty")
    equal(sorted(os.listdir(taken)), ["server.cpp"], "what is in the folder")
    equal((taken / "server.cpp").read_text(), "mine", "what was there")
    (scratch / "file").write_text("mine")
    refused(scratch / "file", "is not a directory")


def an_empty_folder_is_filled(scratch):
    (scratch / "empty-one").mkdir()
    equal(new(scratch / "empty-one").returncode, 0, "the exit code")
    equal(len(os.listdir(scratch / "empty-one")), len(FILES), "the number of files")


def folders_above_are_made(scratch):
    equal(new(f"{scratch / 'above/below'}/").returncode, 0, "the exit code")
    expect((scratch / "above/below/below.proto").exists(), "there is no below.proto")


def a_name_that_is_no_identifier_is_refused(scratch):
    for name in ("Movies", "1st", "movie--shop", "movie_-shop", "-shop", "shop-", "movie.shop", "movie shop", "büro", "_shop"):
        done = run(own("coracle"), "new", "--", scratch / name)
        equal(done.returncode, 64, f"the exit code for {name!r}")
        expect(f"'{name}'" in done.stderr and "as in movie-shop" in done.stderr, f"it says {done.stderr!r}")
        expect(not (scratch / name).exists(), f"{name} was made")


def a_name_that_cplusplus_has_already_is_refused(scratch):
    for name in ("class", "co-await", "std", "coracle", "time", "log", "size-t", "main"):
        refused(scratch / name, f"'{name.replace('-', '_')}'", f"{name}-service", code=64)
        expect(not (scratch / name).exists(), f"{name} was made")


def main():
    shutil.rmtree(SCRATCH, ignore_errors=True)
    SCRATCH.mkdir(parents=True)
    cases = Cases()
    cases.each("New", (a_folder_with_something_in_it_is_left_alone, an_empty_folder_is_filled, folders_above_are_made,
                       a_name_that_is_no_identifier_is_refused, a_name_that_cplusplus_has_already_is_refused), SCRATCH)
    cases.each("New", (the_files_bear_the_projects_name, it_builds_and_passes_its_test, its_server_serves_its_client,
                       its_test_can_fail), SCRATCH / "movie-shop")
    cases.end()


if __name__ == "__main__":
    main()
