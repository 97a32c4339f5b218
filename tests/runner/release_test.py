"""scripts/release.py, in a copy of the files that have the version."""

import importlib.util
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOW = "2.7.0-dev"
CHANGES = "# Changes\n\n## Unreleased\n\n- [One](README.md).\n\n## 2.6.0 (2026-01-31)\n\n- Another.\n"


@pytest.fixture
def release(tmp_path, monkeypatch):
    """The script, for a repository whose version is NOW."""
    spec = importlib.util.spec_from_file_location("release", ROOT / "scripts/release.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    for path in {place[0] for place in module.PLACES}:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, tmp_path / path)
    module.write(module.Version(NOW))
    (tmp_path / "CHANGELOG.md").write_text(CHANGES)
    abi = tmp_path / "packaging/abi"
    abi.mkdir()
    for library in ("libcoracle", "libcoracle_tls"):
        (abi / f"{library}.so.2.7.abi.xz").touch()
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    commit(tmp_path)
    return module


def commit(tree):
    for words in (["add", "--all"], ["-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "--quiet", "--no-verify", "-m", "a"]):
        subprocess.run(["git", *words], cwd=tree, check=True)


def test_all_places_of_this_tree_have_its_version():
    spec = importlib.util.spec_from_file_location("release", ROOT / "scripts/release.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert not list(module.differing(module.current()))


def test_a_release_is_cut_and_may_be_released(release, tmp_path):
    release.cut("2.7.0")
    commit(tmp_path)
    assert release.current().text == "2.7.0"
    assert "## 2.7.0 (20" in (tmp_path / "CHANGELOG.md").read_text()
    assert not list(release.faults())


def test_the_version_after_it_is_no_release(release, tmp_path):
    release.cut("2.7.0")
    release.following("2.8.0")
    commit(tmp_path)
    assert "## Unreleased\n\n## 2.7.0 (" in (tmp_path / "CHANGELOG.md").read_text()
    assert 'version_text = "2.8.0-dev"' in (tmp_path / "include/coracle/base/version.hpp").read_text()
    assert '\nversion = "2.8.0.dev0"' in (tmp_path / "languages/python/pyproject.toml").read_text()
    assert any("2.8.0-dev is a version between releases" in fault for fault in release.faults())


@pytest.mark.parametrize(("spoil", "said"), [
    (lambda tree: (tree / "packaging/vcpkg/coracle/vcpkg.json").write_text('{"version-semver": "2.6.9"}'), "2.6.9 is not 2.7.0"),
    (lambda tree: (tree / "packaging/abi/libcoracle.so.2.7.abi.xz").unlink(), "no interface of libcoracle.so.2.7"),
    (lambda tree: (tree / "CHANGELOG.md").write_text("# Changes\n"), "no section '## 2.7.0 (DATE)'"),
    (lambda tree: (tree / "CHANGELOG.md").write_text("## 2.7.0 (2026-01-31)\n\n- [One](README.md)\n  entry.\n"), "more than one line"),
    (lambda tree: (tree / "CHANGELOG.md").write_text("## 2.7.0 (2026-01-31)\n\n- One.\n"), "has no link"),
    (lambda tree: (tree / "CHANGELOG.md").write_text("## 2.7.0 (soon)\n\n- [One](README.md).\n"), "'soon' is no date"),
    (lambda tree: subprocess.run(["git", "tag", "v2.7.0"], cwd=tree, check=True), "the tag v2.7.0 exists"),
])
def test_what_keeps_a_tree_from_being_released_is_named(release, tmp_path, spoil, said):
    release.cut("2.7.0")
    spoil(tmp_path)
    commit(tmp_path)
    assert [fault for fault in release.faults() if said in fault]


def test_nothing_is_cut_without_changes(release, tmp_path):
    (tmp_path / "CHANGELOG.md").write_text("# Changes\n\n## Unreleased\n\n## 2.6.0 (2026-01-31)\n")
    with pytest.raises(SystemExit, match="nothing under Unreleased"):
        release.cut("2.7.0")
