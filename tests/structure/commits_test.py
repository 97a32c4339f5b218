"""Commit messages: the rule, which commits the structure tests judge, and the hook that ./dev writes."""

import os
import pathlib
import shutil
import subprocess

import pytest

import commit_message
import commits
from tree import DoesNotApply, Tree

ROOT = pathlib.Path(__file__).parents[2]
SINCE = "2026-01-01T00:00:00+00:00"
GOOD = "A limit is new\n\nServers had none. Now they have one.\n\nChecked: limits_test.cpp.\n"
BAD = "A limit is new\n"
FAULTS = {
    "empty": ("\n", "empty"),
    "long": (GOOD.replace("new", "n" * 60), "shorten"),
    "full stop": (GOOD.replace("new", "new."), "full stop"),
    "no blank line": (GOOD.replace("\n\nServers", "\nServers"), "blank line"),
    "no body": (BAD, "problem"),
    "no check": (GOOD.replace("Checked: limits_test.cpp.", "It is good."), "Checked"),
    "an empty check": (GOOD.replace("Checked: limits_test.cpp.", "Checked:"), "Checked"),
    "nothing but a check": (GOOD.replace("Servers had none. Now they have one.\n\n", ""), "problem"),
    "trailers alone": (BAD + "\nSigned-off-by: A\n\nChecked: limits_test.cpp.\n", "problem"),
    "to be squashed": ("fixup! A limit is new\n", "autosquash"),
}


