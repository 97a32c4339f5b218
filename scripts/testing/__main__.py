"""./dev test [quick|whole] [word...]: runs the suites of a tier, or those of all whose names contain one of the words. A word may be a label:
labels.py."""

import os
import pathlib
import signal
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))

import plan  # noqa: E402
from builds import BuildsAhead, with_builds  # noqa: E402
from process import ROOT  # noqa: E402
from report import Report  # noqa: E402


def main(arguments):
    os.chdir(ROOT)
    # Shells have their background jobs ignore it, which programs that tests interrupt would inherit.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    tier = "whole" if arguments else "submission"
    if arguments and arguments[0] in plan.TIERS:
        tier = arguments.pop(0)
    labels = dict(plan.labelled())
    chosen = [suite for name, suite in with_builds(plan.TIERS[tier](), arguments) if name not in labels]
    chosen += [suite for label, suite in labels.items() if label in arguments or (tier == "whole" and not arguments)]
    report = Report()
    with BuildsAhead(chosen) as builds:
        for suite in chosen:
            report.add(builds.run(suite))
    return 0 if report.finish() else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
