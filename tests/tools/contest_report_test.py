"""The report of ./dev bench peers, and the page that is one, show only differences that exceed the noise."""

import pathlib
import re

import pytest

from harness import contest, contest_unary, tables

PAGE = pathlib.Path(__file__).parents[2] / "docs/reference/contest.md"
OURS, PEER, FAST, FLOOR = "coracle io_uring", "tonic current-thread", "pajamax", "floor (no gRPC)"


def us(x):
    return f"{x:.1f}"


def shown(medians, noise):
    """The table of one column."""
    return list(tables.differences("CPU", list(medians), ["10x10"], lambda name, _: medians[name], lambda _: noise, us))


def runs(server, column, figures):
    return [{"server": server, "column": column, "round": number, "us_per_request": figure, "own_p99_us": 100.0, "peak_rss_kb": 1024.0}
            for number, figure in enumerate(figures)]


def group(rounds):
    """Even and odd rounds of ours lie 30 % apart."""
    figures = {OURS: (1.0, 1.3, 1.0), PEER: (5.0, 5.0, 5.0), FAST: (0.9, 0.9, 0.9), FLOOR: (0.1, 0.1, 0.1)}
    return {"security": "plaintext", "payload": "100 B", "columns": ["10x10"], "servers": list(figures),
            "runs": [run for server, of in figures.items() for run in runs(server, "10x10", of[:rounds])],
            "counts": [{"server": OURS, "column": "10x10", "allocations_per_call": 4.0}]}


def report(rounds):
    result = {"versions": {"tonic": "1"}, "unary": {"groups": [group(rounds)], "cores": 1}, "rounds": rounds, "seconds": 2.0, "failures": []}
    return contest.report(result)


def test_a_difference_beyond_the_noise_is_shown_with_its_ratio():
    assert "| tonic | 3.0 (3.00 x) |" in shown({"coracle": 1.0, "tonic": 3.0}, 0.5)


def test_a_smaller_figure_exceeds_the_noise_by_its_inverse():
    assert "| pajamax | 0.6 (0.60 x) |" in shown({"coracle": 1.0, "pajamax": 0.6}, 0.5)
    assert shown({"coracle": 1.0, "pajamax": 0.7}, 0.5) == ["CPU: no difference exceeds the noise."]


def test_a_row_within_the_noise_is_left_out():
    lines = shown({"coracle": 1.0, "pajamax": 1.3, "tonic": 3.0}, 0.46)
    assert not any("pajamax" in line or "1.3" in line for line in lines)


def test_a_cell_within_the_noise_says_so():
    medians = {("coracle", "a"): 1.0, ("coracle", "b"): 1.0, ("tonic", "a"): 1.3, ("tonic", "b"): 3.0}
    band = {"a": 0.46, "b": 0.1, "c": 0.1}
    other = {"a": 3.0, "b": 1.0}
    lines = list(tables.differences("CPU", ["coracle", "tonic", "go"], ["a", "b", "c"],
                                    lambda name, column: other.get(column) if name == "go" else medians.get((name, column)),
                                    band.get, us))
    assert "| CPU | a | b |" in lines, "nothing was measured in c"
    assert "| tonic | within ± 46 % | 3.0 (3.00 x) |" in lines


@pytest.mark.parametrize(("share", "noise", "goal", "cell"), (
    (1.7, 0.5, 1, "1.70 of tonic: not met"),
    (0.3, 0.5, 1, "0.30 of tonic: met"),
    (0.3, 0.5, 0.5, "0.30 of tonic: met"),
    (0.55, 0.5, 0.5, "0.55 of tonic: goal within the noise"),
))
def test_a_goal_is_judged_where_the_noise_allows_it(share, noise, goal, cell):
    lines = list(tables.judged("share", ["coracle"], ["a"], lambda *_: (share, "tonic"), lambda _: noise, goal))
    assert f"| coracle | {cell} |" in lines


def test_a_share_within_the_noise_gets_no_verdict():
    lines = list(tables.judged("share", ["coracle"], ["a"], lambda *_: (1.27, "tonic"), lambda _: 0.46))
    assert lines == ["Share: no difference exceeds the noise."]


def test_a_report_has_what_exceeds_the_noise_and_says_how_it_is_found():
    text = report(3)
    assert contest.METHOD in text
    assert "| tonic current-thread | 5.00 (5.00 x) |" in text
    assert "| noise | ± 30 % |" in text
    assert "pajamax" not in text, "its 0.9 is within the noise"
    assert "| coracle io_uring | 4.00 |" in text, "allocations are counted"
    assert " tie" not in text


def test_the_goal_above_the_floor_is_judged_beyond_the_noise():
    of = group(3)
    medians = {OURS: 10.0, FLOOR: 1.0}
    assert any("9.00: not met" in line for line in contest_unary.above_floor(of, lambda name, _: medians.get(name), lambda _: 0.2))
    assert "no difference" in "".join(contest_unary.above_floor(of, lambda name, _: medians.get(name), lambda _: 0.9))


def test_one_round_measures_no_noise():
    text = report(1)
    assert " x)" not in text and "no difference exceeds the noise" in text


def tables_of(text):
    """Yields (header, rows) of each table."""
    for block in re.findall(r"(?:^\|.*\n)+", text, re.M):
        header, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines())
        yield header, rows


def test_the_page_keeps_the_rule():
    compared = 0
    for header, rows in tables_of(PAGE.read_text()):
        noise = next((row for row in rows if row[0] == "noise"), None)
        for row in rows if noise else ():
            for cell, band in zip(row[1:], noise[1:]):
                ratio = re.search(r"\(([\d.]+) x\)", cell)
                if ratio:
                    compared += 1
                    # What is printed is rounded: half of a hundredth of the ratio, half of a percent of the noise.
                    assert max(float(ratio[1]), 1 / float(ratio[1])) > 1 + float(band.strip("± %")) / 100 - 0.02, (header[0], row[0], cell)
                else:
                    assert row is noise or row is rows[0] or cell in ("-", f"within {band}"), (header[0], row[0], cell)
    assert compared > 100
    assert not re.search(r"\btie\b", PAGE.read_text())
