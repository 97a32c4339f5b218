"""Rules about names and about what stands inside a file."""

import os
import re

from rooms import SOURCES, room_of

VAGUE = {"util", "utils", "common", "helper", "helpers", "misc", "detail", "details"}


def names(tree):
    for name in tree.files:
        for part in name.split("/"):
            stem = part.split(".")[0]
            if stem.lower() in VAGUE:
                yield f'{name}: "{stem}" says nothing about what is inside; name it after its main type'
        if name.endswith(SOURCES) and not re.fullmatch(r"[a-z0-9_]+(\.coracle(\.fake)?)?\.[ch]pp", name.split("/")[-1]):
            yield f"{name}: file names are snake_case"


def pragma_once(tree):
    for name in tree.files:
        if name.endswith(".hpp") and "#pragma once" not in tree.lines(name):
            yield f"{name}: #pragma once is missing"


GRPC_HEADER = re.compile(r'"grpc-[a-z]')
PROGRAM_NAME = re.compile(r'"grpc-c\+\+')  # begins our user-agent


def header_names(tree):
    """One room writes gRPC's header fields: another protocol or a fix then has one place."""
    for name in tree.under("src/", "include/", ends=SOURCES):
        if room_of(name) == "protocol":
            continue
        for number, line in enumerate(tree.lines(name), 1):
            code = line.split("//")[0]
            if GRPC_HEADER.search(code) and not PROGRAM_NAME.search(code) and " is malformed" not in code:
                yield f"{name}:{number}: use a name of protocol/grpc/header_names.hpp, or add it there"


COMMENT_WIDTH = 110  # .clang-format's ColumnLimit; the formatter reflows no comments
QUOTED = re.compile(r"`[^`]*`")  # a name of the code
STRING = re.compile(r'"(?:\\.|[^"\\])*"')


def comment_of(line):
    return STRING.sub('""', line).partition("//")[2]


def never_right(tree):
    """The words of words.txt, with what to write instead."""
    for line in tree.lines("tests/structure/words.txt"):
        if line and not line.startswith("#"):
            word, _, instead = line.partition("\t")
            yield re.compile(rf"\b{word}\b", re.I), instead


def comments(tree):
    """Comments fit the formatter's width; they and the library's messages have none of the words that are never right."""
    words = list(never_right(tree))
    for name in tree.under("src/", "include/", "codegen/", "tools/", "tests/", "bench/", ends=SOURCES):
        if name.endswith((".coracle.hpp", ".coracle.fake.hpp")) or name.startswith("tests/compile_fail/"):
            continue
        for number, line in enumerate(tree.lines(name), 1):
            comment = comment_of(line)
            if comment and len(line) > COMMENT_WIDTH:
                yield f"{name}:{number}: {len(line)} columns; wrap the comment at {COMMENT_WIDTH}"
            texts = [QUOTED.sub("", comment)]
            if name.startswith(("src/", "include/", "codegen/")):
                texts += STRING.findall(line.partition("//")[0])
            for word, instead in words:
                found = next(filter(None, map(word.search, texts)), None)
                if found:
                    yield f'{name}:{number}: "{found[0]}"; write {instead}'


# Spelled in pieces, so that this file passes its own rule.
MACHINE_PATH = re.compile(r"(?<![\w.~-])/(?:ro" r"ot|ho" r"me|wo" r"rk|Users)/")
REGISTRY = re.compile(r"(?:proxy\.gol" r"ang|pypi|files\.python" r"hosted|registry\.npm" r"js|crat" r"es|"
                      r"repo1?\.ma" r"ven(?:\.apache)?|deb\.deb" r"ian)\.(?:org|io|com)\b")


FENCED = re.compile(r"^```.*?^```", re.M | re.S)


def pages(tree):
    """The pages for readers have none of the words that are never right, outside of code."""
    words = list(never_right(tree))
    for name in tree.files:
        if not name.endswith(".md"):
            continue
        text = FENCED.sub(lambda block: "\n" * block[0].count("\n"), tree.text(name))
        for number, line in enumerate(QUOTED.sub("", text).split("\n"), 1):
            for word, instead in words:
                if found := word.search(line):
                    yield f'{name}:{number}: "{found[0]}"; write {instead}'


def no_machine_paths(tree):
    """Nothing depends on where somebody's checkout or registry happens to be."""
    for name in tree.files:
        for number, line in enumerate(tree.lines(name), 1):
            found = MACHINE_PATH.search(line) or REGISTRY.search(line)
            if found:
                yield f'{name}:{number}: "{found[0]}" belongs to one machine or registry; use a relative path or the tool\'s default'


def merges_are_whole(tree):
    for name in tree.files:
        for number, line in enumerate(tree.lines(name), 1):
            if line.startswith(("<<<<<<" "< ", ">>>>>>" "> ")):
                yield f"{name}:{number}: two versions of what follows; keep one"


CLOCKS = re.compile(r"(?:steady_clock|system_clock|high_resolution_clock)::now\s*\(|\bclock_gettime\s*\(|"
                    r"\bgettimeofday\s*\(|\brandom_device\b|\bgetrandom\s*\(|\brand\s*\(\)")