@pytest.fixture(autouse=True)
def git_of_nobody(tmp_path, monkeypatch):
    """Git without the user's settings, and without those of a hook that runs this test."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "A")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "a@example.org")


def git(folder, *words, **environment):
    done = subprocess.run(["git", "-C", folder, *words], capture_output=True, text=True, env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def commit(folder, message, date="2026-02-02T00:00:00Z"):
    git(folder, "commit", "--allow-empty", "--no-verify", "-m", message, GIT_AUTHOR_DATE=date)


@pytest.fixture
def checkout(tmp_path):
    """A checkout with what ./dev needs here, and one commit from before the start."""
    folder = tmp_path / "checkout"
    git(tmp_path, "init", "--quiet", folder)
    for name in ("dev", "scripts/commit_message.py"):
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    (folder / "tests/structure").mkdir(parents=True)
    (folder / commits.SINCE).write_text(f"# the start\n{SINCE}\n")
    git(folder, "add", ".")
    commit(folder, "An old one.", "2025-12-31T00:00:00Z")
    return folder


def found(folder):
    return list(commits.new_messages(Tree(folder)))


@pytest.mark.parametrize(("message", "word"), FAULTS.values(), ids=FAULTS)
def test_a_fault_of_a_message_is_named(message, word):
    assert any(word in one for one in commit_message.violations(message))


def test_a_good_message_has_no_fault():
    assert not list(commit_message.violations(GOOD))
    assert not list(commit_message.violations(GOOD + "\nSigned-off-by: A <a@example.org>\n"))
    assert not list(commit_message.violations(GOOD.replace("A limit is new", "ä" * 60)))


def test_the_start_of_new_commits_is_a_time():
    assert commits.start(Tree(ROOT)) > 0


def test_commits_from_before_the_start_are_left_alone(checkout):
    assert found(checkout) == []


def test_a_new_commit_is_judged(checkout):
    commit(checkout, GOOD)
    assert found(checkout) == []
    commit(checkout, BAD)
    assert len(found(checkout)) == 2  # nothing about problem and solution, nothing about the check


def test_an_old_commit_stays_old_when_it_is_rebased(checkout):
    commit(checkout, "Another old one.", "2025-12-31T12:00:00Z")
    old = git(checkout, "rev-parse", "HEAD")
    git(checkout, "reset", "--hard", "HEAD~")
    commit(checkout, GOOD)
    git(checkout, "cherry-pick", "--allow-empty", old)
    assert found(checkout) == []


def test_a_merge_keeps_the_message_of_git(checkout):
    git(checkout, "checkout", "-b", "side")
    commit(checkout, GOOD)
    git(checkout, "checkout", "-")
    git(checkout, "merge", "--no-ff", "--no-edit", "side")
    assert found(checkout) == []


def test_a_shallow_clone_is_judged_by_what_it_has(checkout, tmp_path):
    commit(checkout, BAD)
    commit(checkout, GOOD)
    git(tmp_path, "clone", "--depth", "1", f"file://{checkout}", "shallow")
    assert found(tmp_path / "shallow") == []
    assert found(checkout)


def test_an_archive_has_no_commits_to_judge(checkout, tmp_path):
    archive = tmp_path / "archive"
    shutil.copytree(checkout, archive, ignore=shutil.ignore_patterns(".git"))
    with pytest.raises(DoesNotApply, match="no commits to judge: .*not a git repository"):
        found(archive)


def test_an_archive_in_another_checkout_has_no_commits_to_judge(checkout):
    shutil.copytree(checkout, checkout / "third_party", ignore=shutil.ignore_patterns(".git"))
    with pytest.raises(DoesNotApply, match="another project"):
        found(checkout / "third_party")


def test_a_checkout_without_commits_has_none_to_judge(tmp_path):
    git(tmp_path, "init", "--quiet", "new")
    with pytest.raises(DoesNotApply, match="no commits to judge"):
        found(tmp_path / "new")


def dev(folder, **environment):
    """What ./dev alone says besides its help."""
    clean = {name: value for name, value in os.environ.items() if name != "CI"}
    done = subprocess.run([folder / "dev"], capture_output=True, text=True, env={**clean, **environment})
    assert done.returncode == 0 and done.stdout.startswith("./dev demo"), done.stderr
    return done.stderr


def refusal(folder, message, *words):
    """What git says to a commit, and nothing if it makes one."""
    done = subprocess.run(["git", "-C", folder, "commit", "--allow-empty", *words, "-m", message], capture_output=True, text=True)
    return done.stderr if done.returncode != 0 else ""


def test_dev_writes_a_hook_that_refuses_a_bad_message(checkout):
    assert dev(checkout) == ""
    assert "Checked: " in refusal(checkout, BAD)
    assert refusal(checkout, GOOD) == ""
    assert refusal(checkout, BAD, "--no-verify") == ""
    assert dev(checkout) == ""


def test_the_hook_reads_no_comments_of_an_editor(checkout):
    dev(checkout)
    editor = checkout / "editor"
    text = f"{GOOD}# Please enter the commit message.\n# ------------------------ >8 ------------------------\ndiff --git a b\n"
    editor.write_text(f"#!/bin/sh\ncat >\"$1\" <<'END'\n{text}END\n")
    editor.chmod(0o755)
    git(checkout, "commit", "--allow-empty", "--verbose", GIT_EDITOR=str(editor))
    editor.write_text("#!/bin/sh\ncat >\"$1\" <<'END'\nA limit is new\n\n# Checked: not at all.\nEND\n")
    done = subprocess.run(["git", "-C", checkout, "commit", "--allow-empty"], env={**os.environ, "GIT_EDITOR": str(editor)},
                          capture_output=True, text=True)
    assert done.returncode != 0 and "does not state how the change was checked" in done.stderr


def test_the_hook_lets_merges_and_marks_for_a_squash_pass(checkout):
    dev(checkout)
    git(checkout, "checkout", "-b", "side")
    commit(checkout, GOOD)
    git(checkout, "checkout", "-")
    git(checkout, "merge", "--no-ff", "--no-edit", "side")
    assert refusal(checkout, "fixup! A limit is new") == ""


def test_the_hook_judges_a_worktree_by_its_own_script(checkout):
    git(checkout, "worktree", "add", "--quiet", "../worktree")
    worktree = checkout.parent / "worktree"
    assert dev(worktree) == ""
    assert "Checked: " in refusal(worktree, BAD)
    (worktree / "scripts/commit_message.py").unlink()  # a branch from before the rule
    assert refusal(worktree, BAD) == ""


def test_a_hook_of_the_user_stays_until_it_has_the_check(checkout):
    hook = checkout / ".git/hooks/commit-msg"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 0\n")
    hook.chmod(0o755)
    said = dev(checkout)
    assert "is your own" in said and commit_message.ADDITION in said
    assert hook.read_text() == "#!/bin/sh\nexit 0\n"
    hook.write_text(f"#!/bin/sh\n{commit_message.ADDITION}\nexit 0\n")
    assert dev(checkout) == ""
    assert "Checked: " in refusal(checkout, BAD)
    assert refusal(checkout, GOOD) == ""


def test_a_folder_of_hooks_of_the_user_stays_as_it_is(checkout):
    folder = checkout.parent / "hooks"
    folder.mkdir()
    git(checkout, "config", "core.hooksPath", str(folder))
    said = dev(checkout)
    assert "core.hooksPath is set" in said and commit_message.ADDITION in said
    assert list(folder.iterdir()) == [] and not (checkout / ".git/hooks/commit-msg").exists()


def test_ci_writes_no_hook(checkout):
    assert dev(checkout, CI="true") == ""
    assert not (checkout / ".git/hooks/commit-msg").exists()


def test_an_archive_gets_no_hook(checkout):
    shutil.copytree(checkout, checkout / "third_party", ignore=shutil.ignore_patterns(".git"))
    assert dev(checkout / "third_party") == ""
    assert not (checkout / ".git/hooks/commit-msg").exists()
