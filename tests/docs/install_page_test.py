"""docs/start/install.md, and the development container that it names, use the packages, options and files that there are."""

import json
import re

import pytest

from programs import ROOT

PAGE = (ROOT / "docs/start/install.md").read_text()
# Of scripts/packages.txt's group build: what ./dev and the examples need beyond a build of the library and the program.
NOT_NEEDED = {"ccache", "git", "ca-certificates", "python3", "libsqlite3-dev"}


def needed(release):
    """The packages of the group build, for this release."""
    lines = (ROOT / "scripts/packages.txt").read_text().splitlines()
    groups = [line.partition(":") for line in lines if re.match(r"build(@|:)", line)]
    return {package.split("/")[0] for name, _, packages in groups if name.partition("@")[2] in ("", release.removeprefix("debian"))
            for package in packages.split()} - NOT_NEEDED


LINES = dict(re.findall(r"<!-- packages: (\w+) -->\n *```sh\n *sudo apt-get install (.*)\n", PAGE))


def test_each_release_has_a_line():
    assert set(LINES) == {"debian12", "debian13"}


@pytest.mark.parametrize("release", LINES)
def test_the_line_names_what_the_build_needs(release):
    assert set(LINES[release].split()) == needed(release)


def test_the_packages_have_these_names():
    """Of the guide's table, which has the minor version for its place in packaging/debian."""
    guide = (ROOT / "docs/guides/install.md").read_text()
    named = re.findall(r"^\| `([\w.-]+)` \|", guide[guide.index("## Debian packages"):guide.index("## A container of the command")], re.M)
    minor = re.search(r"project\(coracle VERSION (\d+\.\d+)", (ROOT / "CMakeLists.txt").read_text())[1]
    made = re.findall(r"^Package: (.*)$", (ROOT / "packaging/debian/control").read_text(), re.M)
    assert sorted(named) == sorted(name.replace("@SOVERSION@", minor) for name in made)
    assert {"libcoracle-dev", "coracle"} <= set(re.findall(r"^`([\w-]+)` holds", PAGE, re.M))


def test_the_options_of_the_build_exist():
    text = (ROOT / "CMakeLists.txt").read_text()
    options = re.findall(r"-D(CORACLE_\w+)=", PAGE)
    assert options and [name for name in options if f"option({name} " not in text] == []


def test_the_development_container_installs_what_the_tests_need():
    command = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text())["onCreateCommand"].split()
    needed = re.search(r"^  test\)\n.*?else need ([\w ]+);", (ROOT / "dev").read_text(), re.M | re.S)[1].split()
    assert "build" in needed and (ROOT / command[0]).is_file() and set(needed) <= set(command[1:])


def test_the_development_container_installs_groups_that_exist():
    command = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text())["onCreateCommand"].split()
    groups = {re.match(r"\w+", line)[0] for line in (ROOT / "scripts/packages.txt").read_text().splitlines() if re.match(r"\w+(@\d+)?:", line)}
    assert (ROOT / command[0]).is_file() and command[1:] and set(command[1:]) <= groups
