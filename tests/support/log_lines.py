#!/usr/bin/env python3
"""Reads a log of JSON lines, as a collector would, and prints what each says: tests compare it.

Usage: log_lines.py FILE. One line of output for each line of the log: its members without time, sorted, as Python's repr() of
their values. It fails if a line is no JSON object, has a member twice or a time that is none, or is too long."""
import datetime
import json
import sys


def members(pairs):
    names = [name for name, _ in pairs]
    assert len(set(names)) == len(names), f"a member occurs twice: {names}"
    return dict(pairs)


def strict(constant):
    raise ValueError(f"JSON has no {constant}")


def main():
    with open(sys.argv[1], "rb") as log:
        for line in log:
            assert line.endswith(b"}\n") and len(line) <= 4096, line
            record = json.loads(line.decode("utf-8"), object_pairs_hook=members, parse_constant=strict)
            when = datetime.datetime.strptime(record.pop("time"), "%Y-%m-%dT%H:%M:%S.%fZ")
            assert abs((datetime.datetime.utcnow() - when).total_seconds()) < 600, when
            print(" ".join(f"{name}={value!r}" for name, value in sorted(record.items())))


main()