def time_and_chance_come_from_the_loop(tree):
    """Only the runtime reads a clock or a random source; all others ask it, so that a simulation can replay them."""
    for name in tree.under("include/coracle/", "src/", ends=SOURCES):
        if room_of(name) == "runtime" or name == "src/base/log_time.cpp":  # a log line has no loop; simulated hosts replace its time
            continue
        for number, line in enumerate(tree.lines(name), 1):
            found = CLOCKS.search(line.split("//")[0])
            if found:
                yield f"{name}:{number}: {found[0]} cannot be simulated; ask the executor or the loop"


# The library's own sleep_for() is a timer of a loop, which many tests drive by hand or in virtual time.
SLEEP = re.compile(r"\bthis_thread::sleep_|\bu?sleep\s*\(|\bnanosleep\s*\(")


def honest_tests(tree):
    """A test neither hides a race behind a sleep nor is switched off."""
    for name in tree.under("tests/", ends=SOURCES):
        before = ""
        for number, line in enumerate(tree.lines(name), 1):
            if SLEEP.search(line.split("//")[0]) and "sleeps on purpose:" not in line + before:
                yield f'{name}:{number}: wait for the event itself, or say "sleeps on purpose: why" above'
            if re.search(r"\bDISABLED_", line):
                yield f"{name}:{number}: fix the test or delete it; a disabled test proves nothing"
            before = line


def scripts_run(tree):
    """What begins as a program can be run: the test run takes executable scripts alone, and would pass the others by."""
    for name in tree.files:
        if tree.text(name).startswith("#!") and not os.access(tree.root / name, os.X_OK):
            yield f"{name}: it begins with #! and is not executable; chmod +x"


def links(tree):
    """Relative links between the documents lead somewhere."""
    for name in tree.files:
        if not name.endswith(".md"):
            continue
        folder = (tree.root / name).parent
        for target in re.findall(r"\]\(([^)\s]+)\)", tree.text(name)):
            path = target.split("#")[0]
            if path and "://" not in path and not path.startswith("mailto:") and not (folder / path).exists():
                yield f"{name}: the link to {target} leads nowhere"


COMMANDS = ("./dev demo", "./dev test")  # each sets up all that it needs on a new machine


def commands_of_the_readme(tree):
    """README names the two commands with the time that each takes; CONTRIBUTING names the same time of the tests."""
    def minutes(page, command):
        line = re.search(rf"^{re.escape(command)} +#(.*)$", tree.text(page), re.M)
        return line and re.search(r"\d+( to \d+)? minutes", line[1])

    for command in COMMANDS:
        time = minutes("README.md", command)
        if not time:
            yield f'README.md: a block of commands has no line "{command}  # what it does: in N minutes"'
            continue
        if f"\n  {command.split()[1]})" not in tree.text("dev"):
            yield f"README.md: {command} is no command of dev"
        if command != COMMANDS[0]:
            same = minutes("CONTRIBUTING.md", command)
            if not same or same[0] != time[0]:
                yield f"CONTRIBUTING.md: {command} takes {time[0]} in README.md; name the same time in its line"


NAV = "mkdocs.yml"
DECISIONS = "docs/decisions/"  # which have a list of their own


def pages_in_the_nav(tree):
    """Each page of docs/ can be found in the site."""
    named = set(re.findall(r"[\w./-]+\.md\b", tree.text(NAV))) if NAV in tree.files else set()
    listed = tree.text(f"{DECISIONS}README.md") if f"{DECISIONS}README.md" in tree.files else ""
    for name in tree.under("docs/", ends=(".md",)):
        if name.removeprefix("docs/") in named:
            continue
        if not name.startswith(DECISIONS):
            yield f"{name}: {NAV} does not name it; give it a line in the nav"
        elif f"({name.removeprefix(DECISIONS)})" not in listed:
            yield f"{name}: {DECISIONS}README.md does not list it"

OPTIONS = re.compile(r"\b(\w+_(?:options|limits))::(\w+)(\(\))?")


def options_exist(tree):
    """What a message, a comment or a page calls an option is a member of that class, and has () only as a function."""
    bodies = {}
    for name in tree.under("include/", "src/", ends=(".hpp",)):
        for kind, body in re.findall(r"^(?:class|struct) (\w+_(?:options|limits)) [^;{]*\{(.*?)^\};", tree.text(name), re.M | re.S):
            bodies[kind] = bodies.get(kind, "") + body
    for name in tree.files:
        if not name.endswith((*SOURCES, ".md")) or name == "CHANGELOG.md":
            continue
        for number, line in enumerate(tree.lines(name), 1):
            for kind, member, call in OPTIONS.findall(line):
                body = bodies.get(kind)
                if body is None or member == kind:
                    continue
                if not re.search(rf"\b{member}\b", body):
                    yield f"{name}:{number}: {kind} has no member {member}"
                elif call and not re.search(rf"\b{member}\(", body):
                    yield f"{name}:{number}: {kind}::{member} is no function; leave out the ()"
