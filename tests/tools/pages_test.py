"""docs/cli: each command has a page, which has the options that the command has, and no others."""

import re

import pytest

from programs import ROOT, own, run

PAGES = ROOT / "docs/cli"
# Commands that share a page; other pages have a command's name.
PAGE_OF = dict.fromkeys(("completion", "man", "help", "version"), "completion")
WITH_PAGES = sorted({path.stem for path in PAGES.glob("*.md")} - {"connection", "completion", "configuration", "exit_codes"})
OPTION = re.compile(r"--[a-z][a-z-]+")
OF_ALL = {"--help"}


def help_of(*words):
    return run(own("coracle"), *words, "--help").stdout


def commands():
    return commands_in(help_of())


def commands_in(text):
    return re.findall(r"^  ([a-z]+) ", text.partition("Commands:\n")[2].partition("\n\n")[0], re.M)


def page_of(command):
    return (PAGES / f"{PAGE_OF.get(command, command)}.md").read_text()


def options_of(*command):
    """Those of its subcommands, too."""
    text = help_of(*command)
    inner = commands_in(text)
    own_options = set(OPTION.findall(" ".join(re.findall(r"^ {2,6}(-.*?)(?:  .*)?$", text, re.M)))) - OF_ALL
    return own_options.union(*(options_of(*command, one) for one in inner))


def shared():
    return set(OPTION.findall((PAGES / "connection.md").read_text()))


@pytest.mark.parametrize("command", [*WITH_PAGES, *PAGE_OF])
def test_a_page_has_the_options_of_its_command(command):
    missing = options_of(command) - set(OPTION.findall(page_of(command))) - shared()
    assert missing == set(), f"options that docs/cli/{PAGE_OF.get(command, command)}.md lacks"


@pytest.mark.parametrize("command", WITH_PAGES)
def test_a_table_has_no_option_that_its_command_lacks(command):
    shown = set(OPTION.findall("\n".join(re.findall(r"^\| (`-[^|]*) \|", page_of(command), re.M))))
    assert shown - options_of(command) == set(), f"options in the tables of docs/cli/{command}.md"


def test_the_shared_options_are_those_of_call():
    shown = set(OPTION.findall("\n".join(re.findall(r"^\| (`-[^|]*) \|", (PAGES / "connection.md").read_text(), re.M))))
    assert shown - options_of("call") == set(), "options in the tables of docs/cli/connection.md"


def test_each_command_has_a_page():
    assert sorted(commands()) == sorted([*WITH_PAGES, *PAGE_OF])


def test_the_overview_links_each_command():
    overview = (ROOT / "docs/guides/coracle.md").read_text()
    assert [one for one in commands() if f"`{one}`" not in overview] == []
