"""The gate: what a call costs in instructions may not grow unnoticed. Judged against bench/gate.json, in each run of the tests, too."""

import concurrent.futures
import json
import pathlib
import sys

from harness import engine, machine, routed

FIGURES = pathlib.Path(__file__).resolve().parents[1] / "gate.json"
MOST = 1.01  # times the figure that is kept
SCENARIOS = (("grpc", 1), ("grpc", 100), ("in_place", 100), ("nghttp2", 100), ("deadlines", 100), ("indexed_deadlines", 100), ("traces", 100), ("metrics", 100), ("unsampled", 100), ("sampled", 100),
             ("client", 1), ("client", 100), ("client_metrics", 100), ("recorder", 100), ("rejected", 100))
ROUTED = {"levels": "five policies above round_robin", "routed": "with the routes of 100 virtual hosts"}  # what they add to a call


def made_with():
    """What the figures depend on beside our own code."""
    return {"compiler": machine.first_line(["g++", "-dumpfullversion"]),
            "protobuf": machine.first_line(["pkg-config", "--modversion", "protobuf"])}


def counted(build):
    """{scenario: instructions per call}, two scenarios at a time."""
    folder = engine.prepare(build)

    def count(scenario):
        style, per_batch = scenario
        got = engine.count(build / "bin/bench_engine", per_batch, style, folder / f"gate-{style}-{per_batch}.out")
        return f"{style}, {per_batch} a turn", round(got["instructions_per_call"])

    def count_routed(mode):
        return routed.count(routed.program_of(build), mode, folder / f"gate-{mode}.out")["instructions_per_call"]

    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        calls = dict(threads.map(count, SCENARIOS))
        below, *above = threads.map(count_routed, ("spread", *ROUTED))
        return calls | {name: round(one - below) for name, one in zip(ROUTED.values(), above)}


def run(chosen):
    result = {"made_with": made_with(), "instructions_per_call": counted(chosen.build)}
    if chosen.renew:
        before = json.loads(FIGURES.read_text())["reasons"] if FIGURES.exists() else []
        FIGURES.write_text(json.dumps({**result, "reasons": [*before, chosen.renew]}, indent=1) + "\n")
    kept = json.loads(FIGURES.read_text())
    if kept["made_with"] != result["made_with"]:
        raise machine.Failure(f"the gate's figures are of {kept['made_with']}, this is {result['made_with']}; "
                              "fix: ./dev bench gate --renew REASON, and keep that file to yourself")
    return {**result, "kept": kept["instructions_per_call"]}


def judged(build):
    """(name, what is wrong with it, or None) of each scenario; a reason in its place if the figures are of another compiler."""
    kept = json.loads(FIGURES.read_text())
    if kept["made_with"] != made_with():
        return f"the figures that are kept are of {kept['made_with']}"
    return [(name, dearer(now, kept["instructions_per_call"][name])) for name, now in counted(build).items()]


def dearer(now, kept):
    if now <= MOST * kept:
        return None
    return (f"a call takes {now:,} instructions, {now / kept - 1:+.1%} of what is kept; "
            "fix: undo the rise, or record it in the same commit: ./dev bench gate --renew REASON")


def report(result):
    lines = ["", "## The gate: instructions per call", "", "| | now | kept | |", "|---|---|---|---|"]
    for name, now in result["instructions_per_call"].items():
        kept = result["kept"][name]
        said = "too dear" if now > MOST * kept else "cheaper: renew, to keep it" if now < kept / MOST else "as it was"
        lines.append(f"| {name} | {now:,} | {kept:,} | {now / kept - 1:+.1%}, {said} |")
    return "\n".join(lines)


def verdict(result):
    """None, or what is wrong."""
    dear = [name for name, now in result["instructions_per_call"].items() if now > MOST * result["kept"][name]]
    return f"costs more than {MOST - 1:.0%} above what is kept: {'; '.join(dear)}; fix it, or ./dev bench gate --renew REASON" \
        if dear else None


if __name__ == "__main__":  # for scripts/testing/suites.py, which reads the last line
    print(json.dumps(judged(pathlib.Path(sys.argv[1]))))
