"""Messages of new commits keep the rule of CONTRIBUTING.md, which git's commit-msg hook checks, too."""

import datetime
import pathlib

import commit_message
from tree import DoesNotApply

SINCE = "tests/structure/commits_since.txt"
NO_COMMITS = "no commits to judge: "  # begins the reason of a skipped test, which passes on CI, too


def start(tree):
    return datetime.datetime.fromisoformat(next(line for line in tree.lines(SINCE) if not line.startswith("#"))).timestamp()


def messages(tree):
    """Yields (hash, author's time, message) of each commit here that is no merge; a shallow clone has only its newest ones."""
    top = tree.git("rev-parse", "--show-toplevel")
    if top.returncode != 0:
        raise DoesNotApply(f"{NO_COMMITS}{top.stderr.decode(errors='replace').strip()}")
    if pathlib.Path(top.stdout.decode().rstrip("\n")).resolve() != tree.root:
        raise DoesNotApply(f"{NO_COMMITS}the sources are in a checkout of another project")
    log = tree.git("log", "-z", "--no-merges", "--encoding=UTF-8", "--format=%h%x00%at%x00%B")
    if log.returncode != 0:
        raise DoesNotApply(f"{NO_COMMITS}{log.stderr.decode(errors='replace').strip()}")
    fields = log.stdout.decode(errors="replace").split("\0")
    yield from zip(fields[::3], fields[1::3], fields[2::3])


def new_messages(tree):
    since = start(tree) if SINCE in tree.files else 0
    for commit, author_time, message in messages(tree):
        if int(author_time) > since:
            for violation in commit_message.violations(message):
                yield f"commit {commit}: {violation}; git rebase --interactive can reword it"
