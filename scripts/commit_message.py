#!/usr/bin/env python3
"""The rule of CONTRIBUTING.md for commit messages: `scripts/commit_message.py FILE` checks one, as git's commit-msg hook does."""

import argparse
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
SUBJECT_WIDTH = 60
CHECKED = re.compile(r"Checked:\s+\S")
TRAILER = re.compile(r"[A-Z][A-Za-z]*(?:-[A-Za-z]+)+: \S")  # Signed-off-by: NAME
SQUASHED = ("fixup! ", "squash! ", "amend! ")  # git rebase --autosquash puts them into another commit
SCISSORS = re.compile(r"^. -+ >8 -+$.*", re.M | re.S)  # git commit --verbose writes the change below this line

HOOK = """#!/bin/sh
# Written by ./dev: checks the message of a commit by the rule of CONTRIBUTING.md.
[ ! -f scripts/commit_message.py ] || exec python3 -B scripts/commit_message.py "$1"
"""
ADDITION = '[ ! -f scripts/commit_message.py ] || python3 -B scripts/commit_message.py "$1" || exit 1'


def violations(message):
    """What a message, without git's comments, lacks: each with its fix."""
    subject, *rest = message.strip().splitlines() or [""]
    if not subject:
        yield "it is empty; write a subject, a blank line and a body"
        return
    if subject.startswith(SQUASHED):
        yield f'"{subject}" belongs into another commit; fix: git rebase --interactive --autosquash'
        return
    if len(subject) > SUBJECT_WIDTH:
        yield f'the subject "{subject}" has {len(subject)} characters; shorten it to {SUBJECT_WIDTH}'
    if subject.endswith("."):
        yield f'the subject "{subject}" ends with a full stop; remove it'
    if rest and rest[0].strip():
        yield f'no blank line follows the subject "{subject}"; add one'
    body = [line for line in rest if line.strip() and not TRAILER.match(line)]
    if not body or CHECKED.match(body[0]):
        yield "the body does not state the problem and the solution; describe them below the subject"
    if not any(map(CHECKED.match, body)):
        yield 'the body does not state how the change was checked; add a line that begins with "Checked: "'


def git(*words, text=None):
    return subprocess.run(["git", *words], input=text, capture_output=True, encoding="utf-8", errors="replace")


def check(file):
    """As a hook: merges keep git's message, and commits that will be squashed keep their marks."""
    if git("rev-parse", "--quiet", "--verify", "MERGE_HEAD").returncode == 0:
        return 0
    text = SCISSORS.sub("", pathlib.Path(file).read_text(encoding="utf-8", errors="replace"))
    stripped = git("stripspace", "--strip-comments", text=text)
    message = stripped.stdout if stripped.returncode == 0 else text
    if not message.strip() or message.startswith(SQUASHED):  # git itself refuses an empty message
        return 0
    found = list(violations(message))
    for one in found:
        print(f"commit-msg: {one}", file=sys.stderr)
    if found:
        print(f"commit-msg: CONTRIBUTING.md has the rule; to edit this message: git commit --edit --file={file}", file=sys.stderr)
    return 1 if found else 0


def install(root):
    """Writes the hook into a checkout that has none. Returns what a user with a hook or a folder of hooks can do instead."""
    configured = git("-C", str(root), "config", "core.hooksPath")
    place = git("-C", str(root), "rev-parse", "--git-path", "hooks/commit-msg")
    if place.returncode != 0:
        return None  # no checkout, or one that git does not trust
    hook = root / place.stdout.strip()
    if os.path.lexists(hook):
        known = hook.is_file() and "commit_message.py" in hook.read_text(errors="replace")
        return None if known else f"{hook} is your own and checks no messages; to check them, add this line to it: {ADDITION}"
    if configured.returncode == 0:
        return (f"core.hooksPath is set, so that no hook was written; to check messages, make {hook} an executable script "
                f"with this line: {ADDITION}")
    try:
        hook.parent.mkdir(parents=True, exist_ok=True)
        hook.write_text(HOOK)
        hook.chmod(0o755)
    except OSError:
        pass  # a checkout that this user only reads gets no commits either
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", help="the message")
    parser.add_argument("--install", action="store_true", help="write the hook into this checkout, as ./dev does")
    chosen = parser.parse_args()
    if chosen.install:
        advice = install(ROOT)
        if advice:
            print(f"dev: {advice}", file=sys.stderr)
        return 0
    return check(chosen.file) if chosen.file else parser.error("name the file of a message")


if __name__ == "__main__":
    sys.exit(main())
