#!/usr/bin/env python3
"""Writes the measured results that pages show, all of them from bench/published.json: published.py [--write].

In README.md and docs/performance.md, `<!-- results: NAME -->` and `<!-- /results -->` enclose what is generated: a table of that
file, with its note, or one of GENERATED, which are computed from its tables: from the medians, as the rounds are not there.
"""

import decimal
import json
import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[1]
SOURCE = "bench/published.json"
PAGES = ("README.md", "docs/performance.md")
MARKED = re.compile(r"(<!-- results: (\w+) -->\s*)(.*?)(\s*<!-- /results -->)", re.S)
PEERS = {"tonic": "tonic current-thread", "grpc-go": "grpc-go", "grpc++": "grpc++ completion queue"}
BUSY = ("10x10", "10x100", "50x100")  # the columns with many calls at once
WIDTH = 140


def published(root):
    return json.loads((root / SOURCE).read_text(), parse_float=decimal.Decimal, parse_int=decimal.Decimal)


def cell(value):
    return value if isinstance(value, str) else f"{value:,}"


def markdown(head, lines):
    text = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|", *("| " + " | ".join(line) + " |" for line in lines)]
    return "\n".join(re.sub(r"(?<=\|)  (?=\|)", " ", line) for line in text)


def table(results, name):
    found = results["tables"][name]
    text = markdown(found["head"], ([row, *map(cell, cells)] for row, cells in found["rows"].items()))
    return text + (f"\n\n{found['note']}" if "note" in found else "")


def value(results, name, row, column):
    found = results["tables"][name]
    return found["rows"][row][found["head"].index(column) - 1]


def digits(number):
    """Two significant digits."""
    return f"{number:.2f}" if number < 1 else f"{number:.1f}" if number < 9.95 else f"{number:.0f}"


def ratio(results, peer, column):
    return value(results, "unary", PEERS[peer], column) / value(results, "unary", "coracle, io_uring", column)


def relative(results):
    """What a call costs a server of another library, relative to Coracle: the medians' ratios."""
    goals = results["goals_relative"]
    text = markdown(["cost of a call relative to Coracle", *BUSY, "goal"],
                    ([peer, *(digits(ratio(results, peer, column)) for column in BUSY), cell(goals[PEERS[peer]])] for peer in PEERS))
    return f"{text}\n\nEach ratio is that of the two medians."


def runs(results):
    return markdown(["tables", "commands", "measured on", "at commit"],
                    ([run["of"], ", ".join(f"`{command}`" for command in run["commands"]), run["date"], run["commit"]]
                     for run in results["runs"].values()))


def between(numbers):
    return f"{digits(min(numbers))} to {digits(max(numbers))}"


def busy(results):
    """README.md's sentence: what a call costs, and how many times that it costs with the other libraries."""
    own = between([value(results, "unary", "coracle, io_uring", column) for column in BUSY])
    others = [f"{between([ratio(results, peer, column) for column in BUSY])} times that with {peer}" for peer in PEERS]
    text = (f"With 100 to 5,000 calls in flight, a unary call costs a server {own} us of CPU time, and {', '.join(others[:-1])} and "
            f"{others[-1]} (ratios of medians).")
    marker = "- **Fast.** <!-- results: busy -->"  # stands before it in its line
    return textwrap.fill(text, WIDTH, initial_indent=marker, subsequent_indent="  ").removeprefix(marker)


def tls_surplus(results):
    """How much more a call costs over TLS at 10x10 than over plaintext in the same run."""
    return f"{value(results, 'tls', 'coracle, io_uring', '10x10') - results['plaintext_10x10_of_the_tls_run']:.1f} us more"


GENERATED = {"relative": relative, "runs": runs, "busy": busy, "tls_surplus": tls_surplus}


def generated(results, name):
    return GENERATED[name](results) if name in GENERATED else table(results, name)


def brought_up_to_date(root, page):
    results = published(root)
    return MARKED.sub(lambda found: found[1] + generated(results, found[2]) + found[4], (root / page).read_text())


def main(arguments):
    stale = [page for page in PAGES if (ROOT / page).read_text() != brought_up_to_date(ROOT, page)]
    if "--write" in arguments:
        for page in stale:
            (ROOT / page).write_text(brought_up_to_date(ROOT, page))
        return 0
    print("\n".join(f"{page} shows other results than {SOURCE}; fix: scripts/published.py --write" for page in stale)
          or f"every result is that of {SOURCE}")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
